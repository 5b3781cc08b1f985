#include "tests/support/temp_folder.h"

#include <bzlib.h>
#include <glib/gstdio.h>

struct temp_folder {
    char *path;
    GStringChunk *names;
};

TempFolder *temp_folder_new(void)
{
    TempFolder *folder = g_new0(TempFolder, 1);
    folder->path = g_dir_make_tmp("skipjack-test-XXXXXX", NULL);
    g_assert_nonnull(folder->path);
    folder->names = g_string_chunk_new(1024);
    return folder;
}

static void remove_tree(const char *path)
{
    GDir *dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
    const char *name = NULL;
    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *entry = g_build_filename(path, name, NULL);
        remove_tree(entry);
    }
    g_clear_pointer(&dir, g_dir_close);
    g_remove(path);
}

void temp_folder_free(TempFolder *folder)
{
    if (folder != NULL) {
        remove_tree(folder->path);
        g_free(folder->path);
        g_string_chunk_free(folder->names);
        g_free(folder);
    }
}

const char *temp_folder_path(TempFolder *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder->path, name, NULL);
    return g_string_chunk_insert(folder->names, path);
}

const char *temp_folder_write(TempFolder *folder, const char *name, const void *bytes,
                              gssize length)
{
    g_autoptr(GError) error = NULL;
    const char *path = temp_folder_path(folder, name);
    g_file_set_contents(path, bytes, length, &error);
    g_assert_no_error(error);
    return path;
}

const char *temp_folder_write_bzip2(TempFolder *folder, const char *name, const void *bytes,
                                    gsize length)
{
    unsigned packed_bytes = (unsigned)(length + length / 50 + 1024);
    g_autofree char *packed = g_malloc(packed_bytes);
    int status =
        BZ2_bzBuffToBuffCompress(packed, &packed_bytes, (char *)bytes, (unsigned)length, 9, 0, 0);
    g_assert_cmpint(status, ==, BZ_OK);
    return temp_folder_write(folder, name, packed, packed_bytes);
}

GBytes *temp_folder_read(const char *path)
{
    char *bytes = NULL;
    gsize length = 0;
    g_autoptr(GError) error = NULL;
    g_file_get_contents(path, &bytes, &length, &error);
    g_assert_no_error(error);
    return g_bytes_new_take(bytes, length);
}
