#include "coordinator/process/command_line.h"

#include "schema/server/database.h"

#include <glib.h>
#include <string.h>

static const char *program = "skipjack";

void command_line_set_program(const char *invoked)
{
    program = invoked;
}

static void append_word(GString *line, const char *word)
{
    g_autofree char *quoted = g_shell_quote(word);
    bool plain =
        word[0] && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./=,:@%+-") == strlen(word);
    g_string_append(line, plain ? word : quoted);
}

static void append_setting(GString *line, const char *name, const char *value)
{
    g_string_append_printf(line, "%s=", name);
    append_word(line, value);
    g_string_append_c(line, ' ');
}

char *command_line(const char *const *words)
{
    GString *line = g_string_new(NULL);
    const char *database = g_getenv("SKIPJACK_DB"), *home = g_getenv("SKIPJACK_HOME");
    if (database && database[0]) {
        g_autofree char *shown = database_without_password(database);
        if (strcmp(shown, database) == 0)
            append_setting(line, "SKIPJACK_DB", database);
    } else if (home && home[0])
        append_setting(line, "SKIPJACK_HOME", home);
    append_word(line, program);
    for (int i = 0; words[i]; i++) {
        g_string_append_c(line, ' ');
        append_word(line, words[i]);
    }
    return g_string_free(line, FALSE);
}
