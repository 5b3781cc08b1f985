#include "worker/device/device.h"

G_DEFINE_QUARK(skipjack - device - error - quark, device_error)

static const struct device_row *const device_table[] = {&device_cuda, &device_hip, &device_opencl};

/* "cuda: none here (libcuda.so.1: ...)"; "opencl: 1". */
static void describe(GString *text, const struct device_row *row, int count, const GError *why)
{
    if (count >= 0)
        g_string_append_printf(text, "%s%s: %d", text->len ? "; " : "", row->name, count);
    else
        g_string_append_printf(text, "%s%s: none (%s)", text->len ? "; " : "", row->name,
                               why->message);
}

struct device *device_open(int index, GError **error)
{
    g_autoptr(GString) kinds = g_string_new(NULL);
    int rest = index;

    for (gsize i = 0; i < G_N_ELEMENTS(device_table); i++) {
        const struct device_row *row = device_table[i];
        g_autoptr(GError) why = NULL;
        int count = row->count(&why);
        if (rest < count)
            return row->open(rest, error);
        describe(kinds, row, count, why);
        rest -= MAX(count, 0);
    }
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                "there is no device %d that can be used here: %s", index, kinds->str);
    return NULL;
}

void device_close(struct device *device)
{
    if (device)
        device->row->close(device);
}
