/*
 * Why a result differs from an earlier one, as far as the two measurements show it: what else changed between
 * them. Two changes in one night are both named, since the measurements cannot tell which one it was.
 */
#ifndef COORDINATOR_NIGHTS_JUDGE_CAUSES_H
#define COORDINATOR_NIGHTS_JUDGE_CAUSES_H

#include "schema/store/failure.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A measurement of a config: a point of the history, a row of a golden version, or a second measurement. It owns its
 * texts; "" or 0 if unknown. */
struct regression_point {
    char *night; /* "2026-11-22"; "golden 4" for a row of a golden version */
    int64_t campaign;
    char *solver, *config; /* config as text */
    int revision;
    char *hash;  /* hash of the solver's kernel sources */
    char *stack; /* as workers report it: "clang 15.0.7; driver 535.104; ..." */
    char *node;
    enum failure failure; /* FAILURE_NONE: verified and timed */
    char *detail;         /* of a failure */
    int n;                /* timed runs behind the median */
    double median_ms;
    double spread;     /* interquartile range / median */
    double drift;      /* of the round (drift.h) */
    int sm_mhz;        /* lowest SM clock during the round */
    int temperature_c; /* highest */
    unsigned throttle; /* reasons (enum throttle of conditions.h) */
};
void regression_point_clear(struct regression_point *point);
/* Makes `to` a copy of `from`; the caller clears it. */
void regression_point_copy(struct regression_point *to, const struct regression_point *from);

enum regression_cause {
    CAUSE_REVISION,  /* the solver's revision */
    CAUSE_SOURCE,    /* the kernel source of the same revision */
    CAUSE_TOOLCHAIN, /* a compiler */
    CAUSE_RUNTIME,   /* a runtime library: PoCL, CUDA's, HIP's */
    CAUSE_DRIVER,    /* the driver */
    CAUSE_NODE,      /* the node is slow: in other results too, or another node is not */
    CAUSE_CLOCKS,    /* the device ran at lower clocks, was throttled or hot */
    CAUSE_CONFIG,    /* another config won */
    CAUSE_UNKNOWN,   /* nothing that is recorded changed */
    CAUSE_COUNT
};
/* "solver revision", "kernel source", ...; static. */
const char *regression_cause_name(enum regression_cause cause);
bool regression_cause_parse(const char *name, enum regression_cause *cause);

struct regression_cause_found {
    enum regression_cause cause;
    char *evidence; /* what changed, from which to which: "clang 15.0.7 -> 16.0.6" */
};

/* The evidence against a node in the other results of the same night. */
struct regression_node_evidence {
    double
        percent;  /* by how many percent the node's unchanged results were slower, in the median */
    int results;  /* how many results that median has */
    bool is_slow; /* the node's results are slower than noise explains */
    bool other_fine;        /* the second measurement on another node showed no slow-down */
    const char *other_node; /* the name of that node, or NULL */
};

/* Returns what changed from `before` to `now`, struct regression_cause_found, most telling first; CAUSE_UNKNOWN alone if
 * nothing did. node may be NULL. Free with g_array_unref(). */
GArray *causes_find(const struct regression_point *before, const struct regression_point *now,
                    const struct regression_node_evidence *node);
/* A new, empty array that frees its elements' texts. */
GArray *causes_new(void);
/* "driver 535.104 -> 550.54; config changed"; free with g_free(). */
char *causes_text(const GArray *causes);

#endif
