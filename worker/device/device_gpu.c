/*
 * A GPU of AMD or NVIDIA: one context and one stream, over the vendor's table of functions (gpu_api.h). Memory is a
 * plain address, so a slice is an address, too.
 */
#include <string.h>

#include "worker/device/gpu_api.h"
#include "worker/device/gpu_monitor.h"

#define SLICE_ALIGNMENT 256 /* both vendors align allocations at least this much */
#define ARGS_MAX        64  /* most arguments of a launch: LAUNCH_ARGS_MAX of a solution */
#define NON_BLOCKING    1   /* hipStreamNonBlocking, CU_STREAM_NON_BLOCKING */

struct gpu_device {
    struct device device; /* first */
    const struct gpu_library *library;
    const struct gpu_api *api;
    hipStream_t stream;
    struct device_info info;
};

struct device_memory {
    struct gpu_device *owner;
    char *address; /* the device's */
    bool is_slice;
};

struct device_program {
    struct gpu_device *owner;
    hipModule_t module;
};

struct device_kernel {
    struct gpu_device *owner;
    hipFunction_t function;
    /* Bytes of dynamic local memory that its launches may ask for, as allow_local() allowed. */
    int64_t local_bytes;
};

struct device_event {
    struct gpu_device *owner;
    hipEvent_t event;
};

static bool check(const struct gpu_device *d, int status, enum device_error code, const char *doing,
                  GError **error)
{
    return gpu_check(d->library, status, code, doing, error);
}

/* got_work() is called when work was enqueued, is_done() when all work has ended: they add up
 * busy_seconds. */
static void got_work(struct device *device)
{
    if (device->busy_since_us == 0)
        device->busy_since_us = g_get_monotonic_time();
}

static void is_done(struct device *device)
{
    if (device->busy_since_us > 0)
        device->busy_seconds += (double)(g_get_monotonic_time() - device->busy_since_us) / 1e6;
    device->busy_since_us = 0;
}

/* ---- the device ---- */

static int gpu_count(const struct gpu_vendor *vendor, GError **error)
{
    const struct gpu_library *library = gpu_library_open(vendor, error);
    int count = 0, status;

    if (!library)
        return -1;
    status = library->api.GetDeviceCount(&count);
    if (status == hipErrorNoDevice)
        return 0;
    return gpu_check(library, status, DEVICE_ERROR_UNAVAILABLE, "count the GPUs", error) ? count
                                                                                         : -1;
}

static bool ask(const struct gpu_device *d, hipDevice_t id, enum gpu_attribute which, int *value,
                GError **error)
{
    hipDeviceAttribute_t number = (hipDeviceAttribute_t)d->library->vendor->attributes[which];

    return check(d, d->api->DeviceGetAttribute(value, number, id), DEVICE_ERROR_UNAVAILABLE,
                 "ask for a GPU's attribute", error);
}

/* Refuses attributes with values that no GPU has: the driver answers a wrong attribute number
 * with a wrong value instead of an error. */
static bool check_attributes(const int *values, GError **error)
{
    if (values[GPU_UNITS] >= 1 && values[GPU_UNITS] <= 4096 && values[GPU_ITEMS_MAX] >= 64 &&
        values[GPU_ITEMS_MAX] <= 4096 && (values[GPU_WAVE] == 32 || values[GPU_WAVE] == 64) &&
        values[GPU_LOCAL_BYTES] >= 1024 && values[GPU_LOCAL_BYTES] <= 1 << 20 &&
        values[GPU_CACHE_BYTES] >= 0)
        return true;
    g_set_error(
        error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
        "the GPU reports %d units of %d lanes, %d work-items and %d bytes of local "
        "memory in a workgroup, which no GPU has: this program does not know its library's version",
        values[GPU_UNITS], values[GPU_WAVE], values[GPU_ITEMS_MAX], values[GPU_LOCAL_BYTES]);
    return false;
}

static bool fill_target(struct gpu_device *d, hipDevice_t id, GError **error)
{
    struct target *target = &d->info.target;
    int values[GPU_ATTRIBUTE_COUNT] = {0};

    for (int i = 0; i < GPU_ATTRIBUTE_COUNT; i++)
        if (!ask(d, id, (enum gpu_attribute)i, &values[i], error))
            return false;
    if (!check_attributes(values, error) ||
        !d->library->vendor->name_target(d->library, id, target, error))
        return false;
    target->compute_units = values[GPU_UNITS];
    /* A newer driver may report a partition that targets do not know: it then stays in the
     * identity only. */
    target_set_partition(target, d->info.identity.partition);
    target_set_id(target);
    target_set_limits(target);
    target->wave_size = values[GPU_WAVE];
    target->max_workgroup = values[GPU_ITEMS_MAX];
    target->local_bytes = values[GPU_LOCAL_BYTES];
    d->info.cache_bytes = values[GPU_CACHE_BYTES];
    return true;
}

/* Makes a stack text such as "cuda 13.0; driver 580.159.03": the runtime's version, then the
 * driver's if it is known. */
static void fill_stack(struct gpu_device *d, int version, const char *driver)
{
    const struct gpu_vendor *vendor = d->library->vendor;

    g_snprintf(d->info.stack, sizeof(d->info.stack), "%s %d.%d%s%s", vendor->name,
               version / vendor->major_unit, version % vendor->major_unit / vendor->minor_unit,
               driver[0] ? "; driver " : "", driver);
}

static bool fill_info(struct gpu_device *d, hipDevice_t id, GError **error)
{
    char driver[DRIVER_VERSION_MAX];
    size_t bytes = 0;
    int version = 0;

    gpu_identify(d->library, id, &d->info.identity);
    gpu_monitor_describe(d->library->vendor->makes, &d->info.identity, driver);
    if (!fill_target(d, id, error) ||
        !check(d, d->api->DeviceTotalMem(&bytes, id), DEVICE_ERROR_UNAVAILABLE,
               "ask for the GPU's memory", error) ||
        !check(d, d->api->DriverGetVersion(&version), DEVICE_ERROR_UNAVAILABLE,
               "ask for the runtime's version", error))
        return false;
    d->api->DeviceGetName(d->info.name, sizeof(d->info.name) - 1, id);
    d->info.memory_bytes = d->info.largest_bytes = (int64_t)bytes;
    d->info.slice_alignment = SLICE_ALIGNMENT;
    fill_stack(d, version, driver);
    return true;
}

static void identify(const struct gpu_vendor *vendor, int index, struct device_identity *identity)
{
    const struct gpu_library *library = gpu_library_open(vendor, NULL);
    hipDevice_t id = 0;

    if (library && library->api.DeviceGet(&id, index) == hipSuccess)
        gpu_identify(library, id, identity);
}

static void gpu_close(struct device *device)
{
    struct gpu_device *d = (struct gpu_device *)device;

    if (d->stream)
        d->api->StreamDestroy(d->stream);
    g_free(d);
}

static struct device *gpu_open(const struct device_row *row, const struct gpu_vendor *vendor,
                               int index, GError **error)
{
    const struct gpu_library *library = gpu_library_open(vendor, error);
    struct gpu_device *d;
    hipDevice_t id = 0;

    if (!library)
        return NULL;
    d = g_new0(struct gpu_device, 1);
    *d = (struct gpu_device){.device.row = row, .library = library, .api = &library->api};
    if (check(d, d->api->DeviceGet(&id, index), DEVICE_ERROR_UNAVAILABLE, "find the GPU", error) &&
        fill_info(d, id, error) && vendor->enter(library, id, error) &&
        check(d, d->api->StreamCreateWithFlags(&d->stream, NON_BLOCKING), DEVICE_ERROR_UNAVAILABLE,
              "make a stream", error))
        return &d->device;
    gpu_close(&d->device);
    return NULL;
}

static const struct device_info *gpu_info(const struct device *device)
{
    return &((const struct gpu_device *)device)->info;
}

/* ---- memory ---- */

static struct device_memory *memory_new(struct gpu_device *d, char *address, bool is_slice)
{
    struct device_memory *memory = g_new(struct device_memory, 1);

    *memory = (struct device_memory){d, address, is_slice};
    return memory;
}

static struct device_memory *gpu_alloc(struct device *device, int64_t bytes, GError **error)
{
    struct gpu_device *d = (struct gpu_device *)device;
    void *address = NULL;

    if (!check(d, d->api->Malloc(&address, (size_t)bytes), DEVICE_ERROR_MEMORY,
               "allocate device memory", error))
        return NULL;
    return memory_new(d, address, false);
}

static struct device_memory *gpu_slice(struct device_memory *memory, int64_t offset, int64_t bytes,
                                       GError **error)
{
    (void)bytes;
    (void)error;
    return memory_new(memory->owner, memory->address + offset, true);
}

static void gpu_memory_free(struct device_memory *memory)
{
    if (!memory)
        return;
    if (!memory->is_slice)
        memory->owner->api->Free(memory->address);
    g_free(memory);
}

static bool finish(struct gpu_device *d, GError **error)
{
    int status = d->api->StreamSynchronize(d->stream);

    is_done(&d->device);
    return check(d, status, DEVICE_ERROR_FAULT, "wait for the device", error);
}

static bool gpu_write(struct device_memory *to, int64_t offset, const void *from, int64_t bytes,
                      GError **error)
{
    struct gpu_device *d = to->owner;
    int status = d->api->MemcpyHtoDAsync(to->address + offset, (void *)(uintptr_t)from,
                                         (size_t)bytes, d->stream);

    return check(d, status, DEVICE_ERROR_FAULT, "write device memory", error) && finish(d, error);
}

static bool gpu_read(struct device_memory *from, int64_t offset, void *to, int64_t bytes,
                     GError **error)
{
    struct gpu_device *d = from->owner;
    int status = d->api->MemcpyDtoHAsync(to, from->address + offset, (size_t)bytes, d->stream);

    return check(d, status, DEVICE_ERROR_FAULT, "read device memory", error) && finish(d, error);
}

static bool gpu_copy(struct device_memory *from, struct device_memory *to, int64_t bytes,
                     GError **error)
{
    struct gpu_device *d = to->owner;

    got_work(&d->device);
    return check(d, d->api->MemcpyDtoDAsync(to->address, from->address, (size_t)bytes, d->stream),
                 DEVICE_ERROR_FAULT, "copy device memory", error);
}

static bool gpu_fill(struct device_memory *memory, int64_t offset, int64_t bytes, uint8_t value,
                     GError **error)
{
    struct gpu_device *d = memory->owner;

    got_work(&d->device);
    return check(d,
                 d->api->MemsetD8Async(memory->address + offset, value, (size_t)bytes, d->stream),
                 DEVICE_ERROR_FAULT, "fill device memory", error);
}

/* ---- programs and launches ---- */

static struct device_program *gpu_load(struct device *device, GBytes *code, GError **error)
{
    struct gpu_device *d = (struct gpu_device *)device;
    hipModule_t module = NULL;
    int status = d->api->ModuleLoadData(&module, g_bytes_get_data(code, NULL));

    if (!check(d, status, DEVICE_ERROR_LOAD, "load a code object", error))
        return NULL;
    struct device_program *program = g_new(struct device_program, 1);
    *program = (struct device_program){d, module};
    return program;
}

static void gpu_program_free(struct device_program *program)
{
    if (!program)
        return;
    program->owner->api->ModuleUnload(program->module);
    g_free(program);
}

static struct device_kernel *gpu_kernel(struct device_program *program, const char *entry,
                                        GError **error)
{
    struct gpu_device *d = program->owner;
    hipFunction_t function = NULL;
    g_autofree char *doing = g_strdup_printf("find the kernel '%s'", entry);

    if (!check(d, d->api->ModuleGetFunction(&function, program->module, entry), DEVICE_ERROR_LOAD,
               doing, error))
        return NULL;
    struct device_kernel *kernel = g_new(struct device_kernel, 1);
    *kernel = (struct device_kernel){d, function, d->info.target.local_bytes};
    return kernel;
}

static void gpu_kernel_free(struct device_kernel *kernel)
{
    g_free(kernel);
}

static bool allow_local(struct gpu_device *d, struct device_kernel *kernel, int64_t bytes,
                        GError **error)
{
    const struct gpu_vendor *vendor = d->library->vendor;

    if (bytes <= kernel->local_bytes || !vendor->allow_local)
        return true;
    if (!vendor->allow_local(d->library, kernel->function, bytes, error))
        return false;
    kernel->local_bytes = bytes;
    return true;
}

/* The vendors' APIs count a grid in workgroups; struct device_launch counts it in work-items. */
static bool gpu_launch(struct device *device, const struct device_launch *launch, GError **error)
{
    struct gpu_device *d = (struct gpu_device *)device;
    void *args[ARGS_MAX];
    unsigned groups[3], items[3];

    g_assert(launch->arg_count <= ARGS_MAX);
    for (int i = 0; i < launch->arg_count; i++) {
        const struct device_arg *arg = &launch->args[i];
        args[i] = arg->memory ? (void *)&arg->memory->address : (void *)(uintptr_t)&arg->value;
    }
    for (int i = 0; i < 3; i++) {
        items[i] = (unsigned)launch->block[i];
        groups[i] = (unsigned)(launch->grid[i] / launch->block[i]);
    }
    got_work(device);
    return allow_local(d, launch->kernel, launch->local_bytes, error) &&
           check(d,
                 d->api->ModuleLaunchKernel(launch->kernel->function, groups[0], groups[1],
                                            groups[2], items[0], items[1], items[2],
                                            (unsigned)launch->local_bytes, d->stream, args, NULL),
                 DEVICE_ERROR_LAUNCH, "launch a kernel", error);
}

/* ---- graphs ---- */

/* The modes of a capture and the functions below have the same numbers and arguments in both libraries. */
#define CAPTURE_RELAXED 2 /* hipStreamCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED */

/* Functions that older libraries lack, so they are looked up when a graph is made. */
struct graph_functions {
    int (*begin)(hipStream_t stream, int mode);
    int (*end)(hipStream_t stream, void **graph);
    int (*instantiate)(void **instance, void *graph, unsigned long long flags);
    int (*launch)(void *instance, hipStream_t stream);
    int (*destroy_instance)(void *instance);
    int (*destroy)(void *graph);
};

static const struct {
    const char *names[2]; /* HIP's, CUDA's */
    size_t offset;
} graph_symbols[] = {
#define GRAPH_ROW(hip, cuda, member)                                                               \
    {                                                                                              \
        {hip, cuda}, offsetof(struct graph_functions, member)                                      \
    }
    GRAPH_ROW("hipStreamBeginCapture", "cuStreamBeginCapture_v2", begin),
    GRAPH_ROW("hipStreamEndCapture", "cuStreamEndCapture", end),
    GRAPH_ROW("hipGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", instantiate),
    GRAPH_ROW("hipGraphLaunch", "cuGraphLaunch", launch),
    GRAPH_ROW("hipGraphExecDestroy", "cuGraphExecDestroy", destroy_instance),
    GRAPH_ROW("hipGraphDestroy", "cuGraphDestroy", destroy),
#undef GRAPH_ROW
};

struct device_graph {
    struct gpu_device *owner;
    struct graph_functions functions;
    void *instance;
};

static bool find_graph_functions(const struct gpu_device *d, struct graph_functions *functions,
                                 GError **error)
{
    int vendor = d->library->vendor->makes == VENDOR_NVIDIA;

    for (size_t i = 0; i < G_N_ELEMENTS(graph_symbols); i++)
        if (!gpu_symbol(d->library, graph_symbols[i].names[vendor],
                        (char *)functions + graph_symbols[i].offset, error))
            return false;
    return true;
}

static bool gpu_capture_begin(struct device *device, GError **error)
{
    struct gpu_device *d = (struct gpu_device *)device;
    struct graph_functions functions;

    return find_graph_functions(d, &functions, error) &&
           check(d, functions.begin(d->stream, CAPTURE_RELAXED), DEVICE_ERROR_LAUNCH,
                 "begin to record a graph", error);
}

static struct device_graph *gpu_capture_end(struct device *device, GError **error)
{
    struct gpu_device *d = (struct gpu_device *)device;
    struct device_graph *graph = g_new0(struct device_graph, 1);
    void *recorded = NULL;

    graph->owner = d;
    is_done(device);
    bool made = find_graph_functions(d, &graph->functions, error) &&
                check(d, graph->functions.end(d->stream, &recorded), DEVICE_ERROR_LAUNCH,
                      "end recording a graph", error) &&
                check(d, graph->functions.instantiate(&graph->instance, recorded, 0),
                      DEVICE_ERROR_LAUNCH, "make a graph ready", error);
    if (recorded)
        graph->functions.destroy(recorded);
    if (!made)
        g_clear_pointer(&graph, g_free);
    return graph;
}

static bool gpu_graph_launch(struct device *device, struct device_graph *graph, GError **error)
{
    struct gpu_device *d = (struct gpu_device *)device;

    got_work(device);
    return check(d, graph->functions.launch(graph->instance, d->stream), DEVICE_ERROR_LAUNCH,
                 "launch a graph", error);
}

static void gpu_graph_free(struct device_graph *graph)
{
    if (!graph)
        return;
    graph->functions.destroy_instance(graph->instance);
    g_free(graph);
}

/* ---- events ---- */

static void gpu_event_free(struct device_event *event)
{
    if (!event)
        return;
    event->owner->api->EventDestroy(event->event);
    g_free(event);
}

static struct device_event *gpu_record(struct device *device, GError **error)
{
    struct gpu_device *d = (struct gpu_device *)device;
    hipEvent_t made = NULL;

    if (!check(d, d->api->EventCreateWithFlags(&made, 0), DEVICE_ERROR_FAULT, "make an event",
               error))
        return NULL;
    struct device_event *event = g_new(struct device_event, 1);
    *event = (struct device_event){d, made};
    if (check(d, d->api->EventRecord(made, d->stream), DEVICE_ERROR_FAULT, "record an event",
              error))
        return event;
    gpu_event_free(event);
    return NULL;
}

static bool gpu_elapsed(struct device_event *from, struct device_event *to, double *ms,
                        GError **error)
{
    struct gpu_device *d = to->owner;
    float elapsed = 0;
    int status = d->api->EventSynchronize(to->event);

    is_done(&d->device);
    if (!check(d, status, DEVICE_ERROR_FAULT, "wait for the device", error) ||
        !check(d, d->api->EventElapsedTime(&elapsed, from->event, to->event), DEVICE_ERROR_FAULT,
               "read an event's time", error))
        return false;
    *ms = (double)elapsed;
    return true;
}

static bool gpu_sync(struct device *device, GError **error)
{
    return finish((struct gpu_device *)device, error);
}

/* ---- the vendors' rows ---- */

static int cuda_count(GError **error)
{
    return gpu_count(&gpu_vendor_cuda, error);
}

static int hip_count(GError **error)
{
    return gpu_count(&gpu_vendor_hip, error);
}

static void cuda_identify(int index, struct device_identity *identity)
{
    identify(&gpu_vendor_cuda, index, identity);
}

static void hip_identify(int index, struct device_identity *identity)
{
    identify(&gpu_vendor_hip, index, identity);
}

static struct device *cuda_open(int index, GError **error)
{
    return gpu_open(&device_cuda, &gpu_vendor_cuda, index, error);
}

static struct device *hip_open(int index, GError **error)
{
    return gpu_open(&device_hip, &gpu_vendor_hip, index, error);
}

#define GPU_DEVICE(vendor)                                                                         \
    {                                                                                              \
        .name = #vendor, .count = vendor##_count, .identify = vendor##_identify,                   \
        .open = vendor##_open, .close = gpu_close, .info = gpu_info, .alloc = gpu_alloc,           \
        .slice = gpu_slice, .memory_free = gpu_memory_free, .write = gpu_write, .read = gpu_read,  \
        .copy = gpu_copy, .fill = gpu_fill, .load = gpu_load, .program_free = gpu_program_free,    \
        .kernel = gpu_kernel, .kernel_free = gpu_kernel_free, .launch = gpu_launch,                \
        .record = gpu_record, .event_free = gpu_event_free, .elapsed = gpu_elapsed,                \
        .sync = gpu_sync, .capture_begin = gpu_capture_begin, .capture_end = gpu_capture_end,      \
        .graph_launch = gpu_graph_launch, .graph_free = gpu_graph_free                             \
    }

const struct device_row device_cuda = GPU_DEVICE(cuda);
const struct device_row device_hip = GPU_DEVICE(hip);
