#include "export/formats/perf_db.h"

#include "solvers/problem/problem_key.h"
#include "tests/support/temp_folder.h"

#include <string.h>

#define GROUPED "ConvHipImplicitGemmFwd<16>"

static struct perf_row row_of(const char *key)
{
    struct problem problem;
    struct perf_row row;
    g_assert_true(problem_key_parse(key, &problem, NULL));
    perf_row_from_problem(&problem, &row);
    return row;
}

static void free_record(void *record)
{
    perf_record_free(record);
}

static int compare(const void *a, const void *b)
{
    return perf_record_compare(*(const struct perf_record *const *)a,
                               *(const struct perf_record *const *)b);
}

/* Three perf-db rows, of two, two and one record, with texts as in MIOpen's files. */
static GPtrArray *sample(bool backwards)
{
    static const struct {
        const char *key, *solver, *params;
    } rows[] = {
        {"64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F", "ConvOclDirectFwd", "8,8,16,32,1"},
        {"64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F", GROUPED, "fwd,nhwc,152[2]"},
        {"64-28-28-3x3-64-56-56-16-1x1-2x2-1x1-0-NCHW-FP16-B_g4", "ConvBin", "1"},
        {"4-8-8-8-3x3x3-4-8-8-8-2-1x1x1-1x1x1-1x1x1-0-NCDHW-FP32-W", "ConvCk",
         "DeviceConv2dFwd<256, 128, 4, Filter1x1Stride1Pad0, 4>"},
        {"4-8-8-8-3x3x3-4-8-8-8-2-1x1x1-1x1x1-1x1x1-0-NCDHW-FP32-W", "ConvB", "-1,0"},
    };
    GPtrArray *records = g_ptr_array_new_with_free_func(free_record);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        size_t at = backwards ? G_N_ELEMENTS(rows) - 1 - i : i;
        struct perf_row row = row_of(rows[at].key);
        g_ptr_array_add(records, perf_record_new(&row, rows[at].solver, rows[at].params));
    }
    g_ptr_array_sort(records, compare);
    return records;
}

static void records_read_back_from_sqlite(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GPtrArray) records = sample(false);
    g_autoptr(GError) error = NULL;
    const char *path = temp_folder_path(folder, "a.db");
    g_assert_true(perf_db_write(path, PERF_LIST(records), &error));
    g_assert_no_error(error);
    g_autoptr(PerfDb) db = perf_db_open(path, &error);
    g_assert_no_error(error);
    struct perf_row row, rows[4];
    struct perf_entry entry;
    int64_t id = 0, count = 0;
    while (perf_db_next_config(db, &id, &row, &error) == READ_ROW) {
        g_assert_cmpint(id, ==, ++count);
        rows[id] = row;
    }
    g_assert_cmpint(count, ==, 3);
    for (guint i = 0; i < records->len; i++) {
        const struct perf_record *record = records->pdata[i];
        g_assert_cmpint(perf_db_next_entry(db, &entry, &error), ==, READ_ROW);
        g_assert_cmpstr(entry.solver, ==, record->solver);
        g_assert_cmpstr(entry.params, ==, record->params);
        g_assert_true(perf_row_equal(&rows[entry.config], &record->row));
    }
    g_assert_cmpint(perf_db_next_entry(db, &entry, &error), ==, READ_END);
    g_assert_no_error(error);
    g_assert_true(perf_db_has_indices(db));
    g_assert_null(perf_db_damage(db));
}

static void equal_records_give_equal_bytes(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    static bool (*const writers[])(const char *, const struct perf_source *,
                                   GError **) = {perf_db_write, perf_text_write};
    for (size_t i = 0; i < G_N_ELEMENTS(writers); i++) {
        g_autoptr(GPtrArray) once = sample(false);
        g_autoptr(GPtrArray) again = sample(true);
        const char *one = temp_folder_path(folder, "one");
        const char *two = temp_folder_path(folder, "two");
        g_assert_true(writers[i](one, PERF_LIST(once), NULL));
        g_assert_true(writers[i](two, PERF_LIST(again), NULL));
        g_autoptr(GBytes) first = temp_folder_read(one);
        g_autoptr(GBytes) second = temp_folder_read(two);
        g_assert_true(g_bytes_equal(first, second));
    }
}

static void text_form_has_one_line_a_row(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GPtrArray) records = sample(false);
    const char *path = temp_folder_path(folder, "a.db.txt");
    g_assert_true(perf_text_write(path, PERF_LIST(records), NULL));
    g_autoptr(GBytes) bytes = temp_folder_read(path);
    g_autofree char *text = g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 4);
    g_assert_cmpstr(lines[3], ==, "");
    struct perf_text_line line;
    perf_text_line_init(&line);
    for (int i = 0; i < 3; i++) {
        g_autoptr(GString) written = g_string_new(NULL);
        g_autofree char *copy = g_strdup(lines[i]);
        g_autoptr(GError) error = NULL;
        g_assert_true(perf_text_line_parse(copy, &line, &error));
        g_assert_no_error(error);
        perf_text_line_format(&line, written);
        g_assert_cmpstr(written->str, ==, lines[i]);
    }
    perf_text_line_clear(&line);
    g_assert_nonnull(strstr(text,
                            "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=" GROUPED
                            ":fwd,nhwc,152[2];ConvOclDirectFwd:8,8,16,32,1\n"));
}

static void broken_text_line_is_refused(void)
{
    static const char *const lines[] = {
        "",
        "=A:1",
        "2x3=A:1",
        "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF",
        "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=",
        "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=A",
        "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=A:1;",
        "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=:1",
        "99999999999999999999x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=A:1",
    };
    struct perf_text_line line;
    perf_text_line_init(&line);
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autofree char *copy = g_strdup(lines[i]);
        g_autoptr(GError) error = NULL;
        if (perf_text_line_parse(copy, &line, &error)) {
            g_test_message("accepted: '%s'", lines[i]);
            g_test_fail();
        }
        g_assert_nonnull(error);
    }
    perf_text_line_clear(&line);
}

static void folder_that_is_missing_cannot_be_written(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GPtrArray) records = sample(false);
    g_autoptr(GError) error = NULL;
    g_assert_false(
        perf_db_write(temp_folder_path(folder, "none/a.db"), PERF_LIST(records), &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_IO);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/perf_db/records_read_back_from_sqlite", records_read_back_from_sqlite);
    g_test_add_func("/perf_db/equal_records_give_equal_bytes", equal_records_give_equal_bytes);
    g_test_add_func("/perf_db/text_form_has_one_line_a_row", text_form_has_one_line_a_row);
    g_test_add_func("/perf_db/broken_text_line_is_refused", broken_text_line_is_refused);
    g_test_add_func("/perf_db/folder_that_is_missing_cannot_be_written",
                    folder_that_is_missing_cannot_be_written);
    return g_test_run();
}
