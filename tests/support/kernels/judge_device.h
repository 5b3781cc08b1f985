/* The device for tests of the judge (the kernels that verify results on the device), and kernels
 * compiled for that device. */
#ifndef TESTS_SUPPORT_KERNELS_JUDGE_DEVICE_H
#define TESTS_SUPPORT_KERNELS_JUDGE_DEVICE_H

#include "worker/device/device.h"

/* Opens PoCL's CPU, or with SKIPJACK_TEST_DEVICE=gpu the first GPU; NULL if there is no such device. */
struct device *judge_device_open(void);
/* Compiles and loads a kernel source of this project; an error ends the test program. */
struct device_program *judge_device_load(struct device *device, const char *file,
                                         const char *options, const char *entry);

/* The main() of a test program: opens the device, loads the judge and runs the tests; without a
 * device one test of the path `skipped` is skipped instead. Device and judge are freed at the
 * end. */
int judge_device_main(int argc, char **argv, const char *skipped,
                      void (*add_tests)(struct device *device, struct device_program *judge));

#endif
