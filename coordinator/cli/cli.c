#include "coordinator/cli/cli.h"

#include "coordinator/cli/terminal.h"
#include "schema/monitor/log.h"

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

static void add_names(GPtrArray *names, const GOptionEntry *entries)
{
    for (; entries && entries->long_name; entries++)
        g_ptr_array_add(names, g_strconcat("--", entries->long_name, NULL));
}

/* The first word that begins with "--" and names no option, and what was probably meant by it. */
static void suggest_option(const struct cli *cli, char *const *argv)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(names, g_strdup("--help"));
    add_names(names, cli->options);
    add_names(names, cli->shared);
    add_names(names, cli->lists);
    g_ptr_array_add(names, NULL);
    for (int i = 1; argv[i]; i++) {
        g_autofree char *word = g_strndup(argv[i], strcspn(argv[i], "="));
        if (!g_str_has_prefix(word, "--") || strcmp(word, "--") == 0 ||
            g_strv_contains((const char *const *)names->pdata, word))
            continue;
        const char *nearest = nearest_word(word, (const char *const *)names->pdata);
        if (nearest)
            fprintf(stderr, "did you mean %s?\n", nearest);
        return;
    }
}

static GOptionContext *option_context(const struct cli *cli)
{
    GOptionContext *context = g_option_context_new(cli->arguments);
    g_autofree char *example = g_strdup_printf("%s%sExample:\n  %s", cli->notes ? cli->notes : "",
                                               cli->notes ? "\n" : "", cli->example);
    g_autofree char *summary = wrap(cli->summary);
    g_option_context_set_summary(context, summary);
    g_option_context_set_description(context, example);
    if (cli->options)
        g_option_context_add_main_entries(context, cli->options, NULL);
    if (cli->shared)
        g_option_context_add_main_entries(context, cli->shared, NULL);
    if (cli->lists)
        g_option_context_add_main_entries(context, cli->lists, NULL);
    return context;
}

bool cli_parse(const struct cli *cli, int *argc, char ***argv)
{
    g_autofree char *name = g_strdup_printf("skipjack %s", cli->command);
    g_set_prgname(name);
    g_autoptr(GOptionContext) context = option_context(cli);
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) words = g_strdupv(*argv);
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
    if (!parsed) {
        fprintf(stderr, "%s: %s\n", name, error->message);
        if (g_error_matches(error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION))
            suggest_option(cli, words);
    } else if (given < cli->least)
        fprintf(stderr, "%s: needs %s\n", name, cli->arguments);
    else
        fprintf(stderr, "%s: '%s' is one argument too many\n", name, (*argv)[cli->most + 1]);
    fprintf(stderr, "see %s --help\n", name);
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
    bool usage = g_error_matches(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE);
    fprintf(stderr, "skipjack %s: %s\n", command, error->message);
    g_error_free(error);
    return usage ? CLI_USAGE : CLI_FAILED;
}

/* ---- verbs ---- */

static void print_verbs(const char *command, const struct cli_verb *verbs, int count,
                        const char *example, FILE *out)
{
    fprintf(out, "Usage:\n  skipjack %s VERB [OPTION…]\n\n", command);
    for (int i = 0; i < count; i++)
        fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
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
    g_autofree const char **names = g_new0(const char *, (gsize)count + 1);
    for (int i = 0; i < count; i++)
        names[i] = verbs[i].name;
    const char *nearest = nearest_word(argv[1], names);
    fprintf(stderr, "skipjack %s: there is no '%s' here%s%s%s See skipjack %s --help\n", command,
            argv[1], nearest ? ", did you mean '" : "", nearest ? nearest : "",
            nearest ? "'?" : ".", command);
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
