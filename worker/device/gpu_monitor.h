/*
 * What a vendor's management library tells of a GPU while it works, and its
 * clocks: NVML, rocm_smi. Both are opened when they are needed and found, and no
 * result depends on them. Functions and numbers are those of NVIDIA's NVML API
 * reference and of AMD's ROCm SMI library's documentation, whose headers need not
 * be here; functions that a library lacks leave what they tell unknown. All calls
 * of a process belong to one thread.
 */
#ifndef WORKER_GPU_MONITOR_H
#define WORKER_GPU_MONITOR_H

#include "schema/store/conditions.h"
#include "worker/device/device.h"

typedef struct gpu_monitor GpuMonitor;

/* Finds the GPU by its UUID, or its PCI address. DEVICE_ERROR_UNAVAILABLE: it has no library or that does
 * not know it. SKIPJACK_NVML and SKIPJACK_ROCM_SMI name other libraries. */
GpuMonitor *gpu_monitor_open(enum vendor vendor, const struct device_identity *identity,
                             GError **error);
void gpu_monitor_close(GpuMonitor *monitor);
/* A device that the library knows as an instance (MIG) of a card gets its UUID and partition so. */
void gpu_monitor_name_instance(GpuMonitor *monitor, struct device_identity *identity);

#define DRIVER_VERSION_MAX 80

/* The version of the driver that serves a GPU, as the vendor's own tools print it: NVIDIA's ("580.159.03");
 * of AMD's kernel module, or the kernel's release where the module came with the kernel ("6.10.5",
 * "6.1.0-25-amd64"). From the library, else from sysfs; "" where neither knows. Also names an instance in
 * *identity, as gpu_monitor_name_instance() does. */
void gpu_monitor_describe(enum vendor vendor, struct device_identity *identity,
                          char driver[DRIVER_VERSION_MAX]);

/* One sample, taken now; what the library does not tell stays as gpu_monitor_untold() has it. */
void gpu_monitor_sample(GpuMonitor *monitor, struct conditions *sample);
/* A sample of a device that nothing watches. */
void gpu_monitor_untold(struct conditions *sample);

/* Holds the compute units' clock at so many MHz until it is given back, also beyond the process's life.
 * DEVICE_ERROR_UNAVAILABLE: the driver does not let us. */
bool gpu_monitor_lock(GpuMonitor *monitor, int mhz, GError **error);
bool gpu_monitor_unlock(GpuMonitor *monitor, GError **error);

/* ---- for the vendors' files ---- */

struct gpu_monitor {
    const struct monitor_row *row;
    void *handle;
    void *device;    /* NVML's */
    void *instance;  /* NVML's, of a part of that device; NULL for a whole one */
    unsigned number; /* rocm_smi's */
};

struct monitor_row {
    const char *name, *setting, *libraries;
    /* Statuses of the library's, 0 for done: starts it; asks for the driver's version, which it knows without
     * a device. */
    int (*start)(GpuMonitor *monitor);
    int (*driver_version)(GpuMonitor *monitor, char *text, unsigned size);
    /* Finds the device, after the start. */
    bool (*find)(GpuMonitor *monitor, const struct device_identity *identity, GError **error);
    void (*stop)(GpuMonitor *monitor);
    void (*name_instance)(GpuMonitor *monitor, struct device_identity *identity);
    void (*sample)(GpuMonitor *monitor, struct conditions *sample);
    /* A status of the library's, 0 for done. */
    int (*lock)(GpuMonitor *monitor, int mhz);
    int (*unlock)(GpuMonitor *monitor);
    const char *(*status_text)(GpuMonitor *monitor, int status);
};
extern const struct monitor_row monitor_nvml, monitor_rocm_smi;

/* The function of that name, where the library has it. */
bool monitor_symbol(const GpuMonitor *monitor, const char *name, void *function);
/* Calls a function that takes the arguments, where the library has it: MONITOR_MISSING else. */
#define MONITOR_MISSING (-1)
#define MONITOR_CALL(monitor, name, types, ...)                                                    \
    __extension__({                                                                                \
        int(*function_) types;                                                                     \
        monitor_symbol(monitor, name, &function_) ? function_(__VA_ARGS__) : MONITOR_MISSING;      \
    })

#endif
