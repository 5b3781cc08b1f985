/* The operations and bytes that a solution states are the least that any kernel needs for the
 * problem. */
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

static const char strided_key[] = "256-56-56-1x1-512-28-28-1-0x0-2x2-1x1-0-NCHW-FP32-F";

static struct target cpu, gpu;

static void a_strided_1x1_reads_a_part_of_its_input(void)
{
    const struct solver *naive = solver_find("ConvDirectNaive");
    const struct perf_config none = {0};
    struct context context;
    struct problem p;
    struct solution solution;

    context_init(&context, &cpu);
    g_assert_true(problem_key_parse(strided_key, &p, NULL));
    g_assert_true(solver_solve(naive, &p, &context, &none, &solution, NULL));
    g_assert_cmpfloat(solution.read_bytes, ==, 4.0 * (256 * 28 * 28 + 512 * 256));
    g_assert_cmpfloat(solution.write_bytes, ==, 4.0 * 512 * 28 * 28);
    g_assert_cmpfloat(solution.flops, ==, 2.0 * 512 * 28 * 28 * 256);
}

/* The number of an axis's positions (of the output, filter or input, by role) that take part in any
 * product inside the input, counted one by one. */
static int64_t count_touched(const struct problem *p, int axis, enum tensor_role role)
{
    const int64_t *const sizes[TENSOR_COUNT] = {p->in, p->fil, p->out};
    g_autofree bool *is_touched = g_new0(bool, sizes[role][axis]);
    int64_t touched = 0;

    for (int64_t o = 0; o < p->out[axis]; o++) {
        for (int64_t f = 0; f < p->fil[axis]; f++) {
            int64_t in = o * p->stride[axis] + f * p->dilation[axis] - p->pad[axis];
            const int64_t at[TENSOR_COUNT] = {in, f, o};
            if (in >= 0 && in < p->in[axis])
                is_touched[at[role]] = true;
        }
    }
    for (int64_t i = 0; i < sizes[role][axis]; i++)
        touched += is_touched[i];
    return touched;
}

static double touched_bytes(const struct problem *p, enum tensor_role role)
{
    const double channels[TENSOR_COUNT] = {(double)(p->n * p->c), (double)(p->k * p->c / p->groups),
                                           (double)(p->n * p->k)};
    double bytes = channels[role] * data_type_bytes(p->type[role]);

    for (int a = 0; a < AXIS_COUNT; a++)
        bytes *= (double)count_touched(p, a, role);
    return bytes;
}

/* With padding wider than the filter, or strides past it, parts of all tensors take part in no
 * product: their bytes are not counted. */
static void elements_that_meet_only_padding_are_not_read(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    const struct perf_config none = {0};
    struct context context;

    context_init(&context, &cpu);
    for (int i = 0; i < 300; i++) {
        struct solution solution;
        struct problem p;
        double read = 0;
        problem_init(&p);
        p.direction = (enum direction)(i % DIRECTION_COUNT);
        for (int a = AXIS_H; a <= AXIS_W; a++) {
            p.in[a] = g_rand_int_range(random, 1, 10);
            p.fil[a] = g_rand_int_range(random, 1, 6);
            p.pad[a] = g_rand_int_range(random, 0, 8);
            p.stride[a] = g_rand_int_range(random, 1, 5);
            p.dilation[a] = g_rand_int_range(random, 1, 5);
        }
        problem_set_output(&p);
        for (int t = 0; t < TENSOR_COUNT; t++) {
            if ((enum tensor_role)t != problem_output_role(&p))
                read += touched_bytes(&p, (enum tensor_role)t);
        }
        g_assert_true(
            solver_solve(solver_find("ConvDirectNaive"), &p, &context, &none, &solution, NULL));
        g_assert_cmpfloat(solution.read_bytes, ==, read);
    }
}

/* Backward data on an image smaller than its padding: operations are counted for the image's own
 * positions. */
static void a_backward_product_counts_input_positions(void)
{
    const struct solver *solver = solver_find("ConvImplicitGemm");
    struct perf_config config;
    struct solution solution;
    struct context context;
    struct problem p;

    context_init(&context, &gpu);
    g_assert_true(
        problem_key_parse("256-7-7-7x7-256-13-13-64-6x6-1x1-1x1-0-NCHW-FP32-F", &p, NULL));
    p.direction = DIRECTION_B;
    solver->default_config(&p, &context, &config);
    g_assert_true(solver_solve(solver, &p, &context, &config, &solution, NULL));
    g_assert_cmpfloat(solution.flops, ==, 2.0 * 64 * 256 * 256 * 49 * 49);
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        p.in[a] = 28;
        p.stride[a] = 2;
        p.fil[a] = 3;
        p.pad[a] = 1;
    }
    problem_set_output(&p);
    solver->default_config(&p, &context, &config);
    g_assert_true(solver_solve(solver, &p, &context, &config, &solution, NULL));
    g_assert_cmpfloat(solution.flops, ==, 2.0 * 64 * 256 * 256 * 42 * 42);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    if (!target_parse("cpu-skylake-avx512_2", &cpu, NULL) ||
        !target_parse("sm_90_132_80g", &gpu, NULL))
        g_error("the targets' names are not read");
    g_test_add_func("/least_work/a_strided_1x1_reads_a_part_of_its_input",
                    a_strided_1x1_reads_a_part_of_its_input);
    g_test_add_func("/least_work/elements_that_meet_only_padding_are_not_read",
                    elements_that_meet_only_padding_are_not_read);
    g_test_add_func("/least_work/a_backward_product_counts_input_positions",
                    a_backward_product_counts_input_positions);
    return g_test_run();
}
