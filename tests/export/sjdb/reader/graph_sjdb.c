/*
 * Writes a .sjdb with one solution of several launches, all of kernels that the double of a GPU's library computes
 * (tests/support/doubles/gpu_double.c): one packs the filter by copying it, one copies x into the workspace, the plain
 * convolution reads both and writes the workspace, and the last launch copies the result to y. A run that leaves out
 * any of them gives a wrong y.
 *
 * usage: graph_sjdb FILE KEY
 */
#include "export/sjdb/sjdb_write.h"

#include <string.h>

static const struct sjdb_kernel_name copy_kernel = {"copy.cl.o", ""},
                                     plain_kernel = {"conv_direct_naive.cl.o", ""};

/* Adds a launch that copies bytes, from its first argument to its second. */
static struct launch *add_copy(struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "copy.cl", "copy");
    launch_set_line(launch, 64, 64);
    return launch;
}

static void make_solution(const struct problem *p, struct solution *solution)
{
    struct target target;
    struct context context;
    struct solution plain;
    struct perf_config config = {0};
    int64_t bytes[TENSOR_COUNT];
    g_assert_true(target_parse("sm_90_132_80g", &target, NULL));
    context_init(&context, &target);
    g_assert_true(solver_solve(solver_find("ConvDirectNaive"), p, &context, &config, &plain, NULL));
    for (int t = 0; t < TENSOR_COUNT; t++) {
        bytes[t] = (int64_t)problem_tensor_bytes(p, (enum tensor_role)t);
    }
    int64_t result_at = (int64_t)workspace_align((uint64_t)bytes[TENSOR_X]);

    solution_init(solution);
    solution->workspace_bytes = (uint64_t)(result_at + bytes[TENSOR_Y]);
    solution->packed_bytes = (uint64_t)bytes[TENSOR_W];
    solution->pack_count = 1;
    struct launch *pack = add_copy(solution);
    launch_arg_tensor(pack, TENSOR_W);
    launch_arg_tensor(pack, TENSOR_PACKED);
    launch_arg_int64(pack, bytes[TENSOR_W]);

    struct launch *before = add_copy(solution);
    launch_arg_tensor(before, TENSOR_X);
    launch_arg_workspace(before, 0);
    launch_arg_int64(before, bytes[TENSOR_X]);

    struct launch *conv = &solution->launches[solution->launch_count++];
    *conv = plain.launches[0];
    conv->args[TENSOR_X] = (struct launch_arg){.kind = ARG_WORKSPACE, .value = 0};
    conv->args[TENSOR_W] = (struct launch_arg){.kind = ARG_TENSOR, .tensor = TENSOR_PACKED};
    conv->args[TENSOR_Y] = (struct launch_arg){.kind = ARG_WORKSPACE, .value = result_at};

    struct launch *after = add_copy(solution);
    launch_arg_workspace(after, result_at);
    launch_arg_tensor(after, TENSOR_Y);
    launch_arg_int64(after, bytes[TENSOR_Y]);
}

/* A code object of the double is a text that names the kernel, with its final 0. */
static void add_kernel(SjdbWriter *writer, const struct sjdb_kernel_name *kernel, const char *text)
{
    g_autoptr(GBytes) code = g_bytes_new(text, strlen(text) + 1);
    g_assert_true(sjdb_writer_add_kernel(writer, kernel->name, kernel->args, code, NULL));
}

int main(int argc, char **argv)
{
    struct problem problem;
    struct solution solution;
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(argc, ==, 3);
    g_assert_true(problem_key_parse(argv[2], &problem, &error));
    g_assert_no_error(error);
    make_solution(&problem, &solution);

    struct sjdb_kernel_name kernels[] = {copy_kernel, copy_kernel, plain_kernel, copy_kernel};
    struct sjdb_find_entry entry = {.solver = "ConvDirectNaive",
                                    .algorithm = "Direct",
                                    .time_ms = 1.5,
                                    .workspace_bytes = solution.workspace_bytes};
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(argv[1]);
    g_assert_true(sjdb_writer_add_find(writer, &problem, &entry, 1, &error));
    g_assert_true(
        sjdb_writer_add_solution(writer, &problem, entry.solver, "", &solution, kernels, &error));
    g_assert_no_error(error);
    add_kernel(writer, &copy_kernel, "kernel copy");
    add_kernel(writer, &plain_kernel, "kernel conv_naive_f");
    g_assert_true(sjdb_writer_finish(writer, &error));
    g_assert_no_error(error);
    return 0;
}
