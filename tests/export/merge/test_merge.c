/* Merges of find-dbs and perf-dbs, and what merges of every format keep. */
#include "export/formats/find_db.h"
#include "export/formats/perf_db.h"
#include "tests/support/export/merge_texts.h"
#include "tests/support/temp_folder.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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
        g_autofree char *out = merge_texts_into(find_cases[i].texts, "out.HIP.fdb.txt",
                                                &find_cases[i].options, &report);
        g_assert_cmpstr(out, ==, find_cases[i].out);
        g_assert_cmpint(report->conflict_count, ==, find_cases[i].conflicts);
        g_assert_cmpint(report->place_count, ==, find_cases[i].left_out);
        g_assert_cmpint(merge_report_clean(report), ==, find_cases[i].left_out == 0);
    }
}

static void lines_left_out_are_named_with_file_and_number(void)
{
    const char *texts[INPUTS] = {K2 "=S:1,0" DIRECT "\n" K1 "=S:0,0" DIRECT "\nx=\n",
                                 K2 "=T:1,0" DIRECT "\n64-x=S:1,0" DIRECT "\n"};
    static const struct {
        guint input;
        int number;
        const char *reason;
    } expected[] = {
        {0, 2, "(S): the time is 0"}, {0, 3, "no operator has this name"}, {1, 2, "direction"}};
    struct merge_options options = {0};
    g_autoptr(MergeReport) report = NULL;
    g_autofree char *out = merge_texts_into(texts, "out.fdb.txt", &options, &report);
    g_assert_nonnull(out);
    g_assert_cmpuint(report->places->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < report->places->len; i++) {
        const struct merge_place *place = &g_array_index(report->places, struct merge_place, i);
        g_assert_cmpuint(place->input, ==, expected[i].input);
        g_assert_cmpint(place->number, ==, expected[i].number);
        g_assert_nonnull(strstr(place->reason, expected[i].reason));
    }
}

static void parts_a_form_cannot_express_are_counted(void)
{
    const char *texts[INPUTS] = {K1 "=" ALGO "Direct:S,1.50,8" DIRECT ",a,b\n",
                                 K1 "=T:2,0" DIRECT "\n" K2 "=T:2,0" DIRECT "\n"};
    struct merge_options newer = {0}, older = {.older_form = true};
    g_autoptr(MergeReport) to_newer = NULL;
    g_autoptr(MergeReport) to_older = NULL;
    g_autofree char *a = merge_texts_into(texts, "out.fdb.txt", &newer, &to_newer);
    g_assert_nonnull(a);
    g_autofree char *b = merge_texts_into(texts, "out.fdb.txt", &older, &to_older);
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
    g_autofree char *out = merge_texts_into(texts, "out.fdb.txt", &options, &report);
    g_assert_cmpint(report->entries, ==, 10000);
    g_assert_true(g_str_has_prefix(out, K1 "=S9999:1,0" DIRECT ";S9998:2,0"));
}

/* ---- perf-dbs ---- */

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
    return merge_texts_of(bytes);
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
            merge_texts_into(perf_cases[i].texts, "out.db.txt", &perf_cases[i].options, &report);
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
    g_assert_true(perf_db_write(paths[0], PERF_LIST(records), &error));
    const char *out = temp_folder_path(folder, "b.db.txt");
    g_autoptr(MergeReport) report = merge_files(paths, out, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(report->losses[LOSS_SEPARATOR], ==, 1);
    g_assert_cmpint(report->entries, ==, 1);
}

/* ---- all ---- */

static void the_output_name_decides_the_format(void)
{
    const char *texts[INPUTS] = {R1 "=A:1\n", K1 "=S:1,0" DIRECT "\n", R2 "=A:1\n"};
    struct merge_options options = {0};
    g_autoptr(MergeReport) report = NULL;
    g_autofree char *out = merge_texts_into(texts, "out.db.txt", &options, &report);
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
        {K1 "=S:1,0" DIRECT "\n", "out.kdb",
         "nothing is left; not expressible there: 1 keys of find-dbs"},
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
    g_autofree char *text = merge_texts_of(bytes);
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
    g_autofree char *out = merge_texts_into(texts, "out.fdb.txt", &options, &report);
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/merge/find_dbs_merge_as_the_policy_says", find_dbs_merge_as_the_policy_says);
    g_test_add_func("/merge/lines_left_out_are_named_with_file_and_number",
                    lines_left_out_are_named_with_file_and_number);
    g_test_add_func("/merge/parts_a_form_cannot_express_are_counted",
                    parts_a_form_cannot_express_are_counted);
    g_test_add_func("/merge/a_line_of_many_entries_is_merged_in_time",
                    a_line_of_many_entries_is_merged_in_time);
    g_test_add_func("/merge/perf_dbs_are_converted_there_and_back",
                    perf_dbs_are_converted_there_and_back);
    g_test_add_func("/merge/perf_dbs_merge_as_the_policy_says", perf_dbs_merge_as_the_policy_says);
    g_test_add_func("/merge/params_that_divide_the_text_stay_in_sqlite",
                    params_that_divide_the_text_stay_in_sqlite);
    g_test_add_func("/merge/the_output_name_decides_the_format",
                    the_output_name_decides_the_format);
    g_test_add_func("/merge/a_refused_merge_leaves_the_output_as_it_was",
                    a_refused_merge_leaves_the_output_as_it_was);
    g_test_add_func("/merge/an_output_may_be_one_of_its_inputs",
                    an_output_may_be_one_of_its_inputs);
    g_test_add_func("/merge/json_holds_every_conflict", json_holds_every_conflict);
    return g_test_run();
}
