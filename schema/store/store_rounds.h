/*
 * Rounds: the configs that a job tries together, and the outcome of each.
 * The database keeps a round as one packed row.
 */
#ifndef SCHEMA_STORE_STORE_ROUNDS_H
#define SCHEMA_STORE_STORE_ROUNDS_H

#include "schema/store/failure.h"
#include "solvers/framework/space.h"

#include <jansson.h>

/* The outcome of one config in a round. */
struct outcome {
    enum failure failure;
    int n; /* number of timed runs, 0 for none */
    double min_ms, median_ms;
    double spread; /* interquartile range of the times divided by the median */
    /* Largest error of an element divided by its tolerance: at most 1 for a verified config. */
    double error;
    double build_seconds, eval_seconds;
    double pack_ms; /* time of packing the filter once; 0 for a config that does not pack it */
    /* The 95 % interval of the median; both 0 for a config that was not measured a second time. */
    double low_ms, high_ms;
    /* Runs that were compared to prove the config, and the kinds of inputs that they had (worker/eval/proof.h): of the
     * five kinds the first so many. Both 0 for a config that was not proved in the round. */
    int proof_runs, proof_kinds;
};

/* Whether timed runs found their operands out of the last-level cache (worker/MEASURING.md). */
enum caches {
    CACHES_UNKNOWN,
    CACHES_COLD,
    CACHES_WARM, /* at least one config of the round was timed with warm caches */
};
/* Reads a member that is a boolean, true for cold; unknown if it is missing or null. */
enum caches caches_from_json(const json_t *object, const char *name);

struct round {
    int number; /* from 0 */
    int config_count;
    /* the configs, config_count of them; configs of solvers that cannot be tuned have no values */
    struct perf_config *configs;
    /* one text a config: the distinct kernels of its solution joined by ','; "" if it is not built */
    char **kernel_keys;
    /* The configs' outcomes, config_count of them; FAILURE_PENDING until evaluated. */
    struct outcome *outcomes;
    char **details; /* for each config the last words of its failure, or NULL */
    /* The toolchain and runtime that the round used. */
    char *stack;
    /* the default config's time after the round over before (drift.h); 0 if unknown */
    double drift;
    enum caches caches;
    /* the share of the output's elements that were compared when the configs were verified, the least of them; 0 if
     * unknown */
    double verified_share;
    /* taken over from another search: its configs do not count for the job's limit */
    bool beyond_limit;
    /* its outcomes, also failures, replace those of its configs in earlier rounds */
    bool remeasures;
};
#define ROUND_CONFIGS_MAX 100000 /* a row that claims more configs is damaged */
struct round *round_new(int config_count);
void round_free(struct round *round);

/* A verified config of a job that is worth keeping. */
struct kept {
    struct perf_config config;
    char *config_text; /* the config as text, as the solver spells it */
    char *kernel_keys; /* joined by ',' */
    struct outcome outcome;
    uint64_t workspace_bytes;
    uint64_t packed_bytes; /* of the packed filter; 0 for a config that does not pack it */
    double flops;
    bool is_default;
    bool wins; /* it won the second measurement of its problem (QUEUE.md) */
};
void kept_clear(struct kept *kept);

/* Readers of rows, internal to the store. NULL or false with STORE_ERROR_DAMAGED for unknown names, numbers out
 * of range and arrays of different lengths. Call kept_clear() after a failure, too. */
struct round *round_from_json(const json_t *object, GError **error);
bool kept_from_json(const json_t *object, struct kept *kept, GError **error);

#endif
