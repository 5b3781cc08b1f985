#include "worker/search/search.h"

#include <math.h>

#include "schema/store/store_rounds.h"
#include "solvers/problem/problem_key.h"
#include "solvers/search/searcher.h"

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = search_mix(hash, (unsigned char)*text);
    return hash;
}

/* The seed of one job's search. A campaign has one seed for all jobs, and each job must draw its
 * own sequence. */
static uint64_t job_seed(const struct search *search)
{
    char key[PROBLEM_KEY_MAX];
    uint64_t hash = search_mix((uint64_t)search->seed, 0);
    hash = mix_text(hash, problem_key(search->problem, key));
    return mix_text(hash, search->solver->name);
}

/* A job's search: the searcher, and what it refers to. Must not be moved. */
struct job_search {
    const struct search *search;
    struct perf_config first; /* the default config, which begins each round */
    bool first_allowed;       /* the default config is not quarantined */
    struct solver_search_space of;
    struct search_space space;
    Searcher *searcher;
};

static int propose_as_solver(gconstpointer of, const struct tried_config *tries, int count,
                             int wanted, struct perf_config *configs)
{
    const struct search *search = of;
    return search->solver->propose(search->problem, search->context, tries, count, wanted, configs);
}

/* The time by which the search orders a config. A config dropped early as slow has a rough
 * time, which still places it behind the fast ones. */
static double outcome_time(const struct outcome *outcome)
{
    bool timed = outcome->failure == FAILURE_NONE || outcome->failure == FAILURE_SLOW;
    return timed ? outcome->median_ms : INFINITY;
}

/* The default config counts against the limit of tries even if only another search tried it: this
 * search would have begun with it, too. Its seconds are those of this search alone. */
static void observe_round(struct job_search *job, const struct round *round)
{
    bool costs = !round->beyond_limit && !round->remeasures;
    for (int i = 0; i < round->config_count; i++) {
        const struct outcome *outcome = &round->outcomes[i];
        const struct perf_config *config = &round->configs[i];
        struct search_try tried = {.config = *config,
                                   .time = outcome_time(outcome),
                                   .seconds = costs ? outcome->eval_seconds : 0,
                                   .beyond_budget =
                                       round->beyond_limit && !config_equal(config, &job->first)};
        searcher_observe(job->searcher, &tried);
    }
}

static void observe_history(struct job_search *job)
{
    const struct search *search = job->search;
    for (guint r = 0; search->rounds && r < search->rounds->len; r++)
        observe_round(job, g_ptr_array_index(search->rounds, r));
    for (guint i = 0; search->quarantined && i < search->quarantined->len; i++) {
        const struct perf_config *config =
            &g_array_index(search->quarantined, struct perf_config, i);
        if (config_equal(config, &job->first))
            job->first_allowed = false;
        searcher_forbid(job->searcher, config);
    }
}

static void job_search_init(struct job_search *job, const struct search *search)
{
    int strategy = strategy_find(search->strategy);
    g_assert(strategy >= 0);
    *job = (struct job_search){.search = search, .first_allowed = true};
    job->of = (struct solver_search_space){
        .space = solver_space(search->solver, search->problem, search->context),
        .problem = search->problem,
        .context = search->context,
    };
    if (job->of.space)
        search_space_of_solver(&job->space, &job->of);
    if (search->solver->default_config)
        search->solver->default_config(search->problem, search->context, &job->first);
    struct searcher_setup setup = {
        .space = job->of.space ? &job->space : NULL,
        .strategy = (enum strategy_id)strategy,
        .seed = job_seed(search),
        .first = &job->first,
        .prior =
            search->prior ? (const struct perf_config *)(const void *)search->prior->data : NULL,
        .prior_count = search->prior ? (int)search->prior->len : 0,
        .budget = {.tries = search->configs_limit,
                   .close_tries = search->close_configs,
                   .rival = search->rival_ms,
                   .seconds = search->search_seconds,
                   .gain = search->min_gain / 100},
    };
    if (solver_searches(search->solver, search->strategy)) {
        setup.own = propose_as_solver;
        setup.own_of = search;
    }
    job->searcher = searcher_new(&setup);
    for (guint i = 0; search->attempts && i < search->attempts->len; i++) {
        const struct tried_config *attempt =
            &g_array_index(search->attempts, struct tried_config, i);
        searcher_hint(job->searcher, &attempt->config, attempt->time_ms);
    }
    observe_history(job);
}

static void job_search_clear(struct job_search *job)
{
    searcher_free(job->searcher);
}

static GArray *propose(const struct job_search *job)
{
    int wanted = MAX(job->search->round_configs, 1);
    GArray *configs = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    g_array_set_size(configs, (guint)wanted);
    int count =
        searcher_propose(job->searcher, wanted, (struct perf_config *)(void *)configs->data);
    g_array_set_size(configs, (guint)count);
    return configs;
}

GArray *search_propose(const struct search *search, int *default_index)
{
    struct job_search job;
    job_search_init(&job, search);
    GArray *configs = propose(&job);
    *default_index = configs->len > 0 && job.first_allowed ? 0 : -1;
    if (*default_index == 0 &&
        !config_equal(&g_array_index(configs, struct perf_config, 0), &job.first))
        g_array_prepend_val(configs, job.first);
    job_search_clear(&job);
    return configs;
}

enum search_end search_end_now(const struct search *search)
{
    struct job_search job;
    job_search_init(&job, search);
    enum search_end end = searcher_end(job.searcher, MAX(search->round_configs, 1));
    job_search_clear(&job);
    return end;
}
