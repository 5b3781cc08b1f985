#include "tests/support/kernels/solution_run.h"

#include <string.h>

#include "kernels/program.h"
#include "kernels/toolchains/opencl.h"
#include "tests/support/test_effort.h"
#include "worker/device/device.h"

/* Guard zone, in bytes, before and behind the workspace, which no launch may write. */
#define GUARD      512
#define GUARD_BYTE 0xff

struct solution_runner {
    struct device *device;
    const struct device_row *row;
    struct target target;
    const struct toolchain *toolchain;
    bool hurries;
    GHashTable *kernels; /* maps "FILE ENTRY OPTIONS" to struct loaded */
    double compile_seconds;
};

struct loaded {
    const struct device_row *row;
    struct device_program *program;
    struct device_kernel *kernel;
};

/* Takes a pointer to the error, since arguments are evaluated before the checked call has set
 * it. */
static void must(bool done, GError *const *error)
{
    if (!done)
        g_error("%s", (*error)->message);
}

static void loaded_free(gpointer data)
{
    struct loaded *loaded = data;

    loaded->row->kernel_free(loaded->kernel);
    loaded->row->program_free(loaded->program);
    g_free(loaded);
}

/* Opens the first GPU, or PoCL's CPU. */
static struct device *open_device(GError **error)
{
    struct device *device;

    if (g_strcmp0(g_getenv("SKIPJACK_TEST_DEVICE"), "gpu") != 0)
        return device_opencl.open(0, error);
    device = device_open(0, error);
    if (!device || device->row != &device_opencl)
        return device;
    device_close(device);
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "there is no GPU here");
    return NULL;
}

struct solution_runner *solution_runner_new(const char *cache_dir)
{
    g_autoptr(GError) error = NULL;
    struct device *device;

    const char *shared_dir = g_getenv("SKIPJACK_TEST_CACHE");
    opencl_environment(shared_dir ? shared_dir : cache_dir, NULL);
    device = open_device(&error);
    if (!device) {
        g_test_message("%s", error->message);
        return NULL;
    }
    struct solution_runner *runner = g_new0(struct solution_runner, 1);
    runner->device = device;
    runner->row = device->row;
    runner->target = device->row->info(device)->target;
    runner->toolchain = toolchain_for_target(&runner->target, NULL, &error);
    must(runner->toolchain != NULL, &error);
    runner->kernels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, loaded_free);
    return runner;
}

void solution_runner_free(struct solution_runner *runner)
{
    g_hash_table_unref(runner->kernels);
    device_close(runner->device);
    g_free(runner);
}

void solution_runner_hurry(struct solution_runner *runner, bool hurry)
{
    runner->hurries = hurry && !test_is_long();
}

const struct target *solution_runner_target(const struct solution_runner *runner)
{
    return &runner->target;
}

double solution_runner_compile_seconds(const struct solution_runner *runner, int *count)
{
    *count = (int)g_hash_table_size(runner->kernels);
    return runner->compile_seconds;
}

/* PoCL appends these options to those of each program. */
static void set_extra_options(const struct solution_runner *runner)
{
    if (runner->hurries)
        g_setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", TRUE);
    else
        g_unsetenv("POCL_EXTRA_BUILD_FLAGS");
}

/* Compiles with the toolchain and loads the code object, as a worker does. */
static struct loaded *compile(struct solution_runner *runner, const struct launch *launch)
{
    gint64 start = g_get_monotonic_time();
    g_autoptr(GError) error = NULL;
    const struct program launched = {launch->file, launch->options, launch->entry, NULL};
    struct loaded *loaded = g_new0(struct loaded, 1);
    struct code_object object;

    set_extra_options(runner);
    if (!program_build(runner->toolchain, &launched, &runner->target, &object, &error))
        g_error("%s %s: %s\n%s", launch->file, launch->options, error->message, object.log);
    loaded->row = runner->row;
    loaded->program = runner->row->load(runner->device, object.code, &error);
    must(loaded->program != NULL, &error);
    loaded->kernel = runner->row->kernel(loaded->program, launch->entry, &error);
    must(loaded->kernel != NULL, &error);
    code_object_clear(&object);
    runner->compile_seconds += (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    return loaded;
}

static struct device_kernel *find_kernel(struct solution_runner *runner,
                                         const struct launch *launch)
{
    g_autofree char *name = g_strjoin(" ", launch->file, launch->entry, launch->options, NULL);
    struct loaded *loaded = g_hash_table_lookup(runner->kernels, name);

    if (!loaded) {
        loaded = compile(runner, launch);
        g_hash_table_insert(runner->kernels, g_steal_pointer(&name), loaded);
    }
    return loaded->kernel;
}

/* ---- buffers ---- */

/* The buffers of one run, and the pointers that kernels get. A slice of the workspace reaches from
 * its offset to the workspace's end. */
struct bound {
    const struct solution *solution;
    const struct run_tensor *strides;
    struct device_memory *buffers[OPERAND_COUNT], *tensors[OPERAND_COUNT], *workspace;
    struct device_memory *slices[SOLUTION_LAUNCHES_MAX * LAUNCH_ARGS_MAX];
    int slice_count;
};

static struct device_memory *new_buffer(struct solution_runner *runner, gsize bytes,
                                        const void *data)
{
    g_autoptr(GError) error = NULL;
    struct device_memory *buffer = runner->row->alloc(runner->device, (int64_t)bytes, &error);

    must(buffer != NULL, &error);
    if (data)
        must(runner->row->write(buffer, 0, data, (int64_t)bytes, &error), &error);
    return buffer;
}

static struct device_memory *slice_of(struct solution_runner *runner, struct device_memory *whole,
                                      gsize start, gsize bytes)
{
    g_autoptr(GError) error = NULL;
    struct device_memory *part = runner->row->slice(whole, (int64_t)start, (int64_t)bytes, &error);

    must(part != NULL, &error);
    return part;
}

static struct device_memory *workspace_slice(struct solution_runner *runner, struct bound *bound,
                                             int64_t offset)
{
    struct device_memory *slice = slice_of(runner, bound->workspace, GUARD + (gsize)offset,
                                           (gsize)bound->solution->workspace_bytes - (gsize)offset);

    bound->slices[bound->slice_count++] = slice;
    return slice;
}

static void free_slices(struct solution_runner *runner, struct bound *bound)
{
    for (int i = 0; i < bound->slice_count; i++)
        runner->row->memory_free(bound->slices[i]);
    bound->slice_count = 0;
}

/* A buffer of NaN with guard zones before and behind `bytes` bytes. */
static struct device_memory *new_guarded(struct solution_runner *runner, uint64_t bytes)
{
    gsize whole = (gsize)bytes + 2 * (gsize)GUARD;
    g_autofree void *poison = g_malloc(whole);

    memset(poison, GUARD_BYTE, whole);
    return new_buffer(runner, whole, poison);
}

static void bind(struct solution_runner *runner, struct bound *bound)
{
    const struct solution *solution = bound->solution;

    for (int t = 0; t < TENSOR_PACKED; t++) {
        const struct run_tensor *tensor = &bound->strides[t];
        if (!tensor->data)
            continue;
        bound->buffers[t] = new_buffer(runner, tensor->bytes, tensor->data);
        bound->tensors[t] =
            slice_of(runner, bound->buffers[t], tensor->start, tensor->bytes - tensor->start);
    }
    if (solution->workspace_bytes > 0)
        bound->workspace = new_guarded(runner, solution->workspace_bytes);
    if (solution->packed_bytes > 0) {
        bound->buffers[TENSOR_PACKED] = new_guarded(runner, solution->packed_bytes);
        bound->tensors[TENSOR_PACKED] =
            slice_of(runner, bound->buffers[TENSOR_PACKED], GUARD, (gsize)solution->packed_bytes);
    }
}

/* Counts changed bytes of the guard zone that begins at offset `start` of a buffer. */
static int count_stray(struct solution_runner *runner, struct device_memory *buffer, gsize start)
{
    g_autoptr(GError) error = NULL;
    guint8 guard[GUARD];
    int stray = 0;

    must(runner->row->read(buffer, (int64_t)start, guard, sizeof(guard), &error), &error);
    for (gsize i = 0; i < sizeof(guard); i++)
        stray += guard[i] != GUARD_BYTE;
    return stray;
}

/* Frees a buffer of new_guarded(), and fails the test if its guard zones were written. */
static void free_guarded(struct solution_runner *runner, const struct bound *bound,
                         struct device_memory *buffer, uint64_t bytes, const char *name)
{
    int before = count_stray(runner, buffer, 0);
    int behind = count_stray(runner, buffer, GUARD + (gsize)bytes);

    if (before > 0 || behind > 0) {
        g_test_message("%s: %d bytes before the %s and %d behind it were written",
                       bound->solution->launches[0].file, before, name, behind);
        g_test_fail();
    }
    runner->row->memory_free(buffer);
}

static void unbind(struct solution_runner *runner, struct bound *bound)
{
    const struct solution *solution = bound->solution;
    g_autoptr(GError) error = NULL;

    free_slices(runner, bound);
    if (bound->workspace)
        free_guarded(runner, bound, bound->workspace, solution->workspace_bytes, "workspace");
    for (int t = 0; t < OPERAND_COUNT; t++) {
        const struct run_tensor *tensor = &bound->strides[t];
        if (!bound->buffers[t])
            continue;
        runner->row->memory_free(bound->tensors[t]);
        if (t == TENSOR_PACKED) {
            free_guarded(runner, bound, bound->buffers[t], solution->packed_bytes, "packed filter");
            continue;
        }
        must(runner->row->read(bound->buffers[t], 0, tensor->data, (int64_t)tensor->bytes, &error),
             &error);
        runner->row->memory_free(bound->buffers[t]);
    }
}

/* ---- launches ---- */

static struct device_arg argument(struct solution_runner *runner, const struct launch_arg *arg,
                                  struct bound *bound)
{
    struct device_arg made = {.bytes = sizeof(int64_t), .value.int64 = arg->value};

    switch (arg->kind) {
    case ARG_TENSOR: made.memory = bound->tensors[arg->tensor]; break;
    case ARG_WORKSPACE: made.memory = workspace_slice(runner, bound, arg->value); break;
    case ARG_INT32:
        made.bytes = sizeof(int32_t);
        made.value.int32 = (int32_t)arg->value;
        break;
    case ARG_FLOAT32:
        made.bytes = sizeof(float);
        made.value.float32 = (float)arg->real;
        break;
    case ARG_STRIDE:
        made.value.int64 = bound->strides[arg->tensor].strides[arg->value] * arg->factor;
        break;
    case ARG_INT64: break;
    }
    return made;
}

static void enqueue(struct solution_runner *runner, const struct launch *launch,
                    struct bound *bound)
{
    g_autoptr(GError) error = NULL;
    struct device_arg args[LAUNCH_ARGS_MAX];
    struct device_launch made = {.kernel = find_kernel(runner, launch),
                                 .local_bytes = launch->local_bytes,
                                 .arg_count = launch->arg_count,
                                 .args = args};

    for (int i = 0; i < launch->arg_count; i++)
        args[i] = argument(runner, &launch->args[i], bound);
    memcpy(made.grid, launch->grid, sizeof(made.grid));
    memcpy(made.block, launch->block, sizeof(made.block));
    must(runner->row->launch(runner->device, &made, &error), &error);
}

void solution_run_times(struct solution_runner *runner, const struct solution *solution,
                        const struct run_tensor tensors[OPERAND_COUNT], int repeats,
                        double *seconds)
{
    struct bound bound = {.solution = solution, .strides = tensors};
    g_autoptr(GError) error = NULL;

    bind(runner, &bound);
    for (int i = 0; i < solution->launch_count; i++)
        find_kernel(runner, &solution->launches[i]);
    for (int repeat = 0; repeat < repeats; repeat++) {
        gint64 start = g_get_monotonic_time();
        free_slices(runner, &bound);
        for (int i = repeat == 0 ? 0 : solution->pack_count; i < solution->launch_count; i++)
            enqueue(runner, &solution->launches[i], &bound);
        must(runner->row->sync(runner->device, &error), &error);
        seconds[repeat] = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    }
    unbind(runner, &bound);
}

double solution_run(struct solution_runner *runner, const struct solution *solution,
                    const struct run_tensor tensors[OPERAND_COUNT], int repeats)
{
    g_autofree double *seconds = g_new0(double, (gsize)repeats);
    double best = G_MAXDOUBLE;

    solution_run_times(runner, solution, tensors, repeats, seconds);
    for (int i = 0; i < repeats; i++)
        best = MIN(best, seconds[i]);
    return best;
}
