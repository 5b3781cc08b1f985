/* ConvMatrix, ConvWgmma and ConvTma through PoCL, with the instructions of matrix units emulated
 * (emulated_solver.h): edges of blocks, addresses in local memory, phases of strides, split-K
 * parts, epilogues. */
#include <string.h>

#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_kinds.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/emulated_solver.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/kernels/random_epilogue.h"
#include "tests/support/test_effort.h"

/* Epilogues drawn for a case: one on one of EPILOGUE_DAYS days, or many in the long suite. PoCL compiles a kernel for
 * each. */
#define EPILOGUE_DAYS  6
/* Each shape of a case runs on one of so many days. */
#define SHAPE_DAYS     8
#define EPILOGUES_LONG 24
/* Single problems, of which PoCL compiles a kernel each, run on one of so many days. */
#define SINGLE_DAYS    8
/* One of so many random problems is run, of at most so many products. */
#define RANDOM_OF      4
#define RANDOM_MACS    2e5

static struct solution_runner *runner;
static const struct context *contexts;

struct trial_case {
    const char *solver;
    enum direction direction;
    bool is_long; /* run in the long suite only: PoCL needs more than a second for a kernel */
    struct perf_config config;
    struct conv_shape shapes[3];
    struct conv_shape moved[4]; /* problems whose tensors are copied to the kernels' layout first */
    enum layout layout;         /* of those */
};

/* ConvMatrix: BLOCK_M, BLOCK_N, WARP_M, WARP_N, BLOCK_K, STAGES, SPLITS; ConvWgmma: BLOCK_M, BLOCK_N, STAGES,
 * NEAR, SPLITS; ConvTma: BLOCK_M, BLOCK_N, RESIDENT, TEAM,
 * SPLITS. Blocks hang over the sizes, groups and strides come together, padding and dilation too. */
static const struct trial_case cases[] = {
    {"ConvMatrix",
     DIRECTION_F,
     false,
     {7, {64, 128, 64, 32, 64, 2, 16}},
     {{1, 72, 136, 1, 8, 9, 2, 2, 1, 1, 2}, {2, 48, 80, 2, 11, 9, 3, 2, 1, 2, 1}},
     {{2, 22, 140, 2, 9, 11, 2, 2, 1, 1, 1}, /* copied element by element */
      /* copied by chunks of positions; the small filter is not copied */
      {2, 40, 72, 1, 8, 11, 3, 2, 1, 1, 1},
      /* copied by half chunks of positions; channels are filled up with zeros */
      {1, 60, 60, 1, 10, 10, 1, 1, 0, 1, 1},
      {2, 48, 32, 2, 7, 7, 1, 1, 0, 1, 1}}, /* small planes */
     LAYOUT_NCHW},
    {"ConvMatrix",
     DIRECTION_B,
     true,
     {7, {64, 64, 32, 32, 32, 3, 1}},
     {{2, 48, 80, 2, 11, 9, 3, 4, 1, 2, 1},
      {1, 72, 40, 1, 9, 10, 3, 3, 1, 1, 2},
      {1, 40, 24, 1, 9, 10, 1, 1, 0, 2, 1}},
     {{2, 22, 14, 2, 5, 4, 5, 4, 3, 1, 1}},
     LAYOUT_NCHW},
    {"ConvMatrix",
     DIRECTION_W,
     false,
     {7, {64, 64, 32, 32, 32, 3, 1}},
     {{1, 72, 72, 1, 11, 12, 3, 2, 2, 1, 2}, {2, 32, 16, 2, 11, 19, 3, 2, 1, 2, 1}},
     {{2, 10, 14, 2, 9, 11, 2, 2, 1, 1, 1}},
     LAYOUT_NHWC},
    {"ConvWgmma",
     DIRECTION_F,
     true,
     {5, {64, 128, 4, 1, 1}},
     {{1, 72, 136, 1, 8, 10, 3, 2, 1, 1, 1}, {2, 48, 80, 2, 11, 9, 3, 2, 1, 2, 1}},
     {{2, 3, 70, 1, 20, 21, 7, 7, 3, 2, 1}},
     LAYOUT_NHWC},
    {"ConvWgmma",
     DIRECTION_B,
     false,
     {5, {128, 192, 3, 1, 2}},
     {{1, 136, 72, 1, 5, 7, 3, 4, 1, 2, 1},
      {1, 48, 16, 2, 8, 9, 4, 2, 2, 3, 2},
      {1, 40, 24, 1, 9, 10, 1, 1, 0, 2, 1}},
     {{1, 70, 50, 1, 9, 10, 1, 1, 0, 1, 1}},
     LAYOUT_NCHW},
    {"ConvWgmma",
     DIRECTION_W,
     false,
     {5, {64, 128, 4, 1, 1}},
     {{2, 40, 72, 1, 9, 10, 3, 2, 1, 1, 1}, {5, 48, 16, 2, 11, 9, 3, 2, 1, 2, 2}},
     {{2, 3, 64, 1, 20, 21, 5, 4, 2, 2, 1}, {1, 72, 24, 1, 10, 12, 3, 2, 1, 1, 1}},
     LAYOUT_NCHW},
    {"ConvTma",
     DIRECTION_F,
     false,
     {5, {128, 64, 1, 1, 1}},
     {{2, 72, 136, 1, 8, 10, 3, 2, 1, 1, 1},
      {2, 128, 128, 2, 11, 9, 3, 2, 1, 2, 1},
      {3, 40, 72, 1, 9, 10, 1, 1, 0, 1, 1}},
     {{2, 3, 70, 1, 20, 21, 7, 7, 3, 2, 1}},
     LAYOUT_NHWC},
    {"ConvTma",
     DIRECTION_B,
     false,
     {5, {64, 128, 1, 1, 2}},
     {{1, 136, 72, 1, 5, 7, 3, 4, 1, 2, 1},
      {2, 128, 128, 2, 8, 9, 4, 2, 2, 3, 2},
      {1, 40, 24, 1, 9, 10, 1, 1, 0, 2, 1}},
     {{1, 70, 50, 1, 9, 10, 1, 1, 0, 1, 1}},
     LAYOUT_NCHW},
    {"ConvTma",
     DIRECTION_B,
     true,
     {5, {64, 64, 2, 4, 1}},
     {{1, 72, 1032, 1, 5, 7, 3, 4, 1, 2, 1},
      {2, 128, 1024, 2, 8, 9, 4, 2, 2, 3, 2},
      {1, 40, 1032, 1, 9, 13, 3, 4, 1, 4, 1}}, /* some phases of the stride have no terms */
     {{1, 70, 1029, 1, 5, 7, 3, 3, 1, 1, 1}},
     LAYOUT_NCHW},
    {"ConvTma",
     DIRECTION_W,
     false,
     {5, {64, 128, 2, 4, 1}},
     {{2, 40, 72, 1, 9, 10, 3, 2, 1, 1, 1},
      {3, 128, 128, 2, 11, 9, 3, 2, 1, 2, 2},
      {3, 136, 24, 1, 9, 10, 1, 1, 0, 1, 1}},
     {{2, 3, 64, 1, 20, 21, 5, 4, 2, 2, 1}},
     LAYOUT_NCHW},
};

/* Cases in INT8, whose results must be exact. The short suite runs ConvMatrix's, with split-K parts. */
static const struct trial_case whole_numbers[] = {
    {"ConvMatrix",
     DIRECTION_F,
     false,
     {7, {64, 64, 32, 32, 32, 3, 2}},
     {{1, 80, 80, 1, 9, 10, 3, 2, 1, 1, 1}, {2, 32, 96, 2, 11, 9, 3, 2, 1, 2, 1}},
     {{1, 21, 70, 1, 5, 5, 3, 3, 1, 1, 1}, {1, 40, 24, 1, 8, 6, 2, 2, 1, 1, 1}},
     LAYOUT_NHWC},
    {"ConvWgmma",
     DIRECTION_F,
     true,
     {5, {64, 128, 3, 0, 1}},
     {{1, 160, 144, 1, 9, 10, 3, 2, 1, 1, 1}, {2, 32, 96, 2, 11, 9, 3, 2, 1, 2, 1}},
     {{1, 21, 70, 1, 5, 5, 3, 3, 1, 1, 1}, {1, 40, 24, 1, 8, 6, 2, 2, 1, 1, 1}},
     LAYOUT_NCHW},
};

/* Checks a problem; seed 0: without epilogue, else with one drawn from the seed. */
static void check(const struct trial_case *row, const struct conv_shape *shape, enum layout layout,
                  enum data_type type, guint32 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed > 0 ? seed : 3);
    struct conv_trial trial;
    struct problem p;

    conv_shape_problem(shape, row->direction, layout, &p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        p.type[t] = type == TYPE_INT8 && t == TENSOR_Y ? TYPE_INT32 : type;
    if (seed > 0)
        g_assert_true(random_epilogue(random, emulated_solver(row->solver)->epilogues, &p));
    g_assert_true(problem_validate(&p, NULL));
    conv_trial_init(&trial, &p, TRIAL_PACKED, random);
    conv_trial_check(&trial, runner, emulated_solver(row->solver), &contexts[CONTEXT_NVIDIA],
                     &row->config);
    conv_trial_clear(&trial);
}

/* The shapes of a row take turns. */
static void products_are_right(gconstpointer data)
{
    const struct trial_case *row = data;

    for (gsize i = 0; i < G_N_ELEMENTS(row->shapes) && row->shapes[i].n > 0; i++) {
        if (!test_is_turn((int)(i + (gsize)(row - cases)), SHAPE_DAYS))
            continue;
        check(row, &row->shapes[i], LAYOUT_NHWC, TYPE_FP16, 0);
        if (test_is_long())
            check(row, &row->shapes[i], LAYOUT_NHWC, TYPE_BF16, 0);
    }
}

static void whole_numbers_are_exact(gconstpointer data)
{
    const struct trial_case *row = data;

    for (gsize i = 0; i < G_N_ELEMENTS(row->shapes) && row->shapes[i].n > 0; i++) {
        if (test_is_turn((int)i, 2))
            check(row, &row->shapes[i], LAYOUT_NHWC, TYPE_INT8, 0);
    }
    for (gsize i = 0; test_is_long() && i < G_N_ELEMENTS(row->moved) && row->moved[i].n > 0; i++)
        check(row, &row->moved[i], row->layout, TYPE_INT8, 0);
}

/* Tensors in NCHW, and with channel counts that are no multiples of eight, are copied first; these
 * shapes take turns, too. */
static void tensors_are_moved(gconstpointer data)
{
    const struct trial_case *row = data;

    for (gsize i = 0; i < G_N_ELEMENTS(row->moved) && row->moved[i].n > 0; i++) {
        if (test_is_turn((int)(i + (gsize)(row - cases)), SHAPE_DAYS))
            check(row, &row->moved[i], row->layout, TYPE_FP16, 0);
    }
}

/* In each layout, for outputs in place and for copied ones. In INT8 each epilogue also has its own type of output. */
static void epilogues_are_done(gconstpointer data)
{
    const struct trial_case *row = data;
    gsize count = test_is_long() ? EPILOGUES_LONG : 1, first = test_seed() / EPILOGUE_DAYS;
    bool is_whole = row >= whole_numbers && row < whole_numbers + G_N_ELEMENTS(whole_numbers);

    for (gsize i = first; i < first + count; i++) {
        guint32 seed = (guint32)(test_seed() * 100 + i - first);
        enum data_type type = is_whole ? TYPE_INT8 : i % 3 == 2 ? TYPE_BF16 : TYPE_FP16;
        gsize shape = i / 2 % G_N_ELEMENTS(row->shapes), moved = i / 2 % G_N_ELEMENTS(row->moved);
        if (i % 2 == 0)
            check(row, &row->shapes[row->shapes[shape].n > 0 ? shape : 0], LAYOUT_NHWC, type, seed);
        else
            check(row, &row->moved[row->moved[moved].n > 0 ? moved : 0], row->layout, type, seed);
    }
}

/* The last convolution of ResNet's blocks, whose residual is read in pairs of channels, or one by one where tensors are
 * copied; FP32 problems in TF32: in place, copied with channels filled up, in groups, split into parts, with depth; and the
 * same in FP8 and BF8, which mix. */
static const struct {
    const char *name, *solver, *key, *config;
} blocks[] = {
    {"in_pairs", "ConvMatrix",
     "72-5-7-1x1-136-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F+bias+add(FP16,NHWC)+relu",
     "64,64,32,32,32,2,1"},
    {"in_pairs_with_boxes", "ConvTma",
     "72-5-7-1x1-136-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F+bias+add(FP16,NHWC)+relu",
     "64,64,1,1,1"},
    {"from_planes", "ConvMatrix",
     "20-5-7-1x1-74-5-7-2-0x0-1x1-1x1-0-NCHW-FP16-F+bias+add(FP32,NCHW)+relu",
     "64,64,32,32,32,2,1"},
    {"residual_of_8_bits_in_parts", "ConvMatrix",
     "264-5-7-1x1-136-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F+bias+add(FP8,NHWC)+relu",
     "64,64,32,32,32,2,2"},
    {"residual_of_8_bits_beside_integers", "ConvMatrix",
     "80-5-7-1x1-136-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-INT8INT8FP16-F"
     "+scale(channel)+add(BF8,NHWC)+relu",
     "64,64,32,32,32,2,1"},
    {"tf32", "ConvMatrix", "36-9-7-3x3-68-5-4-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-F_cxTF32",
     "64,64,32,32,32,3,1"},
    {"tf32_from_planes", "ConvMatrix",
     "42-5-7-3x2-70-5-6-1-1x0-1x1-1x1-0-NCHW-FP32-F_g2_cxTF32+bias+add(FP32,NCHW)+relu",
     "64,64,32,32,32,2,2"},
    {"tf32_in_depth", "ConvMatrix",
     "16-3-5-6-2x3x3-20-2-5-6-1-0x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-F_cxTF32",
     "64,64,32,32,32,2,1"},
    {"tf32_backward", "ConvMatrix",
     "68-5-4-3x3-36-9-7-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-B_cxTF32", "64,64,32,32,64,2,1"},
    {"tf32_backward_from_planes", "ConvMatrix",
     "70-5-6-3x2-42-5-7-1-1x0-1x1-1x1-0-NCHW-FP32-B_g2_cxTF32+bias+add(FP32,NCHW)+relu",
     "64,64,32,32,32,2,1"},
    {"tf32_of_weights", "ConvMatrix",
     "68-5-4-3x3-36-9-7-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-W_cxTF32", "64,64,32,32,32,2,1"},
    {"tf32_of_weights_from_planes", "ConvMatrix",
     "70-15-12-3x2-42-15-13-2-1x0-1x1-1x1-0-NCHW-FP32-W_g2_cxTF32", "64,64,32,32,64,3,2"},
    {"tf32_of_weights_in_depth", "ConvMatrix",
     "20-2-5-6-2x3x3-16-3-5-6-1-0x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-W_cxTF32",
     "64,64,32,32,32,2,1"},
    {"tf32_by_groups_of_warps", "ConvWgmma",
     "36-9-7-3x3-68-5-4-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-F_cxTF32", "64,128,3,1,1"},
    {"tf32_by_groups_of_warps_from_planes", "ConvWgmma",
     "42-5-7-3x2-70-5-6-1-1x0-1x1-1x1-0-NCHW-FP32-F_g2_cxTF32+bias+add(FP32,NCHW)+relu",
     "64,64,3,0,1"},
    {"tf32_backward_by_groups_of_warps", "ConvWgmma",
     "136-5-4-3x3-72-9-7-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-B_cxTF32+bias", "64,64,3,0,1"},
    {"tf32_backward_by_groups_of_warps_from_planes", "ConvWgmma",
     "70-5-6-3x2-42-5-7-1-1x0-1x1-1x1-0-NCHW-FP32-B_g2_cxTF32", "64,64,3,1,1"},
    {"tf32_backward_by_groups_of_warps_in_depth", "ConvWgmma",
     "20-2-5-6-2x3x3-16-3-5-6-1-0x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-B_cxTF32",
     "64,64,3,0,1"},
    {"tf32_with_boxes", "ConvTma", "36-9-7-3x3-68-5-4-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-F_cxTF32",
     "64,128,1,1,1"},
    {"tf32_with_boxes_from_planes", "ConvTma",
     "42-5-7-3x2-70-5-6-1-1x0-1x1-1x1-0-NCHW-FP32-F_cxTF32+bias+add(FP32,NCHW)+relu",
     "64,64,1,1,1"},
    {"tf32_backward_with_boxes", "ConvTma",
     "256-5-3-3x2-128-5-4-1-1x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-B_g2_cxTF32", "64,64,1,2,1"},
    {"tf32_backward_with_boxes_from_planes", "ConvTma",
     "70-3-3-3x2-42-5-7-1-1x0-2x2-1x1-0-NCHW-FP32-B_cxTF32+bias+add(FP32,NCHW)+relu",
     "64,64,1,1,1"},
    {"tf32_backward_with_boxes_in_depth", "ConvTma",
     "20-2-5-6-2x3x3-16-3-5-6-1-0x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-B_cxTF32",
     "64,64,1,1,1"},
    {"fp8", "ConvMatrix", "80-9-7-3x3-80-5-4-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP8-F",
     "64,64,32,32,32,3,1"},
    {"fp8_and_bf8_of_planes_in_parts", "ConvMatrix",
     "84-5-7-4x4-70-4-4-1-1x0-1x1-1x1-0-NCHW-FP8BF8FP16-F_g2", "64,64,32,32,32,2,2"},
    {"bf8_with_an_epilogue", "ConvMatrix",
     "80-5-7-1x1-144-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-BF8-F+scale(channel)+bias+add(FP8,NHWC)+relu",
     "64,64,32,32,64,2,1"},
    {"bf8_and_fp8_with_an_epilogue_of_planes", "ConvMatrix",
     "36-5-7-1x1-68-5-7-2-0x0-1x1-1x1-0-NCHW-BF8FP8BF16-F+bias+add(BF16,NCHW)+relu",
     "64,64,32,32,32,2,1"},
    {"fp8_in_depth", "ConvMatrix",
     "16-3-5-6-2x3x3-20-2-5-6-1-0x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP8FP8FP32-F",
     "64,64,32,32,32,2,1"},
    {"fp8_by_groups_of_warps", "ConvWgmma",
     "80-9-7-3x3-80-5-4-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP8FP8FP32-F", "64,128,3,0,1"},
    {"fp8_and_bf8_by_groups_of_warps_from_planes", "ConvWgmma",
     "84-5-7-4x4-70-4-4-1-1x0-1x1-1x1-0-NCHW-FP8BF8FP8-F_g2+bias+add(FP8,NCHW)+relu",
     "64,64,3,1,1"},
    {"bf8_and_fp8_by_groups_of_warps_in_parts", "ConvWgmma",
     "272-5-7-3x3-136-5-7-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-BF8FP8FP16-F+scale(channel)",
     "128,64,4,0,2"},
    /* Parts of concatenated tensors: written in place, by all sums at once, as sums of parts and by pairs; copied where positions do
     * not begin at multiples of 16 bytes, or images do not follow each other. */
    {"strided", "ConvMatrix",
     "72-5-7-1x1-136-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_sy7000x1x0x1400x200"
     "+bias+relu",
     "64,64,32,32,32,2,1"},
    {"strided_in_parts", "ConvMatrix",
     "264-5-7-1x1-136-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_sy7000x1x0x1400x200",
     "64,64,32,32,32,2,2"},
    {"strided_in_parts_with_an_epilogue", "ConvMatrix",
     "264-5-7-1x1-136-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_sx9520x1x0x1904x272_sy7000x1x0x1400x200"
     "+bias+relu",
     "64,64,32,32,32,2,2"},
    {"strided_between_chunks", "ConvMatrix",
     "72-5-7-1x1-136-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_sx3500x1x0x700x100_sy7175x1x0x1435x205"
     "+bias+relu",
     "64,64,32,32,32,2,1"},
    {"strided_images", "ConvMatrix",
     "72-5-7-1x1-136-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_sy5000x1x0x952x136",
     "64,64,32,32,32,2,1"},
    {"strided_single_positions", "ConvMatrix",
     "72-1-1-1x1-136-1-1-3-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_sy200x1x0x0x0+relu",
     "64,64,32,32,32,2,1"},
    {"strided_planes", "ConvMatrix",
     "20-5-7-1x1-74-5-7-2-0x0-1x1-1x1-0-NCHW-FP16-F_sx1050x35x0x7x1_sy3500x35x0x7x1"
     "+bias+relu",
     "64,64,32,32,32,2,1"},
    {"strided_planes_with_gaps", "ConvMatrix",
     "24-4-8-3x3-40-4-8-2-1x1-1x1-1x1-0-NCHW-FP16-F_sx1000x40x0x8x1_sy2000x48x0x8x1",
     "64,64,32,32,32,2,1"},
    {"strided_weights", "ConvMatrix",
     "68-5-4-3x3-36-9-7-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-W_cxTF32_sx2520x1x0x280x40_sy1600x1x0x320x80",
     "64,64,32,32,32,2,1"},
    {"strided_by_groups_of_warps", "ConvWgmma",
     "72-5-7-3x3-136-5-7-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_sy7000x1x0x1400x200+bias+relu",
     "64,64,3,0,1"},
    {"strided_backward_by_groups_of_warps", "ConvWgmma",
     "136-5-4-3x3-72-9-7-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-B_sx5040x1x0x560x80+bias",
     "64,64,3,0,1"},
    {"strided_fp8_by_groups_of_warps", "ConvWgmma",
     "80-9-7-3x3-80-5-4-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP8FP8FP32-F_sy1680x1x0x336x84",
     "64,128,3,0,1"},
    {"strided_with_boxes", "ConvTma",
     "72-5-7-1x1-136-5-7-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_sy7000x1x0x1400x200"
     "+bias+relu",
     "64,64,1,1,1"},
    {"strided_groups_with_boxes_in_parts", "ConvTma",
     "128-5-7-3x3-256-5-7-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F_g2_sx0x1x0x952x136_sy0x1x0x1848x264",
     "64,64,1,1,2"},
    {"strided_backward_with_boxes", "ConvTma",
     "136-5-4-3x3-72-9-7-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP32-B_cxTF32_sx5040x1x0x560x80+bias",
     "64,64,1,1,1"},
};

static void single_problem(gconstpointer data)
{
    gsize i = GPOINTER_TO_SIZE(data);
    g_autoptr(GError) error = NULL;
    struct problem p;

    g_assert_true(problem_key_parse(blocks[i].key, &p, NULL));
    problem_validate(&p, &error);
    g_assert_no_error(error);
    g_assert_true(conv_trial_check_key(blocks[i].key, runner, emulated_solver(blocks[i].solver),
                                       &contexts[CONTEXT_NVIDIA], blocks[i].config));
}

/* Random problems in TF32, FP8 and BF8 of all kinds, layouts and sizes, with each solver's default config (long suite). */
static void random_problems_of_other_types(gconstpointer data)
{
    static const char *const names[] = {"ConvMatrix", "ConvWgmma", "ConvTma"};
    bool float8 = GPOINTER_TO_INT(data); /* else TF32 */
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed());
    int tried = 0;

    for (int i = 0; i < conv_cell_count() * conv_kind_count(); i++) {
        const struct solver *solver = emulated_solver(names[i % (float8 ? 2 : 3)]);
        const struct context *context = &contexts[CONTEXT_NVIDIA];
        struct perf_config config;
        struct conv_trial trial;
        struct conv_cell cell;
        struct problem p;
        conv_cell_at(i / conv_kind_count(), &cell);
        bool is_its =
            float8 ? data_type_bytes(cell.type[TENSOR_X]) == 1 && cell.type[TENSOR_X] != TYPE_INT8
                   : cell.tf32;
        if (!is_its || g_rand_int_range(random, 0, RANDOM_OF) > 0)
            continue;
        conv_kind_problem(random, i % conv_kind_count(), (enum conv_sizes)(i % CONV_SIZES_COUNT),
                          &cell, RANDOM_MACS, &p);
        if (!problem_validate(&p, NULL) || !solver_applicable(solver, &p, context, NULL))
            continue;
        solver->default_config(&p, context, &config);
        conv_trial_init(&trial, &p, TRIAL_PACKED, random);
        conv_trial_check(&trial, runner, solver, context, &config);
        conv_trial_clear(&trial);
        tried++;
    }
    g_test_message("%d problems", tried);
    g_assert_cmpint(tried, >, 10);
}

static void add_test(const struct trial_case *row, const char *name, GTestDataFunc test)
{
    char config[CONFIG_TEXT_MAX];
    g_autofree char *path =
        g_strdup_printf("/conv_matrix/%s/%s_%c_%s", name, row->solver, "FBW"[row->direction],
                        perf_config_format(&row->config, config));

    g_test_add_data_func(path, row, test);
}

static void add_tests(struct solution_runner *opened, const struct context *made)
{
    runner = opened;
    contexts = made;
    for (gsize i = 0; i < G_N_ELEMENTS(whole_numbers); i++) {
        if (!whole_numbers[i].is_long || test_is_long())
            add_test(&whole_numbers[i], "whole_numbers_are_exact", whole_numbers_are_exact);
        if (test_is_turn((int)i, EPILOGUE_DAYS))
            add_test(&whole_numbers[i], "whole_numbers_get_epilogues", epilogues_are_done);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++) {
        g_autofree char *path =
            g_strdup_printf("/conv_matrix/single_problems_are_right/%s", blocks[i].name);
        if (test_is_long() || test_is_turn((int)i, SINGLE_DAYS))
            g_test_add_data_func(path, GSIZE_TO_POINTER(i), single_problem);
    }
    if (test_is_long()) {
        g_test_add_data_func("/conv_matrix/random_problems_in_tf32_are_right", GINT_TO_POINTER(0),
                             random_problems_of_other_types);
        g_test_add_data_func("/conv_matrix/random_problems_in_fp8_and_bf8_are_right",
                             GINT_TO_POINTER(1), random_problems_of_other_types);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        bool is_due = !cases[i].is_long || test_is_long();
        if (is_due)
            add_test(&cases[i], "products_are_right", products_are_right);
        if (cases[i].direction != DIRECTION_W && test_is_turn((int)i, EPILOGUE_DAYS))
            add_test(&cases[i], "epilogues_are_done", epilogues_are_done);
        if (is_due && (test_is_long() || strcmp(cases[i].solver, "ConvMatrix") == 0))
            add_test(&cases[i], "tensors_are_moved", tensors_are_moved);
    }
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
