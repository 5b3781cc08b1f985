/* Campaigns: creating, finding, changing and dropping them, and their progress. */
#include "schema/store/drift.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_private.h"

#include <stdlib.h>
#include <string.h>

void campaign_free(struct campaign *campaign)
{
    if (campaign == NULL)
        return;
    g_free(campaign->name);
    g_free(campaign->identity);
    g_free(campaign->target);
    g_free(campaign->stack);
    g_free(campaign->state);
    g_free(campaign->strategy);
    g_free(campaign->pool);
    g_free(campaign->solvers);
    g_strfreev(campaign->trusted);
    g_free(campaign);
}

static json_t *campaign_to_json(const struct campaign *c)
{
    json_t *object = json_pack(
        "{so so ss so ss sI si si so sb so si so}", "name", json_from_text(c->name ? c->name : ""),
        "identity", json_from_text(c->identity ? c->identity : ""), "target", c->target, "stack",
        json_from_text(c->stack ? c->stack : ""), "strategy", c->strategy, "seed",
        (json_int_t)c->seed, "configs_limit", c->configs_limit, "round_configs", c->round_configs,
        "budget_seconds", json_from_double(c->budget_seconds), "build_only", c->build_only, "pool",
        json_from_text(c->pool ? c->pool : ""), "priority", c->priority, "share",
        json_from_double(c->share > 0 ? c->share : 1));
    g_assert(object != NULL);
    const struct context_limits *limits = &c->limits;
    json_object_update_new(
        object,
        json_pack("{si so sb sb sb so so so so}", "close_configs", c->close_configs,
                  "workspace_limit",
                  limits->limits_workspace
                      ? json_integer((json_int_t)MIN(limits->workspace_bytes, (uint64_t)INT64_MAX))
                      : json_null(),
                  "dynamic_only", limits->dynamic_only, "deterministic", limits->deterministic,
                  "tunable_only", limits->tunable_only, "solvers_asked",
                  json_from_text(c->solvers ? c->solvers : ""), "final_seconds",
                  json_from_double(c->final_seconds), "search_seconds",
                  json_from_double(c->search_seconds), "min_gain", json_from_double(c->min_gain)));
    return object;
}

/* Reads the limits from columns of the campaigns' table. */
static void read_limits(const json_t *object, struct context_limits *limits)
{
    limits->limits_workspace = json_is_integer(json_object_get(object, "workspace_limit"));
    limits->workspace_bytes = (uint64_t)json_member_int(object, "workspace_limit");
    limits->dynamic_only = json_member_bool(object, "dynamic_only");
    limits->deterministic = json_member_bool(object, "deterministic");
    limits->tunable_only = json_member_bool(object, "tunable_only");
}

static json_t *plan_to_json(const struct job_plan *plan)
{
    json_t *object =
        json_pack("{so ss si ss ss ss sb sb sb so si}", "problem", problem_to_json(&plan->problem),
                  "name", plan->solver, "revision", plan->revision, "hash", plan->hash, "provider",
                  plan->provider, "algorithm", plan->algorithm, "dynamic", plan->dynamic, "tunable",
                  plan->tunable, "searches", plan->searches, "priority",
                  json_from_double(plan->priority), "multiplicity", plan->multiplicity);
    g_assert(object != NULL);
    const struct job_cause *cause = plan->cause;
    if (cause != NULL)
        json_object_update_new(object, json_pack("{si so sb sb}", "reason", cause->reason, "detail",
                                                 json_from_text(cause->detail ? cause->detail : ""),
                                                 "fresh", cause->fresh, "again", cause->again));
    return object;
}

static int compare_plans(gconstpointer a, gconstpointer b, gpointer data)
{
    const struct job_plan *left = *(const struct job_plan *const *)a;
    const struct job_plan *right = *(const struct job_plan *const *)b;
    (void)data;
    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    return (left > right) - (left < right);
}

/* Pointers to the plans: first the most promising plan of each problem, then all others, each part with the highest
 * priority first. So a budget or a deadline that ends the campaign early still finds a config for most problems. */
static GPtrArray *plans_in_order(const struct job_plan *jobs, int count)
{
    GPtrArray *order = g_ptr_array_sized_new((guint)count);
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    g_autoptr(GPtrArray) sorted = g_ptr_array_sized_new((guint)count);
    g_autoptr(GHashTable) led = problem_table_new(NULL);
    for (int i = 0; i < count; i++)
        g_ptr_array_add(sorted, (gpointer)&jobs[i]);
    g_ptr_array_sort_with_data(sorted, compare_plans, NULL);
    for (guint i = 0; i < sorted->len; i++) {
        const struct job_plan *plan = sorted->pdata[i];
        g_ptr_array_add(g_hash_table_add(led, (gpointer)&plan->problem) ? order : others,
                        (gpointer)plan);
    }
    g_ptr_array_extend(order, others, NULL, NULL);
    return order;
}

/* Plans in one message to the server: a campaign may have a million. */
#define PLANS_AT_ONCE 5000

static bool add_jobs(Store *store, const struct campaign *campaign, const GPtrArray *order,
                     GError **error)
{
    if (campaign->night != 0 &&
        !store_do(store, error, "SELECT add_night_campaign($1, $2, $3, $4)", "lsbl",
                  campaign->night, campaign->target, campaign->backfill, campaign->id))
        return false;
    for (guint first = 0; first < order->len; first += PLANS_AT_ONCE) {
        g_autoptr(StoreJson) items = json_array();
        for (guint i = first; i < order->len && i < first + PLANS_AT_ONCE; i++)
            json_array_append_new(items, plan_to_json(order->pdata[i]));
        if (!store_do(store, error, "SELECT add_jobs($1, $2, $3)", "llj", campaign->id,
                      (int64_t)first + 1, items))
            return false;
        if (campaign->night != 0 && !store_do(store, error, "SELECT add_night_jobs($1, $2, $3)",
                                              "llj", campaign->id, (int64_t)first + 1, items))
            return false;
    }
    return true;
}

static bool add_notes(Store *store, int64_t campaign, const GPtrArray *notes, GError **error)
{
    for (guint i = 0; notes != NULL && i < notes->len; i++) {
        const struct campaign_note *note = notes->pdata[i];
        if (!store_event(store, note->kind, campaign, 0, 0, note->detail, error))
            return false;
    }
    return true;
}

static bool set_trusted(Store *store, const struct campaign *campaign, GError **error)
{
    const struct campaign_changes changes = {.trusted = campaign->trusted};
    return campaign->trusted == NULL || *campaign->trusted == NULL ||
           store_set_campaign(store, campaign->id, &changes, error);
}

static bool set_deadline(Store *store, const struct campaign *campaign, GError **error)
{
    const struct campaign_changes changes = {.deadline_unix = &campaign->deadline_unix};
    return campaign->deadline_unix == 0 || store_set_campaign(store, campaign->id, &changes, error);
}

static bool fill_campaign(Store *store, struct campaign *campaign, const GPtrArray *order,
                          const GPtrArray *notes, int *reused, GError **error)
{
    g_autoptr(StoreJson) plan = campaign_to_json(campaign);
    g_autoptr(StoreRows) begun = store_run(store, error, "SELECT begin_campaign($1)", "j", plan);
    if (begun == NULL)
        return false;
    campaign->id = strtoll(PQgetvalue(begun, 0, 0), NULL, 10);
    for (char **network = campaign->networks; network != NULL && *network != NULL; network++)
        if (!store_do(store, error, "SELECT keep_network($1, $2)", "ls", campaign->id, *network))
            return false;
    if (!set_deadline(store, campaign, error) || !set_trusted(store, campaign, error) ||
        !add_jobs(store, campaign, order, error) || !add_notes(store, campaign->id, notes, error))
        return false;
    g_autoptr(StoreRows) opened =
        store_run(store, error, "SELECT open_campaign($1, $2)", "ld", campaign->id, DRIFT_MAX);
    if (opened == NULL)
        return false;
    if (reused != NULL)
        *reused = atoi(PQgetvalue(opened, 0, 0));
    return true;
}

static bool try_campaign(Store *store, struct campaign *campaign, const GPtrArray *order,
                         const GPtrArray *notes, int *reused, GError **error)
{
    if (!store_begin(store, error))
        return false;
    if (fill_campaign(store, campaign, order, notes, reused, error) &&
        store_do(store, error, "COMMIT", ""))
        return true;
    /* A failure of ROLLBACK would hide the first error. */
    store_do(store, NULL, "ROLLBACK", "");
    return false;
}

/* An import or another campaign may store the same problems in another order, and deadlock with this one. */
#define DEADLOCKS_MAX 5

bool store_create_campaign(Store *store, struct campaign *campaign, const struct job_plan *jobs,
                           int count, const GPtrArray *notes, int *reused, GError **error)
{
    g_autoptr(GPtrArray) order = plans_in_order(jobs, count);
    if (!store_ensure_target(store, campaign->target, error))
        return false;
    for (int deadlocks = 0;; deadlocks++) {
        g_autoptr(GError) failure = NULL;
        if (try_campaign(store, campaign, order, notes, reused, &failure))
            return true;
        if (!store_is_deadlock(failure) || deadlocks == DEADLOCKS_MAX) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return false;
        }
    }
}

/* The pause between two attempts to take the identity. */
#define HOLD_US (G_USEC_PER_SEC / 5)

bool store_hold_identity(Store *store, const char *identity, GError **error)
{
    g_autofree char *name = g_strconcat("identity ", identity, NULL);
    gint64 end_us = g_get_monotonic_time() + (gint64)(store->patience_seconds * G_USEC_PER_SEC);
    bool held = false;
    while (!held) {
        g_autoptr(StoreRows) taken = store_read(store, error, "SELECT take_turn($1)", "s", name);
        if (taken == NULL)
            return false;
        held = PQgetvalue(taken, 0, 0)[0] == 't';
        if (!held && g_get_monotonic_time() > end_us) {
            g_set_error(error, STORE_ERROR, STORE_ERROR_STATE,
                        "another command has been making the same campaign for %.0f s; try again "
                        "when it has ended",
                        store->patience_seconds);
            return false;
        }
        if (!held)
            g_usleep(HOLD_US);
    }
    return true;
}

void store_leave_identity(Store *store, const char *identity)
{
    g_autofree char *name = g_strconcat("identity ", identity, NULL);
    /* If this fails, the turn ends with the connection. */
    store_do(store, NULL, "SELECT end_turn($1)", "s", name);
}

#define SELECT_CAMPAIGN "SELECT to_jsonb(c) FROM campaign_rows c "

/* Reads a timestamp from PostgreSQL's JSON; 0 for null. */
static int64_t deadline_of(const json_t *object)
{
    const char *text = json_string_value(json_object_get(object, "deadline"));
    g_autoptr(GDateTime) when = text ? g_date_time_new_from_iso8601(text, NULL) : NULL;
    return when ? g_date_time_to_unix(when) : 0;
}

static char **read_texts(const json_t *list)
{
    GPtrArray *texts = g_ptr_array_new();
    size_t i;
    json_t *text;
    json_array_foreach (list, i, text)
        g_ptr_array_add(texts, g_strdup(json_string_value(text)));
    g_ptr_array_add(texts, NULL);
    return (char **)g_ptr_array_free(texts, FALSE);
}

gpointer store_read_campaign(const json_t *object)
{
    struct campaign *c = g_new0(struct campaign, 1);
    c->id = json_member_int(object, "id");
    c->name = json_member_text(object, "name");
    c->identity = json_member_text(object, "identity");
    c->target = json_member_text(object, "target");
    c->stack = json_member_text(object, "stack");
    c->state = json_is_true(json_object_get(object, "overdue")) ? g_strdup(CAMPAIGN_OVERDUE)
                                                                : json_member_text(object, "state");
    c->strategy = json_member_text(object, "strategy");
    c->seed = json_member_int(object, "seed");
    c->configs_limit = (int)json_member_int(object, "configs_limit");
    c->close_configs = (int)json_member_int(object, "close_configs");
    c->round_configs = (int)json_member_int(object, "round_configs");
    c->budget_seconds = json_member_double(object, "budget_seconds");
    c->spent_seconds = json_member_double(object, "spent_seconds");
    c->final_seconds = json_member_double(object, "final_seconds");
    c->search_seconds = json_member_double(object, "search_seconds");
    c->min_gain = json_member_double(object, "min_gain");
    c->build_only = json_member_bool(object, "build_only");
    read_limits(object, &c->limits);
    c->solvers = json_member_text(object, "solvers_asked");
    c->pool = json_member_text(object, "pool");
    c->priority = (int)json_member_int(object, "priority");
    c->share = json_member_double(object, "share");
    c->deadline_unix = deadline_of(object);
    c->trusted = read_texts(json_object_get(object, "trusted"));
    c->created_unix = json_member_int(object, "created");
    c->jobs = (int)json_member_int(object, "jobs");
    c->jobs_done = (int)json_member_int(object, "done");
    c->jobs_failed = (int)json_member_int(object, "failed");
    c->jobs_open = (int)json_member_int(object, "open");
    return c;
}

static void free_campaign(gpointer data)
{
    campaign_free(data);
}

struct campaign *store_get_campaign(Store *store, int64_t id, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT skipjack_work.campaign($1)", "l", id);
    if (rows == NULL)
        return NULL;
    if (PQntuples(rows) == 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "there is no campaign %" G_GINT64_FORMAT
                    "; to list all: skipjack campaign list",
                    (gint64)id);
        return NULL;
    }
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    return store_read_campaign(object);
}

struct campaign *store_find_campaign(Store *store, const char *identity, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   SELECT_CAMPAIGN
                   "WHERE c.identity = $1 AND c.state <> 'cancelled' ORDER BY c.id DESC LIMIT 1",
                   "s", identity);
    if (rows == NULL || PQntuples(rows) == 0)
        return NULL;
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    return store_read_campaign(object);
}

GPtrArray *store_list_campaigns(Store *store, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error, SELECT_CAMPAIGN "ORDER BY c.id", "");
    return rows == NULL ? NULL : store_list(rows, store_read_campaign, free_campaign);
}

bool store_change_campaign(Store *store, int64_t id, const char *verb, GError **error)
{
    return store_do(store, error, "SELECT change_campaign($1, $2)", "ls", id, verb) &&
           (!g_str_equal(verb, "drop") || store_drop_partitions(store, error));
}

bool store_set_campaign(Store *store, int64_t id, const struct campaign_changes *changes,
                        GError **error)
{
    g_autoptr(StoreJson) object = json_object();
    if (changes->name != NULL)
        json_object_set_new(object, "name", json_from_text(changes->name));
    if (changes->pool != NULL)
        json_object_set_new(object, "pool", json_from_text(changes->pool));
    if (changes->priority != NULL)
        json_object_set_new(object, "priority", json_integer(*changes->priority));
    if (changes->share != NULL)
        json_object_set_new(object, "share", json_from_double(*changes->share));
    if (changes->budget_seconds != NULL)
        json_object_set_new(object, "budget_seconds", json_from_double(*changes->budget_seconds));
    if (changes->final_seconds != NULL)
        json_object_set_new(object, "final_seconds", json_from_double(*changes->final_seconds));
    if (changes->deadline_unix != NULL)
        json_object_set_new(object, "deadline",
                            *changes->deadline_unix == 0 ? json_null()
                                                         : json_integer(*changes->deadline_unix));
    if (changes->trusted == NULL)
        return store_do(store, error, "SELECT set_campaign($1, $2)", "lj", id, object);
    g_autoptr(StoreJson) logins = json_array();
    for (char **login = changes->trusted; *login != NULL; login++)
        json_array_append_new(logins, json_from_text(*login));
    return store_do(store, error, "SELECT trust_logins($1, $3), set_campaign($1, $2)", "ljj", id,
                    object, logins);
}

bool store_add_spent(Store *store, int64_t campaign, double seconds, GError **error)
{
    return store_do(store, error, "SELECT skipjack_work.add_spent($1, $2)", "ld", campaign,
                    seconds);
}

static void read_progress(const json_t *object, struct progress *progress)
{
    *progress = (struct progress){
        .jobs = (int)json_member_int(object, "jobs"),
        .done = (int)json_member_int(object, "done"),
        .failed = (int)json_member_int(object, "failed"),
        .ready = (int)json_member_int(object, "ready"),
        .building = (int)json_member_int(object, "building"),
        .built = (int)json_member_int(object, "built"),
        .evaluating = (int)json_member_int(object, "evaluating"),
        .configs_done = json_member_int(object, "evaluated"),
        .configs_open = json_member_int(object, "pending"),
        .configs_taken = json_member_int(object, "taken"),
        .kernels_built = json_member_int(object, "kernels"),
        .spent_seconds = json_member_double(object, "spent_seconds"),
        .budget_seconds = json_member_double(object, "budget_seconds"),
        .compile_seconds = json_member_double(object, "compile_seconds"),
        .eval_seconds = json_member_double(object, "eval_seconds"),
        .build_only = json_member_bool(object, "build_only"),
        .finals_left = json_member_int(object, "finals_left"),
        .final_seconds = json_member_double(object, "final_seconds"),
        .has_deadline = json_is_number(json_object_get(object, "deadline_seconds")),
        .deadline_seconds = json_member_double(object, "deadline_seconds"),
        .ended_by_budget = (int)json_member_int(object, "budget_ended"),
        .untried_by_budget = (int)json_member_int(object, "untried"),
    };
    for (int end = SEARCH_GOES_ON + 1; end < SEARCH_END_COUNT; end++)
        progress->search_ends[end] = (int)json_member_int(json_object_get(object, "search_ends"),
                                                          search_end_name((enum search_end)end));
}

bool store_progress(Store *store, int64_t campaign, struct progress *progress, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT to_jsonb(j) || to_jsonb(r) || jsonb_build_object("
        " 'spent_seconds', spent_seconds(c.id), 'budget_seconds', c.budget_seconds,"
        " 'build_only', c.build_only, 'final_seconds', c.final_seconds, 'finals_left',"
        " finals_left(c, j.jobs - j.done - j.failed), 'deadline_seconds',"
        " extract(epoch FROM c.deadline - clock_timestamp()))"
        " FROM campaigns c CROSS JOIN LATERAL (SELECT count(*) AS jobs,"
        "  count(*) FILTER (WHERE state = 'done') AS done,"
        "  count(*) FILTER (WHERE state = 'failed') AS failed,"
        "  count(*) FILTER (WHERE state = 'ready') AS ready,"
        "  count(*) FILTER (WHERE state = 'building') AS building,"
        "  count(*) FILTER (WHERE state = 'built') AS built,"
        "  count(*) FILTER (WHERE state = 'evaluating') AS evaluating,"
        "  count(*) FILTER (WHERE by_budget) AS budget_ended,"
        "  count(*) FILTER (WHERE by_budget AND state = 'done' AND round_no = 0) AS untried,"
        "  jsonb_build_object("
        "   'tries', count(*) FILTER (WHERE search_end = 'tries'),"
        "   'seconds', count(*) FILTER (WHERE search_end = 'seconds'),"
        "   'space', count(*) FILTER (WHERE search_end = 'space'),"
        "   'gain', count(*) FILTER (WHERE search_end = 'gain')) AS search_ends"
        "  FROM job_rows WHERE campaign_id = c.id) AS j"
        " CROSS JOIN LATERAL (SELECT coalesce(sum(evaluated), 0) AS evaluated,"
        "  coalesce(sum(pending) FILTER (WHERE is_open), 0) AS pending,"
        "  coalesce(sum(evaluated) FILTER (WHERE fence <= 0), 0) AS taken,"
        "  coalesce(sum(round_rows.kernels), 0) AS kernels,"
        "  coalesce(sum(total_build_seconds), 0) AS compile_seconds,"
        "  coalesce(sum(total_eval_seconds), 0) AS eval_seconds"
        "  FROM round_rows WHERE campaign_id = c.id) AS r"
        " WHERE c.id = $1",
        "l", campaign);
    if (rows == NULL)
        return false;
    if (PQntuples(rows) == 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "there is no campaign %" G_GINT64_FORMAT, (gint64)campaign);
        return false;
    }
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    read_progress(object, progress);
    return true;
}

bool store_count_origins(Store *store, int64_t campaign, struct job_origins *origins, bool *known,
                         GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT jsonb_build_object('reason', coalesce(i.reason, 0), 'jobs', count(*),"
        " 'configs', coalesce(sum(i.configs), 0), 'drifted', coalesce(sum(i.drifted), 0))"
        " FROM campaigns c JOIN jobs j ON j.campaign_id = c.id"
        " LEFT JOIN job_origins i ON i.campaign_id = $1 AND i.job_id = j.id"
        " WHERE c.id = $1 AND j.campaign_id = $1 AND c.has_origins GROUP BY i.reason",
        "l", campaign);
    *origins = (struct job_origins){0};
    if (rows == NULL)
        return false;
    *known = PQntuples(rows) > 0;
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        int64_t reason = json_member_int(object, "reason");
        if (reason >= 0 && reason < JOB_REASON_COUNT)
            origins->jobs[reason] += (int)json_member_int(object, "jobs");
        origins->configs += json_member_int(object, "configs");
        origins->drifted += json_member_int(object, "drifted");
    }
    return true;
}

static void job_failures_free(gpointer data)
{
    struct job_failures *row = data;
    g_free(row->detail);
    g_free(row);
}

static gpointer read_job_failures(const json_t *object, GError **error)
{
    int64_t number;
    if (!json_int_within(json_object_get(object, "failure"), 0, FAILURE_COUNT - 1, &number)) {
        store_damaged(error, "a failure has an unknown number");
        return NULL;
    }
    struct job_failures *row = g_new0(struct job_failures, 1);
    row->failure = (enum failure)number;
    row->jobs = (int)json_member_int(object, "jobs");
    row->detail = json_member_text_or_null(object, "detail");
    return row;
}

GPtrArray *store_list_job_failures(Store *store, int64_t campaign, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT jsonb_build_object('failure', n.failure, 'jobs', n.jobs, 'detail', e.detail)"
        " FROM (SELECT failure, count(*) AS jobs, max(job_id) AS last FROM job_ends"
        "       WHERE campaign_id = $1 AND state = 'failed' GROUP BY failure) AS n"
        " JOIN job_ends e ON e.campaign_id = $1 AND e.job_id = n.last ORDER BY n.failure",
        "l", campaign);
    return rows == NULL ? NULL
                        : store_list_checked(rows, read_job_failures, job_failures_free, error);
}

/* ---- partitions of dropped campaigns ---- */

/* Detaching a partition waits for its readers. After five seconds this call gives up, and a later one
 * finishes. */
#define PATIENCE    "SET statement_timeout = '5s'"
#define NO_PATIENCE "SET statement_timeout = '10min'"

static bool alter(Store *store, const char *format, const char *first, const char *second,
                  GError **error)
{
    char *quoted_first = PQescapeIdentifier(store->connection, first, strlen(first));
    char *quoted_second =
        second == NULL ? NULL : PQescapeIdentifier(store->connection, second, strlen(second));
    g_autofree char *sql = second == NULL
                               ? g_strconcat(format, quoted_first, NULL)
                               : g_strconcat("ALTER TABLE ", quoted_first, " DETACH PARTITION ",
                                             quoted_second, format, NULL);
    PQfreemem(quoted_first);
    PQfreemem(quoted_second);
    return store_do(store, error, sql, "");
}

static bool drop_partition(Store *store, const json_t *row, GError **error)
{
    const char *parent = json_string_value(json_object_get(row, "parent"));
    const char *child = json_string_value(json_object_get(row, "child"));
    bool pending = json_member_bool(row, "pending");
    return (json_member_bool(row, "detached") ||
            alter(store, pending ? " FINALIZE" : " CONCURRENTLY", parent, child, error)) &&
           alter(store, "DROP TABLE ", child, NULL, error);
}

/* One session at a time: two that detach partitions would wait for each other. */
#define TURN_SQL  "SELECT take_turn('partitions')"
#define LEAVE_SQL "SELECT end_turn('partitions')"

static bool drop_listed(Store *store, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT to_jsonb(d) FROM dropped_partitions d", "");
    if (rows == NULL || !store_do(store, error, PATIENCE, ""))
        return false;
    bool dropped = true, lost = false;
    for (int i = 0; i < PQntuples(rows) && dropped; i++) {
        g_autoptr(StoreJson) row = store_row_json(rows, i);
        g_autoptr(GError) busy = NULL;
        dropped = drop_partition(store, row, &busy);
        lost = !dropped && g_error_matches(busy, STORE_ERROR, STORE_ERROR_CONNECTION);
        if (lost)
            g_propagate_error(error, g_steal_pointer(&busy));
    }
    store_do(store, NULL, NO_PATIENCE, "");
    return !lost;
}

/* Whether this login owns the tables: only a table's owner can detach its partitions. */
static bool read_owns(Store *store, bool *owns, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error,
                                           "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class"
                                           " WHERE oid = 'jobs'::regclass",
                                           "");
    if (rows != NULL)
        *owns = PQgetvalue(rows, 0, 0)[0] == 't';
    return rows != NULL;
}

bool store_drop_partitions(Store *store, GError **error)
{
    bool owns;
    if (!read_owns(store, &owns, error))
        return false;
    if (!owns)
        return store_do(store, error, "SELECT empty_dropped_partitions()", "");
    g_autoptr(StoreRows) alone = store_read(store, error, TURN_SQL, "");
    if (alone == NULL)
        return false;
    if (PQgetvalue(alone, 0, 0)[0] == 'f')
        return true;
    bool done = drop_listed(store, error);
    /* If this fails, the turn ends with the connection. */
    store_do(store, NULL, LEAVE_SQL, "");
    return done;
}
