#include "export/merge.h"

#include "export/check.h"
#include "export/formats/find_db.h"
#include "export/formats/kernel_db.h"
#include "export/formats/perf_db.h"
#include "tests/support/real_data.h"
#include "tests/support/temp_folder.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define K1       "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define K2       "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F"
#define K3       "64-56-56-3x3-64-56-56-64-1x1-1x1-1x1-0-NCHW-FP32-F"
#define ALGO     "miopenConvolutionFwdAlgo"
#define DIRECT   "," ALGO "Direct"
#define WINOGRAD "," ALGO "Winograd"
#define INPUTS   3

static GBytes *no_output(void)
{
    return g_bytes_new_static("", 0);
}

static char *text_of(GBytes *bytes)
{
    gsize size = 0;
    const char *data = g_bytes_get_data(bytes, &size);
    return g_strndup(data, size);
}

/* Merges texts, each a file "a.fdb.txt", "b.fdb.txt", ..., into a file of that name. */
static char *merge_texts(const char *const texts[INPUTS], const char *name,
                         const struct merge_options *options, MergeReport **report)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    char *paths[INPUTS + 1] = {NULL};
    for (int i = 0; i < INPUTS && texts[i] != NULL; i++) {
        const char file[] = {(char)('a' + i), '\0'};
        paths[i] = (char *)temp_folder_write(folder, file, texts[i], -1);
    }
    const char *out = temp_folder_path(folder, name);
    g_autoptr(MergeReport) made = merge_files(paths, out, options, &error);
    g_assert_no_error(error);
    g_autoptr(GBytes) bytes = made != NULL ? temp_folder_read(out) : no_output();
    *report = g_steal_pointer(&made);
    return text_of(bytes);
}

/* ---- find-dbs ---- */

static const struct {
    const char *name;
    struct merge_options options;
    const char *texts[INPUTS], *out;
    int conflicts, left_out;
} find_cases[] = {
    {"keys of all inputs are in order",
     {0},
     {K3 "=S:3,0" DIRECT "\n", K1 "=S:1,0" DIRECT "\n", K2 "=S:2,0" DIRECT "\n"},
     K1 "=S:1,0" DIRECT "\n" K2 "=S:2,0" DIRECT "\n" K3 "=S:3,0" DIRECT "\n",
     0,
     0},
    {"the last named is the newest",
     {.prefer = MERGE_NEWEST},
     {K1 "=S:1,0" DIRECT "\n", K1 "=S:2,0" DIRECT "\n"},
     K1 "=S:2,0" DIRECT "\n",
     1,
     0},
    {"the later line is the newest",
     {.prefer = MERGE_NEWEST},
     {K1 "=S:1,0" DIRECT "\n" K1 "=S:2,0" DIRECT "\n"},
     K1 "=S:2,0" DIRECT "\n",
     1,
     0},
    {"the first named stays",
     {.prefer = MERGE_FIRST},
     {K1 "=S:2,0" DIRECT "\n", K1 "=S:1,0" DIRECT "\n"},
     K1 "=S:2,0" DIRECT "\n",
     1,
     0},
    {"trust cannot tell find entries apart",
     {.prefer = MERGE_TRUST},
     {K1 "=S:2,0" DIRECT "\n", K1 "=S:1,0" DIRECT "\n"},
     K1 "=S:2,0" DIRECT "\n",
     1,
     0},
    {"the fastest of three stays",
     {.prefer = MERGE_FASTEST},
     {K1 "=S:2,0" DIRECT "\n", K1 "=S:1,8" DIRECT "\n", K1 "=S:3,0" DIRECT "\n"},
     K1 "=S:1,8" DIRECT "\n",
     2,
     0},
    {"equal entries are no conflict",
     {.prefer = MERGE_FASTEST},
     {K1 "=S:2,0" DIRECT "\n", K1 "=S:2.0,0" DIRECT "\n"},
     K1 "=S:2,0" DIRECT "\n",
     0,
     0},
    {"another algorithm is a conflict",
     {.prefer = MERGE_FIRST},
     {K1 "=S:2,0" DIRECT "\n", K1 "=S:2,0" WINOGRAD "\n"},
     K1 "=S:2,0" DIRECT "\n",
     1,
     0},
    {"other solvers are kept, by time, ties by name",
     {0},
     {K1 "=S:2,0" DIRECT ";T:4,0" DIRECT "\n", K1 "=U:3,0" WINOGRAD ";A:4,0" DIRECT "\n"},
     K1 "=S:2,0" DIRECT ";U:3,0" WINOGRAD ";A:4,0" DIRECT ";T:4,0" DIRECT "\n",
     0,
     0},
    {"other solvers are replaced by the newest's",
     {.prefer = MERGE_NEWEST, .replace_others = true},
     {K1 "=S:2,0" DIRECT ";T:4,0" DIRECT "\n", K1 "=U:3,0" WINOGRAD ";S:5,0" DIRECT "\n"},
     K1 "=U:3,0" WINOGRAD ";S:5,0" DIRECT "\n",
     1,
     0},
    {"other solvers are replaced by those of the fastest",
     {.prefer = MERGE_FASTEST, .replace_others = true},
     {K1 "=U:3,0" WINOGRAD ";S:5,0" DIRECT "\n", K1 "=S:2,0" DIRECT ";T:4,0" DIRECT "\n",
      K2 "=S:1,0" DIRECT "\n"},
     K1 "=S:2,0" DIRECT ";T:4,0" DIRECT "\n" K2 "=S:1,0" DIRECT "\n",
     1,
     0},
    {"the fastest's other entry stays though it is slower",
     {.prefer = MERGE_FASTEST, .replace_others = true},
     {K1 "=S:1,0" DIRECT ";T:9,0" DIRECT "\n", K1 "=T:4,0" DIRECT "\n"},
     K1 "=S:1,0" DIRECT ";T:9,0" DIRECT "\n",
     1,
     0},
    {"entries of one line are sorted and told apart",
     {.prefer = MERGE_FASTEST},
     {K1 "=T:4,0" DIRECT ";S:2,0" DIRECT ";T:3,0" DIRECT "\n"},
     K1 "=S:2,0" DIRECT ";T:3,0" DIRECT "\n",
     1,
     0},
    {"times of 0 are left out",
     {.prefer = MERGE_FASTEST},
     {K1 "=S:0,0" DIRECT ";T:1,0" DIRECT "\n" K2 "=S:0.0,0" DIRECT "\n", K1 "=S:2,0" DIRECT "\n"},
     K1 "=T:1,0" DIRECT ";S:2,0" DIRECT "\n",
     0,
     2},
    {"times of 0 that are kept never win",
     {.prefer = MERGE_NEWEST, .keep_zero = true},
     {K1 "=S:2,0" DIRECT "\n", K1 "=S:0,0" DIRECT ";T:0,0" DIRECT ";U:9,0" DIRECT "\n"},
     K1 "=S:2,0" DIRECT ";U:9,0" DIRECT ";T:0,0" DIRECT "\n",
     1,
     0},
    {"negative times are left out even so",
     {.keep_zero = true},
     {K1 "=S:-1,0" DIRECT ";T:1,0" DIRECT "\n"},
     K1 "=T:1,0" DIRECT "\n",
     0,
     1},
    {"what cannot be read is left out and the rest is kept",
     {0},
     {"dirt\n" K1 "=S:1,0" DIRECT "\n" K1 "=S:1\n64-56=S:1,0" DIRECT "\n",
      K2 "=S:1,0,miopenConvolutionFwdAlgoDir\n" K3 "=S:1,0" DIRECT},
     K1 "=S:1,0" DIRECT "\n" K3 "=S:1,0" DIRECT "\n",
     0,
     4},
    {"older entries become newer ones",
     {0},
     {K1 "=" ALGO "Direct:S,1.50,8" DIRECT ",<unused>\n", K1 "=T:2,0" DIRECT "\n"},
     K1 "=S:1.50,8" DIRECT ";T:2,0" DIRECT "\n",
     0,
     0},
    {"the older form stays where it is asked for",
     {.older_form = true},
     {K1 "=" ALGO "Direct:S,1.50,8" DIRECT ",a,b\n",
      K1 "=T:2,0" DIRECT "\n" K2 "=T:2,0" DIRECT "\n"},
     K1 "=" ALGO "Direct:S,1.50,8" DIRECT ",a,b\n",
     0,
     0},
};

static void find_dbs_merge_as_the_policy_says(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(find_cases); i++) {
        g_autoptr(MergeReport) report = NULL;
        g_test_message("%s", find_cases[i].name);
        g_autofree char *out =
            merge_texts(find_cases[i].texts, "out.HIP.fdb.txt", &find_cases[i].options, &report);
        g_assert_cmpstr(out, ==, find_cases[i].out);
        g_assert_cmpint(report->conflict_count, ==, find_cases[i].conflicts);
        g_assert_cmpint(report->place_count, ==, find_cases[i].left_out);
        g_assert_cmpint(merge_report_clean(report), ==, find_cases[i].left_out == 0);
    }
}

static void what_is_left_out_is_named_with_file_and_line(void)
{
    const char *texts[INPUTS] = {K2 "=S:1,0" DIRECT "\n" K1 "=S:0,0" DIRECT "\nx=\n",
                                 K2 "=T:1,0" DIRECT "\n64-x=S:1,0" DIRECT "\n"};
    static const struct {
        guint input;
        int number;
        const char *reason;
    } expected[] = {{0, 2, "(S): the time is 0"}, {0, 3, "direction"}, {1, 2, "direction"}};
    struct merge_options options = {0};
    g_autoptr(MergeReport) report = NULL;
    g_autofree char *out = merge_texts(texts, "out.fdb.txt", &options, &report);
    g_assert_nonnull(out);
    g_assert_cmpuint(report->places->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < report->places->len; i++) {
        const struct merge_place *place = &g_array_index(report->places, struct merge_place, i);
        g_assert_cmpuint(place->input, ==, expected[i].input);
        g_assert_cmpint(place->number, ==, expected[i].number);
        g_assert_nonnull(strstr(place->reason, expected[i].reason));
    }
}

static void what_a_form_cannot_express_is_counted(void)
{
    const char *texts[INPUTS] = {K1 "=" ALGO "Direct:S,1.50,8" DIRECT ",a,b\n",
                                 K1 "=T:2,0" DIRECT "\n" K2 "=T:2,0" DIRECT "\n"};
    struct merge_options newer = {0}, older = {.older_form = true};
    g_autoptr(MergeReport) to_newer = NULL;
    g_autoptr(MergeReport) to_older = NULL;
    g_autofree char *a = merge_texts(texts, "out.fdb.txt", &newer, &to_newer);
    g_assert_nonnull(a);
    g_autofree char *b = merge_texts(texts, "out.fdb.txt", &older, &to_older);
    g_assert_nonnull(b);
    g_assert_cmpint(to_newer->losses[LOSS_CACHE_KEY], ==, 1);
    g_assert_cmpint(to_older->losses[LOSS_NEWER_FORM], ==, 2);
    g_assert_cmpint(to_older->keys, ==, 1);
}

static void a_line_of_many_entries_is_merged_in_time(void)
{
    g_autoptr(GString) text = g_string_new(K1);
    for (int i = 0; i < 20000; i++) {
        g_string_append_printf(text, "%cS%d:%d,0" DIRECT, i == 0 ? '=' : ';', i % 10000, 20000 - i);
    }
    const char *texts[INPUTS] = {text->str, text->str};
    struct merge_options options = {.prefer = MERGE_FASTEST};
    g_autoptr(MergeReport) report = NULL;
    g_autofree char *out = merge_texts(texts, "out.fdb.txt", &options, &report);
    g_assert_cmpint(report->entries, ==, 10000);
    g_assert_true(g_str_has_prefix(out, K1 "=S9999:1,0" DIRECT ";S9998:2,0"));
}

/* ---- perf-dbs ---- */

#define R1                                                                                         \
    "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF" /* sorts behind R2: batch 16 */
#define R2 "2x64x56x56x1x3x3x1x64x8x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"

static char *to_sqlite_and_back(const char *text)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {0};
    char *paths[] = {(char *)temp_folder_write(folder, "a", text, -1), NULL};
    const char *db = temp_folder_path(folder, "b.db");
    g_autoptr(MergeReport) there = merge_files(paths, db, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(there->kind, ==, FILE_PERF_DB);
    paths[0] = (char *)db;
    const char *out = temp_folder_path(folder, "c.db.txt");
    g_autoptr(MergeReport) back = merge_files(paths, out, &options, &error);
    g_assert_nonnull(back);
    g_assert_no_error(error);
    g_autoptr(GBytes) bytes = temp_folder_read(out);
    return text_of(bytes);
}

static void perf_dbs_are_converted_there_and_back(void)
{
    static const char text[] = R2 "=A:1,2;B:Dev<256, 4>\n" R1 "=A:3\n";
    g_autofree char *again = to_sqlite_and_back(text);
    g_assert_cmpstr(again, ==, text);
}

static const struct {
    const char *name;
    struct merge_options options;
    const char *texts[INPUTS], *out;
    int conflicts, left_out;
} perf_cases[] = {
    {"solvers of a row come together",
     {0},
     {R1 "=B:1\n", R2 "=B:1\n" R1 "=A:2\n"},
     R2 "=B:1\n" R1 "=A:2;B:1\n",
     0,
     0},
    {"the newest stays", {0}, {R1 "=B:1\n", R1 "=B:2\n"}, R1 "=B:2\n", 1, 0},
    {"no time is known, so the first stays",
     {.prefer = MERGE_FASTEST},
     {R1 "=B:1\n", R1 "=B:2\n"},
     R1 "=B:1\n",
     1,
     0},
    {"params that our solver refuses are trusted less",
     {.prefer = MERGE_TRUST},
     {R1 "=ConvCpuGemm:8,1,8,256,64\n", R1 "=ConvCpuGemm:8,1,7,256,64\n",
      R1 "=ConvCpuGemm:16,2,6,512,256\n"},
     R1 "=ConvCpuGemm:8,1,8,256,64\n",
     2,
     0},
    {"params that it takes are trusted before those of an earlier input",
     {.prefer = MERGE_TRUST},
     {R1 "=ConvCpuGemm:8,1,7,256,64\n", R1 "=ConvCpuGemm:8,1,8,256,64\n"},
     R1 "=ConvCpuGemm:8,1,8,256,64\n",
     1,
     0},
    {"the newest's row replaces others",
     {.replace_others = true},
     {R1 "=A:1;B:1\n", R1 "=B:2;C:3\n"},
     R1 "=B:2;C:3\n",
     1,
     0},
    {"what cannot be read is left out",
     {0},
     {R1 "=A:1;B:\n2x2=A:1\n", R2 "=A\n" R2 "=A:1\r\n"},
     R2 "=A:1\n" R1 "=A:1\n",
     0,
     3},
};

static void perf_dbs_merge_as_the_policy_says(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(perf_cases); i++) {
        g_autoptr(MergeReport) report = NULL;
        g_test_message("%s", perf_cases[i].name);
        g_autofree char *out =
            merge_texts(perf_cases[i].texts, "out.db.txt", &perf_cases[i].options, &report);
        g_assert_cmpstr(out, ==, perf_cases[i].out);
        g_assert_cmpint(report->conflict_count, ==, perf_cases[i].conflicts);
        g_assert_cmpint(report->place_count, ==, perf_cases[i].left_out);
    }
}

static void params_that_divide_the_text_stay_in_sqlite(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func((GDestroyNotify)perf_record_free);
    g_autoptr(GError) error = NULL;
    struct merge_options options = {0};
    struct perf_row row;
    g_assert_true(perf_row_key_parse(R1, &row, NULL));
    g_ptr_array_add(records, perf_record_new(&row, "A", "1;2"));
    g_ptr_array_add(records, perf_record_new(&row, "B", "1"));
    char *paths[] = {(char *)temp_folder_path(folder, "a.db"), NULL};
    g_assert_true(perf_db_write(paths[0], records, &error));
    const char *out = temp_folder_path(folder, "b.db.txt");
    g_autoptr(MergeReport) report = merge_files(paths, out, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(report->losses[LOSS_SEPARATOR], ==, 1);
    g_assert_cmpint(report->entries, ==, 1);
}

/* ---- kernel-dbs ---- */

static const char *write_kernels(TempFolder *folder, const char *name, const char *const rows[][2],
                                 int count)
{
    g_autoptr(GError) error = NULL;
    const char *path = temp_folder_path(folder, name);
    g_autoptr(KernelDbWriter) writer = kernel_db_create(path, &error);
    for (int i = 0; i < count; i++) {
        g_autoptr(GBytes) code = g_bytes_new_static(rows[i][1], strlen(rows[i][1]));
        g_assert_true(kernel_db_add(writer, rows[i][0], "-O3 -mcpu=gfx90a", code, &error));
    }
    g_assert_true(kernel_db_finish(writer, &error));
    return path;
}

static void kernels_are_merged_with_their_blobs(void)
{
    static const char big[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static const char *const first[][2] = {{"b.o", big}, {"c.o", "raw"}};
    static const char *const second[][2] = {{"c.o", "other"}, {"a.o", "x"}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {.prefer = MERGE_FIRST};
    char *paths[] = {(char *)write_kernels(folder, "a.kdb", first, 2),
                     (char *)write_kernels(folder, "b.kdb", second, 2), NULL};
    const char *out = temp_folder_path(folder, "out.kdb");
    g_autoptr(MergeReport) report = merge_files(paths, out, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(report->keys, ==, 3);
    g_assert_cmpint(report->conflict_count, ==, 1);
    g_autoptr(CheckReport) check = check_file(out);
    g_assert_true(check_report_clean(check));
    g_autoptr(KernelDb) db = kernel_db_open(out, &error);
    static const char *const names[] = {"a.o", "b.o", "c.o"};
    struct kernel_entry entry;
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(kernel_db_next(db, &entry, &error), ==, READ_ROW);
        g_assert_cmpstr(entry.name, ==, names[i]);
    }
    g_assert_cmpuint(entry.blob_bytes, ==, 3);
    g_assert_cmpmem(entry.blob, entry.blob_bytes, "raw", 3);
}

/* ---- .sjdb ---- */

#define OLDER K2 "=" ALGO "Direct:S,1.50,8" DIRECT ",<unused>"

/* Merges one file into another. */
static MergeReport *convert(const char *from, const char *to, const struct merge_options *options)
{
    g_autoptr(GError) error = NULL;
    char *paths[] = {(char *)from, NULL};
    MergeReport *report = merge_files(paths, to, options, &error);
    g_assert_no_error(error);
    return report;
}

static void assert_text(const char *path, const char *expected)
{
    g_autoptr(GBytes) bytes = temp_folder_read(path);
    g_autofree char *text = text_of(bytes);
    g_assert_cmpstr(text, ==, expected);
}

static void find_and_perf_dbs_go_through_sjdb(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {.keep_zero = true}, older = {.older_form = true};
    static const char finds[] = K1 "=S:0.1234567,0" DIRECT ";T:2,8" WINOGRAD ";U:0,0" DIRECT "\n";
    char *paths[] = {(char *)temp_folder_write(folder, "a", finds, -1),
                     (char *)temp_folder_write(folder, "b", OLDER "\n", -1),
                     (char *)temp_folder_write(folder, "c", R2 "=A:1\n" R1 "=A:1;B:2,3\n", -1),
                     NULL};
    const char *db = temp_folder_path(folder, "a.sjdb");
    g_autoptr(MergeReport) packed = merge_files(paths, db, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(packed->keys, ==, 4);
    g_assert_cmpint(packed->entries, ==, 7);
    g_assert_cmpint(packed->losses[LOSS_CACHE_KEY_ALONE], ==, 1);

    const char *find = temp_folder_path(folder, "a.fdb.txt");
    g_autoptr(MergeReport) newer = convert(db, find, &options);
    assert_text(find, K1 "=S:0.1234567,0" DIRECT ";T:2,8" WINOGRAD ";U:0,0" DIRECT "\n" K2
                         "=S:1.5,8" DIRECT "\n");
    g_assert_cmpint(newer->losses[LOSS_PERF], ==, 3);
    g_assert_cmpint(newer->losses[LOSS_CACHE_KEY], ==, 1);

    const char *text = temp_folder_path(folder, "a.db.txt");
    g_autoptr(MergeReport) perf = convert(db, text, &options);
    g_assert_nonnull(perf);
    assert_text(text, R2 "=A:1\n" R1 "=A:1;B:2,3\n");
    g_autoptr(MergeReport) old = convert(db, find, &older);
    g_assert_nonnull(old);
    assert_text(find, K2 "=" ALGO "Direct:S,1.5,8" DIRECT ",\n");
}

static void kernels_go_through_sjdb(void)
{
    static const char *const rows[][2] = {{"b.o", "two"}, {"a.o", "one"}, {"c.o", ""}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {0};
    char *paths[] = {(char *)write_kernels(folder, "a.kdb", rows, 3),
                     (char *)temp_folder_write(folder, "b", K1 "=S:1,0" DIRECT "\n", -1), NULL};
    const char *once = temp_folder_path(folder, "a.sjdb");
    const char *twice = temp_folder_path(folder, "b.sjdb");
    const char *back = temp_folder_path(folder, "b.kdb");
    const char *straight = temp_folder_path(folder, "c.kdb");
    g_autoptr(MergeReport) packed = merge_files(paths, once, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(packed->keys, ==, 4);
    g_autoptr(MergeReport) again = convert(once, twice, &options);
    g_autoptr(MergeReport) unpacked = convert(twice, back, &options);
    g_autoptr(MergeReport) sorted = convert(paths[0], straight, &options);
    g_assert_nonnull(sorted);
    g_assert_cmpint(again->keys, ==, 4);
    g_assert_cmpint(unpacked->keys, ==, 3);
    g_assert_cmpint(unpacked->losses[LOSS_FIND], ==, 1);
    g_autoptr(GBytes) a = temp_folder_read(back);
    g_autoptr(GBytes) b = temp_folder_read(straight);
    g_assert_true(g_bytes_equal(a, b));
    g_autoptr(CheckReport) check = check_file(twice);
    g_assert_true(check_report_clean(check));
    g_assert_cmpint(check->keys, ==, 4);
}

static void an_sjdb_is_converted_to_itself(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct merge_options options = {0};
    const char *text = temp_folder_write(folder, "a", K1 "=S:1,0" DIRECT "\n" OLDER "\n", -1);
    const char *once = temp_folder_path(folder, "a.sjdb");
    const char *twice = temp_folder_path(folder, "b.sjdb");
    g_autoptr(MergeReport) first = convert(text, once, &options);
    g_assert_nonnull(first);
    g_autoptr(MergeReport) second = convert(once, twice, &options);
    g_assert_nonnull(second);
    g_autoptr(GBytes) a = temp_folder_read(once);
    g_autoptr(GBytes) b = temp_folder_read(twice);
    g_assert_true(g_bytes_equal(a, b));
    g_autoptr(CheckReport) check = check_file(twice);
    g_assert_cmpstr(check->format, ==, ".sjdb");
    g_assert_cmpint(check->keys, ==, 2);
    g_assert_true(check_report_clean(check));
}

static void a_damaged_sjdb_is_refused(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct merge_options options = {0};
    const char *text = temp_folder_write(folder, "a", K1 "=S:1,0" DIRECT "\n", -1);
    const char *db = temp_folder_path(folder, "a.sjdb");
    g_autoptr(MergeReport) report = convert(text, db, &options);
    g_assert_nonnull(report);
    g_autoptr(GBytes) bytes = temp_folder_read(db);
    gsize size = g_bytes_get_size(bytes);
    for (gsize damage = 0; damage < 2; damage++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *copy = g_memdup2(g_bytes_get_data(bytes, NULL), size);
        copy[size - 1] ^= 1;
        char *paths[] = {(char *)temp_folder_write(folder, "b.sjdb", copy, (gssize)(size - damage)),
                         NULL};
        g_assert_null(merge_files(paths, temp_folder_path(folder, "b.fdb.txt"), &options, &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
        g_assert_nonnull(strstr(error->message, "b.sjdb"));
        g_autoptr(CheckReport) check = check_file(paths[0]);
        g_assert_cmpint(check->unreadable_count, ==, 1);
    }
}

static void keys_with_an_epilogue_are_for_sjdb_alone(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct merge_options options = {0};
    const char *text = temp_folder_write(
        folder, "a", K1 "=S:1,0" DIRECT "\n" K1 "+bias+relu=S:1,0" DIRECT "\n", -1);
    const char *find = temp_folder_path(folder, "b.fdb.txt");
    g_autoptr(MergeReport) finds = convert(text, find, &options);
    g_autoptr(MergeReport) all = convert(text, temp_folder_path(folder, "b.sjdb"), &options);
    g_assert_cmpint(finds->losses[LOSS_EPILOGUE], ==, 1);
    g_assert_cmpint(finds->keys, ==, 1);
    g_assert_cmpint(all->keys, ==, 2);
}

/* ---- all ---- */

static void mixed_inputs_give_what_the_name_says(void)
{
    const char *texts[INPUTS] = {R1 "=A:1\n", K1 "=S:1,0" DIRECT "\n", R2 "=A:1\n"};
    struct merge_options options = {0};
    g_autoptr(MergeReport) report = NULL;
    g_autofree char *out = merge_texts(texts, "out.db.txt", &options, &report);
    g_assert_cmpstr(out, ==, R2 "=A:1\n" R1 "=A:1\n");
    g_assert_cmpint(report->losses[LOSS_FIND], ==, 1);
}

static void a_refused_merge_leaves_the_output_as_it_was(void)
{
    static const struct {
        const char *text, *out, *message;
    } cases[] = {
        {"dirt\n", "out.fdb.txt", "neither a find-db"},
        {K1 "=S:0,0" DIRECT "\n", "out.fdb.txt", "the time is 0"},
        {K1 "=S:1,0" DIRECT "\n", "out.kdb", "nothing can be written as a kernel-db"},
        {K1 "=S:1,0" DIRECT "\n", "out.txt", "says no format"},
        {K1 "=S:1,0" DIRECT "\n", "out.fdb.txt.bz2", "without .bz2"},
    };
    struct merge_options options = {0};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        char *paths[] = {(char *)temp_folder_write(folder, "in", cases[i].text, -1), NULL};
        const char *out = temp_folder_write(folder, cases[i].out, "before", -1);
        g_assert_null(merge_files(paths, out, &options, &error));
        g_assert_nonnull(strstr(error->message, cases[i].message));
        g_autoptr(GBytes) bytes = temp_folder_read(out);
        g_assert_cmpmem(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), "before", 6);
        g_autoptr(GDir) dir = g_dir_open(temp_folder_path(folder, ""), 0, NULL);
        int files = 0;
        while (g_dir_read_name(dir) != NULL) {
            files++;
        }
        g_assert_cmpint(files, ==, 2);
    }
}

static void an_output_may_be_one_of_its_inputs(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {0};
    const char *a = temp_folder_write(folder, "a.fdb.txt", K1 "=S:1,0" DIRECT "\n", -1);
    char *paths[] = {(char *)a, (char *)temp_folder_write(folder, "b", K2 "=S:1,0" DIRECT "\n", -1),
                     NULL};
    g_autoptr(MergeReport) report = merge_files(paths, a, &options, &error);
    g_assert_nonnull(report);
    g_assert_no_error(error);
    g_autoptr(GBytes) bytes = temp_folder_read(a);
    g_autofree char *text = text_of(bytes);
    g_assert_cmpstr(text, ==, K1 "=S:1,0" DIRECT "\n" K2 "=S:1,0" DIRECT "\n");
}

static void json_holds_every_conflict(void)
{
    g_autoptr(GString) a = g_string_new(NULL);
    g_autoptr(GString) b = g_string_new(NULL);
    for (int n = 1; n <= 50; n++) {
        g_string_append_printf(
            a, "64-56-56-3x3-64-56-56-%d-1x1-1x1-1x1-0-NCHW-FP32-F=S:1,0" DIRECT "\n", n);
        g_string_append_printf(
            b, "64-56-56-3x3-64-56-56-%d-1x1-1x1-1x1-0-NCHW-FP32-F=S:2,0" DIRECT "\n", n);
    }
    g_string_append(b, "dirt\n");
    const char *texts[INPUTS] = {a->str, b->str};
    struct merge_options options = {.all_conflicts = true};
    g_autoptr(MergeReport) report = NULL;
    g_autofree char *out = merge_texts(texts, "out.fdb.txt", &options, &report);
    g_assert_nonnull(out);
    char *printed = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&printed, &size);
    merge_report_print_json(report, stream);
    fclose(stream);
    json_t *object = json_loads(printed, 0, NULL);
    g_assert_nonnull(object);
    g_assert_cmpint(json_integer_value(json_object_get(object, "conflict_count")), ==, 50);
    const json_t *conflicts = json_object_get(object, "conflicts");
    g_assert_cmpuint(json_array_size(conflicts), ==, 50);
    const json_t *first = json_array_get(conflicts, 0);
    g_assert_cmpstr(json_string_value(json_object_get(first, "kept")), ==, "2,0");
    g_assert_cmpstr(json_string_value(json_object_get(first, "dropped")), ==, "1,0");
    const json_t *left = json_array_get(json_object_get(object, "left_out"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(left, "where")), ==, "line 51");
    g_assert_false(json_is_true(json_object_get(object, "clean")));
    json_decref(object);
    free(printed);
}

/* The path of one of MIOpen's files; NULL, and the test is skipped, without them. */
static char *real_file(const char *name)
{
    g_autofree char *folder = real_data("miopen");
    return folder != NULL ? g_build_filename(folder, name, NULL) : NULL;
}

/* Of a file in order without bad entries nothing changes; the older form survives itself. */
static void a_real_find_db_is_sorted_and_kept(void)
{
    g_autofree char *path = real_file("gfx900_56.OpenCL.fdb.txt.bz2");
    if (path == NULL) {
        return;
    }
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {.older_form = true};
    char *paths[] = {path, NULL};
    const char *once = temp_folder_path(folder, "once.fdb.txt");
    const char *twice = temp_folder_path(folder, "twice.fdb.txt");
    g_autoptr(MergeReport) first = merge_files(paths, once, &options, &error);
    g_assert_no_error(error);
    paths[0] = (char *)once;
    g_autoptr(MergeReport) second = merge_files(paths, twice, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(first->keys, >, 1500);
    g_assert_cmpint(second->place_count, ==, 0);
    g_autoptr(GBytes) a = temp_folder_read(once);
    g_autoptr(GBytes) b = temp_folder_read(twice);
    g_assert_true(g_bytes_equal(a, b));
}

static void a_real_perf_db_keeps_its_rows(void)
{
    g_autofree char *path = real_file("gfx1030_36.db.bz2");
    if (path == NULL) {
        return;
    }
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct merge_options options = {0};
    char *paths[] = {path, path, NULL};
    const char *text = temp_folder_path(folder, "a.db.txt");
    const char *db = temp_folder_path(folder, "a.db");
    g_autoptr(MergeReport) first = merge_files(paths, text, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(first->conflict_count, ==, 0);
    char *again[] = {(char *)text, NULL};
    g_autoptr(MergeReport) second = merge_files(again, db, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(second->entries, ==, first->entries);
    g_assert_cmpint(second->keys, ==, first->keys);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/merge/find_dbs_merge_as_the_policy_says", find_dbs_merge_as_the_policy_says);
    g_test_add_func("/merge/what_is_left_out_is_named_with_file_and_line",
                    what_is_left_out_is_named_with_file_and_line);
    g_test_add_func("/merge/what_a_form_cannot_express_is_counted",
                    what_a_form_cannot_express_is_counted);
    g_test_add_func("/merge/a_line_of_many_entries_is_merged_in_time",
                    a_line_of_many_entries_is_merged_in_time);
    g_test_add_func("/merge/perf_dbs_are_converted_there_and_back",
                    perf_dbs_are_converted_there_and_back);
    g_test_add_func("/merge/perf_dbs_merge_as_the_policy_says", perf_dbs_merge_as_the_policy_says);
    g_test_add_func("/merge/params_that_divide_the_text_stay_in_sqlite",
                    params_that_divide_the_text_stay_in_sqlite);
    g_test_add_func("/merge/kernels_are_merged_with_their_blobs",
                    kernels_are_merged_with_their_blobs);
    g_test_add_func("/merge/find_and_perf_dbs_go_through_sjdb", find_and_perf_dbs_go_through_sjdb);
    g_test_add_func("/merge/kernels_go_through_sjdb", kernels_go_through_sjdb);
    g_test_add_func("/merge/an_sjdb_is_converted_to_itself", an_sjdb_is_converted_to_itself);
    g_test_add_func("/merge/a_damaged_sjdb_is_refused", a_damaged_sjdb_is_refused);
    g_test_add_func("/merge/keys_with_an_epilogue_are_for_sjdb_alone",
                    keys_with_an_epilogue_are_for_sjdb_alone);
    g_test_add_func("/merge/mixed_inputs_give_what_the_name_says",
                    mixed_inputs_give_what_the_name_says);
    g_test_add_func("/merge/a_refused_merge_leaves_the_output_as_it_was",
                    a_refused_merge_leaves_the_output_as_it_was);
    g_test_add_func("/merge/an_output_may_be_one_of_its_inputs",
                    an_output_may_be_one_of_its_inputs);
    g_test_add_func("/merge/json_holds_every_conflict", json_holds_every_conflict);
    g_test_add_func("/merge/a_real_find_db_is_sorted_and_kept", a_real_find_db_is_sorted_and_kept);
    g_test_add_func("/merge/a_real_perf_db_keeps_its_rows", a_real_perf_db_keeps_its_rows);
    return g_test_run();
}
