#include "export/commands.h"

#include "coordinator/cli/cli.h"
#include "export/usage/usage_read.h"
#include "schema/server/database.h"
#include "solvers/framework/target.h"

#include <string.h>

#define SUMMARY                                                                                    \
    "Says which solvers networks use: for each network, and for all of them, the\n"                \
    "problems that a solver wins, its share of the time, and the problems that have no\n"          \
    "entry. Each list of problems is a network (a layer table names its own); lists are\n"         \
    "read as skipjack import reads them. Times are those of find-dbs (plain or .bz2), of\n"        \
    ".sjdb files, of a campaign or of a golden version; several files answer as one, the\n"        \
    "fastest entry wins: name files of one target. Without lists the campaign's or\n"              \
    "version's own problems are the network."
#define DESCRIPTION                                                                                \
    "Exit status: 0 done; 1 when a file cannot be read, or the campaign; 2 for wrong\n"            \
    "usage.\n\nExample:\n"                                                                         \
    "  skipjack usage --db gfx942130.HIP.fdb.txt.bz2 --problems lists/*.txt"

struct usage_options {
    gboolean json;
    gint64 campaign;
    char **databases, **lists;
    char *golden;              /* as given, later the target alone */
    int version;               /* 0 for the newest */
    struct import_words words; /* options that say what lists leave out */
    struct import_options list;
};

/* Rewrites "--db A B" as "--db A --db B": a shell expands the pattern of an option to several
 * words. Returns a NULL-terminated array whose words belong to argv. */
static char **spell_out(int argc, char **argv)
{
    static const char *const lists[] = {"--db", "--problems", NULL};
    GPtrArray *words = g_ptr_array_new();
    /* the option, --db or --problems, to which the plain words that follow belong */
    char *list = NULL;
    for (int i = 0; i < argc; i++) {
        if (i > 0 && argv[i][0] == '-' && argv[i][1] != '\0') {
            list = g_strv_contains(lists, argv[i]) ? argv[i] : NULL;
        } else if (list != NULL && argv[i - 1] != list) {
            g_ptr_array_add(words, list);
        }
        g_ptr_array_add(words, argv[i]);
    }
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(words, FALSE);
}

/* Splits "gfx90a68" or "gfx90a68:3" into target and version. */
static bool take_version(struct usage_options *options, GError **error)
{
    char *colon = options->golden != NULL ? strchr(options->golden, ':') : NULL;
    gint64 version = 0;
    if (colon == NULL) {
        return true;
    }
    *colon = '\0';
    if (!g_ascii_string_to_signed(colon + 1, 10, 1, G_MAXINT, &version, NULL)) {
        return cli_misuse(error, "--golden takes TARGET or TARGET:VERSION, versions are 1, 2, ..."
                                 "; see skipjack usage --help");
    }
    options->version = (int)version;
    return true;
}

static bool check_options(const struct usage_options *options, GError **error)
{
    int sources =
        (options->databases != NULL) + (options->campaign != 0) + (options->golden != NULL);
    if (options->campaign < 0) {
        return cli_misuse(error, "--campaign needs a campaign's number"
                                 "; see skipjack usage --help");
    }
    if (sources != 1) {
        return cli_misuse(
            error, "name what holds the times: --db FILE..., --campaign ID or --golden TARGET"
                   "; see skipjack usage --help");
    }
    if (options->lists == NULL && import_words_any(&options->words)) {
        return cli_misuse(
            error, "--network, --batch, --dtype, --layout and --allow-clamped belong to --problems"
                   "; see skipjack usage --help");
    }
    return options->lists != NULL || options->databases == NULL ||
           cli_misuse(error, "name the networks: --problems LIST..."
                             "; see skipjack usage --help");
}

static bool parse(int argc, char **argv, struct usage_options *options, GError **error)
{
    const GOptionEntry entries[] = {
        {"db", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->databases, "Find-dbs, .sjdb",
         "FILE..."},
        {"problems", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->lists, "Lists of problems",
         "LIST..."},
        {"campaign", 'c', 0, G_OPTION_ARG_INT64, &options->campaign, "A campaign's results", "ID"},
        {"golden", 0, 0, G_OPTION_ARG_STRING, &options->golden,
         "What a target ships with (its newest version)", "TARGET[:VERSION]"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "Print one JSON object", NULL},
        {0},
    };
    g_autofree GOptionEntry *list = import_words_entries(&options->words, 0, 0);
    g_autofree char **words = spell_out(argc, argv);
    char **left = words;
    int count = (int)g_strv_length(words);
    const struct cli cli = {.command = "usage",
                            .summary = SUMMARY,
                            .description = DESCRIPTION,
                            .options = entries,
                            .lists = list};
    if (!cli_parse_options(&cli, &count, &left, error)) {
        return false;
    }
    if (count > 1) {
        return cli_misuse(error, "it takes options only"
                                 "; see skipjack usage --help");
    }
    return take_version(options, error) && check_options(options, error) &&
           import_words_parse(&options->words, &options->list, error);
}

/* Reads each file. A file that cannot be read is named on stderr, and the others still count.
 * `list`: NULL to read databases, else the options with which lists of problems are read. */
static bool read_each(Usage *usage, char **paths, const struct import_options *list)
{
    bool all = true;
    for (; paths != NULL && *paths != NULL; paths++) {
        g_autoptr(GError) error = NULL;
        if (list != NULL ? !usage_read_list(usage, *paths, list, &error)
                         : !usage_read_db(usage, *paths, &error)) {
            cli_fail("usage", g_steal_pointer(&error));
            all = false;
        }
    }
    return all;
}

static bool name_target(const char *path, struct target *target)
{
    g_autofree char *name = g_path_get_basename(path);
    name[strcspn(name, ".")] = '\0';
    return target_parse(name, target, NULL);
}

/* Warns if the databases are for different targets, since times of different devices cannot be
 * compared. */
static void warn_of_targets(char **paths)
{
    struct target first, other;
    if (paths == NULL || !name_target(paths[0], &first)) {
        return;
    }
    for (char **path = paths + 1; *path != NULL; path++) {
        if (name_target(*path, &other) && strcmp(first.id, other.id) != 0) {
            g_printerr("skipjack usage: '%s' and '%s' are of different targets by their names: the "
                       "fastest entry of all wins; ask for one target at a time\n",
                       paths[0], *path);
            return;
        }
    }
}

static bool read_store(Usage *usage, const struct usage_options *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = database_open(options->json, &error);
    bool as_network = options->lists == NULL;
    bool read = store != NULL &&
                (options->golden != NULL
                     ? usage_read_golden(usage, store, options->golden, options->version,
                                         as_network, &error)
                     : usage_read_campaign(usage, store, options->campaign, as_network, &error));
    if (!read) {
        cli_fail("usage", g_steal_pointer(&error));
    }
    return read;
}

static int run(const struct usage_options *options)
{
    g_autoptr(Usage) usage = usage_new();
    struct usage_summary summary;
    warn_of_targets(options->databases);
    bool read = read_each(usage, options->lists, &options->list);
    read = read_each(usage, options->databases, NULL) && read;
    if (options->databases == NULL && !read_store(usage, options)) {
        return 1;
    }
    usage_sum(usage, &summary);
    if (options->json) {
        usage_print_json(&summary, stdout);
    } else {
        usage_print(&summary, stdout);
    }
    usage_summary_clear(&summary);
    return read ? 0 : 1;
}

int command_usage(int argc, char **argv)
{
    struct usage_options options = {0};
    g_autoptr(GError) error = NULL;
    int status = CLI_USAGE;
    if (parse(argc, argv, &options, &error)) {
        status = run(&options);
    } else {
        cli_fail("usage", g_steal_pointer(&error));
    }
    g_strfreev(options.databases);
    g_strfreev(options.lists);
    g_free(options.golden);
    import_words_clear(&options.words);
    return status;
}
