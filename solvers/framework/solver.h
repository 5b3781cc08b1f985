/*
 * The solver table. A solver is one row: a provider and a name that is never
 * reused, a revision that is raised when its results may change, and functions
 * in a file of its own. Adding one is that file and that row (README.md).
 * After MIOpen's Solver/Solution design.
 */
#ifndef SOLVERS_FRAMEWORK_SOLVER_H
#define SOLVERS_FRAMEWORK_SOLVER_H

#include "solvers/framework/solution.h"
#include "solvers/framework/space.h"
#include "solvers/framework/target.h"
#include "solvers/problem/problem.h"

/* A config that was evaluated, as a solver's own search sees it. */
struct tried_config {
    struct perf_config config;
    double time_ms; /* lowest median; INFINITY for one that failed or must not be tried */
};

struct solver {
    const char *provider; /* "skipjack" */
    const char *name;     /* "ConvCpuDirect" */
    int revision;         /* from 1 */
    const char
        *algorithm; /* MIOpen's algorithm family: Direct, GEMM, FFT, Winograd, ImplicitGEMM */
    bool dynamic;   /* one binary serves all problems of a type, layout and direction */
    bool partial;   /* its FIX_ parameters choose what of the shape is compiled in; not dynamic */
    /* Tensors need not be packed: their strides are arguments of its launches. They keep the layout's
     * order: a step along an axis is no shorter than all of the next faster axis. */
    bool any_strides;
    /* Its kernels use instructions of the targets that it serves: they compile for no others. */
    bool native;
    bool nondeterministic;      /* results may differ from run to run (sums by atomics) */
    const char *const *sources; /* kernel files it may use, NULL-terminated */

    /* About a microsecond. When it returns false, *reason is a static sentence part ("needs groups
     * = 1"). */
    bool (*is_applicable)(const struct problem *p, const struct context *context,
                          const char **reason);
    uint64_t (*workspace_bytes)(const struct problem *p,
                                const struct context *context); /* NULL: none */
    /* Relative worth without measuring, higher is better, 1.0 is the naive kernel. */
    double (*estimate)(const struct problem *p, const struct context *context);
    /* The config to use when nothing is tuned; always works where the solver is applicable. */
    void (*default_config)(const struct problem *p, const struct context *context,
                           struct perf_config *config);
    const struct space *space; /* NULL: cannot be tuned */
    const struct space *spare; /* used only where `space` holds no valid config; may be NULL */
    /* The solver's own search, NULL for the campaign's strategy (solver_searches() says when it is
     * used): writes at most `wanted` configs of the space in force that `tried` does not hold, the
     * most promising first, and returns how many; 0 when it has nothing more to try. tried is in
     * the order of evaluation; it is empty in the first round, which measures the default beside
     * what is proposed. A pure function of its arguments. A solver that gains or loses one needs a
     * new revision: the database keeps with a revision whether it searches by itself. */
    int (*propose)(const struct problem *p, const struct context *context,
                   const struct tried_config *tried, int tried_count, int wanted,
                   struct perf_config *configs);
    /* The recipe. config must be valid (solver_config_valid) or the default. */
    bool (*solve)(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error);
};

extern const struct solver *const solver_table[];
extern const int solver_table_count;

/* NULL when unknown. */
const struct solver *solver_find(const char *name);
/* Index in the table, or -1. */
int solver_index(const char *name);

/* Whether the solver's own search replaces the campaign's strategy (a name of solvers/framework/strategy.h): it replaces
 * every one but "exhaustive". */
bool solver_searches(const struct solver *solver, const char *strategy);

/* "dynamic", "partial" or "static": how much of the shape its kernels are compiled for. */
const char *solver_form(const struct solver *solver);

/* 0 for a solver without workspace_bytes. */
uint64_t solver_workspace_bytes(const struct solver *solver, const struct problem *p,
                                const struct context *context);

/* Applies the context's limits (dynamic_only, deterministic, tunable_only, workspace_limit) beside the solver's
 * own rule. */
bool solver_applicable(const struct solver *solver, const struct problem *p,
                       const struct context *context, const char **reason);

/* The space in force for this problem: the primary, the spare when the primary is empty, or NULL.
 */
const struct space *solver_space(const struct solver *solver, const struct problem *p,
                                 const struct context *context);
/* The default, or a member of the space in force. */
bool solver_config_valid(const struct solver *solver, const struct problem *p,
                         const struct context *context, const struct perf_config *config,
                         const char **why);
/* Strict; checks the count and the values against the space in force. */
bool solver_config_parse(const struct solver *solver, const struct problem *p,
                         const struct context *context, const char *text,
                         struct perf_config *config, GError **error);
/* Whether a text can be a config of the solver at all, for whatever problem and target: as many values
 * as its space (or its spare one) has parameters, each of them a value that the parameter takes. A text
 * that an older revision wrote often cannot; the error then names solver and reason. */
bool solver_config_possible(const struct solver *solver, const char *text, GError **error);
/* A stored result is read back by its config and its workspace, without the limits of the campaign that it
 * came of: what a config's solution is depends on none. *context is the one in which the config is the solver's:
 * without limits, or, for a default that only a limit chose, with the result's own workspace as the limit. */
void solver_result_context(const struct solver *solver, const struct problem *p,
                           const struct target *target, const struct perf_config *config,
                           uint64_t workspace_bytes, struct context *context);
/* The same from the config's text: solver_config_parse() in either context. */
bool solver_result_parse(const struct solver *solver, const struct problem *p,
                         const struct target *target, const char *text, uint64_t workspace_bytes,
                         struct context *context, struct perf_config *config, GError **error);
/* Refuses a problem that is not applicable and a config that is not valid, then asks the solver, whose
 * answer must be one that can be run (solution_validate()). */
bool solver_solve(const struct solver *solver, const struct problem *p,
                  const struct context *context, const struct perf_config *config,
                  struct solution *solution, GError **error);

/* SHA-256 over the kernel sources and the revision, hex; what a job pins beside the revision.
 * Static. */
const char *solver_hash(const struct solver *solver);
/* "name:revision:hash" of each solver of the table, as jobs pin it; NULL-terminated. Free with g_strfreev(). */
char **solver_pins(void);

/* "miopenConvolutionFwdAlgoDirect": the algorithm's name in find-db entries for a direction. */
const char *solver_algorithm(const struct solver *solver, enum direction direction,
                             char buffer[64]);

#endif
