#include "export/formats/export_error.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

GQuark export_error_quark(void)
{
    return g_quark_from_static_string("export-error");
}

bool export_io_error(const char *doing, const char *path, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot %s '%s': %s", doing, path,
                g_strerror(errno));
    return false;
}

bool export_sync_file(const char *path, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return export_io_error("open", path, error);
    }
    bool synced = fsync(fd) == 0 || export_io_error("write", path, error);
    close(fd);
    return synced;
}
