/*
 * A space is the set of perf configs of a tunable solver: named integer parameters, the values of each, and
 * named constraints. A walk visits only valid configs, in a fixed order (the first parameter varies slowest),
 * and never builds the product of all values.
 */
#ifndef SOLVERS_FRAMEWORK_SPACE_H
#define SOLVERS_FRAMEWORK_SPACE_H

#include "solvers/framework/target.h"
#include "solvers/problem/problem.h"

/* The target and the limits under which a solver is asked about a problem. A plan, a worker's job and a report
 * take the campaign's limits; `solvers --problem` and `lookup --choose` take the user's; all other callers have no
 * limits. */
struct context {
    const struct target *target;
    /* the most bytes of workspace that a solution may use; UINT64_MAX for no limit */
    uint64_t workspace_limit;
    bool dynamic_only; /* allow only kernels of which one binary serves all problems */
    /* allow only solvers whose results are bitwise equal from run to run */
    bool deterministic;
    bool tunable_only; /* allow only solvers with configs to choose among */
};

/* The limits that a campaign or a user sets; all zero means no limits. */
struct context_limits {
    /* workspace_bytes holds a limit, which may be 0; otherwise there is no limit */
    bool limits_workspace;
    uint64_t workspace_bytes;
    bool dynamic_only, deterministic, tunable_only; /* the same limits as in struct context */
};

/* Makes a context of the target without limits. */
void context_init(struct context *context, const struct target *target);
/* Replaces the context's limits by the given ones. */
void context_set_limits(struct context *context, const struct context_limits *limits);
bool context_limits_equal(const struct context_limits *a, const struct context_limits *b);
/* The limits in words: "a workspace of at most 64 MiB, dynamic kernels alone"; NULL for no limits. Free with
 * g_free(). */
char *context_limits_text(const struct context_limits *limits);
bool context_is_cpu(const struct context *context);

#define CONFIG_MAX 16

/* One value for each parameter of a space. `count` is 0 for solvers that cannot be tuned. */
struct perf_config {
    int count;
    int32_t values[CONFIG_MAX];
};

struct space_param {
    const char *name; /* the parameter's name, in capitals: "TILE_K" */
    int count;
    const int32_t *values; /* ascending */
};

struct space_constraint {
    const char *name;     /* the constraint's name, in small letters: "tile_fits_registers" */
    const char *protects; /* the limit it protects: "registers" */
    /* the constraint reads only the first `needs` parameters, so that a walk can skip all configs that begin alike */
    int needs;
    bool (*holds)(const struct problem *p, const struct context *context, const int32_t *values);
};

struct space {
    int param_count;
    const struct space_param *params;
    int constraint_count;
    const struct space_constraint *constraints;
};

struct space_walk {
    const struct space *space;
    const struct problem *problem;
    const struct context *context;
    int index[CONFIG_MAX];
    bool started, ended;
};

/* Begins a walk. The pointers must outlive the walk. */
void space_walk_init(struct space_walk *walk, const struct space *space, const struct problem *p,
                     const struct context *context);
/* Sets *config to the next valid config in the space's order; false at the end of the space. */
bool space_walk_next(struct space_walk *walk, struct perf_config *config);

int64_t space_count(const struct space *space, const struct problem *p,
                    const struct context *context);
/* The number of valid configs, or `most` where there are more. */
int64_t space_count_up_to(const struct space *space, const struct problem *p,
                          const struct context *context, int64_t most);

/* Draws a valid config, each with the same probability; false for an empty space. *state is the random state,
 * any value at first; equal states give equal draws. */
bool space_draw(const struct space *space, const struct problem *p, const struct context *context,
                uint64_t *state, struct perf_config *config);

/* Appends the valid configs that differ from `config` in one parameter: in any value of it, or with `adjacent`
 * only in the nearest valid values below and above. Returns how many were appended to `neighbours` (a GArray of
 * struct perf_config), in the order of parameters, then values. */
int space_neighbours(const struct space *space, const struct problem *p,
                     const struct context *context, const struct perf_config *config, bool adjacent,
                     GArray *neighbours);

/* Whether each value is one of its parameter's values and every constraint holds. On false *why (may be NULL) names
 * the parameter or constraint. */
bool space_contains(const struct space *space, const struct problem *p,
                    const struct context *context, const struct perf_config *config,
                    const char **why);
/* Sets the first of `count` configs that the space contains, or the last one where it contains none. `values`
 * holds the configs in a row. */
void space_choose_first(const struct space *space, const struct problem *p,
                        const struct context *context, const int32_t *values, gsize count,
                        struct perf_config *config);

/* A config's text form: values joined by commas ("64,8,1"), "" for count 0. Parsing is strict: exactly
 * param_count values, no spaces, no plus signs. */
#define CONFIG_TEXT_MAX (CONFIG_MAX * 12)
const char *perf_config_format(const struct perf_config *config, char buffer[CONFIG_TEXT_MAX]);
bool perf_config_parse(const char *text, int count, struct perf_config *config, GError **error);
bool perf_config_equal(const struct perf_config *a, const struct perf_config *b);

#endif
