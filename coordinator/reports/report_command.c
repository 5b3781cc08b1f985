/* `skipjack report`. */
#include "coordinator/campaigns/lists.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/when.h"
#include "coordinator/commands.h"
#include "coordinator/dynamism/dynamism_report.h"
#include "coordinator/network/autotune/fusion_report.h"
#include "coordinator/plan/problem_text.h"
#include "coordinator/reports/report.h"
#include "coordinator/reports/report_kernels.h"
#include "coordinator/reports/report_time.h"
#include "schema/results/store_results.h"
#include "schema/server/database.h"
#include "schema/store/store_campaigns.h"
#include "solvers/problem/problem_key.h"

#include <math.h>

#define PART_JOBS 1000 /* read at a time */

static const struct table_column rejection_columns[] = {
    {"reason", "reason", TABLE_TEXT, 0}, {"solver", "solver", TABLE_TEXT, 0},
    {"config", "config", TABLE_TEXT, 0}, {"problem", "problem", TABLE_TEXT, 0},
    {"detail", "detail", TABLE_TEXT, 0}, {NULL, "key", TABLE_TEXT, 0},
};

static void add_rejection(Table *table, const struct config_outcome *rejection)
{
    char key[PROBLEM_KEY_MAX];
    g_autofree char *text = problem_text(&rejection->problem);
    table_text(table, failure_name(rejection->failure));
    table_text(table, rejection->solver);
    table_text(table, rejection->config_text);
    table_text(table, text);
    table_text(table, rejection->detail);
    table_text(table, problem_key(&rejection->problem, key));
}

static bool add_rejections(Table *table, Store *store, int64_t campaign, GError **error)
{
    struct problem_part part = PROBLEM_PART_BEGIN;
    while (part.last != INT64_MAX) {
        if (!store_next_problems(store, campaign, PART_JOBS, &part, error))
            return false;
        g_autoptr(GPtrArray) rejections = store_list_part_rejections(store, campaign, &part, error);
        if (!rejections)
            return false;
        for (guint i = 0; i < rejections->len; i++)
            add_rejection(table, g_ptr_array_index(rejections, i));
    }
    return true;
}

static Table *list_rejections(Store *store, int64_t campaign, GError **error)
{
    Table *table = table_new(rejection_columns, G_N_ELEMENTS(rejection_columns));
    if (add_rejections(table, store, campaign, error))
        return table;
    table_free(table);
    return NULL;
}

static const struct table_column measured_columns[] = {
    {"login", "login", TABLE_TEXT, 0},     {"node", "node", TABLE_TEXT, 0},
    {"worker", "worker", TABLE_INT, 0},    {"job", "job", TABLE_INT, 0},
    {"rounds", "rounds", TABLE_INT, 0},    {"last", "last_at", TABLE_TEXT, 0},
    {"solver", "solver", TABLE_TEXT, 0},   {"config", "config", TABLE_TEXT, 0},
    {"ms", "median_ms", TABLE_NUMBER, -4}, {"error", "error", TABLE_NUMBER, -3},
    {"problem", "problem", TABLE_TEXT, 0}, {NULL, "key", TABLE_TEXT, 0},
};

static Table *list_measured(Store *store, int64_t campaign, const char *login, GError **error)
{
    g_autoptr(GPtrArray) rows = store_list_measured(store, campaign, login, error);
    if (!rows)
        return NULL;
    Table *table = table_new(measured_columns, G_N_ELEMENTS(measured_columns));
    for (guint i = 0; i < rows->len; i++) {
        const struct measured *row = g_ptr_array_index(rows, i);
        char key[PROBLEM_KEY_MAX];
        g_autofree char *last = when_text(row->last_at);
        g_autofree char *text = problem_text(&row->problem);
        table_text(table, row->login[0] ? row->login : NULL);
        table_text(table, row->node[0] ? row->node : NULL);
        table_int(table, row->worker);
        table_int(table, row->job);
        table_int(table, row->rounds);
        table_text(table, last);
        table_text(table, row->solver);
        table_text(table, row->config_text[0] ? row->config_text : NULL);
        table_number(table, row->median_ms);
        table_number(table, row->error);
        table_text(table, text);
        table_text(table, problem_key(&row->problem, key));
    }
    return table;
}

/* Returns the id of the newest campaign, 0 with an error if the database has none. */
static int64_t newest_campaign(Store *store, GError **error)
{
    g_autoptr(GPtrArray) campaigns = list_own_campaigns(store, error);
    return campaigns ? ((const struct campaign *)g_ptr_array_index(campaigns, 0))->id : 0;
}

static int show_report(Store *store, int64_t campaign, bool as_json)
{
    GError *error = NULL;
    struct report *report = report_new(store, campaign, &error);
    if (!report)
        return cli_fail("report", error);
    if (as_json)
        table_show_json(report_json(report));
    else
        report_print(report, stdout);
    report_free(report);
    return CLI_DONE;
}

/* Value of --within and --compile-share until the user gives one; never a valid value. */
#define NOT_GIVEN (-G_MAXDOUBLE)

#define DEFAULT_WITHIN_PERCENT 10
#define DEFAULT_COMPILE_SHARE  0.3333
#define FUSION_SECONDS         0.5 /* device time for the readings of each pipeline of --fusion */

struct report_arguments {
    char **campaigns, **networks;
    char *login, *fusion;
    gboolean measured_by, rejected, kernels, instructions, time, dynamic, cold, as_json;
    double within_percent, compile_share;
};

static bool fail_usage(const char *message, GError **error)
{
    g_set_error_literal(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE, message);
    return false;
}

static double or_default(double value, double standard)
{
    return value <= NOT_GIVEN ? standard : value;
}

static bool arguments_check(struct report_arguments *a, GError **error)
{
    bool others =
        a->campaigns || a->dynamic || a->rejected || a->kernels || a->measured_by || a->time;
    bool limits = !(a->within_percent <= NOT_GIVEN && a->compile_share <= NOT_GIVEN);
    if (a->fusion && others)
        return fail_usage("--fusion is a report of its own", error);
    if (a->dynamic + a->rejected + a->kernels + a->measured_by + a->time > 1)
        return fail_usage(
            "--dynamic, --rejected, --kernels, --time and --measured-by are reports of their own",
            error);
    if (a->login && !a->measured_by)
        return fail_usage("--login belongs to --measured-by", error);
    if (a->instructions && !a->kernels)
        return fail_usage("--instructions belongs to --kernels", error);
    if (!a->dynamic && (a->networks || a->cold || limits))
        return fail_usage("--network, --cold, --within and --compile-share belong to --dynamic",
                          error);
    if (!a->dynamic && a->campaigns && g_strv_length(a->campaigns) > 1)
        return fail_usage("--campaign is given once, but for --dynamic", error);
    a->within_percent = or_default(a->within_percent, DEFAULT_WITHIN_PERCENT);
    a->compile_share = or_default(a->compile_share, DEFAULT_COMPILE_SHARE);
    if (!(a->within_percent >= 0) || !isfinite(a->within_percent))
        return fail_usage("--within takes a percentage, 0 or more", error);
    if (!(a->compile_share >= 0 && a->compile_share <= 1))
        return fail_usage("--compile-share is a part, from 0 to 1", error);
    return true;
}

static int show_dynamic(const struct report_arguments *a)
{
    const struct dynamism_request request = {
        .networks = a->networks,
        .campaigns = a->campaigns,
        .limits = {.within = a->within_percent / 100, .compile_share = a->compile_share},
        .cold = a->cold,
        .as_json = a->as_json,
    };
    return dynamism_report_run(&request);
}

static int show_campaign(const struct report_arguments *a)
{
    GError *error = NULL;
    int64_t id = 0;
    bool usable = !a->campaigns || cli_parse_id(a->campaigns[0], &id, &error);
    g_autoptr(Store) store = usable ? database_open(a->as_json, &error) : NULL;
    if (store && id == 0)
        id = newest_campaign(store, &error);
    if (!store || id == 0)
        return cli_fail("report", error);
    if (!a->rejected && !a->kernels && !a->measured_by && !a->time)
        return show_report(store, id, a->as_json);
    struct campaign *campaign = store_get_campaign(store, id, &error);
    if (!campaign)
        return cli_fail("report", error);
    campaign_free(campaign);
    Table *table = a->kernels       ? report_kernels(store, id, a->instructions, &error)
                   : a->time        ? report_time(store, id, &error)
                   : a->measured_by ? list_measured(store, id, a->login, &error)
                                    : list_rejections(store, id, &error);
    return table_finish("report", table, a->as_json, error);
}

int command_report(int argc, char **argv)
{
    struct report_arguments a = {.within_percent = NOT_GIVEN, .compile_share = NOT_GIVEN};
    const GOptionEntry options[] = {
        {"campaign", 'c', 0, G_OPTION_ARG_STRING_ARRAY, &a.campaigns,
         "of this campaign (the newest; --dynamic: all of the target and stack measured last)",
         "ID"},
        {"rejected", 'r', 0, G_OPTION_ARG_NONE, &a.rejected, "each rejected config with its reason",
         NULL},
        {"measured-by", 0, 0, G_OPTION_ARG_NONE, &a.measured_by,
         "each job's best config with the login, node and worker that measured it", NULL},
        {"login", 0, 0, G_OPTION_ARG_STRING, &a.login,
         "--measured-by: only what this login measured", "NAME"},
        {"kernels", 'k', 0, G_OPTION_ARG_NONE, &a.kernels,
         "each kernel with what its compiler says of it", NULL},
        {"instructions", 0, 0, G_OPTION_ARG_NONE, &a.instructions,
         "--kernels: with how often its code has which instruction, in place of its options", NULL},
        {"time", 0, 0, G_OPTION_ARG_NONE, &a.time,
         "where the time went: what each problem took and gained, and what its next round would",
         NULL},
        {"dynamic", 0, 0, G_OPTION_ARG_NONE, &a.dynamic,
         "what kernels for all shapes cost and save, against those for one", NULL},
        {"network", 'n', 0, G_OPTION_ARG_STRING_ARRAY, &a.networks,
         "--dynamic: of this network, may be repeated (all that were measured)", "N"},
        {"within", 0, 0, G_OPTION_ARG_DOUBLE, &a.within_percent,
         "--dynamic: times are close that differ by at most this (10)", "PERCENT"},
        {"compile-share", 0, 0, G_OPTION_ARG_DOUBLE, &a.compile_share,
         "--dynamic: preferred is what compiles in this part of the time (0.3333)", "SHARE"},
        {"cold", 0, 0, G_OPTION_ARG_NONE, &a.cold,
         "--dynamic: compile, load and run everything from empty caches, now", NULL},
        {"fusion", 0, 0, G_OPTION_ARG_FILENAME, &a.fusion,
         "of this file of autotune, or of the network of this name, whose file is in this folder: "
         "run it unfused, fused, and fused with configs tuned alone",
         "FILE"},
        CLI_JSON_OPTION(&a.as_json),
        {0},
    };
    const struct cli cli = {
        .command = "report",
        .summary = "What tuning gained: a row a problem, the whole network, and what was rejected.",
        .example = "skipjack report --campaign 3 --rejected\n"
                   "  skipjack report --dynamic --network resnet50-v1.5 --cold\n"
                   "  skipjack report --fusion tuned.json",
        .options = options,
    };
    GError *error = NULL;
    int status = CLI_USAGE;
    if (cli_parse(&cli, &argc, &argv)) {
        if (!arguments_check(&a, &error))
            status = cli_fail("report", error);
        else if (a.fusion)
            status = fusion_report_run(a.fusion, FUSION_SECONDS, a.as_json);
        else
            status = a.dynamic ? show_dynamic(&a) : show_campaign(&a);
    }
    g_strfreev(a.campaigns);
    g_strfreev(a.networks);
    g_free(a.login);
    g_free(a.fusion);
    return status;
}
