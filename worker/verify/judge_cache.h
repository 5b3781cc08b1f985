/*
 * Judges that were used last, kept for the next request of their problem, in up to 1/4 of the device's memory: a problem
 * has seven with those of its proofs, and is asked for by each of its solvers. The cache is cleared
 * when memory is short.
 */
#ifndef WORKER_VERIFY_JUDGE_CACHE_H
#define WORKER_VERIFY_JUDGE_CACHE_H

#include "worker/verify/judge.h"

struct judge_cache;
/* Free a cache before the programs of its judges. */
struct judge_cache *judge_cache_new(const struct device *device);
void judge_cache_free(struct judge_cache *cache);
/* Takes a judge out of the cache; the caller owns it. NULL if none fits program, tensors and seed. */
struct judge *judge_cache_take(struct judge_cache *cache, const struct device_program *program,
                               const struct problem *p, const struct tensor *tensors,
                               uint64_t seed);
/* Gives a judge to the cache, which may free it. */
void judge_cache_give(struct judge_cache *cache, struct judge *judge);
/* Frees the judges that were given back more than `seconds` ago. */
void judge_cache_drop_unused(struct judge_cache *cache, int64_t seconds);
/* Frees all judges in the cache. Returns false if it was empty. */
bool judge_cache_clear(struct judge_cache *cache);

#endif
