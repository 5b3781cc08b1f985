#include "worker/agent/agent_metrics.h"

#include <string.h>
#include <sys/statvfs.h>

#include "schema/monitor/metrics.h"
#include "schema/monitor/version.h"
#include "worker/agent/build/build_pool.h"
#include "worker/agent/eval/evaluator.h"

/* The agent is not healthy if the database is away for BEATS_AWAY intervals between heartbeats,
 * or if no heartbeat was answered for BEATS_SILENT intervals. An idle agent sends only every third
 * heartbeat. */
#define BEATS_AWAY   3
#define BEATS_SILENT 12

typedef void write_fn(const struct agent *agent, const struct metric *metric, GString *text);

static const char *const pools[] = {[POOL_BUILD] = "build", [POOL_EVAL] = "eval"};
static const char *const lanes[] = {"data", "control"};

static const Lane *lane_of(const struct agent *agent, int i)
{
    return i == 0 ? agent->data : agent->control;
}

static double seconds_since(gint64 us)
{
    return us == 0 ? 0 : (double)(g_get_monotonic_time() - us) / 1e6;
}

static double away_seconds(const struct agent *agent)
{
    return MAX(seconds_since(lane_lost_us(agent->data)),
               seconds_since(lane_lost_us(agent->control)));
}

/* ---- metrics ---- */

static void write_build(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, 1, "version", SKIPJACK_VERSION, "node", agent->node, NULL);
}

static void write_start(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, (double)agent->began_us / 1e6, NULL);
}

static void write_draining(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, agent_is_ending(agent), NULL);
}

static void write_up(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, !lane_lost(agent->data) && !lane_lost(agent->control), NULL);
}

static void write_away(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, away_seconds(agent), NULL);
}

static void write_losses(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric,
                  (double)(lane_stats(agent->data)->losses + lane_stats(agent->control)->losses),
                  NULL);
}

static void write_calls(const struct agent *agent, const struct metric *metric, GString *text)
{
    for (int i = 0; i < 2; i++)
        metric_histogram(text, metric, &lane_stats(lane_of(agent, i))->seconds, "lane", lanes[i]);
}

static void write_waiting(const struct agent *agent, const struct metric *metric, GString *text)
{
    for (int i = 0; i < 2; i++)
        metric_sample(text, metric, lane_waiting(lane_of(agent, i)), "lane", lanes[i], NULL);
}

static void write_beats(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, (double)agent->counts.heartbeats, NULL);
}

static void write_last_beat(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, seconds_since(agent->beaten_us), NULL);
}

static void write_held(const struct agent *agent, const struct metric *metric, GString *text)
{
    unsigned held = 0;
    for (guint i = 0; i < agent->evaluators->len; i++)
        held += evaluator_jobs(g_ptr_array_index(agent->evaluators, i));
    metric_sample(text, metric, builder_jobs(agent->builder), "pool", pools[POOL_BUILD], NULL);
    metric_sample(text, metric, held, "pool", pools[POOL_EVAL], NULL);
}

static void write_pools(const uint64_t counts[2], const struct metric *metric, GString *text)
{
    for (int pool = 0; pool < 2; pool++)
        metric_sample(text, metric, (double)counts[pool], "pool", pools[pool], NULL);
}

static void write_claimed(const struct agent *agent, const struct metric *metric, GString *text)
{
    write_pools(agent->counts.claimed, metric, text);
}

static void write_stored(const struct agent *agent, const struct metric *metric, GString *text)
{
    write_pools(agent->counts.stored, metric, text);
}

static void write_released(const struct agent *agent, const struct metric *metric, GString *text)
{
    write_pools(agent->counts.released, metric, text);
}

static void write_refused(const struct agent *agent, const struct metric *metric, GString *text)
{
    write_pools(agent->counts.refused, metric, text);
}

/* Writes the count of successes, even if 0, and the counts of failures that occurred. */
static void write_failures(const uint64_t counts[FAILURE_COUNT], const char *label,
                           const struct metric *metric, GString *text)
{
    for (int i = 0; i < FAILURE_COUNT; i++)
        if (counts[i] > 0 || i == FAILURE_NONE)
            metric_sample(text, metric, (double)counts[i], label, failure_name((enum failure)i),
                          NULL);
}

static void write_configs(const struct agent *agent, const struct metric *metric, GString *text)
{
    write_failures(agent->counts.configs, "outcome", metric, text);
}

static void write_kernels(const struct agent *agent, const struct metric *metric, GString *text)
{
    write_failures(agent->counts.kernels, "result", metric, text);
}

static void write_compile(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, agent->counts.compile_seconds, NULL);
}

static void write_eval(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, agent->counts.eval_seconds, NULL);
}

static void write_children(const struct agent *agent, const struct metric *metric, GString *text)
{
    static const char *const reasons[CHILD_ENDS] = {"exited", "crashed", "timeout", "protocol",
                                                    "unborn"};
    for (int pool = 0; pool < 2; pool++)
        for (int end = 0; end < CHILD_ENDS; end++)
            metric_sample(text, metric, (double)agent->counts.child_ends[pool][end], "role",
                          pools[pool], "reason", reasons[end], NULL);
}

static void write_busy(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, agent->counts.busy_seconds, NULL);
}

static void write_devices(const struct agent *agent, const struct metric *metric, GString *text)
{
    for (guint i = 0; i < agent->evaluators->len; i++) {
        const struct evaluator *evaluator = g_ptr_array_index(agent->evaluators, i);
        metric_sample(text, metric,
                      evaluator->known && evaluator->failed_opens == 0 &&
                          !evaluator_is_out(evaluator),
                      "device", evaluator->device, "target",
                      evaluator->known ? evaluator->target.id : "", NULL);
    }
}

static void write_room(const struct agent *agent, const struct metric *metric, GString *text)
{
    struct statvfs disk;
    if (statvfs(agent->scratch, &disk) == 0)
        metric_sample(text, metric, (double)disk.f_bavail * (double)disk.f_frsize, NULL);
}

static void write_quarantined(const struct agent *agent, const struct metric *metric, GString *text)
{
    metric_sample(text, metric, (double)agent->counts.quarantined, NULL);
}

static const struct {
    struct metric metric;
    write_fn *write;
} table[] = {
    {{"skipjack_build_info", METRIC_GAUGE, "The program; always 1."}, write_build},
    {{"skipjack_worker_start_time_seconds", METRIC_GAUGE, "When the process began, Unix time."},
     write_start},
    {{"skipjack_worker_draining", METRIC_GAUGE, "1 from the order to end until the end."},
     write_draining},
    {{"skipjack_worker_database_up", METRIC_GAUGE, "0 while calls wait for the database."},
     write_up},
    {{"skipjack_worker_database_away_seconds", METRIC_GAUGE, "How long the database is away."},
     write_away},
    {{"skipjack_worker_database_losses_total", METRIC_COUNTER, "How often the database went away."},
     write_losses},
    {{"skipjack_worker_database_call_seconds", METRIC_HISTOGRAM,
      "How long the store's calls take."},
     write_calls},
    {{"skipjack_worker_calls_waiting", METRIC_GAUGE,
      "Calls that wait for their turn or for the database."},
     write_waiting},
    {{"skipjack_worker_heartbeats_total", METRIC_COUNTER, "Beats that got through."}, write_beats},
    {{"skipjack_worker_last_heartbeat_seconds", METRIC_GAUGE, "Age of the last beat."},
     write_last_beat},
    {{"skipjack_worker_jobs", METRIC_GAUGE, "Jobs held."}, write_held},
    {{"skipjack_worker_jobs_claimed_total", METRIC_COUNTER, "Jobs taken from the queue."},
     write_claimed},
    {{"skipjack_worker_jobs_stored_total", METRIC_COUNTER, "Rounds and ends handed in."},
     write_stored},
    {{"skipjack_worker_jobs_released_total", METRIC_COUNTER, "Jobs given back unfinished."},
     write_released},
    {{"skipjack_worker_jobs_refused_total", METRIC_COUNTER, "Results that the queue refused."},
     write_refused},
    {{"skipjack_worker_configs_total", METRIC_COUNTER, "Configs by outcome."}, write_configs},
    {{"skipjack_worker_kernels_total", METRIC_COUNTER, "Kernels compiled here, by result."},
     write_kernels},
    {{"skipjack_worker_compile_seconds_total", METRIC_COUNTER, "Compile time of all children."},
     write_compile},
    {{"skipjack_worker_eval_seconds_total", METRIC_COUNTER, "Verifying and timing, all devices."},
     write_eval},
    {{"skipjack_worker_gpu_busy_seconds_total", METRIC_COUNTER,
      "Of these, in which a GPU had work."},
     write_busy},
    {{"skipjack_worker_child_ends_total", METRIC_COUNTER, "Children that ended unasked."},
     write_children},
    {{"skipjack_worker_device_up", METRIC_GAUGE,
      "0 while the device is not open, or out of service."},
     write_devices},
    {{"skipjack_worker_scratch_free_bytes", METRIC_GAUGE,
      "Room where compilers and drivers write."},
     write_room},
    {{"skipjack_worker_quarantined_total", METRIC_COUNTER, "Configs that this worker took out."},
     write_quarantined},
};

static void write_metrics(void *data, GString *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        metric_begin(text, &table[i].metric);
        table[i].write(data, &table[i].metric, text);
    }
}

/* ---- health ---- */

static void check_database(const struct agent *agent, GString *reasons)
{
    double beat = agent_beat_seconds(agent), away = away_seconds(agent);
    double silent = seconds_since(agent->beaten_us);
    if (away > BEATS_AWAY * beat)
        g_string_append_printf(reasons, "the database has been away for %.0f s\n", away);
    else if (agent_is_starting(agent) || agent->worker == 0)
        g_string_append(reasons, "starting: the worker is not registered yet\n");
    else if (silent > BEATS_SILENT * beat)
        g_string_append_printf(reasons, "no heartbeat got through for %.0f s\n", silent);
}

static void check_health(void *data, GString *reasons)
{
    const struct agent *agent = data;
    check_database(agent, reasons);
    for (guint i = 0; i < agent->evaluators->len; i++) {
        const struct evaluator *evaluator = g_ptr_array_index(agent->evaluators, i);
        if (evaluator_is_out(evaluator))
            g_string_append_printf(reasons, "device %s is out of service\n", evaluator->device);
        else if (evaluator->failed_opens > 0)
            g_string_append_printf(reasons, "device %s cannot be opened\n", evaluator->device);
    }
    if (agent->no_room)
        g_string_append_printf(reasons, "the disk is full under %s\n", agent->scratch);
}

bool agent_open_monitor(struct agent *agent, GError **error)
{
    static const struct monitor_callbacks callbacks = {write_metrics, check_health};
    if (!agent->options->metrics)
        return true;
    agent->monitor = monitor_open(&agent->loop, agent->options->metrics, &callbacks, agent, error);
    if (agent->monitor)
        log_write(LEVEL_INFO, "metrics", NULL, "metrics and health under %s",
                  http_server_url(agent->monitor));
    return agent->monitor != NULL;
}
