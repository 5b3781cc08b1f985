/*
 * A space as a search sees it: names and values of parameters, and which combinations are valid. It may be a solver's
 * space for one problem and target, or a space that was recorded elsewhere.
 *
 * Values are integers. A space whose parameters take other values (texts, fractions) numbers them in ascending order.
 */
#ifndef SOLVERS_SEARCH_SEARCH_SPACE_H
#define SOLVERS_SEARCH_SEARCH_SPACE_H

#include "solvers/framework/solver.h"

/* Is called for each config of a walk; false ends the walk. */
typedef bool search_visit_fn(const struct perf_config *config, gpointer data);

struct search_space {
    int param_count;                  /* at most CONFIG_MAX */
    const struct space_param *params; /* param_count of them */
    gconstpointer of; /* what the two functions read; it belongs to who made the space */
    /* Whether the config is valid: one of the values of each parameter, in an allowed combination. */
    bool (*contains)(const struct search_space *space, const struct perf_config *config);
    /* Visits every valid config once, always in the same order. */
    void (*walk)(const struct search_space *space, search_visit_fn *visit, gpointer data);
};

/* A solver's space, and the problem and context that it is for. It must outlive the search
 * space. */
struct solver_search_space {
    const struct space *space; /* solver_space(); not NULL */
    const struct problem *problem;
    const struct context *context;
};
void search_space_of_solver(struct search_space *space, const struct solver_search_space *of);

/* Appends to `neighbours` (struct perf_config) the valid configs that differ from `config` in one parameter, in any
 * value of it, in the order of parameters, then values. A config with another number of values has none. */
void search_space_neighbours(const struct search_space *space, const struct perf_config *config,
                             GArray *neighbours);

/* For hash tables whose keys are struct perf_config *. */
guint config_hash(gconstpointer config);
gboolean config_equal(gconstpointer a, gconstpointer b);

#endif
