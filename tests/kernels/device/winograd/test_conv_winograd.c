/* The size of errors of each form of Winograd's transforms, and shapes whose tiles are partly
 * empty. */
#include <math.h>
#include <string.h>

#include "solvers/common/tile_space.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/kernels/conv_trial.h"
#include "tests/support/temp_folder.h"

#define TILE (TILE_SPLITS + 1)
#define SIMT (TILE + 1)

static struct solution_runner *runner;
static struct context context;

static void set_problem(struct problem *p, enum direction direction, int64_t channels, int64_t size)
{
    problem_init(p);
    p->direction = direction;
    p->n = 2;
    p->c = p->k = channels;
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        p->in[a] = size;
        p->fil[a] = 3;
        p->pad[a] = 1;
    }
    problem_set_output(p);
}

static const struct form {
    const char *name;
    enum direction direction;
    int tile;
    double limit; /* limit of this form's error; the solver states and the worker tolerates 128 */
} forms[] = {
    {"f_2_3_forward", DIRECTION_F, 2, 32},  {"f_2_3_backward", DIRECTION_B, 2, 32},
    {"f_4_3_forward", DIRECTION_F, 4, 128}, {"f_4_3_backward", DIRECTION_B, 4, 128},
    {"f_3_2_weights", DIRECTION_W, 2, 32},  {"f_3_4_weights", DIRECTION_W, 4, 128},
};

/* Short and long sums are compared, so that an error that grows with the sum's length would
 * show. */
static void errors_stay_below_the_stated_limit(gconstpointer data)
{
    static const int64_t channels[] = {1, 16, 96};
    const struct form *form = data;
    const struct solver *solver = solver_find("ConvWinograd");
    g_autoptr(GRand) random = g_rand_new_with_seed(3);

    for (gsize i = 0; i < G_N_ELEMENTS(channels); i++) {
        struct perf_config config;
        struct conv_trial trial;
        struct problem p;
        double error;
        set_problem(&p, form->direction, channels[i], 17);
        conv_trial_init(&trial, &p, TRIAL_PACKED, random);
        solver->default_config(&p, &context, &config);
        config.values[TILE] = form->tile;
        g_assert_true(conv_trial_check(&trial, runner, solver, &context, &config));
        error = conv_trial_largest_error(&trial);
        g_test_message("%s, %d channels: off by %.1f u of at most %.0f", form->name,
                       (int)channels[i], error, form->limit);
        g_assert_cmpfloat(error, <=, form->limit);
        conv_trial_clear(&trial);
    }
}

/* Sizes near a tile's, padding wider than the filter, filters that reach past the input. */
static void tiles_that_hang_over_are_right(gconstpointer data)
{
    static const struct {
        int64_t in, pad;
    } sizes[] = {{1, 0}, {1, 1}, {2, 1}, {3, 0}, {4, 1}, {5, 1}, {6, 3}, {9, 2}};
    const struct form *form = data;
    const struct solver *solver = solver_find("ConvWinograd");
    g_autoptr(GRand) random = g_rand_new_with_seed(5);

    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        struct perf_config config;
        struct conv_trial trial;
        struct problem p;
        set_problem(&p, form->direction, 4, sizes[i].in);
        p.in[AXIS_W] = sizes[i].in + 2;
        p.pad[AXIS_H] = p.pad[AXIS_W] = sizes[i].pad;
        p.groups = 2;
        problem_set_output(&p);
        g_assert_true(problem_validate(&p, NULL));
        conv_trial_init(&trial, &p, TRIAL_PADDED, random);
        solver->default_config(&p, &context, &config);
        config.values[TILE] = form->tile;
        g_assert_true(conv_trial_check(&trial, runner, solver, &context, &config));
        conv_trial_clear(&trial);
    }
}

/* On GPUs each work-item transforms one tile: lines of 8, 6 and 7 positions are loaded by fours, by
 * twos and one by one. */
static void lines_in_pieces_are_right(gconstpointer data)
{
    static const int64_t sizes[] = {8, 6, 7};
    const enum direction *direction = data;
    const struct solver *solver = solver_find("ConvWinograd");
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    struct target gpu;
    struct context gpu_context;

    g_assert_true(target_parse("sm_90_132_80g", &gpu, NULL));
    context_init(&gpu_context, &gpu);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        struct perf_config config;
        struct conv_trial trial;
        struct problem p;
        set_problem(&p, *direction, 4, sizes[i]);
        conv_trial_init(&trial, &p, TRIAL_PACKED, random);
        solver->default_config(&p, &gpu_context, &config);
        config.values[TILE] = 4;
        config.values[SIMT] = 0;
        config.values[TILE_SPLITS] = 1;
        g_assert_true(conv_trial_check(&trial, runner, solver, &gpu_context, &config));
        conv_trial_clear(&trial);
    }
}

/* 18 and 50 patches are no multiples of four, by which ConvSimt's kernel takes terms: zeros are
 * added. */
static void odd_counts_of_patches_are_filled_up(void)
{
    const struct solver *solver = solver_find("ConvWinograd");
    g_autoptr(GRand) random = g_rand_new_with_seed(13);
    struct target gpu;
    struct context gpu_context;

    g_assert_true(target_parse("sm_90_132_80g", &gpu, NULL));
    context_init(&gpu_context, &gpu);
    for (int tile = 2; tile <= 4; tile += 2) {
        struct perf_config config;
        struct conv_trial trial;
        struct problem p;
        set_problem(&p, DIRECTION_W, 64, 9);
        conv_trial_init(&trial, &p, TRIAL_PACKED, random);
        solver->default_config(&p, &gpu_context, &config);
        g_assert_cmpint(config.values[SIMT], ==, 1);
        config.values[TILE] = tile;
        g_assert_true(solver_config_valid(solver, &p, &gpu_context, &config, NULL));
        g_assert_true(conv_trial_check(&trial, runner, solver, &gpu_context, &config));
        conv_trial_clear(&trial);
    }
}

static void whole_numbers_are_refused(void)
{
    const struct solver *solver = solver_find("ConvWinograd");
    const char *reason = NULL;
    struct problem p;

    set_problem(&p, DIRECTION_F, 16, 8);
    g_assert_true(solver_applicable(solver, &p, &context, NULL));
    p.type[TENSOR_X] = p.type[TENSOR_W] = TYPE_INT8;
    p.type[TENSOR_Y] = TYPE_INT32;
    g_assert_false(solver_applicable(solver, &p, &context, &reason));
    g_assert_nonnull(strstr(reason, "floating-point"));
}

/* F(4x4,3x3) multiplies 36 values for 16 outputs, where a plain sum multiplies 144. The image has
 * enough patches to fill the blocks of a GPU's default config. */
static void a_solution_does_fewer_operations_than_its_problem(void)
{
    const struct solver *solver = solver_find("ConvWinograd");
    struct target gpu;
    struct context gpu_context;

    g_assert_true(target_parse("sm_90_132_80g", &gpu, NULL));
    context_init(&gpu_context, &gpu);
    for (int i = 0; i < 2; i++) {
        const struct context *asked = i == 0 ? &context : &gpu_context;
        struct solution solution = {0};
        struct perf_config config;
        struct problem p;
        set_problem(&p, DIRECTION_F, 64, 64);
        solver->default_config(&p, asked, &config);
        config.values[TILE] = 4;
        g_assert_true(solver_solve(solver, &p, asked, &config, &solution, NULL));
        g_assert_cmpfloat(solution.flops, ==, 2 * problem_macs(&p) / 4);
        config.values[TILE] = 3;
        g_assert_false(solver_config_valid(solver, &p, asked, &config, NULL));
    }
}

int main(int argc, char **argv)
{
    static const enum direction directions[] = {DIRECTION_F, DIRECTION_B, DIRECTION_W};
    static const char *const pieces[] = {"/conv_winograd/lines_in_pieces/forward",
                                         "/conv_winograd/lines_in_pieces/backward",
                                         "/conv_winograd/lines_in_pieces/weights"};
    g_autoptr(TempFolder) folder = temp_folder_new();
    int status;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    runner = solution_runner_new(temp_folder_path(folder, "pocl"));
    if (!runner) {
        g_print("1..0 # SKIP no such OpenCL device on this machine\n");
        return 0;
    }
    solution_runner_hurry(runner, true);
    context_init(&context, solution_runner_target(runner));
    for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
        g_autofree char *error = g_strdup_printf("/conv_winograd/errors/%s", forms[i].name);
        g_autofree char *tiles = g_strdup_printf("/conv_winograd/tiles/%s", forms[i].name);
        g_test_add_data_func(error, &forms[i], errors_stay_below_the_stated_limit);
        g_test_add_data_func(tiles, &forms[i], tiles_that_hang_over_are_right);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(pieces); i++)
        g_test_add_data_func(pieces[i], &directions[i], lines_in_pieces_are_right);
    g_test_add_func("/conv_winograd/odd_counts_of_patches_are_filled_up",
                    odd_counts_of_patches_are_filled_up);
    g_test_add_func("/conv_winograd/whole_numbers_are_refused", whole_numbers_are_refused);
    g_test_add_func("/conv_winograd/a_solution_does_fewer_operations_than_its_problem",
                    a_solution_does_fewer_operations_than_its_problem);
    status = g_test_run();
    solution_runner_free(runner);
    return status;
}
