#include "tests/support/kernels/operator_family.h"

#include <string.h>

#include "solvers/problem/epilogue.h"
#include "tests/support/kernels/random_epilogue.h"
#include "tests/support/random_problem.h"
#include "tests/support/test_effort.h"

#define PROBLEMS      6
#define PROBLEMS_LONG 120
/* most random problems drawn to find one that the solver serves */
#define PROBLEM_TRIES 2000

static const struct solver *solver;
static struct solution_runner *runner;
static const struct context *contexts;

/* ---- problems ---- */

/* Gives the second tensor a layout of its own, and lets it repeat its elements along some axes. */
static void move_residual(GRand *random, struct problem *p)
{
    struct problem moved = *p;
    struct epilogue epilogue;
    int64_t strides[5];

    if (!problem_has_operand(p, TENSOR_RESIDUAL) || g_rand_boolean(random))
        return;
    g_assert_true(epilogue_parse(p->epilogue, &epilogue, NULL));
    for (int i = 0; i < epilogue.count; i++) {
        if (epilogue.steps[i].type != TYPE_NONE && epilogue.steps[i].op != EPILOGUE_REQUANT)
            epilogue.steps[i].layout = p->layout[TENSOR_X];
    }
    if (!epilogue_print(&epilogue, moved.epilogue))
        return;
    problem_packed_strides(&moved, TENSOR_RESIDUAL, strides);
    for (int i = 0; i < 5; i++) {
        if (g_rand_int_range(random, 0, 3) == 0)
            strides[i] = 0;
    }
    if (problem_layout_block(p->layout[TENSOR_X]) == 1)
        problem_set_strides(&moved, TENSOR_RESIDUAL, strides);
    if (problem_validate(&moved, NULL))
        *p = moved;
}

/* Makes the window the whole image. */
static void make_global(struct problem *p)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        p->fil[a] = p->in[a];
        p->pad[a] = 0;
        p->dilation[a] = 1;
    }
    problem_set_output(p);
}

void operator_random_problem(GRand *random, enum op_kind kind, bool epilogue, struct problem *p)
{
    const unsigned types =
        1u << TYPE_FP32 | 1u << TYPE_FP16 | 1u << TYPE_BF16 | 1u << TYPE_INT8 | 1u << TYPE_INT32;
    struct random_limits limits;

    random_limits_small(&limits);
    limits.kinds = 1u << kind;
    limits.types = types;
    limits.layouts = (1u << LAYOUT_COUNT) - 1;
    limits.max_channels = 40;
    limits.max_size = 20;
    limits.mixed_layouts = g_rand_int_range(random, 0, 3) == 0;
    limits.mixed_types = true;
    limits.strided = g_rand_int_range(random, 0, 3) == 0;
    if (g_rand_boolean(random))
        limits.layouts = 1u << LAYOUT_NCHW | 1u << LAYOUT_NHWC;
    random_problem(random, &limits, p);
    if (kind == OP_POOL && !problem_is_strided(p) && g_rand_int_range(random, 0, 4) == 0)
        make_global(p);
    if (!epilogue)
        return;
    random_epilogue(random, EPILOGUE_DOES_ALL, p);
    move_residual(random, p);
}

static bool find_problem(GRand *random, const struct context *context, int number,
                         struct problem *p)
{
    for (int try = 0; try < PROBLEM_TRIES; try++) {
        operator_random_problem(random, solver->kind, number % 2 == 1, p);
        if (problem_validate(p, NULL) && solver_applicable(solver, p, context, NULL))
            return true;
    }
    return false;
}

/* ---- tests ---- */

/* The first context that the solver serves anything in. */
static const struct context *home_of(GRand *random)
{
    struct problem p;

    for (int i = 0; i < CONTEXT_COUNT; i++) {
        if (find_problem(random, &contexts[i], 0, &p))
            return &contexts[i];
    }
    return NULL;
}

static void check_default(struct conv_trial *trial, const struct context *context)
{
    struct perf_config config;

    if (!solver_applicable(solver, &trial->p, context, NULL))
        return;
    solver->default_config(&trial->p, context, &config);
    conv_trial_check(trial, runner, solver, context, &config);
}

static void check_draw(struct conv_trial *trial, const struct context *context, uint64_t *state)
{
    struct perf_config config;
    const struct space *space;

    if (!solver_applicable(solver, &trial->p, context, NULL))
        return;
    space = solver_space(solver, &trial->p, context);
    if (!space)
        return;
    g_assert_true(space_draw(space, &trial->p, context, state, &config));
    conv_trial_check(trial, runner, solver, context, &config);
}

/* Packed problems of solvers that take strides at run time are given any strides. */
static enum trial_strides strides_of(const struct problem *p, int number)
{
    if (!solver->any_strides || problem_is_strided(p))
        return TRIAL_PACKED;
    return (enum trial_strides)(number % (TRIAL_SPREAD + 1));
}

static void random_problems_are_right(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed() + 17);
    const struct context *home = home_of(random);
    uint64_t state = test_seed();

    g_assert_nonnull(home);
    solution_runner_hurry(runner, true);
    for (int i = 0; i < (test_is_long() ? PROBLEMS_LONG : PROBLEMS); i++) {
        struct conv_trial trial;
        struct problem p;
        g_assert_true(find_problem(random, home, i, &p));
        conv_trial_init(&trial, &p, strides_of(&p, i), random);
        check_default(&trial, &contexts[i % 3 == 0 ? CONTEXT_HOST : CONTEXT_NVIDIA]);
        check_draw(&trial, &contexts[i % CONTEXT_COUNT], &state);
        conv_trial_clear(&trial);
    }
}

static void spaces_have_their_default_everywhere(void)
{
    static const char *const ids[] = {"cpu-athlon64_1", "cpu-haswell_2", "cpu-skylake-avx512_64",
                                      "gfx900_64",      "gfx1100_48",    "sm_90_132_80g"};
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed() + 18);

    for (gsize t = 0; solver->space && t < G_N_ELEMENTS(ids); t++) {
        struct target target;
        struct context context;
        struct problem p;
        g_assert_true(target_parse(ids[t], &target, NULL));
        context_init(&context, &target);
        for (int i = 0; i < 50 && find_problem(random, &context, i, &p); i++) {
            struct perf_config config;
            solver->default_config(&p, &context, &config);
            g_assert_true(
                space_contains(solver_space(solver, &p, &context), &p, &context, &config, NULL));
        }
    }
}

void operator_family_add(const struct solver *tested, struct solution_runner *on,
                         const struct context in[CONTEXT_COUNT])
{
    g_autofree char *right =
        g_strdup_printf("/conv_family/%s/random_problems_are_right", tested->name);
    g_autofree char *spaces =
        g_strdup_printf("/conv_family/%s/spaces_have_their_default_everywhere", tested->name);

    solver = tested;
    runner = on;
    contexts = in;
    g_test_add_func(right, random_problems_are_right);
    g_test_add_func(spaces, spaces_have_their_default_everywhere);
}
