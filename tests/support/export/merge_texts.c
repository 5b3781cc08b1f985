#include "tests/support/export/merge_texts.h"

#include "tests/support/temp_folder.h"

static GBytes *no_output(void)
{
    return g_bytes_new_static("", 0);
}

char *merge_texts_of(GBytes *bytes)
{
    gsize size = 0;
    const char *data = g_bytes_get_data(bytes, &size);
    return g_strndup(data, size);
}

char *merge_texts_into(const char *const texts[INPUTS], const char *name,
                       const struct merge_options *options, MergeReport **report)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    char *paths[INPUTS + 1] = {NULL};
    for (int i = 0; i < INPUTS && texts[i] != NULL; i++) {
        const char file[] = {(char)('a' + i), '\0'};
        paths[i] = (char *)temp_folder_write(folder, file, texts[i], -1);
    }
    const char *out = temp_folder_path(folder, name);
    g_autoptr(MergeReport) made = merge_files(paths, out, options, &error);
    g_assert_no_error(error);
    g_autoptr(GBytes) bytes = made != NULL ? temp_folder_read(out) : no_output();
    *report = g_steal_pointer(&made);
    return merge_texts_of(bytes);
}
