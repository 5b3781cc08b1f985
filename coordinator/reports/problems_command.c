/* `skipjack problems` and `skipjack targets`: list what the database holds. */
#include "coordinator/campaigns/lists.h"
#include "coordinator/commands.h"
#include "coordinator/plan/problem_text.h"
#include "schema/farm/farm.h"
#include "schema/server/database.h"
#include "schema/store/store_campaigns.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

/* ---- problems ---- */

static const struct table_column problem_columns[] = {
    {"id", "id", TABLE_INT, 0},
    {"problem", "problem", TABLE_TEXT, 0},
    {"GMAC", "gmacs", TABLE_NUMBER, 3},
    {"key", "key", TABLE_TEXT, 0},
};

static Table *list_problems(Store *store, const struct problem_filter *filter, GError **error)
{
    g_autoptr(GArray) problems = store_list_problems(store, filter, error);
    if (!problems)
        return NULL;
    Table *table = table_new(problem_columns, G_N_ELEMENTS(problem_columns));
    for (guint i = 0; i < problems->len; i++) {
        const struct stored_problem *stored = &g_array_index(problems, struct stored_problem, i);
        char key[PROBLEM_KEY_MAX];
        g_autofree char *text = problem_text(&stored->problem);
        table_int(table, stored->id);
        table_text(table, text);
        table_number(table, problem_macs(&stored->problem) * 1e-9);
        table_text(table, problem_key(&stored->problem, key));
    }
    return table;
}

/* Prints one key on each line, in the form that --problems and import read. */
static int show_keys(Store *store, const struct problem_filter *filter)
{
    GError *error = NULL;
    g_autoptr(GArray) problems = store_list_problems(store, filter, &error);
    if (!problems)
        return cli_fail("problems", error);
    for (guint i = 0; i < problems->len; i++) {
        char key[PROBLEM_KEY_MAX];
        puts(problem_key(&g_array_index(problems, struct stored_problem, i).problem, key));
    }
    return CLI_DONE;
}

/* Reports a misspelled network, campaign or tag as unknown: an empty list would hide the mistake. */
static bool check_filter(Store *store, const struct problem_filter *filter, GError **error)
{
    if (filter->network) {
        g_autoptr(GPtrArray) layers = store_list_layers(store, filter->network, error);
        if (!layers)
            return false;
    }
    if (filter->campaign > 0) {
        struct campaign *campaign = store_get_campaign(store, filter->campaign, error);
        if (!campaign)
            return false;
        campaign_free(campaign);
    }
    if (!filter->tag)
        return true;
    const struct problem_filter tagged = {.tag = filter->tag};
    g_autoptr(GArray) problems = store_list_problems(store, &tagged, error);
    if (problems && problems->len == 0)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                    "no problem has the tag '%s'; skipjack import --tag gives tags", filter->tag);
    return problems && problems->len > 0;
}

int command_problems(int argc, char **argv)
{
    g_autofree char *tag = NULL;
    g_autofree char *network = NULL;
    g_autofree char *campaign = NULL;
    gboolean as_json = FALSE, keys = FALSE;
    const GOptionEntry options[] = {
        {"tag", 0, 0, G_OPTION_ARG_STRING, &tag, "only those imported with that tag", "T"},
        {"network", 'n', 0, G_OPTION_ARG_STRING, &network, "only those of that network", "N"},
        {"campaign", 'c', 0, G_OPTION_ARG_STRING, &campaign, "only those of that campaign", "ID"},
        {"list", 'l', 0, G_OPTION_ARG_NONE, &keys, "keys alone, a line each, to be read again",
         NULL},
        CLI_JSON_OPTION(&as_json),
        {0},
    };
    const struct cli cli = {
        .command = "problems",
        .summary = "Lists the problems that are known.",
        .example = "skipjack problems --network resnet50-v1.5 --list >problems.txt",
        .options = options,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    struct problem_filter filter = {.tag = tag, .network = network};
    GError *error = NULL;
    bool usable = !campaign || cli_parse_id(campaign, &filter.campaign, &error);
    g_autoptr(Store) store = usable ? database_open(as_json || keys, &error) : NULL;
    if (!store || !check_filter(store, &filter, &error))
        return cli_fail("problems", error);
    if (keys)
        return show_keys(store, &filter);
    Table *table = list_problems(store, &filter, &error);
    return table_finish("problems", table, as_json, error);
}

/* ---- targets ---- */

static const struct table_column target_columns[] = {
    {"target", "target", TABLE_TEXT, 0},
    {"arch", "arch", TABLE_TEXT, 0},
    {"features", "features", TABLE_TEXT, 0},
    {"part of a card", "partition", TABLE_TEXT, 0},
    {"units", "compute_units", TABLE_INT, 0},
    {"wave", "wave_size", TABLE_INT, 0},
    {"local kB", "local_kib", TABLE_INT, 0},
    {"workgroup", "max_workgroup", TABLE_INT, 0},
    {"peak TFLOP/s", "peak_tflops", TABLE_NUMBER, 2},
    {"peak GB/s", "peak_gbytes", TABLE_NUMBER, 1},
};

static bool is_listed(const GPtrArray *targets, const char *id)
{
    for (guint i = 0; i < targets->len; i++)
        if (strcmp(((const struct target *)targets->pdata[i])->id, id) == 0)
            return true;
    return false;
}

/* Adds the targets of running workers' devices. A target is stored with its first campaign; before
 * this, running workers tell which targets there are. */
static bool add_running(Store *store, GPtrArray *targets, GError **error)
{
    struct farm_state *farm = farm_read(store, error);
    if (!farm)
        return false;
    for (guint i = 0; i < farm->devices->len; i++) {
        const struct farm_device *device = farm->devices->pdata[i];
        struct target target;
        if (!is_listed(targets, device->target) && target_parse(device->target, &target, NULL))
            g_ptr_array_add(targets, g_memdup2(&target, sizeof target));
    }
    farm_free(farm);
    return true;
}

static Table *list_targets(Store *store, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_targets(store, error);
    if (!targets || !add_running(store, targets, error))
        return NULL;
    Table *table = table_new(target_columns, G_N_ELEMENTS(target_columns));
    for (guint i = 0; i < targets->len; i++) {
        const struct target *target = g_ptr_array_index(targets, i);
        table_text(table, target->id);
        table_text(table, target->arch);
        table_text(table, *target->features ? target->features + 1 : NULL);
        table_text(table, *target->partition ? target->partition + 1 : NULL);
        table_int(table, target->compute_units);
        table_int(table, target->wave_size);
        table_int(table, target->local_bytes / 1024);
        table_int(table, target->max_workgroup);
        table_number(table, target->peak_flops > 0 ? target->peak_flops * 1e-12 : NAN);
        table_number(table, target->peak_bytes > 0 ? target->peak_bytes * 1e-9 : NAN);
    }
    return table;
}

int command_targets(int argc, char **argv)
{
    const struct cli cli = {
        .command = "targets",
        .summary = "Lists the targets that campaigns were made for, and those of running workers.",
        .example = "skipjack targets",
    };
    return list_command(&cli, list_targets, argc, argv);
}
