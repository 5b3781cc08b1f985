/*
 * A GPU's clocks, temperature, power and throttle reasons while it works, from the vendor's management library: NVML
 * or rocm_smi. A library is opened when it is needed; without it the program works, and the values stay unknown.
 * Functions and constants are declared here from NVIDIA's NVML API reference and AMD's ROCm SMI documentation, so
 * their headers are not needed to build. A function that an older library lacks leaves its value unknown. All calls of
 * a process belong to one thread.
 */
#ifndef WORKER_DEVICE_GPU_MONITOR_H
#define WORKER_DEVICE_GPU_MONITOR_H

#include "schema/results/conditions.h"
#include "worker/device/device.h"

typedef struct gpu_monitor GpuMonitor;

/* Finds the GPU by its UUID or its PCI address. DEVICE_ERROR_UNAVAILABLE: the library is missing or does not know the
 * GPU. SKIPJACK_NVML and SKIPJACK_ROCM_SMI name other library files. */
GpuMonitor *gpu_monitor_open(enum vendor vendor, const struct device_identity *identity,
                             GError **error);
void gpu_monitor_close(GpuMonitor *monitor);
/* Sets UUID and partition of *identity if the library knows the device as a MIG instance of a card. */
void gpu_monitor_name_instance(GpuMonitor *monitor, struct device_identity *identity);

#define DRIVER_VERSION_MAX 80

/* The version of a GPU's driver, as the vendor's own tools print it: NVIDIA's driver ("580.159.03"); AMD's kernel
 * module ("6.10.5"), or the kernel's release if the module is a part of the kernel ("6.1.0-25-amd64"). It comes from
 * the library, else from sysfs; "" if neither knows it. Also does gpu_monitor_name_instance() for *identity. */
void gpu_monitor_describe(enum vendor vendor, struct device_identity *identity,
                          char driver[DRIVER_VERSION_MAX]);

/* Takes one sample now. Values that the library does not report stay unknown, as in gpu_monitor_unknown(). */
void gpu_monitor_sample(GpuMonitor *monitor, struct conditions *sample);
/* A sample with every value unknown, for a device without a monitor. */
void gpu_monitor_unknown(struct conditions *sample);

/* Locks the compute units' clock at so many MHz until it is unlocked, also beyond this process's end.
 * DEVICE_ERROR_UNAVAILABLE: the driver refuses. */
bool gpu_monitor_lock(GpuMonitor *monitor, int mhz, GError **error);
bool gpu_monitor_unlock(GpuMonitor *monitor, GError **error);

/* ---- for the vendors' files ---- */

struct gpu_monitor {
    const struct monitor_row *row;
    void *handle;
    void *device;    /* NVML's */
    void *instance;  /* NVML's handle of a MIG instance of `device`; NULL for a whole card */
    unsigned number; /* rocm_smi's */
};

struct monitor_row {
    const char *name, *setting, *libraries;
    /* start() and driver_version() return the library's status, 0 for success. The library knows the driver's version
     * without a device. */
    int (*start)(GpuMonitor *monitor);
    int (*driver_version)(GpuMonitor *monitor, char *text, unsigned size);
    /* Finds the device; called after start(). */
    bool (*find)(GpuMonitor *monitor, const struct device_identity *identity, GError **error);
    void (*stop)(GpuMonitor *monitor);
    void (*name_instance)(GpuMonitor *monitor, struct device_identity *identity);
    void (*sample)(GpuMonitor *monitor, struct conditions *sample);
    /* lock() and its inverse return the library's status, 0 for success. */
    int (*lock)(GpuMonitor *monitor, int mhz);
    int (*unlock)(GpuMonitor *monitor);
    const char *(*status_text)(GpuMonitor *monitor, int status);
};
extern const struct monitor_row monitor_nvml, monitor_rocm_smi;

/* Finds a function of the library by its name. False if the library lacks it. */
bool monitor_symbol(const GpuMonitor *monitor, const char *name, void *function);
/* Calls a function of the library; MONITOR_MISSING if the library lacks it. */
#define MONITOR_MISSING (-1)
#define MONITOR_CALL(monitor, name, types, ...)                                                    \
    __extension__({                                                                                \
        int(*function_) types;                                                                     \
        monitor_symbol(monitor, name, &function_) ? function_(__VA_ARGS__) : MONITOR_MISSING;      \
    })

#endif
