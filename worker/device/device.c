#include "worker/device/device.h"

G_DEFINE_QUARK(skipjack - device - error - quark, device_error)

static const struct device_row *const device_table[] = {&device_opencl};

struct device *device_open(int index, GError **error)
{
    for (gsize i = 0; i < G_N_ELEMENTS(device_table); i++) {
        g_autoptr(GError) reason = NULL;
        struct device *device = device_table[i]->open(index, &reason);
        if (device)
            return device;
        if (i + 1 == G_N_ELEMENTS(device_table))
            g_propagate_error(error, g_steal_pointer(&reason));
    }
    return NULL;
}

void device_close(struct device *device)
{
    if (device)
        device->row->close(device);
}
