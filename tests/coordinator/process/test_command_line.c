#include "coordinator/process/command_line.h"

#include <glib.h>

static void command_lines_can_be_pasted(void)
{
    static const struct {
        const char *program, *home, *database, *expected;
    } cases[] = {
        {"skipjack", NULL, NULL, "skipjack check 'a folder' 'it'\\''s' -o x.txt ''"},
        {"build/skipjack", "/tmp/home", NULL,
         "SKIPJACK_HOME=/tmp/home build/skipjack check 'a folder' 'it'\\''s' -o x.txt ''"},
        {"./skipjack", "/tmp/home", "postgresql://db.example/x?user=a&port=1",
         "SKIPJACK_DB='postgresql://db.example/x?user=a&port=1' ./skipjack check 'a folder' 'it'\\''s' -o x.txt ''"},
        {"skipjack", NULL, "postgresql://me:secret@farm/x",
         "skipjack check 'a folder' 'it'\\''s' -o x.txt ''"},
        {"skipjack", NULL, "host=farm password=a&b",
         "skipjack check 'a folder' 'it'\\''s' -o x.txt ''"},
        {"skipjack", NULL, "host=/run/caf\xe9",
         "SKIPJACK_DB='host=/run/caf\xe9' skipjack check 'a folder' 'it'\\''s' -o x.txt ''"},
    };
    const char *const words[] = {"check", "a folder", "it's", "-o", "x.txt", "", NULL};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_unsetenv("SKIPJACK_HOME");
        g_unsetenv("SKIPJACK_DB");
        if (cases[i].home)
            g_setenv("SKIPJACK_HOME", cases[i].home, TRUE);
        if (cases[i].database)
            g_setenv("SKIPJACK_DB", cases[i].database, TRUE);
        command_line_set_program(cases[i].program);
        g_autofree char *line = command_line(words);
        g_auto(GStrv) argv = NULL;
        g_assert_true(g_shell_parse_argv(line, NULL, &argv, NULL));
        g_assert_cmpstr(line, ==, cases[i].expected);
        guint count = g_strv_length(argv);
        for (guint w = 0; w < 6; w++)
            g_assert_cmpstr(argv[count - 6 + w], ==, words[w]);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/command_line/works_when_pasted", command_lines_can_be_pasted);
    return g_test_run();
}
