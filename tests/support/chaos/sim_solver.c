#include "tests/support/chaos/sim_solver.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_queue.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/farm/queue_farm.h"

#include <stdio.h>
#include <string.h>

#define SOLVERS       4
#define ROUNDS        2
#define ROUND_CONFIGS 4

static const char *const solvers[SOLVERS] = {"ConvSim0", "ConvSim1", "ConvSim2", "ConvSim3"};
const char *const sim_carried[] = {"ConvSim0:1:s", "ConvSim1:1:s", "ConvSim2:1:s", "ConvSim3:1:s",
                                   NULL};

int64_t sim_campaign(Store *store, int jobs)
{
    g_autoptr(GError) error = NULL;
    char name[] = "simulated", target[] = SIM_TARGET, strategy[] = "random";
    struct campaign campaign = {.name = name,
                                .identity = name,
                                .target = target,
                                .strategy = strategy,
                                .round_configs = ROUND_CONFIGS};
    struct job_plan *plans = g_new0(struct job_plan, (gsize)jobs);
    for (int i = 0; i < jobs; i++) {
        plans[i] = (struct job_plan){.solver = solvers[i % SOLVERS],
                                     .revision = 1,
                                     .hash = "s",
                                     .provider = "test",
                                     .algorithm = "Direct",
                                     .tunable = true,
                                     .priority = 1.0 / (i + 1),
                                     .multiplicity = 1};
        farm_problem(&plans[i].problem, 1 + i / SOLVERS);
    }
    if (!store_create_campaign(store, &campaign, plans, jobs, NULL, NULL, &error))
        g_error("simulated campaign: %s", error->message);
    g_free(plans);
    return campaign.id;
}

/* FNV-1a hash of the numbers that name a config; with config NULL, of those that name the job. */
static uint32_t hash(const struct job *job, const struct perf_config *config)
{
    const int64_t words[] = {job->problem.c, job->solver[strlen(job->solver) - 1],
                             config != NULL ? config->values[0] : -1,
                             config != NULL ? config->values[1] : -1};
    uint64_t sum = 14695981039346656037ull;
    for (gsize i = 0; i < 8 * G_N_ELEMENTS(words); i++)
        sum = (sum ^ ((uint64_t)words[i / 8] >> i % 8 * 8 & 0xff)) * 1099511628211ull;
    return (uint32_t)(sum >> 32);
}

struct round *sim_build(const struct job *job)
{
    int number = (int)job->rounds->len;
    struct round *round = round_new(ROUND_CONFIGS);
    round->number = number;
    round->stack = g_strdup("simulated");
    for (int i = 0; i < ROUND_CONFIGS; i++) {
        round->configs[i] = (struct perf_config){.count = 2, .values = {number, i}};
        round->kernel_keys[i] = g_strdup_printf("%064d", number * ROUND_CONFIGS + i);
    }
    return round;
}

static void evaluate(const struct job *job, struct round *round, int i)
{
    static const enum failure failures[] = {FAILURE_OUT_OF_BOUNDS, FAILURE_RUN_TIMEOUT,
                                            FAILURE_UNSTABLE};
    uint32_t number = hash(job, &round->configs[i]);
    bool hopeless = hash(job, NULL) % 16 == 0;
    double ms = 1 + (number / 16 % 1000000) / 1000.0;
    g_clear_pointer(&round->details[i], g_free);
    round->outcomes[i] = (struct outcome){.n = 10,
                                          .min_ms = ms * 0.75,
                                          .median_ms = ms,
                                          .spread = 0.0625,
                                          .error = 0.5,
                                          .build_seconds = 0.25,
                                          .eval_seconds = 0.5};
    if (!hopeless && number % 5 != 0)
        return;
    round->outcomes[i] =
        (struct outcome){.failure = hopeless ? FAILURE_WRONG_RESULT : failures[number / 5 % 3]};
    round->details[i] = g_strdup_printf("simulated, hash %u", number);
}

static struct round *open_round(const struct job *job)
{
    g_assert(job->rounds->len > 0);
    return job->rounds->pdata[job->rounds->len - 1];
}

struct round *sim_evaluate(const struct job *job)
{
    struct round *round = open_round(job);
    for (int i = 0; i < round->config_count; i++)
        evaluate(job, round, i);
    return round;
}

static void consider(const struct round *round, int i, struct kept *kept, int *count)
{
    if (round->outcomes[i].failure != FAILURE_NONE)
        return;
    int place = *count;
    while (place > 0 && kept[place - 1].outcome.median_ms > round->outcomes[i].median_ms)
        place--;
    if (place >= SIM_KEPT)
        return;
    *count = MIN(*count + 1, SIM_KEPT);
    memmove(&kept[place + 1], &kept[place], (gsize)(*count - place - 1) * sizeof *kept);
    kept[place] = (struct kept){.config = round->configs[i],
                                .kernel_keys = round->kernel_keys[i],
                                .outcome = round->outcomes[i],
                                .flops = 1e9};
}

int sim_keep(const struct job *job, struct kept kept[SIM_KEPT], struct sim_texts *texts)
{
    int count = 0;
    for (guint r = 0; r < job->rounds->len; r++) {
        const struct round *round = job->rounds->pdata[r];
        for (int i = 0; i < round->config_count; i++)
            consider(round, i, kept, &count);
    }
    for (int i = 0; i < count; i++) {
        g_snprintf(texts->text[i], sizeof texts->text[i], "%d,%d", kept[i].config.values[0],
                   kept[i].config.values[1]);
        kept[i].config_text = texts->text[i];
    }
    return count;
}

bool sim_has_more(const struct job *job)
{
    return open_round(job)->number + 1 < ROUNDS;
}

/* ---- results ---- */

static GString *lines_of(GHashTable *table, const struct problem *problem, const char *solver)
{
    char key[PROBLEM_KEY_MAX];
    g_autofree char *job = g_strdup_printf("%s %s", problem_key(problem, key), solver);
    GString *lines = g_hash_table_lookup(table, job);
    if (lines == NULL) {
        lines = g_string_new("");
        g_hash_table_insert(table, g_steal_pointer(&job), lines);
    }
    return lines;
}

static void free_lines(gpointer lines)
{
    g_string_free(lines, TRUE);
}

GHashTable *sim_results(Store *store, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_lines);
    g_autoptr(GPtrArray) jobs = store_list_jobs(store, campaign, &error);
    g_autoptr(GPtrArray) results = jobs ? store_list_results(store, campaign, &error) : NULL;
    if (results == NULL)
        g_error("simulated campaign: %s", error->message);
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = jobs->pdata[i];
        g_string_append_printf(lines_of(table, &job->problem, job->solver), "%s %s rounds %d",
                               job->state, failure_name(job->failure), job->rounds);
    }
    for (guint i = 0; i < results->len; i++) {
        const struct result *result = results->pdata[i];
        g_string_append_printf(lines_of(table, &result->problem, result->solver), "\n%d %s %.17g",
                               result->rank, result->kept.config_text,
                               result->kept.outcome.median_ms);
    }
    return table;
}
