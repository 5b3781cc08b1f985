/*
 * The cost of tensors that are not packed: for each solver whose tensors may have any strides, a
 * mid-size layer in each direction, packed and with a few elements behind each row, plane and image,
 * on this machine's CPU. The two take turns (packed, padded, packed, padded, ...), since a machine's
 * speed changes; shown are the medians and their ratio. Both run one solution, the default config's:
 * one binary serves all strides.
 */
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_trial.h"
#include "tests/support/temp_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS     9 /* of each side */
#define TURN_RUNS 3 /* runs in a turn, of which the fastest counts */

/* Forward keys; a solver is measured on the first that it serves. */
static const char *const layers[] = {
    "64-28-28-3x3-64-28-28-2-1x1-1x1-1x1-0-NCHW-FP32-F",
    "64-28-28-1x1-128-28-28-2-0x0-1x1-1x1-0-NCHW-FP32-F",
    "64-56-56-3x3-64-56-56-2-1x1-1x1-1x1-0-NCHW-FP32-F_g64",
    "16-40-40-9x9-16-40-40-1-4x4-1x1-1x1-0-NCHW-FP32-F",
};

static bool find_layer(const struct solver *solver, enum direction direction,
                       const struct context *context, struct problem *p)
{
    for (gsize i = 0; i < G_N_ELEMENTS(layers); i++) {
        if (!problem_key_parse(layers[i], p, NULL))
            g_error("%s is no key", layers[i]);
        p->direction = direction;
        if (solver_applicable(solver, p, context, NULL))
            return true;
    }
    return false;
}

static void make_tensors(const struct problem *p, enum trial_strides strides,
                         struct run_tensor tensors[OPERAND_COUNT])
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        struct run_tensor *tensor = &tensors[t];
        gsize count = (gsize)trial_lay_out(p, (enum tensor_role)t, strides, tensor->strides);
        float *values = g_new(float, count);
        for (gsize i = 0; i < count; i++)
            values[i] = (float)(i % 7) - 3;
        tensor->start = 0;
        tensor->bytes = count * sizeof(float);
        tensor->data = values;
    }
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median_ms(double seconds[TURNS])
{
    qsort(seconds, TURNS, sizeof(seconds[0]), compare);
    return seconds[TURNS / 2] * 1e3;
}

/* Returns the padded tensors' time divided by the packed ones'. */
static double measure(struct solution_runner *runner, const struct solver *solver,
                      const struct problem *p, const struct context *context)
{
    static const enum trial_strides sides[2] = {TRIAL_PACKED, TRIAL_PADDED};
    struct run_tensor tensors[2][OPERAND_COUNT] = {0};
    double seconds[2][TURNS], packed_ms, padded_ms;
    struct perf_config config;
    struct solution solution;
    char key[PROBLEM_KEY_MAX];
    g_autoptr(GError) error = NULL;

    solver->default_config(p, context, &config);
    if (!solver_solve(solver, p, context, &config, &solution, &error))
        g_error("%s", error->message);
    for (int side = 0; side < 2; side++)
        make_tensors(p, sides[side], tensors[side]);
    solution_run(runner, &solution, tensors[0], 1); /* compiles */
    for (int turn = 0; turn < TURNS; turn++) {
        for (int side = 0; side < 2; side++)
            seconds[side][turn] = solution_run(runner, &solution, tensors[side], TURN_RUNS);
    }
    packed_ms = median_ms(seconds[0]);
    padded_ms = median_ms(seconds[1]);
    printf("%-26s %c %10.3f %10.3f %6.2f  %s\n", solver->name, direction_letter(p->direction),
           packed_ms, padded_ms, padded_ms / packed_ms, problem_key(p, key));
    fflush(stdout);
    for (int i = 0; i < 2 * TENSOR_COUNT; i++)
        g_free(tensors[i / TENSOR_COUNT][i % TENSOR_COUNT].data);
    return padded_ms / packed_ms;
}

int main(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct solution_runner *runner = solution_runner_new(temp_folder_path(folder, "pocl"));
    struct context context;
    double worst = 0;

    if (!runner) {
        fprintf(stderr, "bench_strides: there is no PoCL on this machine\n");
        return 1;
    }
    context_init(&context, solution_runner_target(runner));
    printf("%-26s   %10s %10s %6s  on %s\n", "", "packed ms", "padded ms", "ratio",
           context.target->id);
    for (int s = 0; s < solver_table_count; s++) {
        for (int d = 0; d < DIRECTION_COUNT && solver_table[s]->any_strides; d++) {
            struct problem p;
            if (!find_layer(solver_table[s], (enum direction)d, &context, &p))
                continue;
            double ratio = measure(runner, solver_table[s], &p, &context);
            worst = MAX(worst, ratio);
        }
    }
    printf("padded tensors take up to %.2f times as long\n", worst);
    solution_runner_free(runner);
    return 0;
}
