#include "coordinator/plan/plan.h"

#include <string.h>

static struct problem square_problem(int64_t channels, int64_t size, int64_t filter)
{
    struct problem p;
    problem_init(&p);
    p.n = 1;
    p.c = p.k = channels;
    p.in[AXIS_H] = p.in[AXIS_W] = size;
    p.fil[AXIS_H] = p.fil[AXIS_W] = filter;
    p.pad[AXIS_H] = p.pad[AXIS_W] = filter / 2;
    problem_set_output(&p);
    g_assert_true(problem_validate(&p, NULL));
    return p;
}

struct fixture {
    struct target target;
    GArray *problems;
    struct plan_request request;
};

static void set_up(struct fixture *f, gconstpointer data)
{
    (void)data;
    g_assert_true(target_parse("cpu-znver4_2", &f->target, NULL));
    f->problems = g_array_new(FALSE, FALSE, sizeof(struct plan_problem));
    struct problem light = square_problem(16, 8, 1);
    struct problem heavy = square_problem(64, 28, 3);
    plan_add_problem(f->problems, &light, 1);
    plan_add_problem(f->problems, &heavy, 2);
    f->request = (struct plan_request){
        .target = &f->target,
        .stack = "",
        .strategy = "random",
        .configs_limit = 8,
        .round_configs = 4,
        .problems = f->problems,
        .solvers = solver_table,
        .solver_count = solver_table_count,
    };
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    (void)data;
    g_array_unref(f->problems);
}

static void equal_problems_add_up(struct fixture *f, gconstpointer data)
{
    (void)data;
    struct problem again = square_problem(64, 28, 3);
    struct problem last = square_problem(32, 8, 1);
    plan_add_problem(f->problems, &again, 3);
    plan_add_problem(f->problems, &last, 1);
    plan_merge_problems(f->problems);
    const struct plan_problem *merged = &g_array_index(f->problems, struct plan_problem, 0);
    g_assert_cmpuint(f->problems->len, ==, 3);
    g_assert_cmpint(merged[0].multiplicity, ==, 1);
    g_assert_true(problem_equal(&merged[1].problem, &again));
    g_assert_cmpint(merged[1].multiplicity, ==, 5);
    g_assert_true(problem_equal(&merged[2].problem, &last));
    plan_add_problem(f->problems, &again, G_MAXINT);
    plan_merge_problems(f->problems);
    g_assert_cmpuint(f->problems->len, ==, 3);
    g_assert_cmpint(g_array_index(f->problems, struct plan_problem, 1).multiplicity, ==, G_MAXINT);
}

static void a_job_for_each_solver_that_applies(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->request.unpromising_too = true;
    struct plan *plan = plan_new(&f->request);
    struct context context;
    context_init(&context, &f->target);
    int expected = 0;
    for (guint i = 0; i < f->problems->len; i++) {
        const struct problem *p = &g_array_index(f->problems, struct plan_problem, i).problem;
        for (int s = 0; s < solver_table_count; s++) {
            const char *reason = NULL;
            expected += solver_applicable(solver_table[s], p, &context, &reason);
        }
    }
    g_assert_cmpint(plan->count, ==, expected);
    g_assert_cmpint(plan->count, >, 0);
    for (int i = 0; i < plan->count; i++) {
        const struct solver *solver = solver_find(plan->jobs[i].solver);
        g_assert_nonnull(solver);
        g_assert_cmpint(plan->jobs[i].revision, ==, solver->revision);
        g_assert_cmpstr(plan->jobs[i].hash, ==, solver_hash(solver));
        g_assert_cmpint(plan->jobs[i].tunable, ==, solver->space != NULL);
    }
    plan_free(plan);
}

static const struct job_plan *find_job(const struct plan *plan, const struct problem *p,
                                       const char *solver)
{
    for (int i = 0; i < plan->count; i++) {
        if (problem_equal(&plan->jobs[i].problem, p) && strcmp(plan->jobs[i].solver, solver) == 0)
            return &plan->jobs[i];
    }
    return NULL;
}

static void heavy_layers_go_first_and_naive_last(struct fixture *f, gconstpointer data)
{
    (void)data;
    struct plan *plan = plan_new(&f->request);
    const struct problem *light = &g_array_index(f->problems, struct plan_problem, 0).problem;
    const struct problem *heavy = &g_array_index(f->problems, struct plan_problem, 1).problem;
    const struct job_plan *naive = find_job(plan, heavy, PLAN_NAIVE_SOLVER);
    const struct job_plan *naive_light = find_job(plan, light, PLAN_NAIVE_SOLVER);
    g_assert_true(naive && naive_light);
    g_assert_cmpfloat(naive->priority, >, naive_light->priority);
    for (int i = 0; i < plan->count; i++) {
        const struct job_plan *job = &plan->jobs[i];
        if (problem_equal(&job->problem, heavy) && job != naive)
            g_assert_cmpfloat(job->priority, >, naive->priority);
    }
    plan_free(plan);
}

/* ---- solvers whose estimate is low ---- */

static double estimate_16(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 16;
}
static double estimate_8(const struct problem *p, const struct context *context)
{
    return estimate_16(p, context) / 2;
}
static double estimate_4(const struct problem *p, const struct context *context)
{
    return estimate_16(p, context) / 4;
}
#define ESTIMATE_TOO_LOW 3.99
static double estimate_of_last = ESTIMATE_TOO_LOW;
static double estimate_last(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return estimate_of_last;
}

/* Returns a copy of the naive solver, which serves every problem, with another name and
 * estimate. */
static struct solver row_like(const char *name,
                              double (*estimate)(const struct problem *, const struct context *))
{
    struct solver row = *solver_find(PLAN_NAIVE_SOLVER);
    row.name = name;
    row.estimate = estimate;
    return row;
}

/* Plans the first problem for the naive solver and four others, with and without solvers of low
 * estimates. */
static struct plan *plan_estimates(struct fixture *f, bool unpromising_too)
{
    static struct solver rows[4];
    static const struct solver *table[5];
    rows[0] = row_like("Last", estimate_last);
    rows[1] = row_like("Limit", estimate_4);
    rows[2] = row_like("Best", estimate_16);
    rows[3] = row_like("Good", estimate_8);
    table[0] = solver_find(PLAN_NAIVE_SOLVER);
    for (int i = 0; i < 4; i++)
        table[i + 1] = &rows[i];
    f->request.solvers = table;
    f->request.solver_count = 5;
    f->request.unpromising_too = unpromising_too;
    g_array_set_size(f->problems, 1);
    return plan_new(&f->request);
}

static void solvers_far_below_the_best_are_left_out(struct fixture *f, gconstpointer data)
{
    (void)data;
    struct plan *plan = plan_estimates(f, false);
    const struct problem *p = &g_array_index(f->problems, struct plan_problem, 0).problem;
    g_assert_cmpint(plan->count, ==, 4);
    g_assert_cmpint(plan->left_out, ==, 1);
    g_assert_null(find_job(plan, p, "Last"));
    g_assert_nonnull(find_job(plan, p, PLAN_NAIVE_SOLVER));
    g_assert_cmpuint(plan->uncovered->len, ==, 0);
    plan_free(plan);
    plan = plan_estimates(f, true);
    g_assert_cmpint(plan->count, ==, 5);
    g_assert_cmpint(plan->left_out, ==, 0);
    plan_free(plan);
}

static void better_estimates_go_first(struct fixture *f, gconstpointer data)
{
    static const char *const order[] = {"Best", "Good", "Limit", PLAN_NAIVE_SOLVER};
    (void)data;
    struct plan *plan = plan_estimates(f, false);
    const struct problem *p = &g_array_index(f->problems, struct plan_problem, 0).problem;
    g_assert_cmpfloat(find_job(plan, p, order[0])->priority, ==, problem_macs(p));
    for (gsize i = 1; i < G_N_ELEMENTS(order); i++)
        g_assert_cmpfloat(find_job(plan, p, order[i])->priority, <,
                          find_job(plan, p, order[i - 1])->priority);
    plan_free(plan);
}

static void configs_are_capped_by_the_limit(struct fixture *f, gconstpointer data)
{
    (void)data;
    struct plan *plan = plan_new(&f->request);
    g_assert_cmpint(plan->configs, >=, plan->count);
    g_assert_cmpint(plan->configs, <=, (int64_t)plan->count * f->request.configs_limit);
    f->request.close_configs = 3 * f->request.configs_limit;
    struct plan *close = plan_new(&f->request); /* one job of each problem counts so many */
    g_assert_cmpint(close->configs, >, plan->configs);
    g_assert_cmpint(close->configs, <=,
                    plan->configs + 2 * f->request.configs_limit * (int64_t)f->problems->len);
    plan_free(close);
    f->request.configs_limit = 0;
    struct plan *whole = plan_new(&f->request);
    g_assert_cmpint(whole->configs, >=, plan->configs);
    plan_free(whole);
    plan_free(plan);
}

/* ---- limits ---- */

/* The planner asks solvers under the campaign's limits, as workers do: no job is planned that the
 * solver would refuse for a limit. */
static void limits_choose_the_solvers(struct fixture *f, gconstpointer data)
{
    static const struct context_limits cases[] = {
        {.limits_workspace = true, .workspace_bytes = 0},
        {.dynamic_only = true},
        {.tunable_only = true},
        {.limits_workspace = true,
         .workspace_bytes = 1 << 16,
         .dynamic_only = true,
         .tunable_only = true},
    };
    (void)data;
    f->request.unpromising_too = true;
    struct plan *all = plan_new(&f->request);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct context context;
        f->request.limits = cases[i];
        context_init(&context, &f->target);
        context_set_limits(&context, &cases[i]);
        struct plan *plan = plan_new(&f->request);
        g_assert_cmpint(plan->count, >, 0);
        g_assert_cmpint(plan->count, <, all->count);
        for (int j = 0; j < plan->count; j++) {
            const struct job_plan *job = &plan->jobs[j];
            const struct solver *solver = solver_find(job->solver);
            g_assert_true(solver_applicable(solver, &job->problem, &context, NULL));
            g_assert_true(solver->dynamic || !cases[i].dynamic_only);
            g_assert_true(solver->space || !cases[i].tunable_only);
            if (cases[i].limits_workspace)
                g_assert_cmpuint(solver_workspace_bytes(solver, &job->problem, &context), <=,
                                 cases[i].workspace_bytes);
        }
        plan_free(plan);
    }
    plan_free(all);
}

static void sums_in_any_order_are_left_out_where_equal_results_are_asked_for(struct fixture *f,
                                                                             gconstpointer data)
{
    (void)data;
    struct solver atomic = row_like("Atomic", estimate_16);
    atomic.nondeterministic = true;
    const struct solver *const table[] = {solver_find(PLAN_NAIVE_SOLVER), &atomic};
    f->request.solvers = table;
    f->request.solver_count = 2;
    struct plan *both = plan_new(&f->request);
    g_assert_cmpint(both->count, ==, 4);
    f->request.limits.deterministic = true;
    struct plan *one = plan_new(&f->request);
    g_assert_cmpint(one->count, ==, 2);
    g_assert_null(find_job(one, &one->jobs[0].problem, "Atomic"));
    plan_free(both);
    plan_free(one);
}

/* A limit makes the space smaller, so fewer configs are counted for the job. */
static void configs_are_counted_under_the_limits(struct fixture *f, gconstpointer data)
{
    (void)data;
    struct problem weights = square_problem(64, 56, 3);
    const struct solver *solver = solver_find("ConvImplicitGemm");
    struct context context;
    weights.n = 16;
    /* weight gradients with long sums, which several workgroups share only with a workspace */
    weights.direction = DIRECTION_W;
    context_init(&context, &f->target);
    int64_t all = plan_job_configs(solver, &weights, &context, 0);
    context.workspace_limit = 0;
    g_assert_cmpint(plan_job_configs(solver, &weights, &context, 0), <, all);
}

static void what_no_solver_serves_is_named(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->request.solver_count = 0;
    struct plan *plan = plan_new(&f->request);
    g_assert_cmpint(plan->count, ==, 0);
    g_assert_cmpuint(plan->uncovered->len, ==, f->problems->len);
    plan_free(plan);
}

/* ---- identity ---- */

/* The request's identity: equal requests find the same campaign. Free with g_free(). */
static char *identity_of(const struct plan_request *request)
{
    struct plan *plan = plan_new(request);
    char *identity = plan_identity(request, plan);
    plan_free(plan);
    return identity;
}

static void order_does_not_change_the_identity(struct fixture *f, gconstpointer data)
{
    (void)data;
    g_autofree char *before = identity_of(&f->request);
    struct plan_problem first = g_array_index(f->problems, struct plan_problem, 0);
    g_array_remove_index(f->problems, 0);
    g_array_append_val(f->problems, first);
    g_autofree char *after = identity_of(&f->request);
    g_assert_cmpstr(before, ==, after);
}

/* A changed estimate does not change a solver's revision, so the identity of a request includes the
 * planned solvers. */
static void what_is_planned_is_the_identity(struct fixture *f, gconstpointer data)
{
    (void)data;
    plan_free(plan_estimates(f, false)); /* leaves one out */
    g_autofree char *some = identity_of(&f->request);
    f->request.unpromising_too = true;
    g_autofree char *all = identity_of(&f->request);
    estimate_of_last = 16;
    g_autofree char *all_promising = identity_of(&f->request);
    f->request.unpromising_too = false;
    g_autofree char *promising = identity_of(&f->request);
    estimate_of_last = ESTIMATE_TOO_LOW;
    g_assert_cmpstr(some, !=, all);
    g_assert_cmpstr(all, ==, all_promising);
    g_assert_cmpstr(all, ==, promising);
}

static void change_multiplicity(struct fixture *f)
{
    g_array_index(f->problems, struct plan_problem, 0).multiplicity++;
}
static void change_solvers(struct fixture *f)
{
    f->request.solver_count--;
}
static void change_target(struct fixture *f)
{
    g_assert_true(target_parse("cpu-znver4_4", &f->target, NULL));
}
static void change_stack(struct fixture *f)
{
    f->request.stack = "opencl pocl 3.1";
}
static void change_strategy(struct fixture *f)
{
    f->request.strategy = "exhaustive";
}
static void change_seed(struct fixture *f)
{
    f->request.seed++;
}
static void change_configs(struct fixture *f)
{
    f->request.configs_limit++;
}
static void change_close(struct fixture *f)
{
    f->request.close_configs = 96;
}
static void change_round(struct fixture *f)
{
    f->request.round_configs++;
}
static void change_build_only(struct fixture *f)
{
    f->request.build_only = true;
}
static void change_unpromising(struct fixture *f)
{
    f->request.unpromising_too = true;
}
static void change_workspace(struct fixture *f)
{
    f->request.limits.limits_workspace = true;
    f->request.limits.workspace_bytes = (uint64_t)1 << 40; /* so large that no solver is left out */
}
static void change_workspace_more(struct fixture *f)
{
    f->request.limits.workspace_bytes *= 2;
}
static void change_deterministic(struct fixture *f)
{
    f->request.limits.deterministic = true;
}
static void change_dynamic(struct fixture *f)
{
    f->request.limits.dynamic_only = true;
}
static void change_tunable(struct fixture *f)
{
    f->request.limits.tunable_only = true;
}

static void each_part_changes_the_identity(struct fixture *f, gconstpointer data)
{
    static void (*const changes[])(struct fixture *) = {
        change_multiplicity,   change_solvers,       change_target,      change_stack,
        change_strategy,       change_seed,          change_configs,     change_close,
        change_round,          change_build_only,    change_unpromising, change_workspace,
        change_workspace_more, change_deterministic, change_dynamic,     change_tunable,
    };
    (void)data;
    g_autofree char *last = identity_of(&f->request);
    g_assert_cmpuint(strlen(last), ==, 64);
    for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
        changes[i](f);
        char *next = identity_of(&f->request);
        g_assert_cmpstr(last, !=, next);
        g_free(last);
        last = next;
    }
}

#define ADD(path, function)                                                                        \
    g_test_add("/plan/" path, struct fixture, NULL, set_up, function, tear_down)

static void later_rounds_measure_the_default_again(void)
{
    static const struct {
        int64_t configs, expected;
    } cases[] = {{1, 1}, {4, 4}, {5, 6}, {8, 9}, {32, 39}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpint(plan_evaluations(cases[i].configs, 4), ==, cases[i].expected);
}

static int propose_nothing(const struct problem *p, const struct context *context,
                           const struct tried_config *tried, int tried_count, int wanted,
                           struct perf_config *configs)
{
    (void)p;
    (void)context;
    (void)tried;
    (void)tried_count;
    (void)wanted;
    (void)configs;
    return 0;
}

static void own_searches_may_take_a_round_for_each_config(void)
{
    char random[] = "random", exhaustive[] = "exhaustive";
    struct campaign campaign = {.strategy = random, .round_configs = 4};
    struct solver solver = *solver_find(PLAN_NAIVE_SOLVER);
    g_assert_cmpint(plan_round_configs(&solver, &campaign), ==, 4);
    solver.propose = propose_nothing;
    g_assert_cmpint(plan_round_configs(&solver, &campaign), ==, 1);
    campaign.strategy = exhaustive;
    g_assert_cmpint(plan_round_configs(&solver, &campaign), ==, 4);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    ADD("limits_choose_the_solvers", limits_choose_the_solvers);
    ADD("sums_in_any_order_are_left_out_where_equal_results_are_asked_for",
        sums_in_any_order_are_left_out_where_equal_results_are_asked_for);
    ADD("configs_are_counted_under_the_limits", configs_are_counted_under_the_limits);
    ADD("equal_problems_add_up", equal_problems_add_up);
    ADD("a_job_for_each_solver_that_applies", a_job_for_each_solver_that_applies);
    ADD("heavy_layers_go_first_and_naive_last", heavy_layers_go_first_and_naive_last);
    ADD("solvers_far_below_the_best_are_left_out", solvers_far_below_the_best_are_left_out);
    ADD("better_estimates_go_first", better_estimates_go_first);
    ADD("configs_are_capped_by_the_limit", configs_are_capped_by_the_limit);
    ADD("what_no_solver_serves_is_named", what_no_solver_serves_is_named);
    ADD("identity/order_does_not_change_it", order_does_not_change_the_identity);
    ADD("identity/what_is_planned_is_part_of_it", what_is_planned_is_the_identity);
    ADD("identity/each_part_changes_it", each_part_changes_the_identity);
    g_test_add_func("/plan/later_rounds_measure_the_default_again",
                    later_rounds_measure_the_default_again);
    g_test_add_func("/plan/own_searches_may_take_a_round_for_each_config",
                    own_searches_may_take_a_round_for_each_config);
    return g_test_run();
}
