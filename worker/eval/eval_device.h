/*
 * The device of an eval child, opened once a process. The process holds the device's lock as long as it lives, runs
 * on the cores near the device, locks its clocks if the worker asks for it, and samples clocks and temperature if
 * the vendor's library is installed.
 */
#ifndef WORKER_EVAL_EVAL_DEVICE_H
#define WORKER_EVAL_EVAL_DEVICE_H

#include "schema/results/conditions.h"
#include "worker/device/device.h"
#include "worker/device/gpu_clocks.h"
#include "worker/device/gpu_monitor.h"

struct eval_device {
    struct device *device;
    double floor_ms; /* the timer's floor in ms (measure.h); 0 if only_hello */
    bool only_hello; /* identify the device only: take no lock, pin no cores, measure nothing */
    int hold;        /* descriptor of the device's lock, -1 for none */
    struct gpu_clocks clocks;
    int locked_mhz; /* MHz at which the clocks are locked; 0: the driver chooses them */
    struct device_identity identity;
    GpuMonitor *monitor; /* monitor of clocks and temperature; NULL if none works */
    char *unwatched;     /* why there is no monitor; NULL for a CPU */
};

/* Opens the device. name: for device_find(); NULL is "". After a failure only the process's end
 * releases what was opened. */
bool eval_device_open(struct eval_device *opened, const char *name, bool only_hello,
                      GError **error);
/* Closes the device. Free everything made on it before. Not for a device that faulted: end the
 * process instead. */
void eval_device_clear(struct eval_device *opened);
/* The device's name, clocks, temperature, power and throttle reasons, as far as they are known. Call it right after
 * a timed run, while the clocks are still high. False if not even the device's name is known. */
bool eval_device_conditions(struct eval_device *opened, struct conditions *sample);

#endif
