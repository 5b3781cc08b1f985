/* Interprets code for AMD's gfx9 GPUs on host memory. It knows the instructions that this project's
 * assembly uses; any other is a fault. It is a fault, too, to read or write a register that a load
 * has not filled yet (s_waitcnt must come between), and to access memory outside of the launch's
 * ranges. */
#ifndef TESTS_SUPPORT_KERNELS_GCN_SIM_H
#define TESTS_SUPPORT_KERNELS_GCN_SIM_H

#include <glib.h>
#include <stdbool.h>

#include "solvers/framework/target.h"

struct gcn_range {
    void *start;
    size_t bytes;
    bool writable;
};

#define GCN_RANGES_MAX 8

struct gcn_launch {
    const void *arguments; /* the kernel's arguments, within one of the ranges */
    int64_t groups[2];     /* number of workgroups along x and y */
    int waves;             /* waves in a workgroup, all along x */
    int64_t local_bytes;
    int range_count;
    struct gcn_range ranges[GCN_RANGES_MAX];
};

/* Runs all waves to their ends. Returns NULL, or a text that describes the first fault; free with
 * g_free(). */
char *gcn_sim_run(GBytes *code, const char *entry, const struct target *target,
                  const struct gcn_launch *launch);

#endif
