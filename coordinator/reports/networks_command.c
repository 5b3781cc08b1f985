/* `skipjack networks`: lists networks, their versions and layers, and removes them. */
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/when.h"
#include "coordinator/commands.h"
#include "coordinator/import/import.h"
#include "coordinator/import/shipped.h"
#include "coordinator/plan/problem_text.h"
#include "schema/server/database.h"
#include "schema/store/store_problems.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- layers ---- */

static const struct table_column layer_columns[] = {
    {"x", "multiplicity", TABLE_INT, 0},   {"layer", "layer", TABLE_TEXT, 0},
    {"problem", "problem", TABLE_TEXT, 0}, {"GMAC", "gmacs", TABLE_NUMBER, 3},
    {NULL, "key", TABLE_TEXT, 0},
};

static void add_layer(Table *table, const struct layer *layer)
{
    char key[PROBLEM_KEY_MAX];
    g_autofree char *text = problem_text(&layer->problem);
    table_int(table, layer->multiplicity);
    table_text(table, layer->name[0] ? layer->name : NULL);
    table_text(table, text);
    table_number(table, problem_macs(&layer->problem) * layer->multiplicity * 1e-9);
    table_text(table, problem_key(&layer->problem, key));
}

static Table *list_layers(Store *store, const char *network, GError **error)
{
    g_autoptr(GPtrArray) layers = store_list_layers(store, network, error);
    if (!layers)
        return NULL;
    Table *table = table_new(layer_columns, G_N_ELEMENTS(layer_columns));
    for (guint i = 0; i < layers->len; i++)
        add_layer(table, g_ptr_array_index(layers, i));
    return table;
}

/* ---- networks ---- */

static const struct table_column network_columns[] = {
    {"network", "network", TABLE_TEXT, 0},    {"version", "version", TABLE_INT, 0},
    {"current", "current", TABLE_TEXT, 0},    {"layers", "layers", TABLE_INT, 0},
    {"problems", "problems", TABLE_INT, 0},   {"GMAC", "gmacs", TABLE_NUMBER, 3},
    {"batch", "batch", TABLE_INT, 0},         {"framework", "framework", TABLE_TEXT, 0},
    {"model", "model", TABLE_TEXT, 0},        {"model version", "model_version", TABLE_TEXT, 0},
    {"runs", "runs", TABLE_NUMBER, -4},       {NULL, "source", TABLE_TEXT, 0},
    {"campaigns", "campaigns", TABLE_INT, 0}, {"imported", "imported", TABLE_TEXT, 0},
};

/* Adds the cells from "batch" to "source". */
static void add_facts(Table *table, const struct network_facts *facts)
{
    table_count(table, facts->batch > 0 ? facts->batch : -1);
    table_text(table, facts->texts[FACT_FRAMEWORK]);
    table_text(table, facts->texts[FACT_MODEL]);
    table_text(table, facts->texts[FACT_VERSION]);
    table_number(table, facts->texts[FACT_RUNS] ? network_facts_runs(facts) : NAN);
    table_text(table, facts->texts[FACT_SOURCE]);
}

static Table *list_networks(Store *store, bool versions, GError **error)
{
    g_autoptr(GPtrArray) networks = store_list_networks(store, versions, error);
    if (!networks)
        return NULL;
    Table *table = table_new(network_columns, G_N_ELEMENTS(network_columns));
    for (guint i = 0; i < networks->len; i++) {
        const struct network_row *network = g_ptr_array_index(networks, i);
        g_autofree char *imported = when_text(network->created);
        table_text(table, network->name);
        table_int(table, network->version);
        table_text(table, network->current ? "yes" : "no");
        table_int(table, network->layers);
        table_int(table, network->problems);
        table_number(table, network->gmacs);
        add_facts(table, &network->facts);
        table_int(table, network->campaigns);
        table_text(table, imported);
    }
    return table;
}

/* ---- networks that come with the program ---- */

static const struct table_column shipped_columns[] = {
    {"network", "network", TABLE_TEXT, 0},  {"layers", "layers", TABLE_INT, 0},
    {"problems", "problems", TABLE_INT, 0}, {"GMAC", "gmacs", TABLE_NUMBER, 3},
    {NULL, "batch", TABLE_INT, 0},          {"framework", "framework", TABLE_TEXT, 0},
    {"model", "model", TABLE_TEXT, 0},      {"model version", "model_version", TABLE_TEXT, 0},
    {NULL, "runs", TABLE_NUMBER, -4},       {"source", "source", TABLE_TEXT, 0},
};

/* Reads the table of a network that comes with the program, whatever files there are. */
static Import *read_shipped(const struct shipped_table *shipped, GError **error)
{
    const struct import_options options = {0};
    g_autofree char *name = g_strconcat(shipped->name, ".csv", NULL);
    Import *import = import_new(&options);
    if (import_bytes(import, name, shipped->text, strlen(shipped->text), error))
        return import;
    import_free(import);
    return NULL;
}

static bool add_shipped(Table *table, const struct shipped_table *shipped, GError **error)
{
    g_autoptr(Import) import = read_shipped(shipped, error);
    if (!import)
        return false;
    const struct import_network *network = g_ptr_array_index(import->networks, 0);
    int64_t layers = 0;
    double macs = 0;
    for (guint i = 0; i < network->layers->len; i++) {
        const struct layer *layer = &g_array_index(network->layers, struct layer, i);
        layers += layer->multiplicity;
        macs += problem_macs(&layer->problem) * layer->multiplicity;
    }
    table_text(table, network->name);
    table_int(table, layers);
    table_int(table, problem_list_count(import->problems));
    table_number(table, macs * 1e-9);
    add_facts(table, &network->facts);
    return true;
}

static Table *list_shipped(GError **error)
{
    Table *table = table_new(shipped_columns, G_N_ELEMENTS(shipped_columns));
    for (size_t i = 0; i < shipped_tables_count; i++) {
        if (!add_shipped(table, &shipped_tables[i], error)) {
            table_free(table);
            return NULL;
        }
    }
    return table;
}

static Table *list_shipped_layers(const char *name, GError **error)
{
    const struct shipped_table *shipped = shipped_find(name);
    if (!shipped) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                    "no network '%s' comes with the program; to list them: skipjack networks "
                    "--shipped",
                    name);
        return NULL;
    }
    g_autoptr(Import) import = read_shipped(shipped, error);
    if (!import)
        return NULL;
    const struct import_network *network = g_ptr_array_index(import->networks, 0);
    Table *table = table_new(layer_columns, G_N_ELEMENTS(layer_columns));
    for (guint i = 0; i < network->layers->len; i++)
        add_layer(table, &g_array_index(network->layers, struct layer, i));
    return table;
}

/* ---- the command ---- */

/* Counts the versions that would be removed: removes them in a transaction and rolls it back. */
static bool count_versions(Store *store, const char *name, int *versions, GError **error)
{
    if (!store_begin(store, error))
        return false;
    bool removed = store_remove_network(store, name, versions, error);
    return store_end(store, false, removed ? error : NULL) && removed;
}

static int remove_networks(Store *store, char **names, const struct cli_loss *loss)
{
    for (; *names; names++) {
        int versions = 0, status = CLI_DONE;
        GError *error = NULL;
        if (!count_versions(store, *names, &versions, &error))
            return cli_fail("networks", error);
        if (!cli_may_lose(loss, &status, "network '%s', %d version%s", *names, versions,
                          versions == 1 ? "" : "s")) {
            if (status != CLI_DONE)
                return status;
            continue;
        }
        if (!store_remove_network(store, *names, &versions, &error))
            return cli_fail("networks", error);
        printf("removed '%s': %d version%s; the problems stay\n", *names, versions,
               versions == 1 ? "" : "s");
    }
    return CLI_DONE;
}

int command_networks(int argc, char **argv)
{
    gboolean as_json = FALSE, versions = FALSE, shipped = FALSE;
    struct cli_loss loss = {0};
    const GOptionEntry options[] = {
        {"versions", 0, 0, G_OPTION_ARG_NONE, &versions,
         "every version, not the current ones alone", NULL},
        {"shipped", 0, 0, G_OPTION_ARG_NONE, &shipped,
         "the networks that come with the program, or the layers of one; needs no database", NULL},
        CLI_LOSS_OPTIONS(&loss),
        CLI_JSON_OPTION(&as_json),
        {0},
    };
    const struct cli cli = {
        .command = "networks",
        .arguments = "[NAME[@VERSION] | remove NAME[@VERSION]...]",
        .summary =
            "Lists the networks, or the layers of one; 'remove' takes networks away. A network "
            "that is imported again with other layers gets a new version, which the name "
            "alone then means; NAME@VERSION means that one. A version that a campaign was "
            "made for stays until the campaign is dropped. tune, import and every other command "
            "that reads lists take a network that comes with the program by its name.",
        .example = "skipjack networks --shipped\n"
                   "  skipjack networks resnet50-v1.5\n"
                   "  skipjack networks --versions\n"
                   "  skipjack networks remove resnet50-v1.5@1",
        .options = options,
        .most = -1,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    bool removes = argc > 2 && strcmp(argv[1], "remove") == 0;
    GError *error = NULL;
    if (argc > 2 && !removes) {
        g_set_error(&error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "name one network, or 'remove' and networks, not '%s'", argv[1]);
        return cli_fail("networks", error);
    }
    if (shipped && (argc > 2 || versions)) {
        g_set_error_literal(&error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                            "--shipped goes with one network's name and --json alone");
        return cli_fail("networks", error);
    }
    if (shipped) {
        Table *tables = argc > 1 ? list_shipped_layers(argv[1], &error) : list_shipped(&error);
        return table_finish("networks", tables, as_json, error);
    }
    g_autoptr(Store) store = database_open(as_json, &error);
    if (store && removes)
        return remove_networks(store, argv + 2, &loss);
    Table *table = !store     ? NULL
                   : argc > 1 ? list_layers(store, argv[1], &error)
                              : list_networks(store, versions, &error);
    return table_finish("networks", table, as_json, error);
}
