/* Names that other people chose are written to terminals and files without control characters. */
#include "coordinator/cli/safe_output.h"

#include "tests/support/temp_folder.h"

#include <errno.h>

static const struct {
    const char *written, *shown;
} rows[] = {
    {"plain\ttext\n", "plain\ttext\n"},           {"\x1b[31m\a", "\\x1b[31m\\x07"},
    {"\x7f\xc2\x9b", "\\u007f\\u009b"},           {"\xff\x9b", "\\xff\\x9b"},
    {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
};

static void control_characters_are_shown_by_number(void)
{
    TempFolder *folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "report.txt");
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = NULL;
        FILE *file = safe_output_open(path);
        g_assert_nonnull(file);
        fputs(rows[i].written, file);
        g_assert_cmpint(fclose(file), ==, 0);
        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, rows[i].shown);
    }
    temp_folder_free(folder);
}

/* A UTF-8 character that is split over two writes reaches the file whole. */
static void a_cut_character_is_whole(void)
{
    TempFolder *folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "report.txt");
    g_autofree char *text = NULL;
    FILE *file = safe_output_open(path);
    setvbuf(file, NULL, _IONBF, 0);
    fputs("\xc3", file);
    fputs("\xbc", file);
    g_assert_cmpint(fclose(file), ==, 0);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "\xc3\xbc");
    temp_folder_free(folder);
}

static void a_file_that_cannot_be_opened_is_none(void)
{
    g_assert_null(safe_output_open("/dev/null/report.txt"));
    g_assert_cmpint(errno, ==, ENOTDIR);
}

/* safe_output reports a full disk as the C library does: fflush() fails and ferror() is set. */
static void a_full_disk_is_an_error(void)
{
    FILE *file = safe_output_open("/dev/full");
    g_assert_nonnull(file);
    fputs("text", file);
    g_assert_cmpint(fflush(file), !=, 0);
    g_assert_cmpint(errno, ==, ENOSPC);
    g_assert_cmpint(ferror(file), !=, 0);
    fclose(file);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/safe_output/control_characters_are_shown_by_number",
                    control_characters_are_shown_by_number);
    g_test_add_func("/safe_output/a_cut_character_is_whole", a_cut_character_is_whole);
    g_test_add_func("/safe_output/a_file_that_cannot_be_opened_is_none",
                    a_file_that_cannot_be_opened_is_none);
    g_test_add_func("/safe_output/a_full_disk_is_an_error", a_full_disk_is_an_error);
    return g_test_run();
}
