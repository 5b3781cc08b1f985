/* Kernels written in C that pack the filter, each with one fault, run and verified on a fake device as configs are. */
#include "worker/eval/workbench.h"

#include <string.h>

#include "tests/support/doubles/fake_device.h"

enum fault {
    FAULT_NONE,
    FAULT_ORDER,    /* packing exchanges two elements */
    FAULT_PARTIAL,  /* an element is not packed */
    FAULT_BEHIND,   /* packing writes behind the packed filter */
    FAULT_CONSUMES, /* the run changes the packed filter */
    FAULT_KEEPS,    /* packing leaves something in the workspace that the run needs */
};

/* y = (w reversed) * x + bias for one pixel: a 1x1 convolution of C channels and one filter a channel group. */
struct kernel {
    struct fake_device fake; /* first */
    struct problem problem;
    enum fault fault;
    int packs, runs;
    float *packed; /* of the last run */
};

#define CHANNELS 6

static void pack(struct kernel *kernel, const float *w, float *packed, float *workspace)
{
    for (int i = 0; i < CHANNELS; i++) {
        if (kernel->fault != FAULT_PARTIAL || i != 2)
            packed[CHANNELS - 1 - i] = w[i];
    }
    if (kernel->fault == FAULT_ORDER) {
        float other = packed[0];
        packed[0] = packed[1];
        packed[1] = other;
    }
    if (kernel->fault == FAULT_BEHIND)
        packed[CHANNELS] = 1;
    workspace[0] = 1;
    kernel->packs++;
}

static void run(struct kernel *kernel, const float *x, float *packed, float *y, const float *bias,
                const float *workspace)
{
    float sum = bias[0];
    for (int i = 0; i < CHANNELS; i++)
        sum += x[i] * packed[CHANNELS - 1 - i];
    y[0] = kernel->fault == FAULT_KEEPS ? sum * workspace[0] : sum;
    if (kernel->fault == FAULT_CONSUMES)
        packed[3] = 0;
    kernel->packed = packed;
    kernel->runs++;
}

/* A launch with three arguments packs. */
static void run_kernel(struct fake_device *fake, const struct device_launch *launch,
                       void *const *memory)
{
    struct kernel *kernel = (struct kernel *)fake;
    if (launch->arg_count == 3)
        pack(kernel, memory[0], memory[1], memory[2]);
    else
        run(kernel, memory[0], memory[1], memory[2], memory[3], memory[4]);
}

static void make_solution(struct solution *solution)
{
    solution_init(solution);
    struct launch *launch = solution_add_launch(solution, "fake", "pack");
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_tensor(launch, TENSOR_PACKED);
    launch_arg_workspace(launch, 0);
    launch = solution_add_launch(solution, "fake", "run");
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_tensor(launch, TENSOR_PACKED);
    launch_arg_tensor(launch, TENSOR_Y);
    launch_arg_tensor(launch, TENSOR_BIAS);
    launch_arg_workspace(launch, 0);
    solution->pack_count = 1;
    solution->packed_bytes = CHANNELS * sizeof(float);
    solution->workspace_bytes = 64;
}

static void open_all(struct kernel *kernel, struct workbench *bench, struct invocation *invocation)
{
    g_autoptr(GError) error = NULL;
    struct solution solution;
    struct device_memory *workspace;
    struct device_program *programs[] = {(struct device_program *)kernel,
                                         (struct device_program *)kernel};
    fake_device_init(&kernel->fake);
    kernel->fake.run = run_kernel;
    kernel->fake.info.cache_bytes = 1 << 17;
    problem_init(&kernel->problem);
    kernel->problem.c = CHANNELS;
    strcpy(kernel->problem.epilogue, "+bias");
    make_solution(&solution);
    workbench_open(bench, &kernel->fake.device, &kernel->problem, 3, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(workbench_workspace(bench, solution.workspace_bytes, &workspace, &error));
    g_assert_true(workbench_packed(bench, solution.packed_bytes, &error));
    g_assert_true(invocation_prepare(invocation, &kernel->fake.device, &solution, programs,
                                     bench->tensors, workspace, &error));
    g_assert_no_error(error);
}

static void close_all(struct workbench *bench, struct invocation *invocation)
{
    invocation_clear(invocation);
    workbench_close(bench);
}

static void test_faults(void)
{
    static const struct {
        enum fault fault;
        enum failure failure;
        const char *detail;
    } rows[] = {
        {FAULT_NONE, FAILURE_NONE, ""},
        {FAULT_ORDER, FAILURE_WRONG_RESULT, "1 of 1 elements are wrong"},
        {FAULT_PARTIAL, FAILURE_WRONG_RESULT, "nothing written"},
        {FAULT_BEHIND, FAILURE_OUT_OF_BOUNDS, "outside of the packed filter, at byte"},
        {FAULT_CONSUMES, FAILURE_WRONG_RESULT, "1 of 1 elements are wrong"},
        {FAULT_KEEPS, FAILURE_WRONG_RESULT, "nothing written"},
    };
    struct kernel kernel = {0};
    struct workbench bench;
    struct invocation invocation;
    open_all(&kernel, &bench, &invocation);
    for (gsize i = 0; i < 2 * G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct verdict verdict;
        /* Each fault is followed by the right kernel, which must pass. */
        gsize row = i % 2 ? 0 : i / 2;
        kernel.fault = rows[row].fault;
        g_assert_true(workbench_verify(&bench, &invocation, &verdict, &error));
        g_assert_no_error(error);
        g_test_message("fault %d: %s", (int)rows[row].fault, verdict.detail);
        g_assert_cmpstr(failure_name(verdict.failure), ==, failure_name(rows[row].failure));
        g_assert_nonnull(strstr(verdict.detail, rows[row].detail));
    }
    close_all(&bench, &invocation);
}

/* Packing runs once for each copy, and each timed run reads the copy of its turn; copies of even number hold the
 * first set's filter, the others the second's. */
static void test_copies(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    struct kernel kernel = {0};
    struct workbench bench;
    struct invocation invocation;
    struct workbench_run timed = {&bench, &invocation};
    open_all(&kernel, &bench, &invocation);
    const struct guarded *packed = &bench.memory[TENSOR_PACKED];
    g_assert_cmpint(bench.copies, >, 1);
    g_assert_cmpint(packed->copies, ==, bench.copies);
    g_assert_cmpint(workbench_is_cold(&bench), ==, bench.cold_caches);
    g_assert_true(workbench_pack_all(&timed, &error));
    g_assert_cmpint(kernel.packs, ==, bench.copies);
    for (int i = 0; i < packed->copies; i++) {
        g_assert_true(workbench_run(&timed, i, &error));
        g_assert_cmpmem(kernel.packed, 4, fake_device_bytes(packed->parts[i % 2]), 4);
        g_hash_table_add(seen, kernel.packed);
    }
    g_assert_cmpuint(g_hash_table_size(seen), ==, (guint)packed->copies);
    g_assert_cmpint(kernel.packs, ==, bench.copies);
    g_assert_cmpint(kernel.runs, ==, bench.copies);
    close_all(&bench, &invocation);
}

/* Where the packed filter has fewer copies than the tensors, each run still finds the filter of its own set, also when
 * the runs begin anew with the first of an odd number of copies. */
static void test_fewer_copies(void)
{
    g_autoptr(GError) error = NULL;
    struct kernel kernel = {0};
    struct workbench bench;
    struct invocation invocation;
    struct verdict verdict;
    struct workbench_run timed = {&bench, &invocation};
    open_all(&kernel, &bench, &invocation);
    int64_t memory = kernel.fake.info.memory_bytes;
    if (bench.copies % 2 == 0)
        bench.copies--;
    g_assert_true(workbench_packed(&bench, (uint64_t)memory / 80, &error));
    g_assert_cmpint(bench.memory[TENSOR_PACKED].copies, >, 1);
    g_assert_cmpint(bench.memory[TENSOR_PACKED].copies, <, bench.copies);
    g_assert_true(workbench_verify(&bench, &invocation, &verdict, &error));
    g_assert_true(workbench_pack_all(&timed, &error));
    g_assert_true(workbench_before_timing(&bench, &error));
    for (int i = 0; i < 2 * bench.copies; i++)
        g_assert_true(workbench_run(&timed, i, &error));
    g_assert_true(workbench_after_timing(&bench, &invocation, &verdict, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(verdict.detail, ==, "");
    close_all(&bench, &invocation);
}

/* The packed filter counts as memory of the device: with too little for all copies there are fewer, and caches do not
 * count as cold; with too little for one the config is refused. */
static void test_memory(void)
{
    g_autoptr(GError) error = NULL;
    struct kernel kernel = {0};
    struct workbench bench;
    struct invocation invocation;
    open_all(&kernel, &bench, &invocation);
    bench.cold_caches = true;
    g_assert_true(workbench_packed(&bench, (uint64_t)kernel.fake.info.memory_bytes / 16, &error));
    g_assert_cmpint(bench.memory[TENSOR_PACKED].copies, <, bench.copies);
    g_assert_false(workbench_is_cold(&bench));
    g_assert_false(workbench_packed(&bench, (uint64_t)kernel.fake.info.memory_bytes + 1, &error));
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY);
    g_clear_error(&error);
    g_assert_true(workbench_packed(&bench, 0, &error));
    g_assert_true(workbench_is_cold(&bench));
    /* The solution's launches find no packed filter now. */
    struct workbench_run timed = {&bench, &invocation};
    g_assert_false(workbench_run(&timed, 0, &error));
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_LAUNCH);
    close_all(&bench, &invocation);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/packing/each_fault_is_found_and_the_next_kernel_is_not_blamed", test_faults);
    g_test_add_func("/packing/runs_once_for_each_copy", test_copies);
    g_test_add_func("/packing/each_run_finds_the_filter_of_its_set", test_fewer_copies);
    g_test_add_func("/packing/packed_filter_counts_as_memory", test_memory);
    return g_test_run();
}
