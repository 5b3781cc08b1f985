#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/commands.h"
#include "coordinator/import/import.h"
#include "coordinator/import/import_foreign_command.h"
#include "coordinator/import/import_store.h"
#include "coordinator/import/layer_columns.h"
#include "coordinator/import/problems_import.h"
#include "coordinator/network/onnx/onnx_ops.h"
#include "coordinator/plan/unserved.h"
#include "export/formats/byte_source.h"
#include "solvers/problem/problem_key.h"

#include <stdio.h>
#include <string.h>

#define SKIPS_SHOWN 20 /* unusable lines of a file that are printed; JSON has all of them */

static struct {
    gboolean dry_run, list_problems, strict, json, foreign, columns, operators;
    struct import_words list;
    char *tag, *direction, *target, *name;
    struct network_facts facts;
} options;

static const GOptionEntry entries[] = {
    {"dry-run", 'n', 0, G_OPTION_ARG_NONE, &options.dry_run, "Store nothing; needs no database",
     NULL},
    {"list", 'l', 0, G_OPTION_ARG_NONE, &options.list_problems,
     "Print a line a problem: multiplicity, tab, key", NULL},
    {"strict", 0, 0, G_OPTION_ARG_NONE, &options.strict, "Fail when a line cannot be used", NULL},
    {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print the totals as JSON", NULL},
    {"tag", 't', 0, G_OPTION_ARG_STRING, &options.tag, "Mark the problems with this tag", "TAG"},
    {"direction", 'd', 0, G_OPTION_ARG_STRING, &options.direction,
     "Only these directions, such as F or FBW (layer tables: F when not given)", "F|B|W|FBW"},
    {"columns", 0, 0, G_OPTION_ARG_NONE, &options.columns,
     "Print the columns of layer tables, as Markdown", NULL},
    {"operators", 0, 0, G_OPTION_ARG_NONE, &options.operators,
     "Print the operators of ONNX that are read, as Markdown", NULL},
    {"foreign", 0, 0, G_OPTION_ARG_NONE, &options.foreign,
     "Store what find-dbs and perf-dbs say of solvers, as a foreign campaign", NULL},
    {"target", 0, 0, G_OPTION_ARG_STRING, &options.target,
     "With --foreign: the target of the files (their names tell when not given)", "ID"},
    {"name", 0, 0, G_OPTION_ARG_STRING, &options.name, "With --foreign: the campaign's name",
     "NAME"},
    {"framework", 0, 0, G_OPTION_ARG_STRING, &options.facts.texts[FACT_FRAMEWORK],
     "Framework that the networks come from (the table tells when not given)", "NAME"},
    {"model", 0, 0, G_OPTION_ARG_STRING, &options.facts.texts[FACT_MODEL],
     "Likewise the network's name in that framework", "NAME"},
    {"model-version", 0, 0, G_OPTION_ARG_STRING, &options.facts.texts[FACT_VERSION],
     "Likewise the version of the model or its framework", "TEXT"},
    {"source", 0, 0, G_OPTION_ARG_STRING, &options.facts.texts[FACT_SOURCE],
     "Likewise where the layers are published", "TEXT"},
    {"runs", 0, 0, G_OPTION_ARG_STRING, &options.facts.texts[FACT_RUNS],
     "Likewise how often the network is run, on one scale for all networks", "N"},
    G_OPTION_ENTRY_NULL,
};

static struct cli cli = {
    .command = "import",
    .arguments = "FILE...",
    .summary =
        "Reads problems from ONNX models, driver command lines, layer tables (CSV), find-dbs and perf-dbs "
        "(text or SQLite) and lists of keys, each also compressed with " PACKINGS_READ
        "; '-' is standard input, and the name of a network that comes with the program "
        "(skipjack networks --shipped) is its table. Lines that cannot be used are named on stderr. A layer table with an "
        "unknown column is refused as a whole; the columns are listed below. With --foreign, the times "
        "and perf configs of find-dbs and perf-dbs of one target become a foreign campaign. Reports "
        "read it, other campaigns' searches begin with its winners, and it is never verified, worked "
        "on or exported.",
    .example = "skipjack import resnet50-v1.5 --batch 64 --tag resnet\n"
               "  skipjack import resnet50.onnx --batch 1,64 --dtype FP16 --layout NHWC\n"
               "  skipjack import layers.csv --framework PyTorch --model resnet50 --runs 1000\n"
               "  skipjack import problems.txt --dry-run --list\n"
               "  skipjack import --foreign gfx942130.HIP.fdb.txt.bz2 gfx942130.db.bz2",
    .options = entries,
    .least = 0,
    .most = -1,
};

/* The help on layer tables begins with this text; behind it comes the list of columns. */
#define TABLES                                                                                     \
    "Layer tables begin with a header that names their columns and have a layer a row;\n"          \
    "cells stand between commas, semicolons or tabs. Names are read in any case, with or\n"        \
    "without spaces, '-' and '_'. Columns that say the same must agree. Columns:\n"

/* Refuses a --tag or --name that is empty, as from a variable that a script did not set, or longer than
 * NETWORK_NAME_MAX bytes. */
static bool check_names(GError **error)
{
    const struct {
        const char *option, *given;
    } names[] = {{"--tag", options.tag}, {"--name", options.name}};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (names[i].given != NULL && names[i].given[0] == '\0') {
            g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                        "%s needs a name, not ''", names[i].option);
            return false;
        }
        if (names[i].given != NULL && strlen(names[i].given) > NETWORK_NAME_MAX) {
            g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                        "%s has %zu bytes, more than %d are not taken", names[i].option,
                        strlen(names[i].given), NETWORK_NAME_MAX);
            return false;
        }
    }
    return true;
}

/* The option of each fact of enum network_fact. */
static const char *const fact_options[FACT_COUNT] = {"--framework", "--model", "--model-version",
                                                     "--source", "--runs"};

static bool check_facts(GError **error)
{
    for (int i = 0; i < FACT_COUNT; i++) {
        g_autoptr(GError) wrong = NULL;
        const char *text = options.facts.texts[i];
        if (text != NULL && !network_fact_check((enum network_fact)i, text, &wrong)) {
            g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE, "%s: %s",
                        fact_options[i], wrong->message);
            return false;
        }
    }
    return true;
}

static bool check_foreign(GError **error)
{
    bool lists = options.list_problems || options.tag != NULL || options.direction != NULL ||
                 import_words_any(&options.list) || !network_facts_empty(&options.facts);
    bool campaigns = options.target != NULL || options.name != NULL;
    if (options.foreign ? !lists : !campaigns) {
        return true;
    }
    g_set_error_literal(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                        options.foreign
                            ? "--foreign goes with --target, --name, --dry-run, --strict and --json"
                            : "--target and --name belong to --foreign");
    return false;
}

static bool read_options(struct import_options *given, GError **error)
{
    if (!list_options(&options.list, given, error)) {
        return false;
    }
    if (options.direction != NULL) {
        given->directions = import_parse_directions(options.direction);
        if (given->directions == 0) {
            g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                        "--direction is '%s', it must be F, B, W or several of them",
                        options.direction);
            return false;
        }
    }
    return true;
}

/* Prints why lines of the last file could not be used. `first`: index of the file's first skipped
 * line. */
static void show_skips(const Import *import, guint first)
{
    guint count = import->skipped->len;
    for (guint i = first; i < MIN(count, first + SKIPS_SHOWN); i++) {
        const struct import_skip *skip = g_ptr_array_index(import->skipped, i);
        fprintf(stderr, "%s:%" G_GINT64_FORMAT ": %s\n", skip->file, skip->line, skip->reason);
    }
    if (count > first + SKIPS_SHOWN) {
        const struct import_skip *skip = g_ptr_array_index(import->skipped, first);
        fprintf(stderr, "%s: %u more lines cannot be used (--json lists all)\n", skip->file,
                count - first - SKIPS_SHOWN);
    }
}

/* Reads all files. Returns false if one of them could not be read; the files after it are read
 * nevertheless. */
static bool read_files(Import *import, char **paths)
{
    bool all = true;
    for (; *paths != NULL; paths++) {
        g_autoptr(GError) error = NULL;
        guint first = import->skipped->len;
        bool read = import_file(import, *paths, &error);
        import_end_progress();
        if (import_stopped()) {
            return false;
        }
        if (!read) {
            fprintf(stderr, "skipjack import: %s\n", error->message);
            all = false;
        }
        show_skips(import, first);
    }
    return all;
}

static json_t *skips_json(const Import *import)
{
    json_t *array = json_array();
    for (guint i = 0; i < import->skipped->len; i++) {
        const struct import_skip *skip = g_ptr_array_index(import->skipped, i);
        json_array_append_new(array, json_pack("{s:s, s:I, s:s}", "file", skip->file, "line",
                                               (json_int_t)skip->line, "reason", skip->reason));
    }
    return array;
}

static json_t *notes_json(const Import *import)
{
    json_t *array = json_array();
    for (guint i = 0; i < import->notes->len; i++) {
        json_array_append_new(array, json_string(import->notes->pdata[i]));
    }
    return array;
}

static json_t *list_json(const Import *import)
{
    json_t *array = json_array();
    for (int i = 0; i < problem_list_count(import->problems); i++) {
        const struct problem_entry *entry = problem_list_get(import->problems, i);
        char key[PROBLEM_KEY_MAX];
        json_array_append_new(array, json_pack("{s:I, s:s}", "multiplicity",
                                               (json_int_t)entry->multiplicity, "key",
                                               problem_key(&entry->problem, key)));
    }
    return array;
}

static json_t *networks_json(const Import *import)
{
    json_t *array = json_array();
    for (guint i = 0; i < import->networks->len; i++) {
        const struct import_network *network = g_ptr_array_index(import->networks, i);
        g_autofree char *name = g_utf8_make_valid(network->name, -1);
        const struct network_facts *facts = &network->facts;
        json_t *object =
            json_pack("{s:s, s:i, s:s?, s:s?, s:s?, s:s?, s:o, s:o}", "name", name, "layers",
                      (int)network->layers->len, "framework", facts->texts[FACT_FRAMEWORK], "model",
                      facts->texts[FACT_MODEL], "model_version", facts->texts[FACT_VERSION],
                      "source", facts->texts[FACT_SOURCE], "batch",
                      facts->batch > 0 ? json_integer(facts->batch) : json_null(), "runs",
                      facts->texts[FACT_RUNS] ? json_real(network_facts_runs(facts)) : json_null());
        json_array_append_new(array, object);
    }
    return array;
}

static Unserved *find_unserved(const Import *import)
{
    Unserved *unserved = unserved_new();
    for (int i = 0; i < problem_list_count(import->problems); i++) {
        unserved_ask(unserved, &problem_list_get(import->problems, i)->problem, NULL);
    }
    return unserved;
}

static void show_json(const Import *import, const Unserved *unserved)
{
    json_t *json = json_pack(
        "{s:I, s:I, s:I, s:i, s:i, s:o, s:o, s:o}", "lines", (json_int_t)import->lines,
        "convolutions", (json_int_t)import->convolutions, "replaced", (json_int_t)import->replaced,
        "shapes", problem_list_shapes(import->problems), "problems",
        problem_list_count(import->problems), "networks", networks_json(import), "skipped",
        skips_json(import), "notes", notes_json(import));
    if (options.list_problems) {
        json_object_set_new(json, "list", list_json(import));
    }
    json_object_set_new(json, "unserved", unserved_json(unserved));
    table_show_json(json);
}

/* The noun for the imported problems: "operators" if any of them is not a convolution. */
static const char *lines_word(const Import *import)
{
    for (int i = 0; i < problem_list_count(import->problems); i++) {
        if (problem_list_get(import->problems, i)->problem.kind != OP_CONV) {
            return "operators";
        }
    }
    return "convolutions";
}

static void show_text(const Import *import)
{
    for (int i = 0; options.list_problems && i < problem_list_count(import->problems); i++) {
        const struct problem_entry *entry = problem_list_get(import->problems, i);
        char key[PROBLEM_KEY_MAX];
        printf("%" G_GINT64_FORMAT "\t%s\n", entry->multiplicity,
               problem_key(&entry->problem, key));
    }
    /* With --list, only the list is written to standard output, so that another import can read
     * it. */
    fprintf(options.list_problems ? stderr : stdout,
            "%" G_GINT64_FORMAT " lines: %" G_GINT64_FORMAT
            " %s, %d shapes, %d problems; %u cannot be used\n",
            import->lines, import->convolutions, lines_word(import),
            problem_list_shapes(import->problems), problem_list_count(import->problems),
            import->skipped->len);
}

static int run_foreign(char **paths)
{
    const struct import_foreign_options foreign = {
        .target = options.target,
        .name = options.name,
        .dry_run = options.dry_run,
        .strict = options.strict,
        .json = options.json,
    };
    return import_foreign_command(paths, &foreign);
}

int command_import(int argc, char **argv)
{
    g_autoptr(Import) import = NULL;
    struct import_options given;
    GError *error = NULL;
    g_autofree GOptionEntry *lists = import_words_entries(&options.list, 0, 'b');
    g_autofree char *columns = layer_columns_help();
    g_autofree char *notes = g_strconcat(TABLES, columns, NULL);
    cli.lists = lists;
    cli.notes = notes;
    if (!cli_parse(&cli, &argc, &argv)) {
        return CLI_USAGE;
    }
    if (options.columns) {
        g_autofree char *table = layer_columns_markdown();
        fputs(table, stdout);
        return CLI_DONE;
    }
    if (options.operators) {
        g_autofree char *table = onnx_ops_markdown();
        fputs(table, stdout);
        return CLI_DONE;
    }
    if (argc < 2) {
        return cli_fail("import", g_error_new(COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                                              "needs FILE..., see skipjack import --help"));
    }
    if (!check_names(&error) || !check_facts(&error) || !check_foreign(&error) ||
        !read_options(&given, &error)) {
        return cli_fail("import", error);
    }
    if (options.foreign) {
        return run_foreign(argv + 1);
    }
    import_catch_signals();
    given.goes_on = import_goes_on;
    given.facts = &options.facts;
    import = import_new(&given);
    bool all_read = read_files(import, argv + 1);
    problems_say_notes(import);
    bool stores = !options.dry_run && problem_list_count(import->problems) > 0;
    if (!import_stopped() && stores && !import_store(import, options.tag, &error) &&
        !import_stopped()) {
        return cli_fail("import", error);
    }
    if (import_stopped()) {
        g_clear_error(&error);
        fprintf(stderr, "stopped: nothing was stored; the same command begins again\n");
        return CLI_INTERRUPTED;
    }
    g_autoptr(Unserved) unserved = find_unserved(import);
    unserved_say(unserved);
    if (options.json) {
        show_json(import, unserved);
    } else {
        show_text(import);
    }
    bool unusable = options.strict && import->skipped->len > 0;
    return all_read && !unusable ? CLI_DONE : CLI_FAILED;
}
