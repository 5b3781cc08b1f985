#include "solvers/framework/solution.h"

#include <string.h>

static void launch_starts_at_one_work_item(void)
{
    struct solution solution;
    struct launch *launch;

    solution_init(&solution);
    launch = solution_add_launch(&solution, "a.cl", "a");
    g_assert_cmpint(solution.launch_count, ==, 1);
    g_assert_cmpstr(launch->file, ==, "a.cl");
    g_assert_cmpstr(launch->entry, ==, "a");
    g_assert_cmpint(launch->program_kind, ==, PROGRAM_SOURCE);
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(launch->grid[i], ==, 1);
        g_assert_cmpint(launch->block[i], ==, 1);
    }
}

static void options_are_sorted_whatever_their_order(void)
{
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};

    for (gsize i = 0; i < G_N_ELEMENTS(orders); i++) {
        struct solution solution;
        struct launch *launch;
        solution_init(&solution);
        launch = solution_add_launch(&solution, "a.cl", "a");
        for (int j = 0; j < 3; j++) {
            if (orders[i][j] == 0)
                launch_option_int(launch, "B", -7);
            else if (orders[i][j] == 1)
                launch_option_int(launch, "A", INT64_C(5000000000));
            else
                launch_option_text(launch, "C", "float");
        }
        launch_sort_options(launch);
        g_assert_cmpstr(launch->options, ==, "-DA=5000000000 -DB=-7 -DC=float");
    }
}

static void options_may_be_none(void)
{
    struct solution solution;
    struct launch *launch;

    solution_init(&solution);
    launch = solution_add_launch(&solution, "a.cl", "a");
    launch_sort_options(launch);
    g_assert_cmpstr(launch->options, ==, "");
}

static void arguments_keep_their_order(void)
{
    struct solution solution;
    struct launch *launch;

    solution_init(&solution);
    launch = solution_add_launch(&solution, "a.cl", "a");
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_workspace(launch, 4096);
    launch_arg_int32(launch, -3);
    launch_arg_int64(launch, INT64_C(1) << 40);
    launch_arg_float32(launch, 0.5);
    launch_arg_stride(launch, TENSOR_Y, 4);
    g_assert_cmpint(launch->arg_count, ==, 6);
    g_assert_cmpint(launch->args[0].kind, ==, ARG_TENSOR);
    g_assert_cmpint(launch->args[0].tensor, ==, TENSOR_W);
    g_assert_cmpint(launch->args[1].kind, ==, ARG_WORKSPACE);
    g_assert_cmpint(launch->args[1].value, ==, 4096);
    g_assert_cmpint(launch->args[2].kind, ==, ARG_INT32);
    g_assert_cmpint(launch->args[2].value, ==, -3);
    g_assert_cmpint(launch->args[3].kind, ==, ARG_INT64);
    g_assert_cmpint(launch->args[3].value, ==, INT64_C(1) << 40);
    g_assert_cmpint(launch->args[4].kind, ==, ARG_FLOAT32);
    g_assert_cmpfloat(launch->args[4].real, ==, 0.5);
    g_assert_cmpint(launch->args[5].kind, ==, ARG_STRIDE);
    g_assert_cmpint(launch->args[5].tensor, ==, TENSOR_Y);
    g_assert_cmpint(launch->args[5].value, ==, 4);
}

static void grid_is_rounded_up_to_whole_blocks(void)
{
    static const struct {
        int64_t items, grid;
        int block;
    } cases[] = {{1, 64, 64},
                 {64, 64, 64},
                 {65, 128, 64},
                 {7, 7, 1},
                 {INT64_C(1) << 40, INT64_C(1) << 40, 256}};

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct solution solution;
        struct launch *launch;
        solution_init(&solution);
        launch = solution_add_launch(&solution, "a.cl", "a");
        launch_set_grid(launch, (const int64_t[3]){cases[i].items, 1, 3},
                        (const int[3]){cases[i].block, 1, 2});
        g_assert_cmpint(launch->grid[0], ==, cases[i].grid);
        g_assert_cmpint(launch->block[0], ==, cases[i].block);
        g_assert_cmpint(launch->grid[1], ==, 1);
        g_assert_cmpint(launch->grid[2], ==, 4);
    }
}

/* ---- solutions that cannot be run ---- */

static void spoil_block(struct launch *l)
{
    l->block[0] = 0;
}
static void spoil_grid(struct launch *l)
{
    l->grid[1] = 0;
}
static void spoil_multiple(struct launch *l)
{
    l->grid[0] = 65;
}
static void spoil_group(struct launch *l)
{
    l->grid[1] = l->block[1] = 1024;
}
static void spoil_items(struct launch *l)
{
    l->grid[0] = l->grid[1] = INT64_C(1) << 40;
}
static void spoil_local(struct launch *l)
{
    l->local_bytes = INT64_C(1) << 30;
}
static void spoil_negative(struct launch *l)
{
    l->local_bytes = -1;
}
static void spoil_count(struct launch *l)
{
    l->arg_count = LAUNCH_ARGS_MAX + 1;
}
static void spoil_tensor(struct launch *l)
{
    l->args[0].tensor = (enum tensor_role)9;
}
static void spoil_slice(struct launch *l)
{
    l->args[1].value = 100;
}
static void spoil_axis(struct launch *l)
{
    l->args[2].value = 5;
}
static void spoil_end(struct launch *l)
{
    memset(l->options, 'x', sizeof(l->options));
}
static void spoil_option(struct launch *l)
{
    g_strlcpy(l->options, "-o /etc/passwd", 20);
}
static void spoil_quote(struct launch *l)
{
    g_strlcpy(l->options, "-DA=$(id)", 20);
}
static void spoil_name(struct launch *l)
{
    g_strlcpy(l->options, "-DA=1 -D", 20);
}

static void invalid_launches_are_refused(void)
{
    static void (*const spoils[])(struct launch *) = {
        spoil_block, spoil_grid,     spoil_multiple, spoil_group,  spoil_items,
        spoil_local, spoil_negative, spoil_count,    spoil_tensor, spoil_slice,
        spoil_axis,  spoil_end,      spoil_option,   spoil_quote,  spoil_name};
    struct target target;
    struct solution good;

    g_assert_true(target_parse("gfx90a68", &target, NULL));
    solution_init(&good);
    good.workspace_bytes = 100;
    struct launch *launch = solution_add_launch(&good, "a.cl", "a");
    launch_set_grid(launch, (const int64_t[]){100, 1, 1}, (const int[]){64, 1, 1});
    launch_option_text(launch, "TYPE", "float");
    launch_option_int(launch, "N", -3);
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_workspace(launch, 99);
    launch_arg_stride(launch, TENSOR_Y, 4);
    g_assert_true(solution_validate(&good, &target, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(spoils); i++) {
        g_autoptr(GError) error = NULL;
        struct solution bad = good;
        spoils[i](&bad.launches[0]);
        g_assert_false(solution_validate(&bad, &target, &error));
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID);
        g_test_message("%s", error ? error->message : "");
    }
    good.flops = -1;
    g_assert_false(solution_validate(&good, &target, NULL));
}

/* ---- packed filters ---- */

static void pack_nothing(struct solution *s)
{
    s->packed_bytes = 0;
}
static void pack_all(struct solution *s)
{
    s->pack_count = 2;
}
static void pack_negative(struct solution *s)
{
    s->pack_count = -1;
}
static void pack_none(struct solution *s)
{
    s->pack_count = 0;
}
static void pack_x(struct solution *s)
{
    s->launches[0].args[0].tensor = TENSOR_X;
}
static void run_reads_w(struct solution *s)
{
    s->launches[1].args[1].tensor = TENSOR_W;
}

/* Packing launches take the filter alone, and the others do not read it again. */
static void invalid_packing_is_refused(void)
{
    static void (*const spoils[])(struct solution *) = {pack_nothing, pack_all, pack_negative,
                                                        pack_none,    pack_x,   run_reads_w};
    static const enum tensor_role operands[2][2] = {{TENSOR_W, TENSOR_PACKED},
                                                    {TENSOR_X, TENSOR_PACKED}};
    struct target target;
    struct solution good;

    g_assert_true(target_parse("gfx90a68", &target, NULL));
    solution_init(&good);
    for (int i = 0; i < 2; i++) {
        struct launch *launch = solution_add_launch(&good, "a.cl", "a");
        launch_set_line(launch, 64, 64);
        launch_arg_tensor(launch, operands[i][0]);
        launch_arg_tensor(launch, operands[i][1]);
    }
    good.pack_count = 1;
    good.packed_bytes = 100;
    g_assert_true(solution_validate(&good, &target, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(spoils); i++) {
        g_autoptr(GError) error = NULL;
        struct solution bad = good;
        spoils[i](&bad);
        g_assert_false(solution_validate(&bad, &target, &error));
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID);
        g_test_message("%s", error ? error->message : "");
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/solution/launch/starts_at_one_work_item", launch_starts_at_one_work_item);
    g_test_add_func("/solution/options/are_sorted_whatever_their_order",
                    options_are_sorted_whatever_their_order);
    g_test_add_func("/solution/options/may_be_none", options_may_be_none);
    g_test_add_func("/solution/invalid_launches_are_refused", invalid_launches_are_refused);
    g_test_add_func("/solution/arguments/keep_their_order", arguments_keep_their_order);
    g_test_add_func("/solution/grid/is_rounded_up_to_whole_blocks",
                    grid_is_rounded_up_to_whole_blocks);
    g_test_add_func("/solution/packing/keeps_to_the_filter", invalid_packing_is_refused);
    return g_test_run();
}
