#include "tests/support/bench/search_twice.h"

#include <math.h>
#include <stdio.h>

#include "coordinator/replay/replay.h"
#include "solvers/search/searcher.h"
#include "tests/support/bench/searched_jobs.h"

#define AGREES 1.02

static const struct rule {
    int configs, close_configs; /* of a job; close_configs 0: as any other */
    double close; /* how many times the problem's best time a close job's takes at most */
} rules[] = {
    {.configs = 4},
    {.configs = 8},
    {.configs = 16},
    {.configs = 32},
    {.configs = 48},
    {.configs = 64},
    {.configs = 96},
    {.configs = 32, .close_configs = 64, .close = SEARCH_CLOSE},
    {.configs = 32, .close_configs = 96, .close = SEARCH_CLOSE},
    {.configs = 32, .close_configs = 128, .close = SEARCH_CLOSE},
    {.configs = 32, .close_configs = 96, .close = 1.02},
    {.configs = 32, .close_configs = 96, .close = 1.05},
    {.configs = 32, .close_configs = 96, .close = 1.2},
};
#define TRIES_MOST 128

struct job_state {
    int tries;
    double best_ms; /* of the times that the search saw */
    bool over;
};

static void do_round(const struct searched_job *job, int most, struct job_state *state)
{
    int end = MIN(MIN(state->tries + REPLAY_BATCH, most), job->tries);
    for (; state->tries < end; state->tries++)
        state->best_ms = fmin(state->best_ms, job->tried_ms[state->tries]);
}

/* Most configs of a job as things are now. A job is asked whether it is close when its `configs` are spent. */
static int most_of(const struct rule *rule, const struct job_state *state, double problem_ms)
{
    bool is_close = state->tries >= rule->configs && state->best_ms <= rule->close * problem_ms;
    return is_close ? MAX(rule->close_configs, rule->configs) : rule->configs;
}

struct cost {
    double tries, seconds;
};

/* All jobs go round by round. Sets winners[] to the fastest recorded time that was tried of each problem. */
static void run_campaign(const struct searched_jobs *searched, const struct rule *rule,
                         double *winners, struct cost *cost)
{
    g_autofree struct job_state *states = g_new0(struct job_state, searched->job_count);
    double best_ms[SEARCHED_PROBLEMS_MAX];
    for (int p = 0; p < searched->problem_count; p++)
        best_ms[p] = winners[p] = INFINITY;
    for (int j = 0; j < searched->job_count; j++)
        states[j].best_ms = INFINITY;
    for (bool more = true; more;) {
        more = false;
        for (int j = 0; j < searched->job_count; j++) {
            const struct searched_job *job = &searched->jobs[j];
            int most = MIN(most_of(rule, &states[j], best_ms[job->problem]), job->tries);
            states[j].over = states[j].over || states[j].tries >= most;
            if (states[j].over)
                continue;
            do_round(job, most, &states[j]);
            best_ms[job->problem] = fmin(best_ms[job->problem], states[j].best_ms);
            more = true;
        }
    }
    for (int j = 0; j < searched->job_count; j++) {
        double *winner = &winners[searched->jobs[j].problem];
        *winner = fmin(*winner, searched_job_best(&searched->jobs[j], states[j].tries));
        cost->tries += states[j].tries;
        for (int i = 0; i < states[j].tries; i++)
            cost->seconds += searched->jobs[j].seconds[i];
    }
}

struct outcome_of_rule {
    double agreeing, loss, worst; /* shares; the loss is the mean of the logarithms */
};

/* winners: of each seed, SEARCHED_PROBLEMS_MAX times. */
static struct outcome_of_rule compare(const struct searched_jobs *searched, int seeds,
                                      const double *winners)
{
    struct outcome_of_rule found = {0};
    int pairs = 0;
    for (int p = 0; p < searched->problem_count; p++)
        for (int a = 0; a < seeds; a++) {
            double ms = winners[a * SEARCHED_PROBLEMS_MAX + p];
            double loss = log(ms / searched->optima[p]);
            found.loss += loss / (seeds * searched->problem_count);
            found.worst = fmax(found.worst, loss);
            for (int b = 0; b < a; b++, pairs++)
                found.agreeing +=
                    fabs(log(ms / winners[b * SEARCHED_PROBLEMS_MAX + p])) <= log(AGREES);
        }
    found.agreeing /= pairs;
    return found;
}

static void print_rule(struct searched_jobs *searched, const struct rule *rule, int seeds)
{
    g_autofree double *winners = g_new(double, (gsize)seeds *SEARCHED_PROBLEMS_MAX);
    struct cost cost = {0};
    for (int seed = 0; seed < seeds; seed++) {
        searched_jobs_take(searched, seed);
        run_campaign(searched, rule, &winners[seed * SEARCHED_PROBLEMS_MAX], &cost);
    }
    struct outcome_of_rule found = compare(searched, seeds, winners);
    g_autofree char *name =
        rule->close_configs > 0
            ? g_strdup_printf("%d, to %.2f %d", rule->configs, rule->close, rule->close_configs)
            : g_strdup_printf("%d", rule->configs);
    printf("%-20s %10.0f %10.1f %10.1f %10.2f %10.1f\n", name, cost.tries / seeds,
           100 * cost.seconds / seeds / searched->whole_seconds, 100 * found.agreeing,
           100 * (exp(found.loss) - 1), 100 * (exp(found.worst) - 1));
    fflush(stdout);
}

void search_twice_print(const char *set, const GPtrArray *spaces, int seeds)
{
    struct searched_jobs searched;
    seeds = MAX(seeds, 2);
    searched_jobs_init(&searched, spaces, seeds, TRIES_MOST);
    printf(
        "\ntwo campaigns from nothing, %s: %d problems, %d jobs, pairs of %d campaigns\n%-20s %10s %10s %10s %10s %10s\n",
        set, searched.problem_count, searched.job_count, seeds, "configs of a job", "configs",
        "seconds %", "agree %", "loss %", "most");
    for (gsize r = 0; r < G_N_ELEMENTS(rules); r++)
        print_rule(&searched, &rules[r], seeds);
    searched_jobs_clear(&searched);
}
