/* Kernels written in C that do one thing wrong each, run and judged as a config is. */
#include "worker/verify/verify.h"

#include <math.h>
#include <string.h>

#include "tests/support/fake_device.h"
#include "worker/eval/workbench.h"
#include "worker/verify/random.h"
#include "worker/verify/tensor.h"

enum fault {
    FAULT_NONE,
    FAULT_ELEMENT,   /* one product is missing */
    FAULT_UNWRITTEN, /* one element */
    FAULT_NAN,
    FAULT_INFINITY,
    FAULT_BEHIND, /* writes one element past the output */
    FAULT_BEFORE,
    FAULT_WORKSPACE, /* writes past the workspace */
    FAULT_INPUT,     /* writes before x */
    FAULT_ALL_ROUND, /* writes before x, and past the output and the workspace */
    FAULT_SPOILS_X,  /* writes into x and gets the wrong result */
    FAULT_LEAVES_X,  /* writes into x when it has the right one */
    FAULT_LATE,      /* writes past the output where that was written before */
};

struct kernel {
    struct fake_device fake; /* first */
    struct problem problem;
    struct tensor tensors[TENSOR_COUNT];
    enum fault fault;
    int runs; /* with it */
};

static int64_t output_offset(const struct tensor *y, int64_t flat)
{
    struct tensor_walk walk;
    tensor_walk_init(&walk, y);
    while (flat-- > 0)
        tensor_walk_next(&walk);
    return walk.offset;
}

/* A 1x1 convolution with the dense inputs read back from device memory. */
static void compute(struct kernel *kernel, void *const *memory)
{
    const struct problem *p = &kernel->problem;
    g_autofree double *x = g_new(double, tensor_count(&kernel->tensors[TENSOR_X]));
    g_autofree double *w = g_new(double, tensor_count(&kernel->tensors[TENSOR_W]));
    g_autofree double *y = g_new0(double, tensor_count(&kernel->tensors[TENSOR_Y]));
    int64_t pixels = p->out[AXIS_H] * p->out[AXIS_W];
    tensor_to_dense(&kernel->tensors[TENSOR_X], memory[TENSOR_X], x);
    tensor_to_dense(&kernel->tensors[TENSOR_W], memory[TENSOR_W], w);
    for (int64_t k = 0; k < p->k; k++)
        for (int64_t o = 0; o < pixels; o++)
            for (int64_t c = 0; c < p->c; c++)
                if (kernel->fault != FAULT_ELEMENT || k != 1 || o != 5 || c != 3)
                    y[k * pixels + o] += x[c * pixels + o] * w[k * p->c + c];
    tensor_from_dense(&kernel->tensors[TENSOR_Y], y, memory[TENSOR_Y]);
}

static void spoil(struct kernel *kernel, void *const *memory)
{
    const struct tensor *t = &kernel->tensors[TENSOR_Y];
    enum data_type type = t->type;
    int64_t at = output_offset(t, 7);
    char *y = memory[TENSOR_Y], *workspace = memory[3];
    int bytes = data_type_bytes(type);
    switch (kernel->fault) {
    case FAULT_UNWRITTEN: memset(y + at * bytes, guarded_poison_of(type), (size_t)bytes); return;
    case FAULT_NAN: tensor_store(type, y, at, NAN); return;
    case FAULT_INFINITY: tensor_store(type, y, at, INFINITY); return;
    case FAULT_BEHIND: y[tensor_bytes(t)] = 1; return;
    case FAULT_BEFORE: y[-3] = 1; return;
    case FAULT_WORKSPACE: workspace[100] = 1; return;
    case FAULT_INPUT: ((char *)memory[TENSOR_X])[-1] = 1; return;
    case FAULT_ALL_ROUND:
        ((char *)memory[TENSOR_X])[-1] = y[tensor_bytes(t)] = workspace[100] = 1;
        return;
    case FAULT_LATE:
        if (kernel->runs > 1)
            y[tensor_bytes(t)] = 1;
        return;
    case FAULT_LEAVES_X:
        memset(memory[TENSOR_X], 0, (size_t)tensor_bytes(&kernel->tensors[TENSOR_X]));
        return;
    case FAULT_SPOILS_X:
        memset(memory[TENSOR_X], 0, (size_t)tensor_bytes(&kernel->tensors[TENSOR_X]));
        tensor_store(type, y, at, 1000);
        return;
    default: return;
    }
}

static void run_kernel(struct fake_device *fake, const struct device_launch *launch,
                       void *const *memory)
{
    struct kernel *kernel = (struct kernel *)fake;
    (void)launch;
    kernel->runs++;
    compute(kernel, memory);
    spoil(kernel, memory);
}

static void kernel_init(struct kernel *kernel, enum data_type in, enum data_type out)
{
    struct problem *p = &kernel->problem;
    fake_device_init(&kernel->fake);
    kernel->fake.run = run_kernel;
    problem_init(p);
    p->c = 9;
    p->k = 3;
    p->in[AXIS_H] = 4;
    p->in[AXIS_W] = 5;
    p->type[TENSOR_X] = p->type[TENSOR_W] = in;
    p->type[TENSOR_Y] = out;
    problem_set_output(p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        tensor_init(&kernel->tensors[t], p, (enum tensor_role)t);
    kernel->fault = FAULT_NONE;
}

static void prepare(struct kernel *kernel, struct workbench *bench, struct invocation *invocation)
{
    g_autoptr(GError) error = NULL;
    struct solution solution;
    struct device_program *program = (struct device_program *)kernel;
    struct device_memory *workspace;
    solution_init(&solution);
    struct launch *launch = solution_add_launch(&solution, "fake", "fake");
    for (int t = 0; t < TENSOR_COUNT; t++)
        launch_arg_tensor(launch, (enum tensor_role)t);
    launch_arg_workspace(launch, 0);
    solution.workspace_bytes = 100;
    workbench_open(bench, &kernel->fake.device, &kernel->problem, kernel->tensors, 3, NULL, &error);
    g_assert_no_error(error);
    workbench_workspace(bench, 100, &workspace, &error);
    invocation_prepare(invocation, &kernel->fake.device, &solution, &program, bench->tensors,
                       workspace, &error);
    g_assert_no_error(error);
}

static void judge(struct kernel *kernel, struct workbench *bench, struct invocation *invocation,
                  enum fault fault, struct verdict *verdict)
{
    g_autoptr(GError) error = NULL;
    kernel->fault = fault;
    kernel->runs = 0;
    g_assert_true(workbench_verify(bench, invocation, "Direct", verdict, &error));
    g_assert_no_error(error);
}

static const struct {
    enum fault fault;
    enum failure failure;
    const char *detail;
} faults[] = {
    {FAULT_NONE, FAILURE_NONE, ""},
    {FAULT_ELEMENT, FAILURE_WRONG_RESULT, "1 of 60 elements are wrong, the worst at (0,1,0,1,0)"},
    {FAULT_UNWRITTEN, FAILURE_WRONG_RESULT, "(0,0,0,1,2): nothing written"},
    {FAULT_NAN, FAILURE_WRONG_RESULT, "got nan"},
    {FAULT_INFINITY, FAILURE_WRONG_RESULT, "got inf"},
    {FAULT_BEHIND, FAILURE_OUT_OF_BOUNDS, "outside of y, at byte"},
    {FAULT_BEFORE, FAILURE_OUT_OF_BOUNDS, "outside of y, at byte -3"},
    {FAULT_WORKSPACE, FAILURE_OUT_OF_BOUNDS, "outside of the workspace, at byte 100 of its 100"},
    {FAULT_INPUT, FAILURE_OUT_OF_BOUNDS, "outside of x, at byte -1"},
    {FAULT_ALL_ROUND, FAILURE_OUT_OF_BOUNDS, "outside of x, at byte -1"},
    {FAULT_SPOILS_X, FAILURE_WRONG_RESULT, "got 1000"},
    {FAULT_LEAVES_X, FAILURE_NONE, ""},
};

/* Each fault, and after it the right kernel again: nobody pays for another's fault. */
static void judge_all(struct kernel *kernel)
{
    struct workbench bench;
    struct invocation invocation;
    struct verdict verdict;
    bool integers = kernel->problem.type[TENSOR_Y] == TYPE_INT32;
    prepare(kernel, &bench, &invocation);
    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++) {
        if (integers && (faults[i].fault == FAULT_NAN || faults[i].fault == FAULT_INFINITY))
            continue;
        judge(kernel, &bench, &invocation, faults[i].fault, &verdict);
        g_assert_cmpstr(failure_name(verdict.failure), ==, failure_name(faults[i].failure));
        g_assert_nonnull(strstr(verdict.detail, faults[i].detail));
        judge(kernel, &bench, &invocation, FAULT_NONE, &verdict);
        g_assert_cmpstr(verdict.detail, ==, "");
        g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
        g_assert_cmpfloat(verdict.error, <=, 1);
    }
    invocation_clear(&invocation);
    workbench_close(&bench);
}

/* What a kernel does in timed runs alone is its own fault, too, and the next one's no more. */
static void test_strays_when_timed(void)
{
    g_autoptr(GError) error = NULL;
    struct kernel kernel;
    struct workbench bench;
    struct invocation invocation;
    struct workbench_run run = {&bench, &invocation};
    struct verdict verdict;
    kernel_init(&kernel, TYPE_FP32, TYPE_FP32);
    prepare(&kernel, &bench, &invocation);
    judge(&kernel, &bench, &invocation, FAULT_LATE, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    g_assert_true(workbench_strayed(&bench, &verdict, &error));
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    g_assert_true(workbench_run(&run, 0, &error));
    g_assert_true(workbench_strayed(&bench, &verdict, &error));
    g_assert_cmpint(verdict.failure, ==, FAILURE_OUT_OF_BOUNDS);
    g_assert_nonnull(strstr(verdict.detail, "outside of y"));
    judge(&kernel, &bench, &invocation, FAULT_NONE, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    g_assert_no_error(error);
    invocation_clear(&invocation);
    workbench_close(&bench);
}

static void test_types(void)
{
    static const enum data_type types[][2] = {{TYPE_FP32, TYPE_FP32},  {TYPE_FP16, TYPE_FP16},
                                              {TYPE_BF16, TYPE_BF16},  {TYPE_FP64, TYPE_FP64},
                                              {TYPE_INT8, TYPE_INT32}, {TYPE_FP16, TYPE_FP32}};
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
        struct kernel kernel;
        kernel_init(&kernel, types[i][0], types[i][1]);
        judge_all(&kernel);
    }
}

static void test_strides(void)
{
    struct kernel kernel;
    struct workbench bench;
    struct invocation invocation;
    struct verdict verdict;
    kernel_init(&kernel, TYPE_FP32, TYPE_FP32);
    /* Rows of 5 in 8 places: three between them must stay untouched. */
    for (int t = 0; t < TENSOR_COUNT; t += TENSOR_Y)
        tensor_set_strides(&kernel.tensors[t], (const int64_t[TENSOR_AXES]){400, 32, 32, 8, 1});
    prepare(&kernel, &bench, &invocation);
    judge(&kernel, &bench, &invocation, FAULT_NONE, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    judge(&kernel, &bench, &invocation, FAULT_ELEMENT, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_WRONG_RESULT);
    invocation_clear(&invocation);
    workbench_close(&bench);
}

static void test_holes(void)
{
    struct kernel kernel;
    struct verdict verdict;
    kernel_init(&kernel, TYPE_FP32, TYPE_FP32);
    struct tensor *y = &kernel.tensors[TENSOR_Y];
    tensor_set_strides(y, (const int64_t[TENSOR_AXES]){400, 32, 32, 8, 1});
    g_autofree float *data = g_malloc((gsize)tensor_bytes(y));
    memset(data, 0xff, (gsize)tensor_bytes(y));
    data[4] = 1; /* the last element of the first row */
    verify_holes(y, data, 0xff, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    data[5] = 1;
    verify_holes(y, data, 0xff, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_OUT_OF_BOUNDS);
    g_assert_nonnull(strstr(verdict.detail, " 5 elements from its start"));
}

static void test_copies(void)
{
    struct kernel kernel;
    struct workbench bench;
    struct invocation invocation;
    kernel_init(&kernel, TYPE_FP32, TYPE_FP32);
    kernel.problem.n = 20;
    for (int t = 0; t < TENSOR_COUNT; t++)
        tensor_init(&kernel.tensors[t], &kernel.problem, (enum tensor_role)t);
    kernel.fake.info.cache_bytes = 1 << 17;
    prepare(&kernel, &bench, &invocation);
    g_assert_true(bench.copies >= 2);
    invocation_clear(&invocation);
    workbench_close(&bench);
    kernel.fake.info.memory_bytes = 150000; /* room for one set, and none to rotate in */
    prepare(&kernel, &bench, &invocation);
    g_assert_cmpint(bench.copies, ==, 1);
    g_assert_false(bench.cold_caches);
    invocation_clear(&invocation);
    workbench_close(&bench);
}

/* Old contents of a workspace lie where the zone behind a smaller one is now. */
static void test_sizes(void)
{
    static const int64_t sizes[] = {5000, 100, 300, 5000, 60000, 200};
    static const bool fits[] = {false, true, true, true, false, true};
    struct fake_device fake;
    struct guarded guarded;
    fake_device_init(&fake);
    g_assert_true(guarded_alloc(&guarded, &fake.device, 40, 1, 0xff, NULL));
    g_assert_false(guarded_fits(&(struct guarded){0}, 1));
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree void *contents = g_malloc0((gsize)sizes[i]);
        int64_t offset = 0;
        bool damaged = true;
        g_assert_true(guarded_fits(&guarded, sizes[i]) == fits[i]);
        if (!fits[i]) {
            guarded_free(&guarded);
            g_assert_true(guarded_alloc(&guarded, &fake.device, sizes[i], 1, 0xff, NULL));
        }
        g_assert_true(guarded_resize(&guarded, sizes[i], NULL));
        fake_device_row.write(guarded.parts[0], 0, contents, sizes[i], NULL);
        g_assert_true(guarded_check(&guarded, 0, &damaged, &offset, NULL));
        g_assert_false(damaged);
        fake_device_row.write(guarded.parts[0], sizes[i] + 7, contents, 1, NULL);
        g_assert_true(guarded_check(&guarded, 0, &damaged, &offset, NULL));
        g_assert_true(damaged);
        g_assert_cmpint(offset, ==, sizes[i] + 7);
    }
    guarded_free(&guarded);
}

static void test_each_copy_is_repaired(void)
{
    const uint8_t stray = 1;
    struct fake_device fake;
    struct guarded guarded;
    fake_device_init(&fake);
    g_assert_true(guarded_alloc(&guarded, &fake.device, 40, 3, 0xff, NULL));
    for (int copy = 0; copy < 3; copy++) {
        int64_t offset = 0, place = GUARD_BYTES + copy * guarded.step + 47;
        bool damaged = false;
        fake_device_row.write(guarded.whole, place, &stray, 1, NULL);
        g_assert_true(guarded_check(&guarded, copy, &damaged, &offset, NULL));
        g_assert_true(damaged);
        g_assert_cmpint(offset, ==, 47);
        g_assert_true(guarded_check(&guarded, copy, &damaged, &offset, NULL));
        g_assert_false(damaged);
    }
    guarded_free(&guarded);
}

static void test_tensors_that_do_not_fit(void)
{
    struct kernel kernel;
    struct workbench bench;
    g_autoptr(GError) error = NULL;
    kernel_init(&kernel, TYPE_FP32, TYPE_FP32);
    /* 2^61 bytes: refused before a byte is asked for. */
    kernel.problem.n = 1 << 30;
    kernel.problem.c = kernel.problem.k = 1 << 20;
    g_assert_false(
        workbench_open(&bench, &kernel.fake.device, &kernel.problem, NULL, 1, NULL, &error));
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_SIZE);
}

static struct device_memory *alloc_nothing(struct device *device, int64_t bytes, GError **error)
{
    (void)device;
    (void)bytes;
    g_set_error_literal(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY, "nothing left");
    return NULL;
}

/* What the driver leaves to nobody is no matter of who has the rest. */
static void test_no_room(void)
{
    static const struct {
        int eighths; /* of the memory that the tensors with their guards need */
        enum device_error code;
    } cases[] = {{9, DEVICE_ERROR_SIZE}, {8, DEVICE_ERROR_SIZE}, {6, DEVICE_ERROR_MEMORY}};
    struct device_row row = fake_device_row;
    struct kernel kernel;
    int64_t needed = 0;
    kernel_init(&kernel, TYPE_FP32, TYPE_FP32);
    for (int t = 0; t < TENSOR_COUNT; t++)
        needed += tensor_bytes(&kernel.tensors[t]) + 2 * GUARD_BYTES;
    row.alloc = alloc_nothing;
    kernel.fake.device.row = &row;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct workbench bench;
        kernel.fake.info.memory_bytes = needed * 8 / cases[i].eighths;
        g_assert_false(
            workbench_open(&bench, &kernel.fake.device, &kernel.problem, NULL, 1, NULL, &error));
        g_assert_error(error, DEVICE_ERROR, (gint)cases[i].code);
        g_assert_true(!strstr(error->message, "nothing left") == (cases[i].eighths > 8));
    }
}

static void test_refused_launch(void)
{
    struct kernel kernel;
    struct workbench bench;
    struct invocation invocation;
    struct verdict verdict;
    g_autoptr(GError) error = NULL;
    kernel_init(&kernel, TYPE_FP32, TYPE_FP32);
    prepare(&kernel, &bench, &invocation);
    kernel.fake.refuse_launch = true;
    g_assert_false(workbench_verify(&bench, &invocation, "Direct", &verdict, &error));
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_LAUNCH);
    invocation_clear(&invocation);
    workbench_close(&bench);
}

static void test_random(void)
{
    struct problem p;
    struct tensor tensor;
    problem_init(&p);
    p.c = 50;
    tensor_init(&tensor, &p, TENSOR_X);
    g_autofree double *a = random_dense(&tensor, TENSOR_X, 1);
    g_autofree double *b = random_dense(&tensor, TENSOR_X, 1);
    g_autofree double *c = random_dense(&tensor, TENSOR_X, 2);
    g_assert_cmpmem(a, 50 * sizeof(*a), b, 50 * sizeof(*b));
    g_assert_cmpfloat(a[0], !=, c[0]);
    g_assert_cmphex(random_bits(1234567, 0), ==,
                    0x599ed017fb08fc85); /* the generator's own example */
    for (int i = 0; i < 50; i++)
        g_assert_true(fabs(a[i]) >= 0.25 && fabs(a[i]) <= 1 && (double)(float)a[i] == a[i]);
}

static void test_tolerance(void)
{
    static const struct {
        enum data_type type;
        const char *algorithm;
        double length, expected, magnitude, largest, tolerance;
    } rows[] = {
        {TYPE_FP32, "Direct", 1, 1, 1, 9, 3 * 0x1p-24 + 0x1p-24},
        {TYPE_FP32, "GEMM", 1000, 0, 2, 9, 32 * 0x1p-24},
        {TYPE_FP32, "Winograd", 1000, 0, 2, 9, 128 * 9 * 0x1p-24},
        {TYPE_FP32, "FFT", 7, 0, 2, 9, 64 * 9 * 0x1p-24},
        {TYPE_FP16, "Direct", 1000, 4, 2, 9, 32 * 0x1p-24 + 4 * 0x1p-11},
        {TYPE_FP16, "Winograd", 1000, 0, 2, 9, 128 * 9 * 0x1p-24 + 9 * 0x1p-14},
        {TYPE_FP64, "Direct", 1000, 0, 2, 9, 64 * 0x1p-53},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct tolerance tolerance;
        struct problem p;
        problem_init(&p);
        p.type[TENSOR_X] = p.type[TENSOR_W] = p.type[TENSOR_Y] = rows[i].type;
        tolerance_init(&tolerance, &p, rows[i].algorithm, rows[i].length);
        double allowed =
            tolerance_at(&tolerance, rows[i].expected, rows[i].magnitude, rows[i].largest);
        g_assert_cmpfloat_with_epsilon(allowed / rows[i].tolerance, 1, 1e-3);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/verify/each_fault_is_found_in_every_type", test_types);
    g_test_add_func("/verify/tensors_with_gaps_are_judged", test_strides);
    g_test_add_func("/verify/write_into_a_gap_is_found", test_holes);
    g_test_add_func("/verify/copies_exceed_the_cache_where_memory_allows", test_copies);
    g_test_add_func("/verify/zones_follow_a_workspaces_size", test_sizes);
    g_test_add_func("/guarded/each_copy_is_repaired", test_each_copy_is_repaired);
    g_test_add_func("/verify/tensors_that_do_not_fit_are_refused", test_tensors_that_do_not_fit);
    g_test_add_func("/verify/memory_that_nobody_gets_is_a_matter_of_size", test_no_room);
    g_test_add_func("/verify/refused_launch_is_an_error", test_refused_launch);
    g_test_add_func("/verify/inputs_follow_from_the_seed", test_random);
    g_test_add_func("/verify/tolerance_follows_its_formula", test_tolerance);
    g_test_add_func("/verify/strays_when_timed_are_found", test_strays_when_timed);
    return g_test_run();
}
