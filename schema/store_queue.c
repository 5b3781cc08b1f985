/* Claiming jobs and handing in what became of them. */
#include "schema/store_private.h"

void job_free(struct job *job)
{
    if (job == NULL)
        return;
    g_free(job->solver);
    g_free(job->target);
    g_free(job->strategy);
    g_ptr_array_unref(job->rounds);
    g_array_unref(job->quarantined);
    g_free(job);
}

static void free_job(gpointer data)
{
    job_free(data);
}

static void free_round(gpointer data)
{
    round_free(data);
}

static gpointer read_job(const json_t *object)
{
    struct job *job = g_new0(struct job, 1);
    job->id = json_member_int(object, "id");
    job->campaign = json_member_int(object, "campaign");
    job->fence = json_member_int(object, "fence");
    problem_from_json(json_object_get(object, "problem"), &job->problem);
    job->solver = json_member_text(object, "solver");
    job->revision = (int)json_member_int(object, "revision");
    job->target = json_member_text(object, "target");
    job->strategy = json_member_text(object, "strategy");
    job->seed = json_member_int(object, "seed");
    job->configs_limit = (int)json_member_int(object, "configs_limit");
    job->round_configs = (int)json_member_int(object, "round_configs");
    job->build_only = json_member_bool(object, "build_only");
    job->strikes = (int)json_member_int(object, "strikes");
    job->best_ms = json_member_double(object, "best_ms");

    size_t index;
    json_t *value;
    job->rounds = g_ptr_array_new_with_free_func(free_round);
    json_array_foreach (json_object_get(object, "rounds"), index, value)
        g_ptr_array_add(job->rounds, round_from_json(value));
    job->quarantined = g_array_new(FALSE, TRUE, sizeof(struct perf_config));
    json_array_foreach (json_object_get(object, "quarantined"), index, value) {
        struct perf_config config;
        config_from_json(value, &config);
        g_array_append_val(job->quarantined, config);
    }
    return job;
}

/* What claim_jobs() changes is not seen by this statement, but for what it returns; the rest of the
 * row never changes while it is claimed. The best time is one look into results a job, not a join:
 * planned before statistics know how the table grew, a join may go through all of it. */
static const char claim_sql[] =
    "SELECT jsonb_build_object('id', j.id, 'campaign', j.campaign_id, 'fence', claimed.job_fence,"
    " 'problem', to_jsonb(p), 'solver', s.name, 'revision', s.revision, 'target', c.target,"
    " 'strategy', c.strategy, 'seed', c.seed, 'configs_limit', c.configs_limit,"
    " 'round_configs', c.round_configs, 'build_only', c.build_only, 'strikes', j.strikes,"
    " 'best_ms', (SELECT min((SELECT r.median_ms FROM results r"
    "                         WHERE r.job_id = o.id AND r.rank = 0)) FROM jobs o"
    "             WHERE o.campaign_id = j.campaign_id AND o.problem_id = j.problem_id),"
    " 'quarantined', (SELECT jsonb_agg(to_jsonb(q.config) ORDER BY q.config) FROM quarantine q"
    "                 WHERE q.solver_id = j.solver_id AND q.problem_id = j.problem_id"
    "                 AND q.target = c.target),"
    " 'rounds', (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.number) FROM rounds r"
    "            WHERE r.job_id = j.id AND NOT (r.is_open AND $2)))"
    " FROM claim_jobs($1, $2, $3, $4, ARRAY(SELECT jsonb_array_elements_text($5)), $6, $7, $8)"
    "      AS claimed"
    " JOIN jobs j ON j.id = claimed.job_id JOIN campaigns c ON c.id = j.campaign_id"
    " JOIN problems p ON p.id = j.problem_id JOIN solvers s ON s.id = j.solver_id"
    " ORDER BY j.round_no, j.priority DESC, j.id";

GPtrArray *store_claim(Store *store, const struct claim *claim, GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_autoptr(StoreJson) solvers = json_array();
    for (const char *const *solver = claim->solvers; *solver != NULL; solver++)
        json_array_append_new(solvers, json_string(*solver));
    int64_t token = ((int64_t)(g_random_int() & G_MAXINT32) << 32) | g_random_int() | 1;
    g_autoptr(StoreRows) rows = store_run(store, &failure, claim_sql, "lblsjidl", claim->worker,
                                          claim->pool == POOL_BUILD, claim->campaign, claim->target,
                                          solvers, claim->batch, claim->lease_seconds, token);
    if (rows != NULL)
        return store_list(rows, read_job, free_job);
    if (g_error_matches(failure, STORE_ERROR, STORE_ERROR_CONNECTION) &&
        store->doubtful_token == 0) {
        store->doubtful_worker = claim->worker;
        store->doubtful_token = token;
    }
    g_propagate_error(error, g_steal_pointer(&failure));
    return NULL;
}

bool store_built(Store *store, const struct job *job, const struct round *round, GError **error)
{
    g_autoptr(StoreJson) data = round_to_json(round);
    return store_do(store, error, "SELECT store_built($1, $2, $3)", "llj", job->id, job->fence,
                    data);
}

bool store_partial(Store *store, const struct job *job, const struct round *round, GError **error)
{
    g_autoptr(StoreJson) data = round_to_json(round);
    return store_do(store, error, "SELECT store_partial($1, $2, $3)", "llj", job->id, job->fence,
                    data);
}

bool store_round(Store *store, const struct job *job, const struct round *round,
                 const struct kept *kept, int kept_count, bool more, double seconds, GError **error)
{
    g_autoptr(StoreJson) data = round_to_json(round);
    g_autoptr(StoreJson) results = json_array();
    for (int i = 0; i < kept_count; i++)
        json_array_append_new(results, kept_to_json(&kept[i], i));
    return store_do(store, error, "SELECT store_round($1, $2, $3, $4, $5, $6)", "lljjbd", job->id,
                    job->fence, data, results, more, seconds);
}

bool store_fail_job(Store *store, const struct job *job, enum failure failure, const char *detail,
                    GError **error)
{
    g_assert(failure != FAILURE_NONE);
    return store_do(store, error, "SELECT fail_job($1, $2, $3, $4)", "llis", job->id, job->fence,
                    (int)failure, detail);
}

bool store_finish_job(Store *store, const struct job *job, GError **error)
{
    return store_do(store, error, "SELECT finish_job($1, $2)", "ll", job->id, job->fence);
}

bool store_release_job(Store *store, const struct job *job, GError **error)
{
    return store_do(store, error, "SELECT release_job($1, $2)", "ll", job->id, job->fence);
}
