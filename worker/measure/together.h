/*
 * Measures several configs in turns (A B C, B C A, ...), so that whatever changes on the device meanwhile hits all of
 * them: the second measurement of a problem. Each turn of a config is a slice of some readings after a run that does not
 * count. The turns end when the order is known: the median's 95 % interval of each config either lies above the fastest
 * one's, or is within 2 %, as is the fastest one's; or when the time is spent. A config whose interval is that narrow and
 * lies above the fastest one's takes no more turns.
 *
 * Run numbers go on from one config's runs to the next one's, so that each run finds the copy of the tensors that
 * waited longest.
 */
#ifndef WORKER_MEASURE_TOGETHER_H
#define WORKER_MEASURE_TOGETHER_H

#include "worker/measure/measure.h"

typedef struct together Together;

/* seconds: device time for the readings of all configs. Each takes part in at least three turns. */
Together *together_new(int count, double seconds);
void together_free(Together *together);

/* The config's first readings and its warm-up, which do not count; they choose how many runs make a reading. After a
 * reading that is not positive the config takes no turns, and its times are 0. job: its device, run, data and floor_ms
 * are used, here and below. False with the error of the device, or of run(). */
bool together_warm_up(Together *together, int index, const struct measure_job *job, GError **error);
/* Takes the config out: it failed. */
void together_drop(Together *together, int index);

/* Whether more turns are needed. */
bool together_goes_on(const Together *together);
/* Whether the config takes part in the turn. */
bool together_takes_part(const Together *together, int index);
/* The config's slice of readings in this turn. */
bool together_slice(Together *together, int index, const struct measure_job *job, GError **error);

/* Whether no other config is known to be faster: its interval meets the fastest one's. */
bool together_may_win(const Together *together, int index);
/* The config's times. *low_ms, *high_ms: the interval of its median; of fewer than 6 readings, the least and the
 * largest. */
void together_sum_up(const Together *together, int index, struct measurement *measurement,
                     double *low_ms, double *high_ms);
/* How much slower the device was in the second half of the turns: the median of the readings' ratios over the configs,
 * each config's median of its second half over that of its first; 0 if none has 6 readings. */
double together_drift(const Together *together);

#endif
