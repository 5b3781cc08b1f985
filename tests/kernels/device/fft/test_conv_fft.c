/* ConvFft through PoCL: large filters of every kind, and the size of its errors. */
#include <math.h>

#include "solvers/fft/conv_fft.h"
#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/test_effort.h"

static const struct context *contexts;
static struct solution_runner *runner;
static const struct solver *solver;

struct shape {
    int n, c, k, groups, in_h, in_w, fil_h, fil_w, pad_h, pad_w, stride_h, stride_w, dilation_h,
        dilation_w;
};

static const struct shape shapes[] = {
    {1, 3, 4, 1, 20, 23, 5, 5, 2, 2, 1, 1, 1, 1},
    {3, 5, 7, 1, 13, 31, 7, 7, 3, 3, 1, 1, 1, 1},
    {2, 6, 34, 1, 27, 19, 11, 11, 0, 5, 1, 1, 1, 1},
    {1, 4, 3, 1, 33, 60, 5, 20, 0, 19, 1, 1, 1, 1},
    {2, 2, 5, 1, 61, 17, 20, 5, 3, 0, 1, 1, 1, 1},
    {1, 3, 2, 1, 40, 50, 25, 30, 4, 29, 1, 1, 1, 1},
    {2, 9, 6, 3, 14, 15, 5, 5, 1, 4, 1, 1, 1, 1},   /* groups */
    {2, 7, 7, 7, 21, 11, 7, 5, 3, 2, 1, 1, 1, 1},   /* depthwise */
    {1, 1, 1, 1, 25, 30, 25, 30, 0, 0, 1, 1, 1, 1}, /* one output */
    {1, 2, 3, 1, 4, 4, 5, 5, 9, 12, 1, 1, 1, 1},    /* more padding than input */
    {1, 9, 5, 1, 2, 3, 5, 7, 0, 0, 1, 1, 1, 1},     /* the filter reaches past the input */
    {1, 3, 20, 1, 40, 37, 7, 7, 3, 3, 2, 2, 1, 1},  /* a first layer */
    {1, 2, 4, 1, 50, 61, 11, 11, 2, 2, 4, 4, 1, 1}, /* phases */
    {1, 1, 6, 1, 31, 80, 5, 20, 0, 0, 2, 3, 1, 1},
    {1, 3, 4, 1, 40, 33, 5, 5, 4, 4, 1, 1, 3, 2}, /* dilation */
    /* some phases of the stride hold no filter position */
    {1, 2, 3, 1, 44, 51, 5, 6, 5, 2, 4, 3, 2, 5},
    {1, 2, 3, 1, 44, 51, 2, 7, 5, 2, 9, 2, 2, 2},
    {1, 20, 3, 1, 9, 40, 1, 7, 0, 3, 1, 1, 1, 1},
};

static void make_problem(const struct shape *shape, struct problem *p)
{
    problem_init(p);
    p->n = shape->n;
    p->c = shape->c;
    p->k = shape->k;
    p->groups = shape->groups;
    p->in[AXIS_H] = shape->in_h;
    p->in[AXIS_W] = shape->in_w;
    p->fil[AXIS_H] = shape->fil_h;
    p->fil[AXIS_W] = shape->fil_w;
    p->pad[AXIS_H] = shape->pad_h;
    p->pad[AXIS_W] = shape->pad_w;
    p->stride[AXIS_H] = shape->stride_h;
    p->stride[AXIS_W] = shape->stride_w;
    p->dilation[AXIS_H] = shape->dilation_h;
    p->dilation[AXIS_W] = shape->dilation_w;
    problem_set_output(p);
}

static void check(const struct problem *p, const struct context *context,
                  const struct perf_config *config, enum trial_strides strides, GRand *random)
{
    struct conv_trial trial;

    g_assert_true(problem_validate(p, NULL));
    conv_trial_init(&trial, p, strides, random);
    conv_trial_check(&trial, runner, solver, context, config);
    conv_trial_clear(&trial);
}

/* Each shape on one of so many days. */
#define SHAPE_DAYS 3

static void defaults_are_right(gconstpointer data)
{
    const struct context *context = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(11);

    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++) {
        struct problem p;
        struct perf_config config;
        if (!test_is_turn((int)i, SHAPE_DAYS))
            continue;
        make_problem(&shapes[i], &p);
        solver->default_config(&p, context, &config);
        check(&p, context, &config, TRIAL_PACKED, random);
    }
}

/* Finds the first or the last config of the space with that transform size. */
static bool find_config(const struct problem *p, const struct context *context, int size, bool last,
                        struct perf_config *config)
{
    struct space_walk walk;
    struct perf_config next;
    bool is_found = false;

    space_walk_init(&walk, solver->space, p, context);
    while (space_walk_next(&walk, &next)) {
        if (next.values[FFT_SIZE] == size && (!is_found || last)) {
            *config = next;
            is_found = true;
        }
    }
    return is_found;
}

/* A problem with several tiles and blocks at every transform size. */
static const struct shape wide = {2, 5, 36, 1, 70, 75, 5, 5, 2, 2, 1, 1, 1, 1};

static void every_size_is_right(gconstpointer data)
{
    const struct context *context = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(13);
    struct problem p;

    make_problem(&wide, &p);
    /* Each size is compiled for this machine every day, for a GPU on one of three days. */
    for (int size = FFT_SIZE_MIN, turn = 0; size <= FFT_SIZE_MAX; size *= 2, turn++) {
        struct perf_config config;
        if (context != &contexts[CONTEXT_HOST] && !test_is_turn(turn, 3))
            continue;
        if (find_config(&p, context, size, context == &contexts[CONTEXT_NVIDIA], &config))
            check(&p, context, &config, TRIAL_SPREAD, random);
        else
            g_test_fail();
    }
}

/* ---- accuracy ---- */

/* Makes all data positive: sums are then as large as the sums of magnitudes, with which errors
 * grow. */
static void take_signs_away(struct conv_trial *trial)
{
    for (int t = TENSOR_X; t <= TENSOR_W; t++) {
        struct run_tensor *tensor = &trial->tensors[t];
        int64_t sizes[5], count = conv_plain_sizes(&trial->p, (enum tensor_role)t, sizes);
        for (int64_t i = 0; i < count; i++) {
            trial->plain[t][i] = fabs(trial->plain[t][i]);
            conv_store(&trial->p, (enum tensor_role)t, tensor->strides,
                       (char *)trial->before[t] + tensor->start, i, trial->plain[t][i]);
        }
    }
    conv_reference(&trial->p, trial->plain, trial->magnitude);
}

static double error_of(struct conv_trial *trial, int size)
{
    struct perf_config config;
    struct solution solution;

    g_assert_true(find_config(&trial->p, &contexts[CONTEXT_HOST], size, false, &config));
    g_assert_true(
        solver_solve(solver, &trial->p, &contexts[CONTEXT_HOST], &config, &solution, NULL));
    conv_trial_run(trial, runner, &solution);
    return conv_trial_largest_error(trial);
}

static void look_at_errors(const struct shape *shape, bool signs, GRand *random)
{
    struct problem p;
    struct conv_trial trial;
    double allowed;

    make_problem(shape, &p);
    conv_trial_init(&trial, &p, TRIAL_PACKED, random);
    if (!signs)
        take_signs_away(&trial);
    allowed = 16 * (1 + log2((double)trial.longest + 1));
    for (int size = FFT_SIZE_MIN; size <= FFT_SIZE_MAX; size *= 2) {
        double error = error_of(&trial, size);
        g_test_message("sums of %d, %s, size %d: off by %.2f units, %.0f times below the "
                       "tolerance of %.0f",
                       (int)trial.longest, signs ? "either sign" : "one sign", size, error,
                       allowed / error, allowed);
        g_assert_cmpfloat(error, >, 0);
        g_assert_cmpfloat(error, <, allowed / 4);
    }
    conv_trial_clear(&trial);
}

/* ConvFft's stated error limit (conv_fft.c) is a quarter of the worker's tolerance. */
static void errors_stay_below_the_stated_limit(void)
{
    static const struct shape lengths[] = {
        {1, 1, 2, 1, 40, 40, 1, 5, 0, 0, 1, 1, 1, 1},
        {1, 1, 2, 1, 40, 40, 11, 11, 0, 0, 1, 1, 1, 1},
        {1, 300, 2, 1, 33, 33, 11, 11, 0, 0, 1, 1, 1, 1},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(17);

    for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
        if (!test_is_turn((int)i, SHAPE_DAYS))
            continue;
        look_at_errors(&lengths[i], false, random);
        look_at_errors(&lengths[i], true, random);
    }
}

/* ---- refused and served problems ---- */

static void problems_that_suit_no_transform_are_refused(void)
{
    static const struct {
        struct shape shape;
        bool is_served;
    } rows[] = {
        {{1, 1, 1, 1, 20, 20, 5, 1, 0, 0, 1, 1, 1, 1}, true},
        {{1, 1, 1, 1, 20, 20, 4, 4, 0, 0, 1, 1, 1, 1}, false},
        {{1, 1, 1, 1, 200, 200, 49, 49, 0, 0, 1, 1, 1, 1}, true},
        {{1, 1, 1, 1, 200, 200, 50, 49, 0, 0, 1, 1, 1, 1}, false},
        /* 49 filter positions in each phase of the stride */
        {{1, 1, 1, 1, 200, 200, 98, 49, 0, 0, 2, 1, 1, 1}, true},
        /* one transform holds the whole output */
        {{1, 1, 1, 1, 64, 64, 64, 64, 0, 0, 1, 1, 1, 1}, true},
        {{1, 1, 1, 1, 66, 64, 64, 64, 0, 0, 1, 1, 1, 1}, false},
        {{1, 1, 1, 1, 20, 20, 5, 5, 0, 0, 1, 1, 4, 4}, true},
        /* outputs four apart are needed; there are three rows */
        {{1, 1, 1, 1, 19, 20, 5, 5, 0, 0, 1, 1, 4, 4}, false},
        {{1, 1, 1, 1, 1, 1, 5, 5, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1, 1}, false},
        {{1 << 18, 64, 64, 1, 20, 20, 5, 5, 0, 0, 1, 1, 1, 1}, true},
        {{1 << 18, 1 << 10, 64, 1, 20, 20, 5, 5, 0, 0, 1, 1, 1, 1}, false}, /* planes */
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *reason = NULL;
        struct problem p;
        make_problem(&rows[i].shape, &p);
        g_assert_true(problem_validate(&p, NULL));
        if (solver_applicable(solver, &p, &contexts[CONTEXT_AMD], &reason) != rows[i].is_served) {
            g_test_message("row %d: %s", (int)i, reason ? reason : "is served");
            g_test_fail();
        }
    }
}

static void large_filters_take_fewer_operations(void)
{
    static const struct {
        struct shape shape;
        double times; /* at least */
    } rows[] = {
        {{8, 64, 64, 1, 56, 56, 5, 5, 2, 2, 1, 1, 1, 1}, 3},
        {{8, 64, 64, 1, 56, 56, 11, 11, 5, 5, 1, 1, 1, 1}, 15},
        {{8, 64, 64, 1, 200, 200, 25, 30, 0, 0, 1, 1, 1, 1}, 80},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p;
        struct perf_config config;
        struct solution solution;
        make_problem(&rows[i].shape, &p);
        solver->default_config(&p, &contexts[CONTEXT_AMD], &config);
        g_assert_true(solver_solve(solver, &p, &contexts[CONTEXT_AMD], &config, &solution, NULL));
        g_assert_cmpfloat(2 * problem_macs(&p) / solution.flops, >, rows[i].times);
    }
}

static void add_tests(struct solution_runner *opened, const struct context *made)
{
    runner = opened;
    contexts = made;
    solver = solver_find("ConvFft");
    g_test_add_data_func("/conv_fft/defaults_are_right/here", &contexts[CONTEXT_HOST],
                         defaults_are_right);
    g_test_add_data_func("/conv_fft/defaults_are_right/for_amd", &contexts[CONTEXT_AMD],
                         defaults_are_right);
    g_test_add_data_func("/conv_fft/defaults_are_right/for_nvidia", &contexts[CONTEXT_NVIDIA],
                         defaults_are_right);
    g_test_add_data_func("/conv_fft/every_size_is_right/here", &contexts[CONTEXT_HOST],
                         every_size_is_right);
    g_test_add_data_func("/conv_fft/every_size_is_right/for_nvidia", &contexts[CONTEXT_NVIDIA],
                         every_size_is_right);
    g_test_add_func("/conv_fft/errors_stay_below_the_stated_limit",
                    errors_stay_below_the_stated_limit);
    g_test_add_func("/conv_fft/problems_that_suit_no_transform_are_refused",
                    problems_that_suit_no_transform_are_refused);
    g_test_add_func("/conv_fft/large_filters_take_fewer_operations",
                    large_filters_take_fewer_operations);
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
