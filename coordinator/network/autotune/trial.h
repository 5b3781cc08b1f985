/*
 * One combination of the knobs, planned, run on this machine's device, verified, and compared with FP32 on the host.
 */
#ifndef COORDINATOR_NETWORK_AUTOTUNE_TRIAL_H
#define COORDINATOR_NETWORK_AUTOTUNE_TRIAL_H

#include "coordinator/network/autotune/execute.h"
#include "coordinator/network/autotune/model.h"
#include "coordinator/network/autotune/tuned_file.h"

/* Lists that a wish points into. */
struct tuned_words {
    char **samples, **dims;
};
void tuned_words_clear(struct tuned_words *words);

/* Sets the wish to all that the plans of a tuned file depend on: the sizes of open dimensions, if the wish has none,
 * how INT8 was calibrated, and with which samples: the user's files, or the inputs of the file, or random ones. Clear
 * *words after the last use of the wish, and after failure, too. */
bool tuned_file_wish(const struct tuned_file *file, struct model_wish *wish,
                     struct tuned_words *words, GError **error);

/* Chooses the solver of a step: a choice that the caller owns, or NULL with an error. */
typedef struct choice *(*trial_chooser)(const struct plan_step *step, int index, void *data,
                                        GError **error);

/* Returns the choice that a tuned file has for a step with this problem; NULL with an error if it does not fit the
 * problem. */
struct choice *trial_choice(const struct tuned_step *tuned, const struct problem *problem,
                            const struct target *target, GError **error);

struct trial {
    struct model *model;
    const struct target *target;
    const struct network_plan *plan;
    struct choice **choices; /* for each step; owned */
    double sample_seconds;
    /* The measurements of trials_run(): the times in ms of one run in each turn, and those of each step, turn by turn.
     * turns is 0 if it took no turns. Owned. */
    int turns;
    double *turns_ms, *step_turns_ms; /* step_turns_ms[step * turns + turn] */
};

/* Chooses for all steps. An error names the step. Clear it after failure, too. */
bool trial_init(struct trial *trial, struct model *model, const struct target *target,
                const struct network_plan *plan, trial_chooser choose, void *data, GError **error);
void trial_clear(struct trial *trial);

/*
 * Runs the trial and fills everything but the knobs and bound_ms of *combination: state (measured or wrong, with the
 * reason), times, memory, accuracy and steps. *outputs, if not NULL, gets the outputs; free with g_free(). False with
 * an error if it cannot be run; *caught is the signal that ended it, or 0.
 */
bool trial_run(struct trial *trial, struct tuned_combination *combination, float **outputs,
               int64_t *output_count, int *caught, GError **error);

/*
 * Runs several trials of one model on the device at once and times them in turns, so that their times can be compared
 * turn by turn. combinations: a pointer for each, filled as trial_run() does; the number of readings is that of turns.
 * *no_room: NULL, or why they had to be run one by one: then there are no turns. Free with g_free().
 */
bool trials_run(struct trial *trials, int count, struct tuned_combination *const *combinations,
                char **no_room, int *caught, GError **error);

#endif
