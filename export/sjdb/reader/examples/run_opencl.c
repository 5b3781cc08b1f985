/* The device of run_convolution.c: anything with OpenCL 1.2. */
#define CL_TARGET_OPENCL_VERSION 120
#include "run_device.h"

#include <CL/cl.h>
#include <stdlib.h>

#define PLATFORMS_MAX 16
#define DEVICES_MAX   64

struct buffer {
    cl_mem memory;
    size_t bytes;
};

struct kernel {
    cl_program program;
    cl_kernel kernel;
};

struct moment {
    cl_event event;
};

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static void check(cl_int status, const char *doing)
{
    if (status != CL_SUCCESS) {
        fail("cannot %s: OpenCL's error %d", doing, (int)status);
    }
}

static cl_device_id find_device(int number)
{
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint platform_count = 0;
    int passed = 0;
    if (clGetPlatformIDs(PLATFORMS_MAX, platforms, &platform_count) != CL_SUCCESS) {
        platform_count = 0;
    }
    for (cl_uint p = 0; p < platform_count && p < PLATFORMS_MAX; p++) {
        cl_device_id devices[DEVICES_MAX];
        cl_uint count = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, DEVICES_MAX, devices, &count) !=
            CL_SUCCESS) {
            count = 0;
        }
        for (cl_uint d = 0; d < count && d < DEVICES_MAX; d++) {
            if (passed++ == number) {
                return devices[d];
            }
        }
    }
    fail("there is no device %d: OpenCL shows %d (PoCL makes one of the CPU)", number, passed);
}

void device_open(int number, struct device_facts *facts)
{
    cl_ulong memory = 0, largest = 0, cache = 0;
    cl_int status = CL_SUCCESS;
    /* Code objects for CPUs are already compiled for good. Without this setting PoCL would compile
     * them once more at the first launch. */
    setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 1);
    device = find_device(number);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "create a context");
    queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status);
    check(status, "create a queue with profiling");
    *facts = (struct device_facts){.name = ""};
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof facts->name - 1, facts->name, NULL);
    clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, NULL);
    clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof cache, &cache, NULL);
    facts->memory_bytes = memory;
    facts->largest_bytes = largest;
    facts->cache_bytes = cache;
}

void device_close(void)
{
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

/* ---- memory ---- */

struct buffer *buffer_new(size_t bytes)
{
    struct buffer *made = allocate(1, sizeof *made);
    cl_int status = CL_SUCCESS;
    made->bytes = bytes;
    made->memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    check(status, "allocate device memory");
    return made;
}

struct buffer *buffer_part(struct buffer *whole, size_t offset)
{
    struct buffer *made = allocate(1, sizeof *made);
    cl_buffer_region region = {offset, whole->bytes - offset};
    cl_int status = CL_SUCCESS;
    made->bytes = region.size;
    made->memory = clCreateSubBuffer(whole->memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                     &region, &status);
    check(status, "take a part of device memory");
    return made;
}

void buffer_fill(struct buffer *buffer, uint8_t byte)
{
    check(clEnqueueFillBuffer(queue, buffer->memory, &byte, 1, 0, buffer->bytes, 0, NULL, NULL),
          "fill device memory");
}

void buffer_write(struct buffer *buffer, const void *from)
{
    check(
        clEnqueueWriteBuffer(queue, buffer->memory, CL_TRUE, 0, buffer->bytes, from, 0, NULL, NULL),
        "write device memory");
}

void buffer_read(struct buffer *buffer, void *to)
{
    check(clEnqueueReadBuffer(queue, buffer->memory, CL_TRUE, 0, buffer->bytes, to, 0, NULL, NULL),
          "read device memory");
}

void buffer_free(struct buffer *buffer)
{
    if (buffer != NULL) {
        clReleaseMemObject(buffer->memory);
        free(buffer);
    }
}

/* ---- kernels ---- */

struct kernel *kernel_load(const void *code, size_t bytes, const char *entry)
{
    struct kernel *made = allocate(1, sizeof *made);
    const unsigned char *binary = code;
    cl_int status = CL_SUCCESS, binary_status = CL_SUCCESS;
    made->program =
        clCreateProgramWithBinary(context, 1, &device, &bytes, &binary, &binary_status, &status);
    check(status != CL_SUCCESS ? status : binary_status, "load a code object on this device");
    check(clBuildProgram(made->program, 1, &device, "", NULL, NULL), "link a code object");
    made->kernel = clCreateKernel(made->program, entry, &status);
    check(status, "find the kernel in its code object");
    return made;
}

void kernel_free(struct kernel *kernel)
{
    clReleaseKernel(kernel->kernel);
    clReleaseProgram(kernel->program);
    free(kernel);
}

void kernel_launch(struct kernel *kernel, const int64_t grid[3], const int32_t block[3],
                   uint64_t local_bytes, const struct value *values, uint32_t count)
{
    size_t global[3], local[3];
    for (uint32_t i = 0; i < count; i++) {
        const struct value *value = &values[i];
        const void *from =
            value->buffer != NULL ? (const void *)&value->buffer->memory : (const void *)&value->as;
        size_t bytes = value->buffer != NULL ? sizeof(cl_mem) : value->bytes;
        check(clSetKernelArg(kernel->kernel, i, bytes, from), "set an argument of a kernel");
    }
    /* OpenCL C takes dynamic local memory as one more pointer argument, the last one */
    if (local_bytes > 0) {
        check(clSetKernelArg(kernel->kernel, count, local_bytes, NULL), "give local memory");
    }
    for (int i = 0; i < 3; i++) {
        global[i] = (size_t)grid[i];
        local[i] = (size_t)block[i];
    }
    check(clEnqueueNDRangeKernel(queue, kernel->kernel, 3, NULL, global, local, 0, NULL, NULL),
          "launch a kernel");
}

/* ---- graphs: OpenCL 1.2 has none ---- */

const char *graphs_missing(void)
{
    return "OpenCL 1.2 has no graphs; programs linked with run_cuda.c or run_hip.c make them";
}

void graph_begin(void)
{
    fail("%s", graphs_missing());
}

struct graph *graph_end(void)
{
    fail("%s", graphs_missing());
}

void graph_launch(struct graph *graph)
{
    (void)graph;
}

void graph_free(struct graph *graph)
{
    (void)graph;
}

/* ---- time ---- */

struct moment *moment_new(void)
{
    struct moment *made = allocate(1, sizeof *made);
    check(clEnqueueMarkerWithWaitList(queue, 0, NULL, &made->event), "mark a moment");
    return made;
}

static cl_ulong end_of(struct moment *moment)
{
    cl_ulong ns = 0;
    check(clGetEventProfilingInfo(moment->event, CL_PROFILING_COMMAND_END, sizeof ns, &ns, NULL),
          "read the device's clock");
    clReleaseEvent(moment->event);
    free(moment);
    return ns;
}

double moments_apart(struct moment *from, struct moment *to)
{
    check(clWaitForEvents(1, &to->event), "wait for the device");
    cl_ulong begin = end_of(from), end = end_of(to);
    return ((double)end - (double)begin) / 1e6;
}
