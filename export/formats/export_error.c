#include "export/formats/export_error.h"

GQuark export_error_quark(void)
{
    return g_quark_from_static_string("export-error");
}
