/* ConvAsm1x1's assembly without a GPU: its metadata for every architecture and all corners of its
 * space, and its results, computed by interpreting the instructions. */
#include <math.h>
#include <string.h>

#include "kernels/kernel_source.h"
#include "kernels/objects/amd_object.h"
#include "kernels/program.h"
#include "kernels/toolchains/toolchain.h"
#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/kernels/gcn_sim.h"

static const struct solver *solver;

static void make_problem(struct problem *p, enum direction direction, int64_t n, int64_t c,
                         int64_t k, int64_t h, int64_t w)
{
    problem_init(p);
    p->direction = direction;
    p->n = n;
    p->c = c;
    p->k = k;
    p->in[AXIS_H] = h;
    p->in[AXIS_W] = w;
    problem_set_output(p);
    g_assert_true(problem_validate(p, NULL));
}

/* Whether a toolchain of this machine assembles for the target; otherwise skips the test. */
static bool assembles(const char *id, struct target *target, const struct toolchain **toolchain)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(target_parse(id, target, NULL));
    *toolchain = toolchain_find("clang");
    if ((*toolchain)->can_compile(target, &error))
        return true;
    g_test_skip(error->message);
    return false;
}

static bool solve(const struct problem *p, const struct target *target, const char *config,
                  struct solution *solution)
{
    struct context context;
    struct perf_config values;
    g_autoptr(GError) error = NULL;
    context_init(&context, target);
    bool ok = solver_config_parse(solver, p, &context, config, &values, &error) &&
              solver_solve(solver, p, &context, &values, solution, &error);
    g_assert_no_error(error);
    return ok;
}

static bool build(const struct toolchain *toolchain, const struct target *target,
                  const struct launch *launch, struct code_object *object)
{
    g_autoptr(GError) error = NULL;
    const struct program program = {launch->file, launch->options, launch->entry, NULL};
    bool built = program_build(toolchain, &program, target, object, &error);
    if (!built)
        g_test_message("%s: %s\n%s", launch->options, error->message,
                       object->log ? object->log : "");
    g_assert_true(built);
    return built;
}

/* ---- metadata of the code object ---- */

/* 56x56 images and 64 to 64 channels: every value of every parameter is valid. */
static void check_object(const struct toolchain *toolchain, const struct target *target,
                         enum direction direction, const char *config)
{
    struct solution solution;
    struct problem p;
    struct code_object object = {0};
    struct amd_object read;
    make_problem(&p, direction, 2, 64, 64, 56, 56);
    struct perf_config values;
    g_assert_true(perf_config_parse(config, 5, &values, NULL));
    /* READ_SIZE, CHUNKS, K_MULT, C_MULT, WAVES_C */
    int items = values.values[0] * values.values[1], sums = items * values.values[2];
    if (!solve(&p, target, config, &solution) ||
        !build(toolchain, target, &solution.launches[0], &object))
        return;
    g_assert_true(amd_object_read(object.code, "conv_asm_1x1", &read, NULL));
    g_assert_true(amd_object_suits(read.target, target));
    g_assert_cmpstr(object.log, ==, "");
    g_assert_cmpint(object.local_bytes, ==, (values.values[4] - 1) * sums * 256);
    g_assert_cmpint(object.registers, >=, sums + 2 * values.values[3] * items);
    g_assert_cmpint(object.registers, <=, 128);
    g_assert_cmpint(object.scalar_registers, <=, 102);
    g_assert_cmpint(object.scratch_bytes, ==, 0);
    g_assert_cmpint(object.spills, ==, 0);
    code_object_clear(&object);
}

static void test_it_assembles_for_each_architecture(void)
{
    static const char *const ids[] = {"gfx900_64", "gfx906_60", "gfx90878", "gfx90a68",
                                      "gfx942130"};
    static const char *const configs[] = {"1,1,1,1,1", "4,1,16,2,4", "2,4,4,4,2"};
    for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
        const struct toolchain *toolchain;
        struct target target;
        if (!assembles(ids[i], &target, &toolchain))
            return;
        for (size_t c = 0; c < G_N_ELEMENTS(configs); c++)
            check_object(toolchain, &target, (i + c) % 2 ? DIRECTION_B : DIRECTION_F, configs[c]);
    }
}

/* Configs at the corners of the space, including its first and last config. */
static void test_corners_of_its_space_assemble(void)
{
    const struct toolchain *toolchain;
    struct target target;
    struct context context;
    struct problem p;
    struct space_walk walk;
    struct perf_config config;
    char text[CONFIG_TEXT_MAX];
    if (!assembles("gfx90a68", &target, &toolchain))
        return;
    context_init(&context, &target);
    make_problem(&p, DIRECTION_F, 2, 64, 64, 56, 56);
    space_walk_init(&walk, solver_space(solver, &p, &context), &p, &context);
    for (int i = 0; space_walk_next(&walk, &config); i++)
        if (i % 29 == 0)
            check_object(toolchain, &target, i % 2 ? DIRECTION_B : DIRECTION_F,
                         perf_config_format(&config, text));
}

/* ---- results ---- */

/* A problem's tensors as the kernel gets them, and the expected result. */
struct tensors {
    float *data[TENSOR_COUNT];
    double *plain[TENSOR_COUNT];
    int64_t counts[TENSOR_COUNT];
};

static void tensors_init(struct tensors *tensors, const struct problem *p, GRand *random)
{
    int64_t sizes[5];
    for (int t = 0; t < TENSOR_COUNT; t++) {
        int64_t count = conv_plain_sizes(p, (enum tensor_role)t, sizes);
        tensors->counts[t] = count;
        tensors->data[t] = g_new(float, count);
        tensors->plain[t] = g_new(double, count);
        for (int64_t i = 0; i < count; i++) {
            tensors->data[t][i] = (float)g_rand_double_range(random, -1, 1);
            tensors->plain[t][i] = tensors->data[t][i];
        }
    }
}

static void tensors_clear(struct tensors *tensors)
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        g_free(tensors->data[t]);
        g_free(tensors->plain[t]);
    }
}

static void compare(const struct problem *p, struct tensors *tensors, const char *name)
{
    enum tensor_role role = problem_output_role(p);
    g_autofree double *magnitude = g_new(double, tensors->counts[role]);
    int64_t products = conv_reference(p, tensors->plain, magnitude);
    int64_t wrong = 0;
    for (int64_t i = 0; i < tensors->counts[role]; i++) {
        double error = fabs(tensors->data[role][i] - tensors->plain[role][i]);
        /* the output was NaN before, so an element that is not written is wrong too */
        wrong += !(error <= magnitude[i] * (double)(products + 1) * 0x1p-23);
    }
    if (wrong > 0)
        g_test_message("%s: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " are wrong", name, wrong,
                       tensors->counts[role]);
    g_assert_cmpint(wrong, ==, 0);
}

static char *interpret(const struct solution *solution, GBytes *code, const struct target *target,
                       const struct problem *p, struct tensors *tensors)
{
    const struct launch *launch = &solution->launches[0];
    void *arguments[3];
    struct gcn_launch wanted = {
        .arguments = arguments,
        .groups = {launch->grid[0] / launch->block[0], launch->grid[1]},
        .waves = launch->block[0] / 64,
        .local_bytes = 65536,
        .range_count = 4,
        .ranges = {{arguments, sizeof(arguments), false}},
    };
    g_assert_cmpint(launch->arg_count, ==, 3);
    for (int i = 0; i < launch->arg_count; i++) {
        enum tensor_role role = launch->args[i].tensor;
        arguments[i] = tensors->data[role];
        wanted.ranges[1 + i] =
            (struct gcn_range){tensors->data[role], (size_t)tensors->counts[role] * sizeof(float),
                               role == problem_output_role(p)};
    }
    return gcn_sim_run(code, launch->entry, target, &wanted);
}

static void check_run(const char *id, const struct problem *p, const char *config, GRand *random)
{
    const struct toolchain *toolchain;
    struct target target;
    struct solution solution;
    struct tensors tensors;
    struct code_object object = {0};
    enum tensor_role output = problem_output_role(p);
    g_autofree char *name = g_strdup_printf("%s %s %s", id, config, p->direction ? "B" : "F");
    if (!assembles(id, &target, &toolchain) || !solve(p, &target, config, &solution) ||
        !build(toolchain, &target, &solution.launches[0], &object))
        return;
    tensors_init(&tensors, p, random);
    for (int64_t i = 0; i < tensors.counts[output]; i++)
        tensors.data[output][i] = NAN;
    g_autofree char *wrong = interpret(&solution, object.code, &target, p, &tensors);
    if (wrong)
        g_test_message("%s: %s", name, wrong);
    g_assert_null(wrong);
    if (!wrong)
        compare(p, &tensors, name);
    tensors_clear(&tensors);
    code_object_clear(&object);
}

static void test_results_are_right(void)
{
    /* Images smaller than a chunk, an image of one position, and images that end within a wave; odd
     * and even numbers of steps, one, two and more. */
    static const struct {
        const char *id;
        enum direction direction;
        int64_t n, c, k, h, w;
        const char *config;
    } cases[] = {
        {"gfx90a68", DIRECTION_F, 1, 1, 1, 1, 1, "1,1,1,1,1"},
        {"gfx90a68", DIRECTION_F, 3, 4, 3, 7, 7, "1,1,1,1,1"},
        {"gfx90a68", DIRECTION_B, 3, 6, 5, 7, 7, "1,2,2,1,1"},
        {"gfx90a68", DIRECTION_F, 2, 16, 32, 6, 14, "4,1,16,2,4"},
        {"gfx942130", DIRECTION_B, 2, 16, 32, 6, 14, "4,1,16,2,4"},
        {"gfx942130", DIRECTION_F, 5, 24, 8, 1, 2, "2,1,4,8,1"},
        {"gfx90a68", DIRECTION_F, 70, 8, 4, 1, 1, "1,1,4,4,2"},
        {"gfx90a68", DIRECTION_B, 2, 8, 24, 9, 10, "2,4,4,4,2"},
        {"gfx908_64", DIRECTION_F, 2, 12, 16, 8, 8, "4,2,2,4,1"},
        {"gfx906_60", DIRECTION_B, 1, 16, 10, 5, 20, "2,2,8,2,1"},
        {"gfx900_64", DIRECTION_F, 2, 40, 16, 5, 5, "1,4,8,4,2"},
        {"gfx900_64", DIRECTION_B, 1, 32, 64, 4, 4, "4,1,8,4,4"},
        {"gfx900_64", DIRECTION_F, 1, 20, 2, 3, 4, "4,1,1,1,4"},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)g_test_rand_int());
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct problem p;
        make_problem(&p, cases[i].direction, cases[i].n, cases[i].c, cases[i].k, cases[i].h,
                     cases[i].w);
        check_run(cases[i].id, &p, cases[i].config, random);
    }
}

/* The default and one drawn config, for problems of random sizes. */
static void test_drawn_problems_are_right(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)g_test_rand_int());
    for (int i = 0; i < 6; i++) {
        struct target target;
        struct context context;
        struct problem p;
        struct perf_config config;
        char text[CONFIG_TEXT_MAX];
        uint64_t state = g_rand_int(random);
        g_assert_true(target_parse("gfx90a68", &target, NULL));
        context_init(&context, &target);
        make_problem(&p, i % 2 ? DIRECTION_B : DIRECTION_F, g_rand_int_range(random, 1, 4),
                     8 * g_rand_int_range(random, 1, 6), 8 * g_rand_int_range(random, 1, 6),
                     g_rand_int_range(random, 1, 17), g_rand_int_range(random, 1, 17));
        if (i < 2)
            solver->default_config(&p, &context, &config);
        else
            g_assert_true(
                space_draw(solver_space(solver, &p, &context), &p, &context, &state, &config));
        check_run("gfx90a68", &p, perf_config_format(&config, text), random);
    }
}

/* Kernels with a planted mistake: the interpreter must report mistakes that need not change a
 * result. */
static void test_mistakes_are_found(void)
{
    static const struct {
        const char *from, *to, *words;
    } cases[] = {
        {"s_waitcnt vmcnt(C_MULT*CHUNKS)", "s_nop 0", "has not come yet"},
        {"s_waitcnt vmcnt(0) lgkmcnt(0)", "s_waitcnt vmcnt(0)", "has not come yet"},
        {"v_cndmask_b32 v[V_TEMP], 0, v[V_TEMP], vcc", "s_nop 0", "where nothing of it is"},
        {"s_cmp_lg_u32 s[S_LEFT], 0", "s_cmp_eq_u32 s[S_LEFT], s[S_LEFT]",
         "where nothing of it is"},
        {"v_sub_u32 ", "v_xor_b32 ", "is none that is known here"},
    };
    const struct toolchain *toolchain;
    const struct kernel_source *source = kernel_source_find("conv_asm_1x1.s", NULL);
    struct target target;
    struct solution solution;
    struct problem p;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    if (!assembles("gfx90a68", &target, &toolchain))
        return;
    make_problem(&p, DIRECTION_F, 1, 10, 2, 3, 5);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct tensors tensors;
        struct code_object object = {0};
        g_autoptr(GString) text = g_string_new(source->text);
        g_assert_cmpint(g_string_replace(text, cases[i].from, cases[i].to, 0), >, 0);
        g_assert_true(solve(&p, &target, "1,1,2,2,1", &solution));
        g_assert_true(toolchain->assemble(text->str, solution.launches[0].options, "conv_asm_1x1",
                                          &target, &object, NULL));
        tensors_init(&tensors, &p, random);
        g_autofree char *wrong = interpret(&solution, object.code, &target, &p, &tensors);
        if (!wrong || !strstr(wrong, cases[i].words))
            g_test_message("%s: %s", cases[i].from, wrong ? wrong : "nothing");
        g_assert_true(wrong && strstr(wrong, cases[i].words));
        tensors_clear(&tensors);
        code_object_clear(&object);
    }
}

/* ---- refused problems ---- */

static void test_other_problems_are_refused(void)
{
    static const struct {
        const char *target;
        enum direction direction;
        int64_t groups, stride, pad;
        enum data_type type;
    } cases[] = {
        {"gfx90a68", DIRECTION_W, 1, 1, 0, TYPE_FP32},
        {"gfx90a68", DIRECTION_F, 2, 1, 0, TYPE_FP32},
        {"gfx90a68", DIRECTION_F, 1, 2, 0, TYPE_FP32},
        {"gfx90a68", DIRECTION_F, 1, 1, 1, TYPE_FP32},
        {"gfx90a68", DIRECTION_F, 1, 1, 0, TYPE_FP16},
        {"gfx1030_36", DIRECTION_F, 1, 1, 0, TYPE_FP32},
        {"sm_90_132_80g", DIRECTION_F, 1, 1, 0, TYPE_FP32},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct target target;
        struct context context;
        struct problem p;
        const char *reason = NULL;
        g_assert_true(target_parse(cases[i].target, &target, NULL));
        context_init(&context, &target);
        make_problem(&p, cases[i].direction, 2, 8, 8, 8, 8);
        p.groups = cases[i].groups;
        for (int t = 0; t < TENSOR_COUNT; t++)
            p.type[t] = cases[i].type;
        for (int a = AXIS_H; a < AXIS_COUNT; a++) {
            p.stride[a] = cases[i].stride;
            p.pad[a] = cases[i].pad;
        }
        problem_set_output(&p);
        g_assert_false(solver_applicable(solver, &p, &context, &reason));
        g_assert_true(reason && g_str_has_prefix(reason, "needs "));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    solver = solver_find("ConvAsm1x1");
    g_test_add_func("/conv_asm_1x1/it_assembles_for_each_architecture",
                    test_it_assembles_for_each_architecture);
    g_test_add_func("/conv_asm_1x1/corners_of_its_space_assemble",
                    test_corners_of_its_space_assemble);
    g_test_add_func("/conv_asm_1x1/results_are_right", test_results_are_right);
    g_test_add_func("/conv_asm_1x1/drawn_problems_are_right", test_drawn_problems_are_right);
    g_test_add_func("/conv_asm_1x1/mistakes_are_found", test_mistakes_are_found);
    g_test_add_func("/conv_asm_1x1/other_problems_are_refused", test_other_problems_are_refused);
    return g_test_run();
}
