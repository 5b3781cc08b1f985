/* The device of run_convolution.c: NVIDIA's driver. Linked instead of run_opencl.c, with -l:libcuda.so.1. */
#include "run_device.h"

#include <stdbool.h>
#include <stdlib.h>

/* The declarations of NVIDIA's driver that this program uses, written here so that no toolkit is
 * needed: handles are pointers, device addresses are numbers. */
typedef struct module *module;
typedef struct function *function;
typedef struct event *event;
typedef uint64_t address;
int cuInit(unsigned flags);
int cuDeviceGet(int *device, int number);
int cuDeviceGetName(char *name, int room, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(address *memory, size_t bytes);
int cuMemFree_v2(address memory);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuStreamDestroy_v2(void *stream);
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, void *stream);
int cuMemsetD8Async(address memory, unsigned char byte, size_t bytes, void *stream);
int cuModuleLoadData(module *loaded, const void *code);
int cuModuleUnload(module loaded);
int cuModuleGetFunction(function *found, module loaded, const char *entry);
int cuFuncSetAttribute(function kernel, int attribute, int value);
int cuLaunchKernel(function kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned local_bytes,
                   void *stream, void **args, void **extra);
int cuEventCreate(event *made, unsigned flags);
int cuEventRecord(event made, void *stream);
int cuEventSynchronize(event recorded);
int cuEventElapsedTime(float *ms, event from, event to);
int cuEventDestroy_v2(event made);
/* Drivers older than CUDA 11.4 lack some of these functions. The program starts on them all the same: a weak function
 * that the library lacks is NULL. */
#define OPTIONAL __attribute__((weak))
OPTIONAL int cuStreamBeginCapture_v2(void *stream, int mode);
OPTIONAL int cuStreamEndCapture(void *stream, void **recorded);
OPTIONAL int cuGraphInstantiateWithFlags(void **instance, void *recorded, unsigned long long flags);
OPTIONAL int cuGraphLaunch(void *instance, void *stream);
OPTIONAL int cuGraphExecDestroy(void *instance);
OPTIONAL int cuGraphDestroy(void *recorded);

#define L2_CACHE_SIZE     38 /* CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE */
/* More local memory than this must be requested by
 * CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES. */
#define LOCAL_BYTES_FREE  (48 * 1024)
#define LOCAL_BYTES_ASKED 8
#define NON_BLOCKING      1 /* CU_STREAM_NON_BLOCKING */
#define CAPTURE_RELAXED   2 /* CU_STREAM_CAPTURE_MODE_RELAXED */

struct buffer {
    address begin;
    size_t bytes;
    int is_part;
};

struct kernel {
    module module;
    function function;
};

struct graph {
    void *instance;
};

struct moment {
    event event;
};

static int device;
static void *stream; /* everything runs in it, in order: CUDA's default stream cannot be recorded */

static void check(int status, const char *doing)
{
    if (status != 0) {
        fail("cannot %s: CUDA's error %d", doing, status);
    }
}

void device_open(int number, struct device_facts *facts)
{
    void *context = NULL;
    size_t memory = 0;
    int cache = 0;
    check(cuInit(0), "find a GPU");
    check(cuDeviceGet(&device, number), "find the GPU of that number");
    check(cuDevicePrimaryCtxRetain(&context, device), "make a context");
    check(cuCtxSetCurrent(context), "enter the context");
    check(cuStreamCreate(&stream, NON_BLOCKING), "make a stream");
    *facts = (struct device_facts){.name = ""};
    cuDeviceGetName(facts->name, sizeof facts->name, device);
    cuDeviceTotalMem_v2(&memory, device);
    cuDeviceGetAttribute(&cache, L2_CACHE_SIZE, device);
    facts->memory_bytes = facts->largest_bytes = memory;
    facts->cache_bytes = (uint64_t)cache;
}

void device_close(void)
{
    cuStreamDestroy_v2(stream);
    cuDevicePrimaryCtxRelease_v2(device);
}

/* ---- memory ---- */

struct buffer *buffer_new(size_t bytes)
{
    struct buffer *made = allocate(1, sizeof *made);
    made->bytes = bytes;
    check(cuMemAlloc_v2(&made->begin, bytes), "allocate device memory");
    return made;
}

struct buffer *buffer_part(struct buffer *whole, size_t offset)
{
    struct buffer *made = allocate(1, sizeof *made);
    if (offset >= whole->bytes) {
        fail("cannot take a part of device memory: it ends before");
    }
    *made = (struct buffer){whole->begin + offset, whole->bytes - offset, 1};
    return made;
}

void buffer_fill(struct buffer *buffer, uint8_t byte)
{
    check(cuMemsetD8Async(buffer->begin, byte, buffer->bytes, stream), "fill device memory");
}

void buffer_write(struct buffer *buffer, const void *from)
{
    check(cuMemcpyHtoDAsync_v2(buffer->begin, from, buffer->bytes, stream), "write device memory");
    check(cuStreamSynchronize(stream), "wait for device memory");
}

void buffer_read(struct buffer *buffer, void *to)
{
    check(cuMemcpyDtoHAsync_v2(to, buffer->begin, buffer->bytes, stream), "read device memory");
    check(cuStreamSynchronize(stream), "wait for device memory");
}

void buffer_free(struct buffer *buffer)
{
    if (buffer != NULL && !buffer->is_part) {
        cuMemFree_v2(buffer->begin);
    }
    free(buffer);
}

/* ---- kernels ---- */

struct kernel *kernel_load(const void *code, size_t bytes, const char *entry)
{
    struct kernel *made = allocate(1, sizeof *made);
    (void)bytes; /* a code object states its own size, so the driver does not ask for it */
    check(cuModuleLoadData(&made->module, code), "load a code object on this device");
    check(cuModuleGetFunction(&made->function, made->module, entry),
          "find the kernel in its code object");
    return made;
}

void kernel_free(struct kernel *kernel)
{
    cuModuleUnload(kernel->module);
    free(kernel);
}

/* CUDA counts a grid in workgroups, run_device.h in work-items. */
void kernel_launch(struct kernel *kernel, const int64_t grid[3], const int32_t block[3],
                   uint64_t local_bytes, const struct value *values, uint32_t count)
{
    void *args[SKIPJACKDB_ARGS_MAX];
    unsigned groups[3], items[3];
    for (uint32_t i = 0; i < count; i++) {
        const struct buffer *buffer = values[i].buffer;
        args[i] = buffer != NULL ? (void *)&buffer->begin : (void *)&values[i].as;
    }
    for (int i = 0; i < 3; i++) {
        items[i] = (unsigned)block[i];
        groups[i] = (unsigned)(grid[i] / block[i]);
    }
    if (local_bytes > LOCAL_BYTES_FREE) {
        check(cuFuncSetAttribute(kernel->function, LOCAL_BYTES_ASKED, (int)local_bytes),
              "ask for local memory");
    }
    check(cuLaunchKernel(kernel->function, groups[0], groups[1], groups[2], items[0], items[1],
                         items[2], (unsigned)local_bytes, stream, args, NULL),
          "launch a kernel");
}

/* ---- graphs ---- */

const char *graphs_missing(void)
{
    bool found = cuStreamBeginCapture_v2 != NULL && cuStreamEndCapture != NULL &&
                 cuGraphInstantiateWithFlags != NULL && cuGraphLaunch != NULL &&
                 cuGraphExecDestroy != NULL && cuGraphDestroy != NULL;
    return found ? NULL : "this driver is older than CUDA 11.4 and cannot make graphs";
}

void graph_begin(void)
{
    check(cuStreamBeginCapture_v2(stream, CAPTURE_RELAXED), "begin to record a graph");
}

struct graph *graph_end(void)
{
    struct graph *made = allocate(1, sizeof *made);
    void *recorded = NULL;
    check(cuStreamEndCapture(stream, &recorded), "end recording a graph");
    check(cuGraphInstantiateWithFlags(&made->instance, recorded, 0), "make a graph ready");
    cuGraphDestroy(recorded);
    return made;
}

void graph_launch(struct graph *graph)
{
    check(cuGraphLaunch(graph->instance, stream), "launch a graph");
}

void graph_free(struct graph *graph)
{
    cuGraphExecDestroy(graph->instance);
    free(graph);
}

/* ---- time ---- */

struct moment *moment_new(void)
{
    struct moment *made = allocate(1, sizeof *made);
    check(cuEventCreate(&made->event, 0), "make an event");
    check(cuEventRecord(made->event, stream), "mark a moment");
    return made;
}

double moments_apart(struct moment *from, struct moment *to)
{
    float ms = 0;
    check(cuEventSynchronize(to->event), "wait for the device");
    check(cuEventElapsedTime(&ms, from->event, to->event), "read the device's clock");
    cuEventDestroy_v2(from->event);
    cuEventDestroy_v2(to->event);
    free(from);
    free(to);
    return (double)ms;
}
