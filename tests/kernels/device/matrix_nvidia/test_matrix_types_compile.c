/* Kernels of NVIDIA's matrix units for TF32, FP8 and BF8 compile by NVRTC for each target, direction and layout that solvers
 * serve. With default configs they spill nothing and multiply by the instructions that the target has for the type, alone.
 * No kernel runs. A problem of a row has its turn on one of ROW_DAYS days; the long suite compiles all of them. */
#include <string.h>

#include "kernels/objects/instructions.h"
#include "kernels/objects/limits.h"
#include "kernels/program.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/test_effort.h"

#define ROW_DAYS 6

static const char *const instructions[] = {"HMMA.FP16",  "HMMA.BF16",  "HMMA.TF32",  "QMMA",
                                           "HGMMA.FP16", "HGMMA.BF16", "HGMMA.TF32", "QGMMA"};

static const struct row {
    const char *solver, *target, *types, *mode, *instruction;
    const char *directions;
} rows[] = {
    {"ConvMatrix", "sm_80_108_80g", "FP32", "_cxTF32", "HMMA.TF32", "FBW"},
    {"ConvMatrix", "sm_90_132_80g", "FP32", "_cxTF32", "HMMA.TF32", "FBW"},
    {"ConvWgmma", "sm_90_132_80g", "FP32", "_cxTF32", "HGMMA.TF32", "FB"},
    {"ConvTma", "sm_90_132_80g", "FP32", "_cxTF32", "HGMMA.TF32", "FB"},
    {"ConvMatrix", "sm_89_142_48g", "FP8", "", "QMMA", "F"},
    {"ConvMatrix", "sm_89_142_48g", "BF8FP8FP16", "", "QMMA", "F"},
    {"ConvMatrix", "sm_120_170_32g", "FP8BF8FP32", "", "QMMA", "F"},
    {"ConvWgmma", "sm_90_132_80g", "FP8", "", "QGMMA", "F"},
    {"ConvWgmma", "sm_90_132_80g", "BF8FP8FP32", "", "QGMMA", "F"},
    /* without instructions for the type */
    {"ConvMatrix", "sm_90_132_80g", "FP8", "", "HMMA.FP16", "F"},
    {"ConvMatrix", "sm_90_132_80g", "BF8", "", "HMMA.FP16", "F"},
};

/* Keys without types and direction, and their options: large, where blocks are the largest; with groups, stride and dilation; of few
 * workgroups, whose terms are split; with depth. */
static const struct {
    const char *sizes, *options;
} problems[] = {
    {"256-28-28-3x3-256-28-28-32-1x1-1x1-1x1-0-NHWC-NHWC-NHWC", ""},
    {"128-57-57-3x3-256-28-28-8-1x1-2x2-2x2-0-NCHW", "_g2"},
    {"512-7-7-1x1-128-7-7-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC", ""},
    {"64-16-28-28-3x3x3-128-16-28-28-4-1x1x1-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC", ""},
};

/* The count that the text of instructions_count() states for the instruction `name`. */
static int count_of(const char *counts, const char *name)
{
    const char *at = counts ? strstr(counts, name) : NULL;

    return at ? atoi(at + strlen(name)) : 0;
}

static void check_launch(const struct row *row, const struct toolchain *toolchain,
                         const struct target *target, const struct launch *launch)
{
    const struct program program = {launch->file, launch->options, launch->entry, NULL};
    struct code_object object = {0};
    g_autoptr(GError) error = NULL;
    bool is_product = strcmp(launch->file, "conv_matrix_sum.cl") != 0;

    if (!program_build(toolchain, &program, target, &object, &error)) {
        g_test_message("%s\n%s", error->message, object.log ? object.log : "");
        g_test_fail();
        return;
    }
    g_autofree char *counts = instructions_count(object.code, launch->entry, target);
    g_test_message("%s %s: %d registers, %d spilled; %s", launch->file, launch->options,
                   object.registers, object.spills, counts);
    g_assert_cmpstr(object.log, ==, "");
    g_assert_cmpint(object.spills, ==, 0);
    g_assert_null(
        limits_excess(target, object.scratch_bytes, object.local_bytes + launch->local_bytes));
    for (gsize i = 0; i < G_N_ELEMENTS(instructions); i++) {
        bool is_its = strcmp(instructions[i], row->instruction) == 0;
        g_assert_cmpint(count_of(counts, instructions[i]) > 0, ==, is_its && is_product);
    }
    code_object_clear(&object);
}

static void check_problem(const struct row *row, const char *key, const struct target *target,
                          const struct toolchain *toolchain)
{
    const struct solver *solver = solver_find(row->solver);
    g_autoptr(GError) error = NULL;
    struct context context;
    struct perf_config config = {0};
    struct solution solution;
    struct problem p;

    context_init(&context, target);
    g_assert_true(problem_key_parse(key, &p, &error));
    g_assert_true(solver_applicable(solver, &p, &context, NULL));
    solver->default_config(&p, &context, &config);
    g_assert_true(solver_solve(solver, &p, &context, &config, &solution, &error));
    for (int i = 0; i < solution.launch_count; i++) {
        /* kernels that copy tensors are those of other solvers */
        if (!g_str_has_prefix(solution.launches[i].file, "conv_transpose"))
            check_launch(row, toolchain, target, &solution.launches[i]);
    }
}

static void defaults_compile_to_their_instructions(gconstpointer data)
{
    static int turn;
    const struct row *row = data;
    const struct toolchain *toolchain = toolchain_find("nvrtc");
    g_autoptr(GError) error = NULL;
    struct target target;

    g_assert_true(target_parse(row->target, &target, &error));
    if (!toolchain->can_compile(&target, &error)) {
        g_test_skip(error->message);
        return;
    }
    for (const char *direction = row->directions; *direction; direction++) {
        for (gsize i = 0; i < G_N_ELEMENTS(problems); i++) {
            g_autofree char *key = g_strdup_printf("%s-%s-%c%s%s", problems[i].sizes, row->types,
                                                   *direction, problems[i].options, row->mode);
            if (test_is_long() || test_is_turn(turn++, ROW_DAYS))
                check_problem(row, key, &target, toolchain);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *path = g_strdup_printf(
            "/matrix_types_compile/defaults_compile_to_their_instructions/%s_%s_%s%s",
            rows[i].solver, rows[i].target, rows[i].types, rows[i].mode);
        g_test_add_data_func(path, &rows[i], defaults_compile_to_their_instructions);
    }
    return g_test_run();
}
