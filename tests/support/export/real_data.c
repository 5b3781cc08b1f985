#include "tests/support/export/real_data.h"

#include <glib.h>

char *real_data(const char *folder)
{
    const char *data = g_getenv("SKIPJACK_DATA");
    char *path = data != NULL && data[0] != '\0' ? g_build_filename(data, folder, NULL) : NULL;
    if (path == NULL || !g_file_test(path, G_FILE_TEST_IS_DIR)) {
        g_clear_pointer(&path, g_free);
        g_test_skip_printf("SKIPJACK_DATA has no folder %s", folder);
    }
    return path;
}
