#include "export/commands.h"

#include "coordinator/cli/cli.h"
#include "export/formats/export_error.h"
#include "export/usage/usage_cold.h"
#include "export/usage/usage_questions.h"
#include "export/usage/usage_read.h"
#include "schema/server/database.h"
#include "schema/store/store_problems.h"

#include <string.h>

#define SUMMARY                                                                                    \
    "Says which solvers networks use: for each network, and for all of them, the\n"                \
    "problems that a solver wins, its share of the time, and the problems that have no\n"          \
    "entry. Options below ask further questions of the same networks and times.\n\n"               \
    "Times are those of find-dbs (plain or .bz2), .sjdb files, campaigns and golden\n"             \
    "versions, any number together: on each target the fastest entry wins. With\n"                 \
    "--by source each source answers by itself, beside the others.\n\n"                            \
    "Each list of problems is a network (a layer table names its own); --network,\n"               \
    "--all-networks and --tag take them from the database. Without any, each source's\n"           \
    "own problems are a network."
#define DESCRIPTION                                                                                \
    "Exit status: 0 done; 1 when a file cannot be read, or the campaign; 2 for wrong\n"            \
    "usage.\n\nExamples:\n"                                                                        \
    "  skipjack usage --db gfx942130.HIP.fdb.txt.bz2 --problems lists/*.txt\n"                     \
    "  skipjack usage --golden gfx942_130 --all-networks --runs runs.csv\n"                        \
    "  skipjack usage --campaign 7 --by direction,type,layout\n"                                   \
    "  skipjack usage --campaign 7 --golden gfx942_130 --by source --network resnet50\n"           \
    "  skipjack usage --golden gfx942_130 --all-networks --without 'ConvAsm*'\n"                   \
    "  skipjack usage --golden gfx942_130 --all-networks --without each\n"                         \
    "  skipjack usage --golden gfx942_130 --all-networks --smallest 5\n"                           \
    "  skipjack usage --golden gfx942_130 --unused --naive --narrow --convert\n"                   \
    "  skipjack usage --golden gfx942_130 --network resnet50 --cold --cache gfx942_130.kdb"

/* Options with percentages, as typed. */
struct percentages {
    double smallest, within, rare;
};

struct usage_options {
    gboolean json, all_networks, cold;
    gboolean unused, naive, narrow, convert;
    char **databases, **lists, **networks, **tags, **campaign_words, **goldens, **caches;
    char *by, *without, *runs, *target;
    GArray *campaigns; /* int64_t */
    struct percentages percent;
    gint64 effort;
    struct usage_ask ask;
    struct import_words words; /* options that say what lists leave out */
    struct import_options list;
};

/* Rewrites "--db A B" as "--db A --db B": a shell expands the pattern of an option to several
 * words. Returns a NULL-terminated array whose words belong to argv. */
static char **spell_out(int argc, char **argv)
{
    static const char *const lists[] = {"--db", "--problems", "--cache", NULL};
    GPtrArray *words = g_ptr_array_new();
    /* the option of `lists` to which the plain words that follow belong */
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

/* Splits "gfx90a68" or "gfx90a68:3" into target and version, 0 for the newest. *target is the caller's. */
static bool split_golden(const char *word, char **target, int *version, GError **error)
{
    const char *colon = strchr(word, ':');
    gint64 number = 0;
    *target = colon != NULL ? g_strndup(word, (gsize)(colon - word)) : g_strdup(word);
    if (colon != NULL && !g_ascii_string_to_signed(colon + 1, 10, 1, G_MAXINT, &number, NULL)) {
        return cli_misuse(error, "--golden takes TARGET or TARGET:VERSION, versions are 1, 2, ..."
                                 "; see skipjack usage --help");
    }
    *version = (int)number;
    return true;
}

static bool take_goldens(const struct usage_options *options, GError **error)
{
    for (char **word = options->goldens; word != NULL && *word != NULL; word++) {
        g_autofree char *target = NULL;
        int version;
        if (!split_golden(*word, &target, &version, error)) {
            return false;
        }
    }
    return true;
}

static bool take_campaigns(struct usage_options *options, GError **error)
{
    options->campaigns = g_array_new(FALSE, FALSE, sizeof(int64_t));
    for (char **word = options->campaign_words; word != NULL && *word != NULL; word++) {
        g_auto(GStrv) ids = g_strsplit(*word, ",", -1);
        for (char **id = ids; *id != NULL; id++) {
            int64_t number;
            if (!cli_parse_id(*id, &number, NULL)) {
                return cli_misuse(error, "--campaign needs a campaign's number, or several: 3,7"
                                         "; see skipjack usage --help");
            }
            g_array_append_val(options->campaigns, number);
        }
    }
    return true;
}

static bool has_database(const struct usage_options *options)
{
    return options->campaigns->len > 0 || options->goldens != NULL || options->target != NULL;
}

static bool has_stored_networks(const struct usage_options *options)
{
    return options->all_networks || options->tags != NULL ||
           (options->networks != NULL && options->lists == NULL);
}

/* --network names a list's network, or networks of the database. */
static bool take_networks(struct usage_options *options, GError **error)
{
    if (options->lists == NULL) {
        return true;
    }
    if (options->networks != NULL && options->networks[1] != NULL) {
        return cli_misuse(error, "beside --problems there can be one --network, which names the "
                                 "list's; see skipjack usage --help");
    }
    options->words.network = options->networks != NULL ? g_strdup(options->networks[0]) : NULL;
    return true;
}

static bool check_options(const struct usage_options *options, GError **error)
{
    const struct percentages *percent = &options->percent;
    if (options->databases == NULL && !has_database(options)) {
        return cli_misuse(error, "name what holds the times: --db FILE..., --campaign ID, --target "
                                 "TARGET or --golden TARGET; see skipjack usage --help");
    }
    if (options->lists == NULL && import_words_any(&options->words)) {
        return cli_misuse(error, "--batch, --dtype, --layout and --allow-clamped belong to "
                                 "--problems; see skipjack usage --help");
    }
    if (!(percent->within >= 0) || !(percent->rare >= 0 && percent->rare <= 100) ||
        !(options->ask.gain >= 1) || options->ask.least < 1 || options->effort < 1) {
        return cli_misuse(error, "--within and --rare take per cent from 0, --gain a factor from "
                                 "1, --least and --effort numbers from 1; see skipjack usage "
                                 "--help");
    }
    return (options->caches == NULL || options->cold) ||
           cli_misuse(error, "--cache belongs to --cold; see skipjack usage --help");
}

/* Fills in what is asked from the options as they were typed. */
static bool take_questions(struct usage_options *options, gboolean smallest, GError **error)
{
    struct usage_ask *ask = &options->ask;
    if (smallest && !(options->percent.smallest >= 0)) {
        return cli_misuse(error, "--smallest takes per cent from 0; see skipjack usage --help");
    }
    ask->by = options->by != NULL ? g_strsplit(options->by, ",", -1) : NULL;
    ask->without = options->without != NULL ? g_strsplit(options->without, ",", -1) : NULL;
    ask->smallest = smallest ? options->percent.smallest / 100 : -1;
    ask->unused = options->unused;
    ask->naive = options->naive;
    ask->narrow = options->narrow;
    ask->convert = options->convert;
    ask->within = options->percent.within / 100;
    ask->rare = options->percent.rare / 100;
    ask->effort = options->effort * 1000 * 1000;
    return true;
}

#define NOT_GIVEN (-1e300)

static bool parse(int argc, char **argv, struct usage_options *options, GError **error)
{
    const GOptionEntry entries[] = {
        {"db", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->databases, "Find-dbs, .sjdb",
         "FILE..."},
        {"campaign", 'c', 0, G_OPTION_ARG_STRING_ARRAY, &options->campaign_words,
         "Results of campaigns", "ID,..."},
        {"target", 0, 0, G_OPTION_ARG_STRING, &options->target,
         "Results of all of this farm's campaigns on a target", "TARGET"},
        {"golden", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->goldens,
         "What a target ships with (its newest version)", "TARGET[:VERSION]"},
        {"problems", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->lists, "Lists of problems",
         "LIST..."},
        {"all-networks", 0, 0, G_OPTION_ARG_NONE, &options->all_networks,
         "Every network of the database", NULL},
        {"tag", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options->tags, "The problems with a tag", "TAG"},
        {"runs", 0, 0, G_OPTION_ARG_FILENAME, &options->runs,
         "How often networks run: CSV (network,runs) or JSON", "FILE"},
        {"by", 0, 0, G_OPTION_ARG_STRING, &options->by,
         "Winners by direction, type, layout, filter, stride, target, revision, network, source",
         "WORD,..."},
        {"without", 0, 0, G_OPTION_ARG_STRING, &options->without,
         "What networks lose without these solvers; each: without each one", "SOLVER,..."},
        {"smallest", 0, 0, G_OPTION_ARG_DOUBLE, &options->percent.smallest,
         "The smallest set of solvers within so much of the best", "PERCENT"},
        {"unused", 0, 0, G_OPTION_ARG_NONE, &options->unused, "Solvers that are never the fastest",
         NULL},
        {"naive", 0, 0, G_OPTION_ARG_NONE, &options->naive,
         "Problems for which the naive solver is the fastest", NULL},
        {"narrow", 0, 0, G_OPTION_ARG_NONE, &options->narrow,
         "Classes of problems that solvers could leave out", NULL},
        {"convert", 0, 0, G_OPTION_ARG_NONE, &options->convert,
         "Solvers seldom the fastest, but then by far, with advice", NULL},
        {"cold", 0, 0, G_OPTION_ARG_NONE, &options->cold, "What the first start costs", NULL},
        {"cache", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->caches,
         "For --cold: the kernels that are shipped, .kdb or .sjdb", "FILE..."},
        {"within", 0, 0, G_OPTION_ARG_DOUBLE, &options->percent.within,
         "For --narrow: how far from the best still counts (5)", "PERCENT"},
        {"least", 0, 0, G_OPTION_ARG_INT, &options->ask.least,
         "For --narrow: problems that a class has at least (3)", "N"},
        {"rare", 0, 0, G_OPTION_ARG_DOUBLE, &options->percent.rare,
         "For --convert: most of all wins (2)", "PERCENT"},
        {"gain", 0, 0, G_OPTION_ARG_DOUBLE, &options->ask.gain,
         "For --convert: the next solver takes so many times as long (1.5)", "FACTOR"},
        {"effort", 0, 0, G_OPTION_ARG_INT64, &options->effort,
         "For --smallest: most comparisons, in millions (100)", "N"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "Print one JSON object", NULL},
        {0},
    };
    g_autofree GOptionEntry *list = import_words_entries(&options->words, 0, 0);
    g_autofree char **words = spell_out(argc, argv);
    char **left = words;
    int count = (int)g_strv_length(words);
    /* Here --network can be given several times. */
    g_assert(strcmp(list[0].long_name, "network") == 0);
    list[0].arg = G_OPTION_ARG_STRING_ARRAY;
    list[0].arg_data = &options->networks;
    list[0].description = "A network of the database; with --problems, the list's network";
    const struct cli cli = {.command = "usage",
                            .summary = SUMMARY,
                            .description = DESCRIPTION,
                            .options = entries,
                            .lists = list};
    usage_ask_init(&options->ask);
    options->percent =
        (struct percentages){NOT_GIVEN, options->ask.within * 100, options->ask.rare * 100};
    options->effort = options->ask.effort / (1000 * 1000);
    if (!cli_parse_options(&cli, &count, &left, error)) {
        return false;
    }
    if (count > 1) {
        return cli_misuse(error, "it takes options only"
                                 "; see skipjack usage --help");
    }
    return take_campaigns(options, error) && take_goldens(options, error) &&
           take_networks(options, error) && check_options(options, error) &&
           take_questions(options, options->percent.smallest != NOT_GIVEN, error) &&
           import_words_parse(&options->words, &options->list, error);
}

/* ---- reading ---- */

struct work {
    Usage *usage;
    const struct usage_options *options;
    struct usage_database database;
    bool own;    /* the sources' own problems are the networks */
    bool failed; /* something could not be read, and was named on stderr */
};

static void note_failure(struct work *work, GError *error)
{
    cli_fail("usage", error);
    work->failed = true;
}

/* Reads the lists. A list that cannot be read is named on stderr, and the others still count. */
static void read_lists(struct work *work)
{
    for (char **path = work->options->lists; path != NULL && *path != NULL; path++) {
        GError *error = NULL;
        if (!usage_read_list(work->usage, *path, &work->options->list, &error)) {
            note_failure(work, error);
        }
    }
}

static bool read_all_networks(struct work *work, GError **error)
{
    g_autoptr(GPtrArray) rows = store_list_networks(work->database.store, false, error);
    for (guint i = 0; rows != NULL && i < rows->len; i++) {
        const struct network_row *row = rows->pdata[i];
        if (row->problems > 0 &&
            !usage_read_network(work->usage, &work->database, row->name, error)) {
            return false;
        }
    }
    if (rows != NULL && usage_network_count(work->usage) == 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY,
                    "the database has no networks; skipjack import FILE adds some");
        return false;
    }
    return rows != NULL;
}

static bool read_stored_networks(struct work *work, GError **error)
{
    const struct usage_options *options = work->options;
    for (char **name = options->lists == NULL ? options->networks : NULL;
         name != NULL && *name != NULL; name++) {
        if (!usage_read_network(work->usage, &work->database, *name, error)) {
            return false;
        }
    }
    for (char **tag = options->tags; tag != NULL && *tag != NULL; tag++) {
        if (!usage_read_tag(work->usage, &work->database, *tag, error)) {
            return false;
        }
    }
    return !options->all_networks || read_all_networks(work, error);
}

static void read_files(struct work *work, bool own)
{
    for (char **path = work->options->databases; path != NULL && *path != NULL; path++) {
        GError *error = NULL;
        bool apart = work->database.apart;
        if (!(own ? usage_own_db(work->usage, *path, apart, &error)
                  : usage_read_db(work->usage, *path, apart, &error))) {
            /* A file that is read twice is named once. */
            if (own || !work->own) {
                note_failure(work, error);
            } else {
                g_error_free(error);
            }
        }
    }
}

static bool read_one_golden(struct work *work, const char *word, bool own, GError **error)
{
    g_autofree char *target = NULL;
    int version = 0;
    return split_golden(word, &target, &version, error) &&
           (own ? usage_own_golden(work->usage, &work->database, target, version, error)
                : usage_read_golden(work->usage, &work->database, target, version, error));
}

static bool read_stored_times(struct work *work, bool own, GError **error)
{
    const struct usage_options *options = work->options;
    for (guint i = 0; i < options->campaigns->len; i++) {
        int64_t id = g_array_index(options->campaigns, int64_t, i);
        if (!(own ? usage_own_campaign(work->usage, &work->database, id, error)
                  : usage_read_campaign(work->usage, &work->database, id, error))) {
            return false;
        }
    }
    for (char **word = options->goldens; word != NULL && *word != NULL; word++) {
        if (!read_one_golden(work, *word, own, error)) {
            return false;
        }
    }
    return true;
}

/* Adds the target's own campaigns to the list. */
static bool take_target(struct work *work, GError **error)
{
    const struct usage_options *options = work->options;
    if (options->target == NULL) {
        return true;
    }
    guint before = options->campaigns->len;
    if (!store_list_target_campaigns(work->database.store, options->target, options->campaigns,
                                     error)) {
        return false;
    }
    if (options->campaigns->len == before) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY,
                    "no campaign is of target '%s'; skipjack targets lists them", options->target);
    }
    return options->campaigns->len > before;
}

static bool read_everything(struct work *work, GError **error)
{
    const struct usage_options *options = work->options;
    bool stored = has_stored_networks(options);
    work->own = options->lists == NULL && !stored;
    work->database.apart =
        options->ask.by != NULL && g_strv_contains((const char *const *)options->ask.by, "source");
    work->database.partial = options->lists != NULL || (work->own && options->databases != NULL);
    if (has_database(options) || stored) {
        work->database.store = database_open(options->json, error);
        if (work->database.store == NULL || !take_target(work, error)) {
            return false;
        }
    }
    read_lists(work);
    if (stored && !read_stored_networks(work, error)) {
        return false;
    }
    if (work->own) {
        read_files(work, true);
        if (!read_stored_times(work, true, error)) {
            return false;
        }
    }
    if (options->runs != NULL && !usage_read_runs(work->usage, options->runs, error)) {
        return false;
    }
    read_files(work, false);
    return read_stored_times(work, false, error);
}

/* ---- answering ---- */

static bool read_caches(const struct usage_options *options, GHashTable **cache, GError **error)
{
    *cache = options->caches != NULL ? usage_cache_new() : NULL;
    for (char **path = options->caches; path != NULL && *path != NULL; path++) {
        if (!usage_cache_add(*cache, *path, error)) {
            return false;
        }
    }
    return true;
}

static bool answer_cold(struct work *work, json_t *json, GError **error)
{
    GHashTable *cache = NULL;
    bool answered =
        read_caches(work->options, &cache, error) &&
        usage_answer_cold(work->usage, work->database.store, cache, json, stdout, error);
    g_clear_pointer(&cache, g_hash_table_unref);
    return answered;
}

static bool answer(struct work *work, GError **error)
{
    const struct usage_options *options = work->options;
    struct usage_summary summary;
    usage_sum(work->usage, &summary);
    json_t *json = options->json ? usage_json(&summary) : NULL;
    if (json == NULL) {
        usage_print(&summary, stdout);
    }
    bool answered = usage_answer(work->usage, &options->ask, json, stdout, error) &&
                    (!options->cold || answer_cold(work, json, error));
    if (json != NULL) {
        json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        putchar('\n');
        json_decref(json);
    }
    usage_summary_clear(&summary);
    return answered;
}

static int run(const struct usage_options *options)
{
    g_autoptr(Usage) usage = usage_new();
    struct work work = {.usage = usage, .options = options};
    GError *error = NULL;
    int status = CLI_DONE;
    if (!read_everything(&work, &error) || !answer(&work, &error)) {
        status = g_error_matches(error, EXPORT_ERROR, EXPORT_ERROR_USAGE) ? CLI_USAGE : CLI_FAILED;
        cli_fail("usage", error);
    }
    usage_database_clear(&work.database);
    g_clear_pointer(&work.database.store, store_close);
    return status == CLI_DONE && work.failed ? CLI_FAILED : status;
}

static void options_clear(struct usage_options *options)
{
    g_strfreev(options->databases);
    g_strfreev(options->lists);
    g_strfreev(options->networks);
    g_strfreev(options->tags);
    g_strfreev(options->campaign_words);
    g_strfreev(options->goldens);
    g_strfreev(options->caches);
    g_strfreev(options->ask.by);
    g_strfreev(options->ask.without);
    g_free(options->by);
    g_free(options->without);
    g_free(options->runs);
    g_free(options->target);
    g_clear_pointer(&options->campaigns, g_array_unref);
    import_words_clear(&options->words);
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
    options_clear(&options);
    return status;
}
