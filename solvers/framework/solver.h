/*
 * The solver table. A solver is one row: a provider and a name, which is never reused; a revision, raised when
 * its results may change; and functions in a file of its own. README.md says how to add one. The design follows
 * MIOpen's Solver and Solution.
 */
#ifndef SOLVERS_FRAMEWORK_SOLVER_H
#define SOLVERS_FRAMEWORK_SOLVER_H

#include "solvers/framework/solution.h"
#include "solvers/framework/space.h"
#include "solvers/framework/target.h"
#include "solvers/problem/epilogue.h"
#include "solvers/problem/problem.h"

/* A config that was evaluated, as a solver's own search sees it. */
struct tried_config {
    struct perf_config config;
    /* lowest median of the repetitions; INFINITY for a config that failed or must not be tried */
    double time_ms;
};

struct solver {
    const char *provider; /* "skipjack" */
    const char *name;     /* "ConvCpuDirect" */
    enum op_kind kind;    /* the operator that it computes */
    int revision;         /* from 1 */
    const char
        *algorithm; /* MIOpen's algorithm family: Direct, GEMM, FFT, Winograd, ImplicitGEMM */
    bool dynamic;   /* one binary serves all problems of a type, layout and direction */
    /* whether its configs have FIX_ parameters, which choose the parts of the shape that are compiled in; such a
     * solver is not dynamic */
    bool partial;
    /* Tensors need not be packed: the launches take strides as arguments. Strides must keep the layout's order:
     * a step along an axis spans at least all elements of the next faster axis. */
    bool any_strides;
    /* Problems with strided tensors are served, but each solution is for the problem's own strides: they decide its
     * launches. */
    bool own_strides;
    /* The epilogues that its kernels do: bits of enum epilogue_class. A problem with any other is not given to
     * is_applicable(). 0: none. */
    unsigned epilogues;
    /* It does them in direction F alone. */
    bool epilogues_forward;
    /* Its kernels use instructions of the targets that it serves, and compile for no other target. */
    bool native;
    bool nondeterministic;      /* results may differ from run to run (sums by atomics) */
    const char *const *sources; /* device source files that its launches may use, NULL-terminated */

    /* Whether the solver serves the problem on the context's target. Takes about a microsecond. On false *reason is a
     * static phrase ("needs groups = 1"). */
    bool (*is_applicable)(const struct problem *p, const struct context *context,
                          const char **reason);
    /* The most bytes of workspace that any valid config may use; NULL for a solver without a workspace. */
    uint64_t (*workspace_bytes)(const struct problem *p, const struct context *context);
    /* Expected speed relative to the naive kernel (1.0), to choose a solver without measurements. */
    double (*estimate)(const struct problem *p, const struct context *context);
    /* Writes the config that is used where nothing was tuned. It works for every problem that the solver serves in
     * this context, even where the space does not contain it. */
    void (*default_config)(const struct problem *p, const struct context *context,
                           struct perf_config *config);
    const struct space *space; /* NULL for a solver that cannot be tuned */
    const struct space
        *spare; /* replaces `space` where `space` holds no valid config; may be NULL */
    /* The solver's own search, NULL where the campaign's strategy searches (solver_searches() says when it is
     * used). Writes at most `wanted` configs, most promising first, from the space in force and without those
     * in `tried`; returns how many, 0 when the search is over. `tried` is in the order of evaluation; it is
     * empty in the first round, which also measures the default. A pure function of its arguments. A solver
     * that gains or loses a search needs a new revision: the database stores for a revision whether it searches
     * by itself. */
    int (*propose)(const struct problem *p, const struct context *context,
                   const struct tried_config *tried, int tried_count, int wanted,
                   struct perf_config *configs);
    /* Makes the solution (launches and their arguments). `config` is the default or valid (solver_config_valid()). */
    bool (*solve)(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error);
};

extern const struct solver *const solver_table[];
extern const int solver_table_count;

/* The solver with this name, NULL for an unknown name. */
const struct solver *solver_find(const char *name);
/* The solver's index in the table, -1 for an unknown solver. */
int solver_index(const char *name);

/* Whether the solver's own search replaces this strategy (a name of strategy.h): it replaces all but "exhaustive". */
bool solver_searches(const struct solver *solver, const char *strategy);

/* How much of the shape its kernels are compiled for: "dynamic" (nothing), "partial" or "static". */
const char *solver_form(const struct solver *solver);

/* The most bytes of workspace that any valid config may use; 0 for a solver that uses none. */
uint64_t solver_workspace_bytes(const struct solver *solver, const struct problem *p,
                                const struct context *context);

/* Returns whether the solver serves the problem's kind, epilogue and strides, and the problem itself (is_applicable()),
 * within the context's limits (dynamic_only, deterministic, tunable_only, workspace_limit). */
bool solver_applicable(const struct solver *solver, const struct problem *p,
                       const struct context *context, const char **reason);

/* The space in force for this problem: the primary space, or the spare one where the primary is empty, or NULL. */
const struct space *solver_space(const struct solver *solver, const struct problem *p,
                                 const struct context *context);
/* Whether the config is the default or a member of the space in force. */
bool solver_config_valid(const struct solver *solver, const struct problem *p,
                         const struct context *context, const struct perf_config *config,
                         const char **why);
/* Parses a config's text strictly: as many values as the space in force has parameters, each one allowed. */
bool solver_config_parse(const struct solver *solver, const struct problem *p,
                         const struct context *context, const char *text,
                         struct perf_config *config, GError **error);
/* Whether the text can be a config of the solver for some problem and target: one value for each parameter of
 * its space or spare space, each allowed. Texts of older revisions often cannot; the error names solver and
 * reason. */
bool solver_config_possible(const struct solver *solver, const char *text, GError **error);
/* The context for reading back a stored result. A config's solution does not depend on a campaign's limits, so
 * *context has none. An exception is a default config that only a workspace limit leads to: its context has the
 * result's workspace as the limit. */
void solver_result_context(const struct solver *solver, const struct problem *p,
                           const struct target *target, const struct perf_config *config,
                           uint64_t workspace_bytes, struct context *context);
/* Parses a stored result's config with solver_config_parse(), in the context without limits or, failing that, in the
 * context of a default that only a workspace limit leads to. */
bool solver_result_parse(const struct solver *solver, const struct problem *p,
                         const struct target *target, const char *text, uint64_t workspace_bytes,
                         struct context *context, struct perf_config *config, GError **error);
/* Checks that the solver serves the problem and that the config is valid, lets the solver make its solution,
 * and checks that the solution can be run (solution_validate()). */
bool solver_solve(const struct solver *solver, const struct problem *p,
                  const struct context *context, const struct perf_config *config,
                  struct solution *solution, GError **error);

/* SHA-256 (hex) over the solver's provider, name, revision and kernel sources. Jobs pin it beside the revision.
 * Valid until the process ends. */
const char *solver_hash(const struct solver *solver);
/* The pins of all solvers, "name:revision:hash", which jobs store to name the exact solver; NULL-terminated. Free
 * with g_strfreev(). */
char **solver_pins(void);

/* The algorithm's name in find-db entries for this direction: "miopenConvolutionFwdAlgoDirect". Find-dbs have no other
 * operators than convolutions; for these it is the algorithm alone: "Direct". */
const char *solver_algorithm(const struct solver *solver, enum direction direction,
                             char buffer[64]);

#endif
