/*
 * One evaluate request from its first config to its last: each config solved,
 * loaded, verified, measured; the baseline measured before and after, and
 * everything in between measured once more when the device drifted.
 */
#ifndef WORKER_EVAL_ROUND_H
#define WORKER_EVAL_ROUND_H

#include "schema/store/failure.h"
#include "worker/eval/eval_kernels.h"
#include "worker/eval/eval_request.h"
#include "worker/eval/workbench.h"
#include "worker/measure/measure.h"

struct evaluation {
    enum failure failure;
    struct measurement times;
    double error;
    double eval_seconds;
    char detail[VERDICT_DETAIL_MAX];
};

struct eval_round {
    struct device *device;
    struct eval_kernels *kernels;
    struct reference_cache *references;
    struct judge_cache *judges;
    double floor_ms;
    const struct eval_request *request;
    /* Told before a config's kernels are loaded, and after it was judged (again after a
     * repetition; the last outcome of an index counts). False ends the round with the error set. */
    bool (*begin)(void *data, const struct eval_config *config, GError **error);
    bool (*outcome)(void *data, const struct eval_config *config,
                    const struct evaluation *evaluation, GError **error);
    /* Asked between configs. */
    bool (*stopped)(void *data);
    void *data;
};

struct eval_end {
    double drift; /* after / before of the last pass; 0 when it is not known */
    bool stopped;
    bool repeated;                    /* everything was measured a second time */
    bool by_device;                   /* it verified its results itself */
    bool doubted;                     /* the device's own verifying was found wrong */
    char refusal[VERDICT_DETAIL_MAX]; /* why it did not although a judge was sent; "" otherwise */
};

/*
 * Failures of configs are outcomes. False with WORKER_ERROR_INVALID where the problem cannot be
 * evaluated on this device at all, DEVICE_ERROR_SIZE where its tensors do not fit,
 * DEVICE_ERROR_FAULT after the outcome of a config that broke the device (end the process), a
 * DEVICE_ERROR after all outcomes where the device is found broken at the end, or with the callbacks'
 * own error.
 */
bool eval_round_run(struct eval_round *round, struct eval_end *end, GError **error);

/* Whether rounds of smaller problems would find memory: a part of the device's is there to be had. */
bool eval_round_finds_memory(struct device *device);

#endif
