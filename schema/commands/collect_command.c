/* skipjack db collect: counts or drops what the farm no longer needs. */
#include "schema/commands/collect_command.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "schema/farm/upkeep.h"
#include "schema/monitor/signals.h"
#include "schema/server/database.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static volatile gint stop;

static void on_signal(int number)
{
    (void)number;
    g_atomic_int_set(&stop, 1);
}

/* ---- showing ---- */

static void print_json(const struct upkeep_report *report, bool dry_run)
{
    json_t *list = json_array();
    for (int i = 0; i < UPKEEP_COUNT; i++)
        json_array_append_new(list, json_pack("{ss sI sI}", "what", upkeep_part_name(i), "count",
                                              (json_int_t)report->parts[i].count, "bytes",
                                              (json_int_t)report->parts[i].bytes));
    json_t *object =
        json_pack("{sb so s{sI sI} sI sf}", "dry_run", dry_run, "freed", list, "code_objects",
                  "count", (json_int_t)report->code_count, "bytes", (json_int_t)report->code_bytes,
                  "history_thinned", (json_int_t)report->thinned, "seconds", report->seconds);
    table_show_json(object);
}

static void print_report(const struct upkeep_report *report, bool dry_run)
{
    printf("%" G_GINT64_FORMAT " code objects before, %.1f MB; %s in %.1f s:\n",
           (gint64)report->code_count, (double)report->code_bytes / 1e6,
           dry_run ? "this would be freed, counted" : "freed", report->seconds);
    for (int i = 0; i < UPKEEP_COUNT; i++) {
        printf("%10" G_GINT64_FORMAT "  %-27s", (gint64)report->parts[i].count,
               upkeep_part_name(i));
        /* The bytes of objects outside the database are unknown, so they are not printed. */
        if (i != UPKEEP_OBJECTS)
            printf(" %10.1f MB", (double)report->parts[i].bytes / 1e6);
        putchar('\n');
    }
    if (!dry_run)
        printf("%10" G_GINT64_FORMAT "  points of history folded into others\n",
               (gint64)report->thinned);
}

/* ---- the command ---- */

struct request {
    gboolean json;
    struct upkeep_options options;
    gboolean dry_run;
};

static bool is_time(double value, const char *option)
{
    if (isfinite(value) && value <= 36500)
        return true;
    GError *error = NULL;
    cli_misuse(&error, "%s needs a number up to 36500; negative ones mean for ever", option);
    cli_fail("db collect", error);
    return false;
}

static bool parse(int argc, char **argv, struct request *request)
{
    struct upkeep_options *options = &request->options;
    const GOptionEntry entries[] = {
        {"dry-run", 0, 0, G_OPTION_ARG_NONE, &request->dry_run, "free nothing, only count", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &request->json, "the figures as JSON", NULL},
        {"keep-code", 0, 0, G_OPTION_ARG_DOUBLE, &options->code_hours,
         "code objects that were asked for within HOURS stay (1)", "HOURS"},
        {"keep-kernels", 0, 0, G_OPTION_ARG_DOUBLE, &options->kernel_days,
         "rows of kernels without code stay for DAYS (90)", "DAYS"},
        {"keep-events", 0, 0, G_OPTION_ARG_DOUBLE, &options->event_days,
         "rows of the event log stay for DAYS (90)", "DAYS"},
        {"keep-workers", 0, 0, G_OPTION_ARG_DOUBLE, &options->worker_days,
         "ended workers stay for DAYS (30)", "DAYS"},
        {"keep-messages", 0, 0, G_OPTION_ARG_DOUBLE, &options->message_days,
         "delivered and given up messages to webhooks stay for DAYS (30)", "DAYS"},
        {0}};
    const struct cli cli = {
        .command = "db collect",
        .summary =
            "Drops what the farm no longer needs: code objects of configs that lost, tables of dropped "
            "campaigns, objects without a kernel in stores outside, old rows of the event log. "
            "Measurements stay as long as their campaign; their history is gathered, and thinned by age "
            "(skipjack history --retention). Workers go on meanwhile, and it may be "
            "stopped at any time. A negative number means for ever.",
        .example = "skipjack db collect --dry-run --keep-code 24",
        .options = entries};
    if (!cli_parse(&cli, &argc, &argv))
        return false;
    options->dry_run = request->dry_run;
    options->stop = &stop;
    return is_time(options->code_hours, "--keep-code") &&
           is_time(options->kernel_days, "--keep-kernels") &&
           is_time(options->event_days, "--keep-events") &&
           is_time(options->worker_days, "--keep-workers") &&
           is_time(options->message_days, "--keep-messages");
}

int command_db_collect(int argc, char **argv)
{
    struct request request = {.options = UPKEEP_DEFAULTS};
    struct upkeep_report report;
    GError *error = NULL;
    if (!parse(argc, argv, &request))
        return CLI_USAGE;
    g_autoptr(Store) store = database_open(false, &error);
    if (store == NULL)
        return cli_fail("db collect", error);
    signals_catch(on_signal);
    bool done = upkeep_run(store, &request.options, &report, &error);
    request.json ? print_json(&report, request.dry_run) : print_report(&report, request.dry_run);
    if (!done)
        return cli_fail("db collect", error);
    return g_atomic_int_get(&stop) ? CLI_INTERRUPTED : CLI_DONE;
}
