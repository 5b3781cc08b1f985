/* Campaigns as a whole: made, found, changed, and how far they are. */
#include "schema/store_private.h"

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
    return object;
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
    return object;
}

bool store_ensure_target(Store *store, const char *id, GError **error)
{
    struct target target;
    g_autoptr(GError) problem = NULL;
    if (store_get_target(store, id, &target, &problem))
        return true;
    if (!g_error_matches(problem, STORE_ERROR, STORE_ERROR_NOT_FOUND)) {
        g_propagate_error(error, g_steal_pointer(&problem));
        return false;
    }
    return target_parse(id, &target, error) && store_put_target(store, &target, error);
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

/* Pointers to the plans, what matters most first. */
static GPtrArray *plans_in_order(const struct job_plan *jobs, int count)
{
    GPtrArray *order = g_ptr_array_sized_new((guint)count);
    for (int i = 0; i < count; i++)
        g_ptr_array_add(order, (gpointer)&jobs[i]);
    g_ptr_array_sort_with_data(order, compare_plans, NULL);
    return order;
}

/* So many plans go to the server at once: a million of them is no one message. */
#define PLANS_AT_ONCE 5000

static bool add_jobs(Store *store, int64_t campaign, const GPtrArray *order, GError **error)
{
    for (guint first = 0; first < order->len; first += PLANS_AT_ONCE) {
        g_autoptr(StoreJson) items = json_array();
        for (guint i = first; i < order->len && i < first + PLANS_AT_ONCE; i++)
            json_array_append_new(items, plan_to_json(order->pdata[i]));
        if (!store_do(store, error, "SELECT add_jobs($1, $2, $3)", "llj", campaign,
                      (int64_t)first + 1, items))
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

static bool fill_campaign(Store *store, struct campaign *campaign, const GPtrArray *order,
                          const GPtrArray *notes, int *reused, GError **error)
{
    g_autoptr(StoreJson) plan = campaign_to_json(campaign);
    g_autoptr(StoreRows) begun = store_run(store, error, "SELECT begin_campaign($1)", "j", plan);
    if (begun == NULL)
        return false;
    campaign->id = strtoll(PQgetvalue(begun, 0, 0), NULL, 10);
    if (!add_jobs(store, campaign->id, order, error) ||
        !add_notes(store, campaign->id, notes, error))
        return false;
    g_autoptr(StoreRows) opened =
        store_run(store, error, "SELECT open_campaign($1)", "l", campaign->id);
    if (opened == NULL)
        return false;
    if (reused != NULL)
        *reused = atoi(PQgetvalue(opened, 0, 0));
    return true;
}

bool store_create_campaign(Store *store, struct campaign *campaign, const struct job_plan *jobs,
                           int count, const GPtrArray *notes, int *reused, GError **error)
{
    g_autoptr(GPtrArray) order = plans_in_order(jobs, count);
    if (!store_ensure_target(store, campaign->target, error) ||
        !store_do(store, error, "BEGIN", ""))
        return false;
    if (fill_campaign(store, campaign, order, notes, reused, error) &&
        store_do(store, error, "COMMIT", ""))
        return true;
    /* Its own failure would only hide the first one. */
    store_do(store, NULL, "ROLLBACK", "");
    return false;
}

/* Locks of two small numbers are none of those of one large number, which our others are. */
#define HOLD_SQL  "SELECT pg_advisory_lock(1936485744, hashtext($1))"
#define LEAVE_SQL "SELECT pg_advisory_unlock(1936485744, hashtext($1))"

bool store_hold_identity(Store *store, const char *identity, GError **error)
{
    /* What a lost connection held is gone with it, and is held by the next one. */
    g_autoptr(StoreRows) held = store_read(store, error, HOLD_SQL, "s", identity);
    return held != NULL;
}

void store_leave_identity(Store *store, const char *identity)
{
    /* The lock also goes with the connection. */
    store_do(store, NULL, LEAVE_SQL, "s", identity);
}

#define SELECT_CAMPAIGN "SELECT to_jsonb(c) FROM campaign_rows c "

gpointer store_read_campaign(const json_t *object)
{
    struct campaign *c = g_new0(struct campaign, 1);
    c->id = json_member_int(object, "id");
    c->name = json_member_text(object, "name");
    c->identity = json_member_text(object, "identity");
    c->target = json_member_text(object, "target");
    c->stack = json_member_text(object, "stack");
    c->state = json_member_text(object, "state");
    c->strategy = json_member_text(object, "strategy");
    c->seed = json_member_int(object, "seed");
    c->configs_limit = (int)json_member_int(object, "configs_limit");
    c->round_configs = (int)json_member_int(object, "round_configs");
    c->budget_seconds = json_member_double(object, "budget_seconds");
    c->spent_seconds = json_member_double(object, "spent_seconds");
    c->build_only = json_member_bool(object, "build_only");
    c->pool = json_member_text(object, "pool");
    c->priority = (int)json_member_int(object, "priority");
    c->share = json_member_double(object, "share");
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
                    "; to see those there are: skipjack campaign list",
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

bool store_share_campaign(Store *store, int64_t id, const int *priority, const double *share,
                          const char *pool, GError **error)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *number = priority ? g_strdup_printf("%d", *priority) : NULL;
    return store_do(store, error, "SELECT set_campaign_share($1, $2, $3, $4)", "lsss", id, number,
                    share ? g_ascii_dtostr(digits, sizeof digits, *share) : NULL, pool);
}

bool store_extend_campaign(Store *store, int64_t id, double budget_seconds, GError **error)
{
    return store_do(store, error, "SELECT extend_campaign($1, $2)", "ld", id, budget_seconds);
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
        .kernels_built = json_member_int(object, "kernels"),
        .spent_seconds = json_member_double(object, "spent_seconds"),
        .budget_seconds = json_member_double(object, "budget_seconds"),
        .compile_seconds = json_member_double(object, "compile_seconds"),
        .eval_seconds = json_member_double(object, "eval_seconds"),
        .build_only = json_member_bool(object, "build_only"),
    };
}

bool store_progress(Store *store, int64_t campaign, struct progress *progress, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT to_jsonb(j) || to_jsonb(r) || jsonb_build_object("
                   " 'spent_seconds', spent_seconds(c.id), 'budget_seconds', c.budget_seconds,"
                   " 'build_only', c.build_only)"
                   " FROM campaigns c CROSS JOIN LATERAL (SELECT count(*) AS jobs,"
                   "  count(*) FILTER (WHERE state = 'done') AS done,"
                   "  count(*) FILTER (WHERE state = 'failed') AS failed,"
                   "  count(*) FILTER (WHERE state = 'ready') AS ready,"
                   "  count(*) FILTER (WHERE state = 'building') AS building,"
                   "  count(*) FILTER (WHERE state = 'built') AS built,"
                   "  count(*) FILTER (WHERE state = 'evaluating') AS evaluating"
                   "  FROM job_rows WHERE campaign_id = c.id) AS j"
                   " CROSS JOIN LATERAL (SELECT coalesce(sum(evaluated), 0) AS evaluated,"
                   "  coalesce(sum(pending) FILTER (WHERE is_open), 0) AS pending,"
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
        store_damaged(error, "a failure has a number that is not known");
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
