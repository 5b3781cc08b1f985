#include "tests/support/search_job.h"

#include "schema/store/store_rounds.h"

static void free_round(gpointer round)
{
    round_free(round);
}

void search_job_init(struct search_job *job, const struct solver *solver, const char *strategy,
                     int64_t seed, int configs_limit, int round_configs)
{
    *job = (struct search_job){0};
    problem_init(&job->problem);
    problem_set_output(&job->problem);
    context_init(&job->context, &job->target);
    job->rounds = g_ptr_array_new_with_free_func(free_round);
    job->quarantined = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    job->prior = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    job->search = (struct search){
        .solver = solver,
        .problem = &job->problem,
        .context = &job->context,
        .strategy = strategy,
        .seed = seed,
        .configs_limit = configs_limit,
        .round_configs = round_configs,
        .rounds = job->rounds,
        .prior = job->prior,
        .quarantined = job->quarantined,
    };
}

void search_job_clear(struct search_job *job)
{
    g_ptr_array_unref(job->rounds);
    g_array_unref(job->quarantined);
    g_array_unref(job->prior);
}

char *search_job_next(struct search_job *job, int *default_index)
{
    char text[CONFIG_TEXT_MAX];
    g_autoptr(GArray) configs = search_propose(&job->search, default_index);
    g_autoptr(GString) all = g_string_new(NULL);
    struct round *round = round_new((int)configs->len);

    for (int i = 0; i < round->config_count; i++) {
        round->configs[i] = g_array_index(configs, struct perf_config, i);
        g_string_append_printf(all, "%s%s", i ? " " : "",
                               perf_config_format(&round->configs[i], text));
    }
    g_ptr_array_add(job->rounds, round);
    return g_string_free(g_steal_pointer(&all), FALSE);
}

bool search_job_applies(const struct problem *p, const struct context *context, const char **reason)
{
    (void)p;
    (void)context;
    (void)reason;
    return true;
}
