/*
 * A problem on both sides of the judge: in the host's memory with the host's reference, and in the device's memory
 * with a judge. Tests of the judge compare both sides.
 */
#ifndef TESTS_SUPPORT_KERNELS_JUDGE_SIDES_H
#define TESTS_SUPPORT_KERNELS_JUDGE_SIDES_H

#include "worker/verify/guarded.h"
#include "worker/verify/judge.h"

#define JUDGE_TEST_SEED 77

/* A convolution with padding and strides, in FP32: for tests that need one problem. */
#define JUDGE_TEST_KEY "64-9-11-3x3-16-5-6-2-1x1-2x2-1x1-0-NCHW-FP32-F"

struct judge_sides {
    struct problem problem;
    enum tensor_role out;
    struct tensor tensors[OPERAND_COUNT];
    struct guarded memory[OPERAND_COUNT];
    struct device_memory *parts[OPERAND_COUNT];
    double *dense[OPERAND_COUNT];
    struct reference *host;
    struct judge *judge;
};

/* Variables that all sides use. add_tests() of judge_device_main() sets device and program. The seed is that of the
 * inputs, with their kind. */
extern struct device *judge_test_device;
extern struct device_program *judge_test_program;
extern uint64_t judge_test_seed;

/* Parses a key that must be valid. */
void judge_sides_problem(const char *key, struct problem *p);
/* Makes the inputs on the host, and the host's reference; the device's memory is full of poison. */
void judge_sides_init(struct judge_sides *s, const struct problem *p);
/* Makes the judge, which writes the inputs on the device and computes the reference there. */
bool judge_sides_judge(struct judge_sides *s, GError **error);
void judge_sides_clear(struct judge_sides *s);
/* The bytes of an operand on the device; free with g_free(). */
void *judge_sides_read(const struct judge_sides *s, enum tensor_role role);
/* Makes some elements of the right output wrong: host and device must count the same number of
 * wrong elements. */
void judge_sides_compare_verdicts(struct judge_sides *s, int wrong_elements, const char *key);

#endif
