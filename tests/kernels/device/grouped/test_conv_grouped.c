/* ConvGrouped through PoCL, with the instructions of matrix units emulated (emulated_solver.h):
 * tiles that reach into the next image, input patches for strides and phases, warps that compute
 * several groups or a part of one. */
#include <string.h>

#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/emulated_solver.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/test_effort.h"

static struct solution_runner *runner;
static const struct context *contexts;

struct trial_case {
    const char *name;
    enum direction direction;
    bool is_long;      /* run in the long suite only */
    int32_t values[6]; /* values of TILE_H, TILE_W, GROUPS, WARP_TILES, KEEP, SPLITS */
    struct conv_shape shape;
    const char *epilogue; /* NULL: none */
};

/* Images have few columns, so that one tile holds the ends of several images. */
static const struct trial_case cases[] = {
    {"groups_of_eight",
     DIRECTION_F,
     false,
     {4, 16, 2, 2, 1, 1},
     {3, 32, 32, 4, 5, 7, 3, 3, 1, 1, 1},
     NULL},
    {"fused_groups_of_eight",
     DIRECTION_F,
     false,
     {4, 16, 2, 2, 1, 1},
     {3, 32, 32, 4, 5, 7, 3, 3, 1, 1, 1},
     "+scale(channel)+bias+add(FP16,NHWC)+silu"},
    {"fused_phases",
     DIRECTION_B,
     false,
     {2, 16, 2, 2, 1, 1},
     {2, 16, 16, 2, 5, 6, 3, 3, 1, 2, 1},
     "+bias+mul(FP32,NHWC)+relu"},
    {"strides", DIRECTION_F, true, {2, 16, 2, 4, 1, 1}, {2, 16, 32, 2, 5, 9, 3, 3, 1, 2, 1}, NULL},
    {"parts_of_a_group",
     DIRECTION_F,
     false,
     {2, 16, 1, 2, 0, 1},
     {1, 48, 64, 2, 3, 7, 2, 3, 1, 2, 1},
     NULL},
    {"dilation", DIRECTION_F, true, {4, 16, 2, 3, 1, 1}, {2, 48, 48, 2, 9, 9, 3, 2, 2, 1, 2}, NULL},
    {"columns_side_by_side",
     DIRECTION_B,
     true,
     {4, 32, 4, 2, 1, 1},
     {3, 32, 32, 4, 9, 11, 3, 3, 1, 1, 1},
     NULL},
    {"phases", DIRECTION_B, false, {2, 16, 2, 2, 1, 1}, {2, 16, 16, 2, 5, 6, 3, 3, 1, 2, 1}, NULL},
    {"phases_and_parts",
     DIRECTION_B,
     true,
     {2, 16, 2, 1, 0, 1},
     {2, 32, 64, 2, 9, 11, 3, 2, 0, 2, 1},
     NULL},
    {"dilated_phases",
     DIRECTION_B,
     true,
     {2, 16, 1, 1, 1, 1},
     {2, 16, 16, 2, 9, 12, 3, 3, 2, 3, 2},
     NULL},
    {"groups_of_eight",
     DIRECTION_W,
     false,
     {2, 32, 2, 1, 1, 2},
     {3, 16, 16, 2, 5, 11, 3, 3, 1, 1, 1},
     NULL},
    {"strides", DIRECTION_W, true, {2, 16, 2, 4, 1, 1}, {2, 48, 32, 2, 9, 8, 3, 3, 1, 2, 1}, NULL},
};

static void product_is_right(gconstpointer data)
{
    const struct trial_case *row = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    struct perf_config config = {.count = G_N_ELEMENTS(row->values)};
    struct conv_trial trial;
    struct problem p;

    memcpy(config.values, row->values, sizeof row->values);
    conv_shape_problem(&row->shape, row->direction, LAYOUT_NHWC, &p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        p.type[t] = row->direction == DIRECTION_B ? TYPE_BF16 : TYPE_FP16;
    if (row->epilogue)
        g_strlcpy(p.epilogue, row->epilogue, sizeof(p.epilogue));
    g_assert_true(problem_validate(&p, NULL));
    conv_trial_init(&trial, &p, TRIAL_PACKED, random);
    conv_trial_check(&trial, runner, emulated_solver("ConvGrouped"), &contexts[CONTEXT_NVIDIA],
                     &config);
    conv_trial_clear(&trial);
}

static void add_tests(struct solution_runner *opened, const struct context *made)
{
    runner = opened;
    contexts = made;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/conv_grouped/%s_are_right_%c", cases[i].name,
                                                "FBW"[cases[i].direction]);
        if (!cases[i].is_long || test_is_long())
            g_test_add_data_func(path, &cases[i], product_is_right);
    }
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
