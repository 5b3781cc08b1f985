#include "coordinator/import/layer_records.h"
#include "export/formats/byte_source.h"

#include <string.h>

/* Splits text into records: a line each with the cells joined by '|', or "!" and the reason for a
 * bad record. Free with g_free(). */
static char *read_records(const char *text, char separator)
{
    GString *out = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(LineReader) lines =
        line_reader_new(byte_source_open_memory("test", text, strlen(text), &error));
    const struct import_source source = {.name = "test", .lines = lines};
    struct layer_records records;
    enum read_step step;
    layer_records_init(&records, NULL, &source);
    do {
        g_autoptr(GError) wrong = NULL;
        step = layer_records_next(&records, separator, &wrong);
        if (step == READ_ROW) {
            g_ptr_array_add(records.cells, NULL);
            g_autofree char *cells = g_strjoinv("|", (char **)records.cells->pdata);
            g_string_append_printf(out, "%d:%s\n", (int)records.number, cells);
        } else if (step == READ_BAD) {
            g_string_append_printf(out, "%d!%s\n", (int)records.number, wrong->message);
        }
    } while (step != READ_END);
    g_assert_true(layer_records_end(&records, &error));
    g_assert_no_error(error);
    return g_string_free(out, FALSE);
}

static void test_records(void)
{
    static const struct {
        const char *text;
        char separator;
        const char *records;
    } rows[] = {
        {"a,b\n1, 2 \n", ',', "1:a|b\n2:1|2\n"},
        {"a;b\r\n1,5;2\r\n", ';', "1:a|b\n2:1,5|2\n"},
        {"a\tb\n\t2", '\t', "1:a|b\n2:|2\n"},
        {"\"a,1\",\"b\"\"c\"\n", ',', "1:a,1|b\"c\n"},
        {"\"a\nb\",c\nd,e\n", ',', "1:a b|c\n3:d|e\n"},
        {"\"a\r\n\r\nb\",c\n", ',', "1:a  b|c\n"},
        {"# \"a\nx,y\n \n,,\n;;\n#z\n1,2\n", ',', "2:x|y\n7:1|2\n"},
        {"5\" pipe,b\n", ',', "1:5\" pipe|b\n"},
        {" \"a\" ,b\n", ',', "1:a|b\n"},
        {"\"a\"b,c\n", ',', "1:ab|c\n"},
        {"\xc2\xa0"
         "a\xc2\xa0,b\n",
         ',', "1:a|b\n"},
        {"\"open,b\n1,2\n", ',', "1!a quote (\") is opened in it and not closed\n2:1|2\n"},
        {"a,\"b\nc,\"d\ne,f\n", ',',
         "1!a quote (\") is opened in it and not closed\n"
         "2!a quote (\") is opened in it and not closed\n3:e|f\n"},
        {"a,\"b\nc,\"d\"\n", ',', "1!a quote (\") is opened in it and not closed\n2:c|d\n"},
        {"a,\"\"\n", ',', "1:a|\n"},
        {"", ',', ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *records = read_records(rows[i].text, rows[i].separator);
        g_assert_cmpstr(records, ==, rows[i].records);
    }
}

/* Only the line with a quote that is never closed is bad; the lines after it are read. */
static void test_open_quotes(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 1000; i++) {
        g_string_append(text, i % 2 == 0 ? "\"a,b\n" : "c,d\n");
    }
    g_string_append(text, "e,f\n");
    g_autofree char *records = read_records(text->str, ',');
    g_assert_true(g_str_has_suffix(records, "1001:e|f\n"));
    g_autoptr(GString) wide = g_string_new(NULL);
    for (int i = 0; i < RECORD_CELLS_MAX; i++) {
        g_string_append(wide, "1,");
    }
    g_string_append(wide, "\n1,2\n");
    g_autofree char *bad = read_records(wide->str, ',');
    g_assert_cmpstr(bad, ==, "1!it has 513 cells, more than 512 are not read\n2:1|2\n");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/layer_records/cells_are_taken_apart_as_spreadsheets_write_them",
                    test_records);
    g_test_add_func("/layer_records/an_open_quote_costs_its_line_alone", test_open_quotes);
    return g_test_run();
}
