/* Any bytes as the target of a request, as its Range and as its If-None-Match: refused in words, or parts that hold. */
#include "schema/monitor/http_target.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
    g_assert_true(g_utf8_validate(text, -1, NULL));
    for (const char *at = text; *at != '\0'; at++)
        g_assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void check_target(const struct http_target *target)
{
    g_assert_true(target->segment_count <= HTTP_SEGMENTS_MOST);
    g_assert_true(target->parameter_count <= HTTP_PARAMETERS_MOST);
    for (int i = 0; i < target->segment_count; i++) {
        check_text(target->segments[i]);
        g_assert_true(strcmp(target->segments[i], "..") != 0);
    }
    for (int i = 0; i < target->parameter_count; i++) {
        check_text(target->parameters[i].value);
        g_assert_true(http_target_value(target, target->parameters[i].name) ==
                      target->parameters[i].value);
    }
    if (http_target_matches(target, "/a/{x}"))
        g_assert_nonnull(http_target_named(target, "/a/{x}", "x"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_target target;
    uint64_t first = 0, last = 0, length = size > 0 ? data[0] : 0;
    g_autofree char *text = g_strndup((const char *)data, size);
    if (http_target_parse(text, &target) == NULL) {
        check_target(&target);
        http_target_clear(&target);
    }
    if (http_range_parse(text, length, &first, &last) == HTTP_RANGE_PART)
        g_assert_true(first <= last && last < length);
    http_etag_matches(text, "\"tag\"");
    return 0;
}
