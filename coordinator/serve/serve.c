/*
 * `skipjack serve`: a loop that watches the farm, answers HTTP requests (metrics,
 * health, the API, the dashboard), and runs the periodic upkeep.
 */
#include "coordinator/cli/cli.h"
#include "coordinator/commands.h"
#include "coordinator/serve/api.h"
#include "coordinator/serve/serve_metrics.h"
#include "coordinator/tell/teller.h"
#include "schema/monitor/log.h"
#include "schema/monitor/monitor.h"
#include "schema/monitor/signals.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define ENDING_MS   20000
#define UPKEEP_MOST 31536000.0 /* longest period of --upkeep in seconds: a year */
#define CONNECTIONS 256
#define LISTENERS   1000
#define RATE        200.0 /* requests a second of an address */
#define MOST        100000
#define BODY_BYTES  16384
/* Threads: questions, reading the farm, upkeep, messages, and one to spare. */
#define THREADS     "6"

struct serve {
    Api *api; /* the first member: api_add_routes() */
    uv_loop_t loop;
    struct signal_watch signals;
    uv_timer_t ending_timer;
    bool ending;
    HttpServer *server;
    Watch *watch;
    Live *live;
    Ask *asking;
    Exports *exports;
    char *node;
    GPtrArray *hosts; /* names for the header Host, NULL-terminated */
    struct upkeeper upkeeper;
    struct teller teller;
};

struct arguments {
    char *listen, *log, *log_level, *exports;
    double upkeep_seconds, tell_seconds, rate;
    char **hosts;
    int listeners;
    gboolean require_token, allow_plain;
};

/* ---- metrics and health ---- */

static void write_metrics(void *data, GString *text)
{
    const struct serve *serve = data;
    const struct metrics_about about = {serve->node,   serve->server, serve->watch,    serve->live,
                                        serve->asking, serve->api,    &serve->upkeeper};
    metrics_write(&about, text);
}

static void check_health(void *data, GString *reasons)
{
    const struct serve *serve = data;
    g_autofree char *trouble = watch_trouble(serve->watch);
    if (*trouble)
        g_string_append_printf(reasons, "%s\n", trouble);
}

static const struct monitor_callbacks callbacks = {write_metrics, check_health};

static void answer_metrics(void *data, HttpRequest *request)
{
    monitor_answer_metrics(&callbacks, data, request);
}

static void answer_health(void *data, HttpRequest *request)
{
    monitor_answer_health(&callbacks, data, request);
}

/* ---- ending the service ---- */

static void too_long(uv_timer_t *timer)
{
    (void)timer;
    log_write(LEVEL_WARNING, "end_at_once", NULL, "a question to the database does not end");
    _exit(1);
}

/* Closes what keeps the loop running. */
static void end_parts(struct serve *serve)
{
    g_clear_pointer(&serve->server, http_server_close);
    ask_end(serve->asking);
    watch_end(serve->watch);
    live_end(serve->live);
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
    end_parts(serve);
    /* Handles are closed; only threads may still run. Wait for them, at most ENDING_MS. */
    uv_timer_start(&serve->ending_timer, too_long, ENDING_MS, 0);
    uv_unref((uv_handle_t *)&serve->ending_timer);
    signal_watch_unref(&serve->signals);
}

static void close_rest(struct serve *serve)
{
    uv_close((uv_handle_t *)&serve->ending_timer, NULL);
    signal_watch_close(&serve->signals);
    uv_run(&serve->loop, UV_RUN_DEFAULT);
    uv_loop_close(&serve->loop);
    upkeeper_clear(&serve->upkeeper);
    teller_clear(&serve->teller);
    api_free(serve->api);
    watch_free(serve->watch);
    ask_free(serve->asking);
    live_free(serve->live);
    exports_close(serve->exports);
    g_ptr_array_free(serve->hosts, TRUE);
    g_free(serve->node);
}

/* ---- the server ---- */

/* A listener is an open file, and so is each connection. */
static void allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files); /* if it fails, fewer listeners are served */
    }
}

/* The machine's name, the one of --listen and those of --host. */
static GPtrArray *name_hosts(const struct arguments *arguments)
{
    GPtrArray *hosts = g_ptr_array_new_with_free_func(g_free);
    const char *colon = strrchr(arguments->listen, ':');
    g_ptr_array_add(hosts, g_strdup(g_get_host_name()));
    if (colon)
        g_ptr_array_add(hosts, g_strndup(arguments->listen, (gsize)(colon - arguments->listen)));
    for (char **host = arguments->hosts; host && *host; host++)
        g_ptr_array_add(hosts, g_strdup(*host));
    g_ptr_array_add(hosts, NULL);
    return hosts;
}

static HttpServer *open_server(struct serve *serve, const struct arguments *arguments,
                               GError **error)
{
    const struct http_route own[] = {{"GET", "/metrics", answer_metrics, NULL},
                                     {"GET", "/health", answer_health, NULL}};
    g_autoptr(GArray) routes = g_array_new(FALSE, FALSE, sizeof(struct http_route));
    g_array_append_vals(routes, own, G_N_ELEMENTS(own));
    api_add_routes(serve->api, routes);
    const struct http_options options = {.routes = (const struct http_route *)(void *)routes->data,
                                         .route_count = (int)routes->len,
                                         .data = serve,
                                         .keep_alive = true,
                                         .connections = CONNECTIONS,
                                         .listeners = arguments->listeners,
                                         .body_bytes = BODY_BYTES,
                                         .hosts = (const char *const *)serve->hosts->pdata,
                                         .requests_per_second = arguments->rate};
    return http_server_open(&serve->loop, arguments->listen, &options, error);
}

static void say_where(struct serve *serve, const struct arguments *arguments)
{
    bool is_loopback = http_server_is_loopback(serve->server);
    api_set_loopback(serve->api, is_loopback);
    log_write(LEVEL_INFO, "metrics", NULL, "dashboard, API, metrics and health under %s",
              http_server_url(serve->server));
    if (!is_loopback)
        log_write(LEVEL_WARNING, "plain_http", NULL,
                  "other machines reach serve without TLS: whoever reaches the port may read%s",
                  arguments->allow_plain ? ", and tokens travel in the clear (--allow-plain)"
                                         : "; tokens are refused without --allow-plain");
}

static int run(struct serve *serve, const struct arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    const char *node = g_getenv("SKIPJACK_NODE");
    serve->node = g_strdup(node && *node ? node : g_get_host_name());
    log_name_node(serve->node);
    serve->hosts = name_hosts(arguments);
    uv_loop_init(&serve->loop);
    serve->ending_timer.data = serve;
    uv_timer_init(&serve->loop, &serve->ending_timer);
    signal_watch_start(&serve->signals, &serve->loop, signalled, serve);
    serve->live = live_new(&serve->loop);
    serve->asking = ask_new(&serve->loop);
    serve->watch = watch_new(&serve->loop, serve->live, serve->node);
    const struct api_options options = {arguments->require_token, arguments->allow_plain,
                                        serve->exports};
    serve->api = api_new(serve->asking, serve->live, serve->watch, &options);
    serve->server = open_server(serve, arguments, &error);
    if (serve->server) {
        say_where(serve, arguments);
        upkeeper_start(&serve->upkeeper, &serve->loop, arguments->upkeep_seconds);
        teller_start(&serve->teller, &serve->loop, arguments->tell_seconds);
        uv_run(&serve->loop, UV_RUN_DEFAULT);
    } else {
        log_write(LEVEL_ERROR, "serve_failed", NULL, "%s", error->message);
        end_parts(serve);
    }
    close_rest(serve);
    return error ? CLI_FAILED : CLI_DONE;
}

/* ---- the command ---- */

static int refuse(const char *words)
{
    g_set_prgname("skipjack serve");
    return cli_fail("serve", g_error_new(COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE, "%s", words));
}

static const char *what_is_wrong(const struct arguments *arguments)
{
    if (!(arguments->upkeep_seconds >= 0 && arguments->upkeep_seconds <= UPKEEP_MOST))
        return "--upkeep takes seconds, a year's at most, or 0 for never";
    if (!(arguments->tell_seconds >= 0 && arguments->tell_seconds <= UPKEEP_MOST))
        return "--tell takes seconds, a year's at most, or 0 for never";
    if (!(arguments->rate >= 0 && arguments->rate <= MOST))
        return "--rate takes requests a second, 0 for any number";
    if (arguments->listeners < 0 || arguments->listeners > MOST)
        return "--listeners takes a number from 0 to 100000";
    return NULL;
}

static int check_and_run(struct arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    const char *wrong = what_is_wrong(arguments);
    if (wrong)
        return refuse(wrong);
    if (!log_open("serve", arguments->log, arguments->log_level, &error))
        return refuse(error->message);
    struct serve *serve = g_new0(struct serve, 1);
    if (arguments->exports && !(serve->exports = exports_open(arguments->exports, &error))) {
        g_free(serve);
        return refuse(error->message);
    }
    if (!arguments->listen)
        arguments->listen = g_strdup("127.0.0.1:9465");
    allow_files();
    g_setenv("UV_THREADPOOL_SIZE", THREADS, FALSE);
    int status = run(serve, arguments);
    g_free(serve);
    return status;
}

int command_serve(int argc, char **argv)
{
    struct arguments arguments = {
        .upkeep_seconds = 3600, .tell_seconds = 30, .rate = RATE, .listeners = LISTENERS};
    const GOptionEntry options[] = {
        {"listen", 0, 0, G_OPTION_ARG_STRING, &arguments.listen,
         "where to answer (default: 127.0.0.1:9465)", "[ADDRESS:]PORT"},
        {"upkeep", 0, 0, G_OPTION_ARG_DOUBLE, &arguments.upkeep_seconds,
         "how often to drop what nobody needs, as 'db collect' does (default: 3600; 0: never)",
         "SECONDS"},
        {"tell", 0, 0, G_OPTION_ARG_DOUBLE, &arguments.tell_seconds,
         "how often to deliver messages to webhooks that are due (default: 30; 0: never)",
         "SECONDS"},
        {"exports", 0, 0, G_OPTION_ARG_FILENAME, &arguments.exports,
         "offer the files below this folder to download", "FOLDER"},
        {"require-token", 0, 0, G_OPTION_ARG_NONE, &arguments.require_token,
         "the API's reading needs a token, too (skipjack db token)", NULL},
        {"allow-plain", 0, 0, G_OPTION_ARG_NONE, &arguments.allow_plain,
         "take tokens from other machines although there is no TLS", NULL},
        {"host", 0, 0, G_OPTION_ARG_STRING_ARRAY, &arguments.hosts,
         "a name by which browsers reach it, beside localhost, IP addresses, this machine's name "
         "and --listen's; other names are refused; several: once each",
         "NAME"},
        {"rate", 0, 0, G_OPTION_ARG_DOUBLE, &arguments.rate,
         "requests a second of an address (default: 200; 0: any number)", "N"},
        {"listeners", 0, 0, G_OPTION_ARG_INT, &arguments.listeners,
         "clients that may listen to events at once (default: 1000)", "N"},
        {"log", 0, 0, G_OPTION_ARG_STRING, &arguments.log,
         "text, or json, an object a line (default: SKIPJACK_LOG; text on a terminal)", "FORM"},
        {"log-level", 0, 0, G_OPTION_ARG_STRING, &arguments.log_level,
         "from which level on: debug, info, warning, error (default: info)", "LEVEL"},
        {0}};
    const struct cli cli = {
        .command = "serve",
        .summary =
            "The coordinator as a service: a dashboard and its API (coordinator/serve/API.md), "
            "/metrics for Prometheus and /health over HTTP, and the farm's upkeep. Several at once "
            "share the upkeep. SIGTERM ends it.",
        .example = "skipjack serve --listen 0.0.0.0:9465 --upkeep 3600 --exports /srv/releases",
        .options = options,
    };
    int status = CLI_USAGE;
    if (cli_parse(&cli, &argc, &argv))
        status = check_and_run(&arguments);
    g_free(arguments.listen);
    g_strfreev(arguments.hosts);
    g_free(arguments.log);
    g_free(arguments.log_level);
    g_free(arguments.exports);
    return status;
}
