/* Properties of every row of the solver table. */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_reference.h"
#include "tests/support/table_problems.h"
#include "tests/support/test_effort.h"

#define RANDOM_PROBLEMS 60

/* Sizes that are odd, so that split-K parts end at unaligned places. */
static const char unaligned_key[] = "63-26-47-3x3-69-26-47-26-1x1-1x1-1x1-0-NCHW-FP16-F";

static GPtrArray *problems; /* struct problem *: those of table_problems.h, then random ones */
static struct target targets[TABLE_TARGETS];

static void make_problems(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    struct problem p;

    problems = table_problems_common();
    g_ptr_array_extend_and_steal(problems, table_problems_rare());
    g_ptr_array_extend_and_steal(problems, table_problems_operators());
    g_assert_true(problem_key_parse(unaligned_key, &p, NULL));
    g_ptr_array_add(problems, g_memdup2(&p, sizeof(p)));
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        conv_random_problem(random, &p);
        p.direction = i % 4 == 3 ? DIRECTION_B : DIRECTION_F;
        g_ptr_array_add(problems, g_memdup2(&p, sizeof(p)));
    }
}

/* Calls `look` for every solver, problem and target where the solver is applicable; under a sanitizer for some of
 * the problems, others each day. */
static void for_all_applicable(void (*look)(const struct solver *solver, const struct problem *p,
                                            const struct context *context))
{
    for (int s = 0; s < solver_table_count; s++) {
        for (guint i = 0; i < problems->len; i++) {
            for (gsize t = 0; t < TABLE_TARGETS && test_is_case((int)i); t++) {
                struct context context;
                const char *reason = NULL;
                context_init(&context, &targets[t]);
                if (solver_applicable(solver_table[s], problems->pdata[i], &context, &reason))
                    look(solver_table[s], problems->pdata[i], &context);
                else
                    g_assert_nonnull(reason);
            }
        }
    }
}

static void names_are_unique_and_found(void)
{
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        g_assert_true(solver_find(solver->name) == solver);
        g_assert_cmpint(solver_index(solver->name), ==, i);
        g_assert_cmpint(solver->revision, >=, 1);
        g_assert_null(strpbrk(solver->name, ",;:= "));
    }
    g_assert_null(solver_find("ConvNone"));
    g_assert_cmpint(solver_index(""), ==, -1);
}

static void hashes_differ_and_are_kept(void)
{
    for (int i = 0; i < solver_table_count; i++) {
        const char *hash = solver_hash(solver_table[i]);
        g_assert_cmpuint(strlen(hash), ==, 64);
        g_assert_true(hash == solver_hash(solver_table[i]));
        for (int j = 0; j < i; j++)
            g_assert_cmpstr(hash, !=, solver_hash(solver_table[j]));
    }
}

static void algorithms_are_spelled_as_find_dbs_spell_them(void)
{
    char buffer[64];
    const struct solver *solver = solver_find("ConvCpuGemm");

    g_assert_cmpstr(solver_algorithm(solver, DIRECTION_F, buffer), ==,
                    "miopenConvolutionFwdAlgoImplicitGEMM");
    g_assert_cmpstr(solver_algorithm(solver, DIRECTION_B, buffer), ==,
                    "miopenConvolutionBwdDataAlgoImplicitGEMM");
    g_assert_cmpstr(solver_algorithm(solver, DIRECTION_W, buffer), ==,
                    "miopenConvolutionBwdWeightsAlgoImplicitGEMM");
}

static void options_are_sorted(const struct launch *launch)
{
    g_auto(GStrv) options = g_strsplit(launch->options, " ", -1);

    for (guint i = 0; options[0] && options[0][0] && options[i]; i++) {
        g_assert_true(g_str_has_prefix(options[i], "-D"));
        if (i > 0)
            g_assert_cmpstr(options[i - 1], <, options[i]);
    }
}

static void launch_is_sound(const struct solver *solver, const struct launch *launch,
                            const struct context *context, uint64_t workspace_bytes)
{
    int64_t items = 1;
    bool is_listed = false;

    for (const char *const *source = solver->sources; *source; source++)
        is_listed = is_listed || strcmp(*source, launch->file) == 0;
    g_assert_true(is_listed);
    options_are_sorted(launch);
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(launch->block[i], >, 0);
        g_assert_cmpint(launch->grid[i], >, 0);
        g_assert_cmpint(launch->grid[i] % launch->block[i], ==, 0);
        items *= launch->block[i];
    }
    if (context->target->max_workgroup > 0)
        g_assert_cmpint(items, <=, context->target->max_workgroup);
    for (int i = 0; i < launch->arg_count; i++) {
        if (launch->args[i].kind == ARG_WORKSPACE)
            g_assert_cmpuint((uint64_t)launch->args[i].value, <, workspace_bytes);
    }
}

static void solution_is_sound(const struct solver *solver, const struct problem *p,
                              const struct context *context, const struct perf_config *config)
{
    g_autoptr(GError) error = NULL;
    struct solution solution;
    char text[CONFIG_TEXT_MAX];
    struct perf_config parsed;

    g_assert_true(
        solver_config_parse(solver, p, context, perf_config_format(config, text), &parsed, &error));
    g_assert_no_error(error);
    g_assert_true(solver_solve(solver, p, context, &parsed, &solution, &error));
    g_assert_no_error(error);
    g_assert_cmpint(solution.launch_count, >, 0);
    g_assert_cmpuint(solution.workspace_bytes, <=, solver_workspace_bytes(solver, p, context));
    g_assert_true(solution.flops > 0 || conv_exact_macs(p) == 0);
    g_assert_cmpfloat(solution.read_bytes, >=, 0);
    g_assert_cmpfloat(solution.write_bytes, >, 0);
    for (int i = 0; i < solution.launch_count; i++)
        launch_is_sound(solver, &solution.launches[i], context, solution.workspace_bytes);
}

/* A space's first configs differ in its last parameters only; the kernel tests draw others. */
#define LOOKED_AT_MOST 40

static void look_at_configs(const struct solver *solver, const struct problem *p,
                            const struct context *context)
{
    const struct space *space = solver_space(solver, p, context);
    struct perf_config config;
    struct space_walk walk;

    solver->default_config(p, context, &config);
    g_assert_true(solver_config_valid(solver, p, context, &config, NULL));
    solution_is_sound(solver, p, context, &config);
    g_assert_cmpfloat(solver->estimate(p, context), >, 0);
    if (!space)
        return;
    space_walk_init(&walk, space, p, context);
    for (int i = 0; i < LOOKED_AT_MOST && space_walk_next(&walk, &config); i++)
        solution_is_sound(solver, p, context, &config);
}

static void every_valid_config_makes_a_sound_solution(void)
{
    for_all_applicable(look_at_configs);
}

/* A problem that is served under a limit is also served under a limit a few bytes higher, although
 * the alignment of parts differs. */
static void refuses_no_more_under_a_higher_limit(const struct solver *solver,
                                                 const struct problem *p,
                                                 const struct context *context)
{
    struct context lower = *context;

    lower.workspace_limit -= MIN(lower.workspace_limit, 2 * WORKSPACE_ALIGNMENT);
    if (solver_applicable(solver, p, &lower, NULL))
        g_assert_true(solver_applicable(solver, p, context, NULL));
}

static void look_at_limits(const struct solver *solver, const struct problem *p,
                           const struct context *context)
{
    struct context limited = *context;
    struct perf_config wrong = {CONFIG_MAX, {0}};
    struct solution solution;
    g_autoptr(GError) error = NULL;
    const char *reason = NULL;
    uint64_t workspace_bytes = solver_workspace_bytes(solver, p, context);

    limited.dynamic_only = true;
    g_assert_true(solver_applicable(solver, p, &limited, &reason) == solver->dynamic);
    limited.dynamic_only = false;
    limited.tunable_only = true;
    g_assert_true(solver_applicable(solver, p, &limited, &reason) == (solver->space != NULL));
    limited.tunable_only = false;
    limited.workspace_limit = workspace_bytes;
    g_assert_true(solver_applicable(solver, p, &limited, &reason));
    /* under a lower limit the solver uses less workspace or refuses */
    if (workspace_bytes > 0) {
        limited.workspace_limit = workspace_bytes - 1;
        g_assert_true(solver_applicable(solver, p, &limited, &reason) ==
                      (solver_workspace_bytes(solver, p, &limited) < workspace_bytes));
        refuses_no_more_under_a_higher_limit(solver, p, &limited);
    }
    g_assert_false(solver_solve(solver, p, context, &wrong, &solution, &error));
    g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG);
}

static void limits_and_wrong_configs_are_refused(void)
{
    for_all_applicable(look_at_limits);
}

/* Exports, golden versions and cold runs know a result's workspace, but not its campaign's limit:
 * the result must be valid with its own workspace as the limit. */
static void reads_back_by_its_workspace(const struct solver *solver, const struct problem *p,
                                        const struct context *limited,
                                        const struct perf_config *config)
{
    struct context own;
    struct solution made, again;
    char key[PROBLEM_KEY_MAX], text[CONFIG_TEXT_MAX];
    const char *wrong = NULL;

    perf_config_format(config, text);
    if (!solver_solve(solver, p, limited, config, &made, NULL)) {
        wrong = "has no solution";
    } else if (made.workspace_bytes > limited->workspace_limit) {
        wrong = "needs more than the limit";
    } else {
        solver_result_context(solver, p, limited->target, config, made.workspace_bytes, &own);
        const void *first = &made, *second = &again;
        if (!solver_solve(solver, p, &own, config, &again, NULL) ||
            memcmp(first, second, sizeof(made)) != 0)
            wrong = "does not read back";
    }
    if (wrong)
        g_test_fail_printf("%s %s on %s: config '%s' under a limit of %" G_GUINT64_FORMAT " %s",
                           solver->name, problem_key(p, key), limited->target->id, text,
                           limited->workspace_limit, wrong);
}

#define DRAWN 4

static void look_at_read_back(const struct solver *solver, const struct problem *p,
                              const struct context *context)
{
    uint64_t most = solver_workspace_bytes(solver, p, context), state = 7;
    const uint64_t limits[] = {UINT64_MAX, most, most - 1, most / 2, most / 5, 1 << 16, 1 << 12, 0};

    for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
        struct context limited = *context;
        struct perf_config config;
        limited.workspace_limit = limits[i];
        if (!solver_applicable(solver, p, &limited, NULL) || (most == 0 && i > 0))
            continue;
        solver->default_config(p, &limited, &config);
        reads_back_by_its_workspace(solver, p, &limited, &config);
        const struct space *space = solver_space(solver, p, &limited);
        for (int d = 0; space && d < DRAWN && space_draw(space, p, &limited, &state, &config); d++)
            reads_back_by_its_workspace(solver, p, &limited, &config);
    }
}

static void a_result_reads_back_by_its_workspace(void)
{
    for_all_applicable(look_at_read_back);
}

static void the_naive_solver_serves_what_others_refuse(void)
{
    const struct solver *naive = solver_find("ConvDirectNaive");
    struct context context;

    context_init(&context, &targets[0]);
    for (guint i = 0; i < problems->len; i++) {
        const struct problem *p = problems->pdata[i];
        const char *unused;
        bool is_served = p->kind == OP_CONV &&
                         (problem_epilogue_classes(p) & ~naive->epilogues) == 0 &&
                         conv_epilogue_is_served(p, true, &unused);
        g_assert_true(solver_applicable(naive, p, &context, NULL) == is_served);
    }
}

static void look_at_bias(const struct solver *solver, const struct problem *p,
                         const struct context *context)
{
    struct problem with_bias = *p;
    struct perf_config config;
    struct solution plain, other;

    with_bias.bias = 1;
    g_assert_true(solver_applicable(solver, &with_bias, context, NULL));
    solver->default_config(p, context, &config);
    g_assert_true(solver_solve(solver, p, context, &config, &plain, NULL));
    g_assert_true(solver_solve(solver, &with_bias, context, &config, &other, NULL));
    g_assert_cmpmem(&plain, sizeof(plain), &other, sizeof(other));
}

/* The bias is part of the key only: a separate kernel adds it, so solutions are equal with and
 * without it. */
static void a_bias_changes_no_solution(void)
{
    for_all_applicable(look_at_bias);
}

/* Kernels compute positions in 32 bits, so filters that reach further are refused. */
static void filters_that_reach_too_far_are_refused(void)
{
    static const struct {
        int64_t in, fil, pad, dilation;
        bool is_served;
    } rows[] = {
        {4, 3, 0, 1 << 10, true},
        {4, 5, 0, 1 << 30, false}, /* the last filter position is at 2^32: 0 again in 32 bits */
        {4, 3, 1 << 30, 1, false},
        {4, 2, 0, INT32_MAX, false},
    };
    struct context context;

    context_init(&context, &targets[0]);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct problem p;
        problem_init(&p);
        p.in[AXIS_H] = p.in[AXIS_W] = rows[i].in;
        p.fil[AXIS_H] = rows[i].fil;
        p.pad[AXIS_H] = rows[i].pad;
        p.stride[AXIS_H] = 1 << 10;
        p.dilation[AXIS_H] = rows[i].dilation;
        problem_set_output(&p);
        g_assert_true(problem_validate(&p, NULL));
        g_assert_true(solver_applicable(solver_find("ConvDirectNaive"), &p, &context, NULL) ==
                      rows[i].is_served);
        for (int s = 0; s < solver_table_count && !rows[i].is_served; s++)
            g_assert_false(solver_applicable(solver_table[s], &p, &context, NULL));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    table_targets(targets);
    make_problems();
    g_test_add_func("/solver_table/names_are_unique_and_found", names_are_unique_and_found);
    g_test_add_func("/solver_table/a_result_reads_back_by_its_workspace",
                    a_result_reads_back_by_its_workspace);
    g_test_add_func("/solver_table/hashes_differ_and_are_kept", hashes_differ_and_are_kept);
    g_test_add_func("/solver_table/algorithms_are_spelled_as_find_dbs_spell_them",
                    algorithms_are_spelled_as_find_dbs_spell_them);
    g_test_add_func("/solver_table/every_valid_config_makes_a_sound_solution",
                    every_valid_config_makes_a_sound_solution);
    g_test_add_func("/solver_table/limits_and_wrong_configs_are_refused",
                    limits_and_wrong_configs_are_refused);
    g_test_add_func("/solver_table/the_naive_solver_serves_problems_that_others_refuse",
                    the_naive_solver_serves_what_others_refuse);
    g_test_add_func("/solver_table/a_bias_changes_no_solution", a_bias_changes_no_solution);
    g_test_add_func("/solver_table/filters_that_reach_too_far_are_refused",
                    filters_that_reach_too_far_are_refused);
    return g_test_run();
}
