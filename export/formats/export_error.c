#include "export/formats/export_error.h"

#include <errno.h>

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
