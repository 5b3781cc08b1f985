/*
 * A space is the set of perf configs of a tunable solver: named integer
 * parameters, the values each may take, and named constraints. It is walked
 * in a fixed order (the first parameter varies slowest) through valid configs
 * only, without building the product.
 */
#ifndef SOLVERS_FRAMEWORK_SPACE_H
#define SOLVERS_FRAMEWORK_SPACE_H

#include "solvers/framework/target.h"
#include "solvers/problem/problem.h"

/* Limits under which a solver is asked, beside the target's own: those of a campaign where a plan, a worker's job or
 * a report asks, the user's where `solvers --problem` and `lookup --choose` ask; else none. */
struct context {
    const struct target *target;
    uint64_t workspace_limit; /* bytes; UINT64_MAX for no limit */
    bool dynamic_only;        /* only kernels that serve all problems with one binary */
    bool deterministic;       /* bitwise equal results from run to run */
    bool tunable_only;        /* only solvers with perf configs to choose among */
};

/* The limits that a campaign or a user sets; all zero for none. */
struct context_limits {
    bool limits_workspace; /* to workspace_bytes, which may be 0 */
    uint64_t workspace_bytes;
    bool dynamic_only, deterministic, tunable_only; /* as struct context has them */
};

/* No limits beyond the target's. */
void context_init(struct context *context, const struct target *target);
/* These alone, beside the target's. */
void context_set_limits(struct context *context, const struct context_limits *limits);
bool context_limits_equal(const struct context_limits *a, const struct context_limits *b);
/* "a workspace of at most 64 MiB, dynamic kernels alone"; NULL for no limits. Free with g_free(). */
char *context_limits_text(const struct context_limits *limits);
bool context_is_cpu(const struct context *context);

#define CONFIG_MAX 16

/* One choice in a solver's space; count 0 for solvers that cannot be tuned. */
struct perf_config {
    int count;
    int32_t values[CONFIG_MAX];
};

struct space_param {
    const char *name; /* "TILE_K": a word of capitals */
    int count;
    const int32_t *values; /* ascending */
};

struct space_constraint {
    const char *name;     /* "tile_fits_registers": small letters */
    const char *protects; /* the limit it protects: "registers" */
    int needs; /* it looks at the first `needs` parameters only: lets a walk prune early */
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

/* The pointers must outlive the walk. */
void space_walk_init(struct space_walk *walk, const struct space *space, const struct problem *p,
                     const struct context *context);
/* The next valid config in order; false at the end. */
bool space_walk_next(struct space_walk *walk, struct perf_config *config);

int64_t space_count(const struct space *space, const struct problem *p,
                    const struct context *context);
/* The same, but counts no further than to `most`. */
int64_t space_count_up_to(const struct space *space, const struct problem *p,
                          const struct context *context, int64_t most);

/* A valid config drawn uniformly from all of them; false where there is none. *state is the draw's
 * random state (any value to begin with) and is advanced: equal states give equal draws. */
bool space_draw(const struct space *space, const struct problem *p, const struct context *context,
                uint64_t *state, struct perf_config *config);

/* The valid configs that differ from `config` in one parameter alone: in any of its values, or
 * (`adjacent`) in the valid value next below or above. Returns how many were appended to
 * `neighbours` (GArray of struct perf_config), in the order of parameters, then values. */
int space_neighbours(const struct space *space, const struct problem *p,
                     const struct context *context, const struct perf_config *config, bool adjacent,
                     GArray *neighbours);

/* Every value is one the parameter may take, and every constraint holds. On failure *why (may be
 * NULL) names the parameter or constraint. */
bool space_contains(const struct space *space, const struct problem *p,
                    const struct context *context, const struct perf_config *config,
                    const char **why);
/* Sets the first of `count` configs that the space contains, or the last one where it contains none. `values` holds the
 * configs one behind the other. */
void space_choose_first(const struct space *space, const struct problem *p,
                        const struct context *context, const int32_t *values, gsize count,
                        struct perf_config *config);

/* Text form: values joined by commas ("64,8,1"), "" for count 0. Parsing is strict: no spaces,
 * signs only on negatives, exactly param_count values. */
#define CONFIG_TEXT_MAX (CONFIG_MAX * 12)
const char *perf_config_format(const struct perf_config *config, char buffer[CONFIG_TEXT_MAX]);
bool perf_config_parse(const char *text, int count, struct perf_config *config, GError **error);
bool perf_config_equal(const struct perf_config *a, const struct perf_config *b);

#endif
