#include "tests/support/farm/processes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool has_words(long pid, const char *words)
{
    g_autofree char *path = g_strdup_printf("/proc/%ld/cmdline", pid);
    g_autofree char *line = NULL;
    gsize length;
    if (!g_file_get_contents(path, &line, &length, NULL))
        return false;
    for (gsize i = 0; i < length; i++)
        line[i] = line[i] == '\0' ? ' ' : line[i];
    return length > 0 && strstr(line, words) != NULL;
}

GArray *process_children(pid_t parent, const char *words)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(pid_t));
    g_autofree char *path =
        g_strdup_printf("/proc/%ld/task/%ld/children", (long)parent, (long)parent);
    g_autofree char *list = NULL;
    g_file_get_contents(path, &list, NULL, NULL);
    g_auto(GStrv) children = g_strsplit(list ? list : "", " ", -1);
    for (char **child = children; *child; child++) {
        pid_t pid = (pid_t)strtol(*child, NULL, 10);
        if (pid > 0 && has_words(pid, words))
            g_array_append_val(found, pid);
    }
    return found;
}
