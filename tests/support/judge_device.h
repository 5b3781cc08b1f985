/* The device that tests of the device's own verifying run on, and kernels compiled for it. */
#ifndef TESTS_SUPPORT_JUDGE_DEVICE_H
#define TESTS_SUPPORT_JUDGE_DEVICE_H

#include "worker/device/device.h"

/* Opens PoCL's CPU, or with SKIPJACK_TEST_DEVICE=gpu the first GPU; NULL if there is no such device. */
struct device *judge_device_open(void);
/* Compiles and loads a kernel source of this project; an error ends the test program. */
struct device_program *judge_device_load(struct device *device, const char *file,
                                         const char *options, const char *entry);

/* A test program's main(): the tests are added where there is a device, with the judge loaded into it; else one of
 * that path is skipped. Both are freed after the tests. */
int judge_device_main(int argc, char **argv, const char *skipped,
                      void (*add_tests)(struct device *device, struct device_program *judge));

#endif
