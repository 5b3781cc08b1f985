/* Solvers of matrix units in three dimensions, through PoCL with the units' instructions emulated
 * (emulated_solver.h): random shapes with all sorts of pads, strides and dilations on each axis, and shapes at the
 * edges: a depth of one, filters longer than the input, depths that become images and planes that become rows. */
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/emulated_solver.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/kernels/random_epilogue.h"
#include "tests/support/test_effort.h"

/* Cases, and the shapes of a table, run on one of so many days, in the long suite all. */
#define CASE_DAYS     9
#define SHAPE_DAYS    8
#define RANDOM_SHAPES 2
#define RANDOM_LONG   100
#define MACS_MOST     1e6
/* Channels of a case's group divide into chunks of eight, so that no tensor is copied. */
#define CHUNK         8

static struct solution_runner *runner;
static struct target target;
static struct context context;

static const struct depth_case {
    const char *target, *solver;
    enum direction direction;
    enum data_type type;
    struct perf_config config;
} cases[] = {
    {"sm_90_132_80g", "ConvMatrix", DIRECTION_F, TYPE_FP16, {7, {64, 64, 32, 32, 32, 3, 1}}},
    {"sm_90_132_80g", "ConvMatrix", DIRECTION_B, TYPE_FP16, {7, {64, 64, 32, 32, 32, 2, 2}}},
    {"sm_90_132_80g", "ConvMatrix", DIRECTION_W, TYPE_BF16, {7, {64, 64, 32, 32, 32, 3, 1}}},
    {"sm_90_132_80g", "ConvMatrix", DIRECTION_F, TYPE_INT8, {7, {64, 64, 32, 32, 32, 2, 1}}},
    {"sm_90_132_80g", "ConvWgmma", DIRECTION_F, TYPE_BF16, {5, {64, 64, 3, 1, 2}}},
    {"sm_90_132_80g", "ConvWgmma", DIRECTION_B, TYPE_FP16, {5, {64, 128, 4, 0, 1}}},
    {"sm_90_132_80g", "ConvWgmma", DIRECTION_W, TYPE_FP16, {5, {128, 64, 3, 0, 2}}},
    {"sm_90_132_80g", "ConvTma", DIRECTION_F, TYPE_FP16, {5, {128, 64, 1, 1, 1}}},
    {"sm_90_132_80g", "ConvTma", DIRECTION_B, TYPE_BF16, {5, {64, 64, 1, 1, 2}}},
    {"sm_90_132_80g", "ConvTma", DIRECTION_B, TYPE_FP16, {5, {64, 128, 2, 2, 1}}},
    {"sm_90_132_80g", "ConvTma", DIRECTION_W, TYPE_FP16, {5, {64, 128, 1, 1, 1}}},
    {"gfx90a68", "ConvMfma", DIRECTION_F, TYPE_FP32, {8, {32, 32, 32, 32, 32, 16, 2, 1}}},
    {"gfx942130", "ConvMfma", DIRECTION_B, TYPE_FP16, {8, {32, 32, 32, 32, 16, 32, 1, 1}}},
    {"gfx90a68", "ConvMfma", DIRECTION_W, TYPE_BF16, {8, {64, 64, 32, 64, 32, 32, 1, 2}}},
    {"gfx1100_48", "ConvWmma", DIRECTION_F, TYPE_BF16, {8, {32, 32, 16, 16, 16, 32, 1, 1}}},
    {"gfx1201_64", "ConvWmma", DIRECTION_B, TYPE_FP16, {8, {64, 32, 32, 32, 16, 32, 1, 1}}},
    {"gfx1100_48", "ConvWmma", DIRECTION_W, TYPE_FP16, {8, {64, 64, 64, 32, 16, 32, 2, 1}}},
    {"gfx1201_64", "ConvWmma", DIRECTION_F, TYPE_INT8, {8, {64, 32, 32, 32, 16, 64, 1, 1}}},
};

/* Sizes of each axis: depth, height, width. */
static const struct deep_shape {
    int n, c, k, groups;
    int in[AXIS_COUNT], fil[AXIS_COUNT], pad[AXIS_COUNT], stride[AXIS_COUNT], dilation[AXIS_COUNT];
} edges[] = {
    {2, 16, 24, 1, {4, 5, 6}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    /* a depth of one position, with padding around it */
    {2, 16, 24, 1, {1, 6, 5}, {3, 1, 2}, {1, 0, 1}, {1, 1, 1}, {1, 1, 1}},
    /* axes of different strides, some phases of which meet no filter position */
    {1, 24, 16, 1, {7, 6, 9}, {2, 3, 1}, {0, 1, 0}, {3, 2, 2}, {1, 1, 1}},
    /* strides that share a factor with dilations */
    {1, 16, 16, 2, {9, 7, 8}, {2, 2, 3}, {1, 0, 2}, {2, 1, 4}, {4, 2, 2}},
    /* each plane of depth becomes an image */
    {2, 16, 16, 1, {5, 7, 6}, {1, 3, 3}, {0, 1, 1}, {1, 2, 1}, {3, 1, 1}},
    /* each plane becomes a row */
    {2, 16, 16, 1, {8, 3, 5}, {3, 1, 1}, {1, 0, 0}, {2, 1, 1}, {1, 2, 1}},
    /* all positions become a line */
    {2, 16, 16, 1, {3, 4, 5}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}},
    /* a filter that reaches past the padded input in depth */
    {1, 16, 16, 1, {2, 5, 5}, {4, 2, 2}, {0, 0, 1}, {1, 1, 1}, {1, 1, 1}},
};

/* Tensors in planes, and with channels that fill no chunk, are copied first. */
static const struct deep_shape moved[] = {
    {2, 13, 21, 1, {3, 4, 5}, {3, 2, 1}, {1, 1, 0}, {1, 2, 1}, {1, 1, 1}},
    {1, 22, 14, 2, {4, 4, 4}, {2, 2, 2}, {1, 0, 0}, {2, 1, 1}, {1, 1, 1}},
    {2, 16, 24, 1, {4, 3, 8}, {1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}},
};

static void make_problem(const struct deep_shape *shape, const struct depth_case *row,
                         enum layout layout, struct problem *p)
{
    problem_init(p);
    p->direction = row->direction;
    p->spatial_dim = 3;
    p->n = shape->n;
    p->c = shape->c;
    p->k = shape->k;
    p->groups = shape->groups;
    for (int a = AXIS_D; a < AXIS_COUNT; a++) {
        p->in[a] = shape->in[a];
        p->fil[a] = shape->fil[a];
        p->pad[a] = shape->pad[a];
        p->stride[a] = shape->stride[a];
        p->dilation[a] = shape->dilation[a];
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->layout[t] = layout;
        p->type[t] = row->type == TYPE_INT8 && t == TENSOR_Y ? TYPE_INT32 : row->type;
    }
    problem_set_output(p);
}

static void check(const struct depth_case *row, const struct problem *p, GRand *random)
{
    struct conv_trial trial;

    g_assert_true(problem_validate(p, NULL));
    conv_trial_init(&trial, p, TRIAL_PACKED, random);
    if (!conv_trial_check(&trial, runner, emulated_solver(row->solver), &context, &row->config)) {
        char key[PROBLEM_KEY_MAX];
        g_test_message("%s", problem_key(p, key));
    }
    conv_trial_clear(&trial);
}

static bool serves(const struct depth_case *row, const struct problem *p)
{
    g_assert_true(target_parse(row->target, &target, NULL));
    context_init(&context, &target);
    return problem_validate(p, NULL) &&
           solver_applicable(solver_find(row->solver), p, &context, NULL);
}

static int between(GRand *random, int least, int most)
{
    return g_rand_int_range(random, least, most + 1);
}

static void draw_shape(GRand *random, struct deep_shape *shape)
{
    int groups = between(random, 0, 3) == 0 ? 2 : 1;

    shape->n = between(random, 1, 3);
    shape->groups = groups;
    shape->c = groups * CHUNK * between(random, 1, 3);
    shape->k = groups * CHUNK * between(random, 1, 10);
    for (int a = AXIS_D; a < AXIS_COUNT; a++) {
        shape->in[a] = between(random, 1, 8);
        shape->fil[a] = between(random, 1, 4);
        shape->pad[a] = between(random, 0, 2);
        shape->stride[a] = between(random, 1, 3);
        shape->dilation[a] = between(random, 1, 3);
    }
}

/* In the long suite some tensors are in planes, or have channels that fill no chunk, and are copied first. PoCL compiles
 * kernels for many of these. */
static enum layout draw_layout(GRand *random, struct deep_shape *shape)
{
    int kind = test_is_long() ? between(random, 0, 9) : 0;

    if (kind == 9)
        shape->c -= shape->groups * between(random, 1, 4);
    return kind >= 8 ? LAYOUT_NCDHW : LAYOUT_NDHWC;
}

static void edges_are_right(gconstpointer data)
{
    const struct depth_case *row = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed());

    for (gsize i = 0; i < G_N_ELEMENTS(edges); i++) {
        struct problem p;
        make_problem(&edges[i], row, LAYOUT_NDHWC, &p);
        if (test_is_turn((int)i, SHAPE_DAYS) && serves(row, &p))
            check(row, &p, random);
    }
}

static void random_shapes_are_right(gconstpointer data)
{
    const struct depth_case *row = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed() * 100 + (guint32)(row - cases));
    int left = test_is_long() ? RANDOM_LONG : RANDOM_SHAPES;

    while (left > 0) {
        struct deep_shape shape;
        struct problem p;
        draw_shape(random, &shape);
        make_problem(&shape, row, draw_layout(random, &shape), &p);
        if (!serves(row, &p) || problem_macs(&p) > MACS_MOST)
            continue;
        check(row, &p, random);
        left--;
    }
}

static void tensors_are_moved(gconstpointer data)
{
    const struct depth_case *row = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed());

    for (gsize i = 0; i < G_N_ELEMENTS(moved); i++) {
        struct problem p;
        make_problem(&moved[i], row, i == 0 ? LAYOUT_NDHWC : LAYOUT_NCDHW, &p);
        if (test_is_turn((int)i, SHAPE_DAYS) && serves(row, &p))
            check(row, &p, random);
    }
}

/* An epilogue of the day, in both layouts. */
static void epilogues_are_done(gconstpointer data)
{
    const struct depth_case *row = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed());

    for (int i = 0; i < 2; i++) {
        struct problem p;
        make_problem(i == 0 ? &edges[0] : &moved[1], row, i == 0 ? LAYOUT_NDHWC : LAYOUT_NCDHW, &p);
        g_assert_true(random_epilogue(random, EPILOGUE_DOES_ALL, &p));
        if (test_is_turn(i, 2) && serves(row, &p))
            check(row, &p, random);
    }
}

static void add_test(const struct depth_case *row, const char *name, GTestDataFunc test)
{
    g_autofree char *path =
        g_strdup_printf("/depth/%s/%s_%c_%s", name, row->solver, direction_letter(row->direction),
                        data_type_name(row->type));

    g_test_add_data_func(path, row, test);
}

static void add_tests(struct solution_runner *opened, const struct context *contexts)
{
    (void)contexts;
    runner = opened;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        if (!test_is_turn((int)i, CASE_DAYS))
            continue;
        add_test(&cases[i], "edges_are_right", edges_are_right);
        add_test(&cases[i], "random_shapes_are_right", random_shapes_are_right);
        add_test(&cases[i], "tensors_are_moved", tensors_are_moved);
        if (cases[i].direction != DIRECTION_W)
            add_test(&cases[i], "epilogues_are_done", epilogues_are_done);
    }
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
