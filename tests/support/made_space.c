#include "tests/support/made_space.h"

#include <math.h>

#define VALUES 8

static const int32_t values[VALUES] = {1, 2, 3, 4, 5, 6, 7, 8};
static const struct space_param params[] = {
    {"A", VALUES, values}, {"B", VALUES, values}, {"C", VALUES, values}};

static bool made_contains(const struct search_space *space, const struct perf_config *config)
{
    if (config->count != space->param_count)
        return false;
    for (int i = 0; i < config->count; i++)
        if (config->values[i] < 1 || config->values[i] > VALUES)
            return false;
    return config->values[0] * config->values[1] <= 32;
}

static void made_walk(const struct search_space *space, search_visit_fn *visit, gpointer data)
{
    for (int i = 0; i < VALUES * VALUES * VALUES; i++) {
        struct perf_config config = {3, {1 + i / 64, 1 + i / 8 % 8, 1 + i % 8}};
        if (made_contains(space, &config) && !visit(&config, data))
            return;
    }
}

const struct search_space made_space = {
    .param_count = 3, .params = params, .contains = made_contains, .walk = made_walk};

static bool count_one(const struct perf_config *config, gpointer data)
{
    (void)config;
    ++*(int *)data;
    return true;
}

int made_space_count(void)
{
    int count = 0;
    made_walk(&made_space, count_one, &count);
    return count;
}

/* A valley around (4, 6, 2), with waves along each parameter. */
double made_time(const struct perf_config *config)
{
    const int32_t *v = config->values;
    double waves = (v[0] % 2 != 0) + (v[1] % 3 != 0) + (v[2] % 2 != 0);
    return 1 + 0.1 * (pow(v[0] - 4, 2) + pow(v[1] - 6, 2) + pow(v[2] - 2, 2)) + 0.3 * waves;
}

double made_best_time(void)
{
    return made_time(&(struct perf_config){3, {4, 6, 2}});
}

void made_observe(Searcher *searcher, const struct perf_config *config, double time)
{
    searcher_observe(searcher, &(struct search_try){.config = *config, .time = time, .seconds = 1});
}

int made_batch(Searcher *searcher, int wanted, double (*time)(const struct perf_config *),
               GString *all)
{
    g_autofree struct perf_config *configs = g_new(struct perf_config, wanted);
    int count = searcher_propose(searcher, wanted, configs);
    for (int i = 0; i < count; i++) {
        char text[CONFIG_TEXT_MAX];
        if (all)
            g_string_append_printf(all, "%s ", perf_config_format(&configs[i], text));
        made_observe(searcher, &configs[i], time(&configs[i]));
    }
    return count;
}
