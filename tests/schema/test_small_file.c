#include "schema/small_file.h"

#include <glib/gstdio.h>
#include <string.h>

static void a_file_is_read_up_to_its_limit(void)
{
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    gsize length = 0;
    int fd = g_file_open_tmp("skipjack-XXXXXX", &path, NULL);
    g_close(fd, NULL);
    g_assert_true(g_file_set_contents(path, "{\"a\": 1}", -1, NULL));
    g_autofree char *text = small_file_read(path, 8, &length, &error);
    g_assert_cmpstr(text, ==, "{\"a\": 1}");
    g_assert_cmpuint(length, ==, 8);
    g_assert_null(small_file_read(path, 7, &length, &error));
    g_assert_nonnull(strstr(error->message, "more than 7 bytes"));
    g_assert_nonnull(strstr(error->message, path));
    g_clear_error(&error);
    g_assert_true(g_file_set_contents(path, "", -1, NULL));
    g_autofree char *empty = small_file_read(path, 0, &length, &error);
    g_assert_cmpstr(empty, ==, "");
    g_unlink(path);
}

static void what_never_ends_is_refused(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(small_file_read("/dev/zero", 1000, NULL, &error));
    g_assert_nonnull(strstr(error->message, "more than 1000 bytes"));
}

static void folders_missing_files_and_nul_bytes_are_refused(void)
{
    static const char *const paths[] = {"/", "/no/such/file"};
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(small_file_read(paths[i], 1000, NULL, &error));
        g_assert_nonnull(strstr(error->message, paths[i]));
    }
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    g_close(g_file_open_tmp("skipjack-XXXXXX", &path, NULL), NULL);
    g_assert_true(g_file_set_contents(path, "a\0b", 3, NULL));
    g_assert_null(small_file_read(path, 1000, NULL, &error));
    g_assert_nonnull(strstr(error->message, "NUL"));
    g_unlink(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/small_file/a_file_is_read_up_to_its_limit", a_file_is_read_up_to_its_limit);
    g_test_add_func("/small_file/what_never_ends_is_refused", what_never_ends_is_refused);
    g_test_add_func("/small_file/folders_missing_files_and_nul_bytes_are_refused",
                    folders_missing_files_and_nul_bytes_are_refused);
    return g_test_run();
}
