#include "export/sjdb/sjdb_sort.h"

#include "export/sjdb/sjdb_dictionary.h"
#include "tests/support/temp_folder.h"

#include <string.h>

#define STRINGS 20000

static void strings_come_in_byte_order(void)
{
    static const struct {
        const char *bytes;
        gsize count;
    } added[] = {{"b", 1}, {"a\0b", 3}, {"", 0}, {"\xff", 1}, {"a", 1}, {"a\0", 2}, {"b", 1}};
    /* strings 0 and 6 are equal, so either may come first */
    static const guint32 expected[] = {2, 4, 5, 1, 0, 6, 3};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    const char *path = temp_folder_path(folder, "f");
    g_autoptr(SjdbSorter) sorter = sjdb_sorter_new(path, &error);
    const guint8 *bytes = NULL;
    gsize count = 0;
    guint32 number = 0;
    g_assert_no_error(error);
    for (guint32 i = 0; i < G_N_ELEMENTS(added); i++) {
        g_assert_true(sjdb_sorter_add(sorter, added[i].bytes, added[i].count, i, NULL));
    }
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
        const char *held = added[expected[i]].bytes;
        g_assert_cmpint(sjdb_sorter_next(sorter, &bytes, &count, &number, NULL), ==, READ_ROW);
        g_assert_cmpmem(bytes, count, held, added[expected[i]].count);
        g_assert_cmpmem(added[number].bytes, added[number].count, bytes, count);
    }
    g_assert_cmpint(sjdb_sorter_next(sorter, &bytes, &count, &number, NULL), ==, READ_END);
    /* The sorter unlinks its file when it makes it: the folder is empty. */
    g_autoptr(GDir) dir = g_dir_open(temp_folder_path(folder, "."), 0, NULL);
    g_assert_null(g_dir_read_name(dir));
}

static void a_folder_that_is_away_is_an_error(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(sjdb_sorter_new("/nowhere/at/all/f", &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_IO);
}

/* ---- the dictionary ---- */

static void equal_strings_have_one_id(void)
{
    struct sjdb_dictionary dictionary;
    sjdb_dictionary_init(&dictionary);
    for (int round = 0; round < 2; round++) {
        for (guint32 i = 0; i < STRINGS; i++) {
            g_autofree char *string = g_strdup_printf("%u", i);
            g_assert_cmpuint(sjdb_dictionary_add(&dictionary, string, strlen(string)), ==, i);
        }
    }
    g_assert_cmpuint(sjdb_dictionary_count(&dictionary), ==, STRINGS);
    for (guint32 i = 0; i < STRINGS; i++) {
        g_autofree char *string = g_strdup_printf("%u", i);
        gsize count = 0;
        const guint8 *bytes = sjdb_dictionary_get(&dictionary, i, &count);
        g_assert_cmpmem(bytes, count, string, strlen(string));
    }
    sjdb_dictionary_clear(&dictionary);
}

static void numbers_come_back(void)
{
    static const uint64_t numbers[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
    guint8 room[G_N_ELEMENTS(numbers) * SJDB_NUMBER_BYTES], *end = room;
    const guint8 *at = room;
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++) {
        end = sjdb_number_put(end, numbers[i]);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++) {
        g_assert_cmpuint(sjdb_number_take(&at), ==, numbers[i]);
    }
    g_assert_true(at == end);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sjdb_sort/strings_come_in_byte_order", strings_come_in_byte_order);
    g_test_add_func("/sjdb_sort/a_folder_that_is_away_is_an_error",
                    a_folder_that_is_away_is_an_error);
    g_test_add_func("/sjdb_dictionary/equal_strings_have_one_id", equal_strings_have_one_id);
    g_test_add_func("/sjdb_dictionary/numbers_come_back", numbers_come_back);
    return g_test_run();
}
