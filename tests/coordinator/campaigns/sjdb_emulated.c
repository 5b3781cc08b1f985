/*
 * Runs the never-measured solutions of a .sjdb on an interpreter of AMD's gfx9 instructions, from what the file holds
 * and libskipjackdb reads alone: code object, entry, grid, workgroup, arguments. Compares each result with the reference.
 * The interpreter knows the instructions of our assembly, so only solutions of the named solver are run.
 *
 * usage: sjdb_emulated FILE KEY SOLVER
 * Prints the config of each solution that is right. Exit status: 0 if all of them are.
 */
#include "export/sjdb/reader/skipjackdb.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/kernels/gcn_sim.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define ARGS_MAX                                                                                   \
    7 /* pointers: as many ranges as the interpreter takes, less that of the arguments */

static void want(int code, const char *what)
{
    if (code != SKIPJACKDB_OK)
        g_error("%s: %s", what, skipjackdb_error_text(code));
}

struct operands {
    int64_t counts[TENSOR_COUNT];
    float *data[TENSOR_COUNT];
    double *plain[TENSOR_COUNT];
};

/* Fills the inputs; the output is NaN, so that an element that is not written is wrong. */
static void operands_init(struct operands *operands, const struct problem *p)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    int64_t sizes[5];
    for (int t = 0; t < TENSOR_COUNT; t++) {
        bool output = t == (int)problem_output_role(p);
        operands->counts[t] = conv_plain_sizes(p, (enum tensor_role)t, sizes);
        operands->data[t] = g_new(float, operands->counts[t]);
        operands->plain[t] = g_new(double, operands->counts[t]);
        for (int64_t i = 0; i < operands->counts[t]; i++) {
            operands->data[t][i] = output ? NAN : (float)g_rand_double_range(random, -1, 1);
            operands->plain[t][i] = (double)operands->data[t][i];
        }
    }
}

static void operands_clear(struct operands *operands)
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        g_free(operands->data[t]);
        g_free(operands->plain[t]);
    }
}

static bool is_right(const struct problem *p, struct operands *operands)
{
    enum tensor_role role = problem_output_role(p);
    g_autofree double *magnitude = g_new(double, operands->counts[role]);
    int64_t products = conv_reference(p, operands->plain, magnitude);
    for (int64_t i = 0; i < operands->counts[role]; i++) {
        double error = fabs((double)operands->data[role][i] - operands->plain[role][i]);
        if (!(error <= magnitude[i] * (double)(products + 1) * 0x1p-23))
            return false;
    }
    return true;
}

/* Returns the code object of a launch, as the file has it. */
static GBytes *code_of(const skipjackdb *db, uint64_t number)
{
    struct skipjackdb_kernel kernel = {.size = sizeof kernel};
    want(skipjackdb_kernel_at(db, number, &kernel), "a kernel");
    char *code = g_malloc(kernel.code_bytes);
    want(skipjackdb_kernel_read(db, number, NULL, 0, code, kernel.code_bytes), "a code object");
    return g_bytes_new_take(code, kernel.code_bytes);
}

/* Interprets the solution's one launch. Returns NULL, or what went wrong (g_free()). */
static char *interpret(const skipjackdb *db, const struct skipjackdb_solution *solution,
                       const struct skipjackdb_problem *read, const struct problem *p,
                       const struct target *target, struct operands *operands)
{
    struct skipjackdb_launch launch = {.size = sizeof launch};
    struct skipjackdb_arg args[ARGS_MAX];
    void *pointers[ARGS_MAX];
    want(skipjackdb_launch_at(db, solution, 0, &launch), "a launch");
    want(skipjackdb_args(db, &launch, read, args, sizeof *args, ARGS_MAX), "arguments");
    struct gcn_launch wanted = {
        .arguments = pointers,
        .groups = {launch.grid[0] / launch.block[0], launch.grid[1] / launch.block[1]},
        .waves = launch.block[0] / target->wave_size,
        .local_bytes = target->local_bytes,
        .range_count = 1 + (int)launch.arg_count,
        .ranges = {{pointers, sizeof pointers, false}},
    };
    for (uint32_t i = 0; i < launch.arg_count; i++) {
        if (args[i].kind != SKIPJACKDB_ARG_TENSOR)
            return g_strdup("it has other arguments than tensors");
        int32_t t = args[i].tensor;
        pointers[i] = operands->data[t];
        wanted.ranges[1 + i] =
            (struct gcn_range){operands->data[t], (size_t)operands->counts[t] * sizeof(float),
                               t == (int32_t)problem_output_role(p)};
    }
    g_autoptr(GBytes) code = code_of(db, launch.kernel);
    return gcn_sim_run(code, launch.entry, target, &wanted);
}

/* The target that the file's own text states. */
static void read_target(const skipjackdb *db, struct target *target)
{
    json_t *meta = json_loads(skipjackdb_meta(db), 0, NULL);
    const char *id = json_string_value(json_object_get(meta, "target"));
    if (!id || !target_parse(id, target, NULL))
        g_error("the file names no target");
    json_decref(meta);
}

int main(int argc, char **argv)
{
    struct skipjackdb_problem read = {.size = sizeof read};
    struct skipjackdb_solution list[64];
    struct problem problem;
    struct target target;
    skipjackdb *db = NULL;
    uint64_t number = 0;
    size_t count = 0;
    int wrong = 0, run = 0;
    if (argc != 4) {
        g_printerr("usage: sjdb_emulated FILE KEY SOLVER\n");
        return 2;
    }
    want(skipjackdb_open(argv[1], &db), argv[1]);
    want(skipjackdb_problem_parse(argv[2], &read), argv[2]);
    if (!problem_key_parse(argv[2], &problem, NULL))
        g_error("%s: no key", argv[2]);
    read_target(db, &target);
    want(skipjackdb_unmeasured_find(db, &read, &number), argv[2]);
    want(
        skipjackdb_unmeasured_solutions(db, number, list, sizeof *list, G_N_ELEMENTS(list), &count),
        argv[2]);
    for (size_t i = 0; i < MIN(count, G_N_ELEMENTS(list)); i++) {
        struct operands operands;
        if (strcmp(list[i].solver, argv[3]) != 0 || list[i].launch_count != 1)
            continue;
        operands_init(&operands, &problem);
        g_autofree char *fault = interpret(db, &list[i], &read, &problem, &target, &operands);
        bool right = !fault && is_right(&problem, &operands);
        g_print("%s [%s]: %s\n", list[i].solver, list[i].params,
                right   ? "right"
                : fault ? fault
                        : "wrong");
        wrong += !right;
        run++;
        operands_clear(&operands);
    }
    skipjackdb_close(db);
    return run > 0 && wrong == 0 ? 0 : 1;
}
