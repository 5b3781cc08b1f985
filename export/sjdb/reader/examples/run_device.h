/*
 * The functions of a device that run_convolution.c uses. run_opencl.c, run_cuda.c and run_hip.c implement
 * them, run_none.c for a machine without a device, and a program is linked with one of these. A program has one device at a time. On failure
 * all functions end the program by fail().
 */
#ifndef RUN_DEVICE_H
#define RUN_DEVICE_H

#include "run_check.h"

#include <stddef.h>
#include <stdint.h>

struct device_facts {
    char name[128];
    /* all memory of the device, and the largest buffer that it allows, in bytes */
    uint64_t memory_bytes, largest_bytes;
    uint64_t cache_bytes;
};
/* Opens the device with this number, from 0, and sets *facts. */
void device_open(int number, struct device_facts *facts);
void device_close(void);

struct buffer;
struct buffer *buffer_new(size_t bytes);
/* Returns the part of a buffer that begins at byte `offset`. It is freed before the whole
 * buffer. */
struct buffer *buffer_part(struct buffer *whole, size_t offset);
void buffer_fill(struct buffer *buffer, uint8_t byte);
void buffer_write(struct buffer *buffer, const void *from);
void buffer_read(struct buffer *buffer, void *to);
void buffer_free(struct buffer *buffer); /* NULL is allowed */

struct kernel;
/* Loads the kernel named `entry` from a code object. */
struct kernel *kernel_load(const void *code, size_t bytes, const char *entry);
void kernel_free(struct kernel *kernel);

/* A kernel's argument: a buffer, or, if `buffer` is NULL, the first `bytes` bytes of the value. */
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

/* Returns why launches cannot be recorded as graphs on this device; NULL if they can. It may be called before
 * device_open(). */
const char *graphs_missing(void);
/* Launches in order, recorded with their arguments, which the device starts as one. */
struct graph;
/* Launches are recorded and do not run from graph_begin() until graph_end(). Each kernel has been launched before. */
void graph_begin(void);
struct graph *graph_end(void);
/* Launches all that was recorded, once more on the same addresses, after everything that was launched before. */
void graph_launch(struct graph *graph);
void graph_free(struct graph *graph);

/* A moment between two launches, taken by the device's clock. */
struct moment;
struct moment *moment_new(void);
/* Returns the milliseconds between two moments, waiting for the second one. Frees both. */
double moments_apart(struct moment *from, struct moment *to);

#endif
