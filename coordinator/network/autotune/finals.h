/*
 * The end of autotune: the quickest combinations are measured once more, in turns, since pipelines that were measured at
 * different times differ by what the device did meanwhile. Before, configs are exchanged between combinations: a config that
 * won for a step with another epilogue (or none) is tried in the step's place.
 */
#ifndef COORDINATOR_NETWORK_AUTOTUNE_FINALS_H
#define COORDINATOR_NETWORK_AUTOTUNE_FINALS_H

#include "coordinator/network/autotune/autotune.h"

/* Combinations whose pipeline takes at most this many times that of the quickest are measured again, at most
 * FINALISTS_MAX. On a quiet CPU one pipeline differed by 20 % between two runs. */
#define FINALIST_SLOWER 1.25
#define FINALISTS_MAX   4

/*
 * Runs the finals, unless the file has them for the same combinations, and changes the combinations' steps, times and
 * places in the file. A pipeline that cannot be run again keeps its first time, with a notice on standard error.
 * *caught: the signal that ended it, or 0. False with an error if a combination cannot be planned.
 */
bool finals_run(struct autotune *tune, int *caught, GError **error);

/* Removes the results of earlier finals: the measured combinations have changed. */
void finals_forget(struct tuned_file *file);

#endif
