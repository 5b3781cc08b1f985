#include "tests/support/solution_run.h"

#include <string.h>

#include "kernels/kernel_source.h"
#include "kernels/opencl.h"
#include "kernels/program.h"

/* Bytes before and behind the workspace that no launch may touch. */
#define GUARD      512
#define GUARD_BYTE 0xff

struct solution_runner {
    const struct opencl *cl;
    cl_device_id device;
    bool is_gpu;
    cl_context context;
    cl_command_queue queue;
    struct target target;
    GHashTable *kernels; /* "file entry options" to cl_kernel */
    double compile_seconds;
};

#define must(call)                                                                                 \
    do {                                                                                           \
        cl_int must_status = (call);                                                               \
        if (must_status != CL_SUCCESS)                                                             \
            g_error("%s: %s", #call, opencl_error_name(must_status));                              \
    } while (0)

/* Attributes of NVIDIA's that every driver of theirs knows (cl_nv_device_attribute_query). */
#define NV_COMPUTE_CAPABILITY_MAJOR 0x4000
#define NV_COMPUTE_CAPABILITY_MINOR 0x4001

static bool is_gpu(const struct opencl *cl, cl_device_id device)
{
    cl_device_type type = 0;

    must(cl->GetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL));
    return (type & CL_DEVICE_TYPE_GPU) != 0;
}

static void set_nvidia_target(const struct opencl *cl, cl_device_id device, struct target *t)
{
    cl_uint major = 0, minor = 0, units = 0;
    cl_ulong memory = 0;

    must(cl->GetDeviceInfo(device, NV_COMPUTE_CAPABILITY_MAJOR, sizeof(major), &major, NULL));
    must(cl->GetDeviceInfo(device, NV_COMPUTE_CAPABILITY_MINOR, sizeof(minor), &minor, NULL));
    must(cl->GetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL));
    must(cl->GetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL));
    *t = (struct target){.vendor = VENDOR_NVIDIA, .compute_units = (int)units};
    t->memory_gib = (int)(memory >> 30);
    g_snprintf(t->arch, sizeof(t->arch), "sm_%u%u", major, minor);
    target_set_id(t);
    target_set_limits(t);
}

/* The first GPU of NVIDIA's that OpenCL shows: the kernels' text is the same there. */
static bool find_gpu(struct solution_runner *runner, GError **error)
{
    cl_device_id devices[16];
    int count = opencl_devices(devices, G_N_ELEMENTS(devices), error);

    for (int i = 0; i < count; i++) {
        if (!is_gpu(runner->cl, devices[i]))
            continue;
        runner->device = devices[i];
        runner->is_gpu = true;
        set_nvidia_target(runner->cl, devices[i], &runner->target);
        return true;
    }
    if (count >= 0)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "none of OpenCL's %d devices is a GPU", count);
    return false;
}

static bool find_device(struct solution_runner *runner, GError **error)
{
    if (g_strcmp0(g_getenv("SKIPJACK_TEST_DEVICE"), "gpu") == 0)
        return find_gpu(runner, error);
    return opencl_host_device(&runner->device, &runner->target, error);
}

struct solution_runner *solution_runner_new(const char *cache_dir)
{
    g_autoptr(GError) error = NULL;
    struct solution_runner *runner = g_new0(struct solution_runner, 1);
    cl_int status = CL_SUCCESS;

    opencl_environment(cache_dir);
    runner->cl = opencl_open(&error);
    if (!runner->cl || !find_device(runner, &error)) {
        g_test_message("%s", error->message);
        g_free(runner);
        return NULL;
    }
    runner->context = runner->cl->CreateContext(NULL, 1, &runner->device, NULL, NULL, &status);
    must(status);
    runner->queue = runner->cl->CreateCommandQueue(runner->context, runner->device, 0, &status);
    must(status);
    runner->kernels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return runner;
}

void solution_runner_free(struct solution_runner *runner)
{
    GHashTableIter iter;
    gpointer kernel;

    g_hash_table_iter_init(&iter, runner->kernels);
    while (g_hash_table_iter_next(&iter, NULL, &kernel))
        runner->cl->ReleaseKernel(kernel);
    g_hash_table_unref(runner->kernels);
    runner->cl->ReleaseCommandQueue(runner->queue);
    runner->cl->ReleaseContext(runner->context);
    g_free(runner);
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

/* Through the toolchain, and loaded from its binary as a worker loads it. */
static cl_program compile_for_cpu(struct solution_runner *runner, const struct launch *launch)
{
    g_autoptr(GError) error = NULL;
    const struct program launched = {launch->file, launch->options, launch->entry, NULL};
    struct code_object object;
    cl_int status = CL_SUCCESS;
    const unsigned char *code;
    cl_program program;
    gsize size;

    if (!program_build(toolchain_find("opencl"), &launched, &runner->target, &object, &error))
        g_error("%s\n%s", error->message, object.log);
    code = g_bytes_get_data(object.code, &size);
    program = runner->cl->CreateProgramWithBinary(runner->context, 1, &runner->device, &size, &code,
                                                  NULL, &status);
    must(status);
    must(runner->cl->BuildProgram(program, 1, &runner->device, NULL, NULL, NULL));
    code_object_clear(&object);
    return program;
}

static cl_program compile_for_gpu(struct solution_runner *runner, const struct launch *launch)
{
    g_autoptr(GError) error = NULL;
    const struct kernel_source *source = kernel_source_find(launch->file, &error);
    const char *text = source ? source->text : NULL;
    g_autofree char *options = g_strconcat("-cl-std=CL1.2 ", launch->options, NULL);
    char log[8192] = "";
    cl_int status = CL_SUCCESS;
    cl_program program =
        runner->cl->CreateProgramWithSource(runner->context, 1, &text, NULL, &status);

    g_assert_no_error(error);
    must(status);
    status = runner->cl->BuildProgram(program, 1, &runner->device, options, NULL, NULL);
    if (status != CL_SUCCESS) {
        runner->cl->GetProgramBuildInfo(program, runner->device, CL_PROGRAM_BUILD_LOG,
                                        sizeof(log) - 1, log, NULL);
        g_error("%s %s: %s\n%s", launch->file, options, opencl_error_name(status), log);
    }
    return program;
}

static cl_kernel compile(struct solution_runner *runner, const struct launch *launch)
{
    gint64 start = g_get_monotonic_time();
    cl_int status = CL_SUCCESS;
    cl_program program;
    cl_kernel kernel;

    program = runner->is_gpu ? compile_for_gpu(runner, launch) : compile_for_cpu(runner, launch);
    kernel = runner->cl->CreateKernel(program, launch->entry, &status);
    must(status);
    runner->cl->ReleaseProgram(program);
    runner->compile_seconds += (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    return kernel;
}

static cl_kernel find_kernel(struct solution_runner *runner, const struct launch *launch)
{
    g_autofree char *name = g_strjoin(" ", launch->file, launch->entry, launch->options, NULL);
    cl_kernel kernel = g_hash_table_lookup(runner->kernels, name);

    if (!kernel) {
        kernel = compile(runner, launch);
        g_hash_table_insert(runner->kernels, g_steal_pointer(&name), kernel);
    }
    return kernel;
}

static cl_mem new_buffer(struct solution_runner *runner, gsize bytes, const void *data)
{
    cl_int status = CL_SUCCESS;
    cl_mem buffer =
        runner->cl->CreateBuffer(runner->context, CL_MEM_READ_WRITE, bytes, NULL, &status);

    must(status);
    if (data)
        must(runner->cl->EnqueueWriteBuffer(runner->queue, buffer, CL_TRUE, 0, bytes, data, 0, NULL,
                                            NULL));
    return buffer;
}

static cl_mem sub_buffer(struct solution_runner *runner, cl_mem whole, gsize start, gsize bytes)
{
    cl_buffer_region region = {start, bytes};
    cl_int status = CL_SUCCESS;
    cl_mem part = runner->cl->CreateSubBuffer(whole, CL_MEM_READ_WRITE,
                                              CL_BUFFER_CREATE_TYPE_REGION, &region, &status);

    must(status);
    return part;
}

/* The buffers of one run, and what kernels see of them. A slice of the workspace goes from its offset
 * to the workspace's end. */
struct bound {
    const struct solution *solution;
    const struct run_tensor *strides;
    cl_mem buffers[TENSOR_COUNT], tensors[TENSOR_COUNT], workspace;
    cl_mem slices[SOLUTION_LAUNCHES_MAX * LAUNCH_ARGS_MAX];
    int slice_count;
};

static cl_mem *workspace_slice(struct solution_runner *runner, struct bound *bound, int64_t offset)
{
    cl_mem *slice = &bound->slices[bound->slice_count++];

    *slice = sub_buffer(runner, bound->workspace, GUARD + (gsize)offset,
                        (gsize)bound->solution->workspace_bytes - (gsize)offset);
    return slice;
}

static void set_argument(struct solution_runner *runner, cl_kernel kernel, cl_uint index,
                         const struct launch_arg *arg, struct bound *bound)
{
    cl_int int32 = (cl_int)arg->value;
    cl_long int64 = arg->value;
    cl_float real = (cl_float)arg->real;
    const void *value = &int64;
    size_t size = sizeof(int64);

    switch (arg->kind) {
    case ARG_TENSOR:
        value = &bound->tensors[arg->tensor];
        size = sizeof(cl_mem);
        break;
    case ARG_WORKSPACE:
        value = workspace_slice(runner, bound, arg->value);
        size = sizeof(cl_mem);
        break;
    case ARG_INT32:
        value = &int32;
        size = sizeof(int32);
        break;
    case ARG_FLOAT32:
        value = &real;
        size = sizeof(real);
        break;
    case ARG_STRIDE: int64 = bound->strides[arg->tensor].strides[arg->value] * arg->factor; break;
    case ARG_INT64: break;
    }
    must(runner->cl->SetKernelArg(kernel, index, size, value));
}

static void enqueue(struct solution_runner *runner, const struct launch *launch,
                    struct bound *bound)
{
    cl_kernel kernel = find_kernel(runner, launch);
    size_t grid[3], block[3];

    for (int i = 0; i < launch->arg_count; i++)
        set_argument(runner, kernel, (cl_uint)i, &launch->args[i], bound);
    for (int i = 0; i < 3; i++) {
        grid[i] = (size_t)launch->grid[i];
        block[i] = (size_t)launch->block[i];
    }
    must(runner->cl->EnqueueNDRangeKernel(runner->queue, kernel, 3, NULL, grid, block, 0, NULL,
                                          NULL));
}

static void bind(struct solution_runner *runner, struct bound *bound)
{
    gsize bytes = (gsize)bound->solution->workspace_bytes + 2 * (gsize)GUARD;

    for (int t = 0; t < TENSOR_COUNT; t++) {
        const struct run_tensor *tensor = &bound->strides[t];
        bound->buffers[t] = new_buffer(runner, tensor->bytes, tensor->data);
        bound->tensors[t] =
            sub_buffer(runner, bound->buffers[t], tensor->start, tensor->bytes - tensor->start);
    }
    if (bound->solution->workspace_bytes > 0) {
        g_autofree void *poison = g_malloc(bytes);
        memset(poison, GUARD_BYTE, bytes);
        bound->workspace = new_buffer(runner, bytes, poison);
    }
}

/* `behind` is how many bytes of the workspace come before what is looked at. */
static int count_stray(struct solution_runner *runner, struct bound *bound, gsize behind)
{
    guint8 guard[GUARD];
    int stray = 0;

    must(runner->cl->EnqueueReadBuffer(runner->queue, bound->workspace, CL_TRUE, behind,
                                       sizeof(guard), guard, 0, NULL, NULL));
    for (gsize i = 0; i < sizeof(guard); i++)
        stray += guard[i] != GUARD_BYTE;
    return stray;
}

static void unbind_workspace(struct solution_runner *runner, struct bound *bound)
{
    int before = count_stray(runner, bound, 0);
    int behind = count_stray(runner, bound, GUARD + (gsize)bound->solution->workspace_bytes);

    if (before > 0 || behind > 0) {
        g_test_message("%s: %d bytes before the workspace and %d behind it were written",
                       bound->solution->launches[0].file, before, behind);
        g_test_fail();
    }
    runner->cl->ReleaseMemObject(bound->workspace);
}

static void unbind(struct solution_runner *runner, struct bound *bound)
{
    const struct opencl *cl = runner->cl;

    for (int i = 0; i < bound->slice_count; i++)
        cl->ReleaseMemObject(bound->slices[i]);
    if (bound->workspace)
        unbind_workspace(runner, bound);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        cl->ReleaseMemObject(bound->tensors[t]);
        must(cl->EnqueueReadBuffer(runner->queue, bound->buffers[t], CL_TRUE, 0,
                                   bound->strides[t].bytes, bound->strides[t].data, 0, NULL, NULL));
        cl->ReleaseMemObject(bound->buffers[t]);
    }
}

void solution_run_times(struct solution_runner *runner, const struct solution *solution,
                        const struct run_tensor tensors[TENSOR_COUNT], int repeats, double *seconds)
{
    struct bound bound = {.solution = solution, .strides = tensors};

    bind(runner, &bound);
    for (int i = 0; i < solution->launch_count; i++)
        find_kernel(runner, &solution->launches[i]);
    for (int repeat = 0; repeat < repeats; repeat++) {
        gint64 start = g_get_monotonic_time();
        for (int i = 0; i < bound.slice_count; i++)
            runner->cl->ReleaseMemObject(bound.slices[i]);
        bound.slice_count = 0;
        for (int i = 0; i < solution->launch_count; i++)
            enqueue(runner, &solution->launches[i], &bound);
        must(runner->cl->Finish(runner->queue));
        seconds[repeat] = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    }
    unbind(runner, &bound);
}

double solution_run(struct solution_runner *runner, const struct solution *solution,
                    const struct run_tensor tensors[TENSOR_COUNT], int repeats)
{
    g_autofree double *seconds = g_new0(double, (gsize)repeats);
    double best = G_MAXDOUBLE;

    solution_run_times(runner, solution, tensors, repeats, seconds);
    for (int i = 0; i < repeats; i++)
        best = MIN(best, seconds[i]);
    return best;
}
