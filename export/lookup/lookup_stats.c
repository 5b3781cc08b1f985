#include "export/lookup/lookup_stats.h"

#include "solvers/problem/problem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ENTRIES_MAX 1024 /* of a problem, that the format holds */

struct solver_tally {
    json_int_t entries, wins, params, solutions;
};

struct stats {
    const skipjackdb *db;
    GHashTable *solvers; /* names, in the file, to struct solver_tally */
    json_int_t entries, perf_entries, solutions;
    json_int_t coverage[DIRECTION_COUNT][DATA_TYPE_COUNT]; /* by the type of x */
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
        code = skipjackdb_entries(stats->db, number, entries, sizeof *entries, ENTRIES_MAX, &count);
    }
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    stats->coverage[problem.direction][problem.type[0]]++;
    stats->entries += (json_int_t)count;
    for (size_t i = 0; i < MIN(count, ENTRIES_MAX); i++) {
        tally_of(stats, entries[i].solver)->entries++;
    }
    if (skipjackdb_best(stats->db, number, NULL, &best, sizeof best) == SKIPJACKDB_OK) {
        tally_of(stats, best.solver)->wins++;
    }
    return code;
}

static int count_problems(struct stats *stats)
{
    g_autofree struct skipjackdb_entry *entries = g_new(struct skipjackdb_entry, ENTRIES_MAX);
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
        g_new(struct skipjackdb_perf_entry, ENTRIES_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t rows = skipjackdb_perf_count(stats->db);
    for (uint64_t row = 0; row < rows && code == SKIPJACKDB_OK; row++) {
        size_t count = 0;
        code =
            skipjackdb_perf_entries(stats->db, row, entries, sizeof *entries, ENTRIES_MAX, &count);
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, ENTRIES_MAX); i++) {
            tally_of(stats, entries[i].solver)->params++;
            stats->perf_entries++;
        }
    }
    return code;
}

/* Params of solutions count with those of rows. */
static int count_solved(struct stats *stats)
{
    g_autofree struct skipjackdb_solution *solutions =
        g_new(struct skipjackdb_solution, ENTRIES_MAX);
    int code = SKIPJACKDB_OK;
    uint64_t problems = skipjackdb_solved_count(stats->db);
    for (uint64_t number = 0; number < problems && code == SKIPJACKDB_OK; number++) {
        size_t count = 0;
        code = skipjackdb_solutions(stats->db, number, solutions, sizeof *solutions, ENTRIES_MAX,
                                    &count);
        for (size_t i = 0; code == SKIPJACKDB_OK && i < MIN(count, ENTRIES_MAX); i++) {
            struct solver_tally *tally = tally_of(stats, solutions[i].solver);
            tally->solutions++;
            tally->params += solutions[i].params[0] != '\0';
            stats->solutions++;
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
        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:I, s:I, s:I}", "solver", name->data,
                                        "entries", tally->entries, "wins", tally->wins, "params",
                                        tally->params, "solutions", tally->solutions));
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

json_t *lookup_stats(const skipjackdb *db, int *code)
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
        json_t *sections = list_sections(db, &bytes);
        made = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "problems",
                         (json_int_t)skipjackdb_problem_count(db), "entries", stats.entries,
                         "perf_rows", (json_int_t)skipjackdb_perf_count(db), "perf_entries",
                         stats.perf_entries, "solved_problems",
                         (json_int_t)skipjackdb_solved_count(db), "solutions", stats.solutions,
                         "kernels", (json_int_t)skipjackdb_kernel_count(db), "bytes", bytes,
                         "sections", sections, "solvers", list_solvers(&stats), "coverage",
                         list_coverage(&stats));
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

void lookup_stats_print(const json_t *stats)
{
    size_t i;
    const json_t *row;
    printf(
        "%lld problems, %lld entries; %lld perf rows, %lld params; %lld solutions of %lld problems; "
        "%lld kernels\n",
        number_of(stats, "problems"), number_of(stats, "entries"), number_of(stats, "perf_rows"),
        number_of(stats, "perf_entries"), number_of(stats, "solutions"),
        number_of(stats, "solved_problems"), number_of(stats, "kernels"));
    printf("\n%-24s %12s %6s %12s\n", "section", "items", "bits", "bytes");
    json_array_foreach (json_object_get(stats, "sections"), i, row) {
        printf("%-24s %12lld %6lld %12lld\n", text_of(row, "name"), number_of(row, "items"),
               number_of(row, "width"), number_of(row, "bytes"));
    }
    printf("%-24s %12s %6s %12lld\n", "in all", "", "", number_of(stats, "bytes"));
    printf("\n%-44s %9s %9s %9s %9s\n", "solver", "entries", "wins", "params", "solutions");
    json_array_foreach (json_object_get(stats, "solvers"), i, row) {
        printf("%-44s %9lld %9lld %9lld %9lld\n", text_of(row, "solver"), number_of(row, "entries"),
               number_of(row, "wins"), number_of(row, "params"), number_of(row, "solutions"));
    }
    printf("\n%-10s %-8s %10s\n", "direction", "type", "problems");
    json_array_foreach (json_object_get(stats, "coverage"), i, row) {
        printf("%-10s %-8s %10lld\n", text_of(row, "direction"), text_of(row, "type"),
               number_of(row, "problems"));
    }
}
