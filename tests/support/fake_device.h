/*
 * A device in this process, for tests: memory is the host's, a kernel is a C
 * function, and only kernels move the clock: results do not depend on other work
 * of the machine.
 */
#ifndef TESTS_SUPPORT_FAKE_DEVICE_H
#define TESTS_SUPPORT_FAKE_DEVICE_H

#include "worker/device/device.h"

struct fake_device {
    struct device device; /* first */
    struct device_info info;
    double clock_ms;
    double event_ms; /* what recording an event takes */
    /* Does what a launch would; memory[i] is where argument i points, NULL for values. Moves the clock. */
    void (*run)(struct fake_device *fake, const struct device_launch *launch, void *const *memory);
    void *data;         /* for run */
    bool refuse_launch; /* launches fail with DEVICE_ERROR_LAUNCH */
};

extern const struct device_row fake_device_row;
void fake_device_init(struct fake_device *fake);
void *fake_device_bytes(struct device_memory *memory); /* as kernels see it */

#endif
