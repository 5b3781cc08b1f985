/* ConvTmaPatches with the instructions of matrix units and the copy engine emulated except on NVIDIA's GPUs
 * (emulated_solver.h): patches without overlap in both directions, and along the width alone; FP16, BF16 and TF32. */
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/emulated_solver.h"

static struct solution_runner *runner;
static const struct context *context;

/* The configs: BLOCK_M, BLOCK_N, RESIDENT, TEAM, SPLITS. */
static const struct way {
    const char *name, *key, *config;
} ways[] = {
    {"whole_chunks_of_three_channels",
     "3-32-48-16x16-40-2-3-2-0x0-16x16-1x1-0-NHWC-NHWC-NHWC-FP16-F", "64,64,1,1,1"},
    {"channels_that_are_filled_up", "3-12-20-4x4-72-3-5-3-0x0-4x4-1x1-0-NHWC-NHWC-NHWC-BF16-F",
     "64,64,1,1,1"},
    {"rows_that_overlap", "5-11-12-3x2-24-6-6-2-1x0-2x2-2x1-0-NHWC-NHWC-NHWC-FP16-F",
     "64,64,1,1,1"},
    {"a_bias_and_a_residual",
     "3-16-24-8x8-24-2-3-2-0x0-8x8-1x1-0-NHWC-NHWC-NHWC-FP16-F+bias+add(FP16,NHWC)", "64,64,1,1,1"},
    {"patches_backward", "24-3-2-8x8-3-24-16-2-0x0-8x8-1x1-0-NHWC-NHWC-NHWC-FP16-B", "64,64,1,1,1"},
    {"patches_backward_with_rows_left", "24-3-2-4x8-3-14-16-2-0x0-4x8-1x1-0-NHWC-NHWC-NHWC-FP16-B",
     "64,64,1,1,1"},
    {"patches_of_weights", "24-3-2-8x8-3-24-16-2-0x0-8x8-1x1-0-NHWC-NHWC-NHWC-BF16-W",
     "64,64,1,1,1"},
    {"tf32_with_channels_that_are_filled_up",
     "3-11-12-3x2-24-6-6-2-1x0-2x2-2x1-0-NHWC-NHWC-NHWC-FP32-F_cxTF32+bias", "64,64,1,1,1"},
    {"tf32_backward", "24-3-2-4x8-3-14-16-2-0x0-4x8-1x1-0-NHWC-NHWC-NHWC-FP32-B_cxTF32",
     "64,64,1,1,1"},
};

static void way_is_right(gconstpointer data)
{
    const struct way *way = data;
    bool is_nvidia = solution_runner_target(runner)->vendor == VENDOR_NVIDIA;
    const struct solver *solver =
        is_nvidia ? solver_find("ConvTmaPatches") : emulated_solver("ConvTmaPatches");

    g_assert_true(conv_trial_check_key(way->key, runner, solver, context, way->config));
}

static void add_tests(struct solution_runner *opened, const struct context *contexts)
{
    runner = opened;
    context = &contexts[CONTEXT_NVIDIA];
    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autofree char *path = g_strdup_printf("/conv_tma_patches/is_right_with/%s", ways[i].name);
        g_test_add_data_func(path, &ways[i], way_is_right);
    }
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
