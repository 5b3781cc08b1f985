/*
 * The memory of a network on a device: inputs, weights, and one arena for all that its steps write. Arena and workspace
 * lie between guard zones. Each operand of each step is a slice of one of them.
 */
#ifndef WORKER_PIPELINE_PIPELINE_MEMORY_H
#define WORKER_PIPELINE_PIPELINE_MEMORY_H

#include "worker/device/device.h"
#include "worker/pipeline/arena.h"
#include "worker/pipeline/pipeline_plan.h"
#include "worker/verify/guarded.h"

struct pipeline_memory {
    struct device *device;
    const struct pipeline_plan *plan;
    struct arena arena; /* sizes in bytes */
    struct guarded activations, workspace;
    struct device_memory *inputs, *weights; /* NULL for a network without */
    int64_t input_bytes, weight_bytes;
    int64_t *offsets;  /* for each buffer that is no alias its place in its allocation */
    GPtrArray *slices; /* struct device_memory * */
};

/* Allocates, and writes the weights. workspace_bytes: the most that a step needs. DEVICE_ERROR_* */
bool pipeline_memory_open(struct pipeline_memory *memory, struct device *device,
                          const struct pipeline_plan *plan, int64_t workspace_bytes,
                          GError **error);
void pipeline_memory_close(struct pipeline_memory *memory);

/* The memory of a step's operand; it belongs to *memory. */
struct device_memory *pipeline_memory_operand(struct pipeline_memory *memory,
                                              const struct pipeline_step *step,
                                              enum tensor_role role, GError **error);
/* Fills arena and workspace with poison: what no step writes reads as NaN. */
bool pipeline_memory_poison(struct pipeline_memory *memory, GError **error);

/*
 * Samples are all inputs (outputs) one after the other as PLAN.md says: FP32 in row-major order. Inputs are rounded to
 * their buffers' types. NULL as samples: inputs are pseudo-random numbers from -1 to 1, of `seed`.
 */
gsize pipeline_samples_count(const struct pipeline_plan *plan, const GArray *buffers);
bool pipeline_memory_write_inputs(struct pipeline_memory *memory, const float *samples,
                                  uint64_t seed, GError **error);
bool pipeline_memory_read_outputs(struct pipeline_memory *memory, float *samples, GError **error);

/* Looks whether steps wrote where they may not: into guard zones or weights. Sets *where to words for it, else to NULL.
 * Free with g_free(). */
bool pipeline_memory_check(struct pipeline_memory *memory, char **where, GError **error);

#endif
