#include "tests/support/bench/search_budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/replay/replay.h"
#include "tests/support/bench/searched_jobs.h"

/* Distances between a job's times that are not known yet count as much (prospects.sql). */
#define UNKNOWN_DISTANCE 0.3
#define TRIES_MOST       168 /* of a job: the largest space of PoCL's; a campaign ends its search there */
#define MOST_WEIGHT      100.0 /* the most frequent problem's, of 1 */

/* Configs tried in all, so many for each job. */
static const int budgets[] = {4, 5, 6, 8, 12, 16, 24, 32, 48};

/* The tail is made of the four shortest times, as prospects.sql does, or of half of the times if these are more, as
 * solvers/search/expected_gain.h does. */
#define TAIL_LEAST 4

static const struct rule {
    const char *name;
    bool by_price, half;
} rules[] = {
    {"evenly", false, false},
    {"by price", true, false},
    {"by price, half of the times", true, true},
};

struct job {
    const struct searched_job *searched;
    int tries;    /* done */
    double price; /* of the next round; of a first round less than any other's */
};

struct network {
    struct searched_jobs searched;
    struct job *jobs;
    double weights[SEARCHED_PROBLEMS_MAX];
};

/* ---- the price of a job's next round ---- */

static int compare_times(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The mean distance, in logarithms, of the shortest times to the one behind them. */
static double tail_of(const double *sorted, int timed, const struct rule *rule)
{
    int wanted = rule->half ? MAX(timed / 2, TAIL_LEAST) : TAIL_LEAST;
    int known = CLAMP(timed - 1, 0, wanted);
    double sum = (wanted - known) * UNKNOWN_DISTANCE;
    for (int i = 0; i < known; i++)
        sum += log(sorted[known] / sorted[i]);
    return sum / wanted;
}

static int best_try(const struct job *job)
{
    int best = 0;
    for (int i = 1; i < job->tries; i++)
        best = job->searched->tried_ms[i] < job->searched->tried_ms[best] ? i : best;
    return best;
}

static double best_ms(const struct network *network, int problem)
{
    double best = INFINITY;
    for (int j = 0; j < network->searched.job_count; j++) {
        const struct job *job = &network->jobs[j];
        if (job->searched->problem == problem && job->tries > 0)
            best = fmin(best, job->searched->tried_ms[best_try(job)]);
    }
    return best;
}

/* Tries for each ms that they are expected to save the network. */
static double price_of(const struct network *network, const struct job *job,
                       const struct rule *rule)
{
    double sorted[SEARCHED_TRIES_MAX], problem_ms = best_ms(network, job->searched->problem);
    int timed = 0, more = REPLAY_BATCH, since_best = job->tries - 1 - best_try(job);
    for (int i = 0; i < job->tries; i++)
        if (isfinite(job->searched->tried_ms[i]))
            sorted[timed++] = job->searched->tried_ms[i];
    if (!isfinite(problem_ms))
        return 0; /* a network cannot run without it */
    if (timed == 0)
        return INFINITY;
    qsort(sorted, (size_t)timed, sizeof *sorted, compare_times);
    double tail = tail_of(sorted, timed, rule), behind = log(sorted[0] / problem_ms);
    double saves = network->weights[job->searched->problem] * problem_ms * more /
                   (since_best + more + 1) * exp(-behind / fmax(tail, 1e-6)) * (1 - exp(-tail));
    return more / fmax(saves, 1e-300);
}

/* ---- a campaign ---- */

/* The job that gets the next round; NULL when all spaces were tried. */
static struct job *next_job(const struct network *network)
{
    struct job *next = NULL;
    for (int j = 0; j < network->searched.job_count; j++) {
        struct job *job = &network->jobs[j];
        if (job->tries < job->searched->tries && (next == NULL || job->price < next->price))
            next = job;
    }
    return next;
}

/* Prices depend on the job's own tries and on the problem's best time. */
static void set_prices(const struct network *network, int problem, const struct rule *rule)
{
    for (int j = 0; j < network->searched.job_count; j++) {
        struct job *job = &network->jobs[j];
        if (job->searched->problem == problem)
            job->price = job->tries == 0   ? -1
                         : !rule->by_price ? job->tries
                                           : price_of(network, job, rule);
    }
}

/* The network's time with the fastest config of each problem that was tried, over that of all optima: what is shipped
 * if the second measurement finds it. */
static double time_over_optima(const struct network *network)
{
    double time = 0, optimum = 0;
    for (int p = 0; p < network->searched.problem_count; p++) {
        double best = INFINITY;
        for (int j = 0; j < network->searched.job_count; j++) {
            const struct job *job = &network->jobs[j];
            if (job->searched->problem == p)
                best = fmin(best, searched_job_best(job->searched, job->tries));
        }
        time += network->weights[p] * best;
        optimum += network->weights[p] * network->searched.optima[p];
    }
    return time / optimum;
}

/* A campaign's end: the network's time over that of all optima, and the recorded seconds of the configs. */
struct outcome_of_budget {
    double ratio, seconds;
};

static void run_campaign(struct network *network, const struct rule *rule,
                         struct outcome_of_budget outcomes[G_N_ELEMENTS(budgets)])
{
    int spent = 0;
    double seconds = 0;
    for (int j = 0; j < network->searched.job_count; j++) {
        network->jobs[j].tries = 0;
        network->jobs[j].price = -1;
    }
    for (gsize b = 0; b < G_N_ELEMENTS(budgets); b++) {
        int budget = budgets[b] * network->searched.job_count;
        struct job *job;
        while (spent < budget && (job = next_job(network)) != NULL) {
            int round = MIN(MIN(REPLAY_BATCH, job->searched->tries - job->tries), budget - spent);
            for (int i = 0; i < round; i++)
                seconds += job->searched->seconds[job->tries++];
            spent += round;
            set_prices(network, job->searched->problem, rule);
        }
        outcomes[b] = (struct outcome_of_budget){time_over_optima(network), seconds};
    }
}

/* ---- draws ---- */

static void set_draw(int draw, struct network *network)
{
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)draw);
    searched_jobs_take(&network->searched, draw);
    for (int p = 0; p < network->searched.problem_count; p++)
        network->weights[p] = exp(g_rand_double_range(random, 0, log(MOST_WEIGHT)));
}

void search_budget_print(const char *set, const GPtrArray *spaces, int draws)
{
    struct outcome_of_budget sums[G_N_ELEMENTS(budgets)][G_N_ELEMENTS(rules)] = {0};
    double worst[G_N_ELEMENTS(budgets)][G_N_ELEMENTS(rules)] = {{0}};
    struct network *network = g_new0(struct network, 1);
    searched_jobs_init(&network->searched, spaces, draws, TRIES_MOST);
    network->jobs = g_new0(struct job, spaces->len);
    for (int j = 0; j < network->searched.job_count; j++)
        network->jobs[j].searched = &network->searched.jobs[j];
    for (int draw = 0; draw < draws; draw++) {
        set_draw(draw, network);
        for (gsize r = 0; r < G_N_ELEMENTS(rules); r++) {
            struct outcome_of_budget outcomes[G_N_ELEMENTS(budgets)];
            run_campaign(network, &rules[r], outcomes);
            for (gsize b = 0; b < G_N_ELEMENTS(budgets); b++) {
                sums[b][r].ratio += outcomes[b].ratio;
                sums[b][r].seconds += outcomes[b].seconds;
                worst[b][r] = fmax(worst[b][r], outcomes[b].ratio);
            }
        }
    }
    printf(
        "\na limited budget, %s: %d problems, %d jobs, mean and worst of %d draws of the network's time over that of all "
        "optima; the part of all configs' seconds\n%-14s",
        set, network->searched.problem_count, network->searched.job_count, draws, "configs in all");
    for (gsize r = 0; r < G_N_ELEMENTS(rules); r++)
        printf(" %24s", rules[r].name);
    for (gsize b = 0; b < G_N_ELEMENTS(budgets); b++) {
        printf("\n%-14d", budgets[b] * network->searched.job_count);
        for (gsize r = 0; r < G_N_ELEMENTS(rules); r++)
            printf("  %6.3f (%6.3f) %5.1f %%", sums[b][r].ratio / draws, worst[b][r],
                   100 * sums[b][r].seconds / draws / network->searched.whole_seconds);
    }
    printf("\n");
    searched_jobs_clear(&network->searched);
    g_free(network->jobs);
    g_free(network);
}
