/* Targets of requests, ranges and entity tags: what is well-formed, and what is refused. */
#include "schema/monitor/http_target.h"

#include <locale.h>
#include <string.h>

static void test_target_is_read_in_parts(void)
{
    struct http_target target;
    g_assert_null(http_target_parse("/api/v1/a%20b/?x=1+2&y=%C3%BC&z", &target));
    g_assert_cmpint(target.segment_count, ==, 4);
    g_assert_cmpstr(target.segments[2], ==, "a b");
    g_assert_cmpstr(target.segments[3], ==, "");
    g_assert_cmpstr(http_target_value(&target, "x"), ==, "1 2");
    g_assert_cmpstr(http_target_value(&target, "y"), ==, "\xc3\xbc");
    g_assert_cmpstr(http_target_value(&target, "z"), ==, "");
    g_assert_null(http_target_value(&target, "w"));
    http_target_clear(&target);
    g_assert_null(http_target_parse("/", &target));
    g_assert_cmpint(target.segment_count, ==, 0);
    http_target_clear(&target);
}

static void test_doubtful_target_is_refused(void)
{
    static const char *const texts[] = {"",          "a",    "*",      "http://x/", "/%",
                                        "/%0",       "/%zz", "/%00",   "/%0a",      "/a%7f",
                                        "/%ff",      "/.",   "/a/..",  "/%2e%2e/a", "/?a=%g0",
                                        "/?a=1&a=2", "/a\n", "/?\x80", "/%c3%28"};
    struct http_target target;
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_assert_nonnull(http_target_parse(texts[i], &target));
        g_assert_cmpint(target.segment_count + target.parameter_count, ==, 0);
    }
    g_autofree char *deep = g_strnfill(2 * HTTP_SEGMENTS_MOST + 2, '/');
    g_assert_nonnull(http_target_parse(deep, &target));
    g_autofree char *letters = g_strnfill(HTTP_TARGET_BYTES, 'x');
    g_autofree char *lengthy = g_strconcat("/", letters, NULL);
    g_assert_cmpstr(http_target_parse(lengthy, &target), ==, "the target is too long");
}

static void test_slash_in_a_segment_is_no_other_segment(void)
{
    struct http_target target;
    g_assert_null(http_target_parse("/nodes/a%2Fb/drain", &target));
    g_assert_true(http_target_matches(&target, "/nodes/{node}/drain"));
    g_assert_cmpstr(http_target_named(&target, "/nodes/{node}/drain", "node"), ==, "a/b");
    http_target_clear(&target);
}

static void test_pattern_matches_its_paths_alone(void)
{
    static const struct {
        const char *path, *pattern;
        bool matches;
    } cases[] = {
        {"/", "/", true},
        {"/a", "/a", true},
        {"/a/", "/a", false},
        {"/a", "/", false},
        {"/", "/a", false},
        {"/a/b", "/a/{x}", true},
        {"/a/", "/a/{x}", false},
        {"/a", "/a/{x}", false},
        {"/a/b/c", "/a/{x}", false},
        {"/a/b/c", "/a/{x}/c", true},
        {"/a/b/d", "/a/{x}/c", false},
        {"/ab", "/a", false},
        {"/a?b", "/a", true},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct http_target target;
        g_assert_null(http_target_parse(cases[i].path, &target));
        g_assert_cmpint(http_target_matches(&target, cases[i].pattern), ==, cases[i].matches);
        http_target_clear(&target);
    }
}

static void test_range_is_of_the_body(void)
{
    static const struct {
        const char *header;
        uint64_t length;
        enum http_range range;
        uint64_t first, last;
    } cases[] = {
        {NULL, 10, HTTP_RANGE_ALL, 0, 0},
        {"bytes=0-3", 10, HTTP_RANGE_PART, 0, 3},
        {"bytes=3-", 10, HTTP_RANGE_PART, 3, 9},
        {"bytes=9-20", 10, HTTP_RANGE_PART, 9, 9},
        {"bytes=-4", 10, HTTP_RANGE_PART, 6, 9},
        {"bytes=-40", 10, HTTP_RANGE_PART, 0, 9},
        {"bytes=10-", 10, HTTP_RANGE_NONE, 0, 0},
        {"bytes=-0", 10, HTTP_RANGE_NONE, 0, 0},
        {"bytes=0-", 0, HTTP_RANGE_NONE, 0, 0},
        {"bytes=4-3", 10, HTTP_RANGE_ALL, 0, 0},
        {"bytes=0-1,3-4", 10, HTTP_RANGE_ALL, 0, 0},
        {"bytes=", 10, HTTP_RANGE_ALL, 0, 0},
        {"bytes=-", 10, HTTP_RANGE_ALL, 0, 0},
        {"bytes=x-3", 10, HTTP_RANGE_ALL, 0, 0},
        {"bytes=1-3x", 10, HTTP_RANGE_ALL, 0, 0},
        {"bytes=99999999999999999999-", 10, HTTP_RANGE_ALL, 0, 0},
        {"lines=0-3", 10, HTTP_RANGE_ALL, 0, 0},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint64_t first = 0, last = 0;
        enum http_range range = http_range_parse(cases[i].header, cases[i].length, &first, &last);
        g_assert_cmpint(range, ==, cases[i].range);
        g_assert_cmpuint(first, ==, cases[i].first);
        g_assert_cmpuint(last, ==, cases[i].last);
    }
}

static void test_entity_tag_is_found_in_a_list(void)
{
    g_assert_true(http_etag_matches("\"a\"", "\"a\""));
    g_assert_true(http_etag_matches("\"b\" , W/\"a\"", "\"a\""));
    g_assert_true(http_etag_matches("*", "\"a\""));
    g_assert_false(http_etag_matches("\"ab\"", "\"a\""));
    g_assert_false(http_etag_matches("a", "\"a\""));
    g_assert_false(http_etag_matches("", "\"a\""));
    g_assert_false(http_etag_matches(NULL, "\"a\""));
}

static void test_host_is_one_of_the_names(void)
{
    static const char *const names[] = {"skipjack.example", "Farm", NULL};
    static const char *const known[] = {
        "localhost",        "LocalHost:9465", "a.localhost",          "localhost.", "127.0.0.1",
        "10.0.0.1:80",      "[::1]",          "[2001:db8::7]:9465",   "farm",       "FARM:1",
        "skipjack.example", "farm:",          "skipjack.example.:80",
    };
    static const char *const unknown[] = {
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "xlocalhost",
        "farm.example",
        "farm:80x",
        "farm:80:80",
        "[::1",
        "[::1]evil",
        "[evil.example]",
        "farm@evil.example",
        "farm/",
        "evil farm",
        "2130706433",
        ".",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
        g_assert_true(http_host_fits(known[i], names));
    for (gsize i = 0; i < G_N_ELEMENTS(unknown); i++)
        g_assert_false(http_host_fits(unknown[i], names));
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/http_target/target_is_read_in_parts", test_target_is_read_in_parts);
    g_test_add_func("/http_target/doubtful_target_is_refused", test_doubtful_target_is_refused);
    g_test_add_func("/http_target/slash_in_a_segment_is_no_other_segment",
                    test_slash_in_a_segment_is_no_other_segment);
    g_test_add_func("/http_target/pattern_matches_its_paths_alone",
                    test_pattern_matches_its_paths_alone);
    g_test_add_func("/http_target/range_is_of_the_body", test_range_is_of_the_body);
    g_test_add_func("/http_target/entity_tag_is_found_in_a_list",
                    test_entity_tag_is_found_in_a_list);
    g_test_add_func("/http_target/host_is_one_of_the_names", test_host_is_one_of_the_names);
    return g_test_run();
}
