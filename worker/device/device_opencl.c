/*
 * Any OpenCL 1.2 device that has a target: one context and one in-order queue with profiling. An event is a marker; its
 * end time comes from the device's own clock.
 */
#include <string.h>

#include "kernels/toolchains/opencl.h"
#include "worker/device/device.h"

#define DEVICES_MAX 64

struct opencl_device {
    struct device device; /* first */
    const struct opencl *cl;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    struct device_info info;
};

struct device_memory {
    struct opencl_device *owner;
    cl_mem mem;
    int64_t bytes;
    /* The whole allocation: `mem` itself, or the allocation of which `mem` is a slice. */
    cl_mem whole;
    int64_t offset; /* in whole */
};

struct device_program {
    struct opencl_device *owner;
    cl_program program;
};

struct device_kernel {
    struct opencl_device *owner;
    cl_kernel kernel;
};

struct device_event {
    struct opencl_device *owner;
    cl_event event;
};

static bool out_of_memory(cl_int status)
{
    return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY;
}

/* Whether the status is success. If not, sets an error of `code`, or of DEVICE_ERROR_MEMORY if
 * the status means a lack of memory. */
static bool check(cl_int status, enum device_error code, const char *doing, GError **error)
{
    if (status == CL_SUCCESS)
        return true;
    g_set_error(error, DEVICE_ERROR, out_of_memory(status) ? DEVICE_ERROR_MEMORY : code,
                "cannot %s: %s", doing, opencl_error_name(status));
    return false;
}

/* ---- the device ---- */

/* Lists OpenCL's devices that have a target, and returns their number; -1 with an error if
 * OpenCL is not installed. */
static int usable_devices(cl_device_id *usable, GError **error)
{
    cl_device_id devices[DEVICES_MAX];
    struct target target;
    int count = opencl_devices(devices, DEVICES_MAX, error), found = 0;

    for (int i = 0; i < count; i++)
        if (opencl_device_target(devices[i], &target, NULL))
            usable[found++] = devices[i];
    return count < 0 ? count : found;
}

static int opencl_count(GError **error)
{
    cl_device_id usable[DEVICES_MAX];

    return usable_devices(usable, error);
}

static bool find_device(int index, struct opencl_device *d, GError **error)
{
    cl_device_id usable[DEVICES_MAX];
    int count = usable_devices(usable, error);

    if (count < 0)
        return false;
    if (index >= count) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                    "no device %d: OpenCL has %d usable devices", index, count);
        return false;
    }
    d->id = usable[index];
    return opencl_device_target(d->id, &d->info.target, error);
}

static int64_t ask(const struct opencl_device *d, cl_device_info what, size_t size)
{
    uint64_t number = 0;

    d->cl->GetDeviceInfo(d->id, what, size, &number, NULL);
    return (int64_t)number;
}

/* Appends a GPU's driver to the stack. On a CPU the runtime is the driver. */
static void add_driver(struct opencl_device *d)
{
    char driver[64] = "";
    cl_device_type type = 0;
    d->cl->GetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    if (!(type & CL_DEVICE_TYPE_GPU) ||
        d->cl->GetDeviceInfo(d->id, CL_DRIVER_VERSION, sizeof(driver) - 1, driver, NULL) !=
            CL_SUCCESS)
        return;
    g_strlcat(d->info.stack, "; driver ", sizeof(d->info.stack));
    g_strlcat(d->info.stack, driver, sizeof(d->info.stack));
}

static bool fill_info(struct opencl_device *d, GError **error)
{
    char version[OPENCL_VERSION_MAX];

    if (!opencl_device_version(d->id, version, error))
        return false;
    g_snprintf(d->info.stack, sizeof(d->info.stack), "opencl %s", version);
    add_driver(d);
    d->cl->GetDeviceInfo(d->id, CL_DEVICE_NAME, sizeof(d->info.name) - 1, d->info.name, NULL);
    d->info.memory_bytes = ask(d, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong));
    d->info.largest_bytes = ask(d, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong));
    d->info.cache_bytes = ask(d, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof(cl_ulong));
    d->info.slice_alignment = (int)ask(d, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(cl_uint)) / 8;
    return true;
}

static void opencl_close(struct device *device)
{
    struct opencl_device *d = (struct opencl_device *)device;

    if (d->queue)
        d->cl->ReleaseCommandQueue(d->queue);
    if (d->context)
        d->cl->ReleaseContext(d->context);
    g_free(d);
}

/* Opens a queue with profiling, which gives each event the device's own time. The queue runs its
 * work in order, as struct device_row promises. */
static bool open_queue(struct opencl_device *d, GError **error)
{
    cl_int status = CL_SUCCESS;

    d->context = d->cl->CreateContext(NULL, 1, &d->id, NULL, NULL, &status);
    if (!check(status, DEVICE_ERROR_UNAVAILABLE, "create an OpenCL context", error))
        return false;
    d->queue = d->cl->CreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &status);
    return check(status, DEVICE_ERROR_UNAVAILABLE, "create an OpenCL queue with profiling", error);
}

static struct device *opencl_device_open(int index, GError **error)
{
    struct opencl_device *d = g_new0(struct opencl_device, 1);

    d->device.row = &device_opencl;
    d->cl = opencl_open(error);
    if (d->cl && find_device(index, d, error) && fill_info(d, error) && open_queue(d, error))
        return &d->device;
    opencl_close(&d->device);
    return NULL;
}

static const struct device_info *opencl_info(const struct device *device)
{
    return &((const struct opencl_device *)device)->info;
}

/* ---- memory ---- */

static struct device_memory *memory_new(struct opencl_device *d, cl_mem mem, int64_t bytes)
{
    struct device_memory *memory = g_new(struct device_memory, 1);

    *memory = (struct device_memory){.owner = d, .mem = mem, .bytes = bytes, .whole = mem};
    return memory;
}

static struct device_memory *opencl_alloc(struct device *device, int64_t bytes, GError **error)
{
    struct opencl_device *d = (struct opencl_device *)device;
    cl_int status = CL_SUCCESS;
    cl_mem mem;

    /* Checked here since the driver's error would not name the two sizes. */
    if (bytes > d->info.largest_bytes) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_MEMORY,
                    "cannot allocate %" G_GINT64_FORMAT
                    " bytes: the device allows %" G_GINT64_FORMAT,
                    bytes, d->info.largest_bytes);
        return NULL;
    }
    mem = d->cl->CreateBuffer(d->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &status);
    if (!check(status, DEVICE_ERROR_MEMORY, "allocate device memory", error))
        return NULL;
    return memory_new(d, mem, bytes);
}

/* The address of an allocation. Only for CPUs, where kernels and host share one memory, and mapping moves nothing. */
static char *host_address(struct opencl_device *d, cl_mem whole, size_t bytes, GError **error)
{
    cl_int status = CL_SUCCESS;
    char *address = d->cl->EnqueueMapBuffer(d->queue, whole, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                            bytes, 0, NULL, NULL, &status);

    if (!check(status, DEVICE_ERROR_LAUNCH, "map device memory", error) ||
        !check(d->cl->EnqueueUnmapMemObject(d->queue, whole, address, 0, NULL, NULL),
               DEVICE_ERROR_LAUNCH, "unmap device memory", error))
        return NULL;
    return address;
}

static bool shares_memory(const struct opencl_device *d)
{
    cl_device_type type = 0;

    d->cl->GetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    return type & CL_DEVICE_TYPE_CPU;
}

/* Mapping waits for all work that was enqueued before. */
static const void *opencl_view(struct device_memory *memory, GError **error)
{
    if (!shares_memory(memory->owner))
        return NULL;
    const char *whole =
        host_address(memory->owner, memory->whole, (size_t)(memory->offset + memory->bytes), error);
    return whole ? whole + memory->offset : NULL;
}

/* A slice that begins between two addresses that sub-buffers may begin at. OpenCL has none. On a CPU a buffer over the
 * host's memory can begin anywhere, and the memory of a CPU's buffer is the host's. */
static cl_mem slice_anywhere(struct opencl_device *d, cl_mem whole, cl_buffer_region region,
                             GError **error)
{
    cl_int status = CL_SUCCESS;
    cl_mem mem;

    if (!shares_memory(d)) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_LAUNCH,
                    "a slice of device memory begins at byte %zu; this device takes multiples of "
                    "%d",
                    region.origin, d->info.slice_alignment);
        return NULL;
    }
    char *address = host_address(d, whole, region.origin + region.size, error);
    if (!address)
        return NULL;
    mem = d->cl->CreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, region.size,
                              address + region.origin, &status);
    return check(status, DEVICE_ERROR_LAUNCH, "take a slice of device memory", error) ? mem : NULL;
}

static cl_mem slice_aligned(struct opencl_device *d, cl_mem whole, cl_buffer_region region,
                            GError **error)
{
    cl_int status = CL_SUCCESS;
    cl_mem mem = d->cl->CreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                        &region, &status);

    return check(status, DEVICE_ERROR_LAUNCH, "take a slice of device memory", error) ? mem : NULL;
}

static struct device_memory *opencl_slice(struct device_memory *memory, int64_t offset,
                                          int64_t bytes, GError **error)
{
    struct opencl_device *d = memory->owner;
    /* OpenCL cannot make a slice of a slice, and the memory between guard zones is itself a
     * slice: so the slice is made of the whole allocation. */
    cl_buffer_region region = {(size_t)(memory->offset + offset), (size_t)bytes};
    bool aligned = region.origin % (size_t)d->info.slice_alignment == 0;
    cl_mem mem = aligned ? slice_aligned(d, memory->whole, region, error)
                         : slice_anywhere(d, memory->whole, region, error);

    if (!mem)
        return NULL;
    struct device_memory *slice = memory_new(d, mem, bytes);
    slice->whole = memory->whole;
    slice->offset = memory->offset + offset;
    return slice;
}

static void opencl_memory_free(struct device_memory *memory)
{
    if (!memory)
        return;
    memory->owner->cl->ReleaseMemObject(memory->mem);
    g_free(memory);
}

static bool opencl_write(struct device_memory *to, int64_t offset, const void *from, int64_t bytes,
                         GError **error)
{
    struct opencl_device *d = to->owner;
    cl_int status = d->cl->EnqueueWriteBuffer(d->queue, to->mem, CL_TRUE, (size_t)offset,
                                              (size_t)bytes, from, 0, NULL, NULL);

    return check(status, DEVICE_ERROR_FAULT, "write device memory", error);
}

static bool opencl_read(struct device_memory *from, int64_t offset, void *to, int64_t bytes,
                        GError **error)
{
    struct opencl_device *d = from->owner;
    cl_int status = d->cl->EnqueueReadBuffer(d->queue, from->mem, CL_TRUE, (size_t)offset,
                                             (size_t)bytes, to, 0, NULL, NULL);

    return check(status, DEVICE_ERROR_FAULT, "read device memory", error);
}

static bool opencl_copy(struct device_memory *from, struct device_memory *to, int64_t bytes,
                        GError **error)
{
    struct opencl_device *d = to->owner;
    cl_int status =
        d->cl->EnqueueCopyBuffer(d->queue, from->mem, to->mem, 0, 0, (size_t)bytes, 0, NULL, NULL);

    return check(status, DEVICE_ERROR_FAULT, "copy device memory", error);
}

static bool opencl_fill(struct device_memory *memory, int64_t offset, int64_t bytes, uint8_t value,
                        GError **error)
{
    struct opencl_device *d = memory->owner;
    cl_int status = d->cl->EnqueueFillBuffer(d->queue, memory->mem, &value, sizeof(value),
                                             (size_t)offset, (size_t)bytes, 0, NULL, NULL);

    return check(status, DEVICE_ERROR_FAULT, "fill device memory", error);
}

/* ---- programs and launches ---- */

static struct device_program *opencl_load(struct device *device, GBytes *code, GError **error)
{
    struct opencl_device *d = (struct opencl_device *)device;
    gsize bytes;
    const unsigned char *data = g_bytes_get_data(code, &bytes);
    cl_int status = CL_SUCCESS, binary_status = CL_SUCCESS;
    cl_program program = d->cl->CreateProgramWithBinary(d->context, 1, &d->id, &bytes, &data,
                                                        &binary_status, &status);

    if (!check(status, DEVICE_ERROR_LOAD, "load a code object", error))
        return NULL;
    struct device_program *loaded = g_new(struct device_program, 1);
    *loaded = (struct device_program){d, program};
    status = d->cl->BuildProgram(program, 1, &d->id, "", NULL, NULL);
    if (check(binary_status, DEVICE_ERROR_LOAD, "load a code object", error) &&
        check(status, DEVICE_ERROR_LOAD, "link a code object", error))
        return loaded;
    device->row->program_free(loaded);
    return NULL;
}

static void opencl_program_free(struct device_program *program)
{
    if (!program)
        return;
    program->owner->cl->ReleaseProgram(program->program);
    g_free(program);
}

static struct device_kernel *opencl_kernel(struct device_program *program, const char *entry,
                                           GError **error)
{
    struct opencl_device *d = program->owner;
    cl_int status = CL_SUCCESS;
    cl_kernel found = d->cl->CreateKernel(program->program, entry, &status);

    if (status != CL_SUCCESS) {
        g_autofree char *doing = g_strdup_printf("find the kernel '%s'", entry);
        check(status, DEVICE_ERROR_LOAD, doing, error);
        return NULL;
    }
    struct device_kernel *kernel = g_new(struct device_kernel, 1);
    *kernel = (struct device_kernel){d, found};
    return kernel;
}

static void opencl_kernel_free(struct device_kernel *kernel)
{
    if (!kernel)
        return;
    kernel->owner->cl->ReleaseKernel(kernel->kernel);
    g_free(kernel);
}

static bool set_args(struct opencl_device *d, const struct device_launch *launch, GError **error)
{
    cl_kernel kernel = launch->kernel->kernel;
    cl_uint i = 0;
    cl_int status = CL_SUCCESS;

    for (; i < (cl_uint)launch->arg_count && status == CL_SUCCESS; i++) {
        const struct device_arg *arg = &launch->args[i];
        if (arg->memory)
            status = d->cl->SetKernelArg(kernel, i, sizeof(cl_mem), &arg->memory->mem);
        else
            status = d->cl->SetKernelArg(kernel, i, (size_t)arg->bytes, &arg->value);
    }
    /* In OpenCL C dynamic local memory is the last pointer argument of the kernel. */
    if (status == CL_SUCCESS && launch->local_bytes > 0)
        status = d->cl->SetKernelArg(kernel, i++, (size_t)launch->local_bytes, NULL);
    if (status == CL_SUCCESS)
        return true;
    g_autofree char *doing = g_strdup_printf("set argument %d of a kernel", (int)i - 1);
    return check(status, DEVICE_ERROR_LAUNCH, doing, error);
}

static bool opencl_launch(struct device *device, const struct device_launch *launch, GError **error)
{
    struct opencl_device *d = (struct opencl_device *)device;
    size_t grid[3], block[3];
    cl_int status;

    for (int i = 0; i < 3; i++) {
        grid[i] = (size_t)launch->grid[i];
        block[i] = (size_t)launch->block[i];
    }
    if (!set_args(d, launch, error))
        return false;
    status = d->cl->EnqueueNDRangeKernel(d->queue, launch->kernel->kernel, 3, NULL, grid, block, 0,
                                         NULL, NULL);
    return check(status, DEVICE_ERROR_LAUNCH, "launch a kernel", error);
}

/* ---- events ---- */

static struct device_event *opencl_record(struct device *device, GError **error)
{
    struct opencl_device *d = (struct opencl_device *)device;
    cl_event marker;
    cl_int status = d->cl->EnqueueMarkerWithWaitList(d->queue, 0, NULL, &marker);

    if (!check(status, DEVICE_ERROR_FAULT, "record an event", error))
        return NULL;
    struct device_event *event = g_new(struct device_event, 1);
    *event = (struct device_event){d, marker};
    return event;
}

static void opencl_event_free(struct device_event *event)
{
    if (!event)
        return;
    event->owner->cl->ReleaseEvent(event->event);
    g_free(event);
}

static bool end_time(struct device_event *event, cl_ulong *ns, GError **error)
{
    cl_int status = event->owner->cl->GetEventProfilingInfo(event->event, CL_PROFILING_COMMAND_END,
                                                            sizeof(*ns), ns, NULL);

    return check(status, DEVICE_ERROR_FAULT, "read an event's time", error);
}

static bool opencl_elapsed(struct device_event *from, struct device_event *to, double *ms,
                           GError **error)
{
    cl_ulong start = 0, end = 0;
    cl_int status = to->owner->cl->WaitForEvents(1, &to->event);

    if (!check(status, DEVICE_ERROR_FAULT, "wait for the device", error) ||
        !end_time(from, &start, error) || !end_time(to, &end, error))
        return false;
    *ms = ((double)end - (double)start) / 1e6;
    return true;
}

static bool opencl_sync(struct device *device, GError **error)
{
    struct opencl_device *d = (struct opencl_device *)device;

    return check(d->cl->Finish(d->queue), DEVICE_ERROR_FAULT, "wait for the device", error);
}

const struct device_row device_opencl = {
    .name = "opencl",
    .count = opencl_count,
    .open = opencl_device_open,
    .close = opencl_close,
    .info = opencl_info,
    .alloc = opencl_alloc,
    .slice = opencl_slice,
    .memory_free = opencl_memory_free,
    .write = opencl_write,
    .read = opencl_read,
    .view = opencl_view,
    .copy = opencl_copy,
    .fill = opencl_fill,
    .load = opencl_load,
    .program_free = opencl_program_free,
    .kernel = opencl_kernel,
    .kernel_free = opencl_kernel_free,
    .launch = opencl_launch,
    .record = opencl_record,
    .event_free = opencl_event_free,
    .elapsed = opencl_elapsed,
    .sync = opencl_sync,
};
