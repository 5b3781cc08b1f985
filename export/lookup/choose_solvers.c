#include "export/lookup/choose_solvers.h"

#include "solvers/framework/solver.h"

struct choose_solvers {
    const struct problem *problem;
    struct context context;
    const char **names; /* names of all solvers in our table */
    /* algorithm of each solver in our table; the library's answers point to these texts */
    char (*algorithms)[64];
};

ChooseSolvers *choose_solvers_new(const struct target *target, const struct problem *problem,
                                  uint64_t workspace_bytes)
{
    ChooseSolvers *solvers = g_new0(ChooseSolvers, 1);
    solvers->problem = problem;
    context_init(&solvers->context, target);
    solvers->context.workspace_limit = workspace_bytes;
    solvers->names = g_new0(const char *, (gsize)solver_table_count);
    solvers->algorithms = g_malloc0_n((gsize)solver_table_count, sizeof *solvers->algorithms);
    for (int i = 0; i < solver_table_count; i++) {
        solvers->names[i] = solver_table[i]->name;
    }
    return solvers;
}

void choose_solvers_free(ChooseSolvers *solvers)
{
    if (solvers != NULL) {
        g_free(solvers->names);
        g_free(solvers->algorithms);
        g_free(solvers);
    }
}

/* Returns true if the solver takes the params today. They may have been tuned under a workspace
 * limit, so the workspace that the entry states is tried as the limit, too. */
static bool params_fit(const ChooseSolvers *solvers, const struct solver *solver,
                       const struct skipjackdb_candidate *candidate)
{
    struct perf_config config;
    struct context context = solvers->context;
    if (solver_config_parse(solver, solvers->problem, &context, candidate->params, &config, NULL)) {
        return true;
    }
    context.workspace_limit = MIN(context.workspace_limit, candidate->workspace_bytes);
    return solver_applicable(solver, solvers->problem, &context, NULL) &&
           solver_config_parse(solver, solvers->problem, &context, candidate->params, &config,
                               NULL);
}

/* Answers SKIPJACKDB_UNSURE for a solver that is not in our table: it may be another library's. */
static int is_applicable(void *user, const struct skipjackdb_problem *problem,
                         struct skipjackdb_candidate *candidate)
{
    ChooseSolvers *solvers = user;
    int index = solver_index(candidate->solver);
    (void)problem; /* always the problem given to choose_solvers_new() */
    if (index < 0) {
        return SKIPJACKDB_UNSURE;
    }
    const struct solver *solver = solver_table[index];
    if (!solver_applicable(solver, solvers->problem, &solvers->context, NULL)) {
        return SKIPJACKDB_NO;
    }
    if (candidate->params != NULL && !params_fit(solvers, solver, candidate)) {
        candidate->params = NULL;
    }
    if (candidate->workspace_bytes == SKIPJACKDB_UNKNOWN) {
        candidate->workspace_bytes =
            solver_workspace_bytes(solver, solvers->problem, &solvers->context);
    }
    if (candidate->algorithm[0] == '\0') {
        candidate->algorithm =
            solver_algorithm(solver, solvers->problem->direction, solvers->algorithms[index]);
    }
    candidate->revision = (uint32_t)solver->revision;
    candidate->flags &= ~(uint32_t)(SKIPJACKDB_DYNAMIC | SKIPJACKDB_TUNABLE);
    candidate->flags |= SKIPJACKDB_FLAGS_KNOWN | (solver->dynamic ? SKIPJACKDB_DYNAMIC : 0) |
                        (solver->space != NULL ? SKIPJACKDB_TUNABLE : 0);
    return SKIPJACKDB_YES;
}

static double estimate(void *user, const struct skipjackdb_problem *problem, const char *name)
{
    const ChooseSolvers *solvers = user;
    const struct solver *solver = solver_find(name);
    (void)problem;
    /* A solver's estimate has a meaning only for problems that the solver can compute. */
    return solver != NULL && solver_applicable(solver, solvers->problem, &solvers->context, NULL)
               ? solver->estimate(solvers->problem, &solvers->context)
               : 0;
}

void choose_solvers_answer(ChooseSolvers *solvers, struct skipjackdb_rules *rules)
{
    rules->solvers = solvers->names;
    rules->solver_count = (size_t)solver_table_count;
    rules->applicable = is_applicable;
    rules->estimate = estimate;
    rules->user = solvers;
}
