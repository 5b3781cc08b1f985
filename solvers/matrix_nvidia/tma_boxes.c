#include "solvers/matrix_nvidia/tma_boxes.h"

#include "solvers/common/conv_common.h"
#include "solvers/matrix_nvidia/matrix_common.h"

#define PANEL     64 /* channels of a panel, a group of neighbouring columns in W */
/* the most positions along an axis from the first to the last of a box, skipped positions included */
#define SPAN_MOST 256

static bool is_one_line(const struct problem *p)
{
    for (int axis = AXIS_D; axis <= AXIS_W; axis++) {
        if (p->fil[axis] != 1 || p->pad[axis] != 0 || p->stride[axis] != 1)
            return false;
    }
    return true;
}

static void set_sizes(struct tma_boxes *boxes, const struct problem *p)
{
    boxes->n = p->n;
    for (int axis = AXIS_D; axis <= AXIS_W; axis++) {
        boxes->in[axis] = p->in[axis];
        boxes->out[axis] = p->out[axis];
    }
    if (!is_one_line(p))
        return;
    boxes->n = 1;
    boxes->in[AXIS_D] = boxes->out[AXIS_D] = 1;
    boxes->in[AXIS_H] = boxes->out[AXIS_H] = 1;
    boxes->in[AXIS_W] = boxes->out[AXIS_W] =
        p->n * p->out[AXIS_D] * p->out[AXIS_H] * p->out[AXIS_W];
}

/* The number of positions along an axis to be divided into boxes: y's, in B those of one phase of x. */
static int64_t places(const struct tma_boxes *boxes, const struct problem *p, enum axis axis)
{
    if (p->direction == DIRECTION_B)
        return conv_divide_up(boxes->in[axis], p->stride[axis]);
    return boxes->out[axis];
}

/* The longest box along an axis. A tensor map limits its span, which includes the positions that a stride skips. */
static int64_t longest(const struct tma_boxes *boxes, const struct problem *p, enum axis axis)
{
    int64_t stride = p->direction == DIRECTION_B ? 1 : p->stride[axis];

    return MIN(MIN(places(boxes, p, axis), TMA_BOX_MOST), (SPAN_MOST - 1) / stride + 1);
}

/* Numbers of boxes along each axis and along the images, indexed by the box's length. */
struct counts {
    int64_t axis[AXIS_COUNT][TMA_BOX_MOST + 1], n[TMA_BOX_MOST + 1];
};

static void count_boxes(int64_t *counts, int64_t positions, int64_t most)
{
    for (int64_t length = 1; length <= most; length++)
        counts[length] = conv_divide_up(positions, length);
}

/* Takes boxes of these lengths, with as many images as they can have, if there are fewer of them. */
static void try_box(struct tma_boxes *boxes, const struct counts *counts, const int box[AXIS_COUNT])
{
    int64_t n = MIN(TMA_BOX_MOST / (box[AXIS_D] * box[AXIS_H] * box[AXIS_W]), boxes->n);
    int64_t count = counts->n[n];

    for (int axis = AXIS_D; axis <= AXIS_W; axis++)
        count *= counts->axis[axis][box[axis]];
    if (count >= boxes->count)
        return;
    boxes->box_n = n;
    boxes->count = count;
    for (int axis = AXIS_D; axis <= AXIS_W; axis++) {
        boxes->box[axis] = box[axis];
        boxes->along[axis] = counts->axis[axis][box[axis]];
    }
}

void tma_boxes_init(struct tma_boxes *boxes, const struct problem *p)
{
    struct counts counts;
    struct problem flat;
    int most[AXIS_COUNT];

    *boxes = (struct tma_boxes){.count = INT64_MAX};
    conv_flatten(p, &flat);
    set_sizes(boxes, &flat);
    for (int axis = AXIS_D; axis <= AXIS_W; axis++) {
        most[axis] = (int)longest(boxes, &flat, (enum axis)axis);
        count_boxes(counts.axis[axis], places(boxes, &flat, (enum axis)axis), most[axis]);
    }
    count_boxes(counts.n, boxes->n, MIN(TMA_BOX_MOST, boxes->n));
    for (int w = most[AXIS_W]; w > 0; w--) {
        for (int h = MIN(TMA_BOX_MOST / w, most[AXIS_H]); h > 0; h--) {
            for (int d = MIN(TMA_BOX_MOST / (w * h), most[AXIS_D]); d > 0; d--)
                try_box(boxes, &counts, (const int[]){d, h, w});
        }
    }
}

void tma_grid_init(struct tma_grid *grid, const struct problem *p, const struct tma_boxes *boxes,
                   int block_m, int block_n, int splits, int workgroups_most)
{
    int64_t c = matrix_c_of(p), k = matrix_k_of(p), layers = p->groups * splits;

    grid->rows = conv_divide_up(boxes->count, block_m / TMA_BOX_MOST);
    grid->columns = conv_divide_up(p->direction == DIRECTION_F ? k : c, block_n);
    if (p->direction == DIRECTION_W) {
        int64_t panels =
            conv_divide_up(c, PANEL) * p->fil[AXIS_D] * p->fil[AXIS_H] * p->fil[AXIS_W];
        grid->rows = conv_divide_up(k, block_m);
        grid->columns = conv_divide_up(panels, block_n / PANEL);
    }
    if (p->direction == DIRECTION_B)
        layers *= p->stride[AXIS_D] * p->stride[AXIS_H] * p->stride[AXIS_W];
    grid->tiles = grid->rows * grid->columns * layers;
    grid->workgroups = MIN(grid->tiles, workgroups_most);
}
