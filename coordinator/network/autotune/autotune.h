/*
 * Tries the combinations of a network's global knobs: plans each, tunes its problems, runs its pipeline, and keeps the
 * results in a file. A combination whose bound is at least the time of the best pipeline cannot win and is not tuned.
 */
#ifndef COORDINATOR_NETWORK_AUTOTUNE_AUTOTUNE_H
#define COORDINATOR_NETWORK_AUTOTUNE_AUTOTUNE_H

#include "coordinator/network/autotune/model.h"
#include "coordinator/network/autotune/tuned_file.h"
#include "coordinator/network/autotune/tuning.h"

struct autotune {
    struct model *model;        /* the caller's */
    const char *path;           /* the file that is written after each combination; the caller's */
    const GArray *combinations; /* struct combination; the caller's */
    const GArray *pins;         /* struct pin; the caller's */
    double sample_seconds;      /* device time for the readings of a pipeline */
    bool prunes;                /* whether combinations that cannot win are left out */
    struct tuning tuning;
    struct tuned_file file;
};

enum autotune_end {
    AUTOTUNE_DONE,
    AUTOTUNE_OVERDUE,     /* the deadline came first: the file has what is done */
    AUTOTUNE_INTERRUPTED, /* the user stopped it: likewise */
    AUTOTUNE_FAILED,      /* error says why */
};

/*
 * Opens database and device, and takes over what the file at `path` has already, if it is of the same model, batch, target
 * and solvers; otherwise it says why it begins anew. Clear it after failure, too.
 */
bool autotune_open(struct autotune *tune, const struct request *request, const char *log,
                   GError **error);
void autotune_clear(struct autotune *tune);

/* Does all combinations that are not done. */
enum autotune_end autotune_run(struct autotune *tune, GError **error);

/* Returns whether each pin fits a step of one of the plans (GPtrArray of struct network_plan). COORDINATOR_ERROR_USAGE
 * names the first pin that fits no step. */
bool pins_check(const GArray *pins, const GPtrArray *plans, const struct target *target,
                GError **error);

/*
 * The least that the plan's pipeline can take in ms, as far as is known: the products of its convolutions at the target's
 * peak, one product for each output element and input channel. The bound leaves out reading and writing, since an
 * earlier step may have left operands in the caches, and all other operators.
 */
double plan_bound_ms(const struct network_plan *plan, const struct target *target);

#endif
