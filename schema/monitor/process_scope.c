/* The boot id and the PID namespace, from /proc. */
#include "schema/monitor/process_scope.h"

#include <glib.h>
#include <string.h>

static char *boot_id(void)
{
    char *text = NULL;
    if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
        return g_strdup("unknown");
    return g_strstrip(text);
}

static char *pid_namespace(void)
{
    g_autofree char *link = g_file_read_link("/proc/self/ns/pid", NULL);
    const char *number = link ? strchr(link, '[') : NULL;
    return number ? g_strndup(number + 1, strcspn(number + 1, "]")) : g_strdup("0");
}

char *process_scope(void)
{
    g_autofree char *boot = boot_id();
    g_autofree char *namespace = pid_namespace();
    return g_strconcat(boot, ":", namespace, NULL);
}
