/*
 * The device of an eval child: held for as long as the process lives, the process near to it, its clocks locked where
 * that is wished for, and watched where a library does. Opened once a process.
 */
#ifndef WORKER_EVAL_DEVICE_H
#define WORKER_EVAL_DEVICE_H

#include "schema/store/conditions.h"
#include "worker/device/device.h"
#include "worker/device/gpu_clocks.h"
#include "worker/device/gpu_monitor.h"

struct eval_device {
    struct device *device;
    double floor_ms; /* of its timer; 0 for one that only tells */
    bool tells;      /* what it is, and measures nothing: it disturbs nobody who measures there */
    int hold;        /* of the device, -1 for none */
    struct gpu_clocks clocks;
    int locked_mhz; /* 0 where the driver chooses */
    struct device_identity identity;
    GpuMonitor *monitor; /* NULL where nothing watches it */
    char *unwatched;     /* why not */
};

/* name: as device_find() takes it; NULL is "". After a failure the process ends. */
bool eval_device_open(struct eval_device *opened, const char *name, bool tells, GError **error);
/* Of one that opened and is not broken; what was made on the device is freed before. */
void eval_device_clear(struct eval_device *opened);
/* Right after what was timed, while the device is still at its clocks: which one it was, at the least. False where
 * not even that is known. */
bool eval_device_conditions(struct eval_device *opened, struct conditions *sample);

#endif
