/* Convolutions of three dimensions that are computed as ones of two: which they are, and that both have the same
 * positions and products. */
#include "solvers/common/conv_common.h"
#include "solvers/problem/problem_key.h"

#define DEEP "-0-NDHWC-NDHWC-NDHWC-FP16-F"
#define FLAT "-0-NHWC-NHWC-NHWC-FP16-F"

static void parse(const char *key, struct problem *p)
{
    g_autoptr(GError) error = NULL;

    g_assert_true(problem_key_parse(key, p, &error) && problem_validate(p, &error));
    g_assert_no_error(error);
}

/* Rows: a problem, and the problem of two dimensions that it is. */
static void depth_is_left_out_where_it_can_be(void)
{
    static const char *const rows[][2] = {
        /* R(2+1)D: each plane is an image */
        {"64-8-56-56-1x3x3-144-8-56-56-2-0x1x1-1x1x1-1x1x1" DEEP,
         "64-56-56-3x3-144-56-56-16-1x1-1x1-1x1" FLAT},
        {"64-8-56-56-1x3x3-144-8-28-28-2-0x1x1-1x2x2-1x1x1" DEEP,
         "64-56-56-3x3-144-28-28-16-1x1-2x2-1x1" FLAT},
        /* R(2+1)D: each plane is a row */
        {"144-8-56-28-3x1x1-64-8-56-28-2-1x0x0-1x1x1-1x1x1" DEEP,
         "144-8-1568-3x1-64-8-1568-2-1x0-1x1-1x1" FLAT},
        {"144-8-5-7-3x1x1-64-3-5-7-2-1x0x0-2x1x1-2x1x1" DEEP,
         "144-8-35-3x1-64-3-35-2-1x0-2x1-2x1" FLAT},
        {"16-4-5-6-1x1x1-8-4-5-6-3-0x0x0-1x1x1-1x1x1" DEEP, "16-5-6-1x1-8-5-6-12-0x0-1x1-1x1" FLAT},
        /* slices of channels keep their strides: planes are images, or rows */
        {"16-5-6-7-1x3x3-24-5-6-7-2-0x1x1-1x1x1-1x1x1" DEEP "_sy8400x1x1680x280x40",
         "16-6-7-3x3-24-6-7-10-1x1-1x1-1x1" FLAT "_sy1680x1x0x280x40"},
        {"16-5-6-7-3x1x1-24-5-6-7-2-1x0x0-1x1x1-1x1x1" DEEP "_sy8400x1x1680x280x40",
         "16-5-42-3x1-24-5-42-2-1x0-1x1-1x1" FLAT "_sy8400x1x0x1680x40"},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p, flat, meant;
        parse(rows[i][0], &p);
        parse(rows[i][1], &meant);
        conv_flatten(&p, &flat);
        g_assert_cmpint(flat.spatial_dim, ==, 2);
        for (int t = 0; t < TENSOR_COUNT; t++)
            flat.layout[t] = LAYOUT_NHWC;
        g_assert_true(problem_equal(&flat, &meant));
        g_assert_cmpfloat(problem_macs(&p), ==, problem_macs(&meant));
    }
}

static void other_problems_stay(void)
{
    static const char *const keys[] = {
        "64-8-56-56-3x3x3-64-8-56-56-2-1x1x1-1x1x1-1x1x1" DEEP,
        "64-8-56-56-1x3x3-64-4-56-56-2-0x1x1-2x1x1-1x1x1" DEEP,  /* planes are skipped */
        "64-8-56-56-1x3x3-64-10-56-56-2-1x1x1-1x1x1-1x1x1" DEEP, /* there are planes of padding */
        "64-8-56-56-3x1x1-64-8-28-28-2-1x0x0-1x2x2-1x1x1" DEEP, /* positions of a plane are skipped */
        "64-8-56-56-3x1x3-64-8-56-56-2-1x0x1-1x1x1-1x1x1" DEEP,
        "64-56-56-1x1-64-56-56-2-0x0-1x1-1x1" FLAT,
        /* there are gaps between images, and between rows */
        "16-5-6-7-1x3x3-24-5-6-7-2-0x1x1-1x1x1-1x1x1" DEEP "_sy5200x1x1008x168x24",
        "16-5-6-7-3x1x1-24-5-6-7-2-1x0x0-1x1x1-1x1x1" DEEP "_sx5400x1x1000x120x16",
    };

    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        struct problem p, flat;
        parse(keys[i], &p);
        conv_flatten(&p, &flat);
        g_assert_true(problem_equal(&p, &flat));
    }
}

/* With positions innermost planes lie apart in an image of several channels, so that only rows can be planes. */
static void planes_are_rows_where_positions_are_innermost(void)
{
    static const struct {
        const char *key;
        int n, rows, columns; /* 0 rows: stays */
    } rows[] = {
        {"144-8-56-28-3x1x1-64-8-56-28-2-1x0x0-1x1x1-1x1x1-0-NCDHW-FP32-F", 2, 8, 1568},
        {"16-4-5-6-1x1x1-8-4-5-6-3-0x0x0-1x1x1-1x1x1-0-NCDHW-FP32-F", 3, 4, 30},
        {"16-4-5-6-1x1x1-8-2-5-6-3-0x0x0-2x1x1-1x1x1-0-NCDHW-FP32-F", 3, 4, 30},
        {"64-8-56-56-1x3x3-144-8-56-56-2-0x1x1-1x1x1-1x1x1-0-NCDHW-FP32-F", 0, 0, 0},
        {"16-4-5-6-1x1x1-8-4-3-3-3-0x0x0-1x2x2-1x1x1-0-NCDHW-FP32-F", 0, 0, 0},
        {"16-4-5-6-1x1x1-8-4-5-3-3-0x0x0-1x1x2-1x1x1-0-NCDHW-FP32-F", 0, 0, 0},
        {"64-56-56-1x1-64-56-56-2-0x0-1x1-1x1-0-NCHW-FP32-F", 0, 0, 0},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p, flat;
        parse(rows[i].key, &p);
        conv_flatten_rows(&p, &flat);
        if (rows[i].rows == 0) {
            g_assert_true(problem_equal(&p, &flat));
            continue;
        }
        g_assert_cmpint(flat.spatial_dim, ==, 2);
        g_assert_cmpint(flat.n, ==, rows[i].n);
        g_assert_cmpint(flat.in[AXIS_D], ==, 1);
        g_assert_cmpint(flat.in[AXIS_H], ==, rows[i].rows);
        g_assert_cmpint(flat.in[AXIS_W], ==, rows[i].columns);
        g_assert_cmpfloat(problem_macs(&p), ==, problem_macs(&flat));
    }
}

/* At a corner a filter of 3 by 3 meets 2 by 2 positions. With a stride of 2 an element of x meets one of three filter
 * positions or two; without padding the first meets one. W's corner positions of the filter meet 55 of 56 rows. */
static void shortest_sums_are_at_edges(void)
{
    static const struct {
        const char *key;
        double terms;
    } rows[] = {
        {"64-56-56-3x3-32-56-56-8-1x1-1x1-1x1-0-NCHW-FP32-F", 64 * 4},
        {"64-56-56-1x1-32-56-56-8-0x0-1x1-1x1-0-NCHW-FP32-F", 64},
        {"64-57-57-5x5-32-29-29-8-2x2-2x2-1x1-0-NCHW-FP32-F_g2", 32 * 9},
        {"32-56-56-3x3-64-56-56-8-1x1-1x1-1x1-0-NCHW-FP32-B", 32 * 4},
        {"32-28-28-3x3-64-57-57-8-0x0-2x2-1x1-0-NCHW-FP32-B", 32},
        {"32-56-56-3x3-64-56-56-8-1x1-1x1-1x1-0-NCHW-FP32-W", 8 * 55 * 55},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        g_assert_true(problem_key_parse(rows[i].key, &p, &error));
        g_assert_no_error(error);
        g_test_message("%s", rows[i].key);
        g_assert_cmpfloat(conv_shortest_sum(&p), ==, rows[i].terms);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/conv_common/depth_is_left_out_where_it_can_be",
                    depth_is_left_out_where_it_can_be);
    g_test_add_func("/conv_common/other_problems_stay", other_problems_stay);
    g_test_add_func("/conv_common/planes_are_rows_where_positions_are_innermost",
                    planes_are_rows_where_positions_are_innermost);
    g_test_add_func("/conv_common/shortest_sums_are_at_edges", shortest_sums_are_at_edges);
    return g_test_run();
}
