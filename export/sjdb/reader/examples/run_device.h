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
    uint64_t memory_bytes, largest_bytes; /* of all memory; of one buffer */
    uint64_t cache_bytes;
};
/* The device of that number, from 0. */
void device_open(int number, struct device_facts *facts);
void device_close(void);

struct buffer;
struct buffer *buffer_new(size_t bytes);
/* What lies `offset` bytes behind the buffer's begin, up to its end; to be freed before the buffer. */
struct buffer *buffer_part(struct buffer *whole, size_t offset);
void buffer_fill(struct buffer *buffer, uint8_t byte);
void buffer_write(struct buffer *buffer, const void *from);
void buffer_read(struct buffer *buffer, void *to);
void buffer_free(struct buffer *buffer); /* NULL is fine */

struct kernel;
/* The kernel called `entry` of a code object. */
struct kernel *kernel_load(const void *code, size_t bytes, const char *entry);
void kernel_free(struct kernel *kernel);

/* An argument: a buffer where there is one, else the first `bytes` bytes of the value. */
struct value {
    struct buffer *buffer;
    size_t bytes;
    union {
        int32_t int32;
        int64_t int64;
        float float32;
    } as;
};
/* Launches follow each other. grid counts work-items; local_bytes more are given as local memory. */
void kernel_launch(struct kernel *kernel, const int64_t grid[3], const int32_t block[3],
                   uint64_t local_bytes, const struct value *values, uint32_t count);

/* A moment between launches, by the device's own clock. */
struct moment;
struct moment *moment_new(void);
/* Milliseconds between two moments, once the device has come to the second one. Frees both. */
double moments_apart(struct moment *from, struct moment *to);

#endif
