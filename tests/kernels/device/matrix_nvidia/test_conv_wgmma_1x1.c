/* ConvWgmma1x1 through PoCL, with the instructions of matrix units emulated (emulated_solver.h):
 * edges of blocks, images that end within a block, cache lines used in part, chained blocks, rows
 * kept in local memory, split sums, epilogues. */
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_shapes.h"
#include "tests/support/kernels/emulated_solver.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "tests/support/kernels/random_epilogue.h"
#include "tests/support/test_effort.h"

static struct solution_runner *runner;
static const struct context *contexts;

/* config values: BLOCK_M, BLOCK_N, STAGES, RESIDENT, CHAIN, SPLITS. */
static const struct trial_case {
    const char *name;
    enum direction direction;
    bool is_long; /* run in the long suite only: PoCL needs a second for a kernel */
    struct perf_config config;
    struct conv_shape shape;
} cases[] = {
    {"columns_go_on_into_the_next_image",
     DIRECTION_F,
     true,
     {6, {64, 64, 3, 0, 1, 1}},
     {3, 40, 72, 1, 8, 9, 1, 1, 0, 1, 1}},
    {"rows_stay_while_a_chain_goes_on",
     DIRECTION_F,
     false,
     {6, {64, 64, 3, 1, 2, 1}},
     {5, 72, 40, 1, 8, 9, 1, 1, 0, 1, 1}},
    {"a_chain_of_groups_ends_early",
     DIRECTION_F,
     true,
     {6, {64, 128, 3, 0, 2, 1}},
     {5, 160, 24, 2, 8, 10, 1, 1, 0, 1, 1}},
    {"parts_of_eight_bytes_are_loaded",
     DIRECTION_B,
     false,
     {6, {64, 128, 4, 0, 1, 1}},
     {4, 68, 196, 1, 6, 6, 1, 1, 0, 1, 1}},
    {"parts_of_four_bytes_are_loaded",
     DIRECTION_B,
     true,
     {6, {128, 64, 3, 1, 2, 1}},
     {3, 70, 136, 1, 6, 7, 1, 1, 0, 1, 1}},
    {"single_elements_are_loaded",
     DIRECTION_F,
     true,
     {6, {64, 64, 3, 0, 1, 1}},
     {2, 39, 17, 1, 7, 7, 1, 1, 0, 1, 1}},
    {"strides_leave_out_positions",
     DIRECTION_F,
     true,
     {6, {64, 64, 3, 0, 1, 1}},
     {3, 40, 24, 1, 9, 12, 1, 1, 0, 2, 1}},
    {"what_no_position_meets_becomes_zero",
     DIRECTION_B,
     false,
     {6, {64, 64, 3, 0, 1, 1}},
     {3, 24, 40, 1, 6, 12, 1, 1, 0, 2, 1}},
    {"single_positions_become_squares",
     DIRECTION_B,
     true,
     {6, {64, 64, 3, 0, 1, 1}},
     {2, 16, 40, 2, 14, 10, 1, 1, 0, 2, 1}},
    {"cells_give_their_first_elements",
     DIRECTION_F,
     true,
     {6, {64, 64, 3, 0, 1, 1}},
     {2, 40, 24, 1, 10, 16, 1, 1, 0, 2, 1}},
    {"halves_of_cells_give_terms",
     DIRECTION_W,
     true,
     {6, {64, 64, 3, 0, 1, 1}},
     {3, 40, 24, 1, 12, 12, 1, 1, 0, 2, 1}},
    {"strides_leave_out_terms",
     DIRECTION_W,
     true,
     {6, {64, 64, 3, 0, 1, 2}},
     {5, 40, 24, 1, 16, 15, 1, 1, 0, 3, 1}},
    {"terms_are_split",
     DIRECTION_W,
     false,
     {6, {64, 64, 3, 0, 1, 2}},
     {7, 72, 40, 1, 8, 9, 1, 1, 0, 1, 1}},
    {"sums_are_stored_at_once",
     DIRECTION_W,
     true,
     {6, {64, 128, 4, 0, 1, 1}},
     {3, 144, 132, 2, 6, 6, 1, 1, 0, 1, 1}},
    {"single_terms_are_loaded",
     DIRECTION_W,
     true,
     {6, {64, 64, 3, 0, 1, 1}},
     {3, 33, 20, 1, 5, 5, 1, 1, 0, 1, 1}},
};

/* Epilogues drawn for a case. */
#define EPILOGUES_LONG 8

/* Checks a case; seed 0: without epilogue, else with one drawn from the seed. */
static void check(const struct trial_case *row, enum data_type type, guint32 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed > 0 ? seed : 3);
    const struct solver *solver = emulated_solver("ConvWgmma1x1");
    struct conv_trial trial;
    struct problem p;

    conv_shape_problem(&row->shape, row->direction, LAYOUT_NCHW, &p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        p.type[t] = type;
    if (seed > 0)
        g_assert_true(random_epilogue(random, solver->epilogues, &p));
    g_assert_true(problem_validate(&p, NULL));
    g_assert_true(solver_applicable(solver, &p, &contexts[CONTEXT_NVIDIA], NULL));
    conv_trial_init(&trial, &p, TRIAL_PACKED, random);
    conv_trial_check(&trial, runner, solver, &contexts[CONTEXT_NVIDIA], &row->config);
    conv_trial_clear(&trial);
}

static void product_is_right(gconstpointer data)
{
    check(data, TYPE_FP16, 0);
    if (test_is_long())
        check(data, TYPE_BF16, 0);
}

static void epilogues_are_done(gconstpointer data)
{
    for (guint32 i = 0; i < (test_is_long() ? EPILOGUES_LONG : 1); i++)
        check(data, i % 2 == 0 ? TYPE_FP16 : TYPE_BF16, test_seed() * 100 + i);
}

/* A position of x that no position of y meets would need the epilogue, too. */
static void epilogues_need_a_stride_of_one_backward(void)
{
    const struct conv_shape shape = {3, 24, 40, 1, 6, 12, 1, 1, 0, 2, 1};
    const char *reason = NULL;
    struct problem p;

    conv_shape_problem(&shape, DIRECTION_B, LAYOUT_NCHW, &p);
    for (int t = 0; t < TENSOR_COUNT; t++)
        p.type[t] = TYPE_FP16;
    g_assert_true(
        solver_applicable(solver_find("ConvWgmma1x1"), &p, &contexts[CONTEXT_NVIDIA], NULL));
    g_strlcpy(p.epilogue, "+relu", sizeof(p.epilogue));
    g_assert_false(
        solver_applicable(solver_find("ConvWgmma1x1"), &p, &contexts[CONTEXT_NVIDIA], &reason));
    g_assert_cmpstr(reason, ==, "needs a stride of 1 for an epilogue backward by the data");
}

/* Planes of depth are more rows of an image, with strides in each plane where these divide its height. */
static void planes_of_depth_are_rows(void)
{
    static const char *const keys[] = {
        "40-3-8-6-1x1x1-72-3-8-6-2-0x0x0-1x1x1-1x1x1-0-NCDHW-FP16-F+bias+add(FP16,NCDHW)+relu",
        "40-3-8-6-1x1x1-24-3-4-3-2-0x0x0-1x2x2-1x1x1-0-NCDHW-FP16-F",
        "40-3-4-3-1x1x1-24-3-8-6-2-0x0x0-1x2x2-1x1x1-0-NCDHW-BF16-B",
        "40-3-4-6-1x1x1-72-3-4-6-3-0x0x0-1x1x1-1x1x1-0-NCDHW-FP16-W",
    };
    static const char *const others[] = {
        "40-4-8-6-1x1x1-24-2-4-3-2-0x0x0-2x2x2-1x1x1-0-NCDHW-FP16-F", /* skips planes */
        "40-3-7-6-1x1x1-24-3-4-3-2-0x0x0-1x2x2-1x1x1-0-NCDHW-FP16-F", /* rows between two strides */
        "40-3-8-6-3x1x1-24-3-8-6-2-1x0x0-1x1x1-1x1x1-0-NCDHW-FP16-F",
    };

    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (test_is_turn((int)i, 2))
            g_assert_true(conv_trial_check_key(keys[i], runner, emulated_solver("ConvWgmma1x1"),
                                               &contexts[CONTEXT_NVIDIA], "64,64,3,0,1,1"));
    }
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++) {
        struct problem p;
        g_assert_true(problem_key_parse(others[i], &p, NULL) && problem_validate(&p, NULL));
        g_assert_false(
            solver_applicable(solver_find("ConvWgmma1x1"), &p, &contexts[CONTEXT_NVIDIA], NULL));
    }
}

static void add_tests(struct solution_runner *opened, const struct context *made)
{
    runner = opened;
    contexts = made;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path =
            g_strdup_printf("/conv_wgmma_1x1/%s_%c", cases[i].name, "FBW"[cases[i].direction]);
        bool is_strided = cases[i].direction == DIRECTION_B && cases[i].shape.stride > 1;
        if (!cases[i].is_long || test_is_long())
            g_test_add_data_func(path, &cases[i], product_is_right);
        if (cases[i].direction == DIRECTION_W || is_strided || !test_is_turn((int)i, 5))
            continue;
        g_autofree char *fused = g_strconcat(path, "/epilogues_are_done", NULL);
        g_test_add_data_func(fused, &cases[i], epilogues_are_done);
    }
    g_test_add_func("/conv_wgmma_1x1/planes_of_depth_are_rows", planes_of_depth_are_rows);
    g_test_add_func("/conv_wgmma_1x1/epilogues_need_a_stride_of_one_backward",
                    epilogues_need_a_stride_of_one_backward);
}

int main(int argc, char **argv)
{
    return conv_contexts_main(argc, argv, add_tests);
}
