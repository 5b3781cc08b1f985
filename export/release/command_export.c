#include "export/commands.h"

#include "coordinator/cli/cli.h"
#include "export/formats/find_db.h"
#include "export/golden/golden_release.h"
#include "export/release/export_manifest.h"
#include "schema/server/database.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_MAX 10 /* refusals printed as text; --json prints all of them */

#define NO_LIMIT G_MININT64
#define TOP_MOST 64 /* largest --top: no problem has this many solvers */

#define SUMMARY                                                                                    \
    "Writes a campaign's results, or a golden version, as MIOpen's files, named after\n"           \
    "the target: find-db (.HIP.fdb.txt), perf-db (.db and .db.txt) and kernel-db (.kdb),\n"        \
    "and as our own (.sjdb), all of them when none is named, with a manifest of them\n"            \
    "(.export.json, of a golden version .golden.json). Results that the gate refuses are\n"        \
    "left out and named. A folder that holds another release of the target is refused;\n"          \
    "files of other targets may lie beside. A build-only campaign has no times: it gives a\n"      \
    "kernel-db and a .sjdb alone, whose solutions are marked as never measured."
#define DESCRIPTION                                                                                                   \
    "Exit status: 0 when all was exported; 1 when something was refused (it is counted\n"                             \
    "by reason; the first are named, --json names all) or nothing could be written; 2 for wrong usage.\n\nExample:\n" \
    "  skipjack export --campaign 3 -o out"

struct export_options {
    struct export_wish wish;
    gint64 campaign, workspace_bytes;
    gboolean perf, find, kernels, compact, json, dynamic_only, allow_drift, require_complete,
        replace;
    char *dir, *network, *tag, *golden, *target;
};

/* Checks that the options fit together. `words`: number of arguments that are not options; none is
 * allowed. */
static bool is_possible(const struct export_options *options, int words, GError **error)
{
    if (words > 0) {
        return cli_misuse(error, "it takes options only, see --help");
    }
    if ((options->campaign != 0) == (options->golden != NULL)) {
        return cli_misuse(error,
                          "name a campaign, --campaign ID, or a golden version, --golden VERSION");
    }
    if (options->campaign < 0) {
        return cli_misuse(error, "name a campaign: --campaign ID");
    }
    if (options->target != NULL && options->golden == NULL) {
        return cli_misuse(error, "--target goes with --golden: a campaign has its own");
    }
    if (options->require_complete && options->golden != NULL) {
        return cli_misuse(
            error, "--require-complete goes with --campaign: of a golden version's campaign it was "
                   "asked when it was proposed");
    }
    if (options->wish.top < 1 || options->wish.top > TOP_MOST) {
        return cli_misuse(error, "--top is from 1 to 64");
    }
    if (options->workspace_bytes < 0 && options->workspace_bytes != NO_LIMIT) {
        return cli_misuse(error, "--workspace is a number of bytes, 0 or more");
    }
    if (options->dir == NULL) {
        return cli_misuse(error, "name a folder: -o DIR");
    }
    return true;
}

static bool parse(int argc, char **argv, struct export_options *options, GError **error)
{
    const GOptionEntry entries[] = {
        {"campaign", 'c', 0, G_OPTION_ARG_INT64, &options->campaign, "The campaign", "ID"},
        {"golden", 'g', 0, G_OPTION_ARG_STRING, &options->golden,
         "An approved golden version instead: its number, or latest", "VERSION"},
        {"target", 't', 0, G_OPTION_ARG_STRING, &options->target,
         "The golden version's target, where several have some", "T"},
        {"perf", 0, 0, G_OPTION_ARG_NONE, &options->perf, "The perf-db", NULL},
        {"find", 0, 0, G_OPTION_ARG_NONE, &options->find, "The find-db", NULL},
        {"kernels", 0, 0, G_OPTION_ARG_NONE, &options->kernels,
         "The kernel-db; of a build-only campaign the kernels of all configs", NULL},
        {"compact", 0, 0, G_OPTION_ARG_NONE, &options->compact,
         "The .sjdb: all in one file, with each problem's own params and how solvers run; of a "
         "build-only campaign all configs, marked as never measured",
         NULL},
        {"top", 0, 0, G_OPTION_ARG_INT, &options->wish.top,
         "Entries of a find-db key: the fastest, one without workspace, one dynamic, then "
         "the next fastest (4)",
         "N"},
        {"workspace", 0, 0, G_OPTION_ARG_INT64, &options->workspace_bytes,
         "Nothing that needs more workspace", "BYTES"},
        {"dynamic-only", 0, 0, G_OPTION_ARG_NONE, &options->dynamic_only,
         "Nothing whose kernels are compiled for one shape", NULL},
        {"allow-drift", 0, 0, G_OPTION_ARG_NONE, &options->allow_drift,
         "Also what was measured while the device drifted or was throttled, which is refused else",
         NULL},
        {"network", 0, 0, G_OPTION_ARG_STRING, &options->network,
         "Problems of this network alone (see `skipjack networks`)", "NAME"},
        {"tag", 0, 0, G_OPTION_ARG_STRING, &options->tag, "Problems with this tag alone", "TAG"},
        {"require-complete", 0, 0, G_OPTION_ARG_NONE, &options->require_complete,
         "Nothing of a campaign with jobs that have not ended or problems without a winner", NULL},
        {"replace", 0, 0, G_OPTION_ARG_NONE, &options->replace,
         "Remove the files of another release of the target from the folder", NULL},
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options->dir, "Where to, made when missing",
         "DIR"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "What was done as one JSON object", NULL},
        {0},
    };
    const struct cli cli = {
        .command = "export", .summary = SUMMARY, .description = DESCRIPTION, .options = entries};
    bool parsed = cli_parse_options(&cli, &argc, &argv, error);
    return parsed && is_possible(options, argc - 1, error);
}

static void complete_wish(struct export_options *options)
{
    unsigned what = (options->find ? EXPORT_FIND : 0) | (options->perf ? EXPORT_PERF : 0) |
                    (options->kernels ? EXPORT_KERNELS : 0) |
                    (options->compact ? EXPORT_COMPACT : 0);
    struct export_wish *wish = &options->wish;
    wish->campaign = options->campaign;
    wish->what = what != 0 ? what : EXPORT_ALL;
    wish->limits_workspace = options->workspace_bytes >= 0;
    wish->workspace_bytes = (uint64_t)MAX(options->workspace_bytes, 0);
    wish->dynamic_only = options->dynamic_only;
    wish->allow_drift = options->allow_drift;
    wish->require_complete = options->require_complete;
    wish->replace = options->replace;
    wish->network = options->network;
    wish->tag = options->tag;
}

static void print_files(const struct export_summary *summary)
{
    for (guint i = 0; i < summary->removed->len; i++) {
        printf("removed %s\n", (const char *)summary->removed->pdata[i]);
    }
    for (guint i = 0; i < summary->files->len; i++) {
        printf("wrote %s\n", (const char *)summary->files->pdata[i]);
    }
}

/* Prints "not expressible in MIOpen's keys: 3 problems, for the .sjdb alone (2 with an epilogue, 1 with
 * strided tensors)". */
static void print_inexpressible(const struct export_summary *summary)
{
    const char *separator = "(";
    printf("not expressible in MIOpen's keys: %d problems, for the .sjdb alone ",
           summary->inexpressible);
    for (int lack = LACK_NONE + 1; lack < FIND_KEY_LACKS; lack++) {
        if (summary->lacks[lack] > 0) {
            printf("%s%d with %s", separator, summary->lacks[lack],
                   find_key_lack_words((enum find_key_lack)lack));
            separator = ", ";
        }
    }
    printf(")\n");
}

/* Prints "not in the .sjdb: 400 configs of ConvGemm, 24 of ConvSimt, since it holds no more of a problem". */
static void print_beyond(json_t *by_solver)
{
    const char *solver, *before = "not in the .sjdb: ", *after = " configs";
    json_t *count;
    json_object_foreach (by_solver, solver, count) {
        printf("%s%d%s of %s", before, (int)json_integer_value(count), after, solver);
        before = ", ";
        after = "";
    }
    if (json_object_size(by_solver) > 0) {
        printf(", since it holds no more of a problem\n");
    }
}

static void print_built(const struct export_summary *summary)
{
    printf("built, not measured: %d configs of %d problems\nkernel-db: %d kernels\n"
           "find-db, perf-db: not written, they state what was measured\n",
           summary->built_configs, summary->built_problems, summary->kernels);
    print_beyond(summary->beyond_sjdb);
    if (summary->inexpressible > 0) {
        print_inexpressible(summary);
    }
    print_files(summary);
}

static json_t *json_lacks(const struct export_summary *summary)
{
    json_t *object = json_object();
    for (int lack = LACK_NONE + 1; lack < FIND_KEY_LACKS; lack++) {
        json_object_set_new(object, find_key_lack_name((enum find_key_lack)lack),
                            json_integer(summary->lacks[lack]));
    }
    return object;
}

static void print(const struct export_summary *summary)
{
    if (summary->built_configs > 0) {
        print_built(summary);
        return;
    }
    printf("find-db: %d keys, %d entries\n", summary->find_keys, summary->find_entries);
    printf("perf-db: %d configs, %d records\n", summary->perf_configs, summary->perf_records);
    printf("kernel-db: %d kernels\n", summary->kernels);
    if (summary->merged > 0) {
        printf("merged: %d records gave way to another problem's of the same perf-db row\n",
               summary->merged);
    }
    if (summary->beyond_limits > 0) {
        printf("beyond the limits: %d jobs have no result within them\n", summary->beyond_limits);
    }
    if (summary->inexpressible > 0) {
        print_inexpressible(summary);
    }
    print_files(summary);
}

static void print_incomplete(const struct completeness *completeness, gint64 campaign)
{
    if (!completeness_is_whole(completeness)) {
        g_autofree char *text = completeness_text(completeness, campaign);
        g_printerr("%s\n", text);
    }
}

static void print_refused(const struct refusals *refused)
{
    for (guint i = 0; i < refused->listed->len && i < NAMED_MAX; i++) {
        const struct export_refusal *refusal = refused->listed->pdata[i];
        g_printerr("%s: %s: job %" G_GINT64_FORMAT ", %s, %s: %s\n",
                   failure_name(FAILURE_REFUSED_BY_CHECK), refusal_name(refusal->why), refusal->job,
                   refusal->problem, refusal->solver, refusal->reason);
    }
    if (refused->count > NAMED_MAX) {
        g_printerr("and %" G_GINT64_FORMAT " more, --json names all\n", refused->count - NAMED_MAX);
    }
    for (int why = 0; why < REFUSAL_COUNT; why++) {
        if (refused->by[why] > 0) {
            g_printerr("refused for %s: %d\n", refusal_name((enum refusal)why), refused->by[why]);
        }
    }
}

static void print_text(json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    fputs(text, stdout);
    free(text);
    json_decref(value);
}

/* Prints a refusal as one element of a JSON array. *data becomes true: a comma goes in front of the
 * next one. */
static void print_refusal(void *data, const struct export_refusal *refusal)
{
    bool *any = data;
    fputs(*any ? "," : "", stdout);
    *any = true;
    print_text(json_pack("{s:s, s:I, s:s, s:s, s:s}", "why", refusal_name(refusal->why), "job",
                         (json_int_t)refusal->job, "problem", refusal->problem, "solver",
                         refusal->solver, "reason", refusal->reason));
}

static json_t *json_refused_by(const struct refusals *refused)
{
    json_t *counts = json_object();
    for (int why = 0; why < REFUSAL_COUNT; why++) {
        if (refused->by[why] > 0) {
            json_object_set_new(counts, refusal_name((enum refusal)why),
                                json_integer(refused->by[why]));
        }
    }
    return counts;
}

static json_t *json_texts(const GPtrArray *texts)
{
    json_t *list = json_array();
    for (guint i = 0; i < texts->len; i++) {
        g_autofree char *text = g_utf8_make_valid(texts->pdata[i], -1);
        json_array_append_new(list, json_string(text));
    }
    return list;
}

/* Prints the refusals one by one while reading them, since there may be more than fit into
 * memory. */
static bool print_json(const struct export_summary *summary, GError **error)
{
    bool any = false;
    const struct completeness *completeness = &summary->completeness;
    json_t *object = json_pack(
        "{s:i, s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o}",
        "built_configs", summary->built_configs, "beyond_sjdb_by",
        summary->beyond_sjdb != NULL ? json_incref(summary->beyond_sjdb) : json_object(),
        "built_problems", summary->built_problems, "find_keys", summary->find_keys, "find_entries",
        summary->find_entries, "perf_configs", summary->perf_configs, "perf_records",
        summary->perf_records, "kernels", summary->kernels, "merged", summary->merged,
        "beyond_limits", summary->beyond_limits, "inexpressible", summary->inexpressible,
        "inexpressible_by", json_lacks(summary), "refused_by", json_refused_by(&summary->refused),
        "files", json_texts(summary->files), "removed", json_texts(summary->removed));
    if (completeness->problems != NULL) {
        export_add_completeness(object, completeness, true);
    }
    char *text = json_dumps(object, JSON_COMPACT);
    printf("%.*s,\"refused\":[", (int)strlen(text) - 1, text);
    free(text);
    json_decref(object);
    bool printed = refusals_each(&summary->refused, print_refusal, &any, error);
    printf("]}\n");
    return printed;
}

static bool run(const struct export_options *options, GError **error)
{
    struct export_summary summary = {0};
    g_autoptr(Store) store = database_open(false, error);
    if (store == NULL) {
        return false;
    }
    bool done = options->golden != NULL
                    ? golden_release(store, options->golden, options->target, &options->wish,
                                     options->dir, &summary, error)
                    : export_campaign(store, &options->wish, options->dir, &summary, error);
    if (done) {
        print_incomplete(&summary.completeness, options->wish.campaign);
        print_refused(&summary.refused);
        if (options->json) {
            done = print_json(&summary, error);
        } else {
            print(&summary);
        }
        if (done && summary.refused.count > 0) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                        "%" G_GINT64_FORMAT " results were refused and left out",
                        summary.refused.count);
            done = false;
        }
    }
    export_summary_clear(&summary);
    return done;
}

int command_export(int argc, char **argv)
{
    struct export_options options = {.wish.top = FIND_ENTRIES_MAX, .workspace_bytes = NO_LIMIT};
    g_autoptr(GError) error = NULL;
    int status = CLI_USAGE;
    if (parse(argc, argv, &options, &error)) {
        complete_wish(&options);
        status = run(&options, &error) ? 0 : 1;
    }
    if (error != NULL) {
        cli_fail("export", g_steal_pointer(&error));
    }
    g_free(options.dir);
    g_free(options.network);
    g_free(options.tag);
    g_free(options.golden);
    g_free(options.target);
    return status;
}
