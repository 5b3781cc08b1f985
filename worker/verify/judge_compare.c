#include "worker/verify/judge_state.h"

#include <float.h>
#include <math.h>

#include "worker/protocol/frames.h"

/* ---- outputs ---- */

static bool run_comparison(struct judge *judge, struct device_memory *output,
                           const struct tolerance *tolerance, GError **error)
{
    struct judge_args arguments = {0};

    judge_add_memory(&arguments, output);
    judge_add_memory(&arguments, judge->value);
    judge_add_memory(&arguments, judge->magnitude);
    judge_add_memory(&arguments, judge->gain ? judge->gain : judge->magnitude);
    judge_add_memory(&arguments, judge->gain ? judge->slack : judge->magnitude);
    for (int i = 0; i < 3; i++)
        judge_add_memory(&arguments, judge->found_parts[i]);
    judge_add_int64(&arguments, judge->count);
    judge_add_int32(&arguments, judge_groups(judge));
    judge_add_int32(&arguments, judge_has_epilogue(judge));
    judge_add_int32(&arguments, tolerance->exact);
    judge_add_float64(&arguments, tolerance->tensor_wide ? judge->largest : -1);
    judge_add_float64(&arguments, tolerance->per_magnitude);
    judge_add_float64(&arguments, tolerance->per_value);
    judge_add_float64(&arguments, tolerance->smallest);
    judge_add_float64(&arguments, fmin(tolerance->overflow, DBL_MAX));
    judge_add_tensor(&arguments, &judge->tensors[judge->out]);
    return judge_forget_found(judge, error) &&
           judge_launch(judge, JUDGE_ENTRY_COMPARE, judge_groups(judge), &arguments, error);
}

bool judge_compare(struct judge *judge, struct device_memory *output,
                   const struct tolerance *tolerance, struct judged *judged, GError **error)
{
    union {
        double ratio;
        int64_t number;
    } found[3][JUDGE_GROUPS_MAX];
    int64_t groups = judge_groups(judge), looked = 0;
    bool sound = true;

    if (!run_comparison(judge, output, tolerance, error) ||
        !judge->device->row->read(judge->found, 0, found, sizeof(found), error))
        return false;
    *judged = (struct judged){0};
    for (int64_t i = 0; i < groups; i++) {
        int64_t looks = found[1][i].number, wrong = found[2][i].number;
        /* If the driver dropped the launch, the poison of judge_forget_found() fails these tests: NaN
         * is not >= 0, and -1 is negative. */
        sound = sound && looks >= 0 && looks <= judge->count && wrong >= 0 && wrong <= looks &&
                found[0][i].ratio >= 0;
        looked += sound ? looks : 0;
        judged->error = fmax(judged->error, found[0][i].ratio);
        judged->wrong += sound ? wrong : 0;
    }
    if (sound && looked == judge->count)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT,
                "the device compared %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " elements", looked,
                judge->count);
    return false;
}

/* ---- gaps ---- */

static bool run_written(struct judge *judge, struct device_memory *output,
                        const struct tensor *places, int64_t count, uint8_t poison, int64_t groups,
                        GError **error)
{
    struct judge_args arguments = {0};

    judge_add_memory(&arguments, output);
    judge_add_memory(&arguments, judge->found_parts[0]);
    judge_add_memory(&arguments, judge->found_parts[1]);
    judge_add_int64(&arguments, count);
    judge_add_int32(&arguments, groups);
    judge_add_int32(&arguments, poison);
    judge_add_tensor(&arguments, places);
    return judge_forget_found(judge, error) &&
           judge_launch(judge, JUDGE_ENTRY_WRITTEN, groups, &arguments, error);
}

/* Counts the places of the tensor, all in the output's memory, that do not hold the poison. */
static bool count_written(struct judge *judge, struct device_memory *output,
                          const struct tensor *places, uint8_t poison, int64_t *written,
                          GError **error)
{
    int64_t found[2][JUDGE_GROUPS_MAX], count = tensor_count(places), looked = 0;
    int64_t groups = MIN(judge_groups_for(count), JUDGE_GROUPS_MAX);
    bool sound = true;

    if (!run_written(judge, output, places, count, poison, groups, error) ||
        !judge->device->row->read(judge->found, 0, found, sizeof(found), error))
        return false;
    *written = 0;
    for (int64_t i = 0; i < groups; i++) {
        /* If the driver dropped the launch, a group looked at -1 elements (judge_forget_found()). */
        sound = sound && found[0][i] >= 0 && found[1][i] >= 0 && found[1][i] <= found[0][i];
        looked += sound ? found[0][i] : 0;
        *written += sound ? found[1][i] : 0;
    }
    if (sound && looked == count)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT,
                "the device looked at %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                " elements for writes between them",
                looked, count);
    return false;
}

bool judge_finds_gaps_whole(struct judge *judge, struct device_memory *output, uint8_t poison,
                            bool *whole, GError **error)
{
    const struct tensor *tensor = &judge->tensors[judge->out];
    struct tensor all = {.type = tensor->type, .block = 1, .extent = {1, 1, 1, 1, 1}};
    int64_t in_elements, in_all;

    *whole = tensor_is_packed(tensor);
    if (*whole || tensor->block > 1)
        return true;
    all.extent[0] = tensor_elements(tensor);
    all.stride[0] = 1;
    if (!count_written(judge, output, tensor, poison, &in_elements, error) ||
        !count_written(judge, output, &all, poison, &in_all, error))
        return false;
    *whole = in_elements == in_all;
    return true;
}

/* ---- fingerprints ---- */

static bool run_fingerprints(struct judge *judge, const struct judge_pieces *pieces, int groups,
                             GError **error)
{
    struct judge_args arguments = {0};

    judge_add_memory(&arguments, pieces->memory);
    judge_add_memory(&arguments, judge->found_parts[0]);
    judge_add_memory(&arguments, judge->found_parts[1]);
    judge_add_int64(&arguments, pieces->offset);
    judge_add_int64(&arguments, pieces->step);
    judge_add_int64(&arguments, pieces->bytes);
    judge_add_int32(&arguments, groups);
    return judge_forget_found(judge, error) &&
           judge_launch(judge, JUDGE_ENTRY_FINGERPRINT, (int64_t)groups * pieces->count, &arguments,
                        error);
}

bool judge_fingerprints(struct judge *judge, const struct judge_pieces *pieces, uint64_t *prints,
                        GError **error)
{
    int64_t found[2][JUDGE_GROUPS_MAX];
    int64_t items = judge_groups_for(pieces->bytes / 8 + 1);
    int groups;
    bool sound = true;

    g_assert(pieces->count >= 1 && pieces->count <= JUDGE_GROUPS_MAX);
    groups = (int)CLAMP(items, 1, JUDGE_GROUPS_MAX / pieces->count);
    if (!run_fingerprints(judge, pieces, groups, error) ||
        !judge->device->row->read(judge->found, 0, found, sizeof(found), error))
        return false;
    for (int piece = 0; piece < pieces->count; piece++) {
        int64_t looked = 0;
        prints[piece] = 0;
        for (int i = piece * groups; i < (piece + 1) * groups; i++) {
            /* If the driver dropped the launch, a group looked at -1 bytes (judge_forget_found()). */
            sound = sound && found[1][i] >= 0;
            looked += sound ? found[1][i] : 0;
            prints[piece] += (uint64_t)found[0][i];
        }
        sound = sound && looked == pieces->bytes;
    }
    if (!sound)
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT,
                    "the device did not look at all of %d times %" G_GINT64_FORMAT " bytes",
                    pieces->count, pieces->bytes);
    return sound;
}
