#include "coordinator/nights/plan/night_stacks.h"

#include <stdbool.h>
#include <string.h>

static const char *const runtimes[] = {"cuda", "hip", "opencl", NULL};
static const char *const drivers[] = {"driver", NULL};

const char *const *stack_toolchains(enum vendor vendor)
{
    static const char *const names[][3] = {
        [VENDOR_AMD] = {"clang", "hiprtc", NULL},
        [VENDOR_NVIDIA] = {"nvrtc", NULL},
        [VENDOR_CPU] = {"opencl", NULL},
    };
    return names[vendor];
}

void stack_changes_clear(struct stack_changes *changes)
{
    for (int part = 0; part < STACK_PART_COUNT; part++)
        g_clear_pointer(&changes->texts[part], g_free);
}

/* The version in the item of that name: "15.0.6 Debian" of "hip 6.2; clang 15.0.6 Debian". NULL if the stack lacks it.
 * Free with g_free(). */
static char *find_item(const char *stack, const char *name)
{
    g_auto(GStrv) items = g_strsplit(stack, ";", -1);
    gsize length = strlen(name);
    for (char **item = items; *item; item++) {
        const char *text = g_strstrip(*item);
        if (g_ascii_strncasecmp(text, name, length) == 0 &&
            (text[length] == ' ' || text[length] == '\0'))
            return g_strstrip(g_strdup(text + length));
    }
    return NULL;
}

/* Returns true if the item of a node has the version of a measurement. A node with several clangs lists them: "19.1.7
 * Debian, 15.0.6 Debian"; a measurement names the one that compiled for it. */
static bool has_version(const char *item, const char *version)
{
    g_auto(GStrv) versions = g_strsplit(item, ",", -1);
    if (g_ascii_strcasecmp(item, version) == 0)
        return true;
    for (char **each = versions; *each; each++)
        if (g_ascii_strcasecmp(g_strstrip(*each), version) == 0)
            return true;
    return false;
}

/* How a stack of today compares with a measurement's in the items of these names. same: how many of the
 * measurement's items it has as they were; other: how many it has in another version. */
struct comparison {
    int asked, same, other;
};

static struct comparison compare(const char *stack, const char *const *names, const char *now)
{
    struct comparison found = {0};
    for (; *names; names++) {
        g_autofree char *before = find_item(stack, *names);
        g_autofree char *after = before ? find_item(now, *names) : NULL;
        found.asked += before != NULL;
        found.same += after && has_version(after, before);
        found.other += after && !has_version(after, before);
    }
    return found;
}

/* "clang 15.0.6 -> 19.1.7, hiprtc 9.0 -> none" of the items that differ. */
static char *describe(const char *stack, const char *const *names, const char *now)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (; *names; names++) {
        g_autofree char *before = find_item(stack, *names);
        g_autofree char *after = before ? find_item(now, *names) : NULL;
        if (before && (!after || !has_version(after, before)))
            g_string_append_printf(text, "%s%s %s -> %s", text->len > 0 ? ", " : "", *names, before,
                                   after ? after : "none");
    }
    return g_strdup(text->str);
}

/* Returns what changed in the items of these names; NULL if one of the stacks has none of them in another version, and
 * at least one as it was. */
static char *find_change(const char *stack, const char *const *names, const GPtrArray *today)
{
    const char *nearest = NULL;
    int most = -1;
    for (guint i = 0; i < today->len; i++) {
        const char *now = g_ptr_array_index(today, i);
        struct comparison found = compare(stack, names, now);
        if (found.asked == 0 || (found.same > 0 && found.other == 0))
            return NULL;
        if (found.same + found.other > most) {
            most = found.same + found.other;
            nearest = now;
        }
    }
    return nearest ? describe(stack, names, nearest) : NULL;
}

/* The devices' stacks that have the measurement's items of these names as they were. */
static GPtrArray *alike(const char *stack, const char *const *names, const GPtrArray *today)
{
    GPtrArray *found = g_ptr_array_new();
    for (guint i = 0; i < today->len; i++) {
        struct comparison compared = compare(stack, names, g_ptr_array_index(today, i));
        if (compared.asked == compared.same)
            g_ptr_array_add(found, g_ptr_array_index(today, i));
    }
    return found;
}

/* The names of runtimes that count in a measurement. A GPU's node may have OpenCL as a toolchain for its CPU; it is
 * the device's runtime only if there is no other. A CPU's OpenCL counts as its toolchain. */
static const char *const *runtimes_of(const char *stack, enum vendor vendor)
{
    static const char *const of_gpus[] = {"cuda", "hip", NULL}, *const none[] = {NULL};
    for (int i = 0; of_gpus[i]; i++) {
        g_autofree char *item = find_item(stack, of_gpus[i]);
        if (item)
            return of_gpus;
    }
    return vendor == VENDOR_CPU ? none : runtimes;
}

void stack_changes_find(const char *stack, enum vendor vendor, const struct stacks_today *today,
                        struct stack_changes *changes)
{
    const char *const *its_runtimes = runtimes_of(stack, vendor);
    *changes = (struct stack_changes){0};
    changes->texts[STACK_TOOLCHAIN] = find_change(stack, stack_toolchains(vendor), today->builders);
    changes->texts[STACK_RUNTIME] = find_change(stack, its_runtimes, today->devices);
    /* A driver counts together with its runtime: one device has to have both as they were. */
    g_autoptr(GPtrArray) same = alike(stack, its_runtimes, today->devices);
    changes->texts[STACK_DRIVER] =
        find_change(stack, drivers, same->len > 0 ? same : today->devices);
}
