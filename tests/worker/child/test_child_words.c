/* A child's standard error, cut into lines of the agent's log. */
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "schema/monitor/log.h"
#include "worker/child/child_words.h"

/* The log's lines after a child printed these pieces. */
static char *logged(const char *const *pieces, bool is_logged)
{
    static const char role[] = "eval";
    const struct child_speaker speaker = {role, "1", is_logged};
    struct child_words words;
    int ends[2], saved = dup(STDERR_FILENO);
    g_assert_cmpint(pipe(ends), ==, 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    child_words_init(&words);
    for (; *pieces; pieces++)
        child_words_hear(&words, &speaker, *pieces, strlen(*pieces));
    child_words_end(&words, &speaker);
    child_words_clear(&words);
    dup2(saved, STDERR_FILENO);
    close(saved);
    char bytes[65536];
    ssize_t got = read(ends[0], bytes, sizeof bytes);
    close(ends[0]);
    return g_strndup(bytes, got > 0 ? (gsize)got : 0);
}

static void test_lines_come_whole(void)
{
    g_autofree char *text =
        logged((const char *[]){"one li", "ne\n\n  two", "\nthree", NULL}, true);
    g_assert_cmpstr(text, ==,
                    "test: eval child: one line\ntest: eval child: two\ntest: eval child: three\n");
}

static void test_who_is_not_logged_is_silent(void)
{
    g_autofree char *text = logged((const char *[]){"words\n", NULL}, false);
    g_assert_cmpstr(text, ==, "");
}

static void test_a_flood_is_cut_and_counted(void)
{
    GString *flood = g_string_new(NULL);
    for (int i = 0; i < 500; i++)
        g_string_append(flood, "warning\n");
    g_autofree char *text = logged((const char *[]){flood->str, NULL}, true);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 42);
    g_assert_cmpstr(lines[40], ==, "test: eval child: 460 more lines left out");
    g_string_free(flood, TRUE);
}

static void test_the_end_is_kept_as_text(void)
{
    const struct child_speaker speaker = {"build", NULL, false};
    struct child_words words;
    g_autofree char *long_line = g_strnfill(5000, 'a');
    child_words_init(&words);
    g_autofree char *nothing = child_words_last(&words);
    g_assert_cmpstr(nothing, ==, "");
    child_words_hear(&words, &speaker, long_line, 5000);
    child_words_hear(&words, &speaker,
                     "\xff"
                     "end",
                     4);
    g_autofree char *last = child_words_last(&words);
    g_assert_true(g_utf8_validate(last, -1, NULL));
    g_assert_true(g_str_has_suffix(last, "end"));
    g_assert_cmpuint(strlen(last), <, 4200);
    child_words_clear(&words);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_assert_true(log_open("test", "text", "info", NULL));
    g_test_add_func("/child_words/lines_are_logged_whole", test_lines_come_whole);
    g_test_add_func("/child_words/unlogged_child_adds_no_lines", test_who_is_not_logged_is_silent);
    g_test_add_func("/child_words/lines_over_the_limit_are_counted",
                    test_a_flood_is_cut_and_counted);
    g_test_add_func("/child_words/end_is_kept_as_valid_text", test_the_end_is_kept_as_text);
    return g_test_run();
}
