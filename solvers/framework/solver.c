#include "solvers/framework/solver.h"

#include <string.h>

#include "solvers/framework/kernel_hash.h"
#include "solvers/framework/strategy.h"

int solver_index(const char *name)
{
    for (int i = 0; i < solver_table_count; i++) {
        if (strcmp(solver_table[i]->name, name) == 0)
            return i;
    }
    return -1;
}

const struct solver *solver_find(const char *name)
{
    int index = solver_index(name);

    return index < 0 ? NULL : solver_table[index];
}

bool solver_searches(const struct solver *solver, const char *strategy)
{
    return solver->propose && strcmp(strategy, STRATEGY_EXHAUSTIVE) != 0;
}

const char *solver_form(const struct solver *solver)
{
    return solver->dynamic ? "dynamic" : solver->partial ? "partial" : "static";
}

uint64_t solver_workspace_bytes(const struct solver *solver, const struct problem *p,
                                const struct context *context)
{
    return solver->workspace_bytes ? solver->workspace_bytes(p, context) : 0;
}

/* Whether the solver computes the problem's operator, does its epilogue and takes its strides. */
static bool serves_form(const struct solver *solver, const struct problem *p, const char **reason)
{
    if (solver->kind != p->kind) {
        *reason = "computes another operator";
        return false;
    }
    if (problem_epilogue_classes(p) & ~solver->epilogues) {
        *reason = solver->epilogues ? "cannot do a step of the epilogue"
                                    : "needs a problem without epilogue";
        return false;
    }
    if (solver->epilogues_forward && p->direction != DIRECTION_F && p->epilogue[0] != '\0') {
        *reason = "does epilogues in direction F alone";
        return false;
    }
    if (!solver->any_strides && !solver->own_strides && problem_is_strided(p)) {
        *reason = "needs packed tensors";
        return false;
    }
    return true;
}

bool solver_applicable(const struct solver *solver, const struct problem *p,
                       const struct context *context, const char **reason)
{
    const char *unused;

    if (!reason)
        reason = &unused;
    if (!serves_form(solver, p, reason))
        return false;
    if (context->dynamic_only && !solver->dynamic) {
        *reason = "compiles the shape into its kernel, and only dynamic kernels are asked for";
        return false;
    }
    if (context->deterministic && solver->nondeterministic) {
        *reason = "gives results that differ from run to run, and equal ones are asked for";
        return false;
    }
    if (context->tunable_only && !solver->space) {
        *reason = "has no perf configs to choose among, and only tunable solvers are asked for";
        return false;
    }
    if (!solver->is_applicable(p, context, reason))
        return false;
    if (solver_workspace_bytes(solver, p, context) > context->workspace_limit) {
        *reason = "needs more workspace than the limit allows";
        return false;
    }
    return true;
}

const struct space *solver_space(const struct solver *solver, const struct problem *p,
                                 const struct context *context)
{
    struct space_walk walk;
    struct perf_config config;

    if (!solver->space)
        return NULL;
    space_walk_init(&walk, solver->space, p, context);
    if (solver->spare && !space_walk_next(&walk, &config))
        return solver->spare;
    return solver->space;
}

bool solver_config_valid(const struct solver *solver, const struct problem *p,
                         const struct context *context, const struct perf_config *config,
                         const char **why)
{
    const struct space *space;
    struct perf_config fallback = {0};

    solver->default_config(p, context, &fallback);
    if (perf_config_equal(config, &fallback))
        return true;
    space = solver_space(solver, p, context);
    if (space)
        return space_contains(space, p, context, config, why);
    if (why)
        *why = "number of values";
    return false;
}

bool solver_config_parse(const struct solver *solver, const struct problem *p,
                         const struct context *context, const char *text,
                         struct perf_config *config, GError **error)
{
    const struct space *space = solver_space(solver, p, context);
    struct perf_config parsed;
    const char *why = NULL;

    if (!perf_config_parse(text, space ? space->param_count : 0, &parsed, error)) {
        g_prefix_error(error, "%s: ", solver->name);
        return false;
    }
    if (!solver_config_valid(solver, p, context, &parsed, &why)) {
        g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG,
                    "%s: perf config '%s' is not in the solver's space for this problem (%s)",
                    solver->name, text, why);
        return false;
    }
    *config = parsed;
    return true;
}

static bool space_takes(const struct space *space, const char *text, GError **error)
{
    struct space unconstrained = *space;
    struct perf_config config;
    const char *why = NULL;

    unconstrained.constraint_count = 0;
    if (!perf_config_parse(text, space->param_count, &config, error))
        return false;
    if (space_contains(&unconstrained, NULL, NULL, &config, &why))
        return true;
    g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG,
                "perf config '%s' has a value that %s does not take", text, why);
    return false;
}

bool solver_config_possible(const struct solver *solver, const char *text, GError **error)
{
    const struct space untuned = {0};

    if (solver->spare && space_takes(solver->spare, text, NULL))
        return true;
    if (space_takes(solver->space ? solver->space : &untuned, text, error))
        return true;
    g_prefix_error(error, "%s: ", solver->name);
    return false;
}

bool solver_solve(const struct solver *solver, const struct problem *p,
                  const struct context *context, const struct perf_config *config,
                  struct solution *solution, GError **error)
{
    const char *reason = NULL;
    char text[CONFIG_TEXT_MAX];

    if (!solver_applicable(solver, p, context, &reason)) {
        g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_NOT_APPLICABLE,
                    "%s does not serve this problem: it %s", solver->name, reason);
        return false;
    }
    if (!solver_config_valid(solver, p, context, config, &reason)) {
        g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_CONFIG,
                    "%s: perf config '%s' is not in the solver's space for this problem (%s)",
                    solver->name, perf_config_format(config, text), reason);
        return false;
    }
    solution_init(solution);
    if (!solver->solve(p, context, config, solution, error))
        return false;
    if (solution_validate(solution, context->target, error))
        return true;
    g_prefix_error(error, "%s: ", solver->name);
    return false;
}

void solver_result_context(const struct solver *solver, const struct problem *p,
                           const struct target *target, const struct perf_config *config,
                           uint64_t workspace_bytes, struct context *context)
{
    struct context limited;

    context_init(context, target);
    limited = *context;
    limited.workspace_limit = workspace_bytes;
    if (!solver_config_valid(solver, p, context, config, NULL) &&
        solver_applicable(solver, p, &limited, NULL) &&
        solver_config_valid(solver, p, &limited, config, NULL))
        *context = limited;
}

bool solver_result_parse(const struct solver *solver, const struct problem *p,
                         const struct target *target, const char *text, uint64_t workspace_bytes,
                         struct context *context, struct perf_config *config, GError **error)
{
    g_autoptr(GError) unlimited = NULL;

    context_init(context, target);
    if (solver_config_parse(solver, p, context, text, config, &unlimited))
        return true;
    context->workspace_limit = workspace_bytes;
    if (solver_applicable(solver, p, context, NULL) &&
        solver_config_parse(solver, p, context, text, config, NULL))
        return true;
    g_propagate_error(error, g_steal_pointer(&unlimited));
    return false;
}

static char *solver_hash_compute(const struct solver *solver)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree char *head =
        g_strdup_printf("%s\n%s\n%d\n", solver->provider, solver->name, solver->revision);

    g_checksum_update(sum, (const guchar *)head, -1);
    for (const char *const *source = solver->sources; source && *source; source++) {
        const char *hash = kernel_source_hash(*source);
        g_autofree char *line = g_strdup_printf("%s %s\n", *source, hash ? hash : "");

        /* A missing text is a bug of the build. Ready objects are not built in; their kernels' identities hold
         * their bytes. */
        g_assert(hash || program_kind_of(*source) == PROGRAM_OBJECT);
        g_checksum_update(sum, (const guchar *)line, -1);
    }
    return g_strdup(g_checksum_get_string(sum));
}

/* Computed once for each solver and kept. Threads may ask at the same time. */
const char *solver_hash(const struct solver *solver)
{
    static GMutex lock;
    static GHashTable *hashes;
    char *hash;

    g_mutex_lock(&lock);
    if (!hashes)
        hashes = g_hash_table_new(NULL, NULL);
    hash = g_hash_table_lookup(hashes, solver);
    if (!hash) {
        hash = solver_hash_compute(solver);
        g_hash_table_insert(hashes, (gpointer)solver, hash);
    }
    g_mutex_unlock(&lock);
    return hash;
}

char **solver_pins(void)
{
    char **pins = g_new0(char *, solver_table_count + 1);

    for (int i = 0; i < solver_table_count; i++)
        pins[i] = g_strdup_printf("%s:%d:%s", solver_table[i]->name, solver_table[i]->revision,
                                  solver_hash(solver_table[i]));
    return pins;
}

const char *solver_algorithm(const struct solver *solver, enum direction direction, char buffer[64])
{
    static const char *const words[DIRECTION_COUNT] = {"Fwd", "BwdData", "BwdWeights"};

    if (solver->kind == OP_CONV)
        g_snprintf(buffer, 64, "miopenConvolution%sAlgo%s", words[direction], solver->algorithm);
    else
        g_strlcpy(buffer, solver->algorithm, 64);
    return buffer;
}
