/*
 * Interprets AMD's gfx9 code on host memory: of the instructions those that our assembly uses, any other
 * is a fault. Registers are watched: what a load has not brought yet may be neither read nor written
 * before s_waitcnt says that it has come. Memory outside of what the launch names is a fault too.
 */
#ifndef TESTS_GCN_SIM_H
#define TESTS_GCN_SIM_H

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
    const void *arguments; /* one of the ranges */
    int64_t groups[2];     /* workgroups along x and y */
    int waves;             /* of a workgroup, along x */
    int64_t local_bytes;
    int range_count;
    struct gcn_range ranges[GCN_RANGES_MAX];
};

/* Runs all waves to their ends. NULL when they got there, else what was wrong; free with g_free(). */
char *gcn_sim_run(GBytes *code, const char *entry, const struct target *target,
                  const struct gcn_launch *launch);

#endif
