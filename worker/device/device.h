/*
 * A device that runs kernels: a table of functions, one row (struct device_row) for each kind of runtime.
 *
 * All work of a device goes into one stream, in order. Copies from the host are done when the call returns. Fills
 * and launches are only enqueued; if one fails later, the next sync(), elapsed() or read() returns the error. After
 * DEVICE_ERROR_FAULT results, and the driver's state, are undefined: end the process. All calls for a device belong
 * to one thread. Free its objects before the device.
 */
#ifndef WORKER_DEVICE_DEVICE_H
#define WORKER_DEVICE_DEVICE_H

#include <glib.h>
#include <stdbool.h>

#include "solvers/framework/target.h"

#define DEVICE_NUMBER_MAX 1023

#define DEVICE_ERROR (device_error_quark())
GQuark device_error_quark(void);

enum device_error {
    DEVICE_ERROR_UNAVAILABLE, /* No such device, or its runtime is not installed. */
    DEVICE_ERROR_MEMORY,      /* The device has not enough memory left. */
    DEVICE_ERROR_SIZE,        /* The request exceeds all memory that the device has. */
    DEVICE_ERROR_LOAD,        /* A code object or an entry of it cannot be loaded. */
    DEVICE_ERROR_LAUNCH,      /* A launch was refused: its arguments, grid or resources. */
    DEVICE_ERROR_FAULT,       /* A kernel failed while it ran, or the device is gone. */
};

/* Tells a device from others of its kind. Texts that the driver does not report are "". */
struct device_identity {
    char uuid[64];    /* "GPU-..." or "MIG-...", as the vendor's tools write it */
    char address[24]; /* on the PCI bus, as sysfs writes it: "0000:65:00.0" */
    /* The partition of a card that the device is: "MIG 1g.10gb", "CPX NPS4"; "SPX NPS1" is a
     * whole card. */
    char partition[48];
};

struct device_info {
    struct target target;
    struct device_identity identity;
    char name[128];        /* the device's name as its vendor spells it */
    char stack[128];       /* runtime and driver: "opencl PoCL 3.1 LLVM 14.0.6", "cuda 13.0; driver
                              580.159.03" (worker/DEVICES.md explains the names) */
    int64_t memory_bytes;  /* bytes of the device's memory */
    int64_t largest_bytes; /* bytes of the largest possible allocation */
    int64_t cache_bytes;   /* bytes of the last-level cache; 0 if unknown */
    int slice_alignment; /* offsets of slices (device_row's slice()) must be multiples of this, but on CPUs */
};

struct device;
struct device_memory;
struct device_program;
struct device_kernel;
struct device_event;
struct device_graph;

/* An argument of a launch: device memory, or bytes passed by value. */
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
    int block[3];    /* work-items of a workgroup, by axis; the grid is a multiple of them */
    int64_t local_bytes;
    int arg_count;
    const struct device_arg *args;
};

struct device_row {
    const char *name; /* "cuda", "hip", "opencl" */
    /* The number of devices; -1 with a reason if the runtime is not installed. */
    int (*count)(GError **error);
    /* Fills in the identity by asking the driver, without making a context. NULL for a runtime
     * whose devices have no identity. */
    void (*identify)(int index, struct device_identity *identity);
    struct device *(*open)(int index, GError **error);
    void (*close)(struct device *device);
    const struct device_info *(*info)(const struct device *device);

    struct device_memory *(*alloc)(struct device *device, int64_t bytes, GError **error);
    /* Makes a memory object of a part of an allocation. Free it before the allocation. */
    struct device_memory *(*slice)(struct device_memory *memory, int64_t offset, int64_t bytes,
                                   GError **error);
    void (*memory_free)(struct device_memory *memory);
    bool (*write)(struct device_memory *to, int64_t offset, const void *from, int64_t bytes,
                  GError **error);
    bool (*read)(struct device_memory *from, int64_t offset, void *to, int64_t bytes,
                 GError **error);
    /* Waits for the device, and returns where the host finds the memory, valid until the next launch, fill, copy or
     * write. NULL without an error for a device that does not share the host's memory. NULL for a runtime without such
     * devices. */
    const void *(*view)(struct device_memory *memory, GError **error);
    bool (*copy)(struct device_memory *from, struct device_memory *to, int64_t bytes,
                 GError **error);
    bool (*fill)(struct device_memory *memory, int64_t offset, int64_t bytes, uint8_t value,
                 GError **error);

    struct device_program *(*load)(struct device *device, GBytes *code, GError **error);
    void (*program_free)(struct device_program *program);
    /* Finds a kernel in a loaded program. Free the kernel before its program. */
    struct device_kernel *(*kernel)(struct device_program *program, const char *entry,
                                    GError **error);
    void (*kernel_free)(struct device_kernel *kernel);
    bool (*launch)(struct device *device, const struct device_launch *launch, GError **error);

    /* record() marks a point in the stream. elapsed() waits for `to`, which must be the last thing enqueued, and
     * returns the milliseconds between both points. */
    struct device_event *(*record)(struct device *device, GError **error);
    void (*event_free)(struct device_event *event);
    bool (*elapsed)(struct device_event *from, struct device_event *to, double *ms, GError **error);
    bool (*sync)(struct device *device, GError **error);

    /* Many launches as one. NULL for a runtime without. Between capture_begin() and capture_end() launches, fills and
     * copies on the device are recorded instead of run; no other function of the device may be called. A graph keeps
     * the addresses and values that it was recorded with. DEVICE_ERROR_UNAVAILABLE if the runtime's library is too
     * old; nothing is being recorded then. */
    bool (*capture_begin)(struct device *device, GError **error);
    struct device_graph *(*capture_end)(struct device *device, GError **error);
    bool (*graph_launch)(struct device *device, struct device_graph *graph, GError **error);
    void (*graph_free)(struct device_graph *graph);
};

/* The first member of each runtime's own device struct. */
struct device {
    const struct device_row *row;
    /* Seconds in which the device had work, up to the last wait for it; 0 for CPUs. */
    double busy_seconds;
    /* Monotonic time in us when the current work began; 0 while the device is idle. */
    gint64 busy_since_us;
};

extern const struct device_row device_cuda, device_hip, device_opencl;

/* Opens the index-th device of this machine, from 0. GPUs come first, then OpenCL's devices. On failure the error
 * lists each runtime with the number of its devices, or why it has none. */
struct device *device_open(int index, GError **error);
void device_close(struct device *device);

/* Identifies the index-th device without opening it; false if it does not exist. */
bool device_identify(int index, struct device_identity *identity, GError **error);
/* The number n of the machine's GPUs, which are the devices 0 to n - 1. */
int device_count_gpus(void);
/* Sets *index to the number of the device with that name: "" or "local" for the first device, a
 * number, or a UUID. */
bool device_find(const char *name, int *index, GError **error);

#endif
