#include "coordinator/cli/table.h"

#include <glib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const struct table_column columns[] = {
    {"name", "name", TABLE_TEXT, 0}, {"count", "count", TABLE_INT, 0},
    {NULL, "secret", TABLE_INT, 0},  {"time", "time_ms", TABLE_NUMBER, 2},
    {"on", "on", TABLE_YES, 0},      {"words", "words", TABLE_TEXT, 0},
};

static Table *sample(void)
{
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    table_text(table, "a");
    table_int(table, 7);
    table_int(table, 42);
    table_number(table, 1.005);
    table_yes(table, true);
    table_text(table, "short");
    table_text(table, "longer");
    table_int(table, 12345);
    table_int(table, 43);
    table_number(table, NAN);
    table_yes(table, false);
    table_text(table, NULL);
    return table;
}

/* Prints the table and returns its lines. */
static char **printed(const Table *table)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    table_print(table, out);
    fclose(out);
    char **lines = g_strsplit(text, "\n", -1);
    free(text);
    return lines;
}

static void columns_are_aligned(void)
{
    Table *table = sample();
    g_auto(GStrv) lines = printed(table);
    g_assert_cmpstr(lines[0], ==, "name    count  time  on   words");
    g_assert_cmpstr(lines[1], ==, "a           7  1.00  yes  short");
    g_assert_cmpstr(lines[2], ==, "longer  12345     -  no   -");
    g_assert_cmpint(table_rows(table), ==, 2);
    table_free(table);
}

static void no_text_moves_the_cursor(void)
{
    static const struct table_column one[] = {{"name", "name", TABLE_TEXT, 0}};
    static const char raw[] = "a\n\033[2Jb\302\2331m\177 \303\251";
    Table *table = table_new(one, G_N_ELEMENTS(one));
    table_text(table, raw);
    g_auto(GStrv) lines = printed(table);
    g_assert_cmpstr(lines[1], ==, "a  [2Jb  1m  \303\251");
    json_t *rows = table_json(table);
    const json_t *name = json_object_get(json_array_get(rows, 0), "name");
    g_assert_cmpstr(json_string_value(name), ==, raw);
    json_decref(rows);
    table_free(table);
}

static void json_has_all_columns_and_null(void)
{
    Table *table = sample();
    json_t *rows = table_json(table);
    g_assert_cmpuint(json_array_size(rows), ==, 2);
    json_t *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);
    g_assert_cmpstr(json_string_value(json_object_get(first, "name")), ==, "a");
    g_assert_cmpint(json_integer_value(json_object_get(first, "secret")), ==, 42);
    g_assert_true(json_is_true(json_object_get(first, "on")));
    g_assert_true(json_is_null(json_object_get(second, "time_ms")));
    g_assert_true(json_is_null(json_object_get(second, "words")));
    json_decref(rows);
    table_free(table);
}

static void a_long_last_column_goes_on_below_itself(void)
{
    static const struct table_column two[] = {{"name", "name", TABLE_TEXT, 0},
                                              {"why", "why", TABLE_TEXT, 0}};
    g_autofree char *word = g_strnfill(60, 'w');
    g_autofree char *words = g_strdup_printf("%s %s end", word, word);
    g_autofree char *wide = g_strnfill(TABLE_WIDTH - 5, 'n');
    Table *table = table_new(two, G_N_ELEMENTS(two));
    table_text(table, "a");
    table_text(table, words);
    g_auto(GStrv) lines = printed(table);
    g_autofree char *first = g_strdup_printf("a     %s", word);
    g_autofree char *second = g_strdup_printf("      %s end", word);
    g_assert_cmpstr(lines[0], ==, "name  why");
    g_assert_cmpstr(lines[1], ==, first);
    g_assert_cmpstr(lines[2], ==, second);
    table_text(table, wide);
    table_text(table, "below");
    g_auto(GStrv) narrow = printed(table);
    g_assert_cmpstr(narrow[g_strv_length(narrow) - 2], ==, "        below");
    table_free(table);
}

static void a_list_without_blanks_breaks_after_a_comma(void)
{
    g_autofree char *member = g_strnfill(TABLE_WIDTH - 10, 'm');
    g_autofree char *list = g_strdup_printf("%s,second,third", member);
    g_autofree char *first = g_strdup_printf("%s,second,", member);
    Table *table = table_new(columns + 5, 1);
    table_text(table, list);
    g_auto(GStrv) lines = printed(table);
    g_assert_cmpstr(lines[1], ==, first);
    g_assert_cmpstr(lines[2], ==, "third");
    table_free(table);
}

static void what_is_longer_is_cut_for_people_only(void)
{
    g_autofree char *words = g_strnfill(1000, 'w');
    Table *table = table_new(columns + 5, 1);
    table_text(table, words);
    g_auto(GStrv) lines = printed(table);
    /* the header, four lines of text, an empty string after the last newline */
    g_assert_cmpuint(g_strv_length(lines), ==, 6);
    for (int i = 1; i <= 4; i++)
        g_assert_cmpuint(strlen(lines[i]), ==, TABLE_WIDTH);
    g_assert_true(g_str_has_suffix(lines[4], "w..."));
    json_t *rows = table_json(table);
    g_assert_cmpstr(json_string_value(json_object_get(json_array_get(rows, 0), "words")), ==,
                    words);
    json_decref(rows);
    table_free(table);
}

static void significant_digits_suit_small_and_large(void)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{12.3456, "12.35"},     {0.653, "0.6530"}, {0.0060213, "0.006021"},
                 {3894.924, "3895"},     {0, "0.000"},      {NAN, "-"},
                 {1e-12, "0.000000000"}, {123456, "123456"}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = table_significant(cases[i].value, 4);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

static void line_ends_and_bad_bytes_do_not_break_a_row(void)
{
    Table *table = table_new(columns + 5, 1);
    table_text(table, "one\ntwo\tthree");
    table_text(table, "bad \xff byte");
    g_auto(GStrv) lines = printed(table);
    g_assert_cmpstr(lines[1], ==, "one two three");
    g_assert_true(g_utf8_validate(lines[2], -1, NULL));
    json_t *rows = table_json(table);
    g_assert_cmpuint(json_array_size(rows), ==, 2);
    g_assert_true(json_is_string(json_object_get(json_array_get(rows, 1), "words")));
    json_decref(rows);
    table_free(table);
}

static void an_empty_table_is_an_empty_array(void)
{
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    g_auto(GStrv) lines = printed(table);
    g_assert_cmpstr(lines[0], ==, "name  count  time  on  words");
    json_t *rows = table_json(table);
    g_assert_cmpuint(json_array_size(rows), ==, 0);
    json_decref(rows);
    table_free(table);
}

/* Output into a pipe may be read by a program, so no column is cut. */
static void in_a_pipe_nothing_is_cut(void)
{
    g_autofree char *words = g_strnfill(1000, 'w');
    Table *table = table_new(columns + 5, 1);
    table_text(table, words);
    g_unsetenv("COLUMNS");
    g_auto(GStrv) lines = printed(table);
    g_setenv("COLUMNS", G_STRINGIFY(TABLE_WIDTH), TRUE);
    if (!isatty(STDOUT_FILENO))
        g_assert_cmpstr(lines[1], ==, words);
    table_free(table);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_setenv("COLUMNS", G_STRINGIFY(TABLE_WIDTH), TRUE);
    g_test_add_func("/table/columns_are_aligned", columns_are_aligned);
    g_test_add_func("/table/no_text_moves_the_cursor", no_text_moves_the_cursor);
    g_test_add_func("/table/json_has_all_columns_and_null", json_has_all_columns_and_null);
    g_test_add_func("/table/a_long_last_column_goes_on_below_itself",
                    a_long_last_column_goes_on_below_itself);
    g_test_add_func("/table/a_list_without_blanks_breaks_after_a_comma",
                    a_list_without_blanks_breaks_after_a_comma);
    g_test_add_func("/table/what_is_longer_is_cut_for_people_only",
                    what_is_longer_is_cut_for_people_only);
    g_test_add_func("/table/significant_digits_suit_small_and_large",
                    significant_digits_suit_small_and_large);
    g_test_add_func("/table/line_ends_and_bad_bytes_do_not_break_a_row",
                    line_ends_and_bad_bytes_do_not_break_a_row);
    g_test_add_func("/table/an_empty_table_is_an_empty_array", an_empty_table_is_an_empty_array);
    g_test_add_func("/table/in_a_pipe_nothing_is_cut", in_a_pipe_nothing_is_cut);
    return g_test_run();
}
