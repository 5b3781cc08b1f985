#include "tests/support/scratch_folder.h"

#include <ftw.h>
#include <glib.h>
#include <glib/gstdio.h>

char *scratch_folder_new(void)
{
    g_autoptr(GError) error = NULL;
    char *path = g_dir_make_tmp("skipjack-test-XXXXXX", &error);

    if (!path)
        g_error("cannot make a scratch folder: %s", error->message);
    return path;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return g_remove(path);
}

void scratch_folder_remove(char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    g_free(path);
}
