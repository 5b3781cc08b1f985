#include "export/check/check.h"
#include "export/sjdb/sjdb_write.h"
#include "tests/support/temp_folder.h"

#include <string.h>

#define KEY  "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define GEMM "miopenConvolutionFwdAlgoGEMM"

struct content {
    const char *name;
    struct sjdb_find_entry entries[2];
    const char *solver, *params; /* NULL: no row */
    const char *kernel, *args;   /* NULL: no kernel */
    enum finding finding;        /* FINDING_COUNT: no finding */
    /* A solution of this solver with this config, whose launch runs the kernel above; NULL: no
     * solution. */
    const char *solved, *config;
};

static void write_sjdb(const char *path, const struct content *content)
{
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    g_autoptr(GError) error = NULL;
    struct problem problem;
    struct perf_row row;
    g_assert_true(problem_key_parse(KEY, &problem, NULL));
    perf_row_from_problem(&problem, &row);
    g_assert_true(sjdb_writer_add_find(writer, &problem, content->entries, 2, &error));
    if (content->params != NULL) {
        g_assert_true(sjdb_writer_add_perf(writer, &row, content->solver, content->params, &error));
    }
    if (content->kernel != NULL) {
        g_autoptr(GBytes) code = g_bytes_new_static("code", 4);
        g_assert_true(sjdb_writer_add_kernel(writer, content->kernel, content->args, code, &error));
    }
    if (content->solved != NULL) {
        struct solution solution;
        const struct sjdb_kernel_name kernel = {content->kernel, content->args};
        solution_init(&solution);
        solution_add_launch(&solution, "a.cl", "a");
        g_assert_true(sjdb_writer_add_solution(writer, &problem, content->solved, content->config,
                                               &solution, &kernel, &error));
    }
    g_assert_true(sjdb_writer_finish(writer, &error));
    g_assert_no_error(error);
}

#define GOOD                                                                                       \
    {                                                                                              \
        {"ConvCpuGemm", GEMM, NULL, 1, 0, 0, 0},                                                   \
        {                                                                                          \
            "ConvDirectNaive", GEMM, NULL, 2, 0, 0, 0                                              \
        }                                                                                          \
    }

static const struct content contents[] = {
    {"good", GOOD, "ConvCpuGemm", "8,1,8,256,64", "a.cl.o", "-O3 -mcpu=gfx90a", FINDING_COUNT,
     "ConvCpuGemm", "8,1,8,256,64"},
    {"solution without a config", GOOD, .kernel = "a.cl.o", .args = "-O3 -mcpu=gfx90a",
     .solved = "ConvDirectNaive", .config = "", .finding = FINDING_COUNT},
    {"solution with stale params", GOOD, .kernel = "a.cl.o", .args = "-O3 -mcpu=gfx90a",
     .solved = "ConvCpuGemm", .config = "8,1,7,256,64", .finding = FINDING_STALE_PARAMS},
    {"solution with another workspace",
     {{"ConvCpuGemm", GEMM, NULL, 1, 512, 0, 0}, {"ConvDirectNaive", GEMM, NULL, 2, 0, 0, 0}},
     .kernel = "a.cl.o",
     .args = "-O3 -mcpu=gfx90a",
     .solved = "ConvCpuGemm",
     .config = "8,1,8,256,64",
     .finding = FINDING_WORKSPACE_MISMATCH},
    {"solution of an unknown solver", GOOD, .kernel = "a.cl.o", .args = "-O3 -mcpu=gfx90a",
     .solved = "Other", .config = "1", .finding = FINDING_UNKNOWN_SOLVER},
    {"zero time",
     {{"ConvCpuGemm", GEMM, NULL, 0, 0, 0, 0}, {"ConvDirectNaive", GEMM, NULL, 2, 0, 0, 0}},
     .finding = FINDING_ZERO_TIME},
    {"negative time",
     {{"ConvCpuGemm", GEMM, NULL, -1, 0, 0, 0}, {"ConvDirectNaive", GEMM, NULL, 2, 0, 0, 0}},
     .finding = FINDING_NEGATIVE_TIME},
    {"unsorted",
     {{"ConvCpuGemm", GEMM, NULL, 3, 0, 0, 0}, {"ConvDirectNaive", GEMM, NULL, 2, 0, 0, 0}},
     .finding = FINDING_UNSORTED_ENTRIES},
    {"unknown solver",
     {{"Other", GEMM, NULL, 1, 0, 0, 0}, {"ConvDirectNaive", GEMM, NULL, 2, 0, 0, 0}},
     .finding = FINDING_UNKNOWN_SOLVER},
    {"unknown algorithm",
     {{"ConvCpuGemm", "GEMM", NULL, 1, 0, 0, 0}, {"ConvDirectNaive", GEMM, NULL, 2, 0, 0, 0}},
     .finding = FINDING_UNKNOWN_ALGORITHM},
    {"stale params", GOOD, "ConvCpuGemm", "8,1,7,256,64", .finding = FINDING_STALE_PARAMS},
    {"kernel without target", GOOD, .kernel = "a.cl.o", .args = "-O3",
     .finding = FINDING_UNEXPECTED_NAME},
    {"kernel without .o", GOOD, .kernel = "a.cl", .args = "-O3 -mcpu=gfx90a",
     .finding = FINDING_UNEXPECTED_NAME},
};

static void each_finding_is_made_alone(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(contents); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        const char *path = temp_folder_path(folder, "a.sjdb");
        write_sjdb(path, &contents[i]);
        g_autoptr(CheckReport) report = check_file(path);
        g_test_message("%s", contents[i].name);
        g_assert_cmpstr(report->format, ==, ".sjdb");
        g_assert_cmpint(report->unreadable_count, ==, 0);
        for (int finding = 0; finding < FINDING_COUNT; finding++) {
            g_assert_cmpint(report->findings[finding], ==,
                            finding == (int)contents[i].finding ? 1 : 0);
        }
    }
}

static void all_parts_are_counted(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    write_sjdb(path, &contents[0]);
    g_autoptr(CheckReport) report = check_file(path);
    g_assert_cmpint(report->keys, ==, 4);
    g_assert_cmpint(report->entries, ==, 5);
    g_assert_true(check_report_clean(report));
}

/* The target in the file's name is compared with the target in its meta text, with its times and
 * with its kernels' arguments. */
static void a_target_that_the_name_does_not_say_is_unfit(void)
{
    static const struct {
        const char *name, *meta;
        double time_ms;
        const char *args;
        int64_t targets, times; /* found */
    } cases[] = {
        {"cpu-znver4_2.sjdb", "{\"target\":\"cpu-znver4_2\"}", 500, "-mcpu=znver4", 0, 0},
        {"cpu-znver4_2.sjdb", "{\"target\":\"cpu-znver3_2\"}", 500, "-O3 -mcpu=znver4", 1, 0},
        {"cpu-znver4_2.sjdb", "{}", 500, "-O3 -mcpu=gfx90a", 1, 0},
        {"cpu-znver4_2.sjdb", "no JSON", 0.001, "-O3 -mcpu=znver4", 0, 2},
        {"mine.sjdb", "{\"target\":\"cpu-znver4_2\"}", 0.001, "-O3 -mcpu=gfx90a", 1, 2},
        {"mine.sjdb", "{}", 0.001, "-O3 -mcpu=gfx90a", 0, 0},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct problem problem;
    g_assert_true(problem_key_parse(KEY, &problem, NULL));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *path = temp_folder_path(folder, cases[i].name);
        const struct sjdb_find_entry entries[] = {
            {"ConvCpuGemm", GEMM, NULL, cases[i].time_ms, 0, 0, 0},
            {"ConvDirectNaive", GEMM, NULL, cases[i].time_ms, 0, 0, 0}};
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) code = g_bytes_new_static("code", 4);
        g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
        g_assert_true(sjdb_writer_add_find(writer, &problem, entries, 2, &error));
        g_assert_true(sjdb_writer_add_kernel(writer, "a.cl.o", cases[i].args, code, &error));
        sjdb_writer_set_meta(writer, cases[i].meta);
        g_assert_true(sjdb_writer_finish(writer, &error));
        g_assert_no_error(error);
        g_autoptr(CheckReport) report = check_file(path);
        g_test_message("%s, %s, %s", cases[i].name, cases[i].meta, cases[i].args);
        g_assert_cmpint(report->findings[FINDING_OTHER_TARGET], ==, cases[i].targets);
        g_assert_cmpint(report->findings[FINDING_IMPOSSIBLE_TIME], ==, cases[i].times);
    }
}

/* Solutions that were never measured are fit to ship in a file that says so, and in no other; such a file holds
 * nothing measured. */
static void what_was_never_measured_is_fit_in_a_build_only_export_alone(void)
{
    static const struct {
        const char *meta;
        bool built, measured;
        enum finding finding; /* FINDING_COUNT: none */
    } cases[] = {
        {"{\"build_only\":true}", true, false, FINDING_COUNT},
        {"{}", true, false, FINDING_NEVER_MEASURED},
        {"{\"build_only\":false}", true, false, FINDING_NEVER_MEASURED},
        {"{\"build_only\":\"yes\"}", true, false, FINDING_NEVER_MEASURED},
        {"{}", true, true, FINDING_NEVER_MEASURED},
        {"{\"build_only\":true}", true, true, FINDING_MEASURED_BESIDE},
        {"{\"build_only\":true}", false, true, FINDING_MEASURED_BESIDE},
        {"{}", false, true, FINDING_COUNT},
    };
    static const struct sjdb_find_entry entry = {"ConvDirectNaive", GEMM, NULL, 1, 0, 0, 0};
    static const struct sjdb_kernel_name kernel = {"a.cl.o", "-O3 -mcpu=gfx90a"};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        const char *path = temp_folder_path(folder, "a.sjdb");
        g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
        g_autoptr(GBytes) code = g_bytes_new_static("code", 4);
        struct problem problem;
        struct solution solution;
        g_assert_true(problem_key_parse(KEY, &problem, NULL));
        sjdb_writer_set_meta(writer, cases[i].meta);
        g_assert_true(sjdb_writer_add_kernel(writer, kernel.name, kernel.args, code, NULL));
        if (cases[i].measured) {
            g_assert_true(sjdb_writer_add_find(writer, &problem, &entry, 1, NULL));
        }
        if (cases[i].built) {
            solution_init(&solution);
            solution_add_launch(&solution, "a.cl", "a");
            g_assert_true(sjdb_writer_add_unmeasured(writer, &problem, "ConvDirectNaive", "",
                                                     &solution, &kernel, NULL));
        }
        g_assert_true(sjdb_writer_finish(writer, NULL));
        g_autoptr(CheckReport) report = check_file(path);
        for (int finding = 0; finding < FINDING_COUNT; finding++) {
            g_assert_cmpint(report->findings[finding], ==, finding == (int)cases[i].finding);
        }
        g_assert_true(check_report_clean(report) == (cases[i].finding == FINDING_COUNT));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/check/sjdb/each_finding_is_made_alone", each_finding_is_made_alone);
    g_test_add_func("/check/sjdb/all_parts_are_counted", all_parts_are_counted);
    g_test_add_func("/check/sjdb/what_was_never_measured_is_fit_in_a_build_only_export_alone",
                    what_was_never_measured_is_fit_in_a_build_only_export_alone);
    g_test_add_func("/check/sjdb/a_target_that_the_name_does_not_say_is_unfit",
                    a_target_that_the_name_does_not_say_is_unfit);
    return g_test_run();
}
