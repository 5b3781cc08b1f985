#include "export/release/export_plan.h"

#include "export/sjdb/sjdb_write.h"

#include <string.h>

#define LOSERS_AT_ONCE 500 /* jobs whose results one query reads again */

struct planner {
    const struct export_source *source;
    struct export_spool *spool;
    struct export_summary *summary;
    /* results of the part that is being read: job id -> GPtrArray of struct result * */
    GHashTable *jobs;
};

static bool refuse(struct planner *planner, const struct result *result, enum refusal why,
                   char *reason, GError **error)
{
    char key[PROBLEM_KEY_MAX] = "";
    const struct export_refusal refusal = {
        .why = why,
        .job = result->job,
        .problem = key,
        .solver = result->solver,
        .reason = reason,
    };
    if (result->problem_id != 0) {
        problem_key(&result->problem, key);
    }
    return refusals_add(&planner->summary->refused, &refusal, error);
}

static bool refuse_rival(void *data, const struct export_refusal *refusal, GError **error)
{
    struct planner *planner = data;
    return refusals_add(&planner->summary->refused, refusal, error);
}

/* ---- the results of a job ---- */

static GPtrArray *results_of_job(const struct planner *planner, int64_t job)
{
    return g_hash_table_lookup(planner->jobs, &job);
}

static void group_by_job(struct planner *planner, const GPtrArray *results)
{
    g_clear_pointer(&planner->jobs, g_hash_table_unref);
    planner->jobs =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
    for (guint i = 0; i < results->len; i++) {
        struct result *result = results->pdata[i];
        GPtrArray *group = results_of_job(planner, result->job);
        if (group == NULL) {
            group = g_ptr_array_new();
            g_hash_table_insert(planner->jobs, &result->job, group);
        }
        g_ptr_array_add(group, result);
    }
}

/* Returns the milliseconds that tuning saves: the time of the job's default config, or of its
 * slowest kept config if the default's time is unknown, less the time of the result. */
static double saved_ms(const GPtrArray *group, const struct result *result)
{
    double slowest = 0;
    for (guint i = 0; i < group->len; i++) {
        const struct result *other = group->pdata[i];
        const struct kept *kept = &other->kept;
        if (!other->verified) {
            continue;
        }
        if (kept->is_default) {
            slowest = kept->outcome.median_ms;
            break;
        }
        slowest = MAX(slowest, kept->outcome.median_ms);
    }
    return MAX(0, slowest - result->kept.outcome.median_ms);
}

static bool is_within_limits(const struct planner *planner, const struct result *result)
{
    const struct export_wish *wish = planner->source->wish;
    return (!wish->limits_workspace || result->kept.workspace_bytes <= wish->workspace_bytes) &&
           (!wish->dynamic_only || result->dynamic);
}

/* Returns the job's result that is judged: the one of lowest rank within the wish's limits. NULL if
 * none is within them. */
static const struct result *result_looked_at(const struct planner *planner, const GPtrArray *group)
{
    const struct result *first = NULL;
    for (guint i = 0; i < group->len; i++) {
        const struct result *other = group->pdata[i];
        if (is_within_limits(planner, other) && (first == NULL || other->rank < first->rank)) {
            first = other;
        }
    }
    return first;
}

/* ---- passing results through the gate ---- */

static bool add_passed(struct planner *planner, const struct candidate *candidate,
                       const GPtrArray *group, GError **error)
{
    const struct result *result = candidate->result;
    bool expressible = problem_has_perf_row(&result->problem);
    const struct spool_item item = {
        .candidate = candidate,
        .files = expressible ? SPOOL_MIOPEN | SPOOL_OWN : SPOOL_OWN,
        .weight = saved_ms(group, result) * result->multiplicity,
    };
    int64_t id = 0;
    return export_spool_add(planner->spool, planner->source->gate, &item, &id, error);
}

/* Notes a result of which a part was compared when it was verified. */
static void note_partial(struct planner *planner, const struct result *result)
{
    struct export_summary *summary = planner->summary;
    char key[PROBLEM_KEY_MAX];
    if (result->verified_share <= 0 || result->verified_share >= 1) {
        return;
    }
    if (summary->verified_in_part == NULL) {
        summary->verified_in_part = json_array();
    }
    json_array_append_new(summary->verified_in_part,
                          json_pack("{s:s, s:s, s:f}", "problem",
                                    problem_key(&result->problem, key), "solver", result->solver,
                                    "verified_share", result->verified_share));
}

/* Notes by how many runs a result was proved. */
static void note_proof(struct planner *planner, const struct result *result)
{
    struct export_summary *summary = planner->summary;
    char key[PROBLEM_KEY_MAX];
    summary->proved += result->proof_runs >= RESULT_PROOF_RUNS;
    summary->unproved += result->proof_runs == 0;
    if (result->proof_runs == 0 || result->proof_runs >= RESULT_PROOF_RUNS) {
        return;
    }
    if (summary->briefly_proved == NULL) {
        summary->briefly_proved = json_array();
    }
    json_array_append_new(summary->briefly_proved,
                          json_pack("{s:s, s:s, s:i, s:i}", "problem",
                                    problem_key(&result->problem, key), "solver", result->solver,
                                    "proof_runs", result->proof_runs, "proof_kinds",
                                    result->proof_kinds));
}

static bool gate_result(struct planner *planner, const struct result *result,
                        const GPtrArray *group, GError **error)
{
    enum refusal why = REFUSAL_DAMAGED;
    g_autofree char *reason = NULL;
    /* A damaged row, or one whose job is unknown, has no problem, so it cannot be counted. */
    if (result->damage == NULL && result->problem_id != 0 &&
        !problem_has_perf_row(&result->problem) &&
        !export_spool_add_unnamed(planner->spool, &result->problem, error)) {
        return false;
    }
    struct candidate *candidate = gate_pass(planner->source->gate, result, &why, &reason);
    bool done = candidate == NULL || add_passed(planner, candidate, group, error);
    if (candidate == NULL) {
        done = refuse(planner, result, why, reason, error);
    } else if (!planner->source->gate->built_only) {
        note_partial(planner, result);
        note_proof(planner, result);
    }
    candidate_free(candidate);
    return done;
}

/* Returns false for a config that the job has built in an earlier round, too. */
static bool is_first_of_config(const GPtrArray *group, const struct result *result)
{
    guint i = 0;
    while (group->pdata[i] != result &&
           strcmp(((const struct result *)group->pdata[i])->kept.config_text,
                  result->kept.config_text) != 0) {
        i++;
    }
    return group->pdata[i] == result;
}

/* Passes a part's results through the gate: of each job only the result of lowest rank within the
 * wish's limits. A job without any result within the limits is counted. All configs that a build-only
 * campaign built are judged. */
static bool gate_part(struct planner *planner, const GPtrArray *results, GError **error)
{
    group_by_job(planner, results);
    for (guint i = 0; i < results->len; i++) {
        const struct result *result = results->pdata[i];
        const GPtrArray *group = results_of_job(planner, result->job);
        if (planner->source->gate->built_only) {
            if (is_first_of_config(group, result) && !gate_result(planner, result, group, error)) {
                return false;
            }
            continue;
        }
        const struct result *first = result_looked_at(planner, group);
        planner->summary->beyond_limits += first == NULL && result->rank == 0;
        if (first == result && !gate_result(planner, result, group, error)) {
            return false;
        }
    }
    return true;
}

static bool gate_all(struct planner *planner, int64_t *count, GError **error)
{
    struct result_part part = RESULT_PART_BEGIN;
    *count = 0;
    while (part.last != INT64_MAX) {
        if (!planner->source->advance(planner->source, &part, error)) {
            return false;
        }
        g_autoptr(GPtrArray) results = planner->source->list(planner->source, &part, error);
        if (results == NULL || !gate_part(planner, results, error)) {
            return false;
        }
        *count += results->len;
    }
    return planner->source->still_there(planner->source, error);
}

/* ---- entries that get the params of another problem with the same perf-db row ---- */

/* Returns the job's result that was measured with these params; NULL if none was kept. */
static const struct result *measured_with(const GPtrArray *group, const char *params)
{
    for (guint i = 0; i < group->len; i++) {
        const struct result *other = group->pdata[i];
        if (other->verified && strcmp(other->kept.config_text, params) == 0) {
            return other;
        }
    }
    return NULL;
}

/* Adds the entry with the row's params for MIOpen's files. The .sjdb keeps the entry as it was
 * measured. *reason becomes a text if the name of one of its kernels belongs to another code
 * object; MIOpen's files then get no entry. */
static bool move(struct planner *planner, const struct spool_loser *loser,
                 const struct candidate *candidate, char **reason, GError **error)
{
    struct export_spool *spool = planner->spool;
    const struct spool_item item = {.candidate = candidate, .files = SPOOL_MIOPEN};
    int64_t id = 0;
    return export_spool_add(spool, planner->source->gate, &item, &id, error) &&
           code_names_bind(&spool->names, id, reason, error) &&
           (*reason == NULL || export_spool_set_files(spool, id, 0, error)) &&
           export_spool_set_files(spool, loser->id, SPOOL_OWN, error);
}

/* Returns true if the solver accepts the params for the result's problem; *workspace_bytes becomes
 * the workspace that they need. */
static bool are_valid(const struct planner *planner, const struct result *result,
                      const char *params, uint64_t *workspace_bytes, char **reason)
{
    struct perf_config config;
    g_autofree struct solution *solution = g_new0(struct solution, 1);
    const struct solver *solver = solver_find(result->solver);
    struct context context;
    g_autoptr(GError) error = NULL;
    if (solver_result_parse(solver, &result->problem, &planner->source->gate->target, params,
                            result->kept.workspace_bytes, &context, &config, &error) &&
        solver_solve(solver, &result->problem, &context, &config, solution, &error)) {
        *workspace_bytes = solution->workspace_bytes;
        return true;
    }
    *reason = g_strdup_printf("the params that its perf-db row holds for another problem are "
                              "not valid for it: %s",
                              error->message);
    return false;
}

/* Returns true if the entry would state the workspace that the row's params need, and this is
 * within the wish's limits. Otherwise *reason is set and the entry is refused, since a library
 * allocates what the entry states. */
static bool has_workspace(const struct planner *planner, const struct result *result,
                          const struct result *measured, uint64_t needed, char **reason)
{
    const struct result *stated = measured != NULL ? measured : result;
    if (stated->kept.workspace_bytes == needed && is_within_limits(planner, stated)) {
        return true;
    }
    *reason = g_strdup_printf("with the params that its perf-db row holds for another problem it "
                              "needs a workspace of %" G_GUINT64_FORMAT " bytes",
                              needed);
    return false;
}

/* Gives an entry the params that its perf-db row holds for another problem. The params must be
 * valid for the entry's problem. If the problem was measured with them, the entry states this
 * time. */
static bool give_way(struct planner *planner, const struct spool_loser *loser,
                     const struct result *result, const GPtrArray *group, GError **error)
{
    enum refusal why = REFUSAL_SHARED_ROW;
    g_autofree char *reason = NULL;
    const struct result *measured = measured_with(group, loser->params);
    uint64_t workspace_bytes = 0;
    bool done = true;
    if (strcmp(result->kept.config_text, loser->params) == 0) {
        return true;
    }
    if (are_valid(planner, result, loser->params, &workspace_bytes, &reason) &&
        has_workspace(planner, result, measured, workspace_bytes, &reason)) {
        if (measured == NULL) {
            return true;
        }
        struct candidate *candidate = gate_pass(planner->source->gate, measured, &why, &reason);
        if (candidate != NULL) {
            why = REFUSAL_KERNEL;
            done = move(planner, loser, candidate, &reason, error);
        }
        candidate_free(candidate);
    }
    if (done && reason != NULL) {
        done = refuse(planner, result, why, reason, error) &&
               export_spool_set_files(planner->spool, loser->id, SPOOL_OWN, error);
    }
    return done;
}

static bool changed(int64_t job, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "the results of job %" G_GINT64_FORMAT " changed meanwhile: export again", job);
    return false;
}

static bool give_way_all(struct planner *planner, const GPtrArray *losers, GError **error)
{
    g_autofree int64_t *jobs = g_new(int64_t, losers->len);
    for (guint i = 0; i < losers->len; i++) {
        jobs[i] = ((const struct spool_loser *)losers->pdata[i])->job;
    }
    const struct result_part part = {jobs[0] - 1, jobs[losers->len - 1], jobs, (int)losers->len};
    g_autoptr(GPtrArray) results = planner->source->list(planner->source, &part, error);
    if (results == NULL) {
        return false;
    }
    group_by_job(planner, results);
    for (guint i = 0; i < losers->len; i++) {
        const struct spool_loser *loser = losers->pdata[i];
        const GPtrArray *group = results_of_job(planner, loser->job);
        const struct result *result = group != NULL ? result_looked_at(planner, group) : NULL;
        if (result == NULL || strcmp(result->kept.config_text, loser->own_params) != 0) {
            return changed(loser->job, error);
        }
        if (!give_way(planner, loser, result, group, error)) {
            return false;
        }
    }
    return true;
}

static bool merge_rows(struct planner *planner, GError **error)
{
    g_autoptr(GPtrArray) losers =
        export_spool_list_losers(planner->spool, INT64_MIN, LOSERS_AT_ONCE, error);
    if (losers != NULL && losers->len > 0 && !export_spool_bind_names(planner->spool, error)) {
        return false;
    }
    while (losers != NULL && losers->len > 0) {
        planner->summary->merged += (int)losers->len;
        int64_t last = ((const struct spool_loser *)losers->pdata[losers->len - 1])->job;
        bool done = give_way_all(planner, losers, error);
        g_ptr_array_unref(losers);
        losers =
            done ? export_spool_list_losers(planner->spool, last, LOSERS_AT_ONCE, error) : NULL;
    }
    return losers != NULL;
}

/* ---- the whole plan ---- */

#define COUNT_KERNELS                                                                              \
    "SELECT count(*) FROM (SELECT 1 FROM codes c WHERE EXISTS"                                     \
    " (SELECT 1 FROM uses u JOIN candidates k ON k.id = u.owner"                                   \
    "  WHERE u.code = c.id AND k.files & 1) GROUP BY name, args)"

static bool count_unnamed(struct planner *planner, GError **error)
{
    struct export_summary *summary = planner->summary;
    bool counted = export_spool_count(planner->spool, "SELECT count(*) FROM unnamed", 0,
                                      &summary->inexpressible, error);
    for (int lack = LACK_NONE + 1; counted && lack < FIND_KEY_LACKS; lack++) {
        counted = export_spool_count(planner->spool, "SELECT count(*) FROM unnamed WHERE lack = ?",
                                     lack, &summary->lacks[lack], error);
    }
    return counted;
}

static bool count(struct planner *planner, GError **error)
{
    struct export_summary *summary = planner->summary;
    const struct {
        int *count;
        const char *sql;
    } counts[] = {
        {&summary->find_keys, "SELECT count(DISTINCT line) FROM candidates WHERE files & 1"},
        {&summary->find_entries, "SELECT coalesce(sum(min(n, ?)), 0) FROM (SELECT count(*) AS n"
                                 " FROM candidates WHERE files & 1 GROUP BY line)"},
        {&summary->perf_records, "SELECT count(*) FROM records"},
        {&summary->perf_configs, "SELECT count(*) FROM (SELECT 1 FROM records GROUP BY row)"},
        {&summary->kernels, COUNT_KERNELS},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        if (!export_spool_count(planner->spool, counts[i].sql, planner->source->wish->top,
                                counts[i].count, error)) {
            return false;
        }
    }
    return count_unnamed(planner, error);
}

/* Counts what a build-only campaign gives: the configs that passed the gate, their problems and kernels, and the
 * problems that MIOpen's keys cannot name, whose kernels are in the .sjdb alone. */
static bool count_built(struct planner *planner, GError **error)
{
    struct export_summary *summary = planner->summary;
    return export_spool_count(planner->spool, "SELECT count(*) FROM candidates", 0,
                              &summary->built_configs, error) &&
           export_spool_count(planner->spool, "SELECT count(DISTINCT line) FROM candidates", 0,
                              &summary->built_problems, error) &&
           export_spool_count(planner->spool, COUNT_KERNELS, 0, &summary->kernels, error) &&
           count_unnamed(planner, error);
}

static bool limit_built(struct planner *planner, GError **error)
{
    planner->summary->beyond_sjdb =
        export_spool_limit_own(planner->spool, SJDB_UNMEASURED_MAX, error);
    return planner->summary->beyond_sjdb != NULL;
}

/* MIOpen's files reserve kernel names first. An entry that only the .sjdb holds (MIOpen's keys
 * cannot name its problem) is refused if it needs a reserved name. */
bool export_plan_make(const struct export_source *source, struct export_spool *spool,
                      struct export_summary *summary, int64_t *results, GError **error)
{
    struct planner planner = {.source = source, .spool = spool, .summary = summary};
    bool measured = !source->gate->built_only;
    bool made = gate_all(&planner, results, error) && export_spool_sort(spool, error) &&
                export_spool_settle_names(spool, false, refuse_rival, &planner, error) &&
                (measured ? export_spool_choose_params(spool, error) && merge_rows(&planner, error)
                          : limit_built(&planner, error)) &&
                export_spool_settle_names(spool, true, refuse_rival, &planner, error) &&
                (measured ? count(&planner, error) : count_built(&planner, error));
    g_clear_pointer(&planner.jobs, g_hash_table_unref);
    return made;
}
