/*
 * A device that runs kernels: a small table of functions, one row a kind of
 * runtime. Work goes into one stream in order: copies from the host are done
 * when the call returns, fills and launches are only enqueued, and what goes
 * wrong with them later is told by device_sync() or by a copy to the host.
 * After DEVICE_ERROR_FAULT nothing in the process can be trusted: end it.
 * All calls belong to one thread. Objects are freed before their device.
 */
#ifndef WORKER_DEVICE_H
#define WORKER_DEVICE_H

#include <glib.h>
#include <stdbool.h>

#include "solvers/framework/target.h"

#define DEVICE_NUMBER_MAX 1023

#define DEVICE_ERROR (device_error_quark())
GQuark device_error_quark(void);

enum device_error {
    DEVICE_ERROR_UNAVAILABLE, /* There is no such device, or its runtime is not here. */
    DEVICE_ERROR_MEMORY,      /* The device has not enough memory left. */
    DEVICE_ERROR_SIZE,        /* More is asked for than the device has at all. */
    DEVICE_ERROR_LOAD,        /* A code object or an entry of it cannot be loaded. */
    DEVICE_ERROR_LAUNCH,      /* A launch was refused: its arguments, grid or resources. */
    DEVICE_ERROR_FAULT,       /* A kernel failed while it ran, or the device is gone. */
};

/* Tells a device from others of its kind; texts are "" where its driver does not say. */
struct device_identity {
    char uuid[64];    /* "GPU-..." or "MIG-...", as the vendor's tools write it */
    char address[24]; /* on the PCI bus, as sysfs writes it: "0000:65:00.0" */
    char partition
        [48]; /* the part of a card that it is: "MIG 1g.10gb", "CPX NPS4"; "SPX NPS1" is whole */
};

struct device_info {
    struct target target;
    struct device_identity identity;
    char name[128];        /* as the vendor spells it */
    char stack[128];       /* runtime and driver: "opencl PoCL 3.1 LLVM 14.0.6", "cuda 13.0; driver
                              580.159.03" (README.md says what each name means) */
    int64_t memory_bytes;  /* of the device */
    int64_t largest_bytes; /* of one allocation, at most */
    int64_t cache_bytes;   /* of its last-level cache; 0 when not known */
    int slice_alignment;   /* offsets of slices are multiples of this */
};

struct device;
struct device_memory;
struct device_program;
struct device_kernel;
struct device_event;

/* A raw argument: memory, or bytes by value. */
struct device_arg {
    struct device_memory *memory; /* NULL for a value */
    int bytes;
    union {
        int32_t int32;
        int64_t int64;
        float float32;
        double float64;
    } value;
};

struct device_launch {
    struct device_kernel *kernel;
    int64_t grid[3]; /* work-items */
    int block[3];    /* work-items a workgroup; grid is a multiple */
    int64_t local_bytes;
    int arg_count;
    const struct device_arg *args;
};

struct device_row {
    const char *name; /* "cuda", "hip", "opencl" */
    /* How many there are; -1 with a reason where its runtime is not here. */
    int (*count)(GError **error);
    /* Asks the driver alone: no context is made. NULL where devices have no identity. */
    void (*identify)(int index, struct device_identity *identity);
    struct device *(*open)(int index, GError **error);
    void (*close)(struct device *device);
    const struct device_info *(*info)(const struct device *device);

    struct device_memory *(*alloc)(struct device *device, int64_t bytes, GError **error);
    /* A part of an allocation, as memory of its own; freed before the allocation. */
    struct device_memory *(*slice)(struct device_memory *memory, int64_t offset, int64_t bytes,
                                   GError **error);
    void (*memory_free)(struct device_memory *memory);
    bool (*write)(struct device_memory *to, int64_t offset, const void *from, int64_t bytes,
                  GError **error);
    bool (*read)(struct device_memory *from, int64_t offset, void *to, int64_t bytes,
                 GError **error);
    bool (*copy)(struct device_memory *from, struct device_memory *to, int64_t bytes,
                 GError **error);
    bool (*fill)(struct device_memory *memory, int64_t offset, int64_t bytes, uint8_t value,
                 GError **error);

    struct device_program *(*load)(struct device *device, GBytes *code, GError **error);
    void (*program_free)(struct device_program *program);
    /* Freed before its program. */
    struct device_kernel *(*kernel)(struct device_program *program, const char *entry,
                                    GError **error);
    void (*kernel_free)(struct device_kernel *kernel);
    bool (*launch)(struct device *device, const struct device_launch *launch, GError **error);

    /* A point in the stream. Elapsed waits for the later one, behind which nothing was enqueued;
     * milliseconds. */
    struct device_event *(*record)(struct device *device, GError **error);
    void (*event_free)(struct device_event *event);
    bool (*elapsed)(struct device_event *from, struct device_event *to, double *ms, GError **error);
    bool (*sync)(struct device *device, GError **error);
};

/* What each kind of device has first in its struct. */
struct device {
    const struct device_row *row;
    double busy_seconds;  /* that it had work, as far as it was waited for; GPUs alone */
    gint64 busy_since_us; /* when it got what it has now; 0 where it has nothing */
};

/* For rows: it got work; all that it got is done. */
void device_got_work(struct device *device);
void device_is_done(struct device *device);

extern const struct device_row device_cuda, device_hip, device_opencl;

/* The index-th device, from 0, of this machine: its GPUs come first, then what OpenCL has. When there is none
 * the error says of each kind how many there are, or why none. */
struct device *device_open(int index, GError **error);
void device_close(struct device *device);

/* The same without opening it; false where there is no such device. */
bool device_identify(int index, struct device_identity *identity, GError **error);
/* How many GPUs there are: devices 0 to one less. */
int device_count_gpus(void);
/* The number of the device that is named: "" or "local", the first; its number; or its UUID. */
bool device_find(const char *name, int *index, GError **error);

#endif
