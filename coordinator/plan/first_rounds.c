#include "coordinator/plan/first_rounds.h"

#include "coordinator/cli/when.h"
#include "coordinator/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns the problems of jobs that had a round and did not fail, as the keys of a table. */
static GHashTable *problems_with_winner(const GPtrArray *jobs)
{
    GHashTable *problems = problem_table_new(NULL);
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = g_ptr_array_index(jobs, i);
        if (job->rounds > 0 && strcmp(job->state, "failed") != 0)
            g_hash_table_add(problems, (gpointer)&job->problem);
    }
    return problems;
}

GArray *first_rounds_list(const GPtrArray *jobs, const struct campaign *campaign,
                          const struct target *target, double eval_seconds, int64_t *evaluations)
{
    GArray *rounds = g_array_new(FALSE, TRUE, sizeof(struct first_round));
    struct context context;
    g_autoptr(GHashTable) won = problems_with_winner(jobs);
    g_autoptr(GHashTable) counted = problem_table_new(NULL);
    context_init(&context, target);
    context_set_limits(&context, &campaign->limits);
    *evaluations = 0;
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = g_ptr_array_index(jobs, i);
        const struct solver *solver = solver_find(job->solver);
        bool is_same = solver && solver->revision == job->revision && target->id[0];
        bool is_open = strcmp(job->state, "done") != 0 && strcmp(job->state, "failed") != 0 &&
                       strcmp(job->state, "cancelled") != 0;
        int64_t configs = is_same ? plan_expected_configs(solver, &job->problem, &context,
                                                          campaign->configs_limit,
                                                          campaign->close_configs, counted)
                                  : 1;
        int round_configs = solver ? plan_round_configs(solver, campaign) : campaign->round_configs;
        configs =
            plan_configs_within(configs, round_configs, campaign->search_seconds, eval_seconds);
        *evaluations += plan_evaluations(configs, round_configs);
        if (!is_open || job->rounds > 0)
            continue;
        const struct first_round round = {
            .problem = &job->problem,
            .solver = job->solver,
            .configs = MIN(configs, campaign->round_configs),
            .priority = job->priority,
            .has_winner = g_hash_table_contains(won, &job->problem),
        };
        g_array_append_val(rounds, round);
    }
    return rounds;
}

static const struct first_round *round_at(const GArray *rounds, guint i)
{
    return &g_array_index(rounds, struct first_round, i);
}

int64_t first_rounds_configs(const GArray *rounds)
{
    int64_t configs = 0;
    for (guint i = 0; i < rounds->len; i++)
        configs += round_at(rounds, i)->configs;
    return configs;
}

int64_t first_rounds_problems(const GArray *rounds)
{
    g_autoptr(GHashTable) problems = problem_table_new(NULL);
    for (guint i = 0; i < rounds->len; i++)
        if (!round_at(rounds, i)->has_winner)
            g_hash_table_add(problems, (gpointer)round_at(rounds, i)->problem);
    return g_hash_table_size(problems);
}

/* ---- suggestions that fit the budget ---- */

/* Returns the solver whose jobs weigh most among the problems that have no chosen solver yet. NULL
 * if every problem has one. */
static const char *next_solver(const GArray *rounds, GHashTable *covered)
{
    g_autoptr(GHashTable) weights = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    const char *best = NULL;
    double most = -1;
    for (guint i = 0; i < rounds->len; i++) {
        const struct first_round *round = round_at(rounds, i);
        if (g_hash_table_contains(covered, round->problem))
            continue;
        double *weight = g_hash_table_lookup(weights, round->solver);
        if (!weight) {
            weight = g_new0(double, 1);
            g_hash_table_insert(weights, (gpointer)round->solver, weight);
        }
        *weight += round->priority;
        if (*weight > most) {
            most = *weight;
            best = round->solver;
        }
    }
    return best;
}

static int64_t configs_of_solver(const GArray *rounds, const char *solver, GHashTable *covered)
{
    int64_t configs = 0;
    for (guint i = 0; i < rounds->len; i++) {
        const struct first_round *round = round_at(rounds, i);
        if (strcmp(round->solver, solver) != 0)
            continue;
        configs += round->configs;
        g_hash_table_add(covered, (gpointer)round->problem);
    }
    return configs;
}

/* Returns a few solvers that together serve all problems, the most promising first: "ConvA,ConvB".
 * *configs becomes the number of configs in their first rounds. Free with g_free(). */
static char *few_solvers(const GArray *rounds, int64_t *configs)
{
    g_autoptr(GHashTable) covered = problem_table_new(NULL);
    GString *names = g_string_new(NULL);
    const char *solver;
    *configs = 0;
    while ((solver = next_solver(rounds, covered))) {
        g_string_append_printf(names, "%s%s", names->len > 0 ? "," : "", solver);
        *configs += configs_of_solver(rounds, solver, covered);
    }
    return g_string_free(names, FALSE);
}

struct layer_cost {
    double weight; /* the highest priority of the problem's jobs */
    int64_t configs;
};

static int compare_weights(const void *a, const void *b)
{
    double left = ((const struct layer_cost *)a)->weight;
    double right = ((const struct layer_cost *)b)->weight;
    return (left < right) - (left > right);
}

/* Returns how many problems, the most important first, have first rounds that together need at most
 * `most` configs. */
static guint problems_within(const GArray *rounds, double most, guint *problems)
{
    g_autoptr(GHashTable) places = problem_table_new(NULL);
    g_autoptr(GArray) costs = g_array_new(FALSE, TRUE, sizeof(struct layer_cost));
    for (guint i = 0; i < rounds->len; i++) {
        const struct first_round *round = round_at(rounds, i);
        guint place = GPOINTER_TO_UINT(g_hash_table_lookup(places, round->problem));
        if (place == 0) {
            g_array_set_size(costs, costs->len + 1);
            place = costs->len;
            g_hash_table_insert(places, (gpointer)round->problem, GUINT_TO_POINTER(place));
        }
        struct layer_cost *cost = &g_array_index(costs, struct layer_cost, place - 1);
        cost->weight = MAX(cost->weight, round->priority);
        cost->configs += round->configs;
    }
    g_array_sort(costs, compare_weights);
    *problems = costs->len;
    guint fit = 0;
    for (int64_t configs = 0; fit < costs->len; fit++) {
        configs += g_array_index(costs, struct layer_cost, fit).configs;
        if ((double)configs > most)
            break;
    }
    return fit;
}

/* ---- the message ---- */

static void add_offer(GString *text, const char *option, const char *what)
{
    g_string_append_printf(text, "  %-24s %s\n", option, what);
}

/* Rounds seconds up to a number that is easily read: to 5 or 10 seconds, from ten minutes on to
 * minutes. */
static double rounded_up(double seconds)
{
    double step = seconds < 60 ? 5 : seconds < 600 ? 10 : 60;
    return ceil(seconds / step) * step;
}

static char *about(double seconds)
{
    g_autofree char *duration = when_duration(MAX(seconds, 1));
    return g_strdup_printf("about %s", duration);
}

static void offer_budget(GString *text, double seconds)
{
    g_autofree char *option = g_strdup_printf("--budget %.0f", rounded_up(seconds));
    add_offer(text, option, "the first rounds of all jobs");
}

static void offer_configs(GString *text, const GArray *rounds, int64_t all, double config_seconds)
{
    if ((int64_t)rounds->len >= all)
        return;
    g_autofree char *duration = about(rounds->len * config_seconds);
    g_autofree char *what = g_strdup_printf("the default configs alone, %s", duration);
    add_offer(text, "--configs 1", what);
}

static void offer_solvers(GString *text, const GArray *rounds, int64_t all, double config_seconds)
{
    int64_t configs;
    g_autofree char *names = few_solvers(rounds, &configs);
    if (configs >= all)
        return;
    g_autofree char *duration = about((double)configs * config_seconds);
    g_autofree char *option = g_strdup_printf("--solvers %s", names);
    g_autofree char *what =
        g_strdup_printf("the most promising that serve all problems, %s", duration);
    add_offer(text, option, what);
}

static void offer_layers(GString *text, const GArray *rounds, double seconds, double config_seconds)
{
    guint problems;
    guint fit = problems_within(rounds, seconds / config_seconds, &problems);
    if (fit == 0 || fit >= problems)
        return;
    g_autofree char *what =
        g_strdup_printf("the %u heaviest of the %u problems fit", fit, problems);
    add_offer(text, "fewer layers", what);
}

static void offer_deadline(GString *text, double seconds, int64_t all, double config_seconds)
{
    g_autofree char *option = g_strdup_printf("--deadline %.0fs", MAX(seconds, 1));
    double share = seconds / ((double)all * config_seconds);
    g_autofree char *what =
        g_strdup_printf("ends it then: about %.0f %% of the first rounds are done, and the report "
                        "names problems without a winner",
                        CLAMP(share, 0, 1) * 100);
    add_offer(text, option, what);
}

/* Returns what happens once the budget is spent. Free with g_free(). */
static char *promise_text(const GArray *rounds, double config_seconds)
{
    int64_t problems = first_rounds_problems(rounds);
    g_autofree char *leaders = about((double)problems * config_seconds);
    if (problems == 0)
        return g_strdup("all jobs that still wait end; each problem has a winner already");
    return g_strdup_printf(
        "each problem without a winner gets one config of its most promising solver "
        "(%" G_GINT64_FORMAT " problem%s: %s in all), and all other jobs end",
        problems, problems == 1 ? "" : "s", leaders);
}

char *first_rounds_advice(const GArray *rounds, const struct campaign *campaign,
                          double config_seconds, bool is_guess)
{
    int64_t configs = first_rounds_configs(rounds);
    double seconds = (double)configs * config_seconds;
    double left = MAX(campaign->budget_seconds - campaign->spent_seconds, 0);
    if (campaign->budget_seconds <= 0 || campaign->build_only || seconds <= left + 1)
        return NULL;
    g_autofree char *budget = when_duration(left);
    g_autofree char *duration = about(seconds);
    g_autofree char *promise = promise_text(rounds, config_seconds);
    GString *text = g_string_new(NULL);
    g_string_append_printf(
        text,
        "the budget %s %s, and the first rounds of %u jobs take %s (%" G_GINT64_FORMAT
        " configs of %.2f s, %s).\nOnce it is spent, %s%s. Instead of that:\n",
        campaign->spent_seconds > 0 ? "has left" : "is", budget, rounds->len, duration, configs,
        config_seconds, is_guess ? "a guess" : "as measured here before", promise,
        campaign->deadline_unix ? ", or at the deadline if that is sooner" : "");
    offer_budget(text, campaign->spent_seconds + seconds);
    offer_configs(text, rounds, configs, config_seconds);
    offer_solvers(text, rounds, configs, config_seconds);
    offer_layers(text, rounds, left, config_seconds);
    if (!campaign->deadline_unix)
        offer_deadline(text, left, configs, config_seconds);
    return g_string_free(text, FALSE);
}

void first_rounds_say(Store *store, const struct campaign *campaign)
{
    struct target target = {0};
    struct progress_rates rates;
    if (campaign->budget_seconds <= 0 || campaign->build_only)
        return;
    g_autoptr(GPtrArray) jobs = store_list_jobs(store, campaign->id, NULL);
    if (!jobs || !store_get_target(store, campaign->target, &target, NULL))
        return;
    int64_t evaluations;
    progress_rates_load(store, campaign->target, &rates);
    g_autoptr(GArray) rounds =
        first_rounds_list(jobs, campaign, &target, rates.eval_seconds, &evaluations);
    g_autofree char *advice = first_rounds_advice(
        rounds, campaign, progress_config_seconds(&rates, (int)g_get_num_processors()),
        !rates.measured);
    if (advice)
        fputs(advice, stderr);
}
