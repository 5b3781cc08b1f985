#include "tests/support/export/sjdb_small.h"

#include "solvers/problem/problem_key.h"

void sjdb_small_parse(const char *key, struct problem *problem, struct skipjackdb_problem *read)
{
    read->size = sizeof *read;
    g_assert_true(problem_key_parse(key, problem, NULL));
    g_assert_cmpint(skipjackdb_problem_parse(key, read), ==, SKIPJACKDB_OK);
}

skipjackdb *sjdb_small_finish(SjdbWriter *writer, const char *path)
{
    skipjackdb *db = NULL;
    g_autoptr(GError) error = NULL;
    g_assert_true(sjdb_writer_finish(writer, &error));
    g_assert_no_error(error);
    g_assert_cmpint(skipjackdb_open(path, &db), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_verify(db), ==, SKIPJACKDB_OK);
    return db;
}

void sjdb_small_solution(struct solution *solution)
{
    solution_init(solution);
    solution->workspace_bytes = 100;
    struct launch *launch = solution_add_launch(solution, "conv.cl", "main");
    launch_set_grid(launch, (const int64_t[]){10, 3, 1}, (const int[]){4, 1, 1});
    launch_arg_tensor(launch, TENSOR_Y);
    launch_arg_workspace(launch, 64);
    launch_arg_int32(launch, -3);
    launch_arg_int64(launch, 5);
    launch_arg_float32(launch, 0);
    launch_arg_scaled_stride(launch, TENSOR_W, 1, 2);
}

const struct sjdb_kernel_name sjdb_small_kernel = {"conv.cl.o", "-DA=1"};

void sjdb_small_add_kernel(SjdbWriter *writer)
{
    g_autoptr(GBytes) code = g_bytes_new_static("code", 4);
    g_assert_true(
        sjdb_writer_add_kernel(writer, sjdb_small_kernel.name, sjdb_small_kernel.args, code, NULL));
}
