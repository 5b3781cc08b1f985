/* `skipjack solvers`: the solver table, and which solvers serve a problem. Needs no database. */
#include "coordinator/cli.h"
#include "coordinator/commands.h"
#include "coordinator/enter.h"
#include "coordinator/lists.h"
#include "coordinator/plan.h"
#include "solvers/problem_key.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_HASH 12

static const struct table_column solver_columns[] = {
    {"solver", "solver", TABLE_TEXT, 0},    {NULL, "provider", TABLE_TEXT, 0},
    {"revision", "revision", TABLE_INT, 0}, {"algorithm", "algorithm", TABLE_TEXT, 0},
    {"dynamic", "dynamic", TABLE_YES, 0},   {"tunable", "tunable", TABLE_YES, 0},
    {"hash", "hash_prefix", TABLE_TEXT, 0}, {NULL, "hash", TABLE_TEXT, 0},
    {"params", "params", TABLE_TEXT, 0},
};

/* "tile_k,tile_w", NULL for solvers that cannot be tuned. Free with g_free(). */
static char *param_names(const struct space *space)
{
    if (!space)
        return NULL;
    GString *names = g_string_new(NULL);
    for (int i = 0; i < space->param_count; i++)
        g_string_append_printf(names, "%s%s", i ? "," : "", space->params[i].name);
    return g_string_free(names, FALSE);
}

static Table *list_table(void)
{
    Table *table = table_new(solver_columns, G_N_ELEMENTS(solver_columns));
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        g_autofree char *params = param_names(solver->space);
        g_autofree char *prefix = g_strndup(solver_hash(solver), SHOWN_HASH);
        table_text(table, solver->name);
        table_text(table, solver->provider);
        table_int(table, solver->revision);
        table_text(table, solver->algorithm);
        table_yes(table, solver->dynamic);
        table_yes(table, solver->space != NULL);
        table_text(table, prefix);
        table_text(table, solver_hash(solver));
        table_text(table, params);
    }
    return table;
}

static const struct table_column applicable_columns[] = {
    {"solver", "solver", TABLE_TEXT, 0},
    {"applies", "applicable", TABLE_YES, 0},
    {"estimate", "estimate", TABLE_NUMBER, 2},
    {"configs", "configs", TABLE_INT, 0},
    {"workspace", "workspace_bytes", TABLE_INT, 0},
    {"why not", "reason", TABLE_TEXT, 0},
};

static Table *list_applicable(const struct problem *problem, const struct target *target)
{
    struct context context;
    context_init(&context, target);
    Table *table = table_new(applicable_columns, G_N_ELEMENTS(applicable_columns));
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        const char *reason = NULL;
        bool applies = solver_applicable(solver, problem, &context, &reason);
        table_text(table, solver->name);
        table_yes(table, applies);
        table_number(table, applies ? solver->estimate(problem, &context) : NAN);
        table_int(table, applies ? plan_job_configs(solver, problem, target, 0) : 0);
        table_int(table, applies ? (int64_t)solver_workspace_bytes(solver, problem, &context) : 0);
        table_text(table, applies ? NULL : reason);
    }
    return table;
}

/* The target by its name; this machine's where none or "local" is named. */
static bool find_target(const char *name, struct target *target, GError **error)
{
    if (name && strcmp(name, "local") != 0)
        return machine_parse_target(name, target, error);
    struct machine machine = {0};
    bool ok = machine_probe(&machine, error);
    *target = machine.target;
    machine_clear(&machine);
    return ok;
}

static Table *list_for_problem(const char *key, const char *target_name, GError **error)
{
    struct problem problem;
    struct target target;
    if (!problem_key_parse(key, &problem, error) || !problem_validate(&problem, error) ||
        !find_target(target_name, &target, error))
        return NULL;
    return list_applicable(&problem, &target);
}

int command_solvers(int argc, char **argv)
{
    g_autofree char *key = NULL;
    g_autofree char *target = NULL;
    gboolean as_json = FALSE;
    const GOptionEntry options[] = {
        {"problem", 'p', 0, G_OPTION_ARG_STRING, &key, "which apply to this problem", "KEY"},
        {"target", 't', 0, G_OPTION_ARG_STRING, &target, "on this target (local)", "T"},
        LIST_JSON_OPTION(&as_json),
        {0},
    };
    const struct cli cli = {
        .command = "solvers",
        .summary =
            "The solver table; with --problem, which of them apply, and for the others why not.",
        .example = "skipjack solvers --target gfx90a68 \\\n"
                   "      --problem 64-56-56-3x3-64-56-56-1-1x1-1x1-1x1-0-NCHW-FP32-F",
        .options = options,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    if (target && !key) {
        fputs("skipjack solvers: --target says which solvers serve a problem: name it with "
              "--problem KEY\n",
              stderr);
        return CLI_USAGE;
    }
    GError *error = NULL;
    Table *table = key ? list_for_problem(key, target, &error) : list_table();
    if (error && error->domain == SOLVERS_ERROR) {
        error->domain = COORDINATOR_ERROR;
        error->code = COORDINATOR_ERROR_USAGE;
    }
    return list_finish("solvers", table, as_json, error);
}
