/* Lines of the log, as they arrive at the other end of standard error. */
#include <glib.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "schema/monitor/log.h"

static int saved = -1, pipe_ends[2];

static void capture(void)
{
    g_assert_cmpint(pipe(pipe_ends), ==, 0);
    saved = dup(STDERR_FILENO);
    dup2(pipe_ends[1], STDERR_FILENO);
}

/* The bytes written since capture(), at most a pipe's capacity. */
static char *captured(void)
{
    char bytes[65536];
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(pipe_ends[1]);
    GString *text = g_string_new(NULL);
    for (ssize_t got; (got = read(pipe_ends[0], bytes, sizeof bytes)) > 0;)
        g_string_append_len(text, bytes, got);
    close(pipe_ends[0]);
    return g_string_free(text, FALSE);
}

static void open_log(const char *format)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(log_open("test", format, "info", &error));
    g_assert_no_error(error);
}

static const char *text_of(json_t *line, const char *name)
{
    return json_string_value(json_object_get(line, name));
}

static void test_a_line_is_one_object(void)
{
    const struct log_about about = {
        .campaign = 3, .job = 7, .attempt = 9, .in_round = true, .problem = "KEY", .device = "0"};
    open_log("json");
    log_name_node("n1");
    log_name_worker(5);
    capture();
    log_write(LEVEL_WARNING, "round_done", &about, "first\nsecond \"%s\"", "quoted");
    g_autofree char *text = captured();
    log_name_node(NULL);
    log_name_worker(0);
    g_assert_true(g_str_has_suffix(text, "\n"));
    g_assert_cmpuint(strcspn(text, "\n"), ==, strlen(text) - 1);
    json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    g_assert_nonnull(line);
    g_assert_true(g_regex_match_simple("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$",
                                       text_of(line, "time"), 0, 0));
    g_assert_cmpstr(text_of(line, "level"), ==, "warning");
    g_assert_cmpstr(text_of(line, "event"), ==, "round_done");
    g_assert_cmpstr(text_of(line, "node"), ==, "n1");
    g_assert_cmpstr(text_of(line, "problem"), ==, "KEY");
    g_assert_cmpstr(text_of(line, "message"), ==, "first\nsecond \"quoted\"");
    g_assert_cmpint(json_integer_value(json_object_get(line, "worker")), ==, 5);
    g_assert_cmpint(json_integer_value(json_object_get(line, "job")), ==, 7);
    g_assert_cmpint(json_integer_value(json_object_get(line, "attempt")), ==, 9);
    g_assert_true(json_is_integer(json_object_get(line, "round")));
    g_assert_null(json_object_get(line, "solver"));
    json_decref(line);
}

/* Any output of a compiler becomes one valid line, in one write, which other writers cannot split. */
static void test_any_bytes_make_a_valid_line(void)
{
    g_autofree char *quotes = g_strnfill(9000, '"'), *bells = g_strnfill(9000, '\a');
    g_autofree char *euros = g_strnfill(9000, '\xe2');
    const char *const words[] = {"", "\xff\xfe\x80", quotes, bells, euros, "\xe2\x82\xac", "\\"};
    open_log("json");
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        const struct log_about about = {.problem = words[i], .solver = words[i], .device = quotes};
        capture();
        log_write(LEVEL_ERROR, "event", &about, "%s", words[i]);
        g_autofree char *text = captured();
        g_assert_cmpuint(strlen(text), <=, PIPE_BUF);
        g_assert_true(g_utf8_validate(text, -1, NULL));
        json_t *line = json_loads(text, 0, NULL);
        g_assert_nonnull(line);
        json_decref(line);
    }
}

static void test_a_long_message_is_cut_at_a_character(void)
{
    GString *euros = g_string_new(NULL);
    for (int i = 0; i < 2000; i++)
        g_string_append(euros, "\xe2\x82\xac");
    open_log("json");
    capture();
    log_write(LEVEL_INFO, "event", NULL, "%s", euros->str);
    g_autofree char *text = captured();
    g_string_free(euros, TRUE);
    json_t *line = json_loads(text, 0, NULL);
    g_assert_true(g_str_has_suffix(text_of(line, "message"), "\xe2\x82\xac..."));
    g_assert_null(strstr(text, "\xef\xbf\xbd"));
    json_decref(line);
}

static void test_people_see_who_and_what_first(void)
{
    const struct log_about about = {.job = 7, .problem = "KEY", .solver = "Conv"};
    open_log("text");
    capture();
    log_write(LEVEL_INFO, "event", &about, "round %d", 2);
    log_write(LEVEL_INFO, "event", NULL, "\033[31mred");
    log_write(LEVEL_DEBUG, "event", NULL, "not said");
    g_message("of a library");
    g_autofree char *text = captured();
    g_assert_cmpstr(text, ==, "test: KEY Conv: round 2\ntest: ?[31mred\ntest: of a library\n");
}

static void test_words_that_are_none_are_refused(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(log_open("test", "xml", NULL, &error));
    g_assert_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE);
    g_assert_nonnull(strstr(error->message, "--log takes one of text, json, not 'xml'"));
    g_clear_error(&error);
    g_setenv("SKIPJACK_LOG_LEVEL", "loud", TRUE);
    g_assert_false(log_open("test", "json", NULL, &error));
    g_assert_nonnull(strstr(error->message, "SKIPJACK_LOG_LEVEL"));
    g_unsetenv("SKIPJACK_LOG_LEVEL");
}

static void test_what_repeats_is_counted(void)
{
    struct log_limit limit = {0};
    unsigned left_out = 9;
    g_assert_true(log_due(&limit, &left_out));
    g_assert_cmpuint(left_out, ==, 0);
    g_assert_false(log_due(&limit, &left_out));
    g_assert_false(log_due(&limit, &left_out));
    limit.next_us = 1; /* a minute later */
    g_assert_true(log_due(&limit, &left_out));
    g_assert_cmpuint(left_out, ==, 2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/log/a_line_is_one_object", test_a_line_is_one_object);
    g_test_add_func("/log/any_bytes_make_a_valid_line", test_any_bytes_make_a_valid_line);
    g_test_add_func("/log/a_long_message_is_cut_at_a_character",
                    test_a_long_message_is_cut_at_a_character);
    g_test_add_func("/log/people_see_who_and_what_first", test_people_see_who_and_what_first);
    g_test_add_func("/log/unknown_words_are_refused", test_words_that_are_none_are_refused);
    g_test_add_func("/log/repeated_messages_are_counted", test_what_repeats_is_counted);
    return g_test_run();
}
