#include "export/formats/find_db.h"

#include "tests/support/temp_folder.h"

#include <string.h>

#define KEY  "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define ALGO "miopenConvolutionFwdAlgo"

static void line_is_written_back_as_it_was_read(void)
{
    static const char *const lines[] = {
        KEY "=A:0.5,0," ALGO "GEMM",
        KEY "=A:0.05,1024," ALGO "GEMM;ConvOclBwdWrW2<16>:1059.0,0," ALGO "Direct",
        KEY "=" ALGO "GEMM:GemmFwd1x1_0_1,0.0,0," ALGO "GEMM,<unused>",
        KEY "=" ALGO "GEMM:G,1e-07,14450688,MIOpenGEMM,0_1_3136_36;" ALGO "Direct:D,2.5,0," ALGO
            "Direct,a,b:c",
        KEY "=" ALGO "GEMM:G,1,0," ALGO "GEMM,;N:2,0," ALGO "FFT",
        "any key=A:-1,18446744073709551615,x",
    };
    struct find_line line;
    find_line_init(&line);
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autofree char *text = g_strdup(lines[i]);
        g_autoptr(GString) written = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        g_assert_true(find_line_parse(text, &line, &error));
        g_assert_no_error(error);
        find_line_format(&line, written);
        g_assert_cmpstr(written->str, ==, lines[i]);
    }
    find_line_clear(&line);
}

static void older_form_gives_the_same_fields(void)
{
    char newer[] = "k=Solver:0.25,64," ALGO "GEMM";
    char older[] = "k=" ALGO "GEMM:Solver,0.25,64,MIOpenGEMM,key";
    char *const texts[] = {newer, older};
    struct find_line line;
    find_line_init(&line);
    for (int i = 0; i < 2; i++) {
        g_assert_true(find_line_parse(texts[i], &line, NULL));
        const struct find_entry *entry = &g_array_index(line.entries, struct find_entry, 0);
        g_assert_cmpint(entry->older, ==, i == 1);
        g_assert_cmpstr(entry->solver, ==, "Solver");
        g_assert_cmpfloat(entry->time_ms, ==, 0.25);
        g_assert_cmpuint(entry->workspace_bytes, ==, 64);
        g_assert_cmpstr(entry->algorithm, ==, ALGO "GEMM");
    }
    find_line_clear(&line);
}

static void broken_line_names_entry_and_reason(void)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "expected a key and '='"},
        {"no equals sign", "expected a key and '='"},
        {"=A:1,0,x", "expected a key and '='"},
        {"k=", "entry 1: expected a ':'"},
        {"k=A", "entry 1: expected a ':'"},
        {"k=A:1,0", "entry 1: expected solver:time,workspace,algorithm"},
        {"k=A:1,0,x,y", "entry 1: expected solver:time,workspace,algorithm"},
        {"k=A:1,0,x;", "entry 2: expected a ':'"},
        {"k=A:1,0,x;;B:1,0,x", "entry 2: expected a ':'"},
        {"k=A:one,0,x", "entry 1: the time is not a number"},
        {"k=A:,0,x", "entry 1: the time is not a number"},
        {"k=A:nan,0,x", "entry 1: the time is not a number"},
        {"k=A:inf,0,x", "entry 1: the time is not a number"},
        {"k=A:1e999,0,x", "entry 1: the time is not a number"},
        {"k=A:1.5.2,0,x", "entry 1: the time is not a number"},
        {"k=A:0x10,0,x", "entry 1: the time is not a number"},
        {"k=A:1,-1,x", "entry 1: the workspace is not a number"},
        {"k=A:1,,x", "entry 1: the workspace is not a number"},
        {"k=A:1,99999999999999999999,x", "entry 1: the workspace is larger"},
        {"k=:1,0,x", "entry 1: the solver or the algorithm has no name"},
        {"k=A:1,0,", "entry 1: the solver or the algorithm has no name"},
    };
    struct find_line line;
    find_line_init(&line);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup(cases[i].text);
        g_autoptr(GError) error = NULL;
        g_assert_false(find_line_parse(text, &line, &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX);
        if (!g_str_has_prefix(error->message, cases[i].reason)) {
            g_test_message("'%s' gives '%s'", cases[i].text, error->message);
            g_test_fail();
        }
    }
    find_line_clear(&line);
}

static void positive_time_never_prints_as_zero(void)
{
    static const struct {
        double time_ms;
        const char *text;
    } cases[] = {
        {1, "1"},        {0.0516391234, "0.0516391"}, {1059.04999, "1059.05"},
        {1e-9, "1e-09"}, {1.4e-45, "1.4e-45"},        {123456789, "1.23457e+08"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char text[FIND_TIME_MAX];
        g_assert_cmpstr(find_time_text(cases[i].time_ms, text), ==, cases[i].text);
        g_assert_cmpfloat(g_ascii_strtod(text, NULL), >, 0);
    }
}

/* Reads a file to its end. Returns a letter a line, R for a line read and B for a bad one, and at
 * last F if reading failed. */
static char *steps_of(const char *path, GError **error)
{
    GString *steps = g_string_new(NULL);
    struct find_line line;
    struct line at;
    enum read_step step = READ_ROW;
    g_autoptr(FindDb) db = find_db_open(path, error);
    g_assert_nonnull(db);
    find_line_init(&line);
    while (step != READ_END && step != READ_FAILED) {
        g_autoptr(GError) reason = NULL;
        step = find_db_next(db, &line, &at, &reason);
        if (step != READ_END) {
            g_string_append_c(steps, step == READ_ROW ? 'R' : step == READ_BAD ? 'B' : 'F');
        }
        if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&reason));
        }
    }
    find_line_clear(&line);
    return g_string_free(steps, FALSE);
}

static void bad_line_does_not_stop_the_next(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_write(folder, "f", "a=A:1,0,x\nbad\n\nb=B:1,0,y", -1);
    g_autofree char *steps = steps_of(path, NULL);
    g_assert_cmpstr(steps, ==, "RBBR");
}

#define MARK "\xef\xbb\xbf"

static void byte_order_mark_is_no_part_of_the_first_line(void)
{
    static const char text[] = MARK "a=A:1,0,x\n" MARK "b=B:1,0,y\n";
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *const paths[] = {
        temp_folder_write(folder, "f", text, -1),
        temp_folder_write_bzip2(folder, "f.bz2", text, strlen(text)),
    };
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        static const char *const expected[] = {"a=A:1,0,x", MARK "b=B:1,0,y"};
        struct line line;
        g_autoptr(LineReader) lines = line_reader_open(paths[i], NULL);
        for (size_t j = 0; j < G_N_ELEMENTS(expected); j++) {
            g_assert_cmpint(line_reader_next(lines, &line, NULL), ==, READ_ROW);
            g_assert_cmpstr(line.text, ==, expected[j]);
            g_assert_cmpuint(line.length, ==, strlen(expected[j]));
            g_assert_true(line.marked == (j == 0));
        }
        g_assert_cmpint(line_reader_next(lines, &line, NULL), ==, READ_END);
    }
}

static void nul_byte_makes_a_line_bad(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_write(folder, "f", "a=A:1,\0,x\nb=B:1,0,y\n", 20);
    g_autofree char *steps = steps_of(path, NULL);
    g_assert_cmpstr(steps, ==, "BR");
}

static void huge_line_is_bad_and_skipped(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GString) text = g_string_new("a=A:1,0,x\n");
    for (int i = 0; i < 3 * LINE_BYTES_MAX / 8; i++) {
        g_string_append(text, "12345678");
    }
    g_string_append(text, "\nb=B:1,0,y\n");
    const char *path = temp_folder_write(folder, "f", text->str, (gssize)text->len);
    g_autofree char *steps = steps_of(path, NULL);
    g_assert_cmpstr(steps, ==, "RBR");
}

static void longest_allowed_line_is_read(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (int extra = 0; extra < 2; extra++) {
        g_autoptr(GString) text = g_string_new("=A:1,0,x");
        while (text->len < LINE_BYTES_MAX + (gsize)extra) {
            g_string_prepend(text, text->len + 8 <= LINE_BYTES_MAX ? "kkkkkkkk" : "k");
        }
        const char *path = temp_folder_write(folder, "f", text->str, (gssize)text->len);
        g_autofree char *steps = steps_of(path, NULL);
        g_assert_cmpstr(steps, ==, extra == 0 ? "R" : "B");
    }
}

static char *many_lines(int count)
{
    GString *text = g_string_new(NULL);
    for (int i = 0; i < count; i++) {
        g_string_append_printf(text, "%d-%d=A:%d,0,x\n", i, i * 7919 % 1000, i + 1);
    }
    return g_string_free(text, FALSE);
}

static void bzip2_reads_like_the_plain_file(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *text = many_lines(5000);
    const char *plain = temp_folder_write(folder, "f", text, -1);
    const char *packed = temp_folder_write_bzip2(folder, "f.bz2", text, strlen(text));
    g_autofree char *expected = steps_of(plain, NULL);
    g_autofree char *steps = steps_of(packed, NULL);
    g_assert_cmpuint(strlen(expected), ==, 5000);
    g_assert_cmpstr(steps, ==, expected);
}

static void damaged_bzip2_fails_with_the_reason(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *text = many_lines(5000);
    const char *packed = temp_folder_write_bzip2(folder, "f.bz2", text, strlen(text));
    g_autoptr(GBytes) whole = temp_folder_read(packed);
    gsize size = g_bytes_get_size(whole);
    g_autofree char *bytes = g_malloc(size + 1);
    const struct {
        gsize keep, flip;
        const char *reason;
    } cases[] = {
        {size / 2, 0, "the packed data is cut off"},
        {5, 0, "the packed data is cut off"},
        {size - 1, 0, "the packed data is cut off"},
        {size, size / 2, "the packed data is damaged"},
        {size + 1, 0, "other bytes follow the packed data"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        memcpy(bytes, g_bytes_get_data(whole, NULL), size);
        bytes[size] = 'x';
        bytes[cases[i].flip] ^= cases[i].flip > 0 ? 0x55 : 0;
        const char *path = temp_folder_write(folder, "damaged.bz2", bytes, (gssize)cases[i].keep);
        g_autofree char *steps = steps_of(path, &error);
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
        g_assert_nonnull(strstr(error->message, cases[i].reason));
        g_assert_true(g_str_has_suffix(steps, "F"));
    }
}

static void two_bzip2_streams_read_as_one(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GBytes) one =
        temp_folder_read(temp_folder_write_bzip2(folder, "1", "a=A:1,0,x\nb=", 12));
    g_autoptr(GBytes) two = temp_folder_read(temp_folder_write_bzip2(folder, "2", "B:1,0,y\n", 8));
    GByteArray *both = g_byte_array_new();
    g_byte_array_append(both, g_bytes_get_data(one, NULL), (guint)g_bytes_get_size(one));
    g_byte_array_append(both, g_bytes_get_data(two, NULL), (guint)g_bytes_get_size(two));
    const char *path = temp_folder_write(folder, "both", both->data, both->len);
    g_byte_array_unref(both);
    g_autofree char *steps = steps_of(path, NULL);
    g_assert_cmpstr(steps, ==, "RR");
}

static void missing_file_and_folder_cannot_be_opened(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *const paths[] = {temp_folder_path(folder, "none"), temp_folder_path(folder, "")};
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(find_db_open(paths[i], &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_IO);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/find_db/line_is_written_back_as_it_was_read",
                    line_is_written_back_as_it_was_read);
    g_test_add_func("/find_db/older_form_gives_the_same_fields", older_form_gives_the_same_fields);
    g_test_add_func("/find_db/broken_line_names_entry_and_reason",
                    broken_line_names_entry_and_reason);
    g_test_add_func("/find_db/positive_time_never_prints_as_zero",
                    positive_time_never_prints_as_zero);
    g_test_add_func("/find_db/bad_line_does_not_stop_the_next", bad_line_does_not_stop_the_next);
    g_test_add_func("/find_db/byte_order_mark_is_no_part_of_the_first_line",
                    byte_order_mark_is_no_part_of_the_first_line);
    g_test_add_func("/find_db/nul_byte_makes_a_line_bad", nul_byte_makes_a_line_bad);
    g_test_add_func("/find_db/huge_line_is_bad_and_skipped", huge_line_is_bad_and_skipped);
    g_test_add_func("/find_db/longest_allowed_line_is_read", longest_allowed_line_is_read);
    g_test_add_func("/find_db/bzip2_reads_like_the_plain_file", bzip2_reads_like_the_plain_file);
    g_test_add_func("/find_db/damaged_bzip2_fails_with_the_reason",
                    damaged_bzip2_fails_with_the_reason);
    g_test_add_func("/find_db/two_bzip2_streams_read_as_one", two_bzip2_streams_read_as_one);
    g_test_add_func("/find_db/missing_file_and_folder_cannot_be_opened",
                    missing_file_and_folder_cannot_be_opened);
    return g_test_run();
}
