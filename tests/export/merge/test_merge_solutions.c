#include "export/merge/merge.h"

#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_write.h"
#include "tests/support/temp_folder.h"

#include <string.h>

#define K1     "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define K2     "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F"
#define DIRECT "miopenConvolutionFwdAlgoDirect"

/* A .sjdb's content for a problem and a solver: an entry if time_ms > 0, a solution if params is
 * not NULL. */
struct known {
    const char *key, *solver;
    double time_ms;
    const char *params;
    double low_ms, high_ms; /* the interval of the entry's time; both 0 for none */
};

static void add_known(SjdbWriter *writer, const struct known *known)
{
    static const struct sjdb_kernel_name kernels[] = {{"a.cl.o", "-DA=1 -mcpu=gfx90a"},
                                                      {"a.cl.o", "-DA=1 -mcpu=gfx90a"}};
    const char *algorithm = g_ascii_isalpha(known->key[0]) ? "Direct" : DIRECT;
    const struct sjdb_find_entry entry = {known->solver, algorithm,     NULL, known->time_ms, 0,
                                          known->low_ms, known->high_ms};
    struct problem problem;
    struct solution solution;
    g_assert_true(problem_key_parse(known->key, &problem, NULL));
    if (known->time_ms > 0) {
        g_assert_true(sjdb_writer_add_find(writer, &problem, &entry, 1, NULL));
    }
    if (known->params != NULL) {
        solution_init(&solution);
        solution.workspace_bytes = strlen(known->params) * 512;
        struct launch *launch = solution_add_launch(&solution, "a.cl", "a");
        launch_arg_tensor(launch, TENSOR_Y);
        launch_arg_workspace(launch, 0);
        launch_arg_int32(launch, -7);
        launch_arg_float32(launch, 0.1);
        launch_arg_scaled_stride(launch, TENSOR_X, 3, 2);
        bool packs = problem.epilogue[0] != '\0';
        if (packs) {
            launch_arg_tensor(launch, TENSOR_PACKED);
            solution.launches[1] = solution.launches[0];
            solution.launch_count = 2;
            solution.launches[0].arg_count = 0;
            launch_arg_tensor(&solution.launches[0], TENSOR_W);
            launch_arg_tensor(&solution.launches[0], TENSOR_PACKED);
            solution.pack_count = 1;
            solution.packed_bytes = 64;
        }
        g_assert_true(sjdb_writer_add_solution(writer, &problem, known->solver, known->params,
                                               &solution, kernels, NULL));
    }
}

static char *write_with_code(TempFolder *folder, const char *name, const char *meta,
                             const char *code_text, const struct known *known, gsize count)
{
    const char *path = temp_folder_path(folder, name);
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    g_autoptr(GBytes) code = g_bytes_new_static(code_text, strlen(code_text));
    sjdb_writer_set_meta(writer, meta);
    sjdb_writer_set_solver(writer, "S", 3, sjdb_known_flags(true, false));
    g_assert_true(sjdb_writer_add_kernel(writer, "a.cl.o", "-DA=1 -mcpu=gfx90a", code, NULL));
    for (gsize i = 0; i < count; i++) {
        add_known(writer, &known[i]);
    }
    g_assert_true(sjdb_writer_finish(writer, NULL));
    return (char *)path;
}

static char *write_sjdb(TempFolder *folder, const char *name, const char *meta,
                        const struct known *known, gsize count)
{
    return write_with_code(folder, name, meta, "code", known, count);
}

static MergeReport *merge(char *one, char *other, const char *out,
                          const struct merge_options *options)
{
    char *paths[] = {one, other, NULL};
    g_autoptr(GError) error = NULL;
    MergeReport *report = merge_files(paths, out, options, &error);
    g_assert_no_error(error);
    return report;
}

/* Asserts the params of the solver's solution for the problem; "none": it has no solution. */
static void assert_solution(const skipjackdb *db, const char *key, const char *solver,
                            const char *params)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_solution solution = {.params = "none"};
    g_assert_cmpint(skipjackdb_problem_parse(key, &problem), ==, SKIPJACKDB_OK);
    skipjackdb_solution(db, &problem, solver, &solution, sizeof solution);
    g_assert_cmpstr(solution.params, ==, params);
}

static const struct known inputs[2][3] = {
    {{K1, "S", 2, "a", 0, 0}, {K1 "+relu", "S", 2, "a relu", 0, 0}, {K2, "T", 0, "a alone", 0, 0}},
    {{K1, "S", 3, "b", 0, 0}, {K1 "+relu", "S", 1, NULL, 0, 0}, {K2, "T", 0, "b alone", 0, 0}},
};

static void a_file_is_converted_to_itself(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct merge_options options = {0};
    char *one = write_sjdb(folder, "a.sjdb", "{\"a\": 1}", inputs[0], 3);
    const char *out = temp_folder_path(folder, "c.sjdb");
    g_autoptr(MergeReport) report = merge(one, NULL, out, &options);
    g_autoptr(GBytes) before = temp_folder_read(one);
    g_autoptr(GBytes) after = temp_folder_read(out);
    g_assert_true(merge_report_clean(report));
    g_assert_true(g_bytes_equal(before, after));
    g_assert_cmpint(report->keys, ==, 2 + 3 + 1);
}

static void solutions_go_with_the_entries_that_are_kept(void)
{
    static const struct {
        struct merge_options options;
        /* expected params of the solutions for K1, K1 "+relu" and K2 */
        const char *plain, *relu, *alone;
        int alone_losses;
    } cases[] = {
        {{.prefer = MERGE_NEWEST}, "b", "none", "b alone", 1},
        {{.prefer = MERGE_FIRST}, "a", "a relu", "a alone", 0},
        {{.prefer = MERGE_FASTEST}, "a", "none", "a alone", 1},
        {{.prefer = MERGE_NEWEST, .replace_others = true}, "b", "none", "b alone", 1},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        const char *out = temp_folder_path(folder, "c.sjdb");
        skipjackdb *db = NULL;
        char *one = write_sjdb(folder, "a.sjdb", "{\"a\": 1}", inputs[0], 3);
        char *other = write_sjdb(folder, "b.sjdb", "{\"b\": 1}", inputs[1], 3);
        g_autoptr(MergeReport) report = merge(one, other, out, &cases[i].options);
        g_assert_cmpint(skipjackdb_open(out, &db), ==, SKIPJACKDB_OK);
        assert_solution(db, K1, "S", cases[i].plain);
        assert_solution(db, K1 "+relu", "S", cases[i].relu);
        assert_solution(db, K2, "T", cases[i].alone);
        g_assert_cmpint(report->losses[LOSS_SOLUTION_ALONE], ==, cases[i].alone_losses);
        /* the inputs' meta texts differ, so the output has none */
        g_assert_cmpstr(skipjackdb_meta(db), ==, "");
        skipjackdb_close(db);
    }
}

/* A .sjdb keeps what a find-db cannot name: operators, strides, epilogues, filters that are packed. */
static void other_problems_are_kept_or_counted(void)
{
    static const struct known known[] = {
        {K1, "S", 2, "a", 0, 0},
        {K1 "_sx300000x3136x0x56x1", "S", 2, "strided", 0, 0},
        {K1 "+relu", "S", 2, "relu", 0, 0},
        {"pool(max)-4-8-8-2x2-4-4-4-1-0x0-2x2-1x1-0-NCHW-FP32-F", "S", 2, "pool", 0, 0},
        {"lrn(5,1e+20,0.75,1)-4-8-8-1x1-4-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F", "S", 2, "lrn", 0, 0},
        {"pool(max)-4-8-8-2x2-4-4-4-2-0x0-2x2-1x1-0-NCHW-FP32-F", "P", 0, "alone", 0, 0},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct merge_options options = {0};
    skipjackdb *db = NULL;
    char *one = write_sjdb(folder, "a.sjdb", "{}", known, G_N_ELEMENTS(known));
    const char *out = temp_folder_path(folder, "c.sjdb");
    g_autoptr(MergeReport) all = merge(one, NULL, out, &options);
    g_autoptr(MergeReport) finds =
        merge(one, NULL, temp_folder_path(folder, "c.fdb.txt"), &options);
    g_autoptr(MergeReport) perfs = merge(one, NULL, temp_folder_path(folder, "c.db.txt"), &options);
    g_autoptr(GBytes) before = temp_folder_read(one);
    g_autoptr(GBytes) after = temp_folder_read(out);
    g_assert_true(g_bytes_equal(before, after));
    g_assert_cmpint(finds->keys, ==, 1);
    g_assert_cmpint(finds->losses[LOSS_STRIDES], ==, 1);
    g_assert_nonnull(all);
    g_assert_cmpint(finds->losses[LOSS_EPILOGUE], ==, 1);
    g_assert_cmpint(finds->losses[LOSS_OPERATOR], ==, 2);
    g_assert_cmpint(perfs->entries, ==, 1);
    g_assert_cmpint(skipjackdb_open(out, &db), ==, SKIPJACKDB_OK);
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++) {
        assert_solution(db, known[i].key, known[i].solver, known[i].params);
    }
    skipjackdb_close(db);
}

static void key_taken_whole_brings_its_own_solvers_alone(void)
{
    static const struct known with[] = {{K1, "S", 2, "a", 0, 0}, {K1, "T", 0, "a alone", 0, 0}};
    static const struct known without[] = {{K1, "S", 1, "b", 0, 0}};
    for (int replace = 0; replace < 2; replace++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        struct merge_options options = {.replace_others = replace == 1};
        const char *out = temp_folder_path(folder, "c.sjdb");
        skipjackdb *db = NULL;
        char *one = write_sjdb(folder, "a.sjdb", "{}", with, 2);
        char *other = write_sjdb(folder, "b.sjdb", "{}", without, 1);
        g_autoptr(MergeReport) report = merge(one, other, out, &options);
        g_assert_nonnull(report);
        g_assert_cmpint(skipjackdb_open(out, &db), ==, SKIPJACKDB_OK);
        assert_solution(db, K1, "S", "b");
        assert_solution(db, K1, "T", replace == 1 ? "none" : "a alone");
        g_assert_cmpstr(skipjackdb_meta(db), ==, "{}"); /* both say so */
        skipjackdb_close(db);
    }
}

static void an_older_entry_keeps_nothing_of_a_newer_find_db(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct merge_options options = {.prefer = MERGE_NEWEST};
    const char *out = temp_folder_path(folder, "c.sjdb");
    skipjackdb *db = NULL;
    char *one = write_sjdb(folder, "a.sjdb", "{}", inputs[0], 1);
    char *other = (char *)temp_folder_write(folder, "b.fdb.txt", K1 "=S:3,0," DIRECT "\n", -1);
    g_autoptr(MergeReport) report = merge(one, other, out, &options);
    g_assert_cmpint(skipjackdb_open(out, &db), ==, SKIPJACKDB_OK);
    assert_solution(db, K1, "S", "none");
    g_assert_cmpint(report->losses[LOSS_SOLUTION_ALONE], ==, 1);
    g_assert_cmpstr(skipjackdb_meta(db), ==, "");
    skipjackdb_close(db);
}

/* Both inputs have a kernel of the same name and arguments with different code. The output keeps
 * one input's code, and leaves out the other input's solutions, which were measured with the other
 * code. */
static void a_solution_does_not_run_another_inputs_code(void)
{
    static const struct known first[] = {{K1, "S", 1, "a", 0, 0}, {K1, "T", 0, "a alone", 0, 0}};
    static const struct known last[] = {{K1, "S", 2, "b", 0, 0}, {K2, "T", 0, "b alone", 0, 0}};
    static const struct {
        enum merge_prefer prefer;
        /* expected params: of the problem with an entry, and of the two without, one in each
         * input */
        const char *entry, *first_alone, *last_alone;
        gint64 left_out;
    } cases[] = {
        {MERGE_NEWEST, "b", "none", "b alone", 1},
        {MERGE_FIRST, "a", "a alone", "none", 1},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        struct merge_options options = {.prefer = cases[i].prefer};
        const char *out = temp_folder_path(folder, "c.sjdb");
        skipjackdb *db = NULL;
        char *one = write_with_code(folder, "a.sjdb", "{}", "code", first, 2);
        char *other = write_with_code(folder, "b.sjdb", "{}", "another", last, 2);
        g_autoptr(MergeReport) report = merge(one, other, out, &options);
        g_assert_cmpint(skipjackdb_open(out, &db), ==, SKIPJACKDB_OK);
        assert_solution(db, K1, "S", cases[i].entry);
        assert_solution(db, K1, "T", cases[i].first_alone);
        assert_solution(db, K2, "T", cases[i].last_alone);
        g_assert_cmpint(report->place_count, ==, cases[i].left_out);
        skipjackdb_close(db);
    }
}

/* Find-dbs and perf-dbs take what they can hold. Params of a problem with an epilogue make no
 * perf-db row. */
static void other_formats_take_what_they_hold_of_solutions(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct merge_options options = {0};
    char *one = write_sjdb(folder, "a.sjdb", "{}", inputs[0], 3);
    const char *find = temp_folder_path(folder, "c.fdb.txt");
    const char *perf = temp_folder_path(folder, "c.db.txt");
    g_autoptr(MergeReport) finds = merge(one, NULL, find, &options);
    g_autoptr(MergeReport) perfs = merge(one, NULL, perf, &options);
    g_assert_cmpint(finds->losses[LOSS_SOLUTIONS], ==, 3);
    g_assert_cmpint(perfs->losses[LOSS_SOLUTIONS], ==, 3);
    g_autoptr(GBytes) text = temp_folder_read(perf);
    g_autofree char *rows = g_strndup(g_bytes_get_data(text, NULL), g_bytes_get_size(text));
    g_assert_nonnull(strstr(rows, "=S:a\n"));
    g_assert_nonnull(strstr(rows, "=T:a alone\n"));
    g_assert_null(strstr(rows, "relu"));
}

/* Asserts the interval of the first entry of the problem. */
static void assert_interval(const skipjackdb *db, const char *key, double low_ms, double high_ms)
{
    struct skipjackdb_entry entry = {0};
    uint64_t number = 0;
    size_t count = 0;
    g_assert_cmpint(skipjackdb_find_key(db, key, &number), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_entries(db, number, &entry, sizeof entry, 1, &count), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpfloat(entry.low_ms, ==, low_ms);
    g_assert_cmpfloat(entry.high_ms, ==, high_ms);
}

static void intervals_go_with_the_entries_that_are_kept(void)
{
    static const struct known first[] = {{K1, "S", 2, NULL, 1.875, 2.25},
                                         {K1 "+relu", "S", 4, NULL, 3.5, 4.5}};
    static const struct known last[] = {{K1, "S", 1, NULL, 0, 0}, {K2, "S", 1, NULL, 0.99, 1.01}};
    static const struct {
        enum merge_prefer prefer;
        double low_ms, high_ms; /* expected of K1 */
    } cases[] = {{MERGE_FIRST, 1.875, 2.25}, {MERGE_NEWEST, 0, 0}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        struct merge_options options = {.prefer = cases[i].prefer};
        const char *out = temp_folder_path(folder, "c.sjdb");
        skipjackdb *db = NULL;
        char *one = write_sjdb(folder, "a.sjdb", "{}", first, 2);
        char *other = write_sjdb(folder, "b.sjdb", "{}", last, 2);
        g_autoptr(MergeReport) all = merge(one, other, out, &options);
        g_autoptr(MergeReport) finds =
            merge(one, other, temp_folder_path(folder, "c.fdb.txt"), &options);
        g_assert_cmpint(skipjackdb_open(out, &db), ==, SKIPJACKDB_OK);
        assert_interval(db, K1, cases[i].low_ms, cases[i].high_ms);
        assert_interval(db, K1 "+relu", 3.5, 4.5);
        assert_interval(db, K2, 0.99, 1.01);
        g_assert_cmpint(all->losses[LOSS_INTERVALS], ==, 0);
        g_assert_cmpint(finds->losses[LOSS_INTERVALS], ==, 3);
        skipjackdb_close(db);
    }
}

/* ---- solutions that were never measured ---- */

/* A build-only export: configs of solvers for problems, in the order of trying. `revision` is that of all solvers,
 * `code` the code object of their one kernel. */
struct built {
    const char *code;
    unsigned revision;
    struct {
        const char *key, *solver, *params;
    } configs[4];
};

static char *write_built(TempFolder *folder, const char *name, const char *meta,
                         const struct built *built)
{
    static const struct sjdb_kernel_name kernel = {"a.cl.o", "-DA=1 -mcpu=gfx90a"};
    const char *path = temp_folder_path(folder, name);
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    g_autoptr(GBytes) code = g_bytes_new_static(built->code, strlen(built->code));
    sjdb_writer_set_meta(writer, meta);
    g_assert_true(sjdb_writer_add_kernel(writer, kernel.name, kernel.args, code, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(built->configs) && built->configs[i].key != NULL; i++) {
        struct problem problem;
        struct solution solution;
        g_assert_true(problem_key_parse(built->configs[i].key, &problem, NULL));
        solution_init(&solution);
        launch_arg_tensor(solution_add_launch(&solution, "a.cl", "a"), TENSOR_Y);
        sjdb_writer_set_solver(writer, built->configs[i].solver, built->revision,
                               sjdb_known_flags(true, false));
        g_assert_true(sjdb_writer_add_unmeasured(writer, &problem, built->configs[i].solver,
                                                 built->configs[i].params, &solution, &kernel,
                                                 NULL));
    }
    g_assert_true(sjdb_writer_finish(writer, NULL));
    return (char *)path;
}

/* Asserts the never-measured configs of a problem: "S a, T b". */
static void assert_built(const skipjackdb *db, const char *key, const char *expected)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_solution list[8];
    g_autoptr(GString) found = g_string_new(NULL);
    uint64_t number = 0;
    size_t count = 0;
    g_assert_cmpint(skipjackdb_problem_parse(key, &problem), ==, SKIPJACKDB_OK);
    if (skipjackdb_unmeasured_find(db, &problem, &number) == SKIPJACKDB_OK) {
        skipjackdb_unmeasured_solutions(db, number, list, sizeof *list, 8, &count);
    }
    for (size_t i = 0; i < count; i++) {
        g_string_append_printf(found, "%s%s %s", i > 0 ? ", " : "", list[i].solver, list[i].params);
    }
    g_assert_cmpstr(found->str, ==, expected);
}

/* S was measured for K1, T has a measured solution for K2 without an entry: what was built of these gives way, in
 * either order of the inputs and under every policy. */
static void what_was_measured_wins_over_what_was_built(void)
{
    static const struct known measured[] = {{K1, "S", 2, "m", 0, 0}, {K2, "T", 0, "m", 0, 0}};
    static const struct built built = {
        "code", 3, {{K1, "U", "b"}, {K1, "S", "b"}, {K1, "S", "c"}, {K2, "T", "b"}}};
    static const enum merge_prefer policies[] = {MERGE_NEWEST, MERGE_FIRST, MERGE_FASTEST};
    for (gsize i = 0; i < 2 * G_N_ELEMENTS(policies); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        struct merge_options options = {.prefer = policies[i / 2]};
        const char *out = temp_folder_path(folder, "c.sjdb");
        skipjackdb *db = NULL;
        char *one = write_sjdb(folder, "a.sjdb", "{\"a\": 1}", measured, 2);
        char *other = write_built(folder, "b.sjdb", "{\"build_only\": true}", &built);
        g_autoptr(MergeReport) report =
            merge(i % 2 == 0 ? one : other, i % 2 == 0 ? other : one, out, &options);
        g_assert_cmpint(skipjackdb_open(out, &db), ==, SKIPJACKDB_OK);
        assert_solution(db, K1, "S", "m");
        assert_solution(db, K2, "T", "m");
        assert_built(db, K1, "U b");
        assert_built(db, K2, "");
        g_assert_cmpint(report->gave_way, ==, 3);
        g_assert_cmpint(report->unmeasured, ==, 1);
        skipjackdb_close(db);
    }
}

/* A find-db has no solutions, and its entries say what was measured all the same. An entry of time 0 says nothing. */
static void what_a_find_db_measured_wins_over_what_was_built(void)
{
    static const struct built built = {
        "code", 3, {{K1, "U", "b"}, {K1, "S", "b"}, {K1, "S", "c"}, {K2, "S", "b"}}};
    for (int i = 0; i < 4; i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        const struct merge_options options = {.prefer = MERGE_NEWEST, .replace_others = i >= 2};
        const char *out = temp_folder_path(folder, "c.sjdb");
        skipjackdb *db = NULL;
        char *found = (char *)temp_folder_write(
            folder, "f.fdb.txt", K1 "=S:3,0," DIRECT "\n" K2 "=S:0,0," DIRECT "\n", -1);
        char *other = write_built(folder, "b.sjdb", "{\"build_only\": true}", &built);
        g_autoptr(MergeReport) report =
            merge(i % 2 == 0 ? found : other, i % 2 == 0 ? other : found, out, &options);
        g_assert_cmpint(skipjackdb_open(out, &db), ==, SKIPJACKDB_OK);
        assert_built(db, K1, "U b");
        assert_built(db, K2, "S b");
        g_assert_cmpint(report->gave_way, ==, 2);
        skipjackdb_close(db);
    }
}

/* A kernel of the same name with other code: that of the measured solution stays, whatever the policy says. */
static void built_code_takes_no_name_of_measured_code(void)
{
    static const struct known measured[] = {{K1, "S", 2, "m", 0, 0}};
    static const struct built built = {"another", 3, {{K2, "U", "b"}}};
    static const enum merge_prefer policies[] = {MERGE_NEWEST, MERGE_FIRST};
    for (gsize i = 0; i < 2 * G_N_ELEMENTS(policies); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        struct merge_options options = {.prefer = policies[i / 2]};
        const char *out = temp_folder_path(folder, "c.sjdb");
        char code[16] = "";
        size_t bytes = 0;
        skipjackdb *db = NULL;
        char *one = write_sjdb(folder, "a.sjdb", "{}", measured, 1);
        char *other = write_built(folder, "b.sjdb", "{}", &built);
        g_autoptr(MergeReport) report =
            merge(i % 2 == 0 ? one : other, i % 2 == 0 ? other : one, out, &options);
        g_assert_cmpint(skipjackdb_open(out, &db), ==, SKIPJACKDB_OK);
        assert_solution(db, K1, "S", "m");
        assert_built(db, K2, "");
        g_assert_cmpint(report->place_count, ==, 1); /* the built solution is named */
        g_assert_cmpint(
            skipjackdb_kernel(db, "a.cl.o", "-DA=1 -mcpu=gfx90a", code, sizeof code, &bytes), ==,
            SKIPJACKDB_OK);
        g_assert_cmpstr(code, ==, "code");
        skipjackdb_close(db);
    }
}

/* Configs of two build-only exports are put together, each once, the wanted input's first; the result is a
 * build-only export, too. A solver's other revision is left out and named. */
static void build_only_exports_are_merged_into_one(void)
{
    static const struct built first = {"code", 3, {{K1, "S", "a"}, {K1, "S", "b"}, {K2, "S", "a"}}};
    static const struct built last = {"code", 3, {{K1, "T", "x"}, {K1, "S", "b"}, {K1, "S", "c"}}};
    static const struct built newer = {"code", 4, {{K1, "T", "x"}, {K1, "S", "b"}, {K1, "S", "c"}}};
    static const struct {
        const struct built *other;
        enum merge_prefer prefer;
        const char *plain, *half; /* expected of K1 and K2 */
        gint64 left_out;
    } cases[] = {
        {&last, MERGE_FIRST, "S a, S b, T x, S c", "S a", 0},
        {&last, MERGE_NEWEST, "T x, S b, S c, S a", "S a", 0},
        {&newer, MERGE_FIRST, "S a, S b, T x", "S a", 2},
        {&newer, MERGE_NEWEST, "T x, S b, S c", "", 3},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        struct merge_options options = {.prefer = cases[i].prefer};
        const char *out = temp_folder_path(folder, "gfx90a68.sjdb");
        skipjackdb *db = NULL;
        char *one =
            write_built(folder, "a.sjdb",
                        "{\"target\":\"gfx90a68\",\"campaign\":\"a\",\"build_only\":true}", &first);
        char *other = write_built(
            folder, "b.sjdb", "{\"target\":\"gfx90a68\",\"campaign\":\"b\",\"build_only\":true}",
            cases[i].other);
        g_autoptr(MergeReport) report = merge(one, other, out, &options);
        g_autoptr(MergeReport) finds =
            merge(one, (char *)temp_folder_write(folder, "f.fdb.txt", K1 "=S:3,0," DIRECT "\n", -1),
                  temp_folder_path(folder, "c.fdb.txt"), &options);
        g_assert_cmpint(skipjackdb_open(out, &db), ==, SKIPJACKDB_OK);
        assert_built(db, K1, cases[i].plain);
        assert_built(db, K2, cases[i].half);
        g_assert_cmpint(report->place_count, ==, cases[i].left_out);
        g_assert_cmpstr(skipjackdb_meta(db), ==, "{\"target\":\"gfx90a68\",\"build_only\":true}");
        g_assert_cmpint(finds->losses[LOSS_UNMEASURED], ==, 3);
        skipjackdb_close(db);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/merge_solutions/never_measured/what_was_measured_wins_over_what_was_built",
                    what_was_measured_wins_over_what_was_built);
    g_test_add_func(
        "/merge_solutions/never_measured/what_a_find_db_measured_wins_over_what_was_built",
        what_a_find_db_measured_wins_over_what_was_built);
    g_test_add_func("/merge_solutions/never_measured/built_code_takes_no_name_of_measured_code",
                    built_code_takes_no_name_of_measured_code);
    g_test_add_func("/merge_solutions/never_measured/build_only_exports_are_merged_into_one",
                    build_only_exports_are_merged_into_one);
    g_test_add_func("/merge_solutions/other_problems_are_kept_or_counted",
                    other_problems_are_kept_or_counted);
    g_test_add_func("/merge/solutions/a_file_is_converted_to_itself",
                    a_file_is_converted_to_itself);
    g_test_add_func("/merge/solutions/go_with_the_entries_that_are_kept",
                    solutions_go_with_the_entries_that_are_kept);
    g_test_add_func("/merge/solutions/intervals_go_with_the_entries_that_are_kept",
                    intervals_go_with_the_entries_that_are_kept);
    g_test_add_func("/merge/solutions/key_taken_whole_brings_its_own_solvers_alone",
                    key_taken_whole_brings_its_own_solvers_alone);
    g_test_add_func("/merge/solutions/an_older_entry_keeps_nothing_of_a_newer_find_db",
                    an_older_entry_keeps_nothing_of_a_newer_find_db);
    g_test_add_func("/merge/solutions/do_not_run_another_inputs_code",
                    a_solution_does_not_run_another_inputs_code);
    g_test_add_func("/merge/solutions/other_formats_take_what_they_hold",
                    other_formats_take_what_they_hold_of_solutions);
    return g_test_run();
}
