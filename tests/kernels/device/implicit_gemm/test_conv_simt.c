/* ConvSimt's ways to load memory: directly into local memory, several blocks ahead, four elements
 * at a time and one by one, with tiles and split-K parts that only some problems and NVIDIA's
 * targets have. PoCL copies synchronously, so results are tested, not the order of asynchronous
 * copies. Slices of larger tensors, and where groups of four elements may be loaded or stored in them. In three
 * dimensions also random shapes of all sorts of axes, half of them strided. */
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/random_epilogue.h"
#include "tests/support/random_problem.h"
#include "tests/support/test_effort.h"

/* Random shapes of each direction and layout in three dimensions, each direction and layout on one of so many days. */
#define DEEP_SHAPES 4
#define DEEP_LONG   100
#define DEEP_DAYS   3
#define MACS_MOST   1e6

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
    {"phases_of_strides_past_registers", "36-7-6-3x3-10-13-11-2-1x1-2x2-1x1-0-NCHW-FP32-B",
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

/* Outputs, inputs and second tensors that are slices of the channels of larger tensors, or have gaps. */
static const struct way strided_ways[] = {
    {"a_part_of_a_concatenation_with_channels_last",
     "16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_sy7776x1x0x864x96+bias+relu",
     "32,64,4,8,8,4,4,0,2,1"},
    {"a_part_of_unaligned_channels",
     "16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F"
     "_sx2430x1x0x270x30_sy3321x1x0x369x41",
     "32,64,4,8,8,4,1,0,2,1"},
    {"a_part_of_planes_in_parts_with_a_second_tensor",
     "72-9-9-3x3-40-5-5-2-1x1-2x2-1x1-0-NCHW-FP32-F_sy1575x25x0x5x1_sr1575x25x0x5x1"
     "+add(FP32,NCHW)+relu",
     "64,64,8,8,16,4,1,0,2,8"},
    {"groups_of_a_part_with_channels_last_in_parts",
     "72-7-7-3x3-40-7-7-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_g2_sx5488x1x0x784x112"
     "_sy2352x1x0x336x48+scale(channel)+bias",
     "32,64,4,8,8,4,4,0,2,4"},
    {"back_from_a_part_of_planes_into_a_part",
     "24-6-8-1x1-36-6-8-2-0x0-1x1-1x1-0-NCHW-FP32-B_sx1920x48x0x8x1_sy1344x48x0x8x1",
     "64,64,8,8,8,4,4,0,2,1"},
    {"zeros_between_sums_in_rows_with_gaps",
     "24-5-8-1x1-36-10-16-2-0x0-2x2-1x1-0-NCHW-FP32-B_sx6480x180x0x18x1", "64,64,8,8,8,4,4,0,2,1"},
    {"weights_of_parts_with_channels_last",
     "36-10-10-3x3-40-10-10-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-W_sx4800x1x0x480x48"
     "_sy6400x1x0x640x64",
     "64,64,8,8,8,4,4,1,3,4"},
};

/* In three dimensions, each on one of DEEP_DAYS days. */
static const struct way deep_ways[] = {
    {"depth_past_registers_three_ahead_in_parts",
     "12-5-7-6-3x3x2-20-3-4-5-2-1x1x0-2x2x1-1x1x1-0-NCDHW-FP32-F", "32,64,8,4,8,4,1,1,3,2"},
    {"depth_of_channels_last_behind_padding_of_dilated_filters",
     "8-6-6-7-3x3x3-40-6-6-7-2-2x2x2-1x1x1-2x2x2-0-NDHWC-NDHWC-NDHWC-FP32-F",
     "64,64,8,8,8,4,4,0,2,1"},
    {"phases_of_three_strides", "10-4-4-3-3x3x2-12-7-8-9-2-1x1x0-2x2x3-1x1x1-0-NCDHW-FP32-B",
     "32,64,8,4,16,1,1,1,2,1"},
    {"phases_of_depth_with_channels_last_in_parts",
     "16-5-4-4-2x3x2-72-9-7-5-1-1x1x0-2x2x1-2x1x1-0-NDHWC-NDHWC-NDHWC-FP32-B",
     "32,64,8,4,8,4,4,0,2,4"},
    {"sums_of_planes_spread_by_fours",
     "24-3-5-8-1x1x1-36-3-10-16-2-0x0x0-1x2x2-1x1x1-0-NCDHW-FP32-B", "64,64,8,8,8,4,4,0,2,1"},
    {"weights_of_depth_in_parts_with_channels_last",
     "12-6-8-8-3x3x3-8-6-8-8-2-1x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-W",
     "32,64,4,8,8,4,4,1,3,8"},
    {"weights_of_rows_that_are_planes", "9-3-5-4-3x1x1-20-6-5-4-3-1x0x0-2x1x1-1x1x1-0-NCDHW-FP32-W",
     "32,64,8,4,8,4,1,0,2,1"},
    {"images_that_are_planes_of_groups",
     "16-5-6-7-1x3x3-24-5-3-7-2-0x1x1-1x2x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-F_g2",
     "32,64,8,4,8,4,4,0,2,1"},
    {"images_that_are_planes_of_a_part",
     "16-5-6-7-1x3x3-24-5-6-7-2-0x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-F"
     "_sy8400x1x1680x280x40",
     "32,64,4,8,8,4,4,0,2,1"},
    {"planes_with_gaps_between_images",
     "16-5-6-7-1x3x3-24-5-6-7-2-0x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-F"
     "_sy5200x1x1008x168x24",
     "32,64,4,8,8,4,4,0,2,1"},
    {"depth_of_one_within_padding", "8-1-6-8-3x3x3-16-1-6-8-2-1x1x1-1x1x1-1x1x1-0-NCDHW-FP32-B",
     "32,64,8,4,8,1,1,0,2,1"},
};

static void way_is_right(gconstpointer data)
{
    const struct way *way = data;
    const struct solver *solver = solver_find("ConvSimt");
    g_autoptr(GError) error = NULL;
    struct problem p;

    g_assert_true(problem_key_parse(way->key, &p, NULL));
    problem_validate(&p, &error);
    g_assert_no_error(error);
    g_assert_true(conv_trial_check_key(way->key, runner, solver, context, way->config));
}

/* ---- groups of four ---- */

/* A GPU loads and stores four elements at once only at multiples of 16 bytes, which PoCL does not need. In the default
 * config's launch, `load_a`, `load_b` and `stores_quads` say where it does so. */
static const struct alignment {
    const char *key;
    int load_a, load_b;
    bool stores_quads;
} alignments[] = {
    /* channels last: packed; pixels whole groups of four apart, in y and x; other pixels, other images; spread channels */
    {"16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F", 4, 4, true},
    {"16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_sy7776x1x0x864x96", 4, 4, true},
    {"16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_sx1620x1x0x180x20", 4, 4, true},
    {"16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_sy3321x1x0x369x41", 4, 4, false},
    {"16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_sx1458x1x0x162x18", 4, 1, true},
    {"16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_sy3242x1x0x360x40", 4, 4, false},
    {"16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_sx2592x2x0x288x32", 4, 1, true},
    {"16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-B_sy3321x1x0x369x41", 4, 1, true},
    {"16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-W_sy3321x1x0x369x41", 1, 4, true},
    {"16-9-9-3x3-40-9-9-2-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_sw150x1x0x48x16", 1, 4, true},
    /* planes: more channels; other images, rows with gaps, gaps behind planes, spread positions */
    {"24-6-8-1x1-36-6-8-2-0x0-1x1-1x1-0-NCHW-FP32-F_sy2400x48x0x8x1", 4, 4, true},
    {"24-6-8-1x1-36-6-8-2-0x0-1x1-1x1-0-NCHW-FP32-F_sx1344x48x0x8x1", 4, 4, true},
    {"24-6-8-1x1-36-6-8-2-0x0-1x1-1x1-0-NCHW-FP32-F_sy2402x48x0x8x1", 4, 4, false},
    {"24-6-8-1x1-36-6-8-2-0x0-1x1-1x1-0-NCHW-FP32-F_sy2592x72x0x12x1", 4, 4, false},
    {"24-6-8-1x1-36-6-8-2-0x0-1x1-1x1-0-NCHW-FP32-F_sx1200x50x0x8x1", 4, 1, true},
    {"24-6-8-1x1-36-6-8-2-0x0-1x1-1x1-0-NCHW-FP32-B_sy3456x96x0x16x2", 4, 1, true},
    {"24-6-8-1x1-36-6-8-2-0x0-1x1-1x1-0-NCHW-FP32-W_sy2592x72x0x12x1", 1, 4, true},
};

/* Indices in a config. */
enum { LOAD_A = 5, LOAD_B = 6, SPLITS = 9 };

static void groups_of_four_are_aligned(void)
{
    const struct solver *solver = solver_find("ConvSimt");

    for (gsize i = 0; i < G_N_ELEMENTS(alignments); i++) {
        const struct alignment *row = &alignments[i];
        struct perf_config config;
        struct solution solution;
        struct problem p;
        g_assert_true(problem_key_parse(row->key, &p, NULL));
        g_assert_true(problem_validate(&p, NULL));
        solver->default_config(&p, context, &config);
        config.values[SPLITS] = 1;
        g_assert_true(solver_solve(solver, &p, context, &config, &solution, NULL));
        g_assert_cmpint(config.values[LOAD_A], ==, row->load_a);
        g_assert_cmpint(config.values[LOAD_B], ==, row->load_b);
        g_assert_cmpint(solution.launches[0].args[solution.launches[0].arg_count - 1].value, ==,
                        row->stores_quads);
    }
}

/* ---- random shapes in three dimensions ---- */

static const struct deep {
    enum direction direction;
    enum layout layout;
} deep[] = {
    {DIRECTION_F, LAYOUT_NCDHW}, {DIRECTION_B, LAYOUT_NDHWC}, {DIRECTION_W, LAYOUT_NCDHW},
    {DIRECTION_F, LAYOUT_NDHWC}, {DIRECTION_B, LAYOUT_NCDHW}, {DIRECTION_W, LAYOUT_NDHWC},
};

static int between(GRand *random, int least, int most)
{
    return g_rand_int_range(random, least, most + 1);
}

/* Every second axis has a filter of one position, so that many shapes have planes that are images or rows. */
static void draw_deep(const struct deep *row, GRand *random, struct problem *p)
{
    problem_init(p);
    p->direction = row->direction;
    p->spatial_dim = 3;
    p->groups = between(random, 0, 3) == 0 ? 2 : 1;
    p->n = between(random, 1, 3);
    p->c = p->groups * between(random, 1, 20);
    p->k = p->groups * between(random, 1, 20);
    for (int a = AXIS_D; a < AXIS_COUNT; a++) {
        bool is_one = between(random, 0, 1) == 0;
        p->in[a] = between(random, 1, 9);
        p->fil[a] = is_one ? 1 : between(random, 2, 4);
        p->pad[a] = between(random, 0, is_one ? 1 : 2);
        p->stride[a] = between(random, 0, 1) == 0 ? 1 : between(random, 1, 3);
        p->dilation[a] = between(random, 1, 3);
    }
    for (int t = 0; t < TENSOR_COUNT; t++)
        p->layout[t] = row->layout;
    problem_set_output(p);
}

static void check_deep(const struct problem *p, GRand *random)
{
    const struct solver *solver = solver_find("ConvSimt");
    struct perf_config config;
    struct conv_trial trial;

    solver->default_config(p, context, &config);
    conv_trial_init(&trial, p, TRIAL_PACKED, random);
    if (!conv_trial_check(&trial, runner, solver, context, &config)) {
        char key[PROBLEM_KEY_MAX];
        g_test_message("%s", problem_key(p, key));
    }
    conv_trial_clear(&trial);
}

static void deep_shapes_are_right(gconstpointer data)
{
    const struct deep *row = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed() * 100 + (guint32)(row - deep));
    int left = test_is_long() ? DEEP_LONG : DEEP_SHAPES;

    while (left > 0) {
        struct problem p;
        draw_deep(row, random, &p);
        if (!problem_validate(&p, NULL) || problem_macs(&p) > MACS_MOST)
            continue;
        if (g_rand_boolean(random))
            random_conv_strides(random, &p);
        g_assert_true(solver_applicable(solver_find("ConvSimt"), &p, context, NULL));
        if (left == 1 && row->direction != DIRECTION_W)
            g_assert_true(random_epilogue(random, EPILOGUE_DOES_ALL, &p));
        random_residual_follows(&p);
        check_deep(&p, random);
        left--;
    }
}

/* Offsets of elements are counted in 32 bits, so that a tensor of 2^31 elements is refused; one of a few less is not. */
static void huge_tensors_are_refused(void)
{
    static const char *const keys[][2] = {
        {"64-32-512-1024-3x3x3-64-32-512-1024-2-1x1x1-1x1x1-1x1x1-0-NCDHW-FP32-F",
         "64-31-512-1024-3x3x3-64-31-512-1024-2-1x1x1-1x1x1-1x1x1-0-NCDHW-FP32-F"},
        {"64-64-512-1024-1x1x1-8-64-512-1024-1-0x0x0-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-B",
         "62-64-512-1024-1x1x1-8-64-512-1024-1-0x0x0-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP32-B"},
    };

    for (gsize i = 0; i < 2 * G_N_ELEMENTS(keys); i++) {
        struct problem p;
        bool is_refused = i % 2 == 0;
        g_assert_true(problem_key_parse(keys[i / 2][i % 2], &p, NULL));
        g_assert_true(solver_applicable(solver_find("ConvSimt"), &p, context, NULL) == !is_refused);
    }
}

static void add_way(const struct way *way)
{
    g_autofree char *path = g_strdup_printf("/conv_simt/is_right_with/%s", way->name);

    g_test_add_data_func(path, way, way_is_right);
}

static void add_deep_tests(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(deep_ways); i++)
        if (test_is_turn((int)i, DEEP_DAYS))
            add_way(&deep_ways[i]);
    for (gsize i = 0; i < G_N_ELEMENTS(deep); i++) {
        g_autofree char *path =
            g_strdup_printf("/conv_simt/deep_shapes_are_right/%s_%c", layout_name(deep[i].layout),
                            direction_letter(deep[i].direction));
        if (test_is_turn((int)i, DEEP_DAYS))
            g_test_add_data_func(path, &deep[i], deep_shapes_are_right);
    }
    g_test_add_func("/conv_simt/huge_tensors_are_refused", huge_tensors_are_refused);
}

static void add_tests(struct solution_runner *opened, const struct context *contexts)
{
    runner = opened;
    context = &contexts[CONTEXT_NVIDIA];
    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++)
        add_way(&ways[i]);
    for (gsize i = 0; i < G_N_ELEMENTS(strided_ways); i++)
        add_way(&strided_ways[i]);
    g_test_add_func("/conv_simt/groups_of_four_are_aligned", groups_of_four_are_aligned);
    add_deep_tests();
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
