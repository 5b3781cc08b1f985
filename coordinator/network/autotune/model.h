/*
 * A model as autotune and run-network use it: read once, and planned for each combination of the knobs.
 */
#ifndef COORDINATOR_NETWORK_AUTOTUNE_MODEL_H
#define COORDINATOR_NETWORK_AUTOTUNE_MODEL_H

#include "coordinator/network/autotune/knobs.h"
#include "coordinator/network/onnx/onnx_read.h"
#include "coordinator/network/passes/quantise.h"
#include "coordinator/network/plan/network_prepare.h"
#include "solvers/framework/target.h"

struct model_wish {
    const char *path;    /* the model's file */
    int64_t batch;       /* 0: what the model says, or 1 */
    char *const *dims;   /* --dim values, NULL-terminated; may be NULL */
    char *const *inputs; /* files of samples, one for each input; NULL: random ones */
    char *const
        *calibrate; /* files of samples for INT8, each of one run or several; NULL: the inputs */
    bool calibrates_randomly;     /* calibrates with random numbers instead of the inputs */
    enum calibration calibration; /* how INT8's scales follow from the samples */
    bool per_tensor;              /* one scale for a whole filter, not one for each channel */
    uint64_t seed;                /* of weights that the model lacks, and of random inputs */
};

struct model {
    const struct model_wish *wish; /* the caller's */
    char *name;                    /* the network's */
    char *sha256;                  /* of the file's bytes */
    OnnxFile *file;
    struct graph *graph; /* as the file says it */
    int64_t batch;
    char **dim_words; /* the texts that the names of options.dims point into */
    struct onnx_options options;
    float *inputs; /* the samples of all inputs, as a plan's are */
    int64_t input_count;
    float *samples; /* to calibrate with: sample_count runs */
    int sample_count;
    struct calibrated_networks calibrated; /* the INT8 networks of earlier combinations */
    float *reference; /* the outputs in FP32 on the host; NULL until model_reference() */
    int64_t reference_count;
};

/* Reads the model and its samples, or makes them, and says on standard error what had to be decided. Clear it after failure,
 * too. */
bool model_open(struct model *model, const struct model_wish *wish, GError **error);
void model_clear(struct model *model);

/* Returns how INT8 is calibrated, in the words of --calibration and the scope of filters' scales: "min_max, channel".
 * Free with g_free(). model_calibration_parse() sets the wish from such a text, and returns false for other texts. */
char *model_calibration(const struct model *model);
bool model_calibration_parse(const char *text, struct model_wish *wish);

/* The model's own type: "FP32", "FP16", "BF16". A static text. */
const char *model_dtype(const struct model *model);

/* Plans the model for a combination of knobs on a target: which solvers serve a problem decides where copies are
 * needed. NETWORK_ERROR_* names the node that cannot be planned. */
struct network_plan *model_plan(struct model *model, const struct combination *combination,
                                const struct target *target, GError **error);

/* Computes the outputs in FP32 on the host, once. */
bool model_reference(struct model *model, GError **error);

#endif
