/* ConvMatrixSmall and ConvMatrixTaps with the instructions of matrix units emulated except on NVIDIA's GPUs (emulated_solver.h): tiles that
 * reach past rows and columns, sizes that allow copies of two, four and eight elements, shares without terms,
 * channels of planes in an epilogue. */
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/emulated_solver.h"

#define SMALL "ConvMatrixSmall"
#define TAPS  "ConvMatrixTaps"

static struct solution_runner *runner;
static const struct context *context;

static const struct way {
    const char *name, *solver, *key, *config;
} ways[] = {
    {"terms_innermost", SMALL, "72-1-1-1x1-40-1-1-35-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
     "2,4,2,1"},
    {"terms_innermost_in_pairs", SMALL, "90-1-1-1x1-6-1-1-5-0x0-1x1-1x1-0-NCHW-BF16-F", "1,1,2,1"},
    {"an_odd_number_of_columns", SMALL, "36-1-1-1x1-13-1-1-3-0x0-1x1-1x1-0-NCHW-FP16-F", "1,2,1,2"},
    {"more_turns_than_copies_in_flight", SMALL, "200-1-1-1x1-12-1-1-3-0x0-1x1-1x1-0-NCHW-FP16-F",
     "1,2,2,2"},
    {"filters_by_term", SMALL, "44-1-1-1x1-72-1-1-18-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-B",
     "1,4,1,2"},
    {"filters_by_term_in_pairs", SMALL, "38-1-1-1x1-14-1-1-9-0x0-1x1-1x1-0-NCHW-BF16-B", "1,1,2,1"},
    {"both_by_term", SMALL, "70-1-1-1x1-40-1-1-35-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-W", "4,8,2,1"},
    {"both_by_term_in_pairs", SMALL, "22-1-1-1x1-26-1-1-70-0x0-1x1-1x1-0-NCHW-BF16-W", "1,2,2,1"},
    {"filters_that_are_the_image", SMALL, "20-3-2-3x2-24-1-1-4-0x0-1x1-1x1-0-NCHW-FP16-F",
     "1,2,4,1"},
    {"positions_as_rows", SMALL, "24-3-5-1x1-40-3-5-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-F",
     "2,2,1,1"},
    {"positions_as_rows_of_planes_of_depth", SMALL,
     "16-2-3-5-1x1x1-24-2-3-5-1-0x0x0-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP16-W", "1,2,1,1"},
    {"an_epilogue", SMALL,
     "72-1-1-1x1-41-1-1-18-0x0-1x1-1x1-0-NCHW-FP16-F+bias+add(FP32,NCHW)+hardswish", "1,4,2,1"},
    {"an_epilogue_of_planes", SMALL, "24-1-1-2x3-7-2-3-4-0x0-1x1-1x1-0-NCHW-FP16-B+bias+relu",
     "1,2,1,1"},
    {"an_epilogue_of_channels", SMALL,
     "24-1-1-2x3-7-2-3-4-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-B+scale(channel)+add(BF16,NHWC)",
     "1,1,1,1"},
    {"taps", TAPS, "64-5-6-3x3-24-5-6-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F", "2,2,4,2"},
    {"taps_with_stride_and_dilation", TAPS,
     "32-9-11-3x2-13-3-6-2-1x1-2x2-2x1-0-NHWC-NHWC-NHWC-BF16-F", "1,2,2,1"},
    {"a_single_tap_with_stride", TAPS, "96-7-7-1x1-40-4-4-1-0x0-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-F",
     "1,4,2,1"},
    {"taps_backward", TAPS, "64-5-6-3x3-24-5-6-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-B", "2,4,4,2"},
    {"taps_backward_with_dilation", TAPS, "32-5-7-3x2-14-7-9-1-1x2-1x1-2x3-0-NHWC-NHWC-NHWC-BF16-B",
     "1,2,2,2"},
    {"an_epilogue_of_taps", TAPS,
     "32-5-6-3x3-24-5-6-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F+bias+add(FP16,NHWC)+relu", "2,2,2,1"},
};

static void way_is_right(gconstpointer data)
{
    const struct way *way = data;
    bool is_nvidia = solution_runner_target(runner)->vendor == VENDOR_NVIDIA;
    const struct solver *solver =
        is_nvidia ? solver_find(way->solver) : emulated_solver(way->solver);

    g_assert_true(conv_trial_check_key(way->key, runner, solver, context, way->config));
}

static void add_tests(struct solution_runner *opened, const struct context *contexts)
{
    runner = opened;
    context = &contexts[CONTEXT_NVIDIA];
    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autofree char *path =
            g_strdup_printf("/conv_matrix_small/is_right_with/%s", ways[i].name);
        g_test_add_data_func(path, &ways[i], way_is_right);
    }
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
