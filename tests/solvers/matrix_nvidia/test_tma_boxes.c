/* The boxes that ConvTma loads: whole ones where they divide an image, with few positions too many
 * elsewhere, one line for a 1x1 filter, and none longer than a tensor map allows; and the tiles
 * that follow from the boxes. */
#include "solvers/framework/solver.h"
#include "solvers/matrix_nvidia/tma_boxes.h"

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
    g_test_add_func("/tma_boxes/grid/tiles_follow_from_boxes", tiles_follow_from_boxes);
    return g_test_run();
}
