#include "export/sjdb/reader/layout.h"
#include "export/sjdb/sjdb_write.h"
#include "tests/support/export/sjdb_bytes.h"
#include "tests/support/temp_folder.h"

#include <string.h>

#define HELD  "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define ASKED "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F"
#define OTHER "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP64-W"

static struct skipjackdb_problem problem_of(const char *key)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    g_assert_cmpint(skipjackdb_problem_parse(key, &problem), ==, SKIPJACKDB_OK);
    return problem;
}

static void add_params(SjdbWriter *writer, const char *key, const char *solver, const char *params)
{
    struct problem problem;
    struct perf_row row;
    g_assert_true(problem_key_parse(key, &problem, NULL));
    perf_row_from_problem(&problem, &row);
    g_assert_true(sjdb_writer_add_perf(writer, &row, solver, params, NULL));
}

/* A database with one problem and three solvers; only ConvA, the fastest, has params. */
static SjdbWriter *make_writer(TempFolder *folder)
{
    static const struct sjdb_find_entry entries[] = {
        {"ConvA", "AlgoA", NULL, 1, 100, 0, 0},
        {"ConvB", "AlgoB", NULL, 2, 50, 0, 0},
        {"ConvC", "AlgoC", NULL, 3, 0, 0, 0},
    };
    SjdbWriter *writer = sjdb_writer_new(temp_folder_path(folder, "a.sjdb"));
    struct problem problem;
    g_assert_true(problem_key_parse(HELD, &problem, NULL));
    g_assert_true(sjdb_writer_add_find(writer, &problem, entries, G_N_ELEMENTS(entries), NULL));
    sjdb_writer_set_solver(writer, "ConvC", 5, sjdb_known_flags(true, false));
    add_params(writer, HELD, "ConvA", "8,16");
    return writer;
}

static skipjackdb *finish(TempFolder *folder, SjdbWriter *writer)
{
    skipjackdb *db = NULL;
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_assert_true(sjdb_writer_finish(writer, NULL));
    g_assert_cmpint(skipjackdb_open(path, &db), ==, SKIPJACKDB_OK);
    return db;
}

static skipjackdb *make_db(TempFolder *folder)
{
    g_autoptr(SjdbWriter) writer = make_writer(folder);
    return finish(folder, writer);
}

/* Adds a solution for the key and solver: a recipe of one launch. */
static void add_solution(SjdbWriter *writer, const char *key, const char *solver,
                         const char *params)
{
    static const struct sjdb_kernel_name kernel = {"conv.cl.o", "-mcpu=gfx90a"};
    struct problem problem;
    struct solution solution;
    g_autoptr(GBytes) code = g_bytes_new_static("code", 4);
    g_assert_true(problem_key_parse(key, &problem, NULL));
    solution_init(&solution);
    solution.workspace_bytes = 50;
    launch_set_grid(solution_add_launch(&solution, "conv.cl", "conv"), (const int64_t[]){64, 1, 1},
                    (const int[]){64, 1, 1});
    g_assert_true(
        sjdb_writer_add_solution(writer, &problem, solver, params, &solution, &kernel, NULL));
    g_assert_true(sjdb_writer_add_kernel(writer, kernel.name, kernel.args, code, NULL));
}

/* The calling library's answers about solvers (skipjackdb_candidate), and the questions that it was
 * asked. */
struct caller {
    /* solvers whose names begin with `refused` are refused; the one named `estimated` gets the
     * highest estimate */
    const char *refused, *estimated;
    uint64_t workspace_bytes;
    const char *algorithm;
    bool no_params;
    GString *asked;
};

static int applicable(void *user, const struct skipjackdb_problem *problem,
                      struct skipjackdb_candidate *candidate)
{
    struct caller *caller = user;
    g_assert_cmpint(problem->n, ==, 32);
    g_string_append_printf(caller->asked, "%s:%s:%" G_GINT64_FORMAT " ", candidate->solver,
                           candidate->params != NULL ? candidate->params : "-",
                           (gint64)candidate->workspace_bytes);
    if (caller->refused != NULL && g_str_has_prefix(candidate->solver, caller->refused)) {
        return SKIPJACKDB_NO;
    }
    if (caller->workspace_bytes != SKIPJACKDB_UNKNOWN) {
        candidate->workspace_bytes = caller->workspace_bytes;
    }
    candidate->algorithm = caller->algorithm != NULL ? caller->algorithm : candidate->algorithm;
    candidate->params = caller->no_params ? NULL : candidate->params;
    return SKIPJACKDB_YES;
}

static double estimate(void *user, const struct skipjackdb_problem *problem, const char *solver)
{
    const struct caller *caller = user;
    (void)problem;
    return strcmp(solver, caller->estimated) == 0 ? 3 : strcmp(solver, "Never") == 0 ? 0 : 2;
}

static void assert_choice(skipjackdb *db, const char *key, struct caller *caller,
                          struct skipjackdb_rules rules, const char *expected)
{
    struct skipjackdb_choice choice = {.size = sizeof choice};
    struct skipjackdb_problem problem = problem_of(key);
    g_autofree char *said = NULL;
    caller->asked = g_string_new("");
    rules.size = sizeof rules;
    rules.applicable = applicable;
    rules.user = caller;
    int code = skipjackdb_choose(&db, db != NULL, &problem, &rules, &choice, NULL);
    said = code == SKIPJACKDB_OK
               ? g_strdup_printf("%s %s %s %" G_GINT64_FORMAT " %d %u; %s", choice.solver,
                                 choice.algorithm, choice.params != NULL ? choice.params : "-",
                                 (gint64)choice.workspace_bytes, choice.how, choice.marks,
                                 caller->asked->str)
               : g_strdup_printf("%s; %s", skipjackdb_error_text(code), caller->asked->str);
    g_assert_cmpstr(said, ==, expected);
    g_string_free(caller->asked, TRUE);
}

/* expected: solver, algorithm, params, workspace, how it was chosen (3: nearest problem, 4:
 * estimate), marks; then each question to the caller as solver:params:workspace (-1: unknown). */
static void caller_decides_which_solvers_are_applicable(void)
{
    static const struct {
        const char *refused;
        uint64_t workspace_bytes, limit;
        const char *algorithm;
        bool no_params;
        const char *expected;
    } cases[] = {
        {NULL, SKIPJACKDB_UNKNOWN, UINT64_MAX, NULL, false,
         "ConvA AlgoA 8,16 200 3 26; ConvA:8,16:-1 "},
        {NULL, 77, UINT64_MAX, NULL, false, "ConvA AlgoA 8,16 77 3 18; ConvA:8,16:-1 "},
        {NULL, 77, 76, NULL, false,
         "the database does not hold it; ConvA:8,16:-1 ConvB:-:-1 ConvC:-:-1 "},
        {NULL, SKIPJACKDB_UNKNOWN, 199, NULL, false,
         "ConvB AlgoB - 100 3 10; ConvA:8,16:-1 ConvB:-:-1 "},
        {NULL, SKIPJACKDB_UNKNOWN, UINT64_MAX, "Better", true,
         "ConvA Better - 200 3 10; ConvA:8,16:-1 "},
        {"ConvA", SKIPJACKDB_UNKNOWN, UINT64_MAX, NULL, false,
         "ConvB AlgoB - 100 3 10; ConvA:8,16:-1 ConvB:-:-1 "},
        {"Conv", SKIPJACKDB_UNKNOWN, UINT64_MAX, NULL, false,
         "the database does not hold it; ConvA:8,16:-1 ConvB:-:-1 ConvC:-:-1 "},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make_db(folder);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct caller caller = {.refused = cases[i].refused,
                                .workspace_bytes = cases[i].workspace_bytes,
                                .algorithm = cases[i].algorithm,
                                .no_params = cases[i].no_params};
        struct skipjackdb_rules rules = {.workspace_bytes = cases[i].limit};
        assert_choice(db, ASKED, &caller, rules, cases[i].expected);
    }
    skipjackdb_close(db);
}

static void params_of_the_problem_itself_come_first(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(SjdbWriter) writer = make_writer(folder);
    add_params(writer, ASKED, "ConvA", "32,4");
    skipjackdb *db = finish(folder, writer);
    struct caller caller = {.workspace_bytes = SKIPJACKDB_UNKNOWN};
    struct skipjackdb_rules rules = {.workspace_bytes = UINT64_MAX};
    assert_choice(db, ASKED, &caller, rules, "ConvA AlgoA 32,4 200 3 10; ConvA:32,4:-1 ");
    skipjackdb_close(db);
}

/* In the hybrid mode the solver that compiles nothing is chosen first: the dynamic ConvC, or the
 * fastest, ConvA, if the file holds its kernel. `later`: the solver to compile meanwhile. */
static void hybrid_compiles_nothing_that_the_file_holds(void)
{
    static const struct {
        const char *solved, *solver, *later, *params;
        uint32_t marks;
    } cases[] = {
        {NULL, "ConvC", "ConvA", NULL, 0},
        {"ConvB", "ConvC", "ConvA", NULL, 0},
        {"ConvA", "ConvA", NULL, "4,4", SKIPJACKDB_READY},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(SjdbWriter) writer = make_writer(folder);
        if (cases[i].solved != NULL) {
            add_solution(writer, HELD, cases[i].solved, "4,4");
        }
        skipjackdb *db = finish(folder, writer);
        struct skipjackdb_problem problem = problem_of(HELD);
        struct skipjackdb_choice choice = {.size = sizeof choice}, later = {.size = sizeof later};
        struct skipjackdb_rules rules = {
            .size = sizeof rules, .workspace_bytes = UINT64_MAX, .mode = SKIPJACKDB_HYBRID};
        g_assert_cmpint(skipjackdb_choose(&db, 1, &problem, &rules, &choice, &later), ==,
                        SKIPJACKDB_OK);
        g_assert_cmpstr(choice.solver, ==, cases[i].solver);
        g_assert_cmpstr(choice.params, ==, cases[i].params);
        g_assert_cmpuint(choice.marks, ==, cases[i].marks);
        g_assert_cmpstr(later.solver, ==, cases[i].later);
        skipjackdb_close(db);
    }
}

static void problem_with_launches_alone_is_held(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(SjdbWriter) writer = make_writer(folder);
    add_solution(writer, ASKED, "ConvB", "");
    skipjackdb *db = finish(folder, writer);
    struct skipjackdb_problem problem = problem_of(ASKED);
    struct skipjackdb_choice choice = {.size = sizeof choice};
    g_assert_cmpint(skipjackdb_choose(&db, 1, &problem, NULL, &choice, NULL), ==, SKIPJACKDB_OK);
    g_assert_cmpstr(choice.solver, ==, "ConvB");
    g_assert_cmpint(choice.how, ==, SKIPJACKDB_EXACT);
    g_assert_cmpuint(choice.marks, ==, SKIPJACKDB_READY);
    g_assert_cmpfloat(choice.time_ms, ==, 0);
    g_assert_cmpuint(choice.workspace_bytes, ==, 50);
    g_assert_cmpuint(choice.problem, ==, SKIPJACKDB_UNKNOWN);
    g_assert_null(choice.params);
    skipjackdb_close(db);
}

/* Find entries hold the fastest few solvers only, solutions hold every solver. A solution of the
 * problem itself is chosen before an entry of a near problem. */
static void launches_without_an_entry_go_before_near_problems(void)
{
    static const struct sjdb_find_entry fastest = {"ConvA", "AlgoA", NULL, 1, 100, 0, 0};
    static const struct {
        uint64_t workspace_bytes;
        const char *solver;
        int how;
    } cases[] = {
        {100, "ConvA", SKIPJACKDB_EXACT},
        {99, "ConvB", SKIPJACKDB_EXACT},
        {50, "ConvB", SKIPJACKDB_EXACT},
        {49, "ConvC", SKIPJACKDB_NEAREST},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(SjdbWriter) writer = make_writer(folder);
    struct problem asked;
    g_assert_true(problem_key_parse(ASKED, &asked, NULL));
    g_assert_true(sjdb_writer_add_find(writer, &asked, &fastest, 1, NULL));
    add_solution(writer, ASKED, "ConvB", "");
    skipjackdb *db = finish(folder, writer);
    struct skipjackdb_problem problem = problem_of(ASKED);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct skipjackdb_choice choice = {.size = sizeof choice};
        struct skipjackdb_rules rules = {.size = sizeof rules,
                                         .workspace_bytes = cases[i].workspace_bytes};
        g_assert_cmpint(skipjackdb_choose(&db, 1, &problem, &rules, &choice, NULL), ==,
                        SKIPJACKDB_OK);
        g_assert_cmpstr(choice.solver, ==, cases[i].solver);
        g_assert_cmpint(choice.how, ==, cases[i].how);
    }
    skipjackdb_close(db);
}

static void estimates_are_asked_last(void)
{
    static const char *const solvers[] = {"Never", "Mine", "ConvA", "Mine"};
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make_db(folder);
    struct caller caller = {.estimated = "ConvC", .workspace_bytes = 8};
    struct skipjackdb_rules rules = {.workspace_bytes = UINT64_MAX, .estimate = estimate};
    assert_choice(db, ASKED, &caller, rules, "ConvA AlgoA 8,16 8 3 18; ConvA:8,16:-1 ");
    assert_choice(db, OTHER, &caller, rules, "ConvC  - 8 4 0; ConvC:-:-1 ");
    caller.estimated = "Mine";
    rules.solvers = solvers;
    rules.solver_count = G_N_ELEMENTS(solvers);
    assert_choice(db, OTHER, &caller, rules, "Mine  - 8 4 0; Mine:-:-1 ");
    assert_choice(NULL, OTHER, &caller, rules, "Mine  - 8 4 0; Mine:-:-1 ");
    caller.refused = "Mine";
    assert_choice(db, OTHER, &caller, rules, "ConvA  - 8 4 0; Mine:-:-1 ConvA:-:-1 ");
    /* A solver of unknown workspace fits no limit, however high. */
    caller = (struct caller){.estimated = "Mine", .workspace_bytes = SKIPJACKDB_UNKNOWN};
    rules.workspace_bytes = UINT64_MAX - 1;
    assert_choice(db, OTHER, &caller, rules,
                  "the database does not hold it; Mine:-:-1 ConvA:-:-1 ");
    skipjackdb_close(db);
}

static double estimate_by_last_digit(void *user, const struct skipjackdb_problem *problem,
                                     const char *solver)
{
    (void)user;
    (void)problem;
    return (double)g_ascii_strtoull(solver + 1, NULL, 10);
}

static void highest_of_many_estimates_is_found(void)
{
    static char names[1000][8];
    const char *solvers[G_N_ELEMENTS(names)];
    struct skipjackdb_problem problem = problem_of(OTHER);
    struct skipjackdb_choice choice = {.size = sizeof choice};
    struct skipjackdb_rules rules = {.size = sizeof rules,
                                     .workspace_bytes = UINT64_MAX,
                                     .solvers = solvers,
                                     .solver_count = G_N_ELEMENTS(solvers),
                                     .estimate = estimate_by_last_digit};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_snprintf(names[i], sizeof names[i], "S%d", (int)(i * 7919 % G_N_ELEMENTS(names)));
        solvers[i] = names[i];
    }
    g_assert_cmpint(skipjackdb_choose(NULL, 0, &problem, &rules, &choice, NULL), ==, SKIPJACKDB_OK);
    g_assert_cmpstr(choice.solver, ==, "S999");
    g_assert_cmpuint(choice.marks, ==, SKIPJACKDB_UNCHECKED);
    g_assert_cmpuint(choice.db, ==, 0);
}

/* ---- what cannot be asked, and damage ---- */

static void impossible_arguments_are_refused(void)
{
    struct skipjackdb_problem problem = problem_of(HELD), no_size = problem, no_end = problem;
    struct skipjackdb_choice choice = {.size = sizeof choice}, small = {.size = 8};
    struct skipjackdb_rules rules = {.size = sizeof rules}, bad_mode = rules,
                            no_rules = {.size = 0};
    no_size.size = 0;
    memset(no_end.epilogue, '+', sizeof no_end.epilogue);
    bad_mode.mode = 3;
    const struct {
        size_t count;
        const struct skipjackdb_problem *problem;
        const struct skipjackdb_rules *rules;
        struct skipjackdb_choice *choice, *later;
        int code;
    } cases[] = {
        {0, &problem, &rules, &choice, &choice, SKIPJACKDB_NOT_FOUND},
        {1, &problem, &rules, &choice, NULL, SKIPJACKDB_USAGE},
        {0, NULL, &rules, &choice, NULL, SKIPJACKDB_USAGE},
        {0, &no_size, &rules, &choice, NULL, SKIPJACKDB_USAGE},
        {0, &no_end, &rules, &choice, NULL, SKIPJACKDB_USAGE},
        {0, &problem, &no_rules, &choice, NULL, SKIPJACKDB_USAGE},
        {0, &problem, &bad_mode, &choice, NULL, SKIPJACKDB_USAGE},
        {0, &problem, NULL, NULL, NULL, SKIPJACKDB_USAGE},
        {0, &problem, NULL, &small, NULL, SKIPJACKDB_USAGE},
        {0, &problem, NULL, &choice, &small, SKIPJACKDB_USAGE},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpint(skipjackdb_choose(NULL, cases[i].count, cases[i].problem, cases[i].rules,
                                          cases[i].choice, cases[i].later),
                        ==, cases[i].code);
    }
}

static void later_headers_fields_become_zero(void)
{
    struct {
        struct skipjackdb_choice choice;
        unsigned char more[32];
    } room;
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make_db(folder);
    struct skipjackdb_problem problem = problem_of(HELD);
    memset(&room, 0x5a, sizeof room);
    room.choice.size = sizeof room;
    g_assert_cmpint(skipjackdb_choose(&db, 1, &problem, NULL, &room.choice, NULL), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpstr(room.choice.solver, ==, "ConvA");
    g_assert_cmpuint(room.choice.size, ==, sizeof room);
    for (gsize i = 0; i < sizeof room.more; i++) {
        g_assert_cmpuint(room.more[i], ==, 0);
    }
    skipjackdb_close(db);
}

/* Each kind is a section of numbers that is damaged to point outside the file; the choice that
 * reads it fails and names the database. */
static void damage_names_the_database(void)
{
    static const uint32_t kinds[] = {SJDB_FIND + SJDB_SET_STARTS, SJDB_FIND + SJDB_LIST_STARTS,
                                     SJDB_FIND + SJDB_PROBLEM_LISTS};
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autoptr(GByteArray) bytes = sjdb_bytes_make();
        struct sjdb_place place;
        skipjackdb *dbs[] = {NULL, NULL};
        struct skipjackdb_choice choice = {.size = sizeof choice};
        struct skipjackdb_problem problem =
            problem_of("64-56-56-3x3-64-56-56-17-1x1-1x1-1x1-0-NCHW-FP32-F");
        sjdb_bytes_find(bytes, kinds[i], &place);
        memset(bytes->data + place.offset, 0xff, (place.count * place.width + 7) / 8);
        sjdb_bytes_seal(bytes->data, bytes->len);
        g_assert_cmpint(skipjackdb_open_bytes(bytes->data, bytes->len, &dbs[1]), ==, SKIPJACKDB_OK);
        g_assert_cmpint(skipjackdb_choose(dbs, 2, &problem, NULL, &choice, NULL), ==,
                        SKIPJACKDB_DAMAGED);
        g_assert_cmpuint(choice.db, ==, 1);
        g_assert_cmpint(choice.how, ==, SKIPJACKDB_NOWHERE);
        skipjackdb_close(dbs[1]);
    }
}

#define THREADS 4
static void *ask_often(void *db)
{
    struct skipjackdb_problem problem = problem_of(ASKED);
    for (int i = 0; i < 1000; i++) {
        struct skipjackdb_choice choice = {.size = sizeof choice};
        skipjackdb *dbs[] = {db};
        g_assert_cmpint(skipjackdb_choose(dbs, 1, &problem, NULL, &choice, NULL), ==,
                        SKIPJACKDB_OK);
        g_assert_cmpstr(choice.solver, ==, "ConvA");
    }
    return NULL;
}

static void threads_ask_one_database_at_the_same_time(void)
{
    GThread *threads[THREADS];
    g_autoptr(TempFolder) folder = temp_folder_new();
    skipjackdb *db = make_db(folder);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = g_thread_new("ask", ask_often, db);
    }
    for (int i = 0; i < THREADS; i++) {
        g_thread_join(threads[i]);
    }
    skipjackdb_close(db);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/choose/caller_decides_which_solvers_are_applicable",
                    caller_decides_which_solvers_are_applicable);
    g_test_add_func("/choose/params_of_the_problem_itself_come_first",
                    params_of_the_problem_itself_come_first);
    g_test_add_func("/choose/hybrid_compiles_nothing_that_the_file_holds",
                    hybrid_compiles_nothing_that_the_file_holds);
    g_test_add_func("/choose/problem_with_launches_alone_is_held",
                    problem_with_launches_alone_is_held);
    g_test_add_func("/choose/estimates_are_asked_last", estimates_are_asked_last);
    g_test_add_func("/choose/highest_of_many_estimates_is_found",
                    highest_of_many_estimates_is_found);
    g_test_add_func("/choose/launches_without_an_entry_go_before_near_problems",
                    launches_without_an_entry_go_before_near_problems);
    g_test_add_func("/choose/impossible_arguments_are_refused", impossible_arguments_are_refused);
    g_test_add_func("/choose/later_headers_fields_become_zero", later_headers_fields_become_zero);
    g_test_add_func("/choose/damage_names_the_database", damage_names_the_database);
    g_test_add_func("/choose/threads_ask_one_database_at_the_same_time",
                    threads_ask_one_database_at_the_same_time);
    return g_test_run();
}
