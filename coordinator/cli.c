#include "coordinator/cli.h"

#include "schema/database.h"

#include <stdio.h>
#include <string.h>

G_DEFINE_QUARK(coordinator_error, coordinator_error)

#define WRAP_COLUMNS 78

/* Free with g_free(). */
static char *wrap(const char *text)
{
    GString *wrapped = g_string_new(NULL);
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    gsize column = 0;
    for (int i = 0; words[i]; i++) {
        gsize length = strlen(words[i]);
        bool fits = column == 0 || column + 1 + length <= WRAP_COLUMNS;
        g_string_append_printf(wrapped, "%s%s", column == 0 ? "" : fits ? " " : "\n", words[i]);
        column = fits && column > 0 ? column + 1 + length : length;
    }
    return g_string_free(wrapped, FALSE);
}

static GOptionContext *option_context(const struct cli *cli)
{
    GOptionContext *context = g_option_context_new(cli->arguments);
    g_autofree char *example = g_strdup_printf("Example:\n  %s", cli->example);
    g_autofree char *summary = wrap(cli->summary);
    g_option_context_set_summary(context, summary);
    g_option_context_set_description(context, example);
    if (cli->options)
        g_option_context_add_main_entries(context, cli->options, NULL);
    if (cli->shared)
        g_option_context_add_main_entries(context, cli->shared, NULL);
    return context;
}

bool cli_parse(const struct cli *cli, int *argc, char ***argv)
{
    g_autofree char *name = g_strdup_printf("skipjack %s", cli->command);
    g_set_prgname(name);
    g_autoptr(GOptionContext) context = option_context(cli);
    g_autoptr(GError) error = NULL;
    bool parsed = g_option_context_parse(context, argc, argv, &error);
    int given = *argc - 1;
    if (parsed && given > 0 && strcmp((*argv)[1], "--") == 0) {
        (*argv)[1] = (*argv)[0];
        (*argv)++;
        (*argc)--;
        given--;
    }
    if (parsed && given >= cli->least && (cli->most < 0 || given <= cli->most))
        return true;
    if (!parsed)
        fprintf(stderr, "%s: %s\n", name, error->message);
    else if (given < cli->least)
        fprintf(stderr, "%s: needs %s\n", name, cli->arguments);
    else
        fprintf(stderr, "%s: '%s' is one argument too many\n", name, (*argv)[cli->most + 1]);
    fprintf(stderr, "see %s --help\n", name);
    return false;
}

int cli_fail(const char *command, GError *error)
{
    bool usage = g_error_matches(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE);
    fprintf(stderr, "skipjack %s: %s\n", command, error->message);
    g_error_free(error);
    return usage ? CLI_USAGE : CLI_FAILED;
}

/* ---- command lines to paste ---- */

static const char *program = "skipjack";

void cli_set_program(const char *invoked)
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

char *cli_command(const char *const *words)
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

/* ---- verbs ---- */

static void print_verbs(const char *command, const struct cli_verb *verbs, int count,
                        const char *example, FILE *out)
{
    fprintf(out, "Usage:\n  skipjack %s VERB [OPTION…]\n\n", command);
    for (int i = 0; i < count; i++)
        fprintf(out, "  %-8s %s\n", verbs[i].name, verbs[i].summary);
    fprintf(out, "\n'skipjack %s VERB --help' explains one.\n\nExample:\n  %s\n", command, example);
}

int cli_run_verb(const char *command, const struct cli_verb *verbs, int count, const char *example,
                 int argc, char **argv)
{
    if (argc < 2) {
        print_verbs(command, verbs, count, example, stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_verbs(command, verbs, count, example, stdout);
        return CLI_DONE;
    }
    for (int i = 0; i < count; i++) {
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "skipjack %s: there is no '%s' here, see skipjack %s --help\n", command,
            argv[1], command);
    return CLI_USAGE;
}

bool cli_parse_id(const char *text, int64_t *id, GError **error)
{
    guint64 value = 0;
    if (!g_ascii_string_to_unsigned(text, 10, 1, G_MAXINT64, &value, NULL)) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "'%s' is no id: a number is expected, skipjack campaign list shows them", text);
        return false;
    }
    *id = (int64_t)value;
    return true;
}
