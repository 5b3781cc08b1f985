/*
 * The little that running a solution asks of a device, so that run_convolution.c is the same for each
 * of them: run_opencl.c and run_cuda.c are two. A program has one device at a time. All functions end
 * the program by fail() where something goes wrong: an example has nobody to tell.
 */
#ifndef RUN_DEVICE_H
#define RUN_DEVICE_H

#include "run_check.h"

#include <stddef.h>
#include <stdint.h>

struct device_facts {
    char name[128];
    uint64_t memory_bytes, largest_bytes; /* of all memory; largest possible buffer */
    uint64_t cache_bytes;
};
/* Opens a device by its number, from 0. */
void device_open(int number, struct device_facts *facts);
void device_close(void);

struct buffer;
struct buffer *buffer_new(size_t bytes);
/* The rest of the buffer from byte `offset` on; freed before the buffer. */
struct buffer *buffer_part(struct buffer *whole, size_t offset);
void buffer_fill(struct buffer *buffer, uint8_t byte);
void buffer_write(struct buffer *buffer, const void *from);
void buffer_read(struct buffer *buffer, void *to);
void buffer_free(struct buffer *buffer); /* NULL is allowed */

struct kernel;
/* Loads the kernel `entry` of a code object. */
struct kernel *kernel_load(const void *code, size_t bytes, const char *entry);
void kernel_free(struct kernel *kernel);

/* An argument: a buffer, or without one the first `bytes` bytes of the value. */
struct value {
    struct buffer *buffer;
    size_t bytes;
    union {
        int32_t int32;
        int64_t int64;
        float float32;
    } as;
};
/* Launches a kernel; launches run one after the other. grid counts work-items; local_bytes is
 * dynamic local memory. */
void kernel_launch(struct kernel *kernel, const int64_t grid[3], const int32_t block[3],
                   uint64_t local_bytes, const struct value *values, uint32_t count);

/* Records a moment between launches by the device's clock. */
struct moment;
struct moment *moment_new(void);
/* Returns the milliseconds between two moments, waiting for the second one. Frees both. */
double moments_apart(struct moment *from, struct moment *to);

#endif
