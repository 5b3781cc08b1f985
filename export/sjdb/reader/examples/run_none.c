/* No device: run_convolution.c linked with this file says what it would launch (--dry-run), on a machine without any
 * driver or OpenCL, and runs nothing. */
#include "run_device.h"

static const char *const why = "this program was built without a device (run_none.c): it has "
                               "--dry-run alone";

void device_open(int number, struct device_facts *facts)
{
    (void)number;
    (void)facts;
    fail("%s", why);
}

void device_close(void)
{
}

struct buffer *buffer_new(size_t bytes)
{
    (void)bytes;
    fail("%s", why);
}

struct buffer *buffer_part(struct buffer *whole, size_t offset)
{
    (void)whole;
    (void)offset;
    fail("%s", why);
}

void buffer_fill(struct buffer *buffer, uint8_t byte)
{
    (void)buffer;
    (void)byte;
}

void buffer_write(struct buffer *buffer, const void *from)
{
    (void)buffer;
    (void)from;
}

void buffer_read(struct buffer *buffer, void *to)
{
    (void)buffer;
    (void)to;
}

void buffer_free(struct buffer *buffer)
{
    (void)buffer;
}

struct kernel *kernel_load(const void *code, size_t bytes, const char *entry)
{
    (void)code;
    (void)bytes;
    (void)entry;
    fail("%s", why);
}

void kernel_free(struct kernel *kernel)
{
    (void)kernel;
}

void kernel_launch(struct kernel *kernel, const int64_t grid[3], const int32_t block[3],
                   uint64_t local_bytes, const struct value *values, uint32_t count)
{
    (void)kernel;
    (void)grid;
    (void)block;
    (void)local_bytes;
    (void)values;
    (void)count;
}

const char *graphs_missing(void)
{
    return why;
}

void graph_begin(void)
{
    fail("%s", why);
}

struct graph *graph_end(void)
{
    fail("%s", why);
}

void graph_launch(struct graph *graph)
{
    (void)graph;
}

void graph_free(struct graph *graph)
{
    (void)graph;
}

struct moment *moment_new(void)
{
    fail("%s", why);
}

double moments_apart(struct moment *from, struct moment *to)
{
    (void)from;
    (void)to;
    return 0;
}
