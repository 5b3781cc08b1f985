#include "export/diff/diff.h"

#include "export/formats/kernel_db.h"
#include "export/sjdb/sjdb_write.h"
#include "tests/support/temp_folder.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define K1     "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define K2     "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F"
#define K3     "64-56-56-3x3-64-56-56-64-1x1-1x1-1x1-0-NCHW-FP32-F"
#define ALGO   "miopenConvolutionFwdAlgo"
#define DIRECT "," ALGO "Direct"
#define ROW    "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"
#define ROW8   "2x64x56x56x1x3x3x1x64x8x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"
#define LINE   "./bin/MIOpenDriver conv -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1 -n "

static DiffReport *compare(const char *first, const char *second, const char *list)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    const char *a = temp_folder_write(folder, "a", first, -1);
    const char *b = temp_folder_write(folder, "b", second, -1);
    char *lists[] = {list != NULL ? (char *)temp_folder_write(folder, "net.txt", list, -1) : NULL,
                     NULL};
    const struct diff_lists weights = {.paths = lists};
    DiffReport *report = diff_files(a, b, list != NULL ? &weights : NULL, 0, true, &error);
    g_assert_no_error(error);
    return report;
}

static const struct {
    const char *name, *first, *second;
    int counts[DIFF_COUNT]; /* entries gained, lost, with another winner, with another time */
} cases[] = {
    {"the same", K1 "=S:1,0" DIRECT "\n", K1 "=S:1,0" DIRECT "\n", {0, 0, 0, 0}},
    {"order and form are no difference",
     K2 "=S:1,0" DIRECT "\n" K1 "=S:1,0" DIRECT ";T:2.50,8" DIRECT "\n",
     K1 "=" ALGO "Direct:T,2.5,8" DIRECT ",<unused>;" ALGO "Direct:S,1,0" DIRECT ",x\r\n" K2
        "=S:1,0" DIRECT "\n",
     {0, 0, 0, 0}},
    {"an entry that stands twice says nothing more",
     K1 "=S:1,0" DIRECT ";S:1,0" DIRECT "\n",
     K1 "=S:1,0" DIRECT "\n",
     {0, 0, 0, 0}},
    {"gained",
     K1 "=S:1,0" DIRECT "\n",
     K1 "=S:1,0" DIRECT "\n" K2 "=S:1,0" DIRECT "\n",
     {1, 0, 0, 0}},
    {"lost",
     K1 "=S:1,0" DIRECT "\n" K2 "=S:1,0" DIRECT "\n",
     K2 "=S:1,0" DIRECT "\n",
     {0, 1, 0, 0}},
    {"another winner",
     K1 "=S:1,0" DIRECT ";T:2,0" DIRECT "\n",
     K1 "=T:1,0" DIRECT ";S:2,0" DIRECT "\n",
     {0, 0, 1, 0}},
    {"a time of 0 is no winner and is compared",
     K1 "=Z:0,0" DIRECT ";S:1,0" DIRECT "\n",
     K1 "=S:1,0" DIRECT "\n",
     {0, 0, 0, 1}},
    {"another time", K1 "=S:1,0" DIRECT "\n", K1 "=S:2,0" DIRECT "\n", {0, 0, 0, 1}},
    {"another workspace", K1 "=S:1,0" DIRECT "\n", K1 "=S:1,8" DIRECT "\n", {0, 0, 0, 1}},
    {"another algorithm", K1 "=S:1,0" DIRECT "\n", K1 "=S:1,0," ALGO "FFT\n", {0, 0, 0, 1}},
    {"one entry more",
     K1 "=S:1,0" DIRECT "\n",
     K1 "=S:1,0" DIRECT ";T:2,0" DIRECT "\n",
     {0, 0, 0, 1}},
    {"two entries for two others",
     K1 "=S:1,0" DIRECT ";T:2,0" DIRECT "\n",
     K1 "=S:1,0" DIRECT ";U:2,0" DIRECT "\n",
     {0, 0, 0, 1}},
    {"rows of perf-dbs", ROW "=A:1;B:2\n", ROW8 "=A:1\n", {1, 1, 0, 0}},
    {"params of perf-dbs", ROW "=A:1;B:2\n", ROW "=A:2;C:3\n", {0, 0, 0, 3}},
    {"the same perf-db",
     ROW "=A:1;B:2\n" ROW8 "=A:1\n",
     ROW8 "=A:1\n" ROW "=B:2;A:1\n",
     {0, 0, 0, 0}},
};

static void files_are_compared_by_content(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int sum = 0;
        g_autoptr(DiffReport) report = compare(cases[i].first, cases[i].second, NULL);
        g_test_message("%s", cases[i].name);
        for (int what = 0; what < DIFF_COUNT; what++) {
            g_assert_cmpint(report->counts[what], ==, cases[i].counts[what]);
            sum += cases[i].counts[what];
        }
        g_assert_cmpuint(report->places->len, ==, sum);
        g_assert_true(diff_report_equal(report) == (sum == 0));
    }
}

static void a_changed_winner_is_named_with_both_times(void)
{
    g_autoptr(DiffReport) report =
        compare(K1 "=S:1.50,0" DIRECT ";T:2,0" DIRECT "\n", K1 "=T:0.75,0" DIRECT "\n", NULL);
    const struct diff_place *place = &g_array_index(report->places, struct diff_place, 0);
    g_assert_cmpint(place->what, ==, DIFF_WINNER);
    g_assert_cmpstr(place->key, ==, K1);
    g_assert_cmpstr(place->first, ==, "S 1.50 ms");
    g_assert_cmpstr(place->second, ==, "T 0.75 ms");
    g_assert_cmpfloat_with_epsilon(report->times.ratio, 0.5, 1e-12);
    g_assert_cmpint(report->times.faster, ==, 1);
}

/* A layer of batch 16 runs three times and takes twice as long in the second file, one of batch 32
 * runs once and takes half as long; batch 64 is in one file only and is not counted. */
static void networks_weight_times_by_multiplicity(void)
{
    g_autoptr(DiffReport) report =
        compare(K1 "=S:1,0" DIRECT "\n" K2 "=S:4,0" DIRECT "\n" K3 "=S:9,0" DIRECT "\n",
                K1 "=S:2,0" DIRECT "\n" K2 "=S:2,0" DIRECT "\n",
                LINE "16\n" LINE "16\n" LINE "32\n" LINE "16\n" LINE "64\n" LINE "128\n");
    g_assert_cmpuint(report->networks->len, ==, 1);
    const struct diff_times *network = &g_array_index(report->networks, struct diff_times, 0);
    g_assert_cmpstr(network->name, ==, "net");
    g_assert_cmpint(network->problems, ==, 4);
    g_assert_cmpint(network->both, ==, 2);
    g_assert_cmpint(network->only_first, ==, 1);
    g_assert_cmpint(network->only_second, ==, 0);
    g_assert_cmpfloat_with_epsilon(network->first_ms, 3 * 1 + 4, 1e-12);
    g_assert_cmpfloat_with_epsilon(network->second_ms, 3 * 2 + 2, 1e-12);
    g_assert_cmpfloat_with_epsilon(network->ratio, 1.4142135623730951, 1e-12); /* (2^3 / 2)^(1/4) */
    g_assert_cmpfloat_with_epsilon(report->times.ratio, 1, 1e-12);
    g_assert_cmpfloat_with_epsilon(report->all_networks.ratio, network->ratio, 1e-12);
}

static const char *write_kernel(TempFolder *folder, const char *name, const char *kernel,
                                const char *code)
{
    g_autoptr(GError) error = NULL;
    const char *path = temp_folder_path(folder, name);
    g_autoptr(KernelDbWriter) writer = kernel_db_create(path, &error);
    g_autoptr(GBytes) bytes = g_bytes_new_static(code, strlen(code));
    g_autoptr(GBytes) common = g_bytes_new_static("x", 1);
    g_assert_true(kernel_db_add(writer, "common.o", " -mcpu=gfx90a", common, &error));
    g_assert_true(kernel_db_add(writer, kernel, " -mcpu=gfx90a", bytes, &error));
    g_assert_true(kernel_db_finish(writer, &error));
    return path;
}

static void kernels_differ_by_their_code(void)
{
    static const struct {
        const char *kernel, *code;
        int counts[DIFF_COUNT];
    } others[] = {
        {"a.o", "one", {0, 0, 0, 0}}, {"a.o", "two", {0, 0, 0, 1}}, {"b.o", "one", {1, 1, 0, 0}}};
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        const char *a = write_kernel(folder, "a.kdb", "a.o", "one");
        const char *b = write_kernel(folder, "b.kdb", others[i].kernel, others[i].code);
        g_autoptr(DiffReport) report = diff_files(a, b, NULL, 0, true, &error);
        g_assert_no_error(error);
        for (int what = 0; what < DIFF_COUNT; what++) {
            g_assert_cmpint(report->counts[what], ==, others[i].counts[what]);
        }
    }
}

/* A .sjdb holds find entries and perf rows. Compared with a find-db or a perf-db, it shows no
 * difference for the kind of row that the other file cannot hold. */
static void an_sjdb_is_compared_with_either_sort(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    const struct merge_options options = {0};
    const char *find = temp_folder_write(folder, "a", K1 "=S:1,0" DIRECT "\n", -1);
    const char *perf = temp_folder_write(folder, "b", ROW "=A:1\n", -1);
    const char *other = temp_folder_write(folder, "c", ROW "=A:2\n", -1);
    const char *db = temp_folder_path(folder, "a.sjdb");
    char *paths[] = {(char *)find, (char *)perf, NULL};
    g_autoptr(MergeReport) merged = merge_files(paths, db, &options, &error);
    g_assert_nonnull(merged);
    g_assert_no_error(error);
    g_autoptr(DiffReport) with_find = diff_files(db, find, NULL, 0, true, &error);
    g_autoptr(DiffReport) with_perf = diff_files(db, perf, NULL, 0, true, &error);
    g_autoptr(DiffReport) with_other = diff_files(db, other, NULL, 0, true, &error);
    g_assert_no_error(error);
    g_assert_true(diff_report_equal(with_find) && with_find->timed);
    g_assert_true(diff_report_equal(with_perf) && !with_perf->timed);
    g_assert_cmpint(with_other->counts[DIFF_CHANGED], ==, 1);
}

static void files_of_different_kinds_are_refused(void)
{
    static const struct {
        const char *first, *second, *list, *message;
    } refused[] = {
        {K1 "=S:1,0" DIRECT "\n", ROW "=A:1\n", NULL, "two files of one sort"},
        {ROW "=A:1\n", ROW "=A:1\n", LINE "16\n", "leave --problems out"},
        {K1 "=S:1,0" DIRECT "\n", "dirt\n", NULL, "neither a find-db"},
        {K1 "=S:1,0" DIRECT "\n", K1 "=S:1,0" DIRECT "\n", "dirt\n", "net.txt"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        const char *a = temp_folder_write(folder, "a", refused[i].first, -1);
        const char *b = temp_folder_write(folder, "b", refused[i].second, -1);
        const char *list = refused[i].list;
        char *lists[] = {
            list != NULL ? (char *)temp_folder_write(folder, "net.txt", list, -1) : NULL, NULL};
        const struct diff_lists weights = {.paths = lists};
        g_assert_null(diff_files(a, b, list != NULL ? &weights : NULL, 0, false, &error));
        g_assert_nonnull(strstr(error->message, refused[i].message));
    }
}

/* The report says when the files' names state two targets: their winners and times may well
 * differ. */
static void files_of_two_targets_are_reported(void)
{
    static const struct {
        const char *second;
        bool two;
    } others[] = {
        {"gfx942130.fdb.txt", true}, {"gfx1030_36.OpenCL.fdb.txt", false}, {"mine.fdb.txt", false}};
    static const char text[] = K1 "=S:5,0" DIRECT "\n";
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *first = temp_folder_write(folder, "gfx1030_36.HIP.fdb.txt", text, -1);
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        g_autoptr(GError) error = NULL;
        const char *second = temp_folder_write(folder, others[i].second, text, -1);
        g_autoptr(DiffReport) report = diff_files(first, second, NULL, 0, true, &error);
        g_assert_no_error(error);
        g_assert_true(diff_report_two_targets(report) == others[i].two);
        FILE *out = tmpfile();
        char printed[1024] = "";
        diff_report_print(report, out);
        rewind(out);
        g_assert_cmpuint(fread(printed, 1, sizeof printed - 1, out), >, 0);
        fclose(out);
        g_assert_true((strstr(printed, "two targets, gfx1030_36 and gfx942130") != NULL) ==
                      others[i].two);
    }
}

static void json_holds_every_difference(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int n = 1; n <= 50; n++) {
        g_string_append_printf(
            text, "64-56-56-3x3-64-56-56-%d-1x1-1x1-1x1-0-NCHW-FP32-F=S:1,0" DIRECT "\n", n);
    }
    g_autofree char *more = g_strconcat("dirt\n", text->str, K3 "=S:1,0" DIRECT "\n", NULL);
    g_autoptr(DiffReport) report = compare(K3 "=S:1,0" DIRECT "\n", more, LINE "64\n");
    char *printed = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&printed, &size);
    diff_report_print_json(report, stream);
    fclose(stream);
    json_t *object = json_loads(printed, 0, NULL);
    g_assert_nonnull(object);
    g_assert_cmpuint(json_array_size(json_object_get(object, "differences")), ==, 50);
    const json_t *counts = json_object_get(object, "counts");
    g_assert_cmpint(json_integer_value(json_object_get(counts, "gained")), ==, 50);
    const json_t *left = json_array_get(json_object_get(object, "left_out"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(left, "where")), ==, "line 1");
    const json_t *network = json_array_get(json_object_get(object, "networks"), 0);
    g_assert_cmpint(json_integer_value(json_object_get(network, "both")), ==, 1);
    g_assert_true(json_is_false(json_object_get(object, "equal")));
    json_decref(object);
    free(printed);
}

/* A winner that leads by 1 %, and times that differ by 1 %, are within the noise: diff reports
 * neither. */
static void times_within_the_noise_are_equal(void)
{
    static const char first[] = K1 "=A:1.00,0" DIRECT ";B:1.01,0," ALGO "GEMM\n";
    static const char second[] = K1 "=B:1.00,0," ALGO "GEMM;A:1.01,0" DIRECT "\n";
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    const char *a = temp_folder_write(folder, "a.HIP.fdb.txt", first, -1);
    const char *b = temp_folder_write(folder, "b.HIP.fdb.txt", second, -1);
    g_autoptr(DiffReport) strict = diff_files(a, b, NULL, 0, true, &error);
    g_autoptr(DiffReport) usual = diff_files(a, b, NULL, 0.02, true, &error);
    g_assert_no_error(error);
    g_assert_cmpint(strict->counts[DIFF_WINNER], ==, 1);
    g_assert_false(diff_report_equal(strict));
    g_assert_cmpint(usual->counts[DIFF_WINNER], ==, 0);
    g_assert_cmpint(usual->counts[DIFF_NOISE], ==, 1);
    g_assert_true(diff_report_equal(usual));
}

static const char *write_timed(TempFolder *folder, const char *name, double time_ms, double low_ms,
                               double high_ms)
{
    const char *path = temp_folder_path(folder, name);
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    const struct sjdb_find_entry entry = {"S", ALGO "Direct", NULL, time_ms, 0, low_ms, high_ms};
    struct problem problem;
    g_assert_true(problem_key_parse(K1, &problem, NULL));
    g_assert_true(sjdb_writer_add_find(writer, &problem, &entry, 1, NULL));
    g_assert_true(sjdb_writer_finish(writer, NULL));
    return path;
}

/* Times that differ by 10 %: they are equal, as far as was measured, where the intervals of both meet. With no noise
 * allowed, an interval alone is a difference. */
static void times_whose_intervals_meet_are_equal(void)
{
    static const struct {
        double low_ms, high_ms, other_ms, other_low_ms, other_high_ms;
        bool strict, usual; /* whether the files are equal without noise, and with 2 % */
    } rows[] = {
        {0, 0, 1.1, 0, 0, false, false},       {0.9, 1.05, 1.1, 1.05, 1.2, false, true},
        {0.9, 1.05, 1.1, 0, 0, false, false},  {0.9, 1.05, 1.1, 1.06, 1.2, false, false},
        {0.9, 1.05, 1, 0.9, 1.1, false, true}, {0.9, 1.05, 1, 0.9, 1.05, true, true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        const char *a = write_timed(folder, "a.sjdb", 1, rows[i].low_ms, rows[i].high_ms);
        const char *b = write_timed(folder, "b.sjdb", rows[i].other_ms, rows[i].other_low_ms,
                                    rows[i].other_high_ms);
        g_autoptr(DiffReport) strict = diff_files(a, b, NULL, 0, true, &error);
        g_autoptr(DiffReport) usual = diff_files(a, b, NULL, 0.02, true, &error);
        g_assert_no_error(error);
        g_assert_cmpint(diff_report_equal(strict), ==, rows[i].strict);
        g_assert_cmpint(diff_report_equal(usual), ==, rows[i].usual);
        g_assert_cmpint(usual->times.slower, ==, !rows[i].usual);
    }
}

static void a_winner_is_named_with_its_interval(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *a = write_timed(folder, "a.sjdb", 1, 0.9, 1.05);
    const char *b = write_timed(folder, "b.sjdb", 2, 0, 0);
    g_autoptr(DiffReport) report = diff_files(a, b, NULL, 0.02, true, NULL);
    const struct diff_place *place = &g_array_index(report->places, struct diff_place, 0);
    g_assert_cmpstr(place->first, ==, "S 1 ms (0.9 to 1.05)");
    g_assert_cmpstr(place->second, ==, "S 2 ms");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/diff/files_are_compared_by_content", files_are_compared_by_content);
    g_test_add_func("/diff/a_changed_winner_is_named_with_both_times",
                    a_changed_winner_is_named_with_both_times);
    g_test_add_func("/diff/networks_weight_times_by_multiplicity",
                    networks_weight_times_by_multiplicity);
    g_test_add_func("/diff/kernels_differ_by_their_code", kernels_differ_by_their_code);
    g_test_add_func("/diff/an_sjdb_is_compared_with_either_sort",
                    an_sjdb_is_compared_with_either_sort);
    g_test_add_func("/diff/files_of_different_kinds_are_refused",
                    files_of_different_kinds_are_refused);
    g_test_add_func("/diff/files_of_two_targets_are_reported", files_of_two_targets_are_reported);
    g_test_add_func("/diff/json_holds_every_difference", json_holds_every_difference);
    g_test_add_func("/diff/times_within_the_noise_are_equal", times_within_the_noise_are_equal);
    g_test_add_func("/diff/times_whose_intervals_meet_are_equal",
                    times_whose_intervals_meet_are_equal);
    g_test_add_func("/diff/a_winner_is_named_with_its_interval",
                    a_winner_is_named_with_its_interval);
    return g_test_run();
}
