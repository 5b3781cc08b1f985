/* Any bytes as a manifest: refused with a reason, or one that names a release and files of its own folder. */
#include "export/formats/manifest.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct manifest *manifest)
{
    const struct release_name name = {.target = manifest->target,
                                      .campaign = manifest->campaign,
                                      .golden_version = manifest->golden_version};
    g_autofree char *whose = manifest_whose(manifest);
    g_assert_true(whose[0] != 0 && manifest_is_of(manifest, &name));
    g_assert_true(manifest_is_of_part(manifest, manifest->part));
    g_assert_true((manifest->campaign == NULL) == (manifest->golden_version > 0));
    for (guint i = 0; i < manifest->files->len; i++) {
        const struct manifest_file *file = manifest->files->pdata[i];
        g_assert_true(strchr(file->name, '/') == NULL && file->name[0] != '.');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("manifest", MFD_CLOEXEC);
    g_assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autoptr(GError) error = NULL;
    g_autoptr(Manifest) manifest = manifest_read(path, &error);
    g_assert_true((manifest != NULL) == (error == NULL));
    if (manifest != NULL) {
        look(manifest);
    }
    close(fd);
    return 0;
}
