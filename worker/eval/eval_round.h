/*
 * One evaluate request from its first config to its last. Each config is solved, loaded, verified and measured; at the
 * end the fastest is proved by many runs (proof.h), unless another round had a faster one. The
 * baseline, usually the default config, is measured first and again at the end. If its two times differ by more than
 * the drift limit (schema/store/drift.h), the device changed meanwhile, and all configs are measured once more.
 */
#ifndef WORKER_EVAL_EVAL_ROUND_H
#define WORKER_EVAL_EVAL_ROUND_H

#include "schema/results/conditions.h"
#include "schema/store/failure.h"
#include "worker/eval/eval_kernels.h"
#include "worker/eval/eval_request.h"
#include "worker/eval/proof.h"
#include "worker/measure/measure.h"

struct evaluation {
    enum failure failure;
    struct measurement times;
    double low_ms,
        high_ms; /* interval of the median, where configs are measured together; else 0 */
    double error;
    double pack_ms; /* time of packing the filter once; 0 for a solution that does not pack */
    double eval_seconds;
    bool cold;       /* timed runs found cold caches (workbench_is_cold()) */
    int proof_runs;  /* runs that a proof compared (proof.h); 0: it was not proved */
    int proof_kinds; /* the number of kinds of inputs that they had */
    /* workbench_verified_share() after verifying; 0 if it was not verified */
    double verified_share;
    bool watched;                 /* whether `conditions` are known */
    struct conditions conditions; /* the device's, right after the timed runs */
    char detail[VERDICT_DETAIL_MAX];
};

struct eval_round {
    struct device *device;
    struct eval_kernels *kernels;
    struct reference_cache *references;
    struct judge_cache *judges;
    double floor_ms;
    const struct eval_request *request;
    /* begin() is called before a config's kernels are loaded: to evaluate it, and to prove it. outcome() is called when
     * it was evaluated; of a config that may win, when the round's fastest one was proved. Both are called again if
     * the config is measured again; the last outcome of an index counts. Returning false, with the error set, ends
     * the round. */
    bool (*begin)(void *data, const struct eval_config *config, GError **error);
    bool (*outcome)(void *data, const struct eval_config *config,
                    const struct evaluation *evaluation, GError **error);
    /* Called after a config's timed runs: fills in the conditions. May be NULL. */
    void (*timed)(void *data, struct evaluation *evaluation);
    /* Called between configs. Returns true to end the round early. */
    bool (*stopped)(void *data);
    void *data;
};

struct eval_end {
    /* The baseline's last time divided by the one before; 0 if it was measured once, or failed the
     * last time. */
    double drift;
    bool stopped;
    bool repeated;  /* all configs were measured a second time */
    bool by_device; /* the device verified the results (verify/judge.h) */
    /* The device's verifying failed its own proof (verify/judge.h). */
    bool doubted;
    /* Why the host verified although the request named a judge; else "". */
    char refusal[VERDICT_DETAIL_MAX];
};

/*
 * A config that fails is an outcome, not an error. False with
 *   WORKER_ERROR_INVALID  if this device cannot evaluate the problem at all;
 *   DEVICE_ERROR_SIZE     if the problem's tensors do not fit into the device;
 *   DEVICE_ERROR_FAULT    after the outcome of a config that broke the device: end the process;
 *   another DEVICE_ERROR  if the device is found broken after all outcomes;
 *   a callback's error    if begin() or outcome() returned false.
 */
bool eval_round_run(struct eval_round *round, struct eval_end *end, GError **error);

/* Whether 1/8 of the device's memory can be allocated, which is enough for most problems. */
bool eval_round_finds_memory(struct device *device);

#endif
