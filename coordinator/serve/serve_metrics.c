/* The coordinator's metrics over HTTP: deploy/metrics.md explains each. */
#include "coordinator/serve/serve.h"

#include "coordinator/plan/progress.h"
#include "schema/monitor/metrics.h"
#include "schema/monitor/version.h"
#include "schema/store/store_workers.h"

#include <math.h>
#include <string.h>

/* Answers older than this are discarded: the query behind them is stuck. */
#define ANSWER_SECONDS 30

typedef void write_fn(const struct serve *serve, const struct metric *metric, GString *text);

static double seconds_since(gint64 us)
{
    return (double)(g_get_monotonic_time() - us) / 1e6;
}

static bool is_up(const struct serve *serve)
{
    return serve->answered_us != 0 && !serve->error &&
           seconds_since(serve->answered_us) < ANSWER_SECONDS;
}

static void write_build(const struct serve *serve, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, 1, "version", SKIPJACK_VERSION, "node", serve->node, NULL);
}

static void write_up(const struct serve *serve, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, is_up(serve), NULL);
}

static void write_scrape(const struct serve *serve, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, serve->ask_seconds, NULL);
}

static void write_runs(const struct serve *serve, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, (double)serve->upkeeper.runs, NULL);
}

static void write_run_failures(const struct serve *serve, const struct metric *metric,
                               GString *text)
{
    metric_sample(text, metric, (double)serve->upkeeper.failures, NULL);
}

/* ---- campaigns ---- */

#define EACH_CAMPAIGN(serve, c, id)                                                                \
    char id[24];                                                                                   \
    const struct farm_campaign *c;                                                                 \
    for (guint i_ = 0; i_ < (serve)->farm->campaigns->len &&                                       \
                       (c = g_ptr_array_index((serve)->farm->campaigns, i_)) &&                    \
                       g_snprintf(id, sizeof id, "%" G_GINT64_FORMAT, (gint64)c->id);              \
         i_++)

static void write_jobs(const struct serve *serve, const struct metric *metric, GString *text)
{
    EACH_CAMPAIGN (serve, c, id) {
        const struct {
            const char *state;
            int64_t jobs;
        } states[] = {
            {"ready", c->ready},           {"building", c->building}, {"built", c->built},
            {"evaluating", c->evaluating}, {"done", c->done},         {"failed", c->failed},
        };
        for (size_t s = 0; s < G_N_ELEMENTS(states); s++)
            metric_sample(text, metric, (double)states[s].jobs, "campaign", id, "state",
                          states[s].state, NULL);
    }
}

static void write_failed(const struct serve *serve, const struct metric *metric, GString *text)
{
    EACH_CAMPAIGN (serve, c, id)
        for (int f = 0; f < FAILURE_COUNT; f++)
            if (c->failures[f] > 0)
                metric_sample(text, metric, (double)c->failures[f], "campaign", id, "reason",
                              failure_name((enum failure)f), NULL);
}

static void write_spent(const struct serve *serve, const struct metric *metric, GString *text)
{
    EACH_CAMPAIGN (serve, c, id)
        metric_sample(text, metric, c->spent_seconds, "campaign", id, NULL);
}

static void write_budget(const struct serve *serve, const struct metric *metric, GString *text)
{
    EACH_CAMPAIGN (serve, c, id)
        metric_sample(text, metric, c->budget_seconds, "campaign", id, NULL);
}

static void write_eta(const struct serve *serve, const struct metric *metric, GString *text)
{
    EACH_CAMPAIGN (serve, c, id) {
        double eta = progress_farm_eta(c);
        if (isfinite(eta))
            metric_sample(text, metric, eta, "campaign", id, NULL);
    }
}

static void write_oldest_job(const struct serve *serve, const struct metric *metric, GString *text)
{
    double oldest = 0;
    EACH_CAMPAIGN (serve, c, id)
        if (strcmp(c->state, "active") == 0 && c->done + c->failed < c->jobs)
            oldest = MAX(oldest, c->age_seconds);
    metric_sample(text, metric, oldest, NULL);
}

static void write_refused(const struct serve *serve, const struct metric *metric, GString *text)
{
    EACH_CAMPAIGN (serve, c, id) {
        unsigned refused = 0;
        for (guint i = 0; i < serve->farm->refusals->len; i++)
            refused += ((const struct refusal_row *)g_ptr_array_index(serve->farm->refusals, i))
                           ->campaign == c->id;
        metric_sample(text, metric, refused, "campaign", id, NULL);
    }
}

/* ---- workers, configs taken out ---- */

static void write_workers(const struct serve *serve, const struct metric *metric, GString *text)
{
    static const char *const states[] = {"working", "idle", "draining", "lost"};
    for (size_t s = 0; s < G_N_ELEMENTS(states); s++) {
        unsigned count = 0;
        for (guint i = 0; i < serve->farm->workers->len; i++) {
            const struct farm_worker *worker = g_ptr_array_index(serve->farm->workers, i);
            count += strcmp(worker->state, states[s]) == 0;
        }
        metric_sample(text, metric, count, "state", states[s], NULL);
    }
}

static void write_failed_workers(const struct serve *serve, const struct metric *metric,
                                 GString *text)
{
    const GPtrArray *failed = serve->farm->failed_workers;
    int64_t count = 0;
    for (guint i = 0; i < failed->len; i++)
        count += ((const struct farm_trouble *)g_ptr_array_index(failed, i))->count;
    metric_sample(text, metric, (double)count, NULL);
}

static void write_quarantined(const struct serve *serve, const struct metric *metric, GString *text)
{
    for (guint i = 0; i < serve->farm->quarantine->len; i++) {
        const struct farm_trouble *row = g_ptr_array_index(serve->farm->quarantine, i);
        metric_sample(text, metric, (double)row->count, "solver", row->name, NULL);
    }
}

static void write_dead_rows(const struct serve *serve, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, serve->farm->database.dead_bundles, "table", "bundles", NULL);
}

static void write_upkeep(const struct serve *serve, const struct metric *metric, GString *text)
{
    if (serve->farm->database.upkeep_age_seconds >= 0)
        metric_sample(text, metric, serve->farm->database.upkeep_age_seconds, NULL);
}

/* ---- numbers as they are ---- */

#define FACT(member)                                                                               \
    static void write_##member(const struct serve *serve, const struct metric *metric,             \
                               GString *text)                                                      \
    {                                                                                              \
        metric_sample(text, metric, (double)serve->farm->database.member, NULL);                   \
    }
FACT(oldest_claim_seconds)
FACT(jobs_rate)
FACT(configs_rate)
FACT(kernels_rate)
FACT(blobs_loose)
FACT(kernels)
FACT(kernels_bytes)
FACT(bytes)
FACT(connections)
FACT(connections_limit)
FACT(oldest_transaction_seconds)

/* of_farm: what only an answer of the database knows. */
static const struct {
    struct metric metric;
    write_fn *write;
    bool of_farm;
} table[] = {
    {{"skipjack_build_info", METRIC_GAUGE, "The program; always 1."}, write_build, false},
    {{"skipjack_database_up", METRIC_GAUGE, "0 while the database does not answer."},
     write_up,
     false},
    {{"skipjack_scrape_seconds", METRIC_GAUGE, "How long the last questions took."},
     write_scrape,
     false},
    {{"skipjack_upkeep_runs_total", METRIC_COUNTER, "Upkeeps that this process did."},
     write_runs,
     false},
    {{"skipjack_upkeep_failures_total", METRIC_COUNTER, "Upkeeps that failed in it."},
     write_run_failures,
     false},
    {{"skipjack_jobs", METRIC_GAUGE, "Jobs of active and paused campaigns."}, write_jobs, true},
    {{"skipjack_jobs_failed", METRIC_GAUGE, "The failed ones by reason."}, write_failed, true},
    {{"skipjack_campaign_spent_seconds", METRIC_GAUGE, "Working time so far."}, write_spent, true},
    {{"skipjack_campaign_budget_seconds", METRIC_GAUGE, "What it may take, 0 for no limit."},
     write_budget,
     true},
    {{"skipjack_campaign_eta_seconds", METRIC_GAUGE, "Forecast of what is left."}, write_eta, true},
    {{"skipjack_oldest_open_job_seconds", METRIC_GAUGE, "Age of the oldest active campaign."},
     write_oldest_job,
     true},
    {{"skipjack_oldest_claim_seconds", METRIC_GAUGE, "Age of the oldest claim under way."},
     write_oldest_claim_seconds,
     true},
    {{"skipjack_jobs_per_second", METRIC_GAUGE, "Jobs ended, over five minutes."},
     write_jobs_rate,
     true},
    {{"skipjack_configs_per_second", METRIC_GAUGE, "Configs evaluated, over five minutes."},
     write_configs_rate,
     true},
    {{"skipjack_kernels_per_second", METRIC_GAUGE, "Kernels compiled, over five minutes."},
     write_kernels_rate,
     true},
    {{"skipjack_workers", METRIC_GAUGE, "Workers by state."}, write_workers, true},
    {{"skipjack_workers_failed", METRIC_GAUGE, "Workers that ended in error within a day."},
     write_failed_workers,
     true},
    {{"skipjack_workers_refused", METRIC_GAUGE, "Workers that the campaign does not admit."},
     write_refused,
     true},
    {{"skipjack_quarantined_configs", METRIC_GAUGE, "Configs taken out."}, write_quarantined, true},
    {{"skipjack_blobs_loose", METRIC_GAUGE, "Objects that no kernel names."},
     write_blobs_loose,
     true},
    {{"skipjack_kernels", METRIC_GAUGE, "Kernels known, estimated."}, write_kernels, true},
    {{"skipjack_kernels_bytes", METRIC_GAUGE, "The table of kernels with code and indexes."},
     write_kernels_bytes,
     true},
    {{"skipjack_database_bytes", METRIC_GAUGE, "The database."}, write_bytes, true},
    {{"skipjack_database_connections", METRIC_GAUGE, "Open connections to the database."},
     write_connections,
     true},
    {{"skipjack_database_connections_limit", METRIC_GAUGE, "Connections that the server takes."},
     write_connections_limit,
     true},
    {{"skipjack_database_oldest_transaction_seconds", METRIC_GAUGE,
      "Age of the oldest transaction."},
     write_oldest_transaction_seconds,
     true},
    {{"skipjack_database_dead_rows", METRIC_GAUGE, "Dead rows of what changes."},
     write_dead_rows,
     true},
    {{"skipjack_upkeep_last_seconds", METRIC_GAUGE, "Age of the farm's last whole upkeep."},
     write_upkeep,
     true},
};

void serve_write_metrics(void *data, GString *text)
{
    const struct serve *serve = data;
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        if (table[i].of_farm && !serve->farm)
            continue;
        metric_begin(text, &table[i].metric);
        table[i].write(serve, &table[i].metric, text);
    }
}

void serve_check_health(void *data, GString *reasons)
{
    const struct serve *serve = data;
    g_autofree char *words = serve->error ? g_strdup(serve->error->message) : NULL;
    if (words)
        g_string_append_printf(reasons, "%s\n", g_strdelimit(words, "\n\t", ' '));
    else if (serve->answered_us == 0)
        g_string_append(reasons, "starting: the database has not answered yet\n");
    else if (!is_up(serve))
        g_string_append_printf(reasons, "the database has not answered for %.0f s\n",
                               seconds_since(serve->answered_us));
}
