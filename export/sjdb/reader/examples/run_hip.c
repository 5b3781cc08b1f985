/* The device of run_convolution.c: AMD's HIP. Linked instead of run_opencl.c, with -lamdhip64. It follows run_cuda.c
 * call by call. The tests run it on a double of HIP's library; nobody has run it on a card yet. */
#include "run_device.h"

#include <stdbool.h>
#include <stdlib.h>

/* The declarations of HIP that this program uses, written here so that no ROCm is needed to compile it. */
typedef struct module *module;
typedef struct function *function;
typedef struct event *event;
int hipInit(unsigned flags);
int hipSetDevice(int device);
int hipDeviceGetName(char *name, int room, int device);
int hipDeviceTotalMem(size_t *bytes, int device);
int hipMalloc(void **memory, size_t bytes);
int hipFree(void *memory);
int hipStreamCreateWithFlags(void **stream, unsigned flags);
int hipStreamSynchronize(void *stream);
int hipStreamDestroy(void *stream);
int hipMemcpyHtoDAsync(void *to, const void *from, size_t bytes, void *stream);
int hipMemcpyDtoHAsync(void *to, void *from, size_t bytes, void *stream);
int hipMemsetD8Async(void *memory, unsigned char byte, size_t bytes, void *stream);
int hipModuleLoadData(module *loaded, const void *code);
int hipModuleUnload(module loaded);
int hipModuleGetFunction(function *found, module loaded, const char *entry);
int hipModuleLaunchKernel(function kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned local_bytes, void *stream, void **args, void **extra);
int hipEventCreateWithFlags(event *made, unsigned flags);
int hipEventRecord(event made, void *stream);
int hipEventSynchronize(event recorded);
int hipEventElapsedTime(float *ms, event from, event to);
int hipEventDestroy(event made);
/* Old releases of HIP lack some of these functions. The program starts on them all the same: a weak function
 * that the library lacks is NULL. */
#define OPTIONAL __attribute__((weak))
OPTIONAL int hipStreamBeginCapture(void *stream, int mode);
OPTIONAL int hipStreamEndCapture(void *stream, void **recorded);
OPTIONAL int hipGraphInstantiateWithFlags(void **instance, void *recorded,
                                          unsigned long long flags);
OPTIONAL int hipGraphLaunch(void *instance, void *stream);
OPTIONAL int hipGraphExecDestroy(void *instance);
OPTIONAL int hipGraphDestroy(void *recorded);

#define NON_BLOCKING    1 /* hipStreamNonBlocking */
#define CAPTURE_RELAXED 2 /* hipStreamCaptureModeRelaxed */

/* The largest last-level cache of these cards, the MI300X's; HIP tells only the size of the L2. */
#define CACHE_BYTES (UINT64_C(256) << 20)

struct buffer {
    void *begin;
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

static void *stream; /* everything runs in it, in order: HIP's default stream cannot be recorded */

static void check(int status, const char *doing)
{
    if (status != 0) {
        fail("cannot %s: HIP's error %d", doing, status);
    }
}

void device_open(int number, struct device_facts *facts)
{
    size_t memory = 0;
    check(hipInit(0), "find a GPU");
    check(hipSetDevice(number), "find the GPU of that number");
    check(hipStreamCreateWithFlags(&stream, NON_BLOCKING), "make a stream");
    *facts = (struct device_facts){.name = ""};
    check(hipDeviceGetName(facts->name, sizeof facts->name, number), "ask for the GPU's name");
    check(hipDeviceTotalMem(&memory, number), "ask for the GPU's memory");
    facts->memory_bytes = facts->largest_bytes = memory;
    facts->cache_bytes = CACHE_BYTES;
}

void device_close(void)
{
    hipStreamDestroy(stream);
}

/* ---- memory ---- */

struct buffer *buffer_new(size_t bytes)
{
    struct buffer *made = allocate(1, sizeof *made);
    made->bytes = bytes;
    check(hipMalloc(&made->begin, bytes), "allocate device memory");
    return made;
}

struct buffer *buffer_part(struct buffer *whole, size_t offset)
{
    struct buffer *made = allocate(1, sizeof *made);
    if (offset >= whole->bytes) {
        fail("cannot take a part of device memory: it ends before");
    }
    *made = (struct buffer){(char *)whole->begin + offset, whole->bytes - offset, 1};
    return made;
}

void buffer_fill(struct buffer *buffer, uint8_t byte)
{
    check(hipMemsetD8Async(buffer->begin, byte, buffer->bytes, stream), "fill device memory");
}

void buffer_write(struct buffer *buffer, const void *from)
{
    check(hipMemcpyHtoDAsync(buffer->begin, from, buffer->bytes, stream), "write device memory");
    check(hipStreamSynchronize(stream), "wait for device memory");
}

void buffer_read(struct buffer *buffer, void *to)
{
    check(hipMemcpyDtoHAsync(to, buffer->begin, buffer->bytes, stream), "read device memory");
    check(hipStreamSynchronize(stream), "wait for device memory");
}

void buffer_free(struct buffer *buffer)
{
    if (buffer != NULL && !buffer->is_part) {
        hipFree(buffer->begin);
    }
    free(buffer);
}

/* ---- kernels ---- */

struct kernel *kernel_load(const void *code, size_t bytes, const char *entry)
{
    struct kernel *made = allocate(1, sizeof *made);
    (void)bytes; /* a code object states its own size, so HIP does not ask for it */
    check(hipModuleLoadData(&made->module, code), "load a code object on this device");
    check(hipModuleGetFunction(&made->function, made->module, entry),
          "find the kernel in its code object");
    return made;
}

void kernel_free(struct kernel *kernel)
{
    hipModuleUnload(kernel->module);
    free(kernel);
}

/* HIP counts a grid in workgroups here, run_device.h in work-items. */
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
    check(hipModuleLaunchKernel(kernel->function, groups[0], groups[1], groups[2], items[0],
                                items[1], items[2], (unsigned)local_bytes, stream, args, NULL),
          "launch a kernel");
}

/* ---- graphs ---- */

const char *graphs_missing(void)
{
    bool found = hipStreamBeginCapture != NULL && hipStreamEndCapture != NULL &&
                 hipGraphInstantiateWithFlags != NULL && hipGraphLaunch != NULL &&
                 hipGraphExecDestroy != NULL && hipGraphDestroy != NULL;
    return found ? NULL : "this release of HIP cannot make graphs";
}

void graph_begin(void)
{
    check(hipStreamBeginCapture(stream, CAPTURE_RELAXED), "begin to record a graph");
}

struct graph *graph_end(void)
{
    struct graph *made = allocate(1, sizeof *made);
    void *recorded = NULL;
    check(hipStreamEndCapture(stream, &recorded), "end recording a graph");
    check(hipGraphInstantiateWithFlags(&made->instance, recorded, 0), "make a graph ready");
    hipGraphDestroy(recorded);
    return made;
}

void graph_launch(struct graph *graph)
{
    check(hipGraphLaunch(graph->instance, stream), "launch a graph");
}

void graph_free(struct graph *graph)
{
    hipGraphExecDestroy(graph->instance);
    free(graph);
}

/* ---- time ---- */

struct moment *moment_new(void)
{
    struct moment *made = allocate(1, sizeof *made);
    check(hipEventCreateWithFlags(&made->event, 0), "make an event");
    check(hipEventRecord(made->event, stream), "mark a moment");
    return made;
}

double moments_apart(struct moment *from, struct moment *to)
{
    float ms = 0;
    check(hipEventSynchronize(to->event), "wait for the device");
    check(hipEventElapsedTime(&ms, from->event, to->event), "read the device's clock");
    hipEventDestroy(from->event);
    hipEventDestroy(to->event);
    free(from);
    free(to);
    return (double)ms;
}
