/*
 * A double of HIP's and of CUDA's runtime library, for tests to open in place of the vendor's. It has no GPU: memory is
 * the host's, times follow a model. A code object is a real one, or a text, "kernel NAME ..." with the names of its
 * kernels. The double knows some kernels by name and computes them on the host (gpu_double_kernels.c). Others: "copy"
 * copies as many bytes as its third argument says from its first to its second; "fault" leaves the context unusable;
 * "hang" never ends.
 *
 * Faults are words joined by commas, in GPU_DOUBLE or in the file that GPU_DOUBLE_FILE names. Words for the whole library:
 *   none       there is no device
 *   memory     no memory is left
 *   crowded    no allocation above a page
 *   shared     another process holds half of the second device's memory
 *   load       loading a code object fails
 *   units      a wave has one lane: an attribute's number means something else
 *   nameless   devices have neither UUID nor PCI address
 *   instance   devices are parts of a card, and named so
 *   part       devices are a card's fourth function
 *   vega       HIP's devices are gfx900, without the features that no gfx900 has
 *   vanish     a device is lost once it was synchronised with
 *   dead       no device opens; "dead#N": device N does not
 *   no-first   a graph leaves out its first launch or fill
 *   no-last    a graph leaves out its last one
 * Words for every launch; with "@N" for launches of a kernel whose variant is N, with "#N" on device N:
 *   launch     the launch is refused
 *   fault      the launch ends in a fault; "glitch": once only
 *   hang       the launch never ends
 *   gone       the device is lost, and later processes find no device while FILE.gone exists
 *   off        the device is lost (with "hang": hangs), and does not open while FILE.offN (its number) exists
 *   wrong      the first result is wrong
 *   elapsed, zero, nan, fast   times read after the launch are negative, 0, no number, a millionth
 */
#include <elf.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/doubles/gpu_double.h"

/* Defines one function under its HIP name and its CUDA name. */
#define BOTH(hip, cuda, parameters)                                                                \
    int hip parameters;                                                                            \
    int cuda parameters __attribute__((alias(#hip)));                                              \
    int hip parameters

enum {
    OK = 0,
    INVALID = 1,
    MEMORY = 2,
    NO_DEVICE = 100,
    NO_IMAGE = 200,
    NOT_FOUND = 500,
    FAULT = 700,
    LAUNCH = 701,
    LOST = 719
};
#define ROOM (64 << 20) /* memory of device 1, in bytes; device 0 has twice as much */
#define PAGE 4096

static int sticky; /* the error that every function returns after a fault */
static size_t used;
static double clock_ms;

static bool hung;             /* a kernel that never ends is running */
static int last = NO_VARIANT; /* variant of the last launch */

/* ---- the device ---- */

BOTH(hipInit, cuInit, (unsigned flags))
{
    return flags == 0 ? OK : INVALID;
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
    *version = 13020;
    return OK;
}

/* HIP and CUDA encode a version's major and minor number differently. */
int hipDriverGetVersion(int *version);
int hipDriverGetVersion(int *version)
{
    *version = 60443483;
    return OK;
}

BOTH(hipGetDeviceCount, cuDeviceGetCount, (int *count))
{
    *count = double_said("none") || double_marked("gone") ? 0 : 2;
    return *count > 0 ? OK : NO_DEVICE;
}

BOTH(hipDeviceGet, cuDeviceGet, (int *device, int index))
{
    *device = index;
    return index < 2 ? OK : 101;
}

BOTH(hipDeviceGetName, cuDeviceGetName, (char *name, int length, int device))
{
    snprintf(name, (size_t)length, "Double %d%s", device,
             double_said("instance") ? " MIG 1g.10gb" : "");
    return OK;
}

/* The UUID's last byte is the device's number. */
int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    for (int i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(i == 15 ? device : 0xd0 + i);
    return double_said("nameless") ? INVALID : OK;
}

/* The UUID is sixteen digits without a terminating NUL; "XX" means that the device has none. */
int hipDeviceGetUuid(char *uuid, int device);
int hipDeviceGetUuid(char *uuid, int device)
{
    char text[17] = "XX";
    if (!double_said("nameless"))
        snprintf(text, sizeof(text), "d0d1d2d3d4d5d6%02x", (unsigned)device);
    memcpy(uuid, text, 16);
    return OK;
}

BOTH(hipDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *address, int length, int device))
{
    snprintf(address, (size_t)length, "0000:%X:00.%d", 0x3b + device, double_said("part") ? 3 : 0);
    return double_said("nameless") ? INVALID : OK;
}

BOTH(hipDeviceTotalMem, cuDeviceTotalMem_v2, (size_t * bytes, int device))
{
    *bytes = device == 0 ? (size_t)84929347584 : ROOM;
    return OK;
}

static int attribute(int *value, int units, int items, int wave, int local, int cache, int which)
{
    *value = which == units   ? 132
             : which == items ? 1024
             : which == wave  ? 32
             : which == local ? 49152
             : which == cache ? 52428800
                              : -1;
    return *value >= 0 ? OK : INVALID;
}

int cuDeviceGetAttribute(int *value, int which, int device);
int cuDeviceGetAttribute(int *value, int which, int device)
{
    (void)device;
    if (which == 75 || which == 76) {
        *value = which == 75 ? 9 : 0;
        return OK;
    }
    if (which == 10 && double_said("units")) {
        *value = 1;
        return OK;
    }
    return attribute(value, 16, 1, 10, 8, 38, which);
}

int hipDeviceGetAttribute(int *value, int which, int device);
int hipDeviceGetAttribute(int *value, int which, int device)
{
    (void)device;
    return attribute(value, 63, 56, 87, 74, 19, which);
}

/* The properties have two layouts: device 0 uses HIP 5's, device 1 that of later releases, which is
 * shifted. */
int hipGetDeviceProperties(char *properties, int device);
int hipGetDeviceProperties(char *properties, int device)
{
    snprintf(properties, 256, "Double %d", device);
    strcpy(properties + (device == 0 ? 396 : 1160),
           double_said("vega") ? "gfx900:sramecc-:xnack-" : "gfx90a:sramecc+:xnack+");
    return OK;
}

/* The name of this device's mark (double_mark()) for "off". */
static const char *off_mark(void)
{
    static char name[16];

    snprintf(name, sizeof(name), "off%d", double_device);
    return name;
}

static bool opens(int device)
{
    double_device = device;
    return device < 2 && !double_said_of("dead", NO_VARIANT) && !double_marked(off_mark());
}

int hipSetDevice(int device);
int hipSetDevice(int device)
{
    return opens(device) ? OK : 101;
}

int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = (void *)(uintptr_t)(device + 1);
    return opens(device) ? OK : 101;
}

int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device < 2 ? OK : 101;
}

int cuCtxSetCurrent(void *context);
int cuCtxSetCurrent(void *context)
{
    return context ? OK : INVALID;
}

static const char *name_of(int status)
{
    return status == MEMORY ? "OUT_OF_MEMORY" : status == FAULT ? "ILLEGAL_ADDRESS" : "ERROR";
}

int cuGetErrorName(int status, const char **name);
int cuGetErrorName(int status, const char **name)
{
    *name = name_of(status);
    return OK;
}

const char *hipGetErrorName(int status);
const char *hipGetErrorName(int status)
{
    return name_of(status);
}

/* ---- memory: the host's, each allocation with its size before it ---- */

BOTH(hipMalloc, cuMemAlloc_v2, (void **address, size_t bytes))
{
    size_t *block;

    if (sticky)
        return sticky;
    size_t room = double_device == 0 ? 2 * ROOM : double_said("shared") ? ROOM / 2 : ROOM;
    if (double_said("memory") || bytes > room - used || (bytes > PAGE && double_said("crowded")))
        return MEMORY;
    block = malloc(bytes + 16);
    *block = bytes;
    used += bytes;
    *address = (char *)block + 16;
    return OK;
}

BOTH(hipFree, cuMemFree_v2, (void *address))
{
    size_t *block = (void *)((char *)address - 16);

    used -= *block;
    free(block);
    return sticky;
}

static int move(void *to, const void *from, size_t bytes)
{
    if (!sticky)
        memmove(to, from, bytes);
    return sticky;
}

BOTH(hipMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (void *to, void *from, size_t bytes, void *stream))
{
    (void)stream;
    return move(to, from, bytes);
}

BOTH(hipMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *to, void *from, size_t bytes, void *stream))
{
    (void)stream;
    return move(to, from, bytes);
}

BOTH(hipMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (void *to, void *from, size_t bytes, void *stream))
{
    (void)stream;
    return move(to, from, bytes);
}

/* The launches and fills of a graph, in order. */
#define RECORDED_MOST  64
#define ARGUMENTS_MOST 64
struct graph {
    int count;
    struct recorded {
        const struct double_kernel *kernel; /* NULL: a fill */
        uint64_t values[ARGUMENTS_MOST];
        void *address;
        size_t bytes;
        unsigned char value;
    } recorded[RECORDED_MOST];
};
static struct graph *recording; /* NULL while nothing is being recorded */

static struct recorded *record_next(void)
{
    return recording->count < RECORDED_MOST ? &recording->recorded[recording->count++] : NULL;
}

BOTH(hipMemsetD8Async, cuMemsetD8Async,
     (void *address, unsigned char value, size_t bytes, void *stream))
{
    (void)stream;
    if (recording) {
        struct recorded *next = record_next();
        if (next)
            *next = (struct recorded){.address = address, .bytes = bytes, .value = value};
        return next ? OK : INVALID;
    }
    if (!sticky)
        memset(address, value, bytes);
    return sticky;
}

/* ---- streams and events ---- */

BOTH(hipStreamCreateWithFlags, cuStreamCreate, (void **stream, unsigned flags))
{
    *stream = malloc(1);
    return flags <= 1 ? OK : INVALID;
}

/* Waits for the running kernels and returns their error. */
static int settle(void)
{
    while (hung)
        pause();
    return sticky;
}

BOTH(hipStreamSynchronize, cuStreamSynchronize, (void *stream))
{
    (void)stream;
    if (double_said("vanish") && !sticky)
        sticky = LOST;
    return settle();
}

BOTH(hipStreamDestroy, cuStreamDestroy_v2, (void *stream))
{
    free(stream);
    return OK;
}

BOTH(hipEventCreateWithFlags, cuEventCreate, (void **event, unsigned flags))
{
    *event = malloc(sizeof(double));
    return flags == 0 ? OK : INVALID;
}

BOTH(hipEventRecord, cuEventRecord, (double *event, void *stream))
{
    (void)stream;
    *event = clock_ms += 0.01;
    return sticky;
}

BOTH(hipEventSynchronize, cuEventSynchronize, (void *event))
{
    (void)event;
    return settle();
}

BOTH(hipEventElapsedTime, cuEventElapsedTime, (float *ms, const double *from, const double *to))
{
    double between = *to - *from;

    *ms = (float)(double_said_of("elapsed", last) ? -between
                  : double_said_of("zero", last)  ? 0
                  : double_said_of("nan", last)   ? (double)NAN
                  : double_said_of("fast", last)  ? between * 1e-6
                                                  : between);
    return sticky;
}

BOTH(hipEventDestroy, cuEventDestroy_v2, (void *event))
{
    free(event);
    return OK;
}

/* ---- modules ---- */

struct module {
    size_t bytes;
    char image[];
};

/* The driver interface passes no length of a code object: it is computed from the ELF header or the
 * text. */
static size_t image_bytes(const char *image)
{
    const Elf64_Ehdr *header = (const void *)image;

    if (memcmp(image, ELFMAG, SELFMAG) == 0)
        return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    return strncmp(image, "kernel ", 7) == 0 ? strlen(image) : 0;
}

BOTH(hipModuleLoadData, cuModuleLoadData, (struct module * *module, const char *image))
{
    size_t bytes = image_bytes(image);

    if (sticky)
        return sticky;
    if (double_said("load") || bytes == 0)
        return NO_IMAGE;
    *module = malloc(sizeof(struct module) + bytes);
    (*module)->bytes = bytes;
    memcpy((*module)->image, image, bytes);
    return OK;
}

BOTH(hipModuleUnload, cuModuleUnload, (struct module * module))
{
    free(module);
    return sticky;
}

/* bytes of dynamic local memory that a launch may be allowed, as on sm_90 */
#define LOCAL_MOST 232448
static unsigned local_allowed = 49152;

int cuFuncGetAttribute(int *value, int attribute, const void *function);
int cuFuncGetAttribute(int *value, int attribute, const void *function)
{
    (void)function;
    if (attribute != 8)
        return INVALID;
    *value = (int)local_allowed;
    return sticky;
}

int cuFuncSetAttribute(const void *function, int attribute, int value);
int cuFuncSetAttribute(const void *function, int attribute, int value)
{
    (void)function;
    if (attribute != 8 || value < 0 || value > LOCAL_MOST)
        return INVALID;
    local_allowed = (unsigned)value;
    return sticky;
}

BOTH(hipModuleGetFunction, cuModuleGetFunction,
     (const struct double_kernel **function, const struct module *module, const char *name))
{
    *function = double_kernel_find(module->image, module->bytes, name);
    return *function ? sticky : NOT_FOUND;
}

/* Runs a launch, with the faults that GPU_DOUBLE's words ask for. */
static void launch(const struct double_kernel *kernel, void **arguments)
{
    const char *name = kernel->name;
    bool goes_off = double_said_of("off", last);

    if (goes_off)
        double_mark(off_mark());
    clock_ms += double_kernel_ms(kernel, last);
    if (strcmp(name, "fault") == 0 || double_said_of("fault", last) ||
        (double_said_of("glitch", last) && double_is_first("glitched"))) {
        sticky = FAULT;
    } else if (strcmp(name, "hang") == 0 || double_said_of("hang", last)) {
        hung = true;
    } else if (double_said_of("gone", last)) {
        double_mark("gone");
        sticky = LOST;
    } else if (goes_off) {
        sticky = LOST;
    } else {
        kernel->run(arguments);
        if (double_said_of("wrong", last))
            **(float **)arguments[kernel->output_at] += 1;
    }
}

static int record_launch(const struct double_kernel *kernel, void **arguments)
{
    struct recorded *next = record_next();
    if (!next)
        return INVALID;
    *next = (struct recorded){.kernel = kernel};
    for (int i = 0; i < kernel->arguments; i++)
        memcpy(&next->values[i], arguments[i], sizeof next->values[i]);
    return OK;
}

BOTH(hipModuleLaunchKernel, cuLaunchKernel,
     (const struct double_kernel *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
      unsigned block_x, unsigned block_y, unsigned block_z, unsigned local_bytes, void *stream,
      void **arguments, void **extra))
{
    (void)stream;
    (void)extra;
    if (sticky)
        return sticky;
    last = double_kernel_variant(function, arguments);
    if (double_said_of("launch", last) || grid_x * grid_y * grid_z == 0 ||
        block_x * block_y * block_z > 1024 || local_bytes > local_allowed)
        return LAUNCH;
    if (recording)
        return record_launch(function, arguments);
    launch(function, arguments);
    return OK;
}

/* ---- graphs ---- */

BOTH(hipStreamBeginCapture, cuStreamBeginCapture_v2, (void *stream, int mode))
{
    if (!stream || recording || mode != 2)
        return INVALID;
    recording = calloc(1, sizeof *recording);
    return sticky;
}

BOTH(hipStreamEndCapture, cuStreamEndCapture, (void *stream, struct graph **graph))
{
    (void)stream;
    *graph = recording;
    recording = NULL;
    return *graph ? sticky : INVALID;
}

BOTH(hipGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,
     (struct graph * *instance, const struct graph *graph, unsigned long long flags))
{
    if (flags != 0)
        return INVALID;
    *instance = malloc(sizeof **instance);
    **instance = *graph;
    return sticky;
}

BOTH(hipGraphLaunch, cuGraphLaunch, (struct graph * instance, void *stream))
{
    (void)stream;
    int first = double_said("no-first") ? 1 : 0;
    int end = instance->count - (double_said("no-last") ? 1 : 0);
    for (int i = first; i < end && !sticky; i++) {
        struct recorded *next = &instance->recorded[i];
        void *arguments[ARGUMENTS_MOST];
        for (int a = 0; a < ARGUMENTS_MOST; a++)
            arguments[a] = &next->values[a];
        if (next->kernel)
            launch(next->kernel, arguments);
        else
            memset(next->address, next->value, next->bytes);
    }
    return sticky;
}

BOTH(hipGraphExecDestroy, cuGraphExecDestroy, (struct graph * instance))
{
    free(instance);
    return OK;
}

BOTH(hipGraphDestroy, cuGraphDestroy, (struct graph * graph))
{
    free(graph);
    return OK;
}
