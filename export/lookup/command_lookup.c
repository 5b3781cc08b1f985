#include "export/commands.h"

#include "coordinator/cli/cli.h"
#include "coordinator/import/import.h"
#include "export/lookup/lookup_choose.h"
#include "export/lookup/lookup_solution.h"
#include "export/sjdb/reader/layout.h"
#include "solvers/framework/target.h"
#include "solvers/problem/problem.h"
#include "solvers/problem/problem_key.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct solver_tally {
    json_int_t entries, wins, params, solutions, unmeasured;
};

struct stats {
    const skipjackdb *db;
    GHashTable *solvers; /* name (pointer into the file) -> struct solver_tally */
    json_int_t entries, intervals, perf_entries, solutions, unmeasured;
    /* number of problems by direction and by the type of x */
    json_int_t coverage[DIRECTION_COUNT][DATA_TYPE_COUNT];
};

static struct solver_tally *tally_of(struct stats *stats, const char *solver)
{
    struct solver_tally *tally = g_hash_table_lookup(stats->solvers, solver);
    if (tally == NULL) {
        tally = g_new0(struct solver_tally, 1);
        g_hash_table_insert(stats->solvers, (char *)solver, tally);
    }
    return tally;
}

static int count_problem(struct stats *stats, uint64_t number, struct skipjackdb_entry *entries)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_entry best;
    size_t count = 0;
    int code = skipjackdb_problem_at(stats->db, number, &problem);
    if (code == SKIPJACKDB_OK) {
        code =
            skipjackdb_entries(stats->db, number, entries, sizeof *entries, SJDB_LIST_MAX, &count);
    }
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    stats->coverage[problem.direction][problem.type[0]]++;
    stats->entries += (json_int_t)count;
    for (size_t i = 0; i < MIN(count, SJDB_LIST_MAX); i++) {
        tally_of(stats, entries[i].solver)->entries++;
        stats->intervals += entries[i].low_ms > 0;
    }
    if (skipjackdb_best(stats->db, number, NULL, &best, sizeof best) == SKIPJACKDB_OK) {
        tally_of(stats, best.solver)->wins++;
    }
    return code;
}

static int count_problems(struct stats *stats)
{
    g_autofree struct skipjackdb_entry *entries = g_new(struct skipjackdb_entry, SJDB_LIST_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_problem_count(stats->db);
    for (uint64_t i = 0; i < problems && code == SKIPJACKDB_OK; i++) {
        code = count_problem(stats, i, entries);
    }
    return code;
}

static int count_rows(struct stats *stats)
{
    g_autofree struct skipjackdb_perf_entry *entries =
        g_new(struct skipjackdb_perf_entry, SJDB_LIST_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t rows = skipjackdb_perf_count(stats->db);
    for (uint64_t row = 0; row < rows && code == SKIPJACKDB_OK; row++) {
        size_t count = 0;
        code = skipjackdb_perf_entries(stats->db, row, entries, sizeof *entries, SJDB_LIST_MAX,
                                       &count);
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
            tally_of(stats, entries[i].solver)->params++;
            stats->perf_entries++;
        }
    }
    return code;
}

/* Adds the params of solutions to the counts of the perf-db rows' params. */
static int count_solved(struct stats *stats)
{
    g_autofree struct skipjackdb_solution *solutions =
        g_new(struct skipjackdb_solution, SJDB_LIST_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_solved_count(stats->db);
    for (uint64_t number = 0; number < problems && code == SKIPJACKDB_OK; number++) {
        size_t count = 0;
        code = skipjackdb_solutions(stats->db, number, solutions, sizeof *solutions, SJDB_LIST_MAX,
                                    &count);
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
            struct solver_tally *tally = tally_of(stats, solutions[i].solver);
            tally->solutions++;
            tally->params += solutions[i].params[0] != '\0';
            stats->solutions++;
        }
    }
    return code;
}

static int count_unmeasured(struct stats *stats)
{
    g_autofree struct skipjackdb_solution *solutions =
        g_new(struct skipjackdb_solution, SJDB_LIST_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_unmeasured(stats->db, sizeof(struct skipjackdb_problem));
    for (uint64_t number = 0; number < problems && code == SKIPJACKDB_OK; number++) {
        size_t count = 0;
        code = skipjackdb_unmeasured_solutions(stats->db, number, solutions, sizeof *solutions,
                                               SJDB_LIST_MAX, &count);
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
            tally_of(stats, solutions[i].solver)->unmeasured++;
            stats->unmeasured++;
        }
    }
    return code;
}

static json_t *list_sections(const skipjackdb *db, json_int_t *bytes)
{
    struct skipjackdb_section section = {.size = sizeof section};
    json_t *list = json_array();
    for (size_t i = 0; skipjackdb_section_at(db, i, &section) == SKIPJACKDB_OK; i++) {
        *bytes += (json_int_t)section.bytes;
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I}", "name", section.name, "items",
                                              (json_int_t)section.items, "width",
                                              (json_int_t)section.width, "bytes",
                                              (json_int_t)section.bytes));
    }
    return list;
}

static json_t *list_solvers(const struct stats *stats)
{
    json_t *list = json_array();
    GList *names = g_list_sort(g_hash_table_get_keys(stats->solvers), (GCompareFunc)strcmp);
    for (const GList *name = names; name != NULL; name = name->next) {
        const struct solver_tally *tally = g_hash_table_lookup(stats->solvers, name->data);
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "solver",
                                              name->data, "entries", tally->entries, "wins",
                                              tally->wins, "params", tally->params, "solutions",
                                              tally->solutions, "unmeasured", tally->unmeasured));
    }
    g_list_free(names);
    return list;
}

static json_t *list_coverage(const struct stats *stats)
{
    json_t *list = json_array();
    for (int d = 0; d < DIRECTION_COUNT; d++) {
        const char letter[] = {direction_letter((enum direction)d), '\0'};
        for (int t = 0; t < DATA_TYPE_COUNT; t++) {
            if (stats->coverage[d][t] > 0) {
                json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "direction", letter,
                                                      "type", data_type_name((enum data_type)t),
                                                      "problems", stats->coverage[d][t]));
            }
        }
    }
    return list;
}

/* Returns what --stats prints, as JSON. NULL with an enum skipjackdb_code in *code if the file is
 * damaged. */
static json_t *stats_of(const skipjackdb *db, int *code)
{
    struct stats stats = {.db = db};
    json_int_t bytes = 0;
    json_t *made = NULL;
    stats.solvers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    *code = count_problems(&stats);
    if (*code == SKIPJACKDB_OK) {
        *code = count_rows(&stats);
    }
    if (*code == SKIPJACKDB_OK) {
        *code = count_solved(&stats);
    }
    if (*code == SKIPJACKDB_OK) {
        *code = count_unmeasured(&stats);
    }
    if (*code == SKIPJACKDB_OK) {
        json_t *sections = list_sections(db, &bytes);
        made = json_pack(
            "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "problems",
            (json_int_t)skipjackdb_problem_count(db), "entries", stats.entries, "intervals",
            stats.intervals, "perf_rows", (json_int_t)skipjackdb_perf_count(db), "perf_entries",
            stats.perf_entries, "solved_problems", (json_int_t)skipjackdb_solved_count(db),
            "solutions", stats.solutions, "unmeasured_problems",
            (json_int_t)skipjackdb_unmeasured(db, sizeof(struct skipjackdb_problem)),
            "unmeasured_solutions", stats.unmeasured, "kernels",
            (json_int_t)skipjackdb_kernel_count(db), "bytes", bytes, "sections", sections,
            "solvers", list_solvers(&stats), "coverage", list_coverage(&stats));
        json_t *meta = json_loads(skipjackdb_meta(db), 0, NULL);
        json_object_set_new(made, "meta", meta != NULL ? meta : json_null());
    }
    g_hash_table_unref(stats.solvers);
    return made;
}

static json_int_t number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static void print_stats_text(const json_t *stats)
{
    size_t i;
    const json_t *row;
    printf(
        "%lld problems, %lld entries, %lld of them measured a second time; %lld perf rows, %lld params; "
        "%lld solutions of %lld problems; %lld kernels\n",
        number_of(stats, "problems"), number_of(stats, "entries"), number_of(stats, "intervals"),
        number_of(stats, "perf_rows"), number_of(stats, "perf_entries"),
        number_of(stats, "solutions"), number_of(stats, "solved_problems"),
        number_of(stats, "kernels"));
    if (number_of(stats, "unmeasured_solutions") > 0) {
        printf("built and never measured: %lld solutions of %lld problems\n",
               number_of(stats, "unmeasured_solutions"), number_of(stats, "unmeasured_problems"));
    }
    printf("\n%-24s %12s %6s %12s\n", "section", "items", "bits", "bytes");
    json_array_foreach (json_object_get(stats, "sections"), i, row) {
        printf("%-24s %12lld %6lld %12lld\n", text_of(row, "name"), number_of(row, "items"),
               number_of(row, "width"), number_of(row, "bytes"));
    }
    printf("%-24s %12s %6s %12lld\n", "in all", "", "", number_of(stats, "bytes"));
    printf("\n%-44s %9s %9s %9s %9s %9s\n", "solver", "entries", "wins", "params", "solutions",
           "never");
    json_array_foreach (json_object_get(stats, "solvers"), i, row) {
        printf("%-44s %9lld %9lld %9lld %9lld %9lld\n", text_of(row, "solver"),
               number_of(row, "entries"), number_of(row, "wins"), number_of(row, "params"),
               number_of(row, "solutions"), number_of(row, "unmeasured"));
    }
    printf("\n%-10s %-8s %10s\n", "direction", "type", "problems");
    json_array_foreach (json_object_get(stats, "coverage"), i, row) {
        printf("%-10s %-8s %10lld\n", text_of(row, "direction"), text_of(row, "type"),
               number_of(row, "problems"));
    }
}

#define SUMMARY                                                                                    \
    "Says what a .sjdb file holds for a problem: its entries, the fastest marked by a\n"           \
    "star, with the params of tuned solvers and the launches of those that it says how\n"          \
    "to run; with --stats, what is in the file and where its bytes go; with --choose,\n"           \
    "the answer that a library gets for any problem: from the entries of the target's\n"           \
    "own file, else from other targets' files or the nearest problems, else by our\n"              \
    "solvers' estimates. DB is then one file or several, the target's own first, or a\n"           \
    "folder of them. What was built and never measured is shown behind the entries, as\n"          \
    "such; --choose takes it only with --unmeasured."
#define DESCRIPTION                                                                                \
    "Exit status: 0 when there is an answer; 1 when the file does not hold the problem,\n"         \
    "has no entry within the limits, or cannot be read; 2 for wrong usage.\n\nExample:\n"          \
    "  skipjack lookup gfx90a68.sjdb 64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F\n"         \
    "  skipjack lookup gfx90a68.sjdb --stats\n"                                                    \
    "  skipjack lookup --choose --target gfx90a68 --mode hybrid released/ KEY\n"                   \
    "  skipjack lookup --choose gfx90a68.sjdb --problems coordinator/networks/resnet50-v1.5.csv"

struct lookup {
    gboolean stats, json, dynamic, choose, unmeasured;
    gint64 workspace_bytes; /* -1 for no limit */
    /* values of --mode and --target, which only --choose takes; NULL if not given */
    char *mode, *target;
    char **words; /* DB, KEY */
    /* lists of problems to choose for; NULL if the command line has a key instead */
    char **lists;
};

/* The words of --mode, in the order of enum skipjackdb_mode. */
static const char *const mode_names[] = {"normal", "fast", "hybrid"};

/* Returns the enum skipjackdb_mode that the user named, or -1 for another word. */
static int mode_of(const struct lookup *lookup)
{
    for (int i = 0; lookup->mode != NULL && i < (int)G_N_ELEMENTS(mode_names); i++) {
        if (strcmp(lookup->mode, mode_names[i]) == 0) {
            return i;
        }
    }
    return lookup->mode == NULL ? SKIPJACKDB_NORMAL : -1;
}

/* Refuses options of --choose if --choose is not given. */
static bool check_choose(const struct lookup *lookup, guint count, GError **error)
{
    struct target target;
    struct problem problem;
    if (!lookup->choose) {
        return (lookup->mode == NULL && lookup->target == NULL && lookup->lists == NULL &&
                !lookup->unmeasured) ||
               cli_misuse(error,
                          "--mode, --target, --problems and --unmeasured belong to --choose");
    }
    if (lookup->stats || lookup->dynamic) {
        return cli_misuse(error,
                          "--choose goes without --stats, and for --dynamic it has --mode fast");
    }
    if (mode_of(lookup) < 0) {
        return cli_misuse(error, "--mode is normal, fast or hybrid");
    }
    if (lookup->lists != NULL) {
        return (count >= 1 ||
                cli_misuse(error, "name one .sjdb file or several, or a folder of them")) &&
               (lookup->target == NULL || target_parse(lookup->target, &target, error));
    }
    if (count < 2) {
        return cli_misuse(
            error, "name one .sjdb file or several, or a folder of them, and a problem's key");
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
        return cli_misuse(error, "name a .sjdb file and a problem's key, or a file and --stats");
    }
    if (lookup->stats && (lookup->dynamic || lookup->workspace_bytes != -1)) {
        return cli_misuse(
            error, "--dynamic and --workspace choose among a problem's entries, not --stats");
    }
    if (lookup->workspace_bytes < -1) {
        return cli_misuse(error, "--workspace is a number of bytes");
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
         "normal, fast (dynamic solvers alone) or hybrid", "normal|fast|hybrid"},
        {"problems", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &lookup->lists,
         "--choose for each problem of a list, as import reads it; may be repeated", "LIST"},
        {"target", 0, 0, G_OPTION_ARG_STRING, &lookup->target,
         "Whose answer it is: nearer files come first", "TARGET"},
        {"unmeasured", 0, 0, G_OPTION_ARG_NONE, &lookup->unmeasured,
         "--choose also what the target's own file holds as built and never measured, where "
         "nothing measured answers",
         NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &lookup->json, "One JSON object", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &lookup->words, NULL,
         "DB... [KEY]"},
        {0},
    };
    const struct cli cli = {
        .command = "lookup", .summary = SUMMARY, .description = DESCRIPTION, .options = entries};
    bool parsed = cli_parse_options(&cli, &argc, &argv, error);
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
    json_t *stats = stats_of(db, &code);
    if (stats != NULL && lookup->json) {
        print_json(stats);
    } else if (stats != NULL) {
        print_stats_text(stats);
    }
    json_decref(stats);
    return code;
}

static bool within(const struct lookup *lookup, uint64_t workspace_bytes, uint32_t flags)
{
    return (lookup->workspace_bytes < 0 || workspace_bytes <= (uint64_t)lookup->workspace_bytes) &&
           (!lookup->dynamic || (flags & SKIPJACKDB_DYNAMIC) != 0);
}

/* Adds what is known of the entry's solver: its revision and flags. */
static void add_solver(json_t *object, uint32_t revision, uint32_t flags)
{
    bool known = (flags & SKIPJACKDB_FLAGS_KNOWN) != 0;
    json_object_set_new(object, "revision", json_integer(revision));
    json_object_set_new(object, "dynamic",
                        known ? json_boolean(flags & SKIPJACKDB_DYNAMIC) : json_null());
    json_object_set_new(object, "tunable",
                        known ? json_boolean(flags & SKIPJACKDB_TUNABLE) : json_null());
}

/* Returns NULL if the file is damaged; *code says how. */
static json_t *entry_object(const skipjackdb *db, const struct skipjackdb_problem *problem,
                            const struct skipjackdb_entry *entry, bool best, int *code)
{
    const char *params = NULL;
    json_t *launches = lookup_launches(db, problem, problem, entry->solver, code);
    if (launches == NULL) {
        return NULL;
    }
    skipjackdb_params(db, problem, entry->solver, &params);
    json_t *object =
        json_pack("{s:s, s:b, s:s, s:f, s:I, s:s?, s:b, s:o}", "solver", entry->solver, "measured",
                  1, "algorithm", entry->algorithm, "time_ms", entry->time_ms, "workspace_bytes",
                  (json_int_t)entry->workspace_bytes, "params", params, "best", (int)best,
                  "launches", launches);
    add_solver(object, entry->revision, entry->flags);
    lookup_interval_add(object, entry->low_ms, entry->high_ms);
    return object;
}

/* Returns a solution that was never measured: as an entry, without a time. NULL if the file is damaged. */
static json_t *unmeasured_object(const skipjackdb *db, const struct skipjackdb_problem *problem,
                                 const struct skipjackdb_solution *solution, int *code)
{
    json_t *launches = lookup_solution_launches(db, problem, solution, code);
    if (launches == NULL) {
        return NULL;
    }
    json_t *object = json_pack(
        "{s:s, s:b, s:n, s:n, s:I, s:s?, s:b, s:o}", "solver", solution->solver, "measured", 0,
        "algorithm", "time_ms", "workspace_bytes", (json_int_t)solution->workspace_bytes, "params",
        solution->params[0] != '\0' ? solution->params : NULL, "best", 0, "launches", launches);
    add_solver(object, solution->revision, solution->flags);
    lookup_interval_add(object, 0, 0);
    return object;
}

/* Adds the problem's solutions that were never measured, in the order in which they should be tried.
 * SKIPJACKDB_NOT_FOUND if the file holds none of the problem. */
static int list_unmeasured(const skipjackdb *db, const struct lookup *lookup, json_t *list)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    g_autofree struct skipjackdb_solution *solutions =
        g_new(struct skipjackdb_solution, SJDB_LIST_MAX);
    uint64_t number = 0;
    size_t count = 0;
    int code = skipjackdb_problem_parse(lookup->words[1], &problem);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_unmeasured_find(db, &problem, &number);
    }
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_unmeasured_solutions(db, number, solutions, sizeof *solutions,
                                               SJDB_LIST_MAX, &count);
    }
    for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
        if (within(lookup, solutions[i].workspace_bytes, solutions[i].flags)) {
            json_array_append_new(list, unmeasured_object(db, &problem, &solutions[i], &code));
        }
    }
    return code;
}

/* Adds the problem's entries that are within --workspace and --dynamic to the list. */
static int list_entries(const skipjackdb *db, const struct lookup *lookup, json_t *list)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_limits limits = {
        sizeof limits, lookup->workspace_bytes < 0 ? UINT64_MAX : (uint64_t)lookup->workspace_bytes,
        lookup->dynamic ? SKIPJACKDB_DYNAMIC : 0};
    g_autofree struct skipjackdb_entry *entries = g_new(struct skipjackdb_entry, SJDB_LIST_MAX);
    struct skipjackdb_entry best = {.solver = NULL};
    uint64_t number = 0;
    size_t count = 0;
    bool marked = false;
    int code = skipjackdb_problem_parse(lookup->words[1], &problem);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_find(db, &problem, &number);
    }
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_entries(db, number, entries, sizeof *entries, SJDB_LIST_MAX, &count);
    }
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    skipjackdb_best(db, number, &limits, &best, sizeof best);
    for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, SJDB_LIST_MAX); i++) {
        if (within(lookup, entries[i].workspace_bytes, entries[i].flags)) {
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
        char time[32] = "never run";
        if (json_is_true(json_object_get(row, "measured"))) {
            g_snprintf(time, sizeof time, "%g", json_real_value(json_object_get(row, "time_ms")));
        }
        printf("%c %-44s %12s %12lld  %s\n", json_is_true(json_object_get(row, "best")) ? '*' : ' ',
               json_string_value(json_object_get(row, "solver")), time,
               json_integer_value(json_object_get(row, "workspace_bytes")),
               params != NULL ? params : "");
        lookup_interval_print(row, "    measured a second time: ");
        lookup_launches_print(json_object_get(row, "launches"));
    }
}

/* Prints the entries. Returns enum skipjackdb_code; if its text does not explain the failure,
 * *reason does. */
static int print_entries(const skipjackdb *db, const struct lookup *lookup, const char **reason)
{
    json_t *list = json_array();
    int code = list_entries(db, lookup, list);
    if (code == SKIPJACKDB_OK || code == SKIPJACKDB_NOT_FOUND) {
        int other = list_unmeasured(db, lookup, list);
        code = other != SKIPJACKDB_NOT_FOUND ? other : code;
    }
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

/* Reads lists of problems. Unusable lines are named on stderr; NULL if a list cannot be read or
 * holds no problem. */
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
        cli_misuse(error, "the lists hold no problem");
        return NULL;
    }
    return g_steal_pointer(&import);
}

static int choose(const struct lookup *lookup)
{
    g_autoptr(GError) failure = NULL;
    g_autoptr(Import) import = lookup->lists != NULL ? read_lists(lookup->lists, &failure) : NULL;
    if (failure != NULL) {
        return cli_fail("lookup", g_steal_pointer(&failure));
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
        .unmeasured = lookup->unmeasured,
        .json = lookup->json,
    };
    g_autoptr(GError) error = NULL;
    bool found = false, whole = true;
    if (!lookup_choose(&question, &found, &whole, &error)) {
        cli_fail("lookup", g_steal_pointer(&error));
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
                   : code == SKIPJACKDB_NOT_FOUND ? "the database does not hold the problem; "
                                                    "--choose asks near problems and targets"
                                                  : skipjackdb_error_text(code));
    }
    return code == SKIPJACKDB_OK ? 0 : 1;
}

int command_lookup(int argc, char **argv)
{
    struct lookup lookup = {.workspace_bytes = -1};
    g_autoptr(GError) error = NULL;
    int status = CLI_USAGE;
    if (parse(argc, argv, &lookup, &error)) {
        status = lookup.choose ? choose(&lookup) : answer(&lookup);
    } else {
        cli_fail("lookup", g_steal_pointer(&error));
    }
    g_strfreev(lookup.words);
    g_strfreev(lookup.lists);
    g_free(lookup.mode);
    g_free(lookup.target);
    return status;
}
