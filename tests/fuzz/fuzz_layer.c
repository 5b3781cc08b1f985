/* A problem, a target and a config, a line each; every solver is asked about them, as workers and
 * `worker --cold` do: it refuses, or gives a solution that can be run. */
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct solver *solver, const struct problem *p, const struct context *context,
                const char *text)
{
    struct perf_config config;
    struct solution solution;
    const char *reason = NULL;
    if (!solver_applicable(solver, p, context, &reason)) {
        g_assert_nonnull(reason);
        return;
    }
    solver_workspace_bytes(solver, p, context);
    if (!solver_config_parse(solver, p, context, text, &config, NULL)) {
        return;
    }
    solution_init(&solution);
    if (solver_solve(solver, p, context, &config, &solution, NULL)) {
        g_assert_cmpint(solution.launch_count, >, 0);
        g_assert_true(solution_validate(&solution, context->target, NULL));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct problem p;
    struct target target;
    struct context context;
    g_autofree char *text = g_strndup((const char *)data, size);
    g_auto(GStrv) lines = g_strsplit(text, "\n", 3);
    if (g_strv_length(lines) != 3 || !problem_key_parse(lines[0], &p, NULL) ||
        !problem_validate(&p, NULL) || !target_parse(lines[1], &target, NULL)) {
        return 0;
    }
    context_init(&context, &target);
    for (int i = 0; i < solver_table_count; i++) {
        ask(solver_table[i], &p, &context, lines[2]);
    }
    return 0;
}
