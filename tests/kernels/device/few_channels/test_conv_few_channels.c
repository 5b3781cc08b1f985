/* Kernels for few input channels, with configs of NVIDIA's targets: tiles that reach past an image,
 * phases of strides, dilation, split sums, and filter rows that begin at odd elements. Except on
 * NVIDIA's GPUs, the matrix units' instructions are emulated (emulated_solver.h). */
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/emulated_solver.h"

static struct solution_runner *runner;
static const struct context *context;

static const struct way {
    const char *name, *solver, *key, *config;
} ways[] = {
    {"phases_and_dilation_in_chunks", "ConvFewChannelsData",
     "24-9-8-4x3-2-17-20-2-2x3-2x3-1x2-0-NHWC-NHWC-NHWC-FP16-B", "4,8,64,8"},
    {"phases_that_no_tap_meets", "ConvFewChannelsData",
     "6-5-6-1x2-3-14-16-1-0x1-3x3-1x1-0-NCHW-BF16-B", "4,8,64,8"},
    {"shares_and_blocks_beyond_k", "ConvFewChannelsWeights",
     "20-13-37-5x4-3-28-77-2-3x2-2x2-1x1-0-NCHW-FP32-W", "2,8,4,32,1"},
    {"chunks_of_lines_of_planes", "ConvFewChannelsWeights",
     "20-9-40-3x3-3-18-80-2-1x1-2x2-1x1-0-NCHW-FP16-W", "2,4,2,64,1"},
    {"chunks_in_parts_with_dilation", "ConvFewChannelsWeights",
     "16-18-36-2x3-2-19-36-2-0x2-1x1-1x2-0-NHWC-NHWC-NHWC-BF16-W", "4,4,2,16,32"},
    {"pairs_that_begin_early", "ConvFewChannelsMatrix",
     "3-21-40-7x7-40-11-20-3-3x3-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-F", "2,2,2,64,1"},
    {"pairs_that_begin_in_time", "ConvFewChannelsMatrix",
     "2-11-36-3x4-72-8-37-1-1x2-1x1-2x1-0-NHWC-NHWC-NHWC-BF16-F", "1,1,4,32,1"},
    {"channels_in_planes", "ConvFewChannelsMatrix",
     "3-21-40-7x7-40-11-20-3-3x3-2x2-1x1-0-NCHW-FP16-F", "2,2,2,64,1"},
    {"an_epilogue_of_chunks", "ConvFewChannelsMatrix",
     "3-21-40-7x7-40-11-20-3-3x3-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-F+scale(channel)+bias+add(FP32,NHWC)+"
     "hardswish",
     "2,2,2,64,1"},
    {"an_epilogue_of_planes", "ConvFewChannelsMatrix",
     "3-21-40-7x7-40-11-20-3-3x3-2x2-1x1-0-NCHW-BF16-F+bias+mul(BF16,NCHW)+clip(-0.5,6)",
     "2,2,2,64,1"},
    {"halves_a_position_apart", "ConvFewChannelsMatrixW",
     "40-10-20-7x7-3-20-40-3-3x3-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-W", "32,1,32,1"},
    {"shares_of_steps_in_parts", "ConvFewChannelsMatrixW",
     "16-34-36-2x3-2-34-36-2-1x1-1x1-2x1-0-NHWC-NHWC-NHWC-BF16-W", "16,2,32,32"},
    {"outputs_of_positions_beyond_the_image", "ConvFewOutputs",
     "40-9-11-3x3-4-9-11-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-B", "4,8,1,2"},
    {"outputs_of_phases_and_dilation", "ConvFewOutputs",
     "38-9-8-4x3-3-17-20-2-2x3-2x2-1x2-0-NHWC-NHWC-NHWC-BF16-B", "4,16,2,1"},
    {"outputs_of_a_stride_that_skips", "ConvFewOutputs",
     "70-4-5-2x2-2-14-16-1-1x0-4x3-1x1-0-NHWC-NHWC-NHWC-FP16-B", "2,8,1,1"},
    {"outputs_of_planes", "ConvFewOutputs", "36-9-24-3x3-3-9-24-2-1x1-1x1-1x1-0-NCHW-FP16-B",
     "4,16,2,2"},
    {"outputs_of_planes_with_stride", "ConvFewOutputs",
     "34-6-14-5x4-2-14-28-1-3x2-2x2-1x1-0-NCHW-BF16-B", "2,8,1,1"},
    {"few_outputs_forward", "ConvFewOutputs",
     "72-9-11-3x3-4-9-11-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F", "4,8,2,2"},
    {"few_outputs_forward_with_stride_and_dilation", "ConvFewOutputs",
     "10-15-19-3x2-7-6-11-1-1x2-2x2-2x1-0-NHWC-NHWC-NHWC-BF16-F", "1,8,1,1"},
    {"few_outputs_forward_in_planes", "ConvFewOutputs",
     "33-10-20-3x5-5-10-20-2-1x2-1x1-1x1-0-NCHW-FP16-F", "2,8,1,2"},
    {"few_outputs_with_an_epilogue", "ConvFewOutputs",
     "72-9-11-3x3-3-9-11-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F+bias+add(FP16,NHWC)+relu",
     "2,16,1,1"},
    {"few_outputs_of_planes_with_an_epilogue", "ConvFewOutputs",
     "40-9-16-3x3-3-9-16-1-1x1-1x1-1x1-0-NCHW-BF16-B+bias+silu", "2,8,2,1"},
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
            g_strdup_printf("/conv_few_channels/is_right_with/%s", ways[i].name);
        g_test_add_data_func(path, &ways[i], way_is_right);
    }
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
