/* Metrics of serve; deploy/metrics.md explains each. */
#include "coordinator/serve/serve_metrics.h"

#include "coordinator/plan/progress.h"
#include "schema/monitor/metrics.h"
#include "schema/monitor/version.h"
#include "schema/store/store_workers.h"

#include <math.h>
#include <string.h>

typedef void write_fn(const struct metrics_about *about, const struct metric *metric,
                      GString *text);

static void write_build(const struct metrics_about *about, const struct metric *metric,
                        GString *text)
{
    metric_sample(text, metric, 1, "version", SKIPJACK_VERSION, "node", about->node, NULL);
}

static void write_up(const struct metrics_about *about, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, watch_is_up(about->watch), NULL);
}

static void write_scrape(const struct metrics_about *about, const struct metric *metric,
                         GString *text)
{
    metric_sample(text, metric, watch_ask_seconds(about->watch), NULL);
}

static void write_runs(const struct metrics_about *about, const struct metric *metric,
                       GString *text)
{
    metric_sample(text, metric, (double)about->upkeeper->runs, NULL);
}

static void write_run_failures(const struct metrics_about *about, const struct metric *metric,
                               GString *text)
{
    metric_sample(text, metric, (double)about->upkeeper->failures, NULL);
}

/* ---- campaigns ---- */

#define EACH_CAMPAIGN(about, c, id)                                                                \
    char id[24];                                                                                   \
    const struct farm_campaign *c;                                                                 \
    for (guint i_ = 0; i_ < watch_farm((about)->watch)->campaigns->len &&                          \
                       (c = g_ptr_array_index(watch_farm((about)->watch)->campaigns, i_)) &&       \
                       g_snprintf(id, sizeof id, "%" G_GINT64_FORMAT, (gint64)c->id);              \
         i_++)

static void write_jobs(const struct metrics_about *about, const struct metric *metric,
                       GString *text)
{
    EACH_CAMPAIGN (about, c, id) {
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

static void write_failed(const struct metrics_about *about, const struct metric *metric,
                         GString *text)
{
    EACH_CAMPAIGN (about, c, id)
        for (int f = 0; f < FAILURE_COUNT; f++)
            if (c->failures[f] > 0)
                metric_sample(text, metric, (double)c->failures[f], "campaign", id, "reason",
                              failure_name((enum failure)f), NULL);
}

static void write_spent(const struct metrics_about *about, const struct metric *metric,
                        GString *text)
{
    EACH_CAMPAIGN (about, c, id)
        metric_sample(text, metric, c->spent_seconds, "campaign", id, NULL);
}

static void write_budget(const struct metrics_about *about, const struct metric *metric,
                         GString *text)
{
    EACH_CAMPAIGN (about, c, id)
        metric_sample(text, metric, c->budget_seconds, "campaign", id, NULL);
}

static void write_eta(const struct metrics_about *about, const struct metric *metric, GString *text)
{
    EACH_CAMPAIGN (about, c, id) {
        double eta = progress_farm_eta(c);
        if (isfinite(eta))
            metric_sample(text, metric, eta, "campaign", id, NULL);
    }
}

static void write_oldest_job(const struct metrics_about *about, const struct metric *metric,
                             GString *text)
{
    double oldest = 0;
    EACH_CAMPAIGN (about, c, id)
        if (strcmp(c->state, "active") == 0 && c->done + c->failed < c->jobs)
            oldest = MAX(oldest, c->age_seconds);
    metric_sample(text, metric, oldest, NULL);
}

static void write_refused(const struct metrics_about *about, const struct metric *metric,
                          GString *text)
{
    EACH_CAMPAIGN (about, c, id) {
        unsigned refused = 0;
        for (guint i = 0; i < watch_farm(about->watch)->refusals->len; i++)
            refused += ((const struct refusal_row *)g_ptr_array_index(
                            watch_farm(about->watch)->refusals, i))
                           ->campaign == c->id;
        metric_sample(text, metric, refused, "campaign", id, NULL);
    }
}

/* ---- metrics of workers and quarantined configs ---- */

static void write_workers(const struct metrics_about *about, const struct metric *metric,
                          GString *text)
{
    static const char *const states[] = {"working", "idle", "draining", "lost"};
    for (size_t s = 0; s < G_N_ELEMENTS(states); s++) {
        unsigned count = 0;
        for (guint i = 0; i < watch_farm(about->watch)->workers->len; i++) {
            const struct farm_worker *worker =
                g_ptr_array_index(watch_farm(about->watch)->workers, i);
            count += strcmp(worker->state, states[s]) == 0;
        }
        metric_sample(text, metric, count, "state", states[s], NULL);
    }
}

static void write_failed_workers(const struct metrics_about *about, const struct metric *metric,
                                 GString *text)
{
    const GPtrArray *failed = watch_farm(about->watch)->failed_workers;
    int64_t count = 0;
    for (guint i = 0; i < failed->len; i++)
        count += ((const struct farm_trouble *)g_ptr_array_index(failed, i))->count;
    metric_sample(text, metric, (double)count, NULL);
}

static void write_quarantined(const struct metrics_about *about, const struct metric *metric,
                              GString *text)
{
    for (guint i = 0; i < watch_farm(about->watch)->quarantine->len; i++) {
        const struct farm_trouble *row = g_ptr_array_index(watch_farm(about->watch)->quarantine, i);
        metric_sample(text, metric, (double)row->count, "solver", row->name, NULL);
    }
}

static void write_dead_rows(const struct metrics_about *about, const struct metric *metric,
                            GString *text)
{
    metric_sample(text, metric, watch_farm(about->watch)->database.dead_bundles, "table", "bundles",
                  NULL);
}

static void write_upkeep(const struct metrics_about *about, const struct metric *metric,
                         GString *text)
{
    if (watch_farm(about->watch)->database.upkeep_age_seconds >= 0)
        metric_sample(text, metric, watch_farm(about->watch)->database.upkeep_age_seconds, NULL);
}

/* ---- metrics that are single numbers of the farm's state ---- */

#define FACT(member)                                                                               \
    static void write_##member(const struct metrics_about *about, const struct metric *metric,     \
                               GString *text)                                                      \
    {                                                                                              \
        metric_sample(text, metric, (double)watch_farm(about->watch)->database.member, NULL);      \
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

/* ---- serve itself ---- */

static void write_requests(const struct metrics_about *about, const struct metric *metric,
                           GString *text)
{
    static const char *const classes[] = {"other", "1xx", "2xx", "3xx", "4xx", "5xx"};
    struct http_counts counts;
    http_server_counts(about->server, &counts);
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++)
        metric_sample(text, metric, (double)counts.by_class[i], "status", classes[i], NULL);
}

#define OF_SERVER(member)                                                                          \
    static void write_server_##member(const struct metrics_about *about,                           \
                                      const struct metric *metric, GString *text)                  \
    {                                                                                              \
        struct http_counts counts;                                                                 \
        http_server_counts(about->server, &counts);                                                \
        metric_sample(text, metric, (double)counts.member, NULL);                                  \
    }
OF_SERVER(limited)
OF_SERVER(closed)
OF_SERVER(slow)
OF_SERVER(connections)
OF_SERVER(listeners)

static void write_events(const struct metrics_about *about, const struct metric *metric,
                         GString *text)
{
    struct live_counts counts;
    live_counts(about->live, &counts);
    metric_sample(text, metric, (double)counts.events, NULL);
}

#define OF_ASK(member)                                                                             \
    static void write_ask_##member(const struct metrics_about *about, const struct metric *metric, \
                                   GString *text)                                                  \
    {                                                                                              \
        struct ask_counts counts;                                                                  \
        ask_counts(about->asking, &counts);                                                        \
        metric_sample(text, metric, (double)counts.member, NULL);                                  \
    }
OF_ASK(asked)
OF_ASK(shared)
OF_ASK(refused)
OF_ASK(waiting)

#define OF_API(member)                                                                             \
    static void write_api_##member(const struct metrics_about *about, const struct metric *metric, \
                                   GString *text)                                                  \
    {                                                                                              \
        struct api_counts counts;                                                                  \
        api_counts(about->api, &counts);                                                           \
        metric_sample(text, metric, (double)counts.member, NULL);                                  \
    }
OF_API(tokens_refused)
OF_API(changes)

/* ---- nights and webhooks ---- */

/* Writes a number of each name's newest night; none where it is null. */
static void write_of_nights(const struct metrics_about *about, const struct metric *metric,
                            GString *text, const char *member)
{
    size_t i;
    const json_t *night;
    json_array_foreach (watch_nights(about->watch), i, night) {
        const json_t *value = json_object_get(night, member);
        double number = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
        if (!json_is_null(value))
            metric_sample(text, metric, number, "night",
                          json_string_value(json_object_get(night, "name")), NULL);
    }
}

#define OF_NIGHT(member)                                                                           \
    static void write_night_##member(const struct metrics_about *about,                            \
                                     const struct metric *metric, GString *text)                   \
    {                                                                                              \
        write_of_nights(about, metric, text, #member);                                             \
    }
OF_NIGHT(begun_unix)
OF_NIGHT(ended_unix)
OF_NIGHT(deadline_unix)
OF_NIGHT(findings)
OF_NIGHT(failed)

#define OF_OUTBOX(member)                                                                          \
    static void write_outbox_##member(const struct metrics_about *about,                           \
                                      const struct metric *metric, GString *text)                  \
    {                                                                                              \
        metric_sample(text, metric,                                                                \
                      json_number_value(json_object_get(watch_outbox(about->watch), #member)),     \
                      NULL);                                                                       \
    }
OF_OUTBOX(waiting)
OF_OUTBOX(failed)
OF_OUTBOX(oldest_seconds)

/* The metrics. of_farm: true for values that come from the database's last answer. */
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
    {{"skipjack_serve_requests_total", METRIC_COUNTER, "Requests answered, by status."},
     write_requests,
     false},
    {{"skipjack_serve_limited_total", METRIC_COUNTER, "Requests refused as too many (429)."},
     write_server_limited,
     false},
    {{"skipjack_serve_connections_closed_total", METRIC_COUNTER,
      "Connections closed for newer ones."},
     write_server_closed,
     false},
    {{"skipjack_serve_slow_listeners_total", METRIC_COUNTER,
      "Listeners disconnected since they read too slowly."},
     write_server_slow,
     false},
    {{"skipjack_serve_connections", METRIC_GAUGE, "Open connections, listeners too."},
     write_server_connections,
     false},
    {{"skipjack_serve_listeners", METRIC_GAUGE, "Clients that listen to the events."},
     write_server_listeners,
     false},
    {{"skipjack_serve_events_total", METRIC_COUNTER, "Events sent to listeners, each once."},
     write_events,
     false},
    {{"skipjack_serve_questions_total", METRIC_COUNTER, "Requests that need the database."},
     write_ask_asked,
     false},
    {{"skipjack_serve_questions_shared_total", METRIC_COUNTER,
      "Of these, those that got an answer which others asked for."},
     write_ask_shared,
     false},
    {{"skipjack_serve_questions_refused_total", METRIC_COUNTER,
      "Of these, those refused since too many waited."},
     write_ask_refused,
     false},
    {{"skipjack_serve_questions_waiting", METRIC_GAUGE, "Questions that wait for a thread."},
     write_ask_waiting,
     false},
    {{"skipjack_serve_tokens_refused_total", METRIC_COUNTER, "Requests with a wrong token."},
     write_api_tokens_refused,
     false},
    {{"skipjack_serve_changes_total", METRIC_COUNTER, "Changes made through the API."},
     write_api_changes,
     false},
    {{"skipjack_night_begun_time_seconds", METRIC_GAUGE, "When the newest night began, Unix time."},
     write_night_begun_unix,
     true},
    {{"skipjack_night_ended_time_seconds", METRIC_GAUGE, "When it ended; absent before."},
     write_night_ended_unix,
     true},
    {{"skipjack_night_deadline_time_seconds", METRIC_GAUGE, "Its deadline; absent without one."},
     write_night_deadline_unix,
     true},
    {{"skipjack_night_findings", METRIC_GAUGE, "Its regressions and failed steps."},
     write_night_findings,
     true},
    {{"skipjack_night_failed", METRIC_GAUGE, "1 if a step of it was given up."},
     write_night_failed,
     true},
    {{"skipjack_outbox_waiting", METRIC_GAUGE, "Webhook messages not delivered yet."},
     write_outbox_waiting,
     true},
    {{"skipjack_outbox_failed", METRIC_GAUGE, "Webhook messages given up within a day."},
     write_outbox_failed,
     true},
    {{"skipjack_outbox_oldest_seconds", METRIC_GAUGE, "Age of the oldest that waits."},
     write_outbox_oldest_seconds,
     true},
};

void metrics_write(const struct metrics_about *about, GString *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        if (table[i].of_farm && !watch_farm(about->watch))
            continue;
        metric_begin(text, &table[i].metric);
        table[i].write(about, &table[i].metric, text);
    }
}
