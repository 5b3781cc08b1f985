/* Properties of all spaces and rows of the solver table: search and export rely on it. */
#include <string.h>

#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/kernels/conv_kinds.h"
#include "tests/support/table_problems.h"

static const char *const target_ids[] = {"cpu-skylake-avx512_2", "cpu-x86-64_4", "gfx90a68",
                                         "gfx1030_36", "sm_90_132_80g"};
#define TARGETS G_N_ELEMENTS(target_ids)

static struct target targets[TARGETS];
static struct context contexts[TARGETS];

static bool is_word(const char *text, bool capitals)
{
    const char *letters = capitals ? "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"
                                   : "abcdefghijklmnopqrstuvwxyz_0123456789";

    return text && text[0] && strspn(text, letters) == strlen(text);
}

static void for_all_spaces(void (*look)(const struct solver *solver, const struct space *space))
{
    for (int s = 0; s < solver_table_count; s++) {
        if (solver_table[s]->space)
            look(solver_table[s], solver_table[s]->space);
        if (solver_table[s]->spare)
            look(solver_table[s], solver_table[s]->spare);
    }
}

static void expect(bool holds, const struct solver *solver, const char *what, const char *which)
{
    if (holds)
        return;
    g_test_message("%s: %s: %s", solver->name, which ? which : "(no name)", what);
    g_test_fail();
}

static void look_at_constraints(const struct solver *solver, const struct space *space)
{
    for (int i = 0; i < space->constraint_count; i++) {
        const struct space_constraint *constraint = &space->constraints[i];
        expect(is_word(constraint->name, false), solver, "a name is a word of small letters",
               constraint->name);
        expect(constraint->protects && strlen(constraint->protects) > 2, solver,
               "says which limit it protects", constraint->name);
        expect(constraint->needs >= 0 && constraint->needs <= space->param_count, solver,
               "needs parameters that there are", constraint->name);
        for (int j = 0; j < i; j++)
            expect(g_strcmp0(constraint->name, space->constraints[j].name) != 0, solver,
                   "a name stands for one constraint", constraint->name);
    }
}

static void every_constraint_has_a_name_and_says_what_it_protects(void)
{
    for_all_spaces(look_at_constraints);
}

static void look_at_params(const struct solver *solver, const struct space *space)
{
    expect(space->param_count > 0 && space->param_count <= CONFIG_MAX, solver,
           "a config holds its parameters", "space");
    for (int i = 0; i < space->param_count; i++) {
        const struct space_param *param = &space->params[i];
        expect(is_word(param->name, true), solver, "a name is a word of capitals", param->name);
        expect(param->count > 0, solver, "there are values", param->name);
        for (int v = 1; v < param->count; v++)
            expect(param->values[v - 1] < param->values[v], solver, "values ascend", param->name);
        for (int j = 0; j < i; j++)
            expect(g_strcmp0(param->name, space->params[j].name) != 0, solver,
                   "a name stands for one parameter", param->name);
    }
}

static void every_parameter_has_a_name_and_ascending_values(void)
{
    for_all_spaces(look_at_params);
}

static void rows_agree_with_themselves(void)
{
    for (int s = 0; s < solver_table_count; s++) {
        const struct solver *solver = solver_table[s];
        expect(!solver->partial || !solver->dynamic, solver,
               "compiles parts of the shape in, so it is not dynamic", "partial");
        expect(!solver->spare || solver->space, solver, "stands beside a primary one", "spare");
        expect(!solver->propose || solver->space, solver, "searches a space", "propose");
        expect(solver->sources && solver->sources[0], solver, "names its kernels", "sources");
        expect(solver->estimate && solver->default_config && solver->solve, solver,
               "has what every row has", "functions");
    }
}

/* ---- problems of every kind, for each target that a solver serves ---- */

typedef void look_at_problem(const struct solver *solver, const struct problem *p,
                             const struct context *context, GRand *random);

static void look_at_cell(const struct solver *solver, const struct conv_cell *cell,
                         const struct context *context, GRand *random, look_at_problem *look)
{
    for (int kind = 0; kind < conv_kind_count(); kind++) {
        struct problem p;
        conv_kind_problem(random, kind, (enum conv_sizes)(kind % CONV_SIZES_COUNT), cell, 1e9, &p);
        if (solver_applicable(solver, &p, context, NULL))
            look(solver, &p, context, random);
    }
}

static void look_at_operators(const struct solver *solver, GRand *random, look_at_problem *look)
{
    g_autoptr(GPtrArray) problems = table_problems_operators();

    for (guint i = 0; i < problems->len; i++) {
        for (gsize t = 0; t < TARGETS; t++) {
            if (solver_applicable(solver, problems->pdata[i], &contexts[t], NULL))
                look(solver, problems->pdata[i], &contexts[t], random);
        }
    }
}

static void for_all_problems(look_at_problem *look)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(23);

    for (int s = 0; s < solver_table_count; s++) {
        if (solver_table[s]->kind != OP_CONV)
            look_at_operators(solver_table[s], random, look);
        for (int i = 0; solver_table[s]->kind == OP_CONV && i < conv_cell_count(); i++) {
            struct conv_cell cell;
            conv_cell_at(i, &cell);
            for (gsize t = 0; t < TARGETS; t++)
                look_at_cell(solver_table[s], &cell, &contexts[t], random, look);
        }
    }
}

/* A walk of the space leaves a prefix of values as soon as a constraint fails. So a constraint must
 * not depend on parameters behind those that it states to need. */
static void look_at_needs(const struct solver *solver, const struct problem *p,
                          const struct context *context, GRand *random)
{
    const struct space *space = solver_space(solver, p, context);

    for (int i = 0; space && i < space->constraint_count; i++) {
        const struct space_constraint *constraint = &space->constraints[i];
        int32_t values[CONFIG_MAX], other[CONFIG_MAX];
        int needs = MAX(constraint->needs, 1);
        for (int v = 0; v < CONFIG_MAX; v++) {
            const struct space_param *param = &space->params[MIN(v, space->param_count - 1)];
            values[v] = param->values[g_rand_int_range(random, 0, param->count)];
            other[v] = v < needs ? values[v] : g_rand_int_range(random, 1, 1000);
        }
        expect(constraint->holds(p, context, values) == constraint->holds(p, context, other),
               solver, "looks at more parameters than it needs", constraint->name);
    }
}

static void constraints_look_at_no_more_than_they_need(void)
{
    for_all_problems(look_at_needs);
}

static void look_at_default(const struct solver *solver, const struct problem *p,
                            const struct context *context, GRand *random)
{
    const struct space *space = solver_space(solver, p, context);
    char text[CONFIG_TEXT_MAX];
    struct perf_config config, again;
    struct solution solution;
    g_autoptr(GError) error = NULL;

    (void)random;
    solver->default_config(p, context, &config);
    expect(config.count == (space ? space->param_count : 0), solver, "has a value a parameter",
           "default config");
    perf_config_format(&config, text);
    expect(solver_config_parse(solver, p, context, text, &again, NULL) &&
               perf_config_equal(&config, &again),
           solver, "is read back from its text", "default config");
    expect(solver_config_possible(solver, text, NULL), solver, "has values that parameters take",
           "default config");
    expect(solver_solve(solver, p, context, &config, &solution, &error), solver,
           error ? error->message : "works where the solver applies", "default config");
}

static void default_config_works_wherever_the_solver_applies(void)
{
    for_all_problems(look_at_default);
}

/* Every tile divides this layer's sizes, so only constraints on the target can make the default
 * config invalid. */
static void default_config_suits_any_cpu(void)
{
    static const char *const ids[] = {"cpu-athlon64_1", "cpu-haswell_2", "cpu-skylake-avx512_64"};
    struct problem p;

    g_assert_true(problem_key_parse("96-56-84-3x3-96-56-84-1-1x1-1x1-1x1-0-NCHW-FP32-F", &p, NULL));
    for (gsize t = 0; t < G_N_ELEMENTS(ids); t++) {
        struct target target;
        struct context context;
        g_assert_true(target_parse(ids[t], &target, NULL));
        context_init(&context, &target);
        for (int s = 0; s < solver_table_count; s++) {
            const struct solver *solver = solver_table[s];
            struct perf_config config;
            const char *why;
            if (!solver->space || !solver_applicable(solver, &p, &context, &why))
                continue;
            solver->default_config(&p, &context, &config);
            if (space_contains(solver_space(solver, &p, &context), &p, &context, &config, &why))
                continue;
            g_test_message("%s: its default config breaks %s on %s", solver->name, why, target.id);
            g_test_fail();
        }
    }
}

/* Tensors that need not be packed: each tensor that a kernel gets comes with its strides as
 * run-time arguments. */
static void look_at_strides(const struct solver *solver, const struct problem *p,
                            const struct context *context, GRand *random)
{
    struct perf_config config;
    struct solution solution;

    (void)random;
    if (!solver->any_strides)
        return;
    solver->default_config(p, context, &config);
    if (!solver_solve(solver, p, context, &config, &solution, NULL))
        return;
    for (int i = 0; i < solution.launch_count; i++) {
        const struct launch *launch = &solution.launches[i];
        for (int t = 0; t < TENSOR_COUNT; t++) {
            bool is_passed = false, has_strides = false;
            for (int a = 0; a < launch->arg_count; a++) {
                const struct launch_arg *arg = &launch->args[a];
                is_passed = is_passed || (arg->kind == ARG_TENSOR && (int)arg->tensor == t);
                has_strides = has_strides || (arg->kind == ARG_STRIDE && (int)arg->tensor == t);
            }
            expect(!is_passed || has_strides, solver, "gets a tensor without its strides",
                   launch->entry);
        }
    }
}

static void strides_come_at_run_time(void)
{
    for_all_problems(look_at_strides);
}

static bool some_cell_is_served(const struct solver *solver, const struct context *context)
{
    for (int i = 0; i < conv_cell_count(); i++) {
        struct conv_cell cell;
        conv_cell_at(i, &cell);
        if (conv_kinds_served(solver, &cell, context, 1) != 0)
            return true;
    }
    return false;
}

/* Random problems reach every solver; otherwise a solver's tests would have no problem to run. */
static void random_problems_find_what_each_solver_serves(void)
{
    static const char *const ids[] = {"sm_90_132_80g", "cpu-skylake-avx512_2", "gfx90a68",
                                      "gfx1100_48"};

    for (int s = 0; s < solver_table_count; s++) {
        bool is_served = solver_table[s]->kind != OP_CONV; /* operator_family.h finds its own */
        for (gsize t = 0; t < G_N_ELEMENTS(ids) && !is_served; t++) {
            struct target target;
            struct context context;
            g_assert_true(target_parse(ids[t], &target, NULL));
            context_init(&context, &target);
            is_served = some_cell_is_served(solver_table[s], &context);
        }
        expect(is_served, solver_table[s], "serves some random problem", "conv_kinds.h");
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize t = 0; t < TARGETS; t++) {
        g_assert_true(target_parse(target_ids[t], &targets[t], NULL));
        context_init(&contexts[t], &targets[t]);
    }
    g_test_add_func("/solver_spaces/every_constraint_names_itself_and_its_limit",
                    every_constraint_has_a_name_and_says_what_it_protects);
    g_test_add_func("/solver_spaces/every_parameter_has_a_name_and_ascending_values",
                    every_parameter_has_a_name_and_ascending_values);
    g_test_add_func("/solver_spaces/rows_agree_with_themselves", rows_agree_with_themselves);
    g_test_add_func("/solver_spaces/constraints_look_at_no_more_than_they_need",
                    constraints_look_at_no_more_than_they_need);
    g_test_add_func("/solver_spaces/default_config_works_wherever_the_solver_applies",
                    default_config_works_wherever_the_solver_applies);
    g_test_add_func("/solver_spaces/default_config_suits_any_cpu", default_config_suits_any_cpu);
    g_test_add_func("/solver_spaces/strides_come_at_run_time", strides_come_at_run_time);
    g_test_add_func("/solver_spaces/random_problems_reach_every_solver",
                    random_problems_find_what_each_solver_serves);
    return g_test_run();
}
