#include "worker/verify/reference_columns.h"

#include <glib.h>
#include <math.h>

#include "solvers/problem/problem_key.h"
#include "worker/verify/random.h"
#include "worker/verify/reference.h"

static void make_problem(struct problem *p, const char *key)
{
    g_autoptr(GError) error = NULL;
    problem_key_parse(key, p, &error);
    g_assert_no_error(error);
}

/* Whether a rectangle of an image has a kept column. */
static bool is_met(const struct reference_columns *kept, int64_t image, int64_t top, int64_t left,
                   int64_t height, int64_t width)
{
    for (int64_t h = top; h < top + height; h++) {
        for (int64_t w = left; w < left + width; w++) {
            int64_t column = (image * kept->size[1] + h) * kept->size[2] + w;
            if (reference_column_is_kept(kept, 1, column))
                return true;
        }
    }
    return false;
}

/* Every rectangle of 4 one_of positions is met, wherever it lies and however narrow it is, in an image that is neither
 * the first nor the last. */
static void test_rectangles(void)
{
    for (int64_t one_of = 2; one_of <= 70; one_of += one_of < 12 ? 1 : 7) {
        struct reference_columns kept;
        struct problem p;
        make_problem(&p, "8-64-64-3x3-8-64-64-3-1x1-1x1-1x1-0-NCHW-FP32-F");
        reference_columns_init(&kept, &p, one_of);
        for (int64_t height = 1; height <= 62; height++) {
            int64_t width = (4 * one_of + height - 1) / height;
            if (width == 0 || width > 62)
                continue;
            for (int64_t top = 1; top + height < 64; top += 3) {
                for (int64_t left = 1; left + width < 64; left += 2) {
                    if (!is_met(&kept, 1, top, left, height, width))
                        g_error("one of %d: no element of %d by %d at %d, %d", (int)one_of,
                                (int)height, (int)width, (int)top, (int)left);
                }
            }
        }
    }
}

/* Whether a block of channels, lines and columns of an image has a kept position. */
static bool block_is_met(const struct reference_columns *kept, int64_t image,
                         const int64_t begin[3], const int64_t size[3])
{
    for (int64_t c = begin[0]; c < begin[0] + size[0]; c++)
        for (int64_t h = begin[1]; h < begin[1] + size[1]; h++)
            for (int64_t w = begin[2]; w < begin[2] + size[2]; w++)
                if (reference_position_is_kept(kept, image, c, h * kept->size[2] + w))
                    return true;
    return false;
}

/* Where channels are computed one by one, every tile of channels and positions is met, those of one channel as well as
 * those of one position. */
static void test_channels(void)
{
    static const int64_t tiles[][2] = {{1, 4}, {4, 1}, {16, 1}, {1, 16}, {64, 1}, {8, 8}};
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    for (int64_t one_of = 2; one_of <= 58; one_of += 7) {
        struct reference_columns kept;
        struct problem p;
        make_problem(&p, "pool(max)-256-66-66-3x3-256-64-64-3-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F");
        reference_columns_init(&kept, &p, one_of);
        for (gsize t = 0; t < G_N_ELEMENTS(tiles); t++) {
            int64_t channels = tiles[t][0], height = tiles[t][1];
            int64_t width = (6 * one_of + channels * height - 1) / (channels * height);
            const int64_t size[3] = {channels, height, MAX(width, 1)};
            for (int i = 0; i < 20 && size[2] <= 60; i++) {
                const int64_t begin[3] = {g_rand_int_range(random, 0, (gint32)(257 - channels)),
                                          g_rand_int_range(random, 1, (gint32)(64 - height)),
                                          g_rand_int_range(random, 1, (gint32)(64 - size[2]))};
                if (!block_is_met(&kept, 1, begin, size))
                    g_error("one of %d: no element of %d channels by %d by %d", (int)one_of,
                            (int)size[0], (int)size[1], (int)size[2]);
            }
        }
    }
}

/* Images of a single position: one of `one_of` neighbours is kept among images and among channels. */
static void test_single_positions(void)
{
    struct reference_columns kept;
    struct problem p;
    make_problem(&p, "pool(average)-64-7-7-7x7-64-1-1-100-0x0-1x1-1x1-0-NCHW-FP32-F");
    reference_columns_init(&kept, &p, 13);
    for (int64_t image = 0; image < 100; image++) {
        int64_t by_channel = 0, by_image = 0, columns = 0;
        for (int64_t i = 0; i < 13; i++) {
            by_channel += reference_position_is_kept(&kept, 50, image % 50 + i, 0);
            by_image += reference_position_is_kept(&kept, 1 + (image + i) % 98, 7, 0);
            columns += reference_column_is_kept(&kept, 0, 1 + (image % 80) + i);
        }
        g_assert_cmpint(by_channel, ==, 1);
        g_assert_cmpint(columns, ==, 1);
        g_assert_true(image % 98 > 85 || by_image == 1);
    }
    g_assert_true(reference_position_is_kept(&kept, 0, 3, 0));
    g_assert_true(reference_position_is_kept(&kept, 99, 3, 0));
}

static void test_edges(void)
{
    struct reference_columns kept;
    struct problem p;
    make_problem(&p, "8-20-30-3x3-8-20-30-5-1x1-1x1-1x1-0-NCHW-FP32-F_g2");
    reference_columns_init(&kept, &p, 50);
    for (int64_t group = 0; group < 2; group++) {
        for (int64_t column = 0; column < 5 * 600; column++) {
            int64_t image = column / 600, h = column / 30 % 20, w = column % 30;
            bool at_end_h = h == 0 || h == 19, at_end_w = w == 0 || w == 29;
            if ((at_end_h && at_end_w) || ((at_end_h || at_end_w) && (image == 0 || image == 4)))
                g_assert_true(reference_column_is_kept(&kept, group, column));
        }
    }
    p.direction = DIRECTION_W; /* 4 channels of a group by 9 taps */
    reference_columns_init(&kept, &p, 50);
    for (int64_t tap = 0; tap < 9; tap++) {
        g_assert_true(reference_column_is_kept(&kept, 1, tap));
        g_assert_true(reference_column_is_kept(&kept, 1, 27 + tap));
    }
}

/* The share of the elements that a partial reference has; they equal those of the whole. */
static double share_of(const char *key, double part)
{
    double *dense[OPERAND_COUNT] = {NULL};
    g_autoptr(GError) error = NULL;
    struct problem p;
    double share;
    make_problem(&p, key);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        struct tensor tensor;
        tensor_init(&tensor, &p, (enum tensor_role)t);
        if (t != (int)problem_output_role(&p))
            dense[t] = random_dense(&p, &tensor, (enum tensor_role)t, 1);
    }
    const double *const *inputs = (const double *const *)dense;
    struct reference *whole = reference_compute(&p, inputs, 2, 0, &error);
    double terms = problem_macs(&p) * (p.kind == OP_CONV || p.kind == OP_POOL ? 1
                                       : p.kind == OP_SOFTMAX                 ? 3
                                                                              : whole->length);
    struct reference *some = reference_compute(&p, inputs, 2, terms * part, &error);
    g_assert_no_error(error);
    for (int64_t i = 0; i < whole->count; i++)
        g_assert_true(isnan(some->magnitude[i]) || some->value[i] == whole->value[i]);
    g_assert_cmpfloat(whole->share, ==, 1);
    share = some->share;
    reference_unref(whole);
    reference_unref(some);
    for (int t = 0; t < TENSOR_COUNT; t++)
        g_free(dense[t]);
    return share;
}

static void test_shares(void)
{
    static const char *const keys[] = {
        "8-64-64-3x3-8-64-64-4-1x1-1x1-1x1-0-NCHW-FP32-F",
        "8-32-32-3x3-8-64-64-4-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-B",
        "8-16-16-3x3-64-16-16-2-1x1-1x1-1x1-0-NCHW-FP32-W",
        "32-64-64-3x3-32-64-64-4-1x1-1x1-1x1-0-NCHW-FP32-F_g32",
        "4-12-32-32-3x3x3-4-12-32-32-2-1x1x1-1x1x1-1x1x1-0-NCDHW-FP32-F",
        "pool(average)-64-57-57-3x3-64-56-56-4-1x1-1x1-1x1-0-NCHW-FP32-F",
        "lrn(5,1e-4,0.75,1)-64-40-40-1x1-64-40-40-2-0x0-1x1-1x1-0-NCHW-FP32-F",
        "softmax-100-32-32-1x1-100-32-32-4-0x0-1x1-1x1-0-NCHW-FP32-F",
        "resize(linear,half_pixel)-16-32-32-1x1-16-64-64-4-0x0-1x1-1x1-0-NCHW-FP32-F",
        "pool(average)-64-7-7-7x7-64-1-1-200-0x0-1x1-1x1-0-NCHW-FP32-F",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        double share = share_of(keys[i], 0.1);
        g_test_message("%s: %.3f of the elements", keys[i], share);
        /* In B the reference also multiplies the zeros that a stride puts between outputs. */
        g_assert_cmpfloat(share, >=, i == 1 ? 0.05 : 0.09);
        g_assert_cmpfloat(share, <=, i == 4 ? 0.4 : 0.2);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/reference_columns/each_rectangle_has_an_element", test_rectangles);
    g_test_add_func("/reference_columns/each_block_of_channels_has_an_element", test_channels);
    g_test_add_func("/reference_columns/single_positions_are_kept_by_turns", test_single_positions);
    g_test_add_func("/reference_columns/corners_and_edges_are_kept", test_edges);
    g_test_add_func("/reference_columns/partial_reference_is_about_as_large_as_asked", test_shares);
    return g_test_run();
}
