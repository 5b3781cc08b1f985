#include "solvers/grouped/grouped_shape.h"

#include <math.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/matrix_transform.h"

#define CHUNK_BYTES 16
#define WARP_ITEMS  32
#define TILE_ROWS   16 /* positions that a matrix instruction multiplies */

/* ---- the source's patch, as grouped.h has it ---- */

static bool is_backward(const struct problem *p)
{
    return p->direction == DIRECTION_B;
}

/* positions(): positions of an axis. step(): source elements from one position to the next. */
static double positions(const struct problem *p, enum axis axis)
{
    return is_backward(p) ? (double)conv_divide_up(p->in[axis], p->stride[axis])
                          : (double)p->out[axis];
}

static double step(const struct problem *p, enum axis axis)
{
    return is_backward(p) ? 1 : (double)p->stride[axis];
}

/* Source elements along an axis from the first to the last that a position reads. */
static double span(const struct problem *p, enum axis axis)
{
    double filter = ((double)p->fil[axis] - 1) * (double)p->dilation[axis];
    double pad = (double)p->pad[axis], stride = (double)p->stride[axis];

    if (is_backward(p))
        return ceil(pad / stride) - ceil((pad - filter) / stride) + 1;
    return filter + 1;
}

static double rounded(double count, double by)
{
    return ceil(count / by) * by;
}

static double line_columns(const struct problem *p)
{
    double by = step(p, AXIS_W);

    return rounded((positions(p, AXIS_W) - 1) * by + span(p, AXIS_W), by);
}

static double patch_columns(const struct problem *p, double tile)
{
    double by = step(p, AXIS_W), count = positions(p, AXIS_W);
    double ends = floor((tile + count - 2) / count);

    return rounded((tile - 1) * by + ends * (line_columns(p) - count * by) + span(p, AXIS_W), by);
}

static double patch_rows(const struct problem *p, double tile)
{
    return (tile - 1) * step(p, AXIS_H) + span(p, AXIS_H);
}

/* ---- channels ---- */

int64_t grouped_c(const struct problem *p)
{
    return matrix_transform_channels(p->c, p, GROUPED_CHUNK);
}

int64_t grouped_k(const struct problem *p)
{
    return matrix_transform_channels(p->k, p, GROUPED_CHUNK);
}

int64_t grouped_result(const struct problem *p)
{
    return is_backward(p) ? grouped_c(p) : grouped_k(p);
}

static int64_t source_of(const struct problem *p)
{
    return is_backward(p) ? grouped_k(p) : grouped_c(p);
}

/* Bytes of local memory for a line of this many chunks (a column of the source or of the outputs, a filter); an odd
 * number of chunks avoids bank conflicts. */
static double place_bytes(double chunks)
{
    return (fmod(chunks, 2) == 0 ? chunks + 1 : chunks) * CHUNK_BYTES;
}

/* ---- the config ---- */

static int64_t warps_of(const struct problem *p, const int32_t *values)
{
    return values[GROUPED_TILE_W] / TILE_ROWS *
           (values[GROUPED_GROUPS] * grouped_result(p) /
            ((int64_t)GROUPED_CHUNK * values[GROUPED_WARP_TILES]));
}

int64_t grouped_items(const struct problem *p, const int32_t *values)
{
    return warps_of(p, values) * WARP_ITEMS;
}

int64_t grouped_bundles(const struct problem *p, const int32_t *values)
{
    return p->groups / values[GROUPED_GROUPS];
}

double grouped_columns(const struct problem *p)
{
    return (double)p->n * line_columns(p);
}

double grouped_tiles(const struct problem *p, const int32_t *values)
{
    return ceil(positions(p, AXIS_H) / values[GROUPED_TILE_H]) *
           ceil((double)p->n * positions(p, AXIS_W) / values[GROUPED_TILE_W]);
}

double grouped_used_part(const struct problem *p, const int32_t *values)
{
    double tile = (double)values[GROUPED_TILE_H] * values[GROUPED_TILE_W];

    return (double)p->n * positions(p, AXIS_H) * positions(p, AXIS_W) /
           (grouped_tiles(p, values) * tile);
}

/* Steps of 16 terms (two chunks) for one filter row: the filter columns that a phase of the stride meets, with their
 * channels. */
static double steps_of(const struct problem *p)
{
    double period = is_backward(p) ? (double)conv_stride_period(p, AXIS_W) : 1;

    return ceil(ceil((double)p->fil[AXIS_W] / period) * (double)source_of(p) /
                (2.0 * GROUPED_CHUNK));
}

static double phases(const struct problem *p, enum axis axis)
{
    return is_backward(p) ? (double)p->stride[axis] : 1;
}

/* W: the sums that a work-item keeps in registers. */
static double grouped_sums(const struct problem *p, const int32_t *values)
{
    return (double)p->fil[AXIS_H] * steps_of(p) * values[GROUPED_WARP_TILES] * 4;
}

static double patch_bytes(const struct problem *p, const int32_t *values)
{
    return patch_rows(p, values[GROUPED_TILE_H]) * patch_columns(p, values[GROUPED_TILE_W]) *
           place_bytes((double)values[GROUPED_GROUPS] * (double)source_of(p) / GROUPED_CHUNK);
}

/* W: bytes of local memory: two tiles of x and y (one computed, one loaded), or, where several warps share the
 * positions of a row, the sums that they add up: one warp's for each share of the channels. */
static double weights_local_bytes(const struct problem *p, const int32_t *values)
{
    double tile = (double)values[GROUPED_TILE_H] * values[GROUPED_TILE_W];
    double outputs =
        place_bytes((double)values[GROUPED_GROUPS] * (double)grouped_k(p) / GROUPED_CHUNK);
    double stages = 2 * (patch_bytes(p, values) + tile * outputs);
    double warps = (double)(warps_of(p, values) * TILE_ROWS / values[GROUPED_TILE_W]);

    if (values[GROUPED_TILE_W] == TILE_ROWS)
        return stages;
    return fmax(stages, warps * grouped_sums(p, values) * WARP_ITEMS * (double)sizeof(float));
}

double grouped_local_bytes(const struct problem *p, const int32_t *values)
{
    double groups = values[GROUPED_GROUPS];
    double filter = groups * (double)grouped_k(p) *
                    place_bytes((double)p->fil[AXIS_H] * (double)p->fil[AXIS_W] *
                                (double)grouped_c(p) / GROUPED_CHUNK);
    double staged =
        (double)warps_of(p, values) * TILE_ROWS * place_bytes(values[GROUPED_WARP_TILES]);

    if (p->direction == DIRECTION_W)
        return weights_local_bytes(p, values);
    return filter + patch_bytes(p, values) + staged;
}

double grouped_registers(const struct problem *p, const int32_t *values)
{
    double tiles = values[GROUPED_WARP_TILES], rows = values[GROUPED_TILE_H];
    double filter = (double)p->fil[AXIS_H] * steps_of(p) * tiles * 2;
    double under_way = ceil(span(p, AXIS_H) / step(p, AXIS_H)) * phases(p, AXIS_H);

    if (p->direction == DIRECTION_W)
        return grouped_sums(p, values) + fmin(under_way, rows) * tiles * 2;
    if (!values[GROUPED_KEEP])
        return (rows * 4 + 2) * tiles;
    return filter + fmin(under_way, rows * phases(p, AXIS_H)) * tiles * 4;
}

double grouped_products(const struct problem *p, const int32_t *values)
{
    double all_phases = phases(p, AXIS_H) * phases(p, AXIS_W);
    double met =
        (values[GROUPED_KEEP] ? (double)p->fil[AXIS_H] : 1) * steps_of(p) * phases(p, AXIS_W);

    return (met + all_phases) * values[GROUPED_TILE_H] * values[GROUPED_WARP_TILES];
}
