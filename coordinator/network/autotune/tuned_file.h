/*
 * The JSON file with the results of `autotune`: for each combination of the global knobs, every layer's solver, config
 * and time, and the time of the whole pipeline. The winner is marked. `run-network` applies it without tuning. One
 * table of fields (tuned_file.c) is reader, writer's check and JSON Schema (tuned.schema.json).
 */
#ifndef COORDINATOR_NETWORK_AUTOTUNE_TUNED_FILE_H
#define COORDINATOR_NETWORK_AUTOTUNE_TUNED_FILE_H

#include "coordinator/network/autotune/knobs.h"

#include <jansson.h>

#define TUNED_VERSION 1

enum combination_state {
    COMBINATION_MEASURED,
    COMBINATION_PRUNED, /* it cannot win: bound_ms says why */
    COMBINATION_FAILED, /* reason says what failed */
    COMBINATION_WRONG, /* its pipeline ran, but its outputs are not those of the network: it cannot win */
};

struct tuned_step {
    char *name;    /* of the step in the plan */
    char *problem; /* its key */
    char *solver, *config;
    gint64 revision, workspace_bytes;
    double alone_ms, spread; /* measured alone, caches cold; 0 if pinned, estimated or exchanged */
    double pipeline_ms;      /* in its place in the pipeline */
    gboolean pinned;
    gboolean estimated; /* no config was measured: this is the solver with the best estimate */
    gboolean exchanged; /* the config won in another combination, and was quicker here, in place */
};

struct tuned_combination {
    int values[KNOB_COUNT]; /* places in knob_table[].values */
    int state;              /* enum combination_state */
    char *reason;           /* NULL where it was measured */
    double
        bound_ms;  /* the least that the pipeline can take, from what was known when it was begun */
    double sum_ms; /* of the steps, each measured alone */
    /* The pipeline as one: its quickest form, and by single launches; 0 if it did not run. */
    double pipeline_ms, pipeline_min_ms, pipeline_spread, launches_ms, host_ms;
    gint64 readings;
    /* The finals, in turns with the other quickest combinations: the pipeline's time; its ratio to the winner's time in
     * the same turn, with the 95 % interval; the number of turns. All 0 for a combination that did not take part. */
    double final_ms, final_ratio, final_low, final_high;
    gint64 final_turns;
    gboolean graph; /* pipeline_ms is that of one graph launch */
    gint64 arena_bytes, arena_bound_bytes, weight_bytes, packed_bytes;
    /* Against the same network in FP32 on the host: the largest and the mean difference of an output, divided by the
     * largest output; the cosine of both; the share of images whose top class agrees. */
    double max_error, mean_error, cosine, top1;
    struct tuned_step *steps;
    int step_count;
};

struct tuned_file {
    char *schema;
    gint64 version;
    char *network, *model, *model_sha256;
    gint64 batch, seed;
    /* How INT8 was calibrated: "min_max, channel", and files of samples joined by commas; NULL: the inputs. */
    char *calibration, *samples;
    char *inputs; /* files, joined by commas; NULL: random numbers of the seed */
    char *dims;   /* the values of --dim, joined by commas; NULL for none */
    char *target, *device, *stack, *program;
    char *created; /* ISO 8601, UTC */
    struct tuned_combination *combinations;
    int count;
    gint64 winner; /* index into combinations, -1 for none */
};

/* Reads a file. COORDINATOR_ERROR_USAGE names the file, the field and what it takes. Clear it after failure, too. */
bool tuned_file_read(struct tuned_file *file, const char *path, GError **error);
/* Writes it to a temporary name, and renames it. */
bool tuned_file_write(const struct tuned_file *file, const char *path, GError **error);
void tuned_file_clear(struct tuned_file *file);
/* The combination of these values; NULL if the file has none. */
struct tuned_combination *tuned_file_find(const struct tuned_file *file,
                                          const struct combination *combination);
/* Adds an empty one at the end; pointers to others are no longer valid. */
struct tuned_combination *tuned_file_add(struct tuned_file *file,
                                         const struct combination *combination);
void tuned_combination_clear(struct tuned_combination *combination);
/* Marks the winner: of the combinations that were measured again the one with the shortest time then; if none was, the
 * measured one with the shortest pipeline. */
void tuned_file_choose(struct tuned_file *file);
void tuned_combination_values(const struct tuned_combination *combination,
                              struct combination *values);
json_t *tuned_file_json(const struct tuned_file *file); /* a new reference */
json_t *tuned_file_schema(void);                        /* a new reference */

#endif
