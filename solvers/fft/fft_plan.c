#include "solvers/fft/fft_plan.h"

#include <math.h>

#include "solvers/common/conv_common.h"

static void cut_axis(const struct problem *p, enum axis axis, int size, struct fft_cut *cut)
{
    int64_t stride = p->stride[axis], last = p->dilation[axis] * (p->fil[axis] - 1);

    cut->step = stride / conv_stride_period(p, axis);
    cut->phases = MIN(stride, last + cut->step) / cut->step;
    cut->taps = last / stride + 1;
    cut->tile = size - cut->taps + 1;
    cut->tiles = cut->tile < 1 ? 0 : conv_divide_up(p->out[axis], cut->tile);
}

void fft_plan_init(const struct problem *p, int size, struct fft_plan *plan)
{
    cut_axis(p, AXIS_H, size, &plan->h);
    cut_axis(p, AXIS_W, size, &plan->w);
    plan->size = size;
    plan->groups = (double)p->groups;
    plan->frequencies = size * size / 2 + 2;
    plan->terms = (double)(p->c / p->groups) * (double)plan->h.phases * (double)plan->w.phases;
    plan->channels = (double)(p->k / p->groups);
    plan->columns = (double)p->n * (double)plan->h.tiles * (double)plan->w.tiles;
}

bool fft_plan_is_useful(const struct problem *p, const struct fft_plan *plan)
{
    return plan->h.tile >= MIN(p->out[AXIS_H], plan->size / 4) &&
           plan->w.tile >= MIN(p->out[AXIS_W], plan->size / 4);
}

static double rounded_up(double count, double unit)
{
    return ceil(count / unit) * unit;
}

void fft_plan_slices(const struct fft_plan *plan, int block_k, int block_n,
                     double bytes[TENSOR_COUNT])
{
    double row = plan->frequencies * plan->groups * 2 * sizeof(float);
    double channels = rounded_up(plan->channels, block_k);
    double columns = rounded_up(plan->columns, block_n);

    bytes[TENSOR_X] = rounded_up(row * plan->terms * columns, WORKSPACE_ALIGNMENT);
    bytes[TENSOR_W] = rounded_up(row * plan->terms * channels, WORKSPACE_ALIGNMENT);
    bytes[TENSOR_Y] = rounded_up(row * plan->channels * columns, WORKSPACE_ALIGNMENT);
}

double fft_plan_planes(const struct fft_plan *plan, enum tensor_role role)
{
    double terms = role == TENSOR_Y ? 1 : plan->terms;
    double channels = role == TENSOR_X ? 1 : plan->channels;
    double columns = role == TENSOR_W ? 1 : plan->columns;

    return plan->groups * terms * channels * columns;
}

/* Operations for one complex row, as the stages of fft.h do them: each butterfly adds, subtracts and rotates by
 * its angle. A multiple of a quarter turn costs nothing, a multiple of an eighth little. */
static double row_flops(int size)
{
    double flops = 0;

    for (int half = size / 2; half > 0; half /= 2) {
        int free_turns = half >= 2 ? 2 : 1, cheap_turns = half >= 4 ? 2 : 0;
        double turns = 4 * cheap_turns + 6 * (half - free_turns - cheap_turns);
        flops += size / 2 * 4 + size / 2 / half * turns;
    }
    return flops;
}

/* Operations for one plane with so many pairs of rows: rows, columns, and the step that separates or joins
 * pairs of real rows. */
static double plane_flops(int size, double pairs)
{
    int half = size / 2;

    return (pairs + half) * row_flops(size) + pairs * 4 * (half - 1) + 4 * (half + 1);
}

double fft_plan_transform_flops(const struct fft_plan *plan)
{
    double pairs = plan->size / 2, kept_pairs = ceil((double)plan->h.tile / 2);
    double forward = fft_plan_planes(plan, TENSOR_X) + fft_plan_planes(plan, TENSOR_W);
    double inverse = fft_plan_planes(plan, TENSOR_Y);

    return forward * plane_flops(plan->size, pairs) + inverse * plane_flops(plan->size, kept_pairs);
}

double fft_plan_product_flops(const struct fft_plan *plan)
{
    /* A complex multiply-add is four real ones. */
    return 8 * plan->frequencies * plan->groups * plan->terms * plan->channels * plan->columns;
}

double fft_plan_cost(const struct fft_plan *plan)
{
    return fft_plan_product_flops(plan) + 4 * fft_plan_transform_flops(plan);
}

void fft_plan_choose(const struct problem *p, struct fft_plan *plan)
{
    fft_plan_init(p, FFT_SIZE_MAX, plan);
    for (int size = FFT_SIZE_MAX / 2; size >= FFT_SIZE_MIN; size /= 2) {
        struct fft_plan smaller;
        fft_plan_init(p, size, &smaller);
        if (fft_plan_is_useful(p, &smaller) && fft_plan_cost(&smaller) <= fft_plan_cost(plan))
            *plan = smaller;
    }
}
