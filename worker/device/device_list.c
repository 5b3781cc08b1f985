#include "worker/device/device_list.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "worker/device/device.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/protocol.h"

/* Time for the child that lists the GPUs: all drivers together may take this long to start. */
#define ANSWER_SECONDS 60

int device_list_child(void)
{
    int gpus;

    alarm(ANSWER_SECONDS);
    gpus = device_count_gpus();
    for (int i = 0; i < gpus; i++) {
        struct device_identity identity;
        if (device_identify(i, &identity, NULL) && *identity.uuid)
            printf("%s\n", identity.uuid);
        else
            printf("%d\n", i);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

static bool is_number(const char *text, guint64 *number)
{
    return g_ascii_string_to_unsigned(text, 10, 0, DEVICE_NUMBER_MAX, number, NULL);
}

/* Whether a line of the child's output is a device. Drivers sometimes print to standard output,
 * too, so only UUIDs and numbers count. */
static bool is_device(const char *line)
{
    return g_str_has_prefix(line, "GPU-") || g_str_has_prefix(line, "MIG-") ||
           is_number(line, NULL);
}

/* Starts this program as `child gpus` and reads the GPUs from its output. */
static char **all_gpus(GError **error)
{
    const char *const argv[] = {"/proc/self/exe", CHILD_COMMAND, "gpus", NULL};
    g_autofree char *text = NULL;
    g_autoptr(GError) why = NULL;
    g_autoptr(GPtrArray) devices = g_ptr_array_new();
    int status = 0;

    if (!g_spawn_sync(NULL, (char **)(uintptr_t)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &text,
                      NULL, &status, &why) ||
        !g_spawn_check_wait_status(status, &why)) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_CHILD,
                    "cannot list this machine's GPUs: %s (--eval none, or a device's number, needs "
                    "no list)",
                    why->message);
        return NULL;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++)
        if (is_device(*line))
            g_ptr_array_add(devices, g_strdup(*line));
    if (devices->len == 0)
        g_ptr_array_add(devices, g_strdup("0"));
    g_ptr_array_add(devices, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&devices), FALSE);
}

static bool fail(const char *device, const char *why, GError **error)
{
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID,
                "--eval takes all, local, none, or numbers and UUIDs joined by commas: '%s' %s",
                device, why);
    return false;
}

static bool is_same(const char *device, const char *other)
{
    guint64 number, other_number;

    if (is_number(device, &number) && is_number(other, &other_number))
        return number == other_number;
    return g_ascii_strcasecmp(device, other) == 0;
}

static bool check_devices(char **devices, GError **error)
{
    for (char **device = devices; *device; device++) {
        if (strcmp(*device, "local") == 0)
            strcpy(*device, "0");
        if (!is_device(*device))
            return fail(*device, "is neither", error);
        for (char **other = devices; other < device; other++)
            if (is_same(*other, *device))
                return fail(*device, "is listed twice", error);
    }
    return devices[0] || fail("", "is nothing", error);
}

char **device_list_parse(const char *list, GError **error)
{
    if (strcmp(list, "none") == 0)
        return g_new0(char *, 1);
    if (strcmp(list, "all") == 0)
        return all_gpus(error);
    g_auto(GStrv) devices = g_strsplit(list, ",", -1);
    return check_devices(devices, error) ? g_steal_pointer(&devices) : NULL;
}
