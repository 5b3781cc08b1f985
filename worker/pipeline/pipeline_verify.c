#include "worker/pipeline/pipeline_verify.h"

#include <math.h>

#include "worker/verify/guarded.h"

/* Multiply-accumulates of a step that are computed on the host. */
#define WORK_LIMIT 5e7

static bool read_dense(const struct verifiable *step, enum tensor_role role, double **dense,
                       GError **error)
{
    const struct tensor *tensor = &step->tensors[role];
    int64_t bytes = tensor_bytes(tensor);
    g_autofree char *image = g_malloc((gsize)bytes);
    if (!step->device->row->read(step->memory[role], 0, image, bytes, error))
        return false;
    *dense = g_new(double, (gsize)tensor_count(tensor));
    tensor_to_dense(tensor, image, *dense);
    return true;
}

static bool read_operands(const struct verifiable *step, enum tensor_role out,
                          double *dense[OPERAND_COUNT], GError **error)
{
    for (int role = 0; role < OPERAND_COUNT; role++) {
        if (role != (int)out && problem_has_operand(step->problem, (enum tensor_role)role) &&
            !read_dense(step, (enum tensor_role)role, &dense[role], error))
            return false;
    }
    return true;
}

static bool compare(const struct verifiable *step, enum tensor_role out,
                    double *const dense[OPERAND_COUNT], uint8_t poison, struct verdict *verdict,
                    GError **error)
{
    const struct tensor *tensor = &step->tensors[out];
    struct tolerance tolerance;
    int64_t bytes = tensor_bytes(tensor);
    g_autofree char *image = g_malloc((gsize)bytes);
    if (!step->device->row->read(step->memory[out], 0, image, bytes, error))
        return false;
    struct reference *reference = reference_compute(step->problem, (const double *const *)dense,
                                                    (int)g_get_num_processors(), WORK_LIMIT, error);
    if (!reference)
        return false;
    tolerance_init(&tolerance, step->problem, step->rounding, reference->length);
    tolerance_for_real(&tolerance, reference->length);
    verify_output(tensor, image, poison, reference, &tolerance, verdict);
    reference_unref(reference);
    return true;
}

bool pipeline_verify_step(const struct verifiable *step, struct verdict *verdict, GError **error)
{
    enum tensor_role out = problem_output_role(step->problem);
    const struct device_row *row = step->device->row;
    uint8_t poison = guarded_poison_of(step->problem->type[out]);
    double *dense[OPERAND_COUNT] = {NULL};
    bool poisons = !step->is_in_place && tensor_is_packed(&step->tensors[out]);

    *verdict = (struct verdict){0};
    bool done = read_operands(step, out, dense, error) &&
                (!poisons || row->fill(step->memory[out], 0, tensor_bytes(&step->tensors[out]),
                                       poison, error)) &&
                step->launch(step->data, error) && row->sync(step->device, error) &&
                compare(step, out, dense, poison, verdict, error);
    for (int role = 0; role < OPERAND_COUNT; role++)
        g_free(dense[role]);
    return done;
}
