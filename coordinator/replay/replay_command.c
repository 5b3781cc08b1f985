/* `skipjack replay`: runs search strategies on recorded spaces, and records spaces. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/commands.h"
#include "coordinator/replay/record.h"
#include "coordinator/replay/replay.h"
#include "schema/server/database.h"

#define SEEDS_MOST 100000

struct arguments {
    char **priors, **strategies, **others;
    char *space, *trace, *note, *folder;
    gint64 record;
    int seeds, tries, batch, prior_best, prior_tries, prior_campaigns;
    double seconds, gain; /* gain in per cent */
    gboolean partial, as_json;
};

static void arguments_clear(struct arguments *a)
{
    g_strfreev(a->priors);
    g_strfreev(a->strategies);
    g_free(a->trace);
    g_free(a->note);
    g_free(a->folder);
}

/* ---- what is replayed ---- */

struct replay {
    const struct arguments *arguments;
    RecordedSpace *space;
    GPtrArray *others; /* struct recorded_space * */
    struct replay_prior prior;
    FILE *trace;
    json_t *strategies; /* object: the figures of each */
    Table *table;
};

static void replay_clear(struct replay *replay)
{
    recorded_space_free(replay->space);
    g_clear_pointer(&replay->others, g_ptr_array_unref);
    g_clear_pointer(&replay->strategies, json_decref);
    g_clear_pointer(&replay->table, table_free);
}

static bool read_other(struct replay *replay, const char *path, GError **error)
{
    g_autoptr(RecordedSpace) other = recorded_space_read(path, error);
    if (!other || !recorded_space_same_params(replay->space, other, error))
        return false;
    g_ptr_array_add(replay->others, g_steal_pointer(&other));
    return true;
}

static bool read_spaces(struct replay *replay, GError **error)
{
    const struct arguments *a = replay->arguments;
    replay->others = g_ptr_array_new_with_free_func((GDestroyNotify)recorded_space_free);
    replay->space = recorded_space_read(a->space, error);
    bool good = replay->space != NULL;
    for (char **path = a->priors; good && path && *path; path++)
        good = read_other(replay, *path, error);
    for (char **path = a->others; good && *path; path++)
        good = read_other(replay, *path, error);
    replay->prior = (struct replay_prior){.others = replay->others,
                                          .best = a->prior_best,
                                          .most = REPLAY_PRIOR_MOST,
                                          .tries = a->prior_tries,
                                          .campaigns = a->prior_campaigns};
    return good;
}

/* ---- showing ---- */

static const struct table_column columns[] = {
    {"strategy", "strategy", TABLE_TEXT, 0},     {"to 5 %", "to_5pct", TABLE_NUMBER, 1},
    {"95th", "to_5pct_p95", TABLE_NUMBER, 0},    {"seconds", "to_5pct_s", TABLE_NUMBER, -3},
    {"to 1 %", "to_1pct", TABLE_NUMBER, 1},      {"95th", "to_1pct_p95", TABLE_NUMBER, 0},
    {"seconds", "to_1pct_s", TABLE_NUMBER, -3},  {"to optimum", "to_optimum", TABLE_NUMBER, 1},
    {"95th", "to_optimum_p95", TABLE_NUMBER, 0}, {"seconds", "to_optimum_s", TABLE_NUMBER, -3},
};

static json_t *figure_json(double value)
{
    if (!isfinite(value))
        return json_null();
    return value == floor(value) && value < 9e15 ? json_integer((json_int_t)value)
                                                 : json_real(value);
}

static json_t *summary_json(const struct replay_summary *summary)
{
    json_t *object = json_object();
    for (int mark = 0; mark < REPLAY_MARK_COUNT; mark++)
        json_object_set_new(object, replay_marks[mark].name,
                            json_pack("{s:o, s:o, s:i, s:{s:o, s:o}}", "median",
                                      figure_json(summary->tries[mark].median), "p95",
                                      figure_json(summary->tries[mark].p95), "reached",
                                      summary->reached[mark], "seconds", "median",
                                      figure_json(summary->seconds[mark].median), "p95",
                                      figure_json(summary->seconds[mark].p95)));
    return object;
}

static void add_row(Table *table, const char *strategy, const struct replay_summary *summary)
{
    table_text(table, strategy);
    for (int mark = 0; mark < REPLAY_MARK_COUNT; mark++) {
        table_number(table, summary->tries[mark].median);
        table_number(table, summary->tries[mark].p95);
        table_number(table, summary->seconds[mark].median);
    }
}

static json_t *space_json(const RecordedSpace *space)
{
    const struct recorded_config *best =
        &g_array_index(space->configs, struct recorded_config, space->best);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:f, s:o}", "path", space->path,
                     "format", space->format, "kernel", space->about.kernel, "problem",
                     space->about.problem, "device", space->about.device, "recorded",
                     space->about.how, "configs", (int)space->configs->len, "failed", space->failed,
                     "whole", (json_int_t)space->whole, "best_ms", best->time_ms, "best",
                     recorded_config_json(space, space->best));
}

static json_t *prior_json(const struct replay *replay)
{
    if (replay->others->len == 0)
        return json_null();
    json_t *paths = json_array();
    for (guint i = 0; i < replay->others->len; i++)
        json_array_append_new(paths,
                              json_string(((const RecordedSpace *)replay->others->pdata[i])->path));
    return json_pack("{s:o, s:i, s:i, s:i, s:i}", "files", paths, "best", replay->prior.best,
                     "most", replay->prior.most, "tries", replay->prior.tries, "campaigns",
                     replay->prior.campaigns);
}

static void show(struct replay *replay)
{
    const struct arguments *a = replay->arguments;
    const RecordedSpace *space = replay->space;
    if (a->as_json) {
        table_show_json(json_pack(
            "{s:o, s:i, s:i, s:i, s:f, s:f, s:o, s:O}", "space", space_json(space), "seeds",
            a->seeds, "batch", a->batch, "tries_most", a->tries, "seconds_most", a->seconds, "gain",
            a->gain, "prior", prior_json(replay), "strategies", replay->strategies));
        return;
    }
    const char *device = space->about.device[0] ? space->about.device : "an unnamed device";
    printf("%s on %s: %u configs", space->about.kernel[0] ? space->about.kernel : space->path,
           device, space->configs->len);
    if (space->whole > (int64_t)space->configs->len)
        printf(" of %" G_GINT64_FORMAT, space->whole);
    printf(", %d failed, the fastest %.4g ms; tries, medians of %d seeds\n", space->failed,
           g_array_index(space->configs, struct recorded_config, space->best).time_ms, a->seeds);
    table_show(replay->table, false);
}

/* ---- replaying ---- */

static void replay_strategy(struct replay *replay, enum strategy_id strategy)
{
    const struct arguments *a = replay->arguments;
    const struct replay_setup setup = {
        .space = replay->space,
        .strategy = strategy,
        .prior = replay->others->len > 0 ? &replay->prior : NULL,
        .budget = {.tries = a->tries, .seconds = a->seconds, .gain = a->gain / 100},
        .batch = a->batch,
    };
    g_autoptr(GPtrArray) runs = replay_seeds(&setup, a->seeds);
    const struct replay_summary summary = replay_summarize(runs);
    if (replay->trace)
        replay_trace(&setup, runs, replay->trace);
    json_object_set_new(replay->strategies, strategy_table[strategy].name, summary_json(&summary));
    add_row(replay->table, strategy_table[strategy].name, &summary);
}

/* Whether the strategy was asked for: no --strategy asks for all. */
static bool is_asked(const struct arguments *a, const char *name)
{
    return !a->strategies || g_strv_contains((const char *const *)a->strategies, name);
}

static bool replay_all(struct replay *replay, GError **error)
{
    const struct arguments *a = replay->arguments;
    if (!read_spaces(replay, error))
        return false;
    replay->trace = a->trace ? fopen(a->trace, "w") : NULL;
    if (a->trace && !replay->trace) {
        g_set_error(error, REPLAY_ERROR, REPLAY_ERROR_FILE, "cannot write '%s': %s", a->trace,
                    g_strerror(errno));
        return false;
    }
    replay->strategies = json_object();
    replay->table = table_new(columns, G_N_ELEMENTS(columns));
    for (int strategy = 0; strategy < STRATEGY_COUNT; strategy++)
        if (is_asked(a, strategy_table[strategy].name))
            replay_strategy(replay, strategy);
    if (replay->trace) {
        bool bad = ferror(replay->trace) != 0;
        if (fclose(replay->trace) != 0 || bad) {
            g_set_error(error, REPLAY_ERROR, REPLAY_ERROR_FILE, "cannot write '%s': %s", a->trace,
                        g_strerror(errno));
            return false;
        }
    }
    show(replay);
    return true;
}

static int replay(const struct arguments *a)
{
    struct replay replay = {.arguments = a};
    GError *error = NULL;
    bool good = replay_all(&replay, &error);
    replay_clear(&replay);
    return good ? CLI_DONE : cli_fail("replay", error);
}

static int record(const struct arguments *a)
{
    GError *error = NULL;
    g_autoptr(Store) store = database_open(false, &error);
    const struct record_options options = {
        .campaign = a->record, .folder = a->folder, .note = a->note, .partial = a->partial};
    int files = 0;
    if (!store || !record_campaign(store, &options, &files, &error))
        return cli_fail("replay", error);
    cli_note("replay: %d recorded spaces in '%s'", files, a->folder);
    return CLI_DONE;
}

/* ---- the command line ---- */

static bool check_strategies(const struct arguments *a, GError **error)
{
    for (char **name = a->strategies; name && *name; name++)
        if (strategy_find(*name) < 0) {
            g_autoptr(GString) names = g_string_new(NULL);
            for (int i = 0; i < STRATEGY_COUNT; i++)
                g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", strategy_table[i].name);
            return cli_misuse(error, "there is no strategy '%s': there are %s", *name, names->str);
        }
    return true;
}

static bool check(const struct arguments *a, GError **error)
{
    if (a->record < 0)
        return cli_misuse(error, "--record takes a campaign's id");
    if (a->record && (a->space || a->priors || a->strategies || a->trace || a->as_json))
        return cli_misuse(error, "--record goes with --output, --note and --partial alone");
    if (a->record && !a->folder)
        return cli_misuse(error, "--record writes into a folder: name it with --output");
    if (!a->record && (a->folder || a->note || a->partial))
        return cli_misuse(error, "--output, --note and --partial go with --record");
    if (!a->record && !a->space)
        return cli_misuse(error, "name a recorded space, or --record a campaign");
    if (a->others[0] && !a->priors)
        return cli_misuse(error, "one space is replayed at a time, not '%s', too", a->others[0]);
    if (a->seeds < 1 || a->seeds > SEEDS_MOST)
        return cli_misuse(error, "--seeds takes a number from 1 to %d", SEEDS_MOST);
    if (a->tries < 0 || a->prior_tries < 0)
        return cli_misuse(error, "--tries and --prior-tries take a number from 0 on");
    if (a->prior_campaigns < 1 || (a->prior_campaigns > 1 && a->prior_tries == 0))
        return cli_misuse(error,
                          "--prior-campaigns takes a number from 1 on, and --prior-tries for "
                          "the configs of each");
    if (!(a->seconds >= 0 && isfinite(a->seconds)))
        return cli_misuse(error, "--seconds takes a number from 0 on");
    if (!(a->gain >= 0 && a->gain <= 100))
        return cli_misuse(error, "--gain takes per cent, from 0 to 100");
    if (a->batch < 1 || a->batch > 1000)
        return cli_misuse(error, "--batch takes a number from 1 to 1000");
    if (a->prior_best < 1 || a->prior_best > REPLAY_PRIOR_MOST)
        return cli_misuse(error, "--prior-best takes a number from 1 to %d", REPLAY_PRIOR_MOST);
    return check_strategies(a, error);
}

int command_replay(int argc, char **argv)
{
    struct arguments a = {
        .seeds = 100, .batch = REPLAY_BATCH, .prior_best = REPLAY_PRIOR_BEST, .prior_campaigns = 1};
    const GOptionEntry options[] = {
        {"prior", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &a.priors,
         "a recorded space of the same parameters, another device's or problem's: `prior` begins with its best "
         "configs; may be repeated, or have several files",
         "FILE..."},
        {"strategy", 's', 0, G_OPTION_ARG_STRING_ARRAY, &a.strategies,
         "this strategy (all); may be repeated", "S"},
        {"seeds", 0, 0, G_OPTION_ARG_INT, &a.seeds, "searches, with the seeds 0, 1, ... (100)",
         "N"},
        {"trace", 0, 0, G_OPTION_ARG_FILENAME, &a.trace,
         "write every try in order, a line of JSON each", "FILE"},
        {"tries", 0, 0, G_OPTION_ARG_INT, &a.tries,
         "a search ends after so many tries; 0: when it has tried the fastest config (0)", "N"},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &a.seconds,
         "a search ends when its tries took so many recorded seconds; 0: no limit (0)", "S"},
        {"gain", 0, 0, G_OPTION_ARG_DOUBLE, &a.gain,
         "a search ends when its next 16 tries are expected to make the best time shorter by less than so many per "
         "cent; 0: no limit (0)",
         "PERCENT"},
        {"batch", 0, 0, G_OPTION_ARG_INT, &a.batch,
         "configs that a search asks for at once, as a campaign's rounds do (4)", "N"},
        {"prior-best", 0, 0, G_OPTION_ARG_INT, &a.prior_best,
         "how many configs each file of --prior gives (10)", "N"},
        {"prior-tries", 0, 0, G_OPTION_ARG_INT, &a.prior_tries,
         "the best of so many tries of each file's own search; 0: of all its configs (0)", "N"},
        {"prior-campaigns", 0, 0, G_OPTION_ARG_INT, &a.prior_campaigns,
         "the best of so many campaigns of --prior-tries each, every one begun with what those before it found (1)",
         "N"},
        {"record", 0, 0, G_OPTION_ARG_INT64, &a.record,
         "write the spaces that this campaign tried as files, one for each job", "ID"},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &a.folder, "with --record: the files' folder",
         "DIR"},
        {"note", 0, 0, G_OPTION_ARG_STRING, &a.note,
         "with --record: how it was measured: processor, load, software", "TEXT"},
        {"partial", 0, 0, G_OPTION_ARG_NONE, &a.partial,
         "with --record: also jobs that did not try their whole space", NULL},
        CLI_JSON_OPTION(&a.as_json),
        {0},
    };
    const struct cli cli = {
        .command = "replay",
        .arguments = "[SPACE]",
        .summary =
            "Runs search strategies on a recorded space, of which every config was measured: how many tries, failed "
            "ones included, and how many recorded seconds until one is within 5 % and 1 % of the fastest, and until "
            "the fastest itself. Reads Kernel Tuner's cache files, T4 files and its own, also compressed. With "
            "--record it writes such files of a campaign.",
        .example =
            "skipjack replay a100.json.gz --prior a4000.json.gz --strategy prior --json\n"
            "  skipjack campaign create --problems layers.txt --strategy exhaustive --configs 0\n"
            "  skipjack replay --record 7 --output spaces --note 'EPYC 9554, idle'",
        .options = options,
        .most = -1,
    };
    GError *error = NULL;
    int status = CLI_USAGE;
    if (cli_parse(&cli, &argc, &argv)) {
        a.space = argc > 1 ? argv[1] : NULL;
        a.others = argc > 1 ? argv + 2 : argv + 1;
        status = !check(&a, &error) ? cli_fail("replay", error)
                 : a.record         ? record(&a)
                                    : replay(&a);
    }
    arguments_clear(&a);
    return status;
}
