/* Any bytes as a request of the API: the first line is its target, the rest its body. Refused in words, or values that
 * fit the description. */
#include "coordinator/serve/description.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const Description *description, const struct operation *operation,
                const struct http_target *target, const char *body, size_t length)
{
    g_autofree char *why = NULL;
    json_t *values = description_read(description, operation, target, body, length, &why);
    g_assert_true((values == NULL) == (why != NULL));
    json_int_t limit = json_integer_value(json_object_get(values, "limit"));
    g_assert_true(limit >= 0 && limit <= 1000);
    json_decref(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Description *description;
    struct http_target target;
    int count;
    if (!description)
        description = description_load();
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t first = end ? (size_t)(end - data) : size;
    g_autofree char *text = g_strndup((const char *)data, first);
    if (http_target_parse(text, &target) != NULL)
        return 0;
    const struct operation *operations = description_operations(description, &count);
    for (int i = 0; i < count; i++)
        if (http_target_matches(&target, operations[i].path) || operations[i].body)
            ask(description, &operations[i], &target, end ? (const char *)end + 1 : "",
                end ? size - first - 1 : 0);
    http_target_clear(&target);
    return 0;
}
