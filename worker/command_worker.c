#include "worker/commands.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/cli/cli.h"
#include "coordinator/cli/when.h"
#include "schema/monitor/log.h"
#include "schema/server/database.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_workers.h"
#include "worker/agent/agent.h"
#include "worker/agent/agent_cold.h"
#include "worker/agent/agent_pipeline.h"
#include "worker/agent/agent_probe.h"
#include "worker/device/device_list.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/protocol.h"

/* Marks integer options that were not given; no option accepts these values. */
#define NO_INT    G_MININT
#define NO_DOUBLE (-G_MAXDOUBLE)

/* The longest time that an option accepts: a week. A time such as "inf" would overflow this
 * worker's timers and, in the database, those of all workers. */
#define SECONDS_MOST (7.0 * 24 * 60 * 60)

struct arguments {
    int build, batch, fault_limit, lock_mhz;
    char *eval, *cold, *pipeline, *drain, *drain_at, *log, *log_level, *metrics;
    int64_t drain_unix;
    bool spare_cores;
    char **labels;
    gint64 campaign;
    gboolean until_empty, embedded, probe;
    double lease_seconds, compile_timeout_seconds, run_timeout_seconds, sample_seconds;
};

static struct arguments given = {
    .build = NO_INT,
    .batch = NO_INT,
    .lock_mhz = NO_INT,
    .fault_limit = NO_INT,
    .lease_seconds = NO_DOUBLE,
    .compile_timeout_seconds = NO_DOUBLE,
    .run_timeout_seconds = NO_DOUBLE,
    .sample_seconds = NO_DOUBLE,
};

static int usage(const char *message)
{
    GError *error = NULL;
    cli_misuse(&error, "%s; see skipjack worker --help", message);
    return cli_fail("worker", error);
}

static int fail(const GError *error)
{
    fprintf(stderr, "worker: %s\n", error->message);
    return 1;
}

static const GOptionEntry entries[] = {
    {"build", 0, 0, G_OPTION_ARG_INT, &given.build,
     "Kernels compiled at once (default: the number of processors; beside GPUs one less for each "
     "GPU, and one more less); 0 builds nothing",
     "N"},
    {"eval", 0, 0, G_OPTION_ARG_STRING, &given.eval,
     "Devices to measure on, as numbers or UUIDs: 0,1; all: every GPU, or the first device of a "
     "machine without GPUs (default); local: the first device; none: only build",
     "LIST"},
    {"until-empty", 0, 0, G_OPTION_ARG_NONE, &given.until_empty,
     "End when nothing is left to claim", NULL},
    {"campaign", 0, 0, G_OPTION_ARG_INT64, &given.campaign, "Work only on this campaign", "ID"},
    {"label", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.labels,
     "Also work on campaigns of this pool; may be repeated", "X"},
    {"drain-at", 0, 0, G_OPTION_ARG_STRING, &given.drain_at,
     "End in order, as by SIGTERM, at this time: " WHEN_FORMS, "TIME"},
    {"drain", 0, 0, G_OPTION_ARG_STRING, &given.drain,
     "Ask the workers of a node (skipjack status lists them) to end in order, and do nothing else",
     "NODE"},
    {"embedded", 0, 0, G_OPTION_ARG_NONE, &given.embedded,
     "Use the embedded database if SKIPJACK_DB is not set", NULL},
    {"batch", 0, 0, G_OPTION_ARG_INT, &given.batch, "Jobs in a claim (default: 8)", "N"},
    {"lease", 0, 0, G_OPTION_ARG_DOUBLE, &given.lease_seconds,
     "A worker without heartbeats loses its jobs after this time (default: 60)", "SECONDS"},
    {"compile-timeout", 0, 0, G_OPTION_ARG_DOUBLE, &given.compile_timeout_seconds,
     "Time a kernel's compilation may take (default: 120)", "SECONDS"},
    {"run-timeout", 0, 0, G_OPTION_ARG_DOUBLE, &given.run_timeout_seconds,
     "Time that a config, or the runs of --cold or --pipeline, may take in addition to what the operations need "
     "(default: 60)",
     "SECONDS"},
    {"sample-seconds", 0, 0, G_OPTION_ARG_DOUBLE, &given.sample_seconds,
     "Device time for a config's readings (default: 0.3)", "SECONDS"},
    {"fault-limit", 0, 0, G_OPTION_ARG_INT, &given.fault_limit,
     "After so many configs or jobs in a row that break a GPU, it must compute a plain convolution "
     "right, or it is out of service (default: 5); 0: never",
     "N"},
    {"lock-clocks", 0, 0, G_OPTION_ARG_INT, &given.lock_mhz,
     "Lock the GPUs' clocks until this worker ends, however it ends; most drivers allow that to "
     "root only (default: the driver chooses the clocks)",
     "MHZ"},
    {"log", 0, 0, G_OPTION_ARG_STRING, &given.log,
     "Form of the log on stderr: text, or json with one object a line (default: SKIPJACK_LOG; else "
     "text on a terminal, json elsewhere)",
     "text|json"},
    {"log-level", 0, 0, G_OPTION_ARG_STRING, &given.log_level,
     "Lowest level to log: debug, info, warning or error (default: SKIPJACK_LOG_LEVEL; else info)",
     "debug|info|warning|error"},
    {"metrics", 0, 0, G_OPTION_ARG_STRING, &given.metrics,
     "Serve /metrics (for Prometheus) and /health at this port (default address: 127.0.0.1)",
     "[ADDRESS:]PORT"},
    {"probe", 0, 0, G_OPTION_ARG_NONE, &given.probe,
     "Print this node's devices, one line of JSON each, and end; needs no database; takes --eval",
     NULL},
    {"cold", 0, 0, G_OPTION_ARG_FILENAME, &given.cold,
     "Compile, load and run twice the layers that FILE lists, with empty caches; print the times as "
     "JSON and end; needs no database; takes --eval and the timeouts",
     "FILE"},
    {"pipeline", 0, 0, G_OPTION_ARG_FILENAME, &given.pipeline,
     "Compile, load and run the whole network that FILE describes (worker/agent/agent_pipeline.h), time it, "
     "print the times as JSON and end; needs no database; takes --eval and the timeouts",
     "FILE"},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

/* Parses the options into `given`, to which the table of options points. */
static bool arguments_parse(int argc, char **argv, GError **error)
{
    static const struct cli cli = {
        .command = "worker",
        .arguments = "- this node's agent",
        .summary =
            "Claims jobs, compiles their kernels, measures them, stores the results. SIGTERM, SIGINT or SIGHUP "
            "finishes what is being measured and releases the rest.",
        .notes =
            "FILE of --cold, where a layer runs one config N times:\n  {\"layers\": [{\"problem\": "
            "KEY, \"solver\": NAME, \"config\": \"64,8\", \"runs\": N}, ...]}\n"
            "FILE of --pipeline, with a solver for each step of the plan (run-network writes it):\n  "
            "{\"plan\": PATH, \"steps\": [{\"solver\": NAME, \"config\": \"64,8\"}, ...], \"input\": PATH, "
            "\"output\": PATH, \"sample_seconds\": S, \"verify\": true}\n"
            "Several networks, timed in turns:\n  {\"pipelines\": [{\"plan\": PATH, \"steps\": [...]}, ...], "
            "\"sample_seconds\": S}\n",
        .example = "SKIPJACK_DB=postgresql://db.example/skipjack skipjack worker --build 8 "
                   "--eval 0,1 --label night --drain-at 07:00\n  skipjack worker --drain gpu17",
        .options = entries};
    if (!cli_parse_options(&cli, &argc, &argv, error))
        return false;
    if (argc > 1)
        return cli_misuse(error, "it takes options only, not '%s'", argv[1]);
    return true;
}

static void default_int(int *value, int standard)
{
    *value = *value == NO_INT ? standard : *value;
}

static void default_double(double *value, double standard)
{
    *value = *value <= NO_DOUBLE ? standard : *value;
}

static void arguments_complete(struct arguments *a)
{
    a->spare_cores = a->build == NO_INT;
    default_int(&a->build, (int)g_get_num_processors());
    default_int(&a->batch, 8);
    default_int(&a->lock_mhz, 0);
    default_int(&a->fault_limit, 5);
    default_double(&a->lease_seconds, 60);
    default_double(&a->compile_timeout_seconds, 120);
    default_double(&a->run_timeout_seconds, 60);
    default_double(&a->sample_seconds, 0.3);
}

/* The name of an option that has no effect together with --probe, --cold, --pipeline or --drain; NULL for none. */
static const char *meaningless_option(const struct arguments *a)
{
    const struct {
        const char *name;
        bool given;
    } options[] = {
        {"--cold", (a->probe || a->drain || a->pipeline) && a->cold},
        {"--pipeline", (a->probe || a->drain) && a->pipeline},
        {"--build", a->build != NO_INT},
        {"--batch", a->batch != NO_INT},
        {"--lock-clocks", a->lock_mhz != NO_INT},
        {"--fault-limit", a->fault_limit != NO_INT},
        {"--campaign", a->campaign != 0},
        {"--until-empty", a->until_empty},
        {"--label", a->labels != NULL},
        {"--drain-at", a->drain_at != NULL},
        {"--probe", a->drain && a->probe},
        {"--eval", a->drain && a->eval},
        {"--log", a->drain && a->log},
        {"--log-level", a->drain && a->log_level},
        {"--metrics", a->metrics != NULL},
        {"--embedded", a->embedded},
        {"--lease", a->lease_seconds > NO_DOUBLE},
        {"--sample-seconds", a->sample_seconds > NO_DOUBLE},
        {"--compile-timeout", (a->probe || a->drain) && a->compile_timeout_seconds > NO_DOUBLE},
        {"--run-timeout", (a->probe || a->drain) && a->run_timeout_seconds > NO_DOUBLE},
    };
    for (size_t i = 0;
         (a->probe || a->cold || a->pipeline || a->drain) && i < G_N_ELEMENTS(options); i++)
        if (options[i].given)
            return options[i].name;
    return NULL;
}

static bool is_timeout(double seconds)
{
    return seconds > 0 && seconds <= SECONDS_MOST;
}

static const char *arguments_wrong(const struct arguments *a)
{
    if (a->build < 0 || a->build > 1024)
        return "--build takes a number from 0 to 1024";
    if (a->batch < 1 || a->batch > 1000)
        return "--batch takes a number from 1 to 1000";
    if (a->fault_limit < 0)
        return "--fault-limit takes a number from 0 on";
    if (a->lock_mhz < 0 || a->lock_mhz > LOCK_CLOCKS_MOST)
        return "--lock-clocks takes MHz: 1410 locks them at 1.41 GHz";
    if (!(a->lease_seconds >= 1 && a->lease_seconds <= SECONDS_MOST))
        return "--lease takes from 1 to 604800 seconds, a week";
    if (!is_timeout(a->compile_timeout_seconds) || !is_timeout(a->run_timeout_seconds))
        return "a timeout takes more than 0 and at most 604800 seconds, a week";
    if (!(a->sample_seconds > 0 && a->sample_seconds <= 60))
        return "--sample-seconds takes more than 0 and at most 60 seconds";
    return NULL;
}

/* Refuses a worker with neither SKIPJACK_DB nor --embedded: a node that lost its setting must
 * not start a farm of its own without notice. */
static int refuse_embedded(void)
{
    fprintf(stderr, "worker: SKIPJACK_DB is not set. Set it to the farm's database, or give "
                    "--embedded to work for this machine's own.\n");
    return 2;
}

static int work(const struct arguments *a, char **devices)
{
    g_autoptr(GError) error = NULL;
    bool embedded = false;
    g_autofree char *url = database_url(&embedded, &error);
    if (url && embedded && !a->embedded)
        return refuse_embedded();
    /* Opens the database once, so that a wrong address or an old schema is reported at once. */
    Store *store = url ? database_open(false, &error) : NULL;
    if (!store) {
        log_write(LEVEL_ERROR, "worker_failed", NULL, "%s", error->message);
        return 1;
    }
    struct campaign *campaign = a->campaign ? store_get_campaign(store, a->campaign, &error) : NULL;
    store_close(store);
    if (a->campaign && !campaign) {
        log_write(LEVEL_ERROR, "worker_failed", NULL, "%s", error->message);
        return 1;
    }
    if (campaign)
        campaign_free(campaign);
    struct agent_options options = {
        .build = a->build,
        .devices = devices,
        .until_empty = a->until_empty,
        .campaign = a->campaign,
        .labels = a->labels,
        .drain_unix = a->drain_unix,
        .spare_cores = a->spare_cores,
        .batch = a->batch,
        .lease_seconds = a->lease_seconds,
        .compile_timeout_seconds = a->compile_timeout_seconds,
        .run_timeout_seconds = a->run_timeout_seconds,
        .sample_seconds = a->sample_seconds,
        .lock_mhz = a->lock_mhz,
        .metrics = a->metrics,
        .fault_limit = a->fault_limit,
    };
    return agent_run(&options, url, embedded);
}

/* Runs --probe, --cold or --pipeline. */
static int ask_device(const struct arguments *a, char **devices)
{
    const struct cold_options start = {
        .path = a->cold,
        .device = devices[0],
        .compile_timeout_seconds = a->compile_timeout_seconds,
        .run_timeout_seconds = a->run_timeout_seconds,
    };
    const struct pipeline_options whole = {
        .path = a->pipeline,
        .device = devices[0],
        .compile_timeout_seconds = a->compile_timeout_seconds,
        .run_timeout_seconds = a->run_timeout_seconds,
    };
    if (a->probe && !devices[0])
        return usage("--probe asks devices: --eval none leaves it none");
    if (!a->probe && g_strv_length(devices) != 1)
        return usage(a->cold ? "--cold runs on one device: --eval takes one number or UUID"
                             : "--pipeline runs on one device: --eval takes one number or UUID");
    if (a->pipeline)
        return agent_pipeline(&whole);
    return a->probe ? agent_probe(devices) : agent_cold(&start);
}

static int drain(const char *node)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = database_open(false, &error);
    int asked = 0;
    if (!store || !store_drain_node(store, node, &asked, &error)) {
        fprintf(stderr, "worker: %s\n", error->message);
        return 1;
    }
    if (asked == 0)
        fprintf(stderr, "worker: no worker runs on a node '%s'; skipjack status lists the nodes\n",
                node);
    else
        fprintf(stderr, "worker: %d of '%s' will end with what they measure finished\n", asked,
                node);
    return asked == 0;
}

static int run(struct arguments *a)
{
    const char *meaningless = meaningless_option(a);
    if (meaningless) {
        g_autofree char *text = g_strdup_printf("%s means nothing beside %s", meaningless,
                                                a->drain      ? "--drain"
                                                : a->probe    ? "--probe"
                                                : a->pipeline ? "--pipeline"
                                                              : "--cold");
        return usage(text);
    }
    arguments_complete(a);
    if (a->drain)
        return drain(a->drain);
    if (a->drain_at && !when_parse(a->drain_at, &a->drain_unix))
        return usage("--drain-at takes " WHEN_FORMS);
    const char *wrong = arguments_wrong(a);
    if (wrong)
        return usage(wrong);
    g_autoptr(GError) error = NULL;
    const char *usual = a->cold || a->pipeline ? "local" : "all";
    g_auto(GStrv) devices = device_list_parse(a->eval ? a->eval : usual, &error);
    if (!devices && g_error_matches(error, WORKER_ERROR, WORKER_ERROR_CHILD))
        return fail(error);
    if (!devices)
        return usage(error->message);
    /* --probe, --cold and --pipeline log as text unless --log says otherwise: a person, or the command that
     * runs them, reads the messages. */
    const char *form = a->log || !(a->probe || a->cold || a->pipeline) ? a->log : "text";
    if (!log_open("worker", form, a->log_level, &error))
        return usage(error->message);
    if (a->probe || a->cold || a->pipeline)
        return ask_device(a, devices);
    if (a->build == 0 && !devices[0])
        return usage("with --build 0 and --eval none there is nothing to do");
    return work(a, devices);
}

int command_worker(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    int status = arguments_parse(argc, argv, &error) ? run(&given)
                                                     : cli_fail("worker", g_steal_pointer(&error));
    g_free(given.eval);
    g_free(given.cold);
    g_free(given.pipeline);
    g_strfreev(given.labels);
    g_free(given.drain);
    g_free(given.drain_at);
    g_free(given.log);
    g_free(given.log_level);
    g_free(given.metrics);
    return status;
}
