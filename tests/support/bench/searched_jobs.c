#include "tests/support/bench/searched_jobs.h"

#include <math.h>
#include <string.h>

#include "coordinator/replay/replay.h"

static int problem_number(GPtrArray *keys, const char *key)
{
    guint at = 0;
    while (at < keys->len && strcmp(keys->pdata[at], key) != 0)
        at++;
    if (at == keys->len)
        g_ptr_array_add(keys, (void *)key);
    return (int)at;
}

/* Groups the spaces by their problems. */
static void set_problems(struct searched_jobs *searched)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    for (guint i = 0; i < searched->spaces->len; i++) {
        const struct recorded_space *space = searched->spaces->pdata[i];
        const struct recorded_config *best =
            &g_array_index(space->configs, struct recorded_config, space->best);
        const char *problem = space->about.problem;
        int known = (int)keys->len;
        int number = problem_number(keys, problem != NULL && problem[0] ? problem : space->path);
        g_assert(number < SEARCHED_PROBLEMS_MAX);
        searched->jobs[i].problem = number;
        searched->optima[number] =
            number == known ? best->time_ms : fmin(searched->optima[number], best->time_ms);
    }
    searched->problem_count = (int)keys->len;
}

static GPtrArray *search_space(const struct recorded_space *space, int seeds, int tries)
{
    const struct replay_setup setup = {
        .space = space,
        .strategy = SEARCH_PRIOR,
        .budget = {.tries = (int)MIN(space->configs->len, (guint)MIN(tries, SEARCHED_TRIES_MAX))},
        .goes_on = true,
        .batch = REPLAY_BATCH,
    };
    return replay_seeds(&setup, seeds);
}

static double seconds_of(const struct recorded_space *space)
{
    double seconds = 0;
    for (guint i = 0; i < space->configs->len; i++)
        seconds += g_array_index(space->configs, struct recorded_config, i).seconds;
    return seconds;
}

void searched_jobs_init(struct searched_jobs *searched, const GPtrArray *spaces, int seeds,
                        int tries)
{
    *searched = (struct searched_jobs){
        .jobs = g_new0(struct searched_job, spaces->len),
        .job_count = (int)spaces->len,
        .spaces = spaces,
        .runs = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref),
    };
    for (guint i = 0; i < spaces->len; i++) {
        g_ptr_array_add(searched->runs, search_space(spaces->pdata[i], seeds, tries));
        searched->whole_seconds += seconds_of(spaces->pdata[i]);
    }
    set_problems(searched);
}

void searched_jobs_clear(struct searched_jobs *searched)
{
    g_ptr_array_unref(searched->runs);
    g_free(searched->jobs);
}

static void set_job(const struct recorded_space *space, const struct replay_run *run,
                    struct searched_job *job)
{
    job->tries = (int)MIN(run->tries->len, SEARCHED_TRIES_MAX);
    for (int i = 0; i < job->tries; i++) {
        const struct replay_try *tried = &g_array_index(run->tries, struct replay_try, i);
        const struct recorded_config *config =
            &g_array_index(space->configs, struct recorded_config, tried->index);
        job->tried_ms[i] = tried->observed_ms;
        job->true_ms[i] = config->time_ms;
        job->seconds[i] = config->seconds;
    }
}

void searched_jobs_take(struct searched_jobs *searched, int seed)
{
    for (int i = 0; i < searched->job_count; i++)
        set_job(searched->spaces->pdata[i],
                g_ptr_array_index((GPtrArray *)searched->runs->pdata[i], seed), &searched->jobs[i]);
}

double searched_job_best(const struct searched_job *job, int tries)
{
    double best = INFINITY;
    for (int i = 0; i < tries; i++)
        best = fmin(best, job->true_ms[i]);
    return best;
}
