/* The comparison that all kernel tests use (conv_trial.h) must find every kind of fault. */
#include "tests/support/kernels/conv_trial.h"

#include <math.h>
#include <string.h>

#include "tests/support/kernels/conv_reference.h"

static const enum trial_strides all_strides[] = {TRIAL_PACKED, TRIAL_PADDED, TRIAL_SPREAD};

static void make(struct conv_trial *trial, enum data_type type, enum layout layout,
                 enum trial_strides strides)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    struct problem p;

    problem_init(&p);
    p.c = 8;
    p.k = 8;
    p.in[AXIS_H] = p.in[AXIS_W] = 5;
    p.fil[AXIS_H] = p.fil[AXIS_W] = 3;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p.type[t] = type;
        p.layout[t] = layout;
    }
    if (type == TYPE_INT8)
        p.type[TENSOR_Y] = TYPE_INT32;
    problem_set_output(&p);
    conv_trial_init(trial, &p, strides, random);
}

/* The rounding of F(4x4,3x3) and of a Fourier transform of 25 taps, with sums over eight
 * channels. */
static const struct solution_rounding winograd = {true, 8, 10.48, 14, 0, 0, 0, 0},
                                      fft = {true, 8, 0.28, 20, 0, 0, 0, 0};

static void store(struct conv_trial *trial, int64_t index, double value)
{
    struct run_tensor *y = &trial->tensors[TENSOR_Y];

    conv_store(&trial->p, TENSOR_Y, y->strides, (char *)y->data + y->start, index, value);
}

/* Stores the right result as the output; returns its number of elements. */
static int64_t store_all(struct conv_trial *trial)
{
    int64_t sizes[5], count = conv_plain_sizes(&trial->p, TENSOR_Y, sizes);

    for (int64_t i = 0; i < count; i++)
        store(trial, i, trial->plain[TENSOR_Y][i]);
    return count;
}

static void an_output_not_written_is_wrong(void)
{
    struct conv_trial trial;
    int64_t first = 0, count;

    make(&trial, TYPE_FP32, LAYOUT_NHWC, TRIAL_SPREAD);
    count = store_all(&trial);
    memcpy(trial.tensors[TENSOR_Y].data, trial.before[TENSOR_Y], trial.tensors[TENSOR_Y].bytes);
    g_assert_cmpint(conv_trial_wrong(&trial, NULL, &first), ==, count);
    g_assert_cmpint(first, ==, 0);
    conv_trial_clear(&trial);
}

static void a_right_result_is_right_however_tensors_lie(void)
{
    static const enum data_type types[] = {TYPE_FP64, TYPE_FP32, TYPE_FP16, TYPE_BF16, TYPE_INT8};
    static const enum layout layouts[] = {LAYOUT_NCHW, LAYOUT_NHWC, LAYOUT_CHWN, LAYOUT_NCHWC4};

    for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
        for (gsize j = 0; j < G_N_ELEMENTS(layouts); j++) {
            for (gsize k = 0; k < G_N_ELEMENTS(all_strides); k++) {
                struct conv_trial trial;
                make(&trial, types[i], layouts[j], all_strides[k]);
                store_all(&trial);
                g_assert_cmpint(conv_trial_wrong(&trial, NULL, NULL), ==, 0);
                g_assert_cmpint(conv_trial_stray(&trial), ==, 0);
                conv_trial_clear(&trial);
            }
        }
    }
}

/* The smallest mistake of a kernel: it leaves out the smallest product that the data can have. */
static void a_missing_product_is_wrong_for_every_rounding(void)
{
    static const struct {
        const struct solution_rounding *rounding;
        enum data_type type;
    } rows[] = {
        {NULL, TYPE_FP32},      {NULL, TYPE_FP16}, {NULL, TYPE_BF16},
        {&winograd, TYPE_FP32}, {&fft, TYPE_FP32}, {NULL, TYPE_FP64},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct conv_trial trial;
        int64_t smallest = 0, count, first = -1;
        make(&trial, rows[i].type, LAYOUT_NCHW, TRIAL_PACKED);
        count = store_all(&trial);
        for (int64_t j = 0; j < count; j++) {
            if (fabs(trial.plain[TENSOR_Y][j]) < fabs(trial.plain[TENSOR_Y][smallest]))
                smallest = j;
        }
        store(&trial, smallest, trial.plain[TENSOR_Y][smallest] + 0.0625);
        g_assert_cmpint(conv_trial_wrong(&trial, rows[i].rounding, &first), ==, 1);
        g_assert_cmpint(first, ==, smallest);
        conv_trial_clear(&trial);
    }
}

static void whole_numbers_are_equal_or_wrong(void)
{
    struct conv_trial trial;

    make(&trial, TYPE_INT8, LAYOUT_NCHW, TRIAL_PACKED);
    store_all(&trial);
    store(&trial, 3, trial.plain[TENSOR_Y][3] + 1);
    g_assert_cmpint(conv_trial_wrong(&trial, &winograd, NULL), ==, 1);
    conv_trial_clear(&trial);
}

/* Transforms mix neighbours, so an element may have the error of the largest one; in plain sums
 * each element has its own limit. */
static void only_transforms_may_err_by_the_largest_magnitude(void)
{
    struct conv_trial trial;
    double off = 0x1p-24 * 30;

    make(&trial, TYPE_FP32, LAYOUT_NCHW, TRIAL_PACKED);
    store_all(&trial);
    trial.magnitude[0] = 1;
    trial.largest = 10;
    store(&trial, 0, trial.plain[TENSOR_Y][0] + off);
    g_assert_cmpint(conv_trial_wrong(&trial, NULL, NULL), ==, 1);
    g_assert_cmpint(conv_trial_wrong(&trial, &winograd, NULL), ==, 0);
    g_assert_cmpint(conv_trial_wrong(&trial, &fft, NULL), ==, 0);
    conv_trial_clear(&trial);
}

static void a_byte_written_where_none_may_be_is_stray(void)
{
    for (gsize k = 0; k < G_N_ELEMENTS(all_strides); k++) {
        for (int t = 0; t < TENSOR_COUNT; t++) {
            struct conv_trial trial;
            struct run_tensor *tensor = &trial.tensors[t];
            guint8 *bytes;
            make(&trial, TYPE_FP32, LAYOUT_NHWC, all_strides[k]);
            bytes = tensor->data;
            bytes[tensor->start - 1] ^= 1;
            bytes[tensor->bytes - 1] ^= 1;
            g_assert_cmpint(conv_trial_stray(&trial), ==, 2);
            bytes[tensor->start + 1] ^= 1; /* changes the first element */
            g_assert_cmpint(conv_trial_stray(&trial), ==, t == TENSOR_Y ? 2 : 3);
            if (all_strides[k] == TRIAL_SPREAD) {
                /* changes the gap between the first and the second element */
                bytes[tensor->start + 4] ^= 1;
                g_assert_cmpint(conv_trial_stray(&trial), ==, t == TENSOR_Y ? 3 : 4);
            }
            conv_trial_clear(&trial);
        }
    }
}

static void padded_tensors_keep_the_order_of_their_layout(void)
{
    static const enum layout layouts[] = {LAYOUT_NCHW, LAYOUT_NHWC, LAYOUT_CHWN};

    for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++) {
        struct conv_trial packed, padded;
        make(&packed, TYPE_FP32, layouts[i], TRIAL_PACKED);
        make(&padded, TYPE_FP32, layouts[i], TRIAL_PADDED);
        for (int a = 0; a < 5; a++) {
            for (int b = 0; b < 5; b++) {
                const int64_t *before = packed.tensors[TENSOR_X].strides;
                const int64_t *after = padded.tensors[TENSOR_X].strides;
                if (before[a] < before[b])
                    g_assert_cmpint(after[a], <, after[b]);
            }
        }
        g_assert_cmpuint(padded.tensors[TENSOR_X].bytes, >, packed.tensors[TENSOR_X].bytes);
        conv_trial_clear(&packed);
        conv_trial_clear(&padded);
    }
}

#define ELEMENTS 72 /* of the output of make() */

/* Each row's last step is left out of the stored result. */
static void a_step_that_is_left_out_is_wrong(void)
{
    static const struct {
        enum data_type x, y;
        const char *epilogue, *without_last;
        int least; /* of the ELEMENTS */
    } rows[] = {
        {TYPE_FP32, TYPE_FP32, "+bias", "", 70},
        {TYPE_FP16, TYPE_FP16, "+relu+add(FP16,NCHW)", "+relu", 70},
        {TYPE_BF16, TYPE_BF16, "+add(FP32,NCHW)+scale(channel)", "+add(FP32,NCHW)", 60},
        {TYPE_FP32, TYPE_FP32, "+bias+relu", "+bias", 20},
        {TYPE_FP32, TYPE_FP32, "+bias+silu", "+bias", 60},
        {TYPE_INT8, TYPE_INT8, "+bias+requant(INT8,channel)", "+bias", 60},
        {TYPE_INT8, TYPE_FP32, "+scale(tensor)+add(INT8,NCHW)", "+scale(tensor)", 60},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GRand) random = g_rand_new_with_seed(7);
        struct epilogue without = {0};
        struct conv_trial trial, plain;
        struct problem p;
        make(&plain, rows[i].x, LAYOUT_NCHW, TRIAL_PADDED);
        p = plain.p;
        p.type[TENSOR_Y] = rows[i].y;
        g_strlcpy(p.epilogue, rows[i].epilogue, sizeof(p.epilogue));
        g_assert_true(problem_validate(&p, NULL));
        conv_trial_init(&trial, &p, TRIAL_PADDED, random);
        g_assert_cmpint(store_all(&trial), ==, ELEMENTS);
        g_assert_cmpint(conv_trial_wrong(&trial, NULL, NULL), ==, 0);
        g_assert_cmpint(conv_trial_stray(&trial), ==, 0);
        if (rows[i].without_last[0] != '\0')
            g_assert_true(epilogue_parse(rows[i].without_last, &without, NULL));
        for (int64_t e = 0; e < ELEMENTS; e++)
            store(&trial, e, conv_trial_epilogue(&trial, &without, e));
        g_assert_cmpint(conv_trial_wrong(&trial, NULL, NULL), >=, rows[i].least);
        conv_trial_clear(&trial);
        conv_trial_clear(&plain);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/conv_trial/a_right_result_is_right_however_tensors_lie",
                    a_right_result_is_right_however_tensors_lie);
    g_test_add_func("/conv_trial/an_output_not_written_is_wrong", an_output_not_written_is_wrong);
    g_test_add_func("/conv_trial/a_missing_product_is_wrong_for_every_rounding",
                    a_missing_product_is_wrong_for_every_rounding);
    g_test_add_func("/conv_trial/whole_numbers_are_equal_or_wrong",
                    whole_numbers_are_equal_or_wrong);
    g_test_add_func("/conv_trial/only_transforms_may_err_by_the_largest_magnitude",
                    only_transforms_may_err_by_the_largest_magnitude);
    g_test_add_func("/conv_trial/a_byte_written_where_none_may_be_is_stray",
                    a_byte_written_where_none_may_be_is_stray);
    g_test_add_func("/conv_trial/padded_tensors_keep_the_order_of_their_layout",
                    padded_tensors_keep_the_order_of_their_layout);
    g_test_add_func("/conv_trial/a_step_that_is_left_out_is_wrong",
                    a_step_that_is_left_out_is_wrong);
    return g_test_run();
}
