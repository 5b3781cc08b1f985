#include "export/formats/find_table.h"

#include "tests/support/temp_folder.h"

#include <string.h>

#define GEMM "miopenConvolutionFwdAlgoGEMM"
#define MARK "\xef\xbb\xbf" /* UTF-8's byte order mark */

static struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

static void note_bad(void *data, int64_t number, const char *reason)
{
    g_string_append_printf(data, "%d: %s\n", (int)number, reason);
}

static FindTable *read_text(TempFolder *folder, const char *text, gssize length, GString *bad)
{
    g_autoptr(GError) error = NULL;
    const char *path = temp_folder_write(folder, "a.fdb.txt", text, length);
    FindTable *table = find_table_read(path, note_bad, bad, &error);
    g_assert_no_error(error);
    return table;
}

static void rows_come_by_key_and_equal_keys_in_file_order(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GString) bad = g_string_new(NULL);
    g_autoptr(FindTable) table = read_text(folder, "b=1\na-F_g2=2\na-F=3\r\nb=4\na-F=5", -1, bad);
    static const char *const expected[] = {"a-F=3", "a-F=5", "a-F_g2=2", "b=1", "b=4"};
    static const int numbers[] = {3, 5, 2, 1, 4};
    g_assert_cmpuint(table->rows->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < table->rows->len; i++) {
        const struct find_row *row = &g_array_index(table->rows, struct find_row, i);
        g_assert_true(span_equal(row->text, span_of(expected[i])));
        g_assert_cmpint(row->number, ==, numbers[i]);
    }
    g_assert_cmpstr(bad->str, ==, "");
}

static void bad_lines_are_reported_with_their_numbers(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GString) bad = g_string_new(NULL);
    static const char text[] = "a=1\n\nnothing\n=2\nb=\x01\nc=\x7f\nd=\xff\ne=\0\nf=3\n";
    g_autoptr(FindTable) table = read_text(folder, text, sizeof text - 1, bad);
    g_assert_cmpuint(table->rows->len, ==, 2);
    g_assert_cmpstr(bad->str, ==,
                    "2: expected a key and '='\n3: expected a key and '='\n"
                    "4: expected a key and '='\n"
                    "5: the line holds a byte that is not printable ASCII\n"
                    "6: the line holds a byte that is not printable ASCII\n"
                    "7: the line holds a byte that is not printable ASCII\n"
                    "8: the line holds a byte that is not printable ASCII\n");
}

static void a_byte_order_mark_is_no_part_of_the_first_key(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GString) bad = g_string_new(NULL);
    g_autoptr(FindTable) table = read_text(folder, MARK "a=1\n" MARK "b=2\n", -1, bad);
    g_assert_cmpuint(table->rows->len, ==, 1);
    g_assert_true(
        span_equal(find_row_key(&g_array_index(table->rows, struct find_row, 0)), span_of("a")));
    g_assert_cmpstr(bad->str, ==, "2: the line holds a byte that is not printable ASCII\n");
}

static void a_line_without_end_is_left_out(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GString) bad = g_string_new(NULL);
    g_autoptr(GString) text = g_string_new("a=1\nb=");
    for (int i = 0; i < 1 << 21; i++) {
        g_string_append_c(text, 'x');
    }
    g_string_append(text, "\nc=2\n");
    g_autoptr(FindTable) table = read_text(folder, text->str, (gssize)text->len, bad);
    g_assert_cmpuint(table->rows->len, ==, 2);
    g_assert_cmpstr(bad->str, ==, "2: the line is longer than 1 MiB\n");
}

/* Writes text that bzip2 packs into several blocks (a block holds 900 kB of text). */
static const char *write_packed(TempFolder *folder)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (int i = 0; i < 100000; i++) {
        g_string_append_printf(text, "%06d=%u\n", i, g_rand_int(random));
    }
    return temp_folder_write_bzip2(folder, "a.fdb.txt.bz2", text->str, text->len);
}

static void lines_before_damage_are_kept(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GString) bad = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    const char *path = write_packed(folder);
    g_autoptr(GBytes) packed = temp_folder_read(path);
    temp_folder_write(folder, "a.fdb.txt.bz2", g_bytes_get_data(packed, NULL),
                      (gssize)g_bytes_get_size(packed) - 1000);
    g_autoptr(FindTable) table = find_table_read(path, note_bad, bad, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(table->rows->len, >, 40000);
    g_assert_cmpuint(table->rows->len, <, 100000);
    g_assert_nonnull(strstr(bad->str, "the packed data is cut off"));
}

/* A damaged bzip2 block still decompresses to some bytes; only its checksum, at its end, shows the
 * damage. So no line of a block is read before the checksum is verified. */
static void no_line_of_a_damaged_block_is_read(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GString) bad = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    const char *path = write_packed(folder);
    g_autoptr(GBytes) packed = temp_folder_read(path);
    gsize size = 0;
    char *bytes = g_bytes_unref_to_data(g_steal_pointer(&packed), &size);
    bytes[size * 3 / 4] ^= 0x55;
    temp_folder_write(folder, "a.fdb.txt.bz2", bytes, (gssize)size);
    g_free(bytes);
    g_autoptr(FindTable) table = find_table_read(path, note_bad, bad, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(table->rows->len, >, 40000);
    g_assert_cmpuint(table->rows->len, <, 60000);
    g_autofree char *expected = g_strdup_printf(
        "%u: cannot decompress '%s': the packed data is damaged", table->rows->len + 1, path);
    g_assert_true(g_str_has_prefix(bad->str, expected));
    g_assert_null(strchr(strchr(bad->str, '\n') + 1, '\n'));
}

static void a_missing_file_is_an_error_that_names_it(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(find_table_read("/nowhere/a.fdb.txt", note_bad, NULL, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_IO);
    g_assert_nonnull(strstr(error->message, "/nowhere/a.fdb.txt"));
}

static void times_are_those_of_strtod(void)
{
    static const char *const times[] = {"0",
                                        "0.1",
                                        "3.02316",
                                        "123456789012345",
                                        "5.",
                                        ".5",
                                        "1e-05",
                                        "-1",
                                        "1234567890123456789",
                                        "0e10",
                                        "0.035082",
                                        "1E3",
                                        "9007199254740993",
                                        "0.000000000000001"};
    for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
        struct find_part part;
        g_autofree char *text = g_strdup_printf("S:%s,0," GEMM, times[i]);
        struct span rest = span_of(text);
        g_assert_null(find_part_scan(&rest, &part));
        g_assert_null(rest.at);
        g_assert_cmpfloat(part.time_ms, ==, g_ascii_strtod(times[i], NULL));
    }
}

static void errors_of_an_entry_are_named(void)
{
    static const struct {
        const char *text, *wrong;
    } cases[] = {
        {"", "':'"},
        {"S", "':'"},
        {"S:1,2", "expected solver"},
        {"S:1,2,3,4", "expected solver"},
        {":1,0," GEMM, "no name"},
        {"S:1,0,", "no name"},
        {"S:,0," GEMM, "time"},
        {"S:.,0," GEMM, "time"},
        {"S:1.2.3,0," GEMM, "time"},
        {"S:nan,0," GEMM, "time"},
        {"S:1e999,0," GEMM, "time"},
        {"S:1,," GEMM, "workspace is not"},
        {"S:1,-1," GEMM, "workspace is not"},
        {"S:1,18446744073709551616," GEMM, "larger than any memory"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct find_part part;
        struct span rest = span_of(cases[i].text);
        const char *wrong = find_part_scan(&rest, &part);
        g_assert_nonnull(wrong);
        g_assert_nonnull(strstr(wrong, cases[i].wrong));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/find_table/rows_come_by_key_and_equal_keys_in_file_order",
                    rows_come_by_key_and_equal_keys_in_file_order);
    g_test_add_func("/find_table/bad_lines_are_reported_with_their_numbers",
                    bad_lines_are_reported_with_their_numbers);
    g_test_add_func("/find_table/a_byte_order_mark_is_no_part_of_the_first_key",
                    a_byte_order_mark_is_no_part_of_the_first_key);
    g_test_add_func("/find_table/a_line_without_end_is_left_out", a_line_without_end_is_left_out);
    g_test_add_func("/find_table/lines_before_damage_are_kept", lines_before_damage_are_kept);
    g_test_add_func("/find_table/no_line_of_a_damaged_block_is_read",
                    no_line_of_a_damaged_block_is_read);
    g_test_add_func("/find_table/a_missing_file_is_an_error_that_names_it",
                    a_missing_file_is_an_error_that_names_it);
    g_test_add_func("/find_scan/times_are_those_of_strtod", times_are_those_of_strtod);
    g_test_add_func("/find_scan/errors_of_an_entry_are_named", errors_of_an_entry_are_named);
    return g_test_run();
}
