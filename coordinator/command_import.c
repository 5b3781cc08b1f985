#include "coordinator/cli.h"
#include "coordinator/commands.h"
#include "coordinator/import_foreign_command.h"
#include "coordinator/table.h"
#include "export/formats/import.h"
#include "schema/database.h"
#include "solvers/problem_key.h"

#include <stdio.h>
#include <string.h>

#define NO_BATCH    G_MININT64
#define SKIPS_SHOWN 20 /* a file; JSON has them all */

static struct {
    gboolean dry_run, list, strict, json, foreign;
    gint64 batch; /* NO_BATCH where not given */
    char *tag, *network, *direction, *target, *name;
} options = {.batch = NO_BATCH};

static const GOptionEntry entries[] = {
    {"dry-run", 'n', 0, G_OPTION_ARG_NONE, &options.dry_run, "Store nothing; needs no database",
     NULL},
    {"list", 'l', 0, G_OPTION_ARG_NONE, &options.list,
     "Print a line a problem: multiplicity, tab, key", NULL},
    {"strict", 0, 0, G_OPTION_ARG_NONE, &options.strict,
     "Fail when a line cannot be used or a column looks mistyped", NULL},
    {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "Print the totals as JSON", NULL},
    {"tag", 't', 0, G_OPTION_ARG_STRING, &options.tag, "Mark the problems with this tag", "TAG"},
    {"network", 0, 0, G_OPTION_ARG_STRING, &options.network,
     "Store them as this network's layers; of a table with several networks, read this one",
     "NAME"},
    {"batch", 'b', 0, G_OPTION_ARG_INT64, &options.batch, "Replace the batch size", "N"},
    {"direction", 'd', 0, G_OPTION_ARG_STRING, &options.direction,
     "Only these directions, such as F or FBW (layer tables: F when not given)", "F|B|W|FBW"},
    {"foreign", 0, 0, G_OPTION_ARG_NONE, &options.foreign,
     "Store what find-dbs and perf-dbs say of solvers, as a foreign campaign", NULL},
    {"target", 0, 0, G_OPTION_ARG_STRING, &options.target,
     "With --foreign: the target of the files (their names tell when not given)", "ID"},
    {"name", 0, 0, G_OPTION_ARG_STRING, &options.name, "With --foreign: the campaign's name",
     "NAME"},
    G_OPTION_ENTRY_NULL,
};

static const struct cli cli = {
    .command = "import",
    .arguments = "FILE...",
    .summary =
        "Reads problems from driver command lines, layer tables (CSV), find-dbs and perf-dbs "
        "(text or SQLite) and lists of keys, each also compressed with bzip2. Every line "
        "that cannot be used is named on stderr. With --foreign the times and perf configs of "
        "find-dbs and perf-dbs of one target become a campaign that somebody else measured: to "
        "look at, to compare with and for searches to begin from, never verified, worked on or "
        "exported.",
    .example = "skipjack import coordinator/networks/resnet50-v1.5.csv --batch 64 --tag resnet\n"
               "  skipjack import problems.txt --dry-run --list\n"
               "  skipjack import --foreign gfx942130.HIP.fdb.txt.bz2 gfx942130.db.bz2",
    .options = entries,
    .least = 1,
    .most = -1,
};

/* An unset variable of a script, which would name nothing as nothing. */
static bool check_names(GError **error)
{
    const struct {
        const char *option, *given;
    } names[] = {{"--tag", options.tag}, {"--network", options.network}, {"--name", options.name}};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (names[i].given != NULL && names[i].given[0] == '\0') {
            g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                        "%s needs a name, not ''", names[i].option);
            return false;
        }
    }
    return true;
}

static bool check_foreign(GError **error)
{
    bool lists = options.list || options.tag != NULL || options.network != NULL ||
                 options.direction != NULL || options.batch != NO_BATCH;
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
    *given = (struct import_options){.network = options.network};
    if (options.direction != NULL) {
        given->directions = import_parse_directions(options.direction);
        if (given->directions == 0) {
            g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                        "--direction is '%s', it must be F, B, W or several of them",
                        options.direction);
            return false;
        }
    }
    if (options.batch == NO_BATCH) {
        return true;
    }
    if (options.batch < 1 || options.batch > INT32_MAX) {
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "--batch must be from 1 to %d", INT32_MAX);
        return false;
    }
    given->batch = options.batch;
    return true;
}

/* Names what the last file's lines lacked. */
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

/* False when a file could not be read at all; the others are read all the same. */
static bool read_files(Import *import, char **paths)
{
    bool all = true;
    for (; *paths != NULL; paths++) {
        g_autoptr(GError) error = NULL;
        guint first = import->skipped->len;
        if (!import_file(import, *paths, &error)) {
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
        json_array_append_new(
            array, json_pack("{s:s, s:i}", "name", name, "layers", (int)network->layers->len));
    }
    return array;
}

static void show_json(const Import *import)
{
    json_t *json = json_pack("{s:I, s:I, s:i, s:i, s:o, s:o}", "lines", (json_int_t)import->lines,
                             "convolutions", (json_int_t)import->convolutions, "shapes",
                             problem_list_shapes(import->problems), "problems",
                             problem_list_count(import->problems), "networks",
                             networks_json(import), "skipped", skips_json(import));
    if (options.list) {
        json_object_set_new(json, "list", list_json(import));
    }
    table_show_json(json);
}

static void show_text(const Import *import)
{
    for (int i = 0; options.list && i < problem_list_count(import->problems); i++) {
        const struct problem_entry *entry = problem_list_get(import->problems, i);
        char key[PROBLEM_KEY_MAX];
        printf("%" G_GINT64_FORMAT "\t%s\n", entry->multiplicity,
               problem_key(&entry->problem, key));
    }
    /* With --list, standard output is the list alone, so that another import can read it. */
    fprintf(options.list ? stderr : stdout,
            "%" G_GINT64_FORMAT " lines: %" G_GINT64_FORMAT
            " convolutions, %d shapes, %d problems; %u cannot be used\n",
            import->lines, import->convolutions, problem_list_shapes(import->problems),
            problem_list_count(import->problems), import->skipped->len);
}

static bool store_problems(Store *store, const Import *import, GError **error)
{
    int count = problem_list_count(import->problems);
    g_autofree struct problem *problems = g_new(struct problem, (gsize)count);
    g_autofree int64_t *ids = g_new(int64_t, (gsize)count);
    for (int i = 0; i < count; i++) {
        problems[i] = problem_list_get(import->problems, i)->problem;
    }
    return store_put_problems(store, problems, count, options.tag, ids, error);
}

static bool store_import(const Import *import, GError **error)
{
    g_autoptr(Store) store = database_open(false, error);
    if (store == NULL || !store_problems(store, import, error)) {
        return false;
    }
    for (guint i = 0; i < import->networks->len; i++) {
        const struct import_network *network = g_ptr_array_index(import->networks, i);
        if (!store_put_network(store, network->name, (struct layer *)network->layers->data,
                               (int)network->layers->len, error)) {
            return false;
        }
    }
    return true;
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
    if (!cli_parse(&cli, &argc, &argv)) {
        return CLI_USAGE;
    }
    if (!check_names(&error) || !check_foreign(&error) || !read_options(&given, &error)) {
        return cli_fail("import", error);
    }
    if (options.foreign) {
        return run_foreign(argv + 1);
    }
    import = import_new(&given);
    bool all_read = read_files(import, argv + 1);
    if (!options.dry_run && problem_list_count(import->problems) > 0 &&
        !store_import(import, &error)) {
        return cli_fail("import", error);
    }
    if (options.json) {
        show_json(import);
    } else {
        show_text(import);
    }
    bool unusable = options.strict && import->skipped->len > 0;
    return all_read && !unusable ? CLI_DONE : CLI_FAILED;
}
