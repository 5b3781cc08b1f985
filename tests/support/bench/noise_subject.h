/*
 * A config that a benchmark of measuring runs on a real device: built by the device's toolchain, loaded, and bound to
 * a problem's tensors as in a round (worker/eval/workbench.h). Errors end the program.
 */
#ifndef TESTS_SUPPORT_BENCH_NOISE_SUBJECT_H
#define TESTS_SUPPORT_BENCH_NOISE_SUBJECT_H

#include "kernels/toolchains/toolchain.h"
#include "solvers/framework/solver.h"
#include "worker/eval/workbench.h"
#include "worker/measure/measure.h"

struct noise_device {
    struct device *device;
    const struct toolchain *toolchain;
    const struct target *target;
    struct context context;
    double floor_ms; /* measure_floor() */
};

/* Opens PoCL's CPU or, with SKIPJACK_TEST_DEVICE=gpu in the environment, the first GPU. cache_dir: for compiled
 * kernels. False, with a message on standard error, if there is no such device. */
bool noise_device_open(struct noise_device *on, const char *cache_dir);
void noise_device_close(struct noise_device *on);

/* A problem's tensors on the device, for all its subjects. */
struct noise_problem {
    const struct noise_device *on;
    struct problem problem;
    struct workbench bench;
    int64_t data_bytes; /* bytes of one copy of the tensors */
};
void noise_problem_open(struct noise_problem *p, const struct noise_device *on, const char *key);
void noise_problem_close(struct noise_problem *p);

struct noise_subject {
    struct noise_problem *of;
    const struct solver *solver;
    struct perf_config config;
    struct device_program *programs[SOLUTION_LAUNCHES_MAX];
    int program_count;
    struct invocation invocation;
    struct workbench_run run;
    int copies; /* copies of the tensors that runs rotate through: at first those of the workbench */
};
/* Builds, verifies and prepares a config; config NULL: the solver's default. False, with nothing to close, if it
 * does not compile or is wrong. */
bool noise_subject_open(struct noise_subject *s, struct noise_problem *of,
                        const struct solver *solver, const struct perf_config *config);
void noise_subject_close(struct noise_subject *s);

/* The run function of a struct measure_job; data is a struct noise_subject. */
bool noise_subject_run(void *data, int64_t run, GError **error);
/* Measures a subject with the given steps left out (enum measure_step). best_ms: 0 for a config that is kept. */
void noise_subject_measure(struct noise_subject *s, double sample_seconds, double best_ms,
                           unsigned without, struct measurement *m);

/* Returns the applicable solver with the highest estimate except the naive one, NULL if no other
 * solver is applicable. */
const struct solver *noise_best_solver(const struct noise_problem *p);

/* The median, and the quartiles' distance over the median; sorts the values. */
double noise_median(GArray *values);
double noise_spread(GArray *values);

#endif
