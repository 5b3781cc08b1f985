/* The framework's own behaviour, with solver rows made for this test. */
#include "solvers/framework/solver.h"

#include <string.h>

static struct target target;

static bool batch_is_small(const struct problem *p, const struct context *context,
                           const char **reason)
{
    (void)context;
    *reason = "needs a batch below 1000";
    return p->n < 1000;
}

static bool divides_channels(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    (void)context;
    return p->c % values[0] == 0;
}

static bool product_is_small(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    (void)p;
    (void)context;
    return values[0] * values[1] <= 16;
}

static const struct space_param primary_params[] = {
    {"TILE", 2, (const int32_t[]){4, 8}},
    {"UNROLL", 3, (const int32_t[]){1, 2, 4}},
};
static const struct space_constraint primary_constraints[] = {
    {"tile_divides_channels", "divisibility", 1, divides_channels},
    {"tile_fits_registers", "registers", 2, product_is_small},
};
static const struct space primary = {2, primary_params, 2, primary_constraints};
static const struct space_param spare_params[] = {{"TAIL", 2, (const int32_t[]){16, 32}}};
static const struct space spare = {1, spare_params, 0, NULL};

static uint64_t thousand_bytes(const struct problem *p, const struct context *context)
{
    (void)context;
    return (uint64_t)p->n * 1000;
}

static void usual_config(const struct problem *p, const struct context *context,
                         struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = (struct perf_config){2, {4, 1}};
}

static int solved; /* how often this row's solve function was called */

static bool solve_nothing(const struct problem *p, const struct context *context,
                          const struct perf_config *config, struct solution *solution,
                          GError **error)
{
    (void)p;
    (void)context;
    (void)config;
    (void)error;
    solution_add_launch(solution, "conv_direct_naive.cl", "nothing");
    solved++;
    return true;
}

static const char *const sources[] = {"conv_direct_naive.cl", NULL};

#define ROW                                                                                        \
    .provider = "test", .revision = 1, .algorithm = "Direct", .sources = sources,                  \
    .is_applicable = batch_is_small, .default_config = usual_config, .solve = solve_nothing

static const struct solver plain = {ROW, .name = "Plain"};
static const struct solver tuned = {ROW, .name = "Tuned", .space = &primary};
static const struct solver backed = {ROW, .name = "Backed", .space = &primary, .spare = &spare};
static const struct solver dynamic = {ROW, .name = "Dynamic", .dynamic = true};
static const struct solver partial = {ROW, .name = "Partial", .partial = true};
static const struct solver wobbling = {ROW, .name = "Wobbling", .nondeterministic = true};
static const struct solver fusing = {ROW, .name = "Fusing",
                                     .epilogues = EPILOGUE_DOES_BIAS | EPILOGUE_DOES_ACTIVATION};
static const struct solver reading = {ROW, .name = "Reading", .epilogues = EPILOGUE_DOES_RESIDUAL};
static const struct solver striding = {ROW, .name = "Striding", .any_strides = true};
static const struct solver pooling = {ROW, .name = "Pooling", .kind = OP_POOL};
static const struct solver working = {ROW, .name = "Working", .workspace_bytes = thousand_bytes};

static void with_channels(struct problem *p, int64_t c)
{
    problem_init(p);
    p->c = c;
}

static struct context no_limits(void)
{
    struct context context;

    context_init(&context, &target);
    return context;
}

static void refused(const struct solver *solver, const struct problem *p,
                    const struct context *context, const char *expected)
{
    g_autoptr(GError) error = NULL;
    const char *reason = NULL;
    struct perf_config config;
    struct solution solution;

    g_assert_false(solver_applicable(solver, p, context, &reason));
    g_assert_nonnull(reason);
    g_assert_nonnull(strstr(reason ? reason : "", expected));
    solver->default_config(p, context, &config);
    solved = 0;
    g_assert_false(solver_solve(solver, p, context, &config, &solution, &error));
    g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_NOT_APPLICABLE);
    g_assert_nonnull(strstr(error->message, solver->name));
    g_assert_nonnull(strstr(error->message, reason));
    g_assert_cmpint(solved, ==, 0);
}

/* ---- limits ---- */

static void only_dynamic_kernels_are_dynamic(void)
{
    struct context context = no_limits();
    struct problem p;

    with_channels(&p, 8);
    context.dynamic_only = true;
    g_assert_true(solver_applicable(&dynamic, &p, &context, NULL));
    refused(&plain, &p, &context, "compiles the shape");
    refused(&partial, &p, &context, "compiles the shape");
}

static void results_that_vary_are_refused_where_equal_ones_are_asked_for(void)
{
    struct context context = no_limits();
    struct problem p;

    with_channels(&p, 8);
    g_assert_true(solver_applicable(&wobbling, &p, &context, NULL));
    context.deterministic = true;
    refused(&wobbling, &p, &context, "differ from run to run");
    g_assert_true(solver_applicable(&plain, &p, &context, NULL));
}

static void workspace_may_reach_its_limit_and_not_pass_it(void)
{
    struct context context = no_limits();
    struct problem p;

    with_channels(&p, 8);
    p.n = 3;
    context.workspace_limit = 3000;
    g_assert_true(solver_applicable(&working, &p, &context, NULL));
    context.workspace_limit = 2999;
    refused(&working, &p, &context, "more workspace than the limit");
    context.workspace_limit = 0;
    refused(&working, &p, &context, "more workspace than the limit");
    g_assert_true(solver_applicable(&plain, &p, &context, NULL));
    g_assert_cmpuint(solver_workspace_bytes(&plain, &p, &context), ==, 0);
}

static void kinds_of_another_solver_are_refused(void)
{
    struct context context = no_limits();
    struct problem p;

    with_channels(&p, 8);
    refused(&pooling, &p, &context, "computes another operator");
    p.kind = OP_POOL;
    g_strlcpy(p.mode, "max", sizeof p.mode);
    p.k = p.c;
    g_assert_true(solver_applicable(&pooling, &p, &context, NULL));
    refused(&plain, &p, &context, "computes another operator");
}

static void epilogues_need_a_solver_that_does_each_step(void)
{
    static const struct {
        const struct solver *solver;
        const char *epilogue, *why; /* NULL: served */
    } cases[] = {
        {&plain, "", NULL},
        {&plain, "+relu", "without epilogue"},
        {&fusing, "", NULL},
        {&fusing, "+bias+relu", NULL},
        {&fusing, "+gelu", NULL},
        {&fusing, "+prelu", "cannot do a step"},
        {&fusing, "+bias+add(FP32,NCHW)", "cannot do a step"},
        {&reading, "+add(FP32,NCHW)", NULL},
        {&reading, "+add(FP16,NHWC)", "cannot do a step"},
        {&reading, "+add(FP32,NCHW)+relu", "cannot do a step"},
    };
    struct context context = no_limits();
    struct problem p;

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        with_channels(&p, 8);
        p.k = 4;
        p.in[AXIS_W] = p.out[AXIS_W] = 4;
        g_strlcpy(p.epilogue, cases[i].epilogue, sizeof p.epilogue);
        if (cases[i].why)
            refused(cases[i].solver, &p, &context, cases[i].why);
        else
            g_assert_true(solver_applicable(cases[i].solver, &p, &context, NULL));
    }
}

static void strided_tensors_need_a_solver_that_takes_strides(void)
{
    static const int64_t gaps[5] = {64, 8, 0, 1, 1};
    struct context context = no_limits();
    struct problem p;

    with_channels(&p, 8);
    p.n = 2;
    problem_set_strides(&p, TENSOR_X, gaps);
    g_assert_true(problem_is_strided(&p));
    refused(&plain, &p, &context, "needs packed tensors");
    g_assert_true(solver_applicable(&striding, &p, &context, NULL));
}

static void the_solver_s_own_reason_is_passed_on(void)
{
    struct context context = no_limits();
    struct problem p;

    with_channels(&p, 8);
    p.n = 1000;
    refused(&plain, &p, &context, "needs a batch below 1000");
}

/* ---- spaces ---- */

static void spare_space_is_used_only_where_the_primary_is_empty(void)
{
    struct context context = no_limits();
    struct problem whole, odd;

    with_channels(&whole, 8);
    with_channels(&odd, 7);
    g_assert_true(solver_space(&backed, &whole, &context) == &primary);
    g_assert_true(solver_space(&backed, &odd, &context) == &spare);
    g_assert_true(solver_space(&tuned, &odd, &context) == &primary);
    g_assert_cmpint(space_count(&primary, &odd, &context), ==, 0);
    g_assert_null(solver_space(&plain, &whole, &context));
}

static void configs_of_the_other_space_are_not_valid(void)
{
    const struct perf_config of_primary = {2, {8, 2}}, of_spare = {1, {16}}, usual = {2, {4, 1}};
    struct context context = no_limits();
    struct problem whole, odd;
    const char *why = NULL;

    with_channels(&whole, 8);
    with_channels(&odd, 7);
    g_assert_true(solver_config_valid(&backed, &whole, &context, &of_primary, NULL));
    g_assert_false(solver_config_valid(&backed, &whole, &context, &of_spare, &why));
    g_assert_cmpstr(why, ==, "number of values");
    g_assert_true(solver_config_valid(&backed, &odd, &context, &of_spare, NULL));
    g_assert_false(solver_config_valid(&backed, &odd, &context, &of_primary, NULL));
    /* the default config is valid whether the primary or the spare space is in force */
    g_assert_true(solver_config_valid(&backed, &odd, &context, &usual, NULL));
}

static void with_no_valid_config_only_the_default_is_solved(void)
{
    const struct perf_config usual = {2, {4, 1}}, other = {2, {8, 1}};
    struct context context = no_limits();
    g_autoptr(GError) error = NULL;
    struct solution solution;
    struct perf_config drawn;
    struct problem odd;
    uint64_t state = 1;

    with_channels(&odd, 7);
    g_assert_false(
        space_draw(solver_space(&tuned, &odd, &context), &odd, &context, &state, &drawn));
    g_assert_true(solver_solve(&tuned, &odd, &context, &usual, &solution, &error));
    g_assert_no_error(error);
    g_assert_false(solver_solve(&tuned, &odd, &context, &other, &solution, &error));
    g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG);
    g_assert_nonnull(strstr(error->message, "tile_divides_channels"));
}

/* A config's text from an older revision of the solver is refused in today's space, and never taken
 * for another config. */
static void a_stale_config_is_named_with_solver_and_reason(void)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"8", "8"},                     /* today's space has one parameter more */
        {"8,1,1", "goes on after"},     /* today's space has one parameter less */
        {"16,1", "TILE"},               /* the value was removed from the first parameter */
        {"8,8", "UNROLL"},              /* the value was removed from the second parameter */
        {"8,4", "tile_fits_registers"}, /* today's space has a constraint that forbids it */
        {"8,x", "whole numbers"},       /* another form */
        {"8;1", "whole numbers"},
        {"", "whole numbers"},
    };
    struct context context = no_limits();
    struct problem p;

    with_channels(&p, 8);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct perf_config config = {1, {77}};
        g_assert_false(solver_config_parse(&tuned, &p, &context, cases[i].text, &config, &error));
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG);
        g_assert_nonnull(strstr(error->message, "Tuned: "));
        g_assert_nonnull(strstr(error->message, cases[i].why));
        g_assert_cmpint(config.count, ==, 1); /* left as it was */
        g_assert_cmpint(config.values[0], ==, 77);
    }
}

/* Without problem and target only the parameters' values are checked: a config that no problem can
 * have is named. */
static void a_possible_config_has_values_that_parameters_take(void)
{
    static const struct {
        const struct solver *solver;
        const char *text, *why; /* NULL: the config is possible */
    } cases[] = {
        {&tuned, "8,4", NULL}, /* a constraint forbids it for some problems only */
        {&tuned, "4,1", NULL},
        {&tuned, "8", "Tuned: perf config '8' is not 2"},
        {&tuned, "8,1,1", "Tuned: perf config '8,1,1' goes on after"},
        {&tuned, "8,3", "Tuned: perf config '8,3' has a value that UNROLL does not take"},
        {&tuned, "", "Tuned: "},
        {&backed, "16", NULL}, /* a config of the spare space */
        {&backed, "8,2", NULL},
        {&backed, "17", "Backed: "},
        {&plain, "", NULL},
        {&plain, "1", "Plain: "},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        bool possible = solver_config_possible(cases[i].solver, cases[i].text, &error);
        g_assert_true(possible == !cases[i].why);
        if (!possible) {
            g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG);
            g_assert_nonnull(strstr(error->message, cases[i].why ? cases[i].why : ""));
        }
    }
}

static void configs_of_solvers_that_cannot_be_tuned_are_empty(void)
{
    struct context context = no_limits();
    g_autoptr(GError) error = NULL;
    struct perf_config config;
    struct problem p;

    with_channels(&p, 8);
    g_assert_false(solver_config_parse(&plain, &p, &context, "1", &config, &error));
    g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG);
    g_assert_nonnull(strstr(error->message, "Plain"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_assert_true(target_parse("gfx90a68", &target, NULL));
    g_test_add_func("/solver/limits/only_dynamic_kernels_are_dynamic",
                    only_dynamic_kernels_are_dynamic);
    g_test_add_func("/solver/limits/results_that_vary_are_refused_where_equal_ones_are_asked_for",
                    results_that_vary_are_refused_where_equal_ones_are_asked_for);
    g_test_add_func("/solver/limits/workspace_may_reach_its_limit_and_not_pass_it",
                    workspace_may_reach_its_limit_and_not_pass_it);
    g_test_add_func("/solver/forms/kinds_of_another_solver_are_refused",
                    kinds_of_another_solver_are_refused);
    g_test_add_func("/solver/forms/epilogues_need_a_solver_that_does_each_step",
                    epilogues_need_a_solver_that_does_each_step);
    g_test_add_func("/solver/forms/strided_tensors_need_a_solver_that_takes_strides",
                    strided_tensors_need_a_solver_that_takes_strides);
    g_test_add_func("/solver/limits/the_solvers_own_reason_is_passed_on",
                    the_solver_s_own_reason_is_passed_on);
    g_test_add_func("/solver/space/spare_is_used_only_where_the_primary_is_empty",
                    spare_space_is_used_only_where_the_primary_is_empty);
    g_test_add_func("/solver/space/configs_of_the_other_one_are_not_valid",
                    configs_of_the_other_space_are_not_valid);
    g_test_add_func("/solver/space/with_no_valid_config_only_the_default_is_solved",
                    with_no_valid_config_only_the_default_is_solved);
    g_test_add_func("/solver/config/a_stale_one_is_named_with_solver_and_reason",
                    a_stale_config_is_named_with_solver_and_reason);
    g_test_add_func("/solver/config/a_possible_one_has_values_that_parameters_take",
                    a_possible_config_has_values_that_parameters_take);
    g_test_add_func("/solver/config/of_a_solver_that_cannot_be_tuned_is_empty",
                    configs_of_solvers_that_cannot_be_tuned_are_empty);
    return g_test_run();
}
