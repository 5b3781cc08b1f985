/* `skipjack nights`: past nights, what they did, and why each of their jobs was worked on. */
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/when.h"
#include "coordinator/commands.h"
#include "coordinator/nights/night_lists.h"
#include "coordinator/nights/plan/night_plan.h"
#include "coordinator/process/machine.h"
#include "schema/server/database.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

/* ---- list ---- */

static const struct table_column night_columns[] = {
    {"id", "id", TABLE_INT, 0},
    {"name", "name", TABLE_TEXT, 0},
    {"night", "night", TABLE_TEXT, 0},
    {"state", "state", TABLE_TEXT, 0},
    {"running", "is_running", TABLE_YES, 0},
    {NULL, "empty", TABLE_YES, 0},
    {"findings", "findings", TABLE_INT, 0},
    {"jobs", "jobs", TABLE_INT, 0},
    {"done", "jobs_done", TABLE_INT, 0},
    {"failed", "jobs_failed", TABLE_INT, 0},
    {"unfinished", "jobs_unfinished", TABLE_INT, 0},
    {"open", "jobs_open", TABLE_INT, 0},
    {"began", "begun", TABLE_TEXT, 0},
    {NULL, "begun_unix", TABLE_INT, 0},
    {"ended", "ended", TABLE_TEXT, 0},
    {NULL, "ended_unix", TABLE_INT, 0},
};

static Table *list_nights(Store *store, const char *name, int limit, GError **error)
{
    g_autoptr(GPtrArray) nights = store_list_nights(store, name, limit, error);
    if (!nights)
        return NULL;
    Table *table = table_new(night_columns, G_N_ELEMENTS(night_columns));
    for (guint i = 0; i < nights->len; i++) {
        const struct night *night = nights->pdata[i];
        g_autofree char *begun = when_text(night->begun_unix);
        g_autofree char *ended = night->ended_unix ? when_text(night->ended_unix) : NULL;
        table_int(table, night->id);
        table_text(table, night->name);
        table_text(table, night->date);
        table_text(table, night_state_name(night->state));
        table_yes(table, night->is_running);
        table_yes(table, night->empty);
        table_int(table, night->findings);
        table_int(table, night->jobs);
        table_int(table, night->jobs_done);
        table_int(table, night->jobs_failed);
        table_int(table, night->jobs_unfinished);
        table_int(table, night->jobs_open);
        table_text(table, begun);
        table_int(table, night->begun_unix);
        table_text(table, ended);
        table_count(table, night->ended_unix ? night->ended_unix : -1);
    }
    return table;
}

static int verb_list(int argc, char **argv)
{
    g_autofree char *name = NULL;
    int limit = 30;
    gboolean as_json = FALSE;
    const GOptionEntry options[] = {
        {"name", 0, 0, G_OPTION_ARG_STRING, &name, "only nights of this name", "NAME"},
        {"limit", 0, 0, G_OPTION_ARG_INT, &limit, "the newest N, 0 for all (30)", "N"},
        CLI_JSON_OPTION(&as_json),
        {0},
    };
    const struct cli cli = {
        .command = "nights list",
        .summary = "Lists nights, the newest first: what they are at, what they found, and how "
                   "their jobs ended.",
        .example = "skipjack nights list --limit 7",
        .options = options,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    GError *error = NULL;
    if (limit < 0) {
        cli_misuse(&error, "--limit cannot be negative");
        return cli_fail("nights list", error);
    }
    g_autoptr(Store) store = database_open(as_json, &error);
    Table *table = store ? list_nights(store, name, limit, &error) : NULL;
    return table_finish("nights list", table, as_json, error);
}

/* ---- finding one ---- */

/* Finds the night that a user names: its id, a date, or "latest"; of a date and of "latest" the night of that name, or
 * the newest one if name is NULL. */
static struct night *find_night(Store *store, const char *word, const char *name, GError **error)
{
    int64_t id = 0;
    bool is_date = night_date_is_valid(word), is_latest = strcmp(word, "latest") == 0;
    if (!is_date && !is_latest)
        return cli_parse_id(word, &id, NULL)
                   ? store_get_night(store, id, error)
                   : (cli_misuse(error,
                                 "NIGHT is an id, a date as 2026-11-23, or latest, not '%s'; to "
                                 "list all: skipjack nights list",
                                 word),
                      NULL);
    g_autoptr(GPtrArray) nights = store_list_nights(store, name, 0, error);
    for (guint i = 0; nights && i < nights->len; i++) {
        struct night *night = nights->pdata[i];
        if (is_latest || strcmp(night->date, word) == 0)
            return g_ptr_array_steal_index(nights, i);
    }
    if (nights)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                    "there is no night %s%s%s; to list all: skipjack nights list", word,
                    name ? " of " : "", name ? name : "");
    return NULL;
}

/* ---- show ---- */

static bool show_night(Store *store, const struct night *night, bool as_json, GError **error)
{
    json_t *json = as_json ? night_details_json(store, night, error) : NULL;
    if (json)
        table_show_json(json);
    return as_json ? json != NULL : night_details_print(store, night, error);
}

static int verb_show(int argc, char **argv)
{
    g_autofree char *name = NULL;
    gboolean as_json = FALSE;
    const GOptionEntry options[] = {
        {"name", 0, 0, G_OPTION_ARG_STRING, &name, "of nights of this name, for a date", "NAME"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "print an object", NULL},
        {0},
    };
    const struct cli cli = {
        .command = "nights show",
        .arguments = "NIGHT",
        .summary = "Shows a night (its id, a date, or latest): targets with jobs by reason, steps "
                   "with times and what they did, golden versions, release and report.",
        .example = "skipjack nights show latest",
        .options = options,
        .least = 1,
        .most = 1,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    GError *error = NULL;
    g_autoptr(Store) store = database_open(as_json, &error);
    struct night *night = store ? find_night(store, argv[1], name, &error) : NULL;
    bool shown = night && show_night(store, night, as_json, &error);
    night_free(night);
    return shown ? CLI_DONE : cli_fail("nights show", error);
}

/* ---- jobs ---- */

static const struct table_column job_columns[] = {
    {NULL, "night", TABLE_TEXT, 0},        {"target", "target", TABLE_TEXT, 0},
    {"problem", "problem", TABLE_TEXT, 0}, {"solver", "solver", TABLE_TEXT, 0},
    {NULL, "revision", TABLE_INT, 0},      {"reason", "reason", TABLE_TEXT, 0},
    {"state", "state", TABLE_TEXT, 0},     {"campaign", "campaign", TABLE_INT, 0},
    {"job", "job", TABLE_INT, 0},          {NULL, "fresh", TABLE_YES, 0},
    {NULL, "again", TABLE_YES, 0},         {NULL, "backfill", TABLE_YES, 0},
    {"detail", "detail", TABLE_TEXT, 0},
};

static Table *list_jobs(Store *store, const struct night_job_query *query, GError **error)
{
    g_autoptr(GPtrArray) jobs = store_list_night_jobs(store, query, error);
    if (!jobs)
        return NULL;
    Table *table = table_new(job_columns, G_N_ELEMENTS(job_columns));
    for (guint i = 0; i < jobs->len; i++) {
        const struct night_job *job = jobs->pdata[i];
        char key[PROBLEM_KEY_MAX];
        table_text(table, job->date);
        table_text(table, job->target);
        table_text(table, problem_key(&job->problem, key));
        table_text(table, job->solver);
        table_int(table, job->revision);
        table_text(table, night_reason_name((enum night_reason)job->reason));
        table_text(table, job->state);
        table_int(table, job->campaign);
        table_int(table, job->job);
        table_yes(table, job->fresh);
        table_yes(table, job->again);
        table_yes(table, job->backfill);
        table_text(table, job->detail);
    }
    return table;
}

/* Reads the reason that a user names; -1 for none. */
static bool read_reason(const char *word, int *reason, GError **error)
{
    *reason = -1;
    for (int i = 1; word && i <= NIGHT_REASON_COUNT; i++)
        if (g_ascii_strcasecmp(night_reason_name((enum night_reason)i), word) == 0)
            *reason = i;
    return !word || *reason > 0 ||
           cli_misuse(error, "--reason takes a reason as nights show lists them, not '%s'", word);
}

static bool read_state(const char *word, GError **error)
{
    static const char *const states[] = {"open", "done", "failed", "unfinished", NULL};
    return !word || g_strv_contains(states, word) ||
           cli_misuse(error, "--state takes open, done, failed or unfinished, not '%s'", word);
}

static int verb_jobs(int argc, char **argv)
{
    g_autofree char *name = NULL, *reason = NULL, *state = NULL, *target = NULL;
    gboolean as_json = FALSE;
    const GOptionEntry options[] = {
        {"name", 0, 0, G_OPTION_ARG_STRING, &name, "of nights of this name, for a date", "NAME"},
        {"target", 't', 0, G_OPTION_ARG_STRING, &target,
         "only of this target; local is this machine's", "T"},
        {"reason", 0, 0, G_OPTION_ARG_STRING, &reason, "only jobs of this reason: \"new solver\"",
         "R"},
        {"state", 0, 0, G_OPTION_ARG_STRING, &state, "open, done, failed or unfinished", "S"},
        CLI_JSON_OPTION(&as_json),
        {0},
    };
    const struct cli cli = {
        .command = "nights jobs",
        .arguments = "NIGHT",
        .summary = "Lists the jobs of a night (its id, a date, or latest): why each was worked on, "
                   "and how it ended. Jobs of nights that are older than 400 days are forgotten; "
                   "their counts stay.",
        .example = "skipjack nights jobs latest --reason driver --state failed",
        .options = options,
        .least = 1,
        .most = 1,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    GError *error = NULL;
    struct night_job_query query = {.state = state};
    g_autoptr(Store) store = read_reason(reason, &query.reason, &error) && read_state(state, &error)
                                 ? database_open(as_json, &error)
                                 : NULL;
    struct night *night = store ? find_night(store, argv[1], name, &error) : NULL;
    query.night = night ? night->id : 0;
    g_autofree char *id = night && target ? machine_target_id(store, target, &error) : NULL;
    query.target = id;
    Table *table = night && (id || !target) ? list_jobs(store, &query, &error) : NULL;
    night_free(night);
    return table_finish("nights jobs", table, as_json, error);
}

static const struct cli_verb verbs[] = {
    {"list", "nights, the newest first", verb_list},
    {"show", "one night: targets, reasons, steps, release", verb_show},
    {"jobs", "the jobs of one night, with their reasons", verb_jobs},
};

int command_nights(int argc, char **argv)
{
    static const struct cli_verbs list = {.command = "nights",
                                          .example = "skipjack nights show latest",
                                          .verbs = verbs,
                                          .count = G_N_ELEMENTS(verbs)};
    return cli_run_verb(&list, argc, argv);
}
