/* ConvTma's configs: what holds for every config of several problems, and teams (clusters whose workgroups share a
 * tile). */
#include "solvers/framework/solver.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/matrix_nvidia/conv_tma.h"
#include "solvers/problem/problem_key.h"

static struct target target;
static struct context context;

/* Problems with short sums, with strides whose phases differ, with parts that do not divide the
 * terms, and with tensors that must be copied to another layout. */
static const char *const keys[] = {
    "160-7-7-1x1-960-7-7-64-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-W",
    "512-7-7-3x3-512-14-14-64-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-W",
    "200-3-4-3x3-72-9-13-2-1x1-4x4-1x1-0-NHWC-NHWC-NHWC-FP16-B",
    "320-7-7-1x1-1280-7-7-4-0x0-1x1-1x1-0-NCHW-BF16-B",
    "2048-7-7-1x1-512-7-7-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
    "64-56-56-3x3-64-56-56-64-1x1-1x1-1x1-0-NCHW-FP16-F",
    "256-4-14-14-3x3x3-256-7-28-28-2-1x1x1-2x2x2-1x1x1-0-NCDHW-FP16-B",
    "512-2-7-7-3x3x3-512-2-7-7-8-1x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-BF16-W",
};

static void set_problem(struct problem *p, const char *key)
{
    context_init(&context, &target);
    g_assert_true(problem_key_parse(key, p, NULL));
    g_assert_true(solver_applicable(&solver_conv_tma, p, &context, NULL));
}

static int64_t team_bytes(const struct perf_config *config)
{
    return (int64_t)config->values[TMA_BLOCK_M] * config->values[TMA_BLOCK_N] * 4;
}

/* The workgroups of a team each sum a part of one tile's terms, and a team computes no second tile: the tile's sums may
 * therefore overwrite the pipeline's stages in local memory, into which they fit. */
static void teams_have_one_tile(gconstpointer key)
{
    struct perf_config config;
    struct space_walk walk;
    struct tma_boxes boxes;
    struct tma_grid grid;
    struct problem p;

    set_problem(&p, key);
    tma_boxes_init(&boxes, &p);
    space_walk_init(&walk, solver_conv_tma.space, &p, &context);
    while (space_walk_next(&walk, &config)) {
        int team = config.values[TMA_TEAM];
        conv_tma_grid(&p, &context, config.values, &boxes, &grid);
        g_assert_cmpint(grid.workgroups, >, 0);
        g_assert_cmpint(grid.workgroups % team, ==, 0);
        if (team == 1)
            continue;
        g_assert_cmpint(grid.tiles * team, ==, grid.workgroups);
        g_assert_cmpint(team_bytes(&config), <=, conv_tma_local_bytes(&context, config.values));
    }
}

static void workspace_is_no_more_than_said(gconstpointer key)
{
    struct perf_config config;
    struct space_walk walk;
    struct problem p;
    int solved = 0;

    set_problem(&p, key);
    space_walk_init(&walk, solver_conv_tma.space, &p, &context);
    for (; space_walk_next(&walk, &config); solved++) {
        struct solution solution;
        g_assert_true(solver_solve(&solver_conv_tma, &p, &context, &config, &solution, NULL));
        g_assert_cmpuint(solution.workspace_bytes, <=,
                         solver_conv_tma.workspace_bytes(&p, &context));
    }
    g_assert_cmpint(solved, >, 1);
}

/* A tensor map skips at most seven positions of an axis, depth too. B has the stride in its phases, not in a map. */
static void maps_limit_strides_of_depth(void)
{
    static const struct {
        const char *key;
        bool served;
    } rows[] = {
        {"64-64-8-8-3x3x3-64-8-8-8-2-1x1x1-8x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP16-F", true},
        {"64-72-8-8-3x3x3-64-8-8-8-2-1x1x1-9x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP16-F", false},
        {"64-8-8-8-3x3x3-64-72-8-8-2-1x1x1-9x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP16-W", false},
        {"64-8-8-8-3x3x3-64-72-8-8-2-1x1x1-9x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP16-B", true},
        {"64-72-8-8-3x1x1-64-8-8-8-2-1x0x0-9x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP16-F", false},
    };

    context_init(&context, &target);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p;
        const char *reason = NULL;
        g_assert_true(problem_key_parse(rows[i].key, &p, NULL) && problem_validate(&p, NULL));
        g_assert_cmpint(solver_applicable(&solver_conv_tma, &p, &context, &reason), ==,
                        rows[i].served);
        if (!rows[i].served)
            g_assert_cmpstr(reason, ==, "needs strides up to 8");
    }
}

/* A team adds its partial sums in local memory, so a workspace limit that leaves room for the tensor maps alone does
 * not exclude it. */
static void teams_need_no_workspace(void)
{
    struct perf_config config, limited;
    struct solution solution;
    struct problem p;

    set_problem(&p, keys[0]);
    solver_conv_tma.default_config(&p, &context, &config);
    g_assert_cmpint(config.values[TMA_TEAM], >, 1);
    context.workspace_limit = conv_tma_maps_bytes(&context);
    solver_conv_tma.default_config(&p, &context, &limited);
    g_assert_true(perf_config_equal(&config, &limited));
    g_assert_true(solver_solve(&solver_conv_tma, &p, &context, &limited, &solution, NULL));
    g_assert_cmpuint(solution.workspace_bytes, <=, context.workspace_limit);
}

/* The last step of an epilogue needs registers that blocks of 256 by 128 do not leave. */
static void fused_problems_have_fewer_blocks(void)
{
    static const char *const both[] = {
        "256-28-28-3x3-256-28-28-32-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F",
        "256-28-28-3x3-256-28-28-32-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F+bias+relu"};
    static const struct perf_config large = {5, {256, 128, 1, 1, 1}},
                                    wide = {5, {128, 256, 1, 1, 1}};

    for (gsize i = 0; i < G_N_ELEMENTS(both); i++) {
        struct perf_config config;
        struct problem p;
        set_problem(&p, both[i]);
        g_assert_cmpint(solver_config_valid(&solver_conv_tma, &p, &context, &large, NULL), ==,
                        i == 0);
        g_assert_true(solver_config_valid(&solver_conv_tma, &p, &context, &wide, NULL));
        solver_conv_tma.default_config(&p, &context, &config);
        g_assert_true(solver_config_valid(&solver_conv_tma, &p, &context, &config, NULL));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_assert_true(target_parse("sm_90_132_141g", &target, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_autofree char *teams = g_strdup_printf("/conv_tma/teams_have_one_tile/%s", keys[i]);
        g_autofree char *bytes =
            g_strdup_printf("/conv_tma/workspace_is_within_the_stated_one/%s", keys[i]);
        g_test_add_data_func(teams, keys[i], teams_have_one_tile);
        g_test_add_data_func(bytes, keys[i], workspace_is_no_more_than_said);
    }
    g_test_add_func("/conv_tma/maps_limit_strides_of_depth", maps_limit_strides_of_depth);
    g_test_add_func("/conv_tma/teams_need_no_workspace", teams_need_no_workspace);
    g_test_add_func("/conv_tma/fused_problems_have_fewer_blocks", fused_problems_have_fewer_blocks);
    return g_test_run();
}
