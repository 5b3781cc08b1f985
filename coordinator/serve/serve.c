/*
 * `skipjack serve`: a loop that reads the farm's state from the database every few seconds, answers HTTP requests
 * from it, and runs the periodic upkeep.
 */
#include "coordinator/cli/cli.h"
#include "coordinator/commands.h"
#include "coordinator/plan/progress.h"
#include "coordinator/tell/teller.h"
#include "schema/farm/farm.h"
#include "schema/farm/upkeep.h"
#include "schema/monitor/log.h"
#include "schema/monitor/metrics.h"
#include "schema/monitor/monitor.h"
#include "schema/monitor/signals.h"
#include "schema/monitor/version.h"
#include "schema/server/database.h"
#include "schema/store/store_workers.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

/* Runs the upkeep on a thread of the loop's pool, with a database connection of its own. */
struct upkeeper {
    uv_loop_t *loop;
    double period_seconds; /* 0: never */
    uv_timer_t timer;
    uv_work_t work;
    bool running;
    gint stop; /* set to end a run between two of its steps */
    Store *store;
    uint64_t runs, failures;
    /* State of the run that is under way: */
    bool begun;
    char *words; /* what was done */
    GError *error;
};

struct serve {
    uv_loop_t loop;
    struct signal_watch signals;
    uv_timer_t look;
    uv_work_t asking;
    bool is_asking, ending;
    Store *store; /* used by the thread that reads the database while it does */
    HttpServer *server;
    char *node;
    struct farm_state *farm;   /* the state that was read last; NULL before the first time */
    struct farm_state *answer; /* the state that is being read */
    GError *error;             /* why the last reading failed; NULL if it succeeded */
    GError *new_error;
    /* when the last reading began, and when the last successful one ended, by the monotonic
     * clock; 0 for never */
    gint64 asked_us, answered_us;
    double ask_seconds;
    struct upkeeper upkeeper;
    struct teller teller;
};

/* ---- upkeep ---- */

/* The first run begins at a random moment within this many ms, so that coordinators that start
 * together do not run it together. */
#define SOON_MS 2000

/* Returns what a run did as text: "12 code objects (1.2 MB), 3 old events in 0.4 s". Free with
 * g_free(). */
static char *describe(const struct upkeep_report *report)
{
    GString *text = g_string_new(NULL);
    for (int i = 0; i < UPKEEP_COUNT; i++) {
        int64_t bytes = report->parts[i].bytes;
        g_autofree char *size = bytes > 0 ? g_format_size((guint64)bytes) : NULL;
        if (report->parts[i].count == 0)
            continue;
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT " %s", text->len ? ", " : "",
                               (gint64)report->parts[i].count,
                               upkeep_part_name((enum upkeep_part)i));
        if (size)
            g_string_append_printf(text, " (%s)", size);
    }
    g_string_append_printf(text, "%s in %.1f s", text->len ? "" : "nothing to drop,",
                           report->seconds);
    return g_string_free(text, FALSE);
}

/* Runs on a thread of the pool. A run that fails keeps what it has done, but the farm counts it as
 * not done. */
static void run_upkeep(uv_work_t *work)
{
    struct upkeeper *upkeeper = work->data;
    struct upkeep_options options = UPKEEP_DEFAULTS;
    struct upkeep_report report = {0};
    options.stop = &upkeeper->stop;
    if (!upkeeper->store && !(upkeeper->store = database_open(true, &upkeeper->error)))
        return;
    /* The period is shortened a little, since clocks and timers are not exact. */
    if (!farm_begin_upkeep(upkeeper->store, upkeeper->period_seconds * 0.9, &upkeeper->begun,
                           &upkeeper->error) ||
        !upkeeper->begun)
        return;
    bool done = upkeep_run(upkeeper->store, &options, &report, &upkeeper->error);
    upkeeper->words = describe(&report);
    bool whole = done && !g_atomic_int_get(&upkeeper->stop);
    farm_end_upkeep(upkeeper->store, report.seconds, whole ? upkeeper->words : NULL,
                    done ? &upkeeper->error : NULL);
}

static void due(uv_timer_t *timer);

static void ran(uv_work_t *work, int status)
{
    struct upkeeper *upkeeper = work->data;
    (void)status; /* never UV_ECANCELED: nothing cancels the work */
    upkeeper->running = false;
    if (upkeeper->error) {
        upkeeper->failures++;
        log_write(LEVEL_WARNING, "upkeep_failed", NULL, "upkeep: %s%s%s", upkeeper->error->message,
                  upkeeper->words ? "; done before: " : "", upkeeper->words ? upkeeper->words : "");
        /* Closing the connection gives the turn to another coordinator. */
        g_clear_pointer(&upkeeper->store, store_close);
    } else if (upkeeper->begun) {
        upkeeper->runs++;
        log_write(LEVEL_INFO, "upkeep", NULL, "upkeep: %s", upkeeper->words);
    }
    upkeeper->begun = false;
    g_clear_error(&upkeeper->error);
    g_clear_pointer(&upkeeper->words, g_free);
    if (!g_atomic_int_get(&upkeeper->stop))
        uv_timer_start(&upkeeper->timer, due, (uint64_t)(upkeeper->period_seconds * 1000), 0);
}

static void due(uv_timer_t *timer)
{
    struct upkeeper *upkeeper = timer->data;
    upkeeper->running = true;
    uv_queue_work(upkeeper->loop, &upkeeper->work, run_upkeep, ran);
}

static void upkeeper_start(struct upkeeper *upkeeper, uv_loop_t *loop, double period_seconds)
{
    upkeeper->loop = loop;
    upkeeper->period_seconds = period_seconds;
    upkeeper->work.data = upkeeper->timer.data = upkeeper;
    uv_timer_init(loop, &upkeeper->timer);
    if (period_seconds > 0)
        uv_timer_start(&upkeeper->timer, due, (uint64_t)g_random_int_range(0, SOON_MS), 0);
}

/* Closes the handles of the upkeep. A run under way ends after its current step; the loop runs
 * until then. */
static void upkeeper_end(struct upkeeper *upkeeper)
{
    g_atomic_int_set(&upkeeper->stop, 1);
    uv_close((uv_handle_t *)&upkeeper->timer, NULL);
}

static void upkeeper_clear(struct upkeeper *upkeeper)
{
    g_clear_pointer(&upkeeper->store, store_close);
}

/* ---- metrics; deploy/metrics.md explains each ---- */

/* If the database's last answer is older than this, the database counts as down: a query is stuck. */
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

/* ---- metrics of workers and quarantined configs ---- */

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

/* ---- metrics that are single numbers of the farm's state ---- */

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
};

static void serve_write_metrics(void *data, GString *text)
{
    const struct serve *serve = data;
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        if (table[i].of_farm && !serve->farm)
            continue;
        metric_begin(text, &table[i].metric);
        table[i].write(serve, &table[i].metric, text);
    }
}

static void serve_check_health(void *data, GString *reasons)
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

#define LOOK_MS     5000 /* ms between two readings of the database */
#define AGAIN_MS    1000 /* ms until the next try while the database does not answer */
#define ENDING_MS   20000
#define UPKEEP_MOST 31536000.0 /* longest period of --upkeep in seconds: a year */

/* ---- reading the database ---- */

static void ask(uv_work_t *work)
{
    struct serve *serve = work->data;
    if (serve->store || (serve->store = database_open(true, &serve->new_error)))
        serve->answer = farm_read(serve->store, &serve->new_error);
}

static void look(uv_timer_t *timer);

static void say_change(struct serve *serve)
{
    if (serve->new_error && !serve->error)
        log_write(LEVEL_WARNING, "database_away", NULL, "the database does not answer: %s",
                  serve->new_error->message);
    else if (!serve->new_error && serve->error)
        log_write(LEVEL_INFO, "database_back", NULL, "the database answers again");
}

static void asked(uv_work_t *work, int status)
{
    struct serve *serve = work->data;
    (void)status; /* never UV_ECANCELED: nothing cancels the work */
    serve->is_asking = false;
    serve->ask_seconds = (double)(g_get_monotonic_time() - serve->asked_us) / 1e6;
    say_change(serve);
    g_clear_error(&serve->error);
    serve->error = g_steal_pointer(&serve->new_error);
    if (serve->answer) {
        farm_free(serve->farm);
        serve->farm = g_steal_pointer(&serve->answer);
        serve->answered_us = g_get_monotonic_time();
    }
    if (!serve->ending)
        uv_timer_start(&serve->look, look, serve->error ? AGAIN_MS : LOOK_MS, 0);
}

static void look(uv_timer_t *timer)
{
    struct serve *serve = timer->data;
    serve->is_asking = true;
    serve->asked_us = g_get_monotonic_time();
    uv_queue_work(&serve->loop, &serve->asking, ask, asked);
}

/* ---- ending the service ---- */

static void too_long(uv_timer_t *timer)
{
    (void)timer;
    log_write(LEVEL_WARNING, "end_at_once", NULL, "a question to the database does not end");
    _exit(1);
}

/* The loop ends when its last handle is closed and its threads have ended. */
static void signalled(uv_signal_t *handle, int number)
{
    struct serve *serve = handle->data;
    if (serve->ending && number == SIGHUP)
        return; /* a terminal that closes sends SIGHUP twice */
    if (serve->ending)
        _exit(128 + number);
    log_write(LEVEL_INFO, "stopping", NULL, "stopping");
    serve->ending = true;
    upkeeper_end(&serve->upkeeper);
    teller_end(&serve->teller);
    g_clear_pointer(&serve->server, http_server_close);
    /* Handles are closed; only threads may still run. Wait for them, at most ENDING_MS. */
    uv_timer_start(&serve->look, too_long, ENDING_MS, 0);
    uv_unref((uv_handle_t *)&serve->look);
    signal_watch_unref(&serve->signals);
}

static void close_rest(struct serve *serve)
{
    uv_close((uv_handle_t *)&serve->look, NULL);
    signal_watch_close(&serve->signals);
    uv_run(&serve->loop, UV_RUN_DEFAULT);
    uv_loop_close(&serve->loop);
    upkeeper_clear(&serve->upkeeper);
    teller_clear(&serve->teller);
    g_clear_pointer(&serve->store, store_close);
    farm_free(serve->farm);
    g_clear_error(&serve->error);
    g_free(serve->node);
}

/* ---- the command ---- */

struct arguments {
    char *listen, *log, *log_level;
    double upkeep_seconds, tell_seconds;
};

static int run(struct serve *serve, const struct arguments *arguments)
{
    static const struct monitor_callbacks callbacks = {serve_write_metrics, serve_check_health};
    g_autoptr(GError) error = NULL;
    const char *node = g_getenv("SKIPJACK_NODE");
    serve->node = g_strdup(node && *node ? node : g_get_host_name());
    log_name_node(serve->node);
    uv_loop_init(&serve->loop);
    serve->asking.data = serve->look.data = serve;
    uv_timer_init(&serve->loop, &serve->look);
    signal_watch_start(&serve->signals, &serve->loop, signalled, serve);
    serve->server = monitor_open(&serve->loop, arguments->listen, &callbacks, serve, &error);
    if (serve->server) {
        log_write(LEVEL_INFO, "metrics", NULL, "metrics and health under %s",
                  http_server_url(serve->server));
        upkeeper_start(&serve->upkeeper, &serve->loop, arguments->upkeep_seconds);
        teller_start(&serve->teller, &serve->loop, arguments->tell_seconds);
        look(&serve->look);
        uv_run(&serve->loop, UV_RUN_DEFAULT);
    } else {
        log_write(LEVEL_ERROR, "serve_failed", NULL, "%s", error->message);
    }
    close_rest(serve);
    return error ? CLI_FAILED : CLI_DONE;
}

static int refuse(const char *words)
{
    g_set_prgname("skipjack serve");
    return cli_fail("serve", g_error_new(COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE, "%s", words));
}

int command_serve(int argc, char **argv)
{
    struct arguments arguments = {.upkeep_seconds = 3600, .tell_seconds = 30};
    const GOptionEntry options[] = {
        {"listen", 0, 0, G_OPTION_ARG_STRING, &arguments.listen,
         "where to answer (default: 127.0.0.1:9465)", "[ADDRESS:]PORT"},
        {"upkeep", 0, 0, G_OPTION_ARG_DOUBLE, &arguments.upkeep_seconds,
         "how often to drop what nobody needs, as 'db collect' does (default: 3600; 0: never)",
         "SECONDS"},
        {"tell", 0, 0, G_OPTION_ARG_DOUBLE, &arguments.tell_seconds,
         "how often to deliver messages to webhooks that are due, as 'tell send' does (default: 30; "
         "0: never)",
         "SECONDS"},
        {"log", 0, 0, G_OPTION_ARG_STRING, &arguments.log,
         "text, or json, an object a line (default: SKIPJACK_LOG; text on a terminal)", "FORM"},
        {"log-level", 0, 0, G_OPTION_ARG_STRING, &arguments.log_level,
         "from which level on: debug, info, warning, error (default: info)", "LEVEL"},
        {0}};
    const struct cli cli = {
        .command = "serve",
        .summary = "The coordinator as a service: /metrics for Prometheus and /health over HTTP, "
                   "and the farm's upkeep. Several at once share the upkeep. SIGTERM ends it.",
        .example = "skipjack serve --listen 0.0.0.0:9465 --upkeep 3600",
        .options = options,
    };
    g_autoptr(GError) error = NULL;
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    if (!(arguments.upkeep_seconds >= 0 && arguments.upkeep_seconds <= UPKEEP_MOST))
        return refuse("--upkeep takes seconds, a year's at most, or 0 for never");
    if (!(arguments.tell_seconds >= 0 && arguments.tell_seconds <= UPKEEP_MOST))
        return refuse("--tell takes seconds, a year's at most, or 0 for never");
    if (!log_open("serve", arguments.log, arguments.log_level, &error))
        return refuse(error->message);
    struct serve *serve = g_new0(struct serve, 1);
    if (!arguments.listen)
        arguments.listen = g_strdup("127.0.0.1:9465");
    int status = run(serve, &arguments);
    g_free(serve);
    g_free(arguments.listen);
    g_free(arguments.log);
    g_free(arguments.log_level);
    return status;
}
