#include "coordinator/plan/plan.h"

#include "schema/store/store_campaigns.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

/* Share of a problem's weight that the naive solver's job has as priority. It cannot win, so it
 * comes after every promising solver of a problem of the same weight. */
#define NAIVE_SHARE (PLAN_PROMISING_SHARE / 2)

void plan_add_problem(GArray *problems, const struct problem *problem, int multiplicity)
{
    struct plan_problem added = {*problem, multiplicity};
    g_array_append_val(problems, added);
}

void plan_merge_problems(GArray *problems)
{
    g_autoptr(GHashTable) kept = problem_table_new(NULL);
    for (guint i = 0; i < problems->len; i++) {
        const struct plan_problem *each = &g_array_index(problems, struct plan_problem, i);
        struct plan_problem *first = g_hash_table_lookup(kept, &each->problem);
        if (first) {
            first->multiplicity =
                (int)MIN((int64_t)first->multiplicity + each->multiplicity, G_MAXINT);
            continue;
        }
        first = &g_array_index(problems, struct plan_problem, g_hash_table_size(kept));
        *first = *each;
        g_hash_table_insert(kept, &first->problem, first);
    }
    g_array_set_size(problems, g_hash_table_size(kept));
}

int64_t plan_job_configs(const struct solver *solver, const struct problem *problem,
                         const struct context *context, int limit)
{
    const struct space *space = solver_space(solver, problem, context);
    if (!space)
        return 1;
    return MAX(space_count_up_to(space, problem, context, limit > 0 ? limit : PLAN_COUNTED_MAX), 1);
}

int64_t plan_expected_configs(const struct solver *solver, const struct problem *problem,
                              const struct context *context, int limit, int close_limit,
                              GHashTable *counted)
{
    bool may = close_limit > limit && limit > 0 && !g_hash_table_contains(counted, problem);
    int64_t configs = plan_job_configs(solver, problem, context, may ? close_limit : limit);
    if (may && configs > limit)
        g_hash_table_add(counted, (gpointer)problem);
    return configs;
}

int64_t plan_evaluations(int64_t configs, int round_configs)
{
    int64_t in_round = MAX(round_configs, 1);
    int64_t rounds = (MAX(configs, 1) + in_round - 1) / in_round;
    return configs + rounds - 1;
}

int64_t plan_configs_within(int64_t configs, int round_configs, double search_seconds,
                            double config_seconds)
{
    int64_t in_round = MAX(round_configs, 1);
    if (search_seconds <= 0 || config_seconds <= 0)
        return configs;
    /* Evaluations until the time is spent. A round has its new configs, and from the second on the default. */
    double evaluations = search_seconds / config_seconds;
    double rounds = ceil((evaluations + 1) / (double)(in_round + 1));
    if (rounds * (double)in_round >= (double)configs)
        return configs;
    return (int64_t)MAX(rounds, 1) * in_round;
}

int plan_round_configs(const struct solver *solver, const struct campaign *campaign)
{
    return solver_searches(solver, campaign->strategy) ? 1 : campaign->round_configs;
}

bool plan_is_naive(const struct solver *solver)
{
    return strcmp(solver->name, PLAN_NAIVE_SOLVER) == 0;
}

/* Returns the job's priority; jobs of higher priority are claimed first. share: the solver's estimated speed divided
 * by the best solver's, so 1 for the best and less for all others. */
static double job_priority(const struct solver *solver, const struct plan_problem *problem,
                           double share)
{
    double weight = problem_macs(&problem->problem) * problem->multiplicity;
    return weight * (plan_is_naive(solver) ? NAIVE_SHARE : MAX(share, PLAN_PROMISING_SHARE));
}

static struct job_plan make_job(const struct solver *solver, const struct plan_problem *problem,
                                double share)
{
    return (struct job_plan){
        .problem = problem->problem,
        .solver = solver->name,
        .revision = solver->revision,
        .hash = solver_hash(solver),
        .provider = solver->provider,
        .algorithm = solver->algorithm,
        .dynamic = solver->dynamic,
        .tunable = solver->space != NULL,
        .searches = solver->propose != NULL,
        .priority = job_priority(solver, problem, share),
        .multiplicity = problem->multiplicity,
    };
}

/* Returns the highest estimate among the requested solvers that apply to the problem; 0 if none
 * applies. */
static double best_estimate(const struct plan_request *request, const struct problem *problem,
                            const struct context *context)
{
    double best = 0;
    for (int s = 0; s < request->solver_count; s++) {
        const struct solver *solver = request->solvers[s];
        if (solver_applicable(solver, problem, context, NULL))
            best = MAX(best, solver->estimate(problem, context));
    }
    return best;
}

static void plan_problem_jobs(const struct plan_request *request,
                              const struct plan_problem *problem, GArray *jobs, struct plan *plan)
{
    struct context context;
    g_autoptr(GHashTable) counted = problem_table_new(NULL);
    context_init(&context, request->target);
    context_set_limits(&context, &request->limits);
    double best = best_estimate(request, &problem->problem, &context);
    for (int s = 0; s < request->solver_count; s++) {
        const struct solver *solver = request->solvers[s];
        if (!solver_applicable(solver, &problem->problem, &context, NULL))
            continue;
        double share = best > 0 ? solver->estimate(&problem->problem, &context) / best : 1;
        if (!request->unpromising_too && share < PLAN_PROMISING_SHARE && !plan_is_naive(solver)) {
            plan->left_out++;
            continue;
        }
        struct job_plan job = make_job(solver, problem, share);
        g_array_append_val(jobs, job);
        plan->configs +=
            plan_expected_configs(solver, &problem->problem, &context, request->configs_limit,
                                  request->close_configs, counted);
    }
}

struct plan *plan_new(const struct plan_request *request)
{
    struct plan *plan = g_new0(struct plan, 1);
    GArray *jobs = g_array_new(FALSE, FALSE, sizeof(struct job_plan));
    plan->uncovered = g_array_new(FALSE, FALSE, sizeof(struct plan_problem));
    for (guint i = 0; i < request->problems->len; i++) {
        struct plan_problem *problem = &g_array_index(request->problems, struct plan_problem, i);
        guint before = jobs->len;
        plan_problem_jobs(request, problem, jobs, plan);
        if (jobs->len == before)
            g_array_append_val(plan->uncovered, *problem);
    }
    plan->count = (int)jobs->len;
    plan->jobs = (struct job_plan *)(void *)g_array_free(jobs, FALSE);
    return plan;
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    g_free(plan->jobs);
    g_array_unref(plan->uncovered);
    g_free(plan);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the lines to the hash in sorted order, so that the identity does not depend on their
 * order. */
static void hash_lines(GChecksum *checksum, GPtrArray *lines)
{
    g_ptr_array_sort(lines, compare_lines);
    for (guint i = 0; i < lines->len; i++)
        g_checksum_update(checksum, g_ptr_array_index(lines, i), -1);
}

static void hash_problems(GChecksum *checksum, const GArray *problems)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < problems->len; i++) {
        const struct plan_problem *problem = &g_array_index(problems, struct plan_problem, i);
        char key[PROBLEM_KEY_MAX];
        problem_key(&problem->problem, key);
        g_ptr_array_add(lines, g_strdup_printf("problem %s %d\n", key, problem->multiplicity));
    }
    hash_lines(checksum, lines);
}

/* Adds the planned pairs of problem and solver. Estimates decide which jobs are planned, and may
 * change without a new revision of any solver, so solvers and problems alone would not identify the
 * plan. */
static void hash_jobs(GChecksum *checksum, const struct plan *plan)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < plan->count; i++) {
        char key[PROBLEM_KEY_MAX];
        problem_key(&plan->jobs[i].problem, key);
        g_ptr_array_add(lines, g_strdup_printf("job %s %s\n", key, plan->jobs[i].solver));
    }
    hash_lines(checksum, lines);
}

static void hash_solvers(GChecksum *checksum, const struct plan_request *request)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < request->solver_count; i++) {
        const struct solver *solver = request->solvers[i];
        g_ptr_array_add(lines, g_strdup_printf("solver %s %d %s\n", solver->name, solver->revision,
                                               solver_hash(solver)));
    }
    hash_lines(checksum, lines);
}

/* Adds the limits to the hash. A request without limits adds nothing, so campaigns made before
 * there were limits keep their identity. */
static void hash_limits(GChecksum *checksum, const struct context_limits *limits)
{
    g_autofree char *text =
        g_strdup_printf("limits %d %" G_GUINT64_FORMAT " %d %d %d\n", limits->limits_workspace,
                        limits->limits_workspace ? limits->workspace_bytes : 0,
                        limits->dynamic_only, limits->deterministic, limits->tunable_only);
    if (!context_limits_equal(limits, &(struct context_limits){0}))
        g_checksum_update(checksum, (const guchar *)text, -1);
}

/* Adds how many configs a close job may try. A request that lets all try the same adds nothing, as with limits. */
static void hash_close_configs(GChecksum *checksum, const struct plan_request *request)
{
    g_autofree char *text = g_strdup_printf("close configs %d\n", request->close_configs);
    if (request->close_configs > 0)
        g_checksum_update(checksum, (const guchar *)text, -1);
}

/* Adds the seconds and the gain that end a job's search. A request without them adds nothing, as with limits. */
static void hash_search_ends(GChecksum *checksum, const struct plan_request *request)
{
    char seconds[G_ASCII_DTOSTR_BUF_SIZE], gain[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *text =
        g_strdup_printf("search ends %s s %s %%\n",
                        g_ascii_dtostr(seconds, sizeof seconds, request->search_seconds),
                        g_ascii_dtostr(gain, sizeof gain, request->min_gain));
    if (request->search_seconds > 0 || request->min_gain > 0)
        g_checksum_update(checksum, (const guchar *)text, -1);
}

char *plan_identity(const struct plan_request *request, const struct plan *plan)
{
    GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA256);
    hash_problems(checksum, request->problems);
    hash_solvers(checksum, request);
    hash_jobs(checksum, plan);
    g_autofree char *rest =
        g_strdup_printf("target %s\nstack %s\nstrategy %s\nseed %" G_GINT64_FORMAT
                        "\nconfigs %d\nround %d\nbuild %d\n",
                        request->target->id, request->stack, request->strategy, request->seed,
                        request->configs_limit, request->round_configs, request->build_only);
    g_checksum_update(checksum, (const guchar *)rest, -1);
    hash_limits(checksum, &request->limits);
    hash_search_ends(checksum, request);
    hash_close_configs(checksum, request);
    char *identity = g_strdup(g_checksum_get_string(checksum));
    g_checksum_free(checksum);
    return identity;
}
