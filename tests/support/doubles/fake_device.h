/* A device simulated in this process: its memory is the host's, its kernel is a C function, and
 * only kernels move its clock, so that results do not depend on other work of the machine. */
#ifndef TESTS_SUPPORT_DOUBLES_FAKE_DEVICE_H
#define TESTS_SUPPORT_DOUBLES_FAKE_DEVICE_H

#include "worker/device/device.h"

struct fake_device {
    struct device device; /* first */
    struct device_info info;
    double clock_ms;
    double event_ms; /* ms that recording an event takes */
    /* Runs the kernel. memory[i] is the address that argument i points to, NULL for scalars. Must
     * move the clock. */
    void (*run)(struct fake_device *fake, const struct device_launch *launch, void *const *memory);
    void *data;         /* for run */
    bool refuse_launch; /* launches fail with DEVICE_ERROR_LAUNCH */
};

extern const struct device_row fake_device_row;
void fake_device_init(struct fake_device *fake);
/* the bytes of an allocation as kernels access them */
void *fake_device_bytes(struct device_memory *memory);

#endif
