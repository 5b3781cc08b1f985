/* Kernels written in C, each with one fault, run and verified on a fake device as configs are. */
#include "worker/eval/workbench.h"

#include <math.h>
#include <string.h>

#include "tests/support/doubles/fake_device.h"
#include "tests/support/test_effort.h"
#include "worker/verify/fingerprint.h"
#include "worker/verify/tensor.h"

enum fault {
    FAULT_NONE,
    FAULT_IDLE,      /* writes nothing: the output may still contain an earlier config's result */
    FAULT_ELEMENT,   /* leaves out one product of a sum */
    FAULT_UNWRITTEN, /* one element is not written */
    FAULT_NAN,
    FAULT_INFINITY,
    FAULT_BEHIND, /* writes one element behind the output */
    FAULT_BEFORE,
    FAULT_WORKSPACE, /* writes behind the workspace */
    FAULT_INPUT,     /* writes before x */
    FAULT_ALL_ROUND, /* writes before x, and behind the output and the workspace */
    FAULT_SPOILS_X,  /* writes into x and computes a wrong result */
    FAULT_LEAVES_X,  /* writes into x after computing the right result */
    FAULT_LATE,      /* writes behind the output, but not in its first two runs */
};

struct kernel {
    struct fake_device fake; /* first */
    struct problem problem;
    struct tensor tensors[TENSOR_COUNT];
    enum fault fault;
    int runs;                   /* runs since the fault was set */
    void *memory[TENSOR_COUNT]; /* of the last run */
    uint64_t seen[2];           /* fingerprints of x in the first two runs */
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
        if (kernel->runs > 2)
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
    memcpy(kernel->memory, memory, sizeof(kernel->memory));
    if (kernel->runs <= 2)
        kernel->seen[kernel->runs - 1] =
            fingerprint(memory[TENSOR_X], tensor_bytes(&kernel->tensors[TENSOR_X]));
    if (kernel->fault == FAULT_IDLE)
        return;
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
    workbench_open(bench, &kernel->fake.device, &kernel->problem, 3, NULL, &error);
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
    g_assert_true(workbench_verify(bench, invocation, verdict, &error));
    g_assert_no_error(error);
}

static const struct {
    enum fault fault;
    enum failure failure;
    const char *detail;
} faults[] = {
    {FAULT_NONE, FAILURE_NONE, ""},
    {FAULT_IDLE, FAILURE_WRONG_RESULT, "60 of 60 elements are wrong"},
    {FAULT_ELEMENT, FAILURE_WRONG_RESULT, "1 of 60 elements are wrong, the worst at (0,1,0,1,0)"},
    {FAULT_UNWRITTEN, FAILURE_WRONG_RESULT, "(0,0,0,1,2): nothing written"},
    {FAULT_NAN, FAILURE_WRONG_RESULT, "got nan"},
    {FAULT_INFINITY, FAILURE_WRONG_RESULT, "got inf"},
    {FAULT_BEHIND, FAILURE_OUT_OF_BOUNDS, "outside of y, at byte"},
    {FAULT_BEFORE, FAILURE_OUT_OF_BOUNDS, "outside of y, at byte -3"},
    {FAULT_WORKSPACE, FAILURE_OUT_OF_BOUNDS, "outside of the workspace, at byte 100 of its 100"},
    {FAULT_INPUT, FAILURE_OUT_OF_BOUNDS, "outside of x, at byte -1"},
    {FAULT_ALL_ROUND, FAILURE_OUT_OF_BOUNDS, "outside of x, at byte -1"},
    {FAULT_SPOILS_X, FAILURE_OUT_OF_BOUNDS, "changed its input x, at byte"},
    {FAULT_LEAVES_X, FAILURE_OUT_OF_BOUNDS, "changed its input x, at byte"},
};

/* Runs each fault, and after it the right kernel, which must pass although the fault has damaged
 * memory. */
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

/* A kernel that strays only in timed runs is found; the next kernel is not blamed. */
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
    g_assert_true(workbench_before_timing(&bench, &error));
    g_assert_true(workbench_run(&run, 0, &error));
    g_assert_true(workbench_after_timing(&bench, &invocation, &verdict, &error));
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
    /* Rows of 5 elements in 8 places: the three places between rows must stay unchanged. */
    for (int t = 0; t < TENSOR_COUNT; t += TENSOR_Y) {
        enum tensor_role role = (enum tensor_role)t;
        problem_set_strides(&kernel.problem, role, (const int64_t[TENSOR_AXES]){0, 32, 0, 8, 1});
        tensor_init(&kernel.tensors[t], &kernel.problem, role);
    }
    prepare(&kernel, &bench, &invocation);
    judge(&kernel, &bench, &invocation, FAULT_NONE, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
    judge(&kernel, &bench, &invocation, FAULT_ELEMENT, &verdict);
    g_assert_cmpint(verdict.failure, ==, FAILURE_WRONG_RESULT);
    invocation_clear(&invocation);
    workbench_close(&bench);
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
    kernel.fake.info.memory_bytes = 150000; /* memory for one copy of the tensors only */
    prepare(&kernel, &bench, &invocation);
    g_assert_cmpint(bench.copies, ==, 1);
    g_assert_false(bench.cold_caches);
    invocation_clear(&invocation);
    workbench_close(&bench);
}

/* Guard zones take many times the memory of these tensors, but a run touches only the tensors. */
static void test_small_tensors(void)
{
    struct kernel kernel;
    struct workbench bench;
    struct invocation invocation;
    int64_t data = 0;
    kernel_init(&kernel, TYPE_FP32, TYPE_FP32);
    kernel.fake.info.cache_bytes = 1 << 16;
    prepare(&kernel, &bench, &invocation);
    for (int t = 0; t < TENSOR_COUNT; t++)
        data += tensor_bytes(&kernel.tensors[t]);
    g_assert_cmpint((bench.copies - 1) * data, >=, 2 << 16);
    g_assert_true(bench.cold_caches);
    invocation_clear(&invocation);
    workbench_close(&bench);
}

/* The second look has other inputs, on a copy of its own or, without one, in the first copy, which then gets back what
 * it held. */
static void test_second_look(void)
{
    static const int64_t memories[] = {1ll << 30, 150000};
    for (gsize i = 0; i < G_N_ELEMENTS(memories); i++) {
        struct kernel kernel;
        struct workbench bench;
        struct invocation invocation;
        struct verdict verdict;
        kernel_init(&kernel, TYPE_FP32, TYPE_FP32);
        kernel.fake.info.memory_bytes = memories[i];
        prepare(&kernel, &bench, &invocation);
        g_assert_true((bench.copies == 1) == (i == 1));
        judge(&kernel, &bench, &invocation, FAULT_NONE, &verdict);
        g_assert_cmpint(verdict.failure, ==, FAILURE_NONE);
        g_assert_cmpint(kernel.runs, ==, 2);
        g_assert_cmphex(kernel.seen[0], !=, kernel.seen[1]);
        const struct guarded *x = &bench.memory[TENSOR_X];
        g_assert_cmphex(fingerprint(fake_device_bytes(x->parts[0]), x->bytes), ==, kernel.seen[0]);
        invocation_clear(&invocation);
        workbench_close(&bench);
    }
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
    g_assert_false(workbench_open(&bench, &kernel.fake.device, &kernel.problem, 1, NULL, &error));
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_SIZE);
}

static struct device_memory *alloc_nothing(struct device *device, int64_t bytes, GError **error)
{
    (void)device;
    (void)bytes;
    g_set_error_literal(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY, "nothing left");
    return NULL;
}

/* Tensors that need more memory than the driver leaves to any process are too large (SIZE); less is a lack of memory
 * (MEMORY), which another process may have caused. */
static void test_no_room(void)
{
    static const struct {
        /* the tensors with their guard zones take this many eighths of the device's memory */
        int eighths;
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
            workbench_open(&bench, &kernel.fake.device, &kernel.problem, 1, NULL, &error));
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
    g_assert_false(workbench_verify(&bench, &invocation, &verdict, &error));
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_LAUNCH);
    invocation_clear(&invocation);
    workbench_close(&bench);
}

/* Timed runs rotate through every copy, and each copy holds the inputs of one of two sets, by turns: a kernel that found its inputs in a cache,
 * or only in the first copy, would be timed doing something else than its work. */
static void test_rotation(void)
{
    g_autoptr(GError) error = NULL;
    struct kernel kernel;
    struct workbench bench;
    struct invocation invocation;
    struct workbench_run run = {&bench, &invocation};

    kernel_init(&kernel, TYPE_FP32, TYPE_FP32);
    kernel.fake.info.cache_bytes = 1 << 18;
    prepare(&kernel, &bench, &invocation);
    g_assert_cmpint(bench.copies, >, 2);
    for (int64_t i = 0; i < 2 * bench.copies; i++) {
        g_assert_true(workbench_run(&run, i, &error));
        for (int t = 0; t < TENSOR_COUNT; t++) {
            struct guarded *first = &bench.memory[t];
            struct device_memory *part = first->parts[i % bench.copies];
            g_autofree char *bytes = g_malloc((gsize)first->bytes);
            g_autofree char *expected = g_malloc((gsize)first->bytes);
            g_assert_true(kernel.memory[t] == fake_device_bytes(part));
            fake_device_row.read(part, 0, bytes, first->bytes, NULL);
            fake_device_row.read(first->parts[i % 2], 0, expected, first->bytes, NULL);
            g_assert_cmpmem(bytes, (gsize)first->bytes, expected, (gsize)first->bytes);
        }
    }
    g_assert_no_error(error);
    invocation_clear(&invocation);
    workbench_close(&bench);
}

/* Reads and fills of the tensors' memory, in their order. */
static struct {
    const struct workbench *bench; /* NULL: nothing is noted */
    GArray *copies;                /* int: copies whose bytes were touched */
} touches;

static void note_touch(const struct device_memory *memory, int64_t offset, int64_t bytes)
{
    for (int t = 0; touches.bench && t < TENSOR_COUNT; t++) {
        const struct guarded *guarded = &touches.bench->memory[t];
        for (int copy = 0; memory == guarded->whole && copy < guarded->copies; copy++) {
            int64_t begin = guarded_offset(guarded, copy);
            if (offset < begin + guarded->bytes && begin < offset + bytes)
                g_array_append_val(touches.copies, copy);
        }
    }
}

static bool noted_read(struct device_memory *from, int64_t offset, void *to, int64_t bytes,
                       GError **error)
{
    note_touch(from, offset, bytes);
    return fake_device_row.read(from, offset, to, bytes, error);
}

static bool noted_fill(struct device_memory *memory, int64_t offset, int64_t bytes, uint8_t value,
                       GError **error)
{
    note_touch(memory, offset, bytes);
    return fake_device_row.fill(memory, offset, bytes, value, error);
}

/* Notes what a look touches after a slice of these runs. */
static void look_after_slice(struct workbench *bench, struct invocation *invocation, int64_t from,
                             int64_t count)
{
    g_autoptr(GError) error = NULL;
    struct workbench_run run = {bench, invocation};
    struct verdict verdict;

    g_array_set_size(touches.copies, 0);
    g_assert_true(workbench_before_slice(bench, &error));
    touches.bench = bench;
    for (int64_t i = from; i < from + count; i++)
        g_assert_true(workbench_run(&run, i, &error));
    g_assert_true(workbench_after_slice(bench, invocation, bench->results, &verdict, &error));
    touches.bench = NULL;
    g_assert_no_error(error);
    g_assert_cmpstr(verdict.detail, ==, "");
}

/* A look between slices must not bring copies into the caches that the next runs are to find out of them. It touches
 * the copies that the slice used, and the one that was used last at last. */
static void test_slice_look_leaves_caches(void)
{
    struct device_row row = fake_device_row;
    struct kernel kernel;
    struct workbench bench;
    struct invocation invocation;
    struct verdict verdict;

    row.read = noted_read;
    row.fill = noted_fill;
    touches.copies = g_array_new(FALSE, FALSE, sizeof(int));
    kernel_init(&kernel, TYPE_FP32, TYPE_FP32);
    kernel.fake.device.row = &row;
    kernel.fake.info.cache_bytes = 1 << 14;
    prepare(&kernel, &bench, &invocation);
    int copies = bench.copies;
    g_assert_cmpint(copies, >, 16);
    judge(&kernel, &bench, &invocation, FAULT_NONE, &verdict);
    look_after_slice(&bench, &invocation, 0, 1); /* the first one tidies up after the looks */
    look_after_slice(&bench, &invocation, copies - 2, 5);
    g_assert_cmpuint(touches.copies->len, >, 0);
    for (guint i = 0; i < touches.copies->len; i++) {
        int copy = g_array_index(touches.copies, int, i);
        g_assert_true(copy >= copies - 2 || copy <= 2);
    }
    /* Runs on each copy and more: the copy after the last one has waited longest. */
    look_after_slice(&bench, &invocation, 3, 2 * copies + 4);
    int last = (2 * copies + 6) % copies, count = (int)touches.copies->len;
    int begin = g_array_index(touches.copies, int, 0);
    g_assert_cmpint((begin - last - 1 + copies) % copies, <, 2);
    for (int i = count - 1; i >= count - copies / 8; i--) {
        int copy = g_array_index(touches.copies, int, i);
        g_assert_cmpint((last - copy + copies) % copies, <=, copies / 8);
    }
    g_array_free(touches.copies, TRUE);
    invocation_clear(&invocation);
    workbench_close(&bench);
}

/* How many of a problem's elements the reference computes on the host, in percent. */
static double referenced(int64_t channels, int64_t outputs, int64_t pixels)
{
    g_autoptr(GError) error = NULL;
    struct fake_device fake;
    struct workbench bench;
    struct problem p;
    int64_t known = 0;

    fake_device_init(&fake);
    problem_init(&p);
    p.c = channels;
    p.k = outputs;
    p.in[AXIS_W] = pixels;
    problem_set_output(&p);
    workbench_open(&bench, &fake.device, &p, 3, NULL, &error);
    g_assert_no_error(error);
    for (int64_t i = 0; i < bench.sets[0].reference->count; i++)
        known += !isnan(bench.sets[0].reference->value[i]);
    double percent = 100 * (double)known / (double)bench.sets[0].reference->count;
    workbench_close(&bench);
    return percent;
}

/* The limit is 8 G multiply-accumulates. Slightly above it every second block of 64 columns is computed, and in any
 * case the first and the last one: of 8 blocks a half and two at the ends. Under a sanitizer the larger one takes half a
 * minute. */
static void test_reference_limit(void)
{
    g_assert_cmpfloat(referenced(1024, 1024, 256), ==, 100); /* 0.27 G */
    if (test_is_sanitized())
        return;
    double part = referenced(4096, 4096, 512); /* 8.6 G */
    g_test_message("%g %% of the larger problem", part);
    g_assert_cmpfloat(part, >=, 100.0 * 3 / 8);
    g_assert_cmpfloat(part, <=, 100.0 * 7 / 8);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/workbench_host/each_fault_is_found_in_every_type", test_types);
    g_test_add_func("/workbench_host/tensors_with_gaps_are_judged", test_strides);
    g_test_add_func("/workbench_host/copies_exceed_the_cache_where_memory_allows", test_copies);
    g_test_add_func("/workbench_host/copies_of_small_tensors_exceed_the_cache_too",
                    test_small_tensors);
    g_test_add_func("/workbench_host/second_look_has_other_inputs", test_second_look);
    g_test_add_func("/workbench_host/tensors_that_do_not_fit_are_refused",
                    test_tensors_that_do_not_fit);
    g_test_add_func("/workbench_host/memory_that_no_process_gets_is_an_error_of_size",
                    test_no_room);
    g_test_add_func("/workbench_host/refused_launch_is_an_error", test_refused_launch);
    g_test_add_func("/workbench_host/strays_when_timed_are_found", test_strays_when_timed);
    g_test_add_func("/workbench_host/timed_runs_rotate_through_copies_of_the_inputs",
                    test_rotation);
    g_test_add_func("/workbench_host/a_look_after_a_slice_leaves_caches_as_they_were",
                    test_slice_look_leaves_caches);
    g_test_add_func("/workbench_host/reference_of_a_large_problem_is_partial",
                    test_reference_limit);
    return g_test_run();
}
