#include "coordinator/cli/cli.h"

#include "coordinator/cli/describe.h"
#include "coordinator/cli/terminal.h"
#include "schema/monitor/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

G_DEFINE_QUARK(coordinator_error, coordinator_error)

#define WRAP_COLUMNS 78

/* Breaks the text into lines for the terminal. Free with g_free(). */
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

static void add_names(GPtrArray *names, const GOptionEntry *entries)
{
    for (; entries && entries->long_name; entries++)
        g_ptr_array_add(names, g_strconcat("--", entries->long_name, NULL));
}

/* Returns the option that was probably meant by the first word that begins with "--" and names no option, or NULL.
 * Free with g_free(). */
static char *nearest_option(const struct cli *cli, char *const *argv)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(names, g_strdup("--help"));
    add_names(names, cli->options);
    add_names(names, cli->shared);
    add_names(names, cli->lists);
    g_ptr_array_add(names, NULL);
    for (int i = 1; argv[i]; i++) {
        g_autofree char *word = g_strndup(argv[i], strcspn(argv[i], "="));
        if (g_str_has_prefix(word, "--") && strcmp(word, "--") != 0 &&
            !g_strv_contains((const char *const *)names->pdata, word))
            return g_strdup(nearest_word(word, (const char *const *)names->pdata));
    }
    return NULL;
}

static GOptionContext *option_context(const struct cli *cli)
{
    GOptionContext *context = g_option_context_new(cli->arguments);
    g_autofree char *example = g_strdup_printf("%s%sExample:\n  %s", cli->notes ? cli->notes : "",
                                               cli->notes ? "\n" : "", cli->example);
    g_autofree char *summary =
        strchr(cli->summary, '\n') ? g_strdup(cli->summary) : wrap(cli->summary);
    g_option_context_set_summary(context, summary);
    g_option_context_set_description(context, cli->description ? cli->description : example);
    if (cli->options)
        g_option_context_add_main_entries(context, cli->options, NULL);
    if (cli->shared)
        g_option_context_add_main_entries(context, cli->shared, NULL);
    if (cli->lists)
        g_option_context_add_main_entries(context, cli->lists, NULL);
    return context;
}

bool cli_parse_options(const struct cli *cli, int *argc, char ***argv, GError **error)
{
    if (describe_asked(*argc, *argv)) {
        describe_print(describe_command(cli));
        exit(fflush(stdout) == 0 ? CLI_DONE : CLI_FAILED);
    }
    g_autofree char *name = g_strdup_printf("skipjack %s", cli->command);
    g_set_prgname(name);
    g_autoptr(GOptionContext) context = option_context(cli);
    g_auto(GStrv) words = g_strdupv(*argv);
    g_autoptr(GError) wrong = NULL;
    if (!g_option_context_parse(context, argc, argv, &wrong)) {
        bool unknown = g_error_matches(wrong, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION);
        g_autofree char *nearest = unknown ? nearest_option(cli, words) : NULL;
        return cli_misuse(error, "%s%s%s%s %s --help", wrong->message,
                          nearest ? ", did you mean " : "", nearest ? nearest : "",
                          nearest ? "? See" : "; see", name);
    }
    if (*argc > 1 && strcmp((*argv)[1], "--") == 0) {
        (*argv)[1] = (*argv)[0];
        (*argv)++;
        (*argc)--;
    }
    return true;
}

static bool check_count(const struct cli *cli, int argc, char **argv, GError **error)
{
    int given = argc - 1;
    if (given < cli->least)
        return cli_misuse(error, "needs %s; see skipjack %s --help", cli->arguments, cli->command);
    if (cli->most >= 0 && given > cli->most)
        return cli_misuse(error, "'%s' is one argument too many; see skipjack %s --help",
                          argv[cli->most + 1], cli->command);
    return true;
}

bool cli_parse(const struct cli *cli, int *argc, char ***argv)
{
    GError *error = NULL;
    if (cli_parse_options(cli, argc, argv, &error) && check_count(cli, *argc, *argv, &error))
        return true;
    cli_fail(cli->command, error);
    return false;
}

bool cli_misuse(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, message);
    return false;
}

void cli_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!log_is_quiet())
        vfprintf(stderr, format, arguments);
    va_end(arguments);
}

bool cli_may_lose(const struct cli_loss *loss, int *status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    *status = CLI_DONE;
    if (loss->dry_run) {
        printf("would go: %s\n", what);
        return false;
    }
    g_autofree char *question = g_strdup_printf("%s: shall it go?", what);
    if (terminal_confirm(question, loss->yes))
        return true;
    fprintf(stderr, "nothing was changed\n");
    *status = CLI_FAILED;
    return false;
}

int cli_fail(const char *command, GError *error)
{
    bool usage = g_error_matches(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE) ||
                 error->domain == G_OPTION_ERROR;
    fprintf(stderr, "skipjack %s: %s\n", command, error->message);
    g_error_free(error);
    return usage ? CLI_USAGE : CLI_FAILED;
}

/* ---- verbs ---- */

static void print_verbs(const struct cli_verbs *list, FILE *out)
{
    fprintf(out, "Usage:\n  skipjack %s VERB [OPTION…]\n\n", list->command);
    if (list->about)
        fprintf(out, "%s\n\n", list->about);
    for (int i = 0; i < list->count; i++)
        fprintf(out, "  %-10s %s\n", list->verbs[i].name, list->verbs[i].summary);
    fprintf(out, "\n'skipjack %s VERB --help' explains one.\n\nExample:\n  %s\n", list->command,
            list->example);
}

int cli_find_verb(const struct cli_verbs *list, int argc, char **argv, int *status)
{
    bool help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    *status = help ? CLI_DONE : CLI_USAGE;
    if (describe_asked(argc, argv)) {
        describe_print(describe_verbs(list));
        *status = CLI_DONE;
        return -1;
    }
    if (argc < 2 || help) {
        print_verbs(list, help ? stdout : stderr);
        return -1;
    }
    g_autofree const char **names = g_new0(const char *, (gsize)list->count + 1);
    for (int i = 0; i < list->count; i++) {
        names[i] = list->verbs[i].name;
        if (strcmp(argv[1], names[i]) == 0)
            return i;
    }
    const char *nearest = nearest_word(argv[1], names);
    fprintf(stderr, "skipjack %s: there is no '%s' here%s%s%s See skipjack %s --help\n",
            list->command, argv[1], nearest ? ", did you mean '" : "", nearest ? nearest : "",
            nearest ? "'?" : ".", list->command);
    return -1;
}

int cli_run_verb(const struct cli_verbs *list, int argc, char **argv)
{
    int status, verb = cli_find_verb(list, argc, argv, &status);
    return verb < 0 ? status : list->verbs[verb].run(argc - 1, argv + 1);
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
