/* Problems with offsets beyond 2^31, too large to run: every solver is asked about them. It refuses
 * with a reason, or its solution is consistent: numbers fit their arguments' types, grids fit the
 * device, slices fit the workspace, and no product overflowed. */
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_kinds.h"
#include "tests/support/test_effort.h"

/* The targets after the third are for solvers whose kernels use instructions of certain GPUs
 * only. */
static const char *const target_ids[] = {"cpu-skylake-avx512_2", "gfx90a68",      "sm_90_132_80g",
                                         "gfx1100_48",           "sm_80_108_80g", "gfx94268"};
#define COMMON  3
#define TARGETS G_N_ELEMENTS(target_ids)

static struct target targets[TARGETS];
static struct context contexts[TARGETS];

static gsize target_count(const struct solver *solver)
{
    return solver->native ? TARGETS : COMMON;
}

/* ---- the question being asked, printed if an assertion in a solver ends the program ---- */

static char asking[PROBLEM_KEY_MAX + 128];

static void say_what_was_asked(int number)
{
    static const char words[] = "# aborted while asking ";
    ssize_t written = write(STDERR_FILENO, words, sizeof(words) - 1);

    written += write(STDERR_FILENO, asking, strlen(asking));
    written += write(STDERR_FILENO, "\n", 1);
    _exit(written > 0 ? 128 + number : 1);
}

static void ask(const struct solver *solver, const struct problem *p, const struct context *context)
{
    char key[PROBLEM_KEY_MAX];

    g_snprintf(asking, sizeof(asking), "%s for %s: %s", solver->name, context->target->id,
               problem_key(p, key));
}

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    g_test_message("%s: %s", asking, what);
    g_test_fail();
}

/* ---- checking a solution ---- */

/* Whether the launch's grid is possible: CUDA limits workgroups (more in x than in y and z), HIP
 * limits work-items; OpenCL on CPUs counts in 64 bits. */
static bool grid_fits(const struct target *target, const struct launch *launch)
{
    for (int i = 0; i < 3; i++) {
        int64_t items = launch->grid[i], groups = items / MAX(launch->block[i], 1);
        if (launch->block[i] <= 0 || items <= 0 || items % launch->block[i] != 0)
            return false;
        if (target->vendor == VENDOR_NVIDIA && groups > (i == 0 ? INT32_MAX : 65535))
            return false;
        if (target->vendor == VENDOR_AMD && items > UINT32_MAX)
            return false;
    }
    return true;
}

static void check_argument(const struct launch_arg *arg, uint64_t workspace_bytes)
{
    switch (arg->kind) {
    case ARG_INT32:
        expect(arg->value >= INT32_MIN && arg->value <= INT32_MAX, "a count is no 32-bit one");
        break;
    case ARG_WORKSPACE:
        expect(arg->value >= 0 && (uint64_t)arg->value < workspace_bytes,
               "a slice begins behind the workspace's end");
        expect(arg->value % WORKSPACE_ALIGNMENT == 0,
               "a slice begins where no part of a buffer may");
        break;
    case ARG_STRIDE: expect(arg->factor > 0, "a stride is taken no times, or was wrapped"); break;
    default: break;
    }
}

static void check_config(const struct solver *solver, const struct problem *p,
                         const struct context *context, const struct perf_config *config)
{
    static struct solution solution;
    g_autoptr(GError) error = NULL;

    expect(solver_solve(solver, p, context, config, &solution, &error),
           error ? error->message : "there is no solution");
    expect(solution.workspace_bytes <= solver_workspace_bytes(solver, p, context),
           "the solution takes more workspace than was said");
    expect(solution.workspace_bytes <= context->workspace_limit,
           "the solution takes more workspace than is allowed");
    expect(solution.flops >= 0 && isfinite(solution.flops), "operations are no number");
    for (int i = 0; i < solution.launch_count; i++) {
        const struct launch *launch = &solution.launches[i];
        expect(grid_fits(context->target, launch), "a grid does not fit the device");
        for (int a = 0; a < launch->arg_count; a++)
            check_argument(&launch->args[a], solution.workspace_bytes);
    }
}

/* Checks the default config and one drawn from the space; *state is space_draw()'s random state. */
static void check_configs(const struct solver *solver, const struct problem *p,
                          const struct context *context, uint64_t *state)
{
    const struct space *space = solver_space(solver, p, context);
    struct perf_config config;

    solver->default_config(p, context, &config);
    check_config(solver, p, context, &config);
    if (space && space_draw(space, p, context, state, &config))
        check_config(solver, p, context, &config);
}

/* Under a limit below its usual workspace, the solver uses less workspace or refuses. */
static void check_limit(const struct solver *solver, const struct problem *p,
                        const struct context *context, uint64_t limit, uint64_t *state)
{
    struct context limited = *context;

    limited.workspace_limit = limit;
    if (solver_applicable(solver, p, &limited, NULL))
        check_configs(solver, p, &limited, state);
}

/* Checks one problem; returns whether the solver serves it. */
static bool check_problem(const struct solver *solver, const struct problem *p,
                          const struct context *context, uint64_t *state)
{
    const char *reason = NULL;
    uint64_t bytes;

    ask(solver, p, context);
    if (!solver_applicable(solver, p, context, &reason)) {
        expect(reason && reason[0], "it does not serve this and gives no reason");
        return false;
    }
    bytes = solver_workspace_bytes(solver, p, context);
    expect(bytes <= INT64_MAX, "the workspace has 2^63 bytes or more");
    check_configs(solver, p, context, state);
    if (bytes > 0) {
        check_limit(solver, p, context, 0, state);
        check_limit(solver, p, context, bytes - 1, state);
    }
    return true;
}

/* ---- huge problems ---- */

/* The fields that the tests make huge. */
enum dimension {
    BATCH,
    CHANNELS,
    FILTERS,
    GROUPS,
    INPUT,
    FILTER = 7,
    PAD = 10,
    STRIDE = 13,
    DILATION = 16,
    DIMENSIONS = 19
};

static void set_dimension(struct problem *p, int dimension, int64_t value)
{
    int64_t *const sizes[] = {p->in, p->fil, p->pad, p->stride, p->dilation};

    switch (dimension) {
    case BATCH: p->n = value; break;
    case CHANNELS: p->c = p->groups * value; break;
    case FILTERS: p->k = p->groups * value; break;
    case GROUPS:
        p->c = p->c / p->groups * value;
        p->k = p->k / p->groups * value;
        p->groups = value;
        break;
    default: sizes[(dimension - INPUT) / AXIS_COUNT][(dimension - INPUT) % AXIS_COUNT] = value;
    }
}

static bool is_flat(const struct problem *p, int dimension)
{
    return p->spatial_dim == 2 && dimension >= INPUT && (dimension - INPUT) % AXIS_COUNT == AXIS_D;
}

/* Draws a small problem that the solver serves, which the caller then makes huge. */
static bool draw_small(const struct solver *solver, const struct context *context, GRand *random,
                       struct problem *p)
{
    for (int try = 0; try < 200; try++) {
        struct conv_cell cell;
        conv_cell_at(g_rand_int_range(random, 0, conv_cell_count()), &cell);
        conv_kind_problem(random, g_rand_int_range(random, 0, conv_kind_count()),
                          (enum conv_sizes)g_rand_int_range(random, 0, CONV_SIZES_COUNT), &cell,
                          1e5, p);
        if (solver_applicable(solver, p, context, NULL))
            return true;
    }
    return false;
}

/* For every solver and target, `count` times: draws a small problem and lets `grow` make it huge;
 * `i` counts on from another number each day. Problems that become invalid are left out. Returns
 * how many huge problems were served. */
static int for_all_huge(int count, void (*grow)(struct problem *p, int i, GRand *random))
{
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed());
    int first = (int)(test_seed() % 1000) * count;
    uint64_t state = test_seed();
    int served = 0;

    for (int s = 0; s < solver_table_count; s++) {
        for (gsize t = 0; t < target_count(solver_table[s]); t++) {
            for (int i = 0; i < count; i++) {
                struct problem p;
                if (!draw_small(solver_table[s], &contexts[t], random, &p))
                    break;
                grow(&p, first + i, random);
                problem_set_output(&p);
                if (problem_validate(&p, NULL))
                    served += check_problem(solver_table[s], &p, &contexts[t], &state);
            }
        }
    }
    return served;
}

static const int64_t edges[] = {INT32_MAX, INT32_MAX - 1, INT32_MAX - (1 << 20),
                                1 << 30,   (1 << 30) + 1, 1 << 28,
                                1 << 16,   (1 << 16) - 1};

/* Makes one field huge. Huge filters are rarer, since solvers that count filter positions need time
 * for them. */
static void grow_one(struct problem *p, int i, GRand *random)
{
    int dimension = i % DIMENSIONS;
    int64_t value = edges[i / DIMENSIONS % (int)G_N_ELEMENTS(edges)];

    (void)random;
    if (is_flat(p, dimension))
        dimension += AXIS_H;
    if (dimension >= FILTER && dimension < PAD && value > 1 << 20)
        value >>= 12;
    set_dimension(p, dimension, value);
}

static void each_dimension_may_be_huge(void)
{
    int count = DIMENSIONS * (int)G_N_ELEMENTS(edges);

    g_assert_cmpint(for_all_huge(test_effort(count), grow_one), >, 0);
}

static void a_filter_may_be_as_long_as_it_can(void)
{
    static const int64_t lengths[] = {INT32_MAX, INT32_MAX / 2, 1 << 26};

    for (int s = 0; s < solver_table_count; s++) {
        for (gsize i = 0; i < G_N_ELEMENTS(lengths); i++) {
            const char *reason = NULL;
            struct problem p;
            problem_init(&p);
            p.in[AXIS_W] = INT32_MAX;
            p.fil[AXIS_W] = lengths[i];
            problem_set_output(&p);
            g_assert_true(problem_validate(&p, NULL));
            ask(solver_table[s], &p, &contexts[0]);
            if (!solver_applicable(solver_table[s], &p, &contexts[0], &reason))
                expect(reason && reason[0], "it does not serve this and gives no reason");
        }
    }
}

/* With one output every stride is valid, and with a filter of one position every dilation: kernels
 * that compute with these in 32 bits must refuse huge ones. */
static void strides_and_dilations_are_bounded(void)
{
    static const char *const names[] = {"ConvCpuBlocked", "ConvCpuDirect", "ConvCpuGemm",
                                        "ConvDepthwise", "ConvIm2ColGemm"};
    static const struct {
        int in, fil, pad, stride, dilation;
        bool served;
    } cases[] = {{8, 1, 2, INT32_MAX, 1, false},         {8, 1, 0, 1, INT32_MAX, false},
                 {8, 1, 0, 65535, 65537, false},         {8, 3, 1, 1 << 21, 1, false},
                 {1 << 16, 3, 1, 1 << 10, 1 << 9, true}, {224, 7, 3, 2, 2, true}};

    for (gsize i = 0; i < G_N_ELEMENTS(names) * G_N_ELEMENTS(cases); i++) {
        const struct solver *solver = solver_find(names[i % G_N_ELEMENTS(names)]);
        gsize c = i / G_N_ELEMENTS(names);
        struct problem p;
        problem_init(&p);
        p.c = p.k = p.groups = 8;
        p.in[AXIS_H] = cases[c].in;
        p.fil[AXIS_H] = cases[c].fil;
        p.pad[AXIS_H] = cases[c].pad;
        p.stride[AXIS_H] = cases[c].stride;
        p.dilation[AXIS_H] = cases[c].dilation;
        problem_set_output(&p);
        g_assert_true(problem_validate(&p, NULL));
        ask(solver, &p, &contexts[0]);
        expect(solver_applicable(solver, &p, &contexts[0], NULL) == cases[c].served,
               cases[c].served ? "it does not serve this" : "it serves this");
    }
}

/* Split-K parts and groups are both in the grid's z dimension: where their product exceeds its
 * limit, sums are not split, and the solver still serves the problem. */
static void many_groups_leave_their_sums_whole(void)
{
    static const char *const names[] = {"ConvIm2ColGemm", "ConvWinograd"};
    static const int64_t groups[] = {28, 29, 63, 455, 456, 1024, 1488, 1820};

    for (gsize i = 0; i < G_N_ELEMENTS(names) * G_N_ELEMENTS(groups); i++) {
        const struct solver *solver = solver_find(names[i % G_N_ELEMENTS(names)]);
        struct perf_config config;
        struct space_walk walk;
        struct problem p;
        problem_init(&p);
        p.direction = DIRECTION_W;
        p.n = 64;
        p.c = p.k = p.groups = groups[i / G_N_ELEMENTS(names)];
        for (int a = AXIS_H; a < AXIS_COUNT; a++) {
            p.in[a] = 14;
            p.fil[a] = 3;
            p.pad[a] = 1;
        }
        problem_set_output(&p);
        ask(solver, &p, &contexts[1]);
        expect(solver_applicable(solver, &p, &contexts[1], NULL), "it does not serve this");
        space_walk_init(&walk, solver->space, &p, &contexts[1]);
        while (space_walk_next(&walk, &config))
            check_config(solver, &p, &contexts[1], &config);
    }
}

/* A problem with more rows than a grid has blocks of 8, and with more work-items than 32 bits
 * count. Every config is checked, since only low blocks reach these limits. */
static void many_channels_are_refused_or_fit(void)
{
    static const char *const keys[] = {
        "1-8-8-3x3-600000-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-F",
        "600000-8-8-1x1-1-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F",
        "1820-4-4-3x3-91000000-4-4-1-1x1-1x1-1x1-0-NCHW-FP32-F_g1820",
    };

    for (int s = 0; s < solver_table_count; s++) {
        gsize count = target_count(solver_table[s]);
        for (gsize i = 0; i < G_N_ELEMENTS(keys) * count * DIRECTION_COUNT; i++) {
            if (!test_is_case((int)i))
                continue;
            const struct context *context = &contexts[i % count];
            struct perf_config config;
            struct space_walk walk;
            struct problem p;
            g_assert_true(problem_key_parse(keys[i / count % G_N_ELEMENTS(keys)], &p, NULL));
            p.direction = (enum direction)(i / count / G_N_ELEMENTS(keys));
            ask(solver_table[s], &p, context);
            if (!solver_applicable(solver_table[s], &p, context, NULL) || !solver_table[s]->space)
                continue;
            space_walk_init(&walk, solver_table[s]->space, &p, context);
            while (space_walk_next(&walk, &config))
                check_config(solver_table[s], &p, context, &config);
        }
    }
}

/* Problems whose planes, strides, tiles or weights exceed the bits in which kernels count them, each
 * followed by one that fits (served). */
static void counts_of_kernels_are_bounded(void)
{
    static const struct {
        const char *solver, *key;
        bool served;
    } cases[] = {
        {"ConvWgmma1x1", "8-65536-65536-1x1-64-256-256-1-0x0-256x256-1x1-0-NCHW-FP16-F", false},
        {"ConvWgmma1x1", "8-256-256-1x1-64-65536-65536-1-0x0-256x256-1x1-0-NCHW-FP16-W", false},
        {"ConvWgmma1x1", "8-16384-16384-1x1-64-64-64-1-0x0-256x256-1x1-0-NCHW-FP16-F", true},
        {"ConvTma", "8-1-1-1x1-8-1-1-16777216-0x0-200x200-1x1-0-NHWC-NHWC-NHWC-FP16-B", false},
        {"ConvTma", "8-1-1-1x1-8-1-1-16777216-0x0-90x90-1x1-0-NHWC-NHWC-NHWC-FP16-B", true},
        {"ConvTma", "2048-1024-1024-1x1-8-1024-1024-256-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
         false},
        {"ConvTma", "2048-1024-1024-1x1-8-1024-1024-255-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F", true},
        {"ConvDepthwiseNhwc",
         "50000000-1-1-7x7-50000000-1-1-1-3x3-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_g50000000", false},
        {"ConvDepthwiseNhwc",
         "40000000-1-1-7x7-40000000-1-1-1-3x3-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_g40000000", true},
    };
    uint64_t state = 0;

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct solver *solver = solver_find(cases[i].solver);
        struct problem p;
        g_assert_true(problem_key_parse(cases[i].key, &p, NULL));
        expect(check_problem(solver, &p, &contexts[2], &state) == cases[i].served,
               cases[i].served ? "it does not serve this" : "it serves this");
    }
}

/* Grows two to four fields so that their product is about 2^30.5 to 2^34, in one case of four up to
 * 2^60: below and above what 32 bits count. */
static void grow_products(struct problem *p, int i, GRand *random)
{
    int count = 2 + i % 3;
    double bits = g_rand_double_range(random, 30.5, i % 4 == 0 ? 60 : 34);

    for (int j = 0; j < count; j++) {
        int dimension = g_rand_int_range(random, 0, j % 2 ? DIMENSIONS : FILTER);
        double share = j == count - 1 ? bits : g_rand_double_range(random, 0, MIN(bits, 30.9));
        int64_t value = (int64_t)exp2(MIN(share, 30.9)) + g_rand_int_range(random, 0, 3);
        bits -= share;
        if (is_flat(p, dimension))
            dimension += AXIS_H;
        set_dimension(p, dimension, dimension >= FILTER ? 1 + value % 4096 : value);
    }
}

static void products_may_be_huge(void)
{
    g_assert_cmpint(for_all_huge(test_effort(1500), grow_products), >, 0);
}

/* ---- no workspace was wrapped ---- */

/* Doubling one size of a problem never reduces the workspace, and at most quadruples it (where a
 * longer sum is split into more parts). A workspace that overflows at 32 or 64 bits shrinks at that
 * point: 2 W - 2^64 < W. */
static void check_growth(const struct solver *solver, struct problem *p,
                         const struct context *context, int dimension, int64_t value)
{
    double bytes[3];
    bool grows = true;

    for (int i = 0; i < 3; i++) {
        set_dimension(p, dimension, value << i);
        problem_set_output(p);
        if (!problem_validate(p, NULL) || !solver_applicable(solver, p, context, NULL))
            return;
        bytes[i] = (double)solver_workspace_bytes(solver, p, context);
        if (i > 0 && bytes[i - 1] > 0)
            grows = grows && bytes[i] >= 0.99 * bytes[i - 1] &&
                    bytes[i] <= 4.01 * bytes[i - 1] + (1 << 20);
    }
    if (grows)
        return;
    ask(solver, p, context);
    g_test_message("%s: as a size doubles twice the workspace goes from %.0f to %.0f to %.0f bytes",
                   asking, bytes[0], bytes[1], bytes[2]);
    g_test_fail();
}

static void workspaces_grow_with_their_problems(void)
{
    static const int dimensions[] = {BATCH, CHANNELS, FILTERS};
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed() + 1);

    for (int s = 0; s < solver_table_count; s++) {
        for (int i = 0; i < test_effort(3000) && solver_table[s]->workspace_bytes; i++) {
            const struct context *context = &contexts[(gsize)i % target_count(solver_table[s])];
            int dimension = dimensions[i / 3 % 3], bits = g_rand_int_range(random, 10, 28);
            struct problem p;
            if (!draw_small(solver_table[s], context, random, &p))
                break;
            if (i % 2)
                grow_products(&p, i, random);
            check_growth(solver_table[s], &p, context, dimension, (int64_t)1 << bits);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    signal(SIGABRT, say_what_was_asked);
    for (gsize t = 0; t < TARGETS; t++) {
        g_assert_true(target_parse(target_ids[t], &targets[t], NULL));
        context_init(&contexts[t], &targets[t]);
    }
    g_test_add_func("/huge_problems/each_dimension_is_refused_or_fits", each_dimension_may_be_huge);
    g_test_add_func("/huge_problems/long_filters_are_refused_or_fit",
                    a_filter_may_be_as_long_as_it_can);
    g_test_add_func("/huge_problems/strides_and_dilations_are_bounded",
                    strides_and_dilations_are_bounded);
    g_test_add_func("/huge_problems/many_groups_leave_their_sums_whole",
                    many_groups_leave_their_sums_whole);
    g_test_add_func("/huge_problems/many_channels_are_refused_or_fit",
                    many_channels_are_refused_or_fit);
    g_test_add_func("/huge_problems/counts_of_kernels_are_bounded", counts_of_kernels_are_bounded);
    g_test_add_func("/huge_problems/products_are_refused_or_fit", products_may_be_huge);
    g_test_add_func("/huge_problems/workspaces_grow_with_their_problems",
                    workspaces_grow_with_their_problems);
    return g_test_run();
}
