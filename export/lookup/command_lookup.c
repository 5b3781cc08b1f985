#include "export/commands.h"

#include "coordinator/import/import.h"
#include "export/lookup/lookup_choose.h"
#include "export/lookup/lookup_solution.h"
#include "export/lookup/lookup_stats.h"
#include "solvers/framework/target.h"
#include "solvers/problem/problem_key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SUMMARY                                                                                    \
    "Says what a .sjdb file holds for a problem: its entries, the fastest marked by a\n"           \
    "star, with the params of tuned solvers and the launches of those that it says how\n"          \
    "to run; with --stats, what is in the file and where its bytes go; with --choose,\n"           \
    "the answer that a library gets for any problem: from the entries of the target's\n"           \
    "own file, else from other targets' files or the nearest problems, else by our\n"              \
    "solvers' estimates. DB is then one file or several, the target's own first, or a\n"           \
    "folder of them."
#define DESCRIPTION                                                                                \
    "Exit status: 0 when there is an answer; 1 when the file does not hold the problem,\n"         \
    "has no entry within the limits, or cannot be read; 2 for wrong usage.\n\nExample:\n"          \
    "  skipjack lookup gfx90a68.sjdb 64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F\n"         \
    "  skipjack lookup gfx90a68.sjdb --stats\n"                                                    \
    "  skipjack lookup --choose --target gfx90a68 --mode hybrid released/ KEY\n"                   \
    "  skipjack lookup --choose gfx90a68.sjdb --problems coordinator/networks/resnet50-v1.5.csv"

#define ENTRIES_MAX 1024 /* of a problem, that the format holds */

struct lookup {
    gboolean stats, json, dynamic, choose;
    gint64 workspace_bytes; /* -1: any */
    char *mode, *target;    /* of --choose; may be NULL */
    char **words;           /* DB, KEY */
    char **lists;           /* of problems, of --choose; NULL for a key */
};

/* By enum skipjackdb_mode. */
static const char *const mode_names[] = {"normal", "fast", "hybrid"};

/* Its number in the enum, or -1. */
static int mode_of(const struct lookup *lookup)
{
    for (int i = 0; lookup->mode != NULL && i < (int)G_N_ELEMENTS(mode_names); i++) {
        if (strcmp(lookup->mode, mode_names[i]) == 0) {
            return i;
        }
    }
    return lookup->mode == NULL ? SKIPJACKDB_NORMAL : -1;
}

static bool complain(const char *message, GError **error)
{
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "%s", message);
    return false;
}

/* What --choose takes, and nothing else does. */
static bool check_choose(const struct lookup *lookup, guint count, GError **error)
{
    struct target target;
    struct problem problem;
    if (!lookup->choose) {
        return (lookup->mode == NULL && lookup->target == NULL && lookup->lists == NULL) ||
               complain("--mode, --target and --problems belong to --choose", error);
    }
    if (lookup->stats || lookup->dynamic) {
        return complain("--choose goes without --stats, and for --dynamic it has --mode fast",
                        error);
    }
    if (mode_of(lookup) < 0) {
        return complain("--mode is normal, fast or hybrid", error);
    }
    if (lookup->lists != NULL) {
        return (count >= 1 ||
                complain("name one .sjdb file or several, or a folder of them", error)) &&
               (lookup->target == NULL || target_parse(lookup->target, &target, error));
    }
    if (count < 2) {
        return complain("name one .sjdb file or several, or a folder of them, and a problem's key",
                        error);
    }
    return (lookup->target == NULL || target_parse(lookup->target, &target, error)) &&
           problem_key_parse(lookup->words[count - 1], &problem, error);
}

static bool check_words(const struct lookup *lookup, GError **error)
{
    guint count = lookup->words != NULL ? g_strv_length(lookup->words) : 0;
    struct problem problem;
    if (!check_choose(lookup, count, error)) {
        return false;
    }
    if (!lookup->choose && count != (lookup->stats ? 1 : 2)) {
        return complain("name a .sjdb file and a problem's key, or a file and --stats", error);
    }
    if (lookup->stats && (lookup->dynamic || lookup->workspace_bytes != -1)) {
        return complain("--dynamic and --workspace choose among a problem's entries, not --stats",
                        error);
    }
    if (lookup->workspace_bytes < -1) {
        return complain("--workspace is a number of bytes", error);
    }
    return lookup->stats || lookup->choose || problem_key_parse(lookup->words[1], &problem, error);
}

static bool parse(int argc, char **argv, struct lookup *lookup, GError **error)
{
    const GOptionEntry entries[] = {
        {"stats", 0, 0, G_OPTION_ARG_NONE, &lookup->stats, "What is in the file", NULL},
        {"workspace", 0, 0, G_OPTION_ARG_INT64, &lookup->workspace_bytes,
         "Leave out entries that need more", "BYTES"},
        {"dynamic", 0, 0, G_OPTION_ARG_NONE, &lookup->dynamic,
         "Only solvers whose kernels serve all sizes", NULL},
        {"choose", 0, 0, G_OPTION_ARG_NONE, &lookup->choose,
         "An answer for any problem, and how it was found", NULL},
        {"mode", 0, 0, G_OPTION_ARG_STRING, &lookup->mode,
         "normal, fast (dynamic solvers alone) or hybrid", "MODE"},
        {"problems", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &lookup->lists,
         "--choose for each problem of a list, as import reads it; may be repeated", "LIST"},
        {"target", 0, 0, G_OPTION_ARG_STRING, &lookup->target,
         "Whose answer it is: nearer files come first", "TARGET"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &lookup->json, "One JSON object", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &lookup->words, NULL,
         "DB... [KEY]"},
        {0},
    };
    g_set_prgname("skipjack lookup");
    GOptionContext *context = g_option_context_new(NULL);
    g_option_context_set_summary(context, SUMMARY);
    g_option_context_set_description(context, DESCRIPTION);
    g_option_context_add_main_entries(context, entries, NULL);
    bool parsed = g_option_context_parse(context, &argc, &argv, error);
    g_option_context_free(context);
    return parsed && check_words(lookup, error);
}

static void print_json(json_t *object)
{
    g_autofree char *text = json_dumps(object, JSON_COMPACT);
    puts(text);
}

static int print_stats(const skipjackdb *db, const struct lookup *lookup)
{
    int code = SKIPJACKDB_OK;
    json_t *stats = lookup_stats(db, &code);
    if (stats != NULL && lookup->json) {
        print_json(stats);
    } else if (stats != NULL) {
        lookup_stats_print(stats);
    }
    json_decref(stats);
    return code;
}

static bool within(const struct lookup *lookup, const struct skipjackdb_entry *entry)
{
    return (lookup->workspace_bytes < 0 ||
            entry->workspace_bytes <= (uint64_t)lookup->workspace_bytes) &&
           (!lookup->dynamic || (entry->flags & SKIPJACKDB_DYNAMIC) != 0);
}

/* NULL where the file is damaged, as *code says. */
static json_t *entry_object(const skipjackdb *db, const struct skipjackdb_problem *problem,
                            const struct skipjackdb_entry *entry, bool best, int *code)
{
    const char *params = NULL;
    bool known = (entry->flags & SKIPJACKDB_FLAGS_KNOWN) != 0;
    json_t *launches = lookup_launches(db, problem, entry->solver, code);
    if (launches == NULL) {
        return NULL;
    }
    skipjackdb_params(db, problem, entry->solver, &params);
    return json_pack(
        "{s:s, s:s, s:f, s:I, s:s?, s:i, s:o, s:o, s:b, s:o}", "solver", entry->solver, "algorithm",
        entry->algorithm, "time_ms", entry->time_ms, "workspace_bytes",
        (json_int_t)entry->workspace_bytes, "params", params, "revision", (int)entry->revision,
        "dynamic", known ? json_boolean(entry->flags & SKIPJACKDB_DYNAMIC) : json_null(), "tunable",
        known ? json_boolean(entry->flags & SKIPJACKDB_TUNABLE) : json_null(), "best", (int)best,
        "launches", launches);
}

/* The entries within the limits. */
static int list_entries(const skipjackdb *db, const struct lookup *lookup, json_t *list)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_limits limits = {
        sizeof limits, lookup->workspace_bytes < 0 ? UINT64_MAX : (uint64_t)lookup->workspace_bytes,
        lookup->dynamic ? SKIPJACKDB_DYNAMIC : 0};
    g_autofree struct skipjackdb_entry *entries = g_new(struct skipjackdb_entry, ENTRIES_MAX);
    struct skipjackdb_entry best = {.solver = NULL};
    uint64_t number = 0;
    size_t count = 0;
    bool marked = false;
    int code = skipjackdb_problem_parse(lookup->words[1], &problem);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_find(db, &problem, &number);
    }
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_entries(db, number, entries, sizeof *entries, ENTRIES_MAX, &count);
    }
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    skipjackdb_best(db, number, &limits, &best, sizeof best);
    for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, ENTRIES_MAX); i++) {
        if (within(lookup, &entries[i])) {
            bool is_best =
                !marked && best.solver == entries[i].solver && best.time_ms == entries[i].time_ms;
            marked = marked || is_best;
            json_array_append_new(list, entry_object(db, &problem, &entries[i], is_best, &code));
        }
    }
    return code;
}

static void print_table(const json_t *list)
{
    size_t i;
    const json_t *row;
    printf("  %-44s %12s %12s  %s\n", "solver", "ms", "workspace", "params");
    json_array_foreach (list, i, row) {
        const char *params = json_string_value(json_object_get(row, "params"));
        printf("%c %-44s %12g %12lld  %s\n", json_is_true(json_object_get(row, "best")) ? '*' : ' ',
               json_string_value(json_object_get(row, "solver")),
               json_real_value(json_object_get(row, "time_ms")),
               json_integer_value(json_object_get(row, "workspace_bytes")),
               params != NULL ? params : "");
        lookup_launches_print(json_object_get(row, "launches"));
    }
}

/* *reason says why there is no answer where the code alone does not. */
static int print_entries(const skipjackdb *db, const struct lookup *lookup, const char **reason)
{
    json_t *list = json_array();
    int code = list_entries(db, lookup, list);
    if (code == SKIPJACKDB_OK && json_array_size(list) == 0) {
        code = SKIPJACKDB_NOT_FOUND;
        *reason = "it holds the problem, but no entry within --workspace and --dynamic";
    }
    if (code == SKIPJACKDB_OK && lookup->json) {
        json_t *object = json_pack("{s:s, s:O}", "key", lookup->words[1], "entries", list);
        print_json(object);
        json_decref(object);
    } else if (code == SKIPJACKDB_OK) {
        print_table(list);
    }
    json_decref(list);
    return code;
}

/* Lines that cannot be used are named; NULL where a list as a whole cannot be read, or holds nothing. */
static Import *read_lists(char **lists, GError **error)
{
    const struct import_options options = {0};
    g_autoptr(Import) import = import_new(&options);
    for (; *lists != NULL; lists++) {
        if (!import_file(import, *lists, error)) {
            return NULL;
        }
    }
    for (guint i = 0; i < import->skipped->len; i++) {
        const struct import_skip *skip = import->skipped->pdata[i];
        g_printerr("%s:%" G_GINT64_FORMAT ": not used: %s\n", skip->file, (gint64)skip->line,
                   skip->reason);
    }
    if (problem_list_count(import->problems) == 0) {
        complain("the lists hold no problem", error);
        return NULL;
    }
    return g_steal_pointer(&import);
}

static int choose(const struct lookup *lookup)
{
    g_autoptr(GError) failure = NULL;
    g_autoptr(Import) import = lookup->lists != NULL ? read_lists(lookup->lists, &failure) : NULL;
    if (failure != NULL) {
        g_printerr("skipjack lookup: %s\n", failure->message);
        return 1;
    }
    guint words = g_strv_length(lookup->words), last = import != NULL ? words : words - 1;
    const struct lookup_question question = {
        .paths = lookup->words,
        .path_count = last,
        .key = import != NULL ? NULL : lookup->words[last],
        .problems = import != NULL ? import->problems : NULL,
        .target = lookup->target,
        .workspace_bytes =
            lookup->workspace_bytes < 0 ? UINT64_MAX : (uint64_t)lookup->workspace_bytes,
        .mode = mode_of(lookup),
        .json = lookup->json,
    };
    g_autoptr(GError) error = NULL;
    bool found = false, whole = true;
    if (!lookup_choose(&question, &found, &whole, &error)) {
        g_printerr("skipjack lookup: %s\n", error->message);
    } else if (!found && question.key != NULL) {
        g_printerr("skipjack lookup: no answer for '%s': nothing near to it is held, and no solver "
                   "of ours is applicable\n",
                   question.key);
    }
    return found && whole ? 0 : 1;
}

static int answer(const struct lookup *lookup)
{
    skipjackdb *db = NULL;
    int code = skipjackdb_open(lookup->words[0], &db);
    const char *reason = code == SKIPJACKDB_IO ? g_strerror(errno) : NULL;
    if (code == SKIPJACKDB_OK) {
        code = lookup->stats ? print_stats(db, lookup) : print_entries(db, lookup, &reason);
    }
    skipjackdb_close(db);
    if (code != SKIPJACKDB_OK) {
        g_printerr("skipjack lookup: %s '%s': %s\n",
                   code == SKIPJACKDB_NOT_FOUND ? "no answer in" : "cannot read", lookup->words[0],
                   reason != NULL                 ? reason
                   : code == SKIPJACKDB_NOT_FOUND ? "the database does not hold it; --choose asks "
                                                    "what is near"
                                                  : skipjackdb_error_text(code));
    }
    return code == SKIPJACKDB_OK ? 0 : 1;
}

int command_lookup(int argc, char **argv)
{
    struct lookup lookup = {.workspace_bytes = -1};
    g_autoptr(GError) error = NULL;
    int status = 2;
    if (parse(argc, argv, &lookup, &error)) {
        status = lookup.choose ? choose(&lookup) : answer(&lookup);
    } else {
        g_printerr("skipjack lookup: %s\n", error->message);
    }
    g_strfreev(lookup.words);
    g_strfreev(lookup.lists);
    g_free(lookup.mode);
    g_free(lookup.target);
    return status;
}
