/* A solver without any valid config is still built and run, with its default config: solvers of
 * this test's own over a real kernel. */
#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_kinds.h"
#include "tests/support/kernels/conv_trial.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/temp_folder.h"

static struct solution_runner *runner;
static struct context context;

static bool never(const struct problem *p, const struct context *unused, const int32_t *values)
{
    (void)p;
    (void)unused;
    (void)values;
    return false;
}

static bool always(const struct problem *p, const struct context *unused, const char **reason)
{
    (void)p;
    (void)unused;
    (void)reason;
    return true;
}

static double any_worth(const struct problem *p, const struct context *unused)
{
    (void)p;
    (void)unused;
    return 1.0;
}

static void default_of_two(const struct problem *p, const struct context *unused,
                           struct perf_config *config)
{
    (void)p;
    (void)unused;
    *config = (struct perf_config){1, {2}};
}

static int last_value;

static bool solve_naively(const struct problem *p, const struct context *asked,
                          const struct perf_config *config, struct solution *solution,
                          GError **error)
{
    const struct perf_config none = {0};

    last_value = config->values[0];
    return solver_find("ConvDirectNaive")->solve(p, asked, &none, solution, error);
}

static const char *const sources[] = {"conv_direct_naive.cl", NULL};
static const struct space_param params[] = {{"TILE", 2, (const int32_t[]){4, 8}}};
static const struct space_constraint constraints[] = {{"never_holds", "a test", 1, never}};
static const struct space empty = {1, params, 1, constraints};
static const struct space open_space = {1, params, 0, NULL};

#define ROW                                                                                        \
    .provider = "test", .revision = 1, .algorithm = "Direct", .sources = sources,                  \
    .is_applicable = always, .estimate = any_worth, .default_config = default_of_two,              \
    .solve = solve_naively

static const struct solver without = {ROW, .name = "Without", .space = &empty};
static const struct solver doubly = {ROW, .name = "Doubly", .space = &empty, .spare = &empty};
static const struct solver spared = {ROW, .name = "Spared", .space = &empty, .spare = &open_space};

static void make_problem(struct problem *p)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(9);
    struct conv_cell cell;

    conv_cell_at(0, &cell);
    conv_kind_problem(random, 0, SIZES_ODD, &cell, 1e5, p);
}

static void run(const struct solver *solver, const struct perf_config *config, int expected_value)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    g_autoptr(GError) error = NULL;
    struct conv_trial trial;
    struct solution solution;
    struct problem p;

    make_problem(&p);
    conv_trial_init(&trial, &p, TRIAL_PACKED, random);
    g_assert_true(solver_solve(solver, &p, &context, config, &solution, &error));
    g_assert_no_error(error);
    g_assert_cmpint(last_value, ==, expected_value);
    conv_trial_run(&trial, runner, &solution);
    g_assert_cmpint(conv_trial_wrong(&trial, &solution.rounding, NULL), ==, 0);
    g_assert_cmpint(conv_trial_stray(&trial), ==, 0);
    conv_trial_clear(&trial);
}

/* Chooses a config as every caller does: drawn from the problem's space, or the default if the
 * space is empty. */
static void choose(const struct solver *solver, struct perf_config *config)
{
    struct problem p;
    uint64_t state = 4;

    make_problem(&p);
    if (!space_draw(solver_space(solver, &p, &context), &p, &context, &state, config))
        solver->default_config(&p, &context, config);
}

static void default_runs_where_no_config_is_valid(void)
{
    const struct solver *const solvers[] = {&without, &doubly};

    for (gsize i = 0; i < G_N_ELEMENTS(solvers); i++) {
        struct perf_config config;
        struct problem p;
        make_problem(&p);
        g_assert_cmpint(space_count(solver_space(solvers[i], &p, &context), &p, &context), ==, 0);
        choose(solvers[i], &config);
        run(solvers[i], &config, 2);
    }
}

static void spare_config_runs_where_the_primary_is_empty(void)
{
    struct perf_config config;

    choose(&spared, &config);
    g_assert_cmpint(config.values[0], >=, 4);
    run(&spared, &config, config.values[0]);
    spared.default_config(NULL, &context, &config);
    run(&spared, &config, 2);
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    int status;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    runner = solution_runner_new(temp_folder_path(folder, "pocl"));
    if (!runner) {
        g_print("1..0 # SKIP no such OpenCL device on this machine\n");
        return 0;
    }
    context_init(&context, solution_runner_target(runner));
    g_test_add_func("/solver_default/runs_where_no_config_is_valid",
                    default_runs_where_no_config_is_valid);
    g_test_add_func("/solver_default/gives_way_to_the_spare_space",
                    spare_config_runs_where_the_primary_is_empty);
    status = g_test_run();
    solution_runner_free(runner);
    return status;
}
