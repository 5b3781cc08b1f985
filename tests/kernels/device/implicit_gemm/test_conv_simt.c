/* ConvSimt's ways to load memory: directly into local memory, several blocks ahead, four elements
 * at a time and one by one, with tiles and split-K parts that only some problems and NVIDIA's
 * targets have. PoCL copies synchronously, so results are tested, not the order of asynchronous
 * copies. */
#include "tests/support/kernels/conv_shapes.h"

static struct solution_runner *runner;
static const struct context *context;

/* config: BLOCK_M, BLOCK_N, TILE_M, TILE_N, BLOCK_K, LOAD_A, LOAD_B, ASYNC, STAGES, SPLITS. In names, "past_registers"
 * is ASYNC (copies to local memory that need no registers), "three_ahead" three STAGES, "in_parts" a split sum. */
static const struct way {
    const char *name, *key, *config;
} ways[] = {
    {"rows_by_term_columns_past_registers_three_ahead",
     "8-19-18-3x3-40-10-9-2-1x1-2x2-1x1-0-NCHW-FP32-F", "64,128,8,16,8,4,1,1,3,1"},
    {"terms_one_by_one_past_registers_four_ahead",
     "12-9-9-3x3-40-7-7-2-1x1-1x1-2x2-0-NHWC-NHWC-NHWC-FP32-F", "64,64,8,8,8,1,1,1,4,1"},
    {"phases_of_strides_past_registers", "36-13-11-3x3-10-7-6-2-1x1-2x2-1x1-0-NCHW-FP32-B",
     "32,64,8,4,16,1,1,1,2,1"},
    {"forward_in_parts", "72-9-9-3x3-40-5-5-2-1x1-2x2-1x1-0-NCHW-FP32-F", "64,64,8,8,16,4,1,0,2,8"},
    {"forward_of_channels_last_in_parts",
     "72-7-7-3x3-40-7-7-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_g2", "32,64,4,8,8,4,4,0,2,4"},
    {"phases_in_parts", "72-5-5-3x3-40-9-9-2-1x1-2x2-1x1-0-NCHW-FP32-B", "64,64,8,8,8,1,1,1,3,8"},
    {"sums_spread_by_twos", "24-5-6-1x1-40-10-12-2-0x0-2x2-1x1-0-NCHW-FP32-B",
     "64,64,8,8,8,4,1,0,2,1"},
    {"sums_spread_by_fours", "24-5-8-1x1-36-10-16-2-0x0-2x2-1x1-0-NCHW-FP32-B",
     "64,64,8,8,8,4,4,0,2,1"},
    {"rows_and_columns_in_fours_in_parts",
     "36-10-10-3x3-40-10-10-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-W", "64,64,8,8,8,4,4,1,3,4"},
    {"few_columns_and_many_terms_in_many_parts",
     "40-24-24-1x1-24-24-24-1-0x0-1x1-1x1-0-NCHW-FP32-W", "64,32,8,4,32,4,4,0,2,8"},
    {"few_columns_gathered_one_by_one_in_the_most_parts",
     "9-48-50-3x3-3-96-100-4-1x1-2x2-1x1-0-NCHW-FP32-W", "32,64,4,8,8,4,1,0,2,512"},
    {"tall_tiles_of_groups", "16-8-8-1x1-280-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F_g2",
     "256,64,16,8,8,4,4,0,2,1"},
};

static void way_is_right(gconstpointer data)
{
    const struct way *way = data;
    const struct solver *solver = solver_find("ConvSimt");

    g_assert_true(conv_trial_check_key(way->key, runner, solver, context, way->config));
}

static void add_tests(struct solution_runner *opened, const struct context *contexts)
{
    runner = opened;
    context = &contexts[CONTEXT_NVIDIA];
    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++) {
        g_autofree char *path = g_strdup_printf("/conv_simt/is_right_with/%s", ways[i].name);
        g_test_add_data_func(path, &ways[i], way_is_right);
    }
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
