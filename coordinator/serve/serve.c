/*
 * `skipjack serve`: the coordinator as a service. It asks the database how the
 * farm is, on a thread of the loop's pool, and tells the last answer to
 * whoever asks; and it does upkeep.
 */
#include "coordinator/serve/serve.h"

#include "coordinator/cli/cli.h"
#include "coordinator/commands.h"
#include "schema/monitor/log.h"
#include "schema/server/database.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS     5000 /* between two questions */
#define AGAIN_MS    1000 /* while it does not answer */
#define ENDING_MS   20000
#define UPKEEP_MOST 31536000.0 /* seconds */

/* ---- asking ---- */

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
    (void)status; /* nothing cancels the work */
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

/* ---- ending ---- */

static void too_long(uv_timer_t *timer)
{
    (void)timer;
    log_write(LEVEL_WARNING, "end_at_once", NULL, "a question to the database does not end");
    _exit(1);
}

/* The loop ends with its last handle, and after what runs on its threads. */
static void signalled(uv_signal_t *handle, int number)
{
    struct serve *serve = handle->data;
    if (serve->ending && number == SIGHUP)
        return; /* a terminal that closes sends it twice */
    if (serve->ending)
        _exit(128 + number);
    log_write(LEVEL_INFO, "stopping", NULL, "stopping");
    serve->ending = true;
    upkeeper_end(&serve->upkeeper);
    g_clear_pointer(&serve->monitor, monitor_close);
    /* Only the threads still run: wait for them. */
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
    g_clear_pointer(&serve->store, store_close);
    farm_free(serve->farm);
    g_clear_error(&serve->error);
    g_free(serve->node);
}

/* ---- the command ---- */

struct arguments {
    char *listen, *log, *log_level;
    double upkeep_seconds;
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
    serve->monitor = monitor_open(&serve->loop, arguments->listen, &callbacks, serve, &error);
    if (serve->monitor) {
        log_write(LEVEL_INFO, "metrics", NULL, "metrics and health under %s",
                  monitor_url(serve->monitor));
        upkeeper_start(&serve->upkeeper, &serve->loop, arguments->upkeep_seconds);
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
    struct arguments arguments = {.upkeep_seconds = 3600};
    const GOptionEntry options[] = {
        {"listen", 0, 0, G_OPTION_ARG_STRING, &arguments.listen,
         "where to answer (default: 127.0.0.1:9465)", "[ADDRESS:]PORT"},
        {"upkeep", 0, 0, G_OPTION_ARG_DOUBLE, &arguments.upkeep_seconds,
         "how often to drop what nobody needs, as 'db collect' does (default: 3600; 0: never)",
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
