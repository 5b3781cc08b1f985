#include "worker/device/device.h"

#include <string.h>

G_DEFINE_QUARK(skipjack - device - error - quark, device_error)

/* The runtimes. Their order is the order of devices' numbers, which users pass to --eval, so it
 * must not change. */
static const struct device_row *const device_table[] = {&device_cuda, &device_hip, &device_opencl};

/* Appends a runtime to device_open()'s error: the number of its devices, or why it has none. For
 * example "cuda: none here (libcuda.so.1: ...)"; "opencl: 1". */
static void describe(GString *text, const struct device_row *row, int count, const GError *why)
{
    if (count >= 0)
        g_string_append_printf(text, "%s%s: %d", text->len ? "; " : "", row->name, count);
    else
        g_string_append_printf(text, "%s%s: none (%s)", text->len ? "; " : "", row->name,
                               why->message);
}

/* Finds the runtime that has the machine's index-th device; *index becomes the device's number
 * within that runtime. */
static const struct device_row *find_row(int *index, GError **error)
{
    g_autoptr(GString) kinds = g_string_new(NULL);
    int rest = *index;

    for (gsize i = 0; i < G_N_ELEMENTS(device_table); i++) {
        const struct device_row *row = device_table[i];
        g_autoptr(GError) why = NULL;
        int count = row->count(&why);
        if (rest < count) {
            *index = rest;
            return row;
        }
        describe(kinds, row, count, why);
        rest -= MAX(count, 0);
    }
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "no usable device %d: %s", *index,
                kinds->str);
    return NULL;
}

struct device *device_open(int index, GError **error)
{
    const struct device_row *row = find_row(&index, error);

    return row ? row->open(index, error) : NULL;
}

bool device_identify(int index, struct device_identity *identity, GError **error)
{
    const struct device_row *row = find_row(&index, error);

    *identity = (struct device_identity){0};
    if (row && row->identify)
        row->identify(index, identity);
    return row != NULL;
}

int device_count_gpus(void)
{
    return MAX(device_cuda.count(NULL), 0) + MAX(device_hip.count(NULL), 0);
}

static bool find_uuid(const char *uuid, int *index, GError **error)
{
    g_autoptr(GString) others = g_string_new(NULL);
    int gpus = device_count_gpus();

    for (*index = 0; *index < gpus; ++*index) {
        struct device_identity identity;
        if (!device_identify(*index, &identity, error))
            return false;
        if (g_ascii_strcasecmp(identity.uuid, uuid) == 0)
            return true;
        g_string_append_printf(others, " %s", *identity.uuid ? identity.uuid : "one without");
    }
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "no usable GPU %s, but%s", uuid,
                others->len ? others->str : " none at all");
    return false;
}

bool device_find(const char *name, int *index, GError **error)
{
    guint64 number = 0;

    *index = 0;
    if (g_str_has_prefix(name, "GPU-") || g_str_has_prefix(name, "MIG-"))
        return find_uuid(name, index, error);
    if (*name && strcmp(name, "local") != 0 &&
        !g_ascii_string_to_unsigned(name, 10, 0, DEVICE_NUMBER_MAX, &number, NULL)) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                    "'%s' names no device: give a number from 0, a GPU's UUID, or 'local' for the "
                    "first",
                    name);
        return false;
    }
    *index = (int)number;
    return true;
}

void device_close(struct device *device)
{
    if (device)
        device->row->close(device);
}
