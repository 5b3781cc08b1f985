#include "solvers/search/search_space.h"

guint config_hash(gconstpointer key)
{
    const struct perf_config *config = key;
    guint hash = (guint)config->count;
    for (int i = 0; i < config->count; i++)
        hash = hash * 31 + (guint)config->values[i];
    return hash;
}

gboolean config_equal(gconstpointer a, gconstpointer b)
{
    return perf_config_equal(a, b);
}

static bool solver_contains(const struct search_space *space, const struct perf_config *config)
{
    const struct solver_search_space *of = space->of;
    return space_contains(of->space, of->problem, of->context, config, NULL);
}

static void solver_walk(const struct search_space *space, search_visit_fn *visit, gpointer data)
{
    const struct solver_search_space *of = space->of;
    struct perf_config config;
    struct space_walk walk;
    space_walk_init(&walk, of->space, of->problem, of->context);
    while (space_walk_next(&walk, &config) && visit(&config, data))
        ;
}

void search_space_of_solver(struct search_space *space, const struct solver_search_space *of)
{
    *space = (struct search_space){.param_count = of->space->param_count,
                                   .params = of->space->params,
                                   .of = of,
                                   .contains = solver_contains,
                                   .walk = solver_walk};
}

void search_space_neighbours(const struct search_space *space, const struct perf_config *config,
                             GArray *neighbours)
{
    if (config->count != space->param_count)
        return;
    for (int i = 0; i < space->param_count; i++) {
        struct perf_config other = *config;
        for (int v = 0; v < space->params[i].count; v++) {
            other.values[i] = space->params[i].values[v];
            if (other.values[i] != config->values[i] && space->contains(space, &other))
                g_array_append_val(neighbours, other);
        }
    }
}
