/* The boxes that ConvTma loads: whole ones where they divide an image, with few positions too many
 * elsewhere, one line for a 1x1 filter, and none longer than a tensor map allows; and the tiles
 * that follow from the boxes. */
#include "solvers/framework/solver.h"
#include "solvers/matrix_nvidia/tma_boxes.h"
#include "solvers/problem/problem_key.h"

struct box_case {
    const char *what;
    enum direction direction;
    int64_t n, c, k, size, filter, stride;
    int64_t box_w, box_h, box_n, count;
};

static const struct box_case cases[] = {
    {"divides", DIRECTION_F, 64, 64, 64, 56, 3, 1, 8, 8, 1, 49 * 64},
    {"divides_with_images", DIRECTION_F, 64, 128, 128, 28, 3, 1, 4, 4, 4, 49 * 16},
    {"fills_images", DIRECTION_W, 64, 512, 512, 7, 3, 1, 1, 1, 64, 49},
    {"is_one_line", DIRECTION_F, 64, 64, 256, 56, 1, 1, 64, 1, 1, 56 * 56},
    {"is_one_line_backwards", DIRECTION_B, 2, 64, 256, 5, 1, 1, 50, 1, 1, 1},
    {"is_no_line_with_a_stride", DIRECTION_F, 64, 256, 512, 56, 1, 2, 4, 4, 4, 49 * 16},
    {"divides_a_phase", DIRECTION_B, 64, 128, 128, 56, 3, 2, 4, 4, 4, 49 * 16},
    {"is_short_enough_for_a_map", DIRECTION_F, 1, 64, 64, 1024, 3, 8, 32, 2, 1, 4 * 64},
};

static void set_problem(struct problem *p, const struct box_case *row)
{
    problem_init(p);
    p->direction = row->direction;
    p->n = row->n;
    p->c = row->c;
    p->k = row->k;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->type[t] = TYPE_FP16;
        p->layout[t] = LAYOUT_NHWC;
    }
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        p->in[a] = row->size;
        p->fil[a] = row->filter;
        p->pad[a] = row->filter / 2;
        p->stride[a] = row->stride;
    }
    problem_set_output(p);
    g_assert_true(problem_validate(p, NULL));
}

static void box(gconstpointer data)
{
    const struct box_case *row = data;
    struct tma_boxes boxes;
    struct problem p;

    set_problem(&p, row);
    tma_boxes_init(&boxes, &p);
    g_assert_cmpint(boxes.count, ==, row->count);
    g_assert_cmpint(boxes.box[AXIS_W], ==, row->box_w);
    g_assert_cmpint(boxes.box[AXIS_H], ==, row->box_h);
    g_assert_cmpint(boxes.box_n, ==, row->box_n);
    g_assert_cmpint((boxes.box[AXIS_W] - 1) * row->stride, <, 256);
}

/* Rows: a problem; the box's width, height, depth and images, and the number of boxes. */
static void depth_is_one_more_axis(void)
{
#define DEEP "-0-NDHWC-NDHWC-NDHWC-FP16-F"
    static const struct {
        const char *key;
        int64_t w, h, d, n, count;
    } rows[] = {
        {"64-8-28-28-3x3x3-64-8-28-28-2-1x1x1-1x1x1-1x1x1" DEEP, 4, 4, 4, 1, 7 * 7 * 2 * 2},
        {"64-4-4-4-3x3x3-64-4-4-4-5-1x1x1-1x1x1-1x1x1" DEEP, 4, 4, 4, 1, 5},
        {"64-2-4-4-3x3x3-64-2-4-4-5-1x1x1-1x1x1-1x1x1" DEEP, 4, 4, 2, 2, 3},
        /* planes as images, planes as rows, and all positions in one line */
        {"64-8-8-8-1x3x3-64-8-8-8-2-0x1x1-1x1x1-1x1x1" DEEP, 8, 8, 1, 1, 16},
        {"64-8-8-8-3x1x1-64-8-8-8-2-1x0x0-1x1x1-1x1x1" DEEP, 64, 1, 1, 1, 16},
        {"64-3-5-7-1x1x1-64-3-5-7-2-0x0x0-1x1x1-1x1x1" DEEP, 64, 1, 1, 1, 4},
        /* 64 planes eight apart would be longer than a tensor map allows */
        {"64-512-1-1-3x3x3-64-64-1-1-1-1x1x1-8x1x1-1x1x1" DEEP, 1, 1, 32, 1, 2},
    };
#undef DEEP

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct tma_boxes boxes;
        struct problem p;
        g_assert_true(problem_key_parse(rows[i].key, &p, NULL) && problem_validate(&p, NULL));
        tma_boxes_init(&boxes, &p);
        g_assert_cmpint(boxes.box[AXIS_W], ==, rows[i].w);
        g_assert_cmpint(boxes.box[AXIS_H], ==, rows[i].h);
        g_assert_cmpint(boxes.box[AXIS_D], ==, rows[i].d);
        g_assert_cmpint(boxes.box_n, ==, rows[i].n);
        g_assert_cmpint(boxes.count, ==, rows[i].count);
    }
}

/* Tiles of 128 x 128 sums cover 50176 rows and 256 columns; in W 256 rows, and three of the 18
 * panels of 64 columns. */
static void tiles_follow_from_boxes(void)
{
    static const struct box_case row = {
        .n = 64, .c = 128, .k = 256, .size = 28, .filter = 3, .stride = 1};
    struct tma_boxes boxes;
    struct tma_grid grid;
    struct problem p;

    set_problem(&p, &row);
    tma_boxes_init(&boxes, &p);
    tma_grid_init(&grid, &p, &boxes, 128, 128, 1, 132);
    g_assert_cmpint(grid.rows, ==, 392);
    g_assert_cmpint(grid.columns, ==, 2);
    g_assert_cmpint(grid.workgroups, ==, 132);
    p.direction = DIRECTION_W;
    tma_boxes_init(&boxes, &p);
    tma_grid_init(&grid, &p, &boxes, 128, 192, 4, 132);
    g_assert_cmpint(grid.rows, ==, 2);
    g_assert_cmpint(grid.columns, ==, 6);
    g_assert_cmpint(grid.tiles, ==, 2 * 6 * 4);
    g_assert_cmpint(grid.workgroups, ==, 48);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/tma_boxes/box/%s", cases[i].what);
        g_test_add_data_func(path, &cases[i], box);
    }
    g_test_add_func("/tma_boxes/box/depth_is_one_more_axis", depth_is_one_more_axis);
    g_test_add_func("/tma_boxes/grid/tiles_follow_from_boxes", tiles_follow_from_boxes);
    return g_test_run();
}
