/*
 * Results of a campaign, as a whole and in parts.
 *
 * Many rows share few problems, so the problems of a part are read once, into a
 * table by id (part_problems()), and rows carry only the id.
 */
#include "schema/results/store_results.h"
#include "schema/store/store_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- parts of a campaign ---- */

bool store_next_problems(Store *store, int64_t campaign, int jobs, struct problem_part *part,
                         GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT problem_id FROM jobs WHERE campaign_id = $1 AND problem_id > $2"
                   " ORDER BY problem_id LIMIT 1 OFFSET $3",
                   "lli", campaign, part->last, jobs - 1);
    if (rows == NULL)
        return false;
    part->after = part->last;
    part->last = PQntuples(rows) > 0 ? strtoll(PQgetvalue(rows, 0, 0), NULL, 10) : INT64_MAX;
    return true;
}

static GHashTable *part_problems(Store *store, int64_t campaign, const struct problem_part *part,
                                 GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT to_jsonb(p) FROM problems p WHERE p.id IN (SELECT j.problem_id FROM jobs j"
        " WHERE j.campaign_id = $1 AND j.problem_id > $2 AND j.problem_id <= $3)",
        "lll", campaign, part->after, part->last);
    if (rows == NULL)
        return NULL;
    g_autoptr(GHashTable) problems =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        int64_t id = json_member_int(object, "id");
        struct problem problem;
        if (!problem_from_json(object, &problem, error))
            return NULL;
        g_hash_table_insert(problems, g_memdup2(&id, sizeof id),
                            g_memdup2(&problem, sizeof problem));
    }
    return g_steal_pointer(&problems);
}

static const struct problem *problem_of(GHashTable *problems, const json_t *object, GError **error)
{
    int64_t id = json_member_int(object, "problem_id");
    const struct problem *problem = g_hash_table_lookup(problems, &id);
    if (problem == NULL)
        store_damaged(error, "there is no problem %" G_GINT64_FORMAT, (gint64)id);
    return problem;
}

/* Lists what the statement reads of a campaign ($1) for problems from $2 to $3: objects with a problem_id. */
typedef gpointer (*read_of_problem)(const json_t *object, const struct problem *problem,
                                    GError **error);
static GPtrArray *list_part(Store *store, int64_t campaign, const struct problem_part *part,
                            const char *sql, read_of_problem read, GDestroyNotify destroy,
                            GError **error)
{
    g_autoptr(GHashTable) problems = part_problems(store, campaign, part, error);
    g_autoptr(StoreRows) rows =
        problems == NULL ? NULL
                         : store_read(store, error, sql, "lll", campaign, part->after, part->last);
    if (rows == NULL)
        return NULL;
    g_autoptr(GPtrArray) list = g_ptr_array_new_full((guint)PQntuples(rows), destroy);
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        const struct problem *problem = problem_of(problems, object, error);
        gpointer item = problem == NULL ? NULL : read(object, problem, error);
        if (item == NULL)
            return NULL;
        g_ptr_array_add(list, item);
    }
    return g_steal_pointer(&list);
}

/* ---- results ---- */

static const struct problem_part all_problems = PROBLEM_PART_ALL;

void store_result_clear(struct result *result)
{
    kept_clear(&result->kept);
    g_free(result->solver);
    g_free(result->algorithm);
    g_free(result->stack);
    g_free(result->measured_by);
    g_free(result->damage);
}

void result_free(struct result *result)
{
    if (result == NULL)
        return;
    store_result_clear(result);
    g_free(result);
}

static void free_result(gpointer data)
{
    result_free(data);
}

static void read_plan(const json_t *object, struct result *result)
{
    const json_t *kept = json_object_get(object, "result");
    result->job = json_member_int(kept, "job_id");
    result->solver = json_member_text(object, "solver");
    result->algorithm = json_member_text(object, "algorithm");
    result->revision = (int)json_member_int(object, "revision");
    result->dynamic = json_member_bool(object, "dynamic");
    result->tunable = json_member_bool(object, "tunable");
    result->multiplicity = (int)json_member_int(object, "multiplicity");
    result->rank = (int)json_member_int(kept, "rank");
    result->stack = json_member_text(kept, "stack");
    result->drift = json_member_double(kept, "drift");
    result->throttle = (unsigned)json_member_int(kept, "throttle");
    result->caches = caches_from_json(kept, "cold");
    result->verified_share = json_member_double(kept, "verified_share");
    result->proof_runs = (int)json_member_int(kept, "proof_runs");
    result->proof_kinds = (int)json_member_int(kept, "proof_kinds");
}

static gpointer read_result(const json_t *object, const struct problem *problem, GError **error)
{
    struct result *result = g_new0(struct result, 1);
    read_plan(object, result);
    result->problem_id = json_member_int(object, "problem_id");
    result->problem = *problem;
    if (kept_from_json(json_object_get(object, "result"), &result->kept, error))
        return result;
    g_prefix_error(error, "job %" G_GINT64_FORMAT ": ", (gint64)result->job);
    result_free(result);
    return NULL;
}

int store_compare_results(gconstpointer a, gconstpointer b)
{
    const struct result *left = *(const struct result *const *)a;
    const struct result *right = *(const struct result *const *)b;
    int order = problem_compare(&left->problem, &right->problem);
    double left_ms = left->kept.outcome.median_ms;
    double right_ms = right->kept.outcome.median_ms;
    if (order == 0)
        order = right->kept.wins - left->kept.wins;
    if (order == 0)
        order = (left_ms > right_ms) - (left_ms < right_ms);
    if (order == 0)
        order = strcmp(left->solver, right->solver);
    return order != 0 ? order : left->rank - right->rank;
}

/* A kept result, with the least share of elements that a round of its job compared, the proof of its config that
 * compared most runs, and with drift, caches and throttle reasons of the newest round that measured the same time. */
#define SELECT_RESULT                                                                                \
    "to_jsonb(r) || jsonb_build_object('verified_share', (SELECT min(v.verified_share)"              \
    "  FROM outcomes v WHERE v.campaign_id = $1 AND v.job_id = r.job_id)) || coalesce("              \
    " (SELECT jsonb_build_object('proof_runs', c.runs, 'proof_kinds', c.kinds) FROM config_proofs c" \
    "  WHERE c.campaign_id = $1 AND c.job_id = r.job_id AND c.config = r.config"                     \
    "  ORDER BY c.runs DESC LIMIT 1), '{\"proof_runs\": 0, \"proof_kinds\": 0}') || coalesce("       \
    " (SELECT jsonb_build_object('drift', o.drift, 'cold', o.cold, 'throttle',"                      \
    "   coalesce((SELECT q.throttle FROM round_conditions q WHERE q.campaign_id = $1"                \
    "             AND q.job_id = r.job_id AND q.number = o.number), 0))"                             \
    "  FROM outcomes o WHERE o.campaign_id = $1 AND o.job_id = r.job_id"                             \
    "  AND NOT o.is_open AND o.median_ms @> ARRAY[r.median_ms] ORDER BY o.number DESC LIMIT 1),"     \
    " '{}')"

GPtrArray *store_list_part_results(Store *store, int64_t campaign, const struct problem_part *part,
                                   GError **error)
{
    GPtrArray *list =
        list_part(store, campaign, part,
                  "SELECT jsonb_build_object('problem_id', j.problem_id,"
                  " 'result', " SELECT_RESULT ", 'solver', s.name, 'algorithm', s.algorithm,"
                  " 'revision', s.revision, 'dynamic', s.dynamic, 'tunable', s.tunable,"
                  " 'multiplicity', j.multiplicity)"
                  " FROM jobs j JOIN results r ON r.campaign_id = $1 AND r.job_id = j.id"
                  " JOIN solvers s ON s.id = j.solver_id WHERE j.campaign_id = $1"
                  " AND j.problem_id > $2 AND j.problem_id <= $3",
                  read_result, free_result, error);
    if (list != NULL)
        g_ptr_array_sort(list, store_compare_results);
    return list;
}

GPtrArray *store_list_results(Store *store, int64_t campaign, GError **error)
{
    return store_list_part_results(store, campaign, &all_problems, error);
}

void store_read_judged(const json_t *object, struct result *result)
{
    const json_t *kept = json_object_get(object, "result");
    g_autoptr(GError) error = NULL;
    read_plan(object, result);
    result->problem_id = json_member_int(json_object_get(object, "problem"), "id");
    result->verified = json_member_bool(object, "verified");
    const json_t *logins = json_object_get(kept, "measured_by");
    if (logins != NULL) {
        g_auto(GStrv) names = texts_from_json(logins);
        result->measured_by = g_strjoinv(", ", names);
    }
    problem_init(&result->problem);
    bool read = result->problem_id == 0 ||
                problem_from_json(json_object_get(object, "problem"), &result->problem, &error);
    if (read && kept_from_json(kept, &result->kept, &error))
        return;
    result->damage = g_strdup(error->message);
    kept_clear(&result->kept);
    result->kept.config_text = json_member_text(kept, "config_text");
    result->kept.kernel_keys = json_member_text(kept, "kernel_keys");
}

static gpointer read_judged(const json_t *object)
{
    struct result *result = g_new0(struct result, 1);
    store_read_judged(object, result);
    return result;
}

/* The number of FAILURE_NONE, for the statement below. */
#define NO_FAILURE "0"
G_STATIC_ASSERT(FAILURE_NONE == 0);

/* The verified configs of rounds. A round has the values of all its configs in one array: those
 * of config i follow those of config i - 1. */
#define SELECT_VERIFIED                                                                            \
    "EXISTS (SELECT 1 FROM rounds b JOIN outcomes o USING (campaign_id, job_id, number)"           \
    " CROSS JOIN LATERAL unnest(array_positions(o.median_ms, r.median_ms)) AS at"                  \
    " CROSS JOIN LATERAL (SELECT coalesce(sum(c), 0)::integer AS values"                           \
    "                     FROM unnest(b.config_counts[:at - 1]) AS c) AS before"                   \
    " WHERE b.campaign_id = $1 AND b.job_id = r.job_id AND NOT o.is_open"                          \
    " AND o.failures[at] = " NO_FAILURE " AND o.n[at] = r.n AND o.min_ms[at] = r.min_ms"           \
    " AND b.kernel_keys[at] = r.kernel_keys"                                                       \
    " AND b.config_values[before.values + 1:before.values + b.config_counts[at]] = r.config)"

char *store_part_jobs(const struct result_part *part)
{
    if (part == NULL || part->jobs == NULL)
        return NULL;
    GString *list = g_string_new("{");
    for (int i = 0; i < part->job_count; i++)
        g_string_append_printf(list, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "",
                               (gint64)part->jobs[i]);
    g_string_append_c(list, '}');
    return g_string_free(list, FALSE);
}

void store_part_move(struct result_part *part, const char *last)
{
    part->after = part->last;
    part->last = *last != '\0' ? strtoll(last, NULL, 10) : INT64_MAX;
}

bool store_next_results(Store *store, int64_t campaign, int results, struct result_part *part,
                        GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT job_id FROM results WHERE campaign_id = $1 AND job_id > $2"
                   " ORDER BY job_id LIMIT 1 OFFSET $3",
                   "lli", campaign, part->last, results - 1);
    if (rows != NULL)
        store_part_move(part, PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : "");
    return rows != NULL;
}

/* The range restricts jobs as well as results: both sides of the join are then read by their keys. */
GPtrArray *store_list_judged_results(Store *store, int64_t campaign, const char *network,
                                     const char *tag, const struct result_part *part,
                                     GError **error)
{
    g_autofree char *jobs = store_part_jobs(part);
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT jsonb_build_object('problem', to_jsonb(p), 'result', " SELECT_RESULT
        ", 'solver', s.name, 'algorithm', s.algorithm, 'revision', s.revision, 'dynamic', s.dynamic,"
        " 'tunable', s.tunable, 'multiplicity', j.multiplicity, 'verified', " SELECT_VERIFIED ")"
        " FROM results r LEFT JOIN (jobs j JOIN problems p ON p.id = j.problem_id"
        "                           JOIN solvers s ON s.id = j.solver_id)"
        " ON j.campaign_id = $1 AND j.id = r.job_id AND j.id > $4 AND j.id <= $5"
        " WHERE r.campaign_id = $1 AND r.job_id > $4 AND r.job_id <= $5"
        " AND ($6::bigint[] IS NULL OR r.job_id = ANY ($6))"
        " AND ($2::text IS NULL OR j.problem_id IN (SELECT problems_of_network($1, $2)))"
        " AND ($3::text IS NULL OR j.problem_id IN (SELECT t.problem_id FROM problem_tags t"
        "                                           WHERE t.tag = $3))",
        "lsslls", campaign, network, tag, PART_AFTER(part), PART_LAST(part), jobs);
    if (rows == NULL)
        return NULL;
    GPtrArray *list = store_list(rows, read_judged, free_result);
    g_ptr_array_sort(list, store_compare_results);
    return list;
}

static void job_row_free(gpointer data)
{
    struct job_row *row = data;
    g_free(row->solver);
    g_free(row->state);
    g_free(row->detail);
    g_free(row);
}

static gpointer read_job_row(const json_t *object, const struct problem *problem, GError **error)
{
    struct job_row *row = g_new0(struct job_row, 1);
    const json_t *job = json_object_get(object, "job");
    row->id = json_member_int(job, "id");
    row->problem = *problem;
    row->solver = json_member_text(object, "solver");
    row->revision = (int)json_member_int(object, "revision");
    row->state = json_member_text(job, "state");
    row->strikes = (int)json_member_int(job, "strikes");
    row->rounds = (int)json_member_int(job, "round_no");
    row->multiplicity = (int)json_member_int(job, "multiplicity");
    row->priority = json_member_double(job, "priority");
    row->detail = json_member_text_or_null(job, "detail");
    row->reused = json_member_bool(job, "reused");
    row->by_budget = json_member_bool(job, "by_budget");
    row->search_end = search_end_find(json_string_value(json_object_get(job, "search_end")));
    row->reason = (enum job_reason)CLAMP(json_member_int(object, "reason"), JOB_REASON_UNKNOWN,
                                         JOB_REASON_COUNT - 1);
    row->source = json_member_int(object, "source");
    row->configs_taken = (int)json_member_int(object, "configs_taken");
    if (failure_from_json(job, &row->failure, error))
        return row;
    job_row_free(row);
    return NULL;
}

GPtrArray *store_list_part_jobs(Store *store, int64_t campaign, const struct problem_part *part,
                                GError **error)
{
    return list_part(store, campaign, part,
                     "SELECT jsonb_build_object('problem_id', j.problem_id,"
                     " 'job', to_jsonb(j), 'solver', s.name, 'revision', s.revision,"
                     " 'reason', CASE WHEN c.has_origins THEN coalesce(i.reason, 0) ELSE -1 END,"
                     " 'source', i.source, 'configs_taken', i.configs)"
                     " FROM job_rows j JOIN solvers s ON s.id = j.solver_id"
                     " JOIN campaigns c ON c.id = j.campaign_id"
                     " LEFT JOIN job_origins i ON i.campaign_id = $1 AND i.job_id = j.id"
                     " WHERE j.campaign_id = $1 AND j.problem_id > $2 AND j.problem_id <= $3"
                     " ORDER BY j.id",
                     read_job_row, job_row_free, error);
}

GPtrArray *store_list_jobs(Store *store, int64_t campaign, GError **error)
{
    return store_list_part_jobs(store, campaign, &all_problems, error);
}

static void rejection_free(gpointer data)
{
    struct config_outcome *rejection = data;
    g_free(rejection->solver);
    g_free(rejection->config_text);
    g_free(rejection->detail);
    g_free(rejection);
}

static bool is_rejected(enum failure failure)
{
    return failure != FAILURE_NONE && failure != FAILURE_PENDING && failure != FAILURE_SLOW;
}

/* The median of a config in a round, 0 if it was not timed. */
static double time_in_round(const struct round *round, const struct perf_config *config)
{
    for (int i = 0; i < round->config_count; i++)
        if (perf_config_equal(&round->configs[i], config))
            return round->outcomes[i].median_ms;
    return 0;
}

static struct config_outcome *make_outcome(const json_t *object, const struct problem *problem,
                                           const struct round *round, int i)
{
    char text[CONFIG_TEXT_MAX];
    struct config_outcome *made = g_new0(struct config_outcome, 1);
    made->job = json_member_int(object, "job");
    made->problem = *problem;
    made->solver = json_member_text(object, "solver");
    made->revision = (int)json_member_int(object, "revision");
    made->config_text = g_strdup(perf_config_format(&round->configs[i], text));
    made->config = round->configs[i];
    made->failure = round->outcomes[i].failure;
    made->median_ms = round->outcomes[i].median_ms;
    made->n = round->outcomes[i].n;
    made->spread = round->outcomes[i].spread;
    made->build_seconds = round->outcomes[i].build_seconds;
    made->eval_seconds = round->outcomes[i].eval_seconds;
    made->detail = g_strdup(round->details[i]);
    return made;
}

/* Adds the configs of a round that have an outcome: all, or only the rejected ones. Rounds come job by job;
 * *first is the first config of the current job. */
static bool add_outcomes(GPtrArray *list, const json_t *object, const struct problem *problem,
                         bool all, struct perf_config *first, GError **error)
{
    struct round *round = round_from_json(json_object_get(object, "round"), error);
    if (round == NULL)
        return false;
    if (round->number == 0 && round->config_count > 0)
        *first = round->configs[0];
    for (int i = 0; i < round->config_count; i++) {
        if (all ? round->outcomes[i].failure == FAILURE_PENDING
                : !is_rejected(round->outcomes[i].failure))
            continue;
        struct config_outcome *outcome = make_outcome(object, problem, round, i);
        outcome->baseline_ms = all ? time_in_round(round, first) : 0;
        outcome->is_default = perf_config_equal(&round->configs[i], first);
        g_ptr_array_add(list, outcome);
    }
    round_free(round);
    return true;
}

static GPtrArray *list_outcomes(Store *store, int64_t campaign, const struct problem_part *part,
                                bool all, GError **error)
{
    g_autoptr(GHashTable) problems = part_problems(store, campaign, part, error);
    g_autoptr(StoreRows) rows =
        problems == NULL
            ? NULL
            : store_read(store, error,
                         "SELECT jsonb_build_object('job', j.id, 'problem_id', j.problem_id,"
                         " 'solver', s.name, 'revision', s.revision, 'round', to_jsonb(r))"
                         " FROM jobs j JOIN round_rows r ON r.campaign_id = $1 AND r.job_id = j.id"
                         " JOIN solvers s ON s.id = j.solver_id"
                         " WHERE j.campaign_id = $1 AND j.problem_id > $2 AND j.problem_id <= $3"
                         "   AND ($4::integer <> 0 OR EXISTS (SELECT 1 FROM unnest(r.failures) AS f"
                         "                                    WHERE f NOT IN (0, 15, 16)))"
                         " ORDER BY j.id, r.number",
                         "llli", campaign, part->after, part->last, (int)all);
    if (rows == NULL)
        return NULL;
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(rejection_free);
    struct perf_config first = {0};
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        const struct problem *problem = problem_of(problems, object, error);
        if (problem == NULL || !add_outcomes(list, object, problem, all, &first, error))
            return NULL;
    }
    return g_steal_pointer(&list);
}

GPtrArray *store_list_part_rejections(Store *store, int64_t campaign,
                                      const struct problem_part *part, GError **error)
{
    return list_outcomes(store, campaign, part, false, error);
}

GPtrArray *store_list_outcomes(Store *store, int64_t campaign, GError **error)
{
    return list_outcomes(store, campaign, &all_problems, true, error);
}

bool store_count_outcomes(Store *store, int64_t campaign, int64_t counts[FAILURE_COUNT],
                          GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT f, count(*) FROM round_rows r, unnest(r.failures) AS f"
                   " WHERE r.campaign_id = $1 GROUP BY f",
                   "l", campaign);
    if (rows == NULL)
        return false;
    memset(counts, 0, FAILURE_COUNT * sizeof *counts);
    for (int i = 0; i < PQntuples(rows); i++) {
        int failure = atoi(PQgetvalue(rows, i, 0));
        if (failure < 0 || failure >= FAILURE_COUNT)
            return store_damaged(error, "a failure has the unknown number %d", failure);
        counts[failure] = strtoll(PQgetvalue(rows, i, 1), NULL, 10);
    }
    return true;
}

static void measured_free(gpointer data)
{
    struct measured *measured = data;
    g_free(measured->solver);
    g_free(measured->config_text);
    g_free(measured->login);
    g_free(measured->node);
    g_free(measured);
}

static gpointer read_measured(const json_t *object, GError **error)
{
    struct measured *measured = g_new0(struct measured, 1);
    measured->solver = json_member_text(object, "solver");
    measured->config_text = json_member_text(object, "config_text");
    measured->median_ms = json_member_double(object, "median_ms");
    measured->error = json_member_double(object, "error");
    measured->login = json_member_text(object, "login");
    measured->node = json_member_text(object, "node");
    measured->job = json_member_int(object, "job");
    measured->worker = json_member_int(object, "worker");
    measured->rounds = (int)json_member_int(object, "rounds");
    measured->last_at = json_member_int(object, "last_at");
    if (problem_from_json(json_object_get(object, "problem"), &measured->problem, error))
        return measured;
    measured_free(measured);
    return NULL;
}

GPtrArray *store_list_measured(Store *store, int64_t campaign, const char *login, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT jsonb_build_object('problem', to_jsonb(p), 'solver', s.name, 'config_text',"
        " r.config_text, 'median_ms', r.median_ms, 'error', r.error, 'login', w.login, 'node', w.node,"
        " 'job', w.job_id, 'worker', w.worker_id, 'rounds', w.rounds, 'last_at',"
        " extract(epoch FROM w.last_at)::bigint)"
        " FROM job_workers w JOIN jobs j ON j.campaign_id = $1 AND j.id = w.job_id"
        " JOIN problems p ON p.id = j.problem_id JOIN solvers s ON s.id = j.solver_id"
        " JOIN results r ON r.campaign_id = $1 AND r.job_id = w.job_id AND r.rank = 0"
        " WHERE w.campaign_id = $1 AND ($2::text IS NULL OR w.login = $2)"
        " ORDER BY w.login, w.node, w.job_id",
        "ls", campaign, login);
    return rows == NULL ? NULL : store_list_checked(rows, read_measured, measured_free, error);
}

/* ---- configs that build-only campaigns built ---- */

bool store_next_built(Store *store, int64_t campaign, int jobs, struct result_part *part,
                      GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error,
                                           "SELECT id FROM jobs WHERE campaign_id = $1 AND id > $2"
                                           " ORDER BY id LIMIT 1 OFFSET $3",
                                           "lli", campaign, part->last, jobs - 1);
    if (rows != NULL)
        store_part_move(part, PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : "");
    return rows != NULL;
}

/* Makes a result of a job's row, without a config. Its problem is empty if the row is damaged. */
static struct result *read_job(const json_t *object)
{
    struct result *result = g_new0(struct result, 1);
    g_autoptr(GError) error = NULL;
    problem_init(&result->problem);
    result->job = json_member_int(object, "job");
    result->problem_id = json_member_int(json_object_get(object, "problem"), "id");
    result->solver = json_member_text(object, "solver");
    result->algorithm = json_member_text(object, "algorithm");
    result->revision = (int)json_member_int(object, "revision");
    result->dynamic = json_member_bool(object, "dynamic");
    result->tunable = json_member_bool(object, "tunable");
    result->multiplicity = (int)json_member_int(object, "multiplicity");
    if (!problem_from_json(json_object_get(object, "problem"), &result->problem, &error))
        result->damage = g_strdup(error->message);
    return result;
}

/* Building sets a config aside that it refuses: such a config has no kernels. */
static bool is_built(const struct round *round, int i)
{
    return round->outcomes[i].failure == FAILURE_PENDING && round->kernel_keys[i][0] != '\0';
}

static void add_round(GPtrArray *list, const json_t *object, const struct round *round)
{
    for (int i = 0; i < round->config_count; i++) {
        char text[CONFIG_TEXT_MAX];
        if (!is_built(round, i))
            continue;
        struct result *result = read_job(object);
        result->rank = i;
        result->stack = g_strdup(round->stack);
        result->kept.config = round->configs[i];
        result->kept.config_text = g_strdup(perf_config_format(&round->configs[i], text));
        result->kept.kernel_keys = g_strdup(round->kernel_keys[i]);
        result->kept.outcome = round->outcomes[i];
        result->kept.is_default = round->number == 0 && i == 0;
        g_ptr_array_add(list, result);
    }
}

static void add_row(GPtrArray *list, const json_t *object)
{
    g_autoptr(GError) error = NULL;
    struct round *round = round_from_json(json_object_get(object, "round"), &error);
    if (round != NULL) {
        add_round(list, object, round);
        round_free(round);
        return;
    }
    struct result *damaged = read_job(object);
    if (damaged->damage == NULL)
        damaged->damage = g_strdup(error->message);
    damaged->kept.config_text = g_strdup("");
    damaged->kept.kernel_keys = g_strdup("");
    g_ptr_array_add(list, damaged);
}

GPtrArray *store_list_built(Store *store, int64_t campaign, const char *network, const char *tag,
                            const struct result_part *part, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT jsonb_build_object('problem', to_jsonb(p), 'round', to_jsonb(r), 'job', j.id,"
        " 'solver', s.name, 'algorithm', s.algorithm, 'revision', s.revision,"
        " 'dynamic', s.dynamic, 'tunable', s.tunable, 'multiplicity', j.multiplicity)"
        " FROM jobs j JOIN round_rows r ON r.campaign_id = $1 AND r.job_id = j.id"
        " JOIN problems p ON p.id = j.problem_id JOIN solvers s ON s.id = j.solver_id"
        " WHERE j.campaign_id = $1 AND j.id > $4 AND j.id <= $5"
        " AND ($2::text IS NULL OR j.problem_id IN (SELECT problems_of_network($1, $2)))"
        " AND ($3::text IS NULL OR j.problem_id IN (SELECT t.problem_id FROM problem_tags t"
        "                                           WHERE t.tag = $3))"
        " ORDER BY j.id, r.number",
        "lssll", campaign, network, tag, part->after, part->last);
    if (rows == NULL)
        return NULL;
    GPtrArray *list = g_ptr_array_new_with_free_func(free_result);
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        add_row(list, object);
    }
    return list;
}
