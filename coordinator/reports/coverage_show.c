/* Coverage for people and as JSON. */
#include "coordinator/reports/coverage.h"

#include "coordinator/cli/table.h"
#include "coordinator/plan/plan.h"
#include "coordinator/plan/problem_text.h"
#include "solvers/problem/problem_key.h"

#include <math.h>

#define POOREST_SHOWN 20

/* A solver is named in the advice if its space has one config only for at least this share of the problems that it
 * serves. */
#define SPLIT_SHARE 0.5

static double share(int part, int whole)
{
    return whole > 0 ? (double)part / whole : NAN;
}

static const struct coverage_solver *solver_at(const struct coverage *coverage, guint index)
{
    return &g_array_index(coverage->solvers, struct coverage_solver, index);
}

static bool serves(const struct coverage *coverage, const struct coverage_problem *problem,
                   guint index)
{
    return (problem->applicable >> index & 1) && !plan_is_naive(solver_at(coverage, index)->solver);
}

/* Returns names, to be freed with g_ptr_array_unref(): of the solvers that serve the problem, the
 * naive one excepted; or of their families, each once. */
static GPtrArray *names_of(const struct coverage *coverage, const struct coverage_problem *problem,
                           bool families)
{
    GPtrArray *names = g_ptr_array_new();
    for (guint i = 0; i < coverage->solvers->len; i++) {
        const struct solver *solver = solver_at(coverage, i)->solver;
        const char *name = families ? solver->algorithm : solver->name;
        if (serves(coverage, problem, i) &&
            !g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
            g_ptr_array_add(names, (gpointer)name);
    }
    return names;
}

/* ---- for people ---- */

static void print_histogram(const char *title, const struct table_column columns[3],
                            const GArray *histogram, int problems)
{
    Table *table = table_new(columns, 3);
    for (guint count = 0; count < histogram->len; count++) {
        int with = g_array_index(histogram, int, count);
        if (with == 0)
            continue;
        table_int(table, count);
        table_int(table, with);
        table_number(table, 100 * share(with, problems));
    }
    table_section(title, table);
    table_free(table);
}

static void print_families(const struct coverage *coverage)
{
    static const struct table_column columns[] = {
        {"family", "family", TABLE_TEXT, 0},
        {"problems", "problems", TABLE_INT, 0},
        {"share %", "share", TABLE_NUMBER, 1},
    };
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < coverage->families->len; i++) {
        const struct coverage_family *family =
            &g_array_index(coverage->families, struct coverage_family, i);
        table_text(table, family->name);
        table_int(table, family->problems);
        table_number(table, 100 * share(family->problems, (int)coverage->problems->len));
    }
    table_section("algorithm families, without " PLAN_NAIVE_SOLVER, table);
    table_free(table);
}

static void print_poorest(const struct coverage *coverage)
{
    static const struct table_column columns[] = {
        {"solvers", "solvers", TABLE_INT, 0},
        {"families", "families", TABLE_INT, 0},
        {"others", "other_families", TABLE_INT, 0},
        {"naive", "naive", TABLE_YES, 0},
        {"key", "key", TABLE_TEXT, 0},
        {"families' names", "names", TABLE_TEXT, 0},
    };
    guint all = coverage_poorest(coverage, POOREST_SHOWN), shown = MIN(all, POOREST_SHOWN);
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < shown; i++) {
        const struct coverage_problem *problem =
            &g_array_index(coverage->problems, struct coverage_problem, i);
        g_autoptr(GPtrArray) names = names_of(coverage, problem, true);
        char key[PROBLEM_KEY_MAX];
        g_ptr_array_add(names, NULL);
        g_autofree char *joined = g_strjoinv(" ", (char **)names->pdata);
        table_int(table, problem->solvers);
        table_int(table, problem->families);
        table_int(table, problem->other_families);
        table_yes(table, problem->naive);
        table_text(table,
                   problem_key(&problem_list_get(coverage->list, problem->index)->problem, key));
        table_text(table, joined);
    }
    table_section("poorest problems", table);
    table_free(table);
    if (all > shown)
        printf("and %u more with as few solvers (--json lists all)\n", all - shown);
}

static void print_solvers(const struct coverage *coverage)
{
    static const struct table_column columns[] = {
        {"solver", "solver", TABLE_TEXT, 0},       {"family", "family", TABLE_TEXT, 0},
        {"problems", "problems", TABLE_INT, 0},    {"counted", "counted", TABLE_INT, 0},
        {"configs min", "least", TABLE_NUMBER, 0}, {"median", "median", TABLE_NUMBER, 0},
        {"max", "most", TABLE_NUMBER, 0},          {"just 1 %", "one", TABLE_NUMBER, 1},
        {"none %", "none", TABLE_NUMBER, 1},
    };
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < coverage->solvers->len; i++) {
        const struct coverage_solver *solver = solver_at(coverage, i);
        bool counted = solver->counted > 0;
        table_text(table, solver->solver->name);
        table_text(table, solver->solver->algorithm);
        table_int(table, solver->problems);
        table_int(table, solver->counted);
        table_number(table, counted ? (double)solver->least : NAN);
        table_number(table, counted ? (double)solver->median : NAN);
        table_number(table, counted ? (double)solver->most : NAN);
        table_number(table, counted ? 100 * share(solver->with_one, solver->problems) : NAN);
        table_number(table, counted ? 100 * share(solver->with_no_config, solver->problems) : NAN);
    }
    table_section("solvers", table);
    table_free(table);
}

/* Advises to split solvers that have only one config for many of their problems. */
static void print_advice(const struct coverage *coverage)
{
    for (guint i = 0; i < coverage->solvers->len; i++) {
        const struct coverage_solver *solver = solver_at(coverage, i);
        if (solver->counted > 0 && share(solver->with_one, solver->problems) >= SPLIT_SHARE)
            printf("%s has a single valid config for %.0f %% of its problems: it had better be "
                   "split\n",
                   solver->solver->name, 100 * share(solver->with_one, solver->problems));
    }
}

static guint lowest(const GArray *histogram)
{
    guint count = 0;
    while (count + 1 < histogram->len && g_array_index(histogram, int, count) == 0)
        count++;
    return count;
}

void coverage_print(const struct coverage *coverage)
{
    static const struct table_column solvers[] = {
        {"solvers", "solvers", TABLE_INT, 0},
        {"problems", "problems", TABLE_INT, 0},
        {"share %", "share", TABLE_NUMBER, 1},
    };
    static const struct table_column families[] = {
        {"families", "families", TABLE_INT, 0},
        {"problems", "problems", TABLE_INT, 0},
        {"share %", "share", TABLE_NUMBER, 1},
    };
    int problems = (int)coverage->problems->len;
    printf("%d problems on %s: each has at least %u solvers beside %s", problems, coverage->target,
           lowest(coverage->solver_histogram), PLAN_NAIVE_SOLVER);
    printf(", and at least %u families other than %s\n", lowest(coverage->other_family_histogram),
           coverage->naive_family ? coverage->naive_family : "its own");
    if (coverage->unserved > 0)
        printf("%d of them are served by no solver at all\n", coverage->unserved);
    print_histogram("applicable solvers a problem", solvers, coverage->solver_histogram, problems);
    print_histogram("families a problem", families, coverage->family_histogram, problems);
    print_histogram("other families a problem, without that of " PLAN_NAIVE_SOLVER, families,
                    coverage->other_family_histogram, problems);
    print_families(coverage);
    print_poorest(coverage);
    print_solvers(coverage);
    print_advice(coverage);
}

/* ---- as JSON ---- */

static json_t *histogram_json(const GArray *histogram)
{
    json_t *json = json_object();
    for (guint count = 0; count < histogram->len; count++) {
        char name[16];
        g_snprintf(name, sizeof name, "%u", count);
        int problems = g_array_index(histogram, int, count);
        if (problems > 0)
            json_object_set_new(json, name, json_integer(problems));
    }
    return json;
}

static json_t *families_json(const struct coverage *coverage)
{
    json_t *json = json_object();
    for (guint i = 0; i < coverage->families->len; i++) {
        const struct coverage_family *family =
            &g_array_index(coverage->families, struct coverage_family, i);
        json_object_set_new(json, family->name, json_integer(family->problems));
    }
    return json;
}

static json_t *names_json(const struct coverage *coverage, const struct coverage_problem *problem,
                          bool families)
{
    g_autoptr(GPtrArray) names = names_of(coverage, problem, families);
    json_t *json = json_array();
    for (guint i = 0; i < names->len; i++)
        json_array_append_new(json, json_string(g_ptr_array_index(names, i)));
    return json;
}

static json_t *poorest_json(const struct coverage *coverage)
{
    json_t *json = json_array();
    for (guint i = 0; i < coverage_poorest(coverage, POOREST_SHOWN); i++) {
        const struct coverage_problem *problem =
            &g_array_index(coverage->problems, struct coverage_problem, i);
        const struct problem *p = &problem_list_get(coverage->list, problem->index)->problem;
        g_autofree char *text = problem_text(p);
        char key[PROBLEM_KEY_MAX];
        json_t *entry = json_pack("{s:s, s:s, s:i, s:b, s:o, s:o, s:i}", "key", problem_key(p, key),
                                  "problem", text, "count", problem->solvers, "naive",
                                  problem->naive, "solvers", names_json(coverage, problem, false),
                                  "families", names_json(coverage, problem, true), "other_families",
                                  problem->other_families);
        json_array_append_new(json, entry);
    }
    return json;
}

static json_t *solver_json(const struct coverage_solver *solver)
{
    json_t *json = json_pack("{s:s, s:s, s:i, s:i}", "solver", solver->solver->name, "family",
                             solver->solver->algorithm, "problems", solver->problems, "counted",
                             solver->counted);
    static const char *const members[] = {"configs_min", "configs_median", "configs_max"};
    const int64_t configs[] = {solver->least, solver->median, solver->most};
    bool counted = solver->counted > 0;
    for (gsize i = 0; i < G_N_ELEMENTS(members); i++)
        json_object_set_new(json, members[i], counted ? json_integer(configs[i]) : json_null());
    json_object_set_new(json, "share_one_config",
                        counted ? json_real(share(solver->with_one, solver->problems))
                                : json_null());
    json_object_set_new(json, "share_no_config",
                        counted ? json_real(share(solver->with_no_config, solver->problems))
                                : json_null());
    return json;
}

json_t *coverage_json(const struct coverage *coverage)
{
    json_t *solvers = json_array();
    for (guint i = 0; i < coverage->solvers->len; i++)
        json_array_append_new(solvers, solver_json(solver_at(coverage, i)));
    return json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "target", coverage->target,
                     "problems", (int)coverage->problems->len, "unserved", coverage->unserved,
                     "histogram", histogram_json(coverage->solver_histogram), "families",
                     families_json(coverage), "family_histogram",
                     histogram_json(coverage->family_histogram), "other_family_histogram",
                     histogram_json(coverage->other_family_histogram), "poorest",
                     poorest_json(coverage), "solvers", solvers);
}
