#include "kernels/toolchains/toolchain.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/kernel_source.h"
#include "kernels/toolchains/toolchain_rows.h"

const struct toolchain *const toolchain_table[] = {
    &toolchain_clang,
    &toolchain_hiprtc,
    &toolchain_nvrtc,
    &toolchain_opencl,
};

const int toolchain_table_count = (int)G_N_ELEMENTS(toolchain_table);

const struct toolchain *toolchain_find(const char *name)
{
    for (int i = 0; i < toolchain_table_count; i++) {
        if (strcmp(toolchain_table[i]->name, name) == 0)
            return toolchain_table[i];
    }
    return NULL;
}

static void wish_unknown(const char *wish, GError **error)
{
    g_autoptr(GString) names = g_string_new(NULL);

    for (int i = 0; i < toolchain_table_count; i++)
        g_string_append_printf(names, "%s%s", i ? ", " : "", toolchain_table[i]->name);
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                "SKIPJACK_TOOLCHAIN is '%s', and the toolchains are %s", wish, names->str);
}

static bool serves(const struct toolchain *toolchain, const struct target *target, GError **error)
{
    return toolchain->version(target, error) && toolchain->can_compile(target, error);
}

static bool is_candidate(const struct toolchain *toolchain, const struct toolchain *wished,
                         const char *const *names, const struct target *target)
{
    bool wish_is_of_vendor = wished && wished->vendor == target->vendor;

    return toolchain->vendor == target->vendor && (!wish_is_of_vendor || wished == toolchain) &&
           (!names || g_strv_contains(names, toolchain->name));
}

const struct toolchain *toolchain_for_target(const struct target *target, const char *const *names,
                                             GError **error)
{
    const char *wish = g_getenv("SKIPJACK_TOOLCHAIN");
    const struct toolchain *wished = wish && *wish ? toolchain_find(wish) : NULL;
    g_autoptr(GString) reasons = g_string_new(NULL);
    int code = KERNELS_ERROR_TARGET;

    if (wish && *wish && !wished) {
        wish_unknown(wish, error);
        return NULL;
    }
    for (int i = 0; i < toolchain_table_count; i++) {
        const struct toolchain *toolchain = toolchain_table[i];
        g_autoptr(GError) reason = NULL;
        if (!is_candidate(toolchain, wished, names, target))
            continue;
        if (serves(toolchain, target, &reason))
            return toolchain;
        g_string_append_printf(reasons, "%s%s: %s", reasons->len ? "; " : "", toolchain->name,
                               reason->message);
        if (!g_error_matches(reason, KERNELS_ERROR, KERNELS_ERROR_TARGET))
            code = KERNELS_ERROR_UNAVAILABLE;
    }
    g_set_error(error, KERNELS_ERROR, code, "%s",
                reasons->len ? reasons->str
                             : "none of the toolchains asked for is for such targets");
    return NULL;
}

/* Whether the item is a constraint on `name`: the name, then a blank, a comparison or the end. */
static bool begins_with_name(const char *item, const char *name)
{
    gsize length = strlen(name);

    item += strspn(item, " \t\n");
    return g_ascii_strncasecmp(item, name, length) == 0 && strchr(" \t\n<>=", item[length]);
}

char **toolchain_names_in(const char *stack, const struct target *target)
{
    g_auto(GStrv) items = g_strsplit(stack, ";", -1);
    g_autoptr(GStrvBuilder) names = g_strv_builder_new();
    char **found;

    for (int i = 0; i < toolchain_table_count; i++) {
        for (char **item = items; *item; item++) {
            if (toolchain_table[i]->vendor == target->vendor &&
                begins_with_name(*item, toolchain_table[i]->name)) {
                g_strv_builder_add(names, toolchain_table[i]->name);
                break;
            }
        }
    }
    found = g_strv_builder_end(names);
    if (found[0])
        return found;
    g_strfreev(found);
    return NULL;
}

/* Compares two version numbers, part by part, as far as `wanted` has parts; a version with fewer parts is less. The
 * schema's SQL function version_meets() must compare in the same way. */
static int compare_versions(const char *present, const char *wanted)
{
    for (;;) {
        char *present_end, *wanted_end;
        guint64 has = g_ascii_strtoull(present, &present_end, 10);
        guint64 asked = g_ascii_strtoull(wanted, &wanted_end, 10);
        if (present_end == present || has < asked)
            return -1;
        if (has > asked)
            return 1;
        if (*wanted_end != '.')
            return 0;
        wanted = wanted_end + 1;
        present = *present_end == '.' ? present_end + 1 : "";
    }
}

static bool meets(int compared, const char *operator)
{
    return compared == 0 ? strchr(operator, '=') != NULL ||
                               *operator== '\0' : * operator==(compared < 0 ? '<' : '>');
}

/* Whether the version meets an item: the name, then "15", or one or more of ">= 15". True for an item without a
 * number to compare. */
static bool meets_item(const char *item, const char *name, const char *version)
{
    const char *at = item + strspn(item, " \t\n") + strlen(name);
    const char *number = version + strcspn(version, "0123456789");
    bool met = true;

    while (met) {
        char operator[3] = "";
        at += strspn(at, " \t\n");
        g_strlcpy(operator, at, MIN(strspn(at, "<>="), 2) + 1);
        at += strlen(operator);
        at += strspn(at, " \t\n");
        size_t length = strspn(at, "0123456789.");
        if (length == 0 || (at[length] && !strchr(" \t\n<>=", at[length])))
            return met;
        met = meets(compare_versions(number, at), operator);
        at += length;
    }
    return met;
}

char *toolchain_lacks(const struct toolchain *toolchain, const char *version, const char *stack)
{
    g_auto(GStrv) items = g_strsplit(stack, ";", -1);

    for (char **item = items; *item; item++) {
        if (begins_with_name(*item, toolchain->name) &&
            !meets_item(*item, toolchain->name, version))
            return g_strdup_printf("%s %s compiles for it, asked for is \"%s\"", toolchain->name,
                                   version, g_strstrip(*item));
    }
    return NULL;
}

bool toolchain_stack_only_compiles(const char *stack)
{
    const struct target amd = {.vendor = VENDOR_AMD};
    const char *wish = g_getenv("SKIPJACK_TOOLCHAIN");
    const struct toolchain *wished = wish ? toolchain_find(wish) : NULL;
    g_auto(GStrv) names = toolchain_names_in(stack, &amd);
    bool compiles = false, assembles = false;

    for (char **name = names; name && *name; name++) {
        const struct toolchain *toolchain = toolchain_find(*name);
        if (!is_candidate(toolchain, wished, NULL, &amd))
            continue;
        compiles = true;
        assembles = assembles || toolchain->assemble;
    }
    return compiles && !assembles;
}

void kernel_key(const char *source_sha256, const struct launch *launch, const struct target *target,
                const struct toolchain *toolchain, const char *toolchain_version,
                char key[KERNEL_KEY_LENGTH + 1])
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    static const char *const forms[] = {
        [PROGRAM_SOURCE] = "source",
        [PROGRAM_ASSEMBLY] = "assembly",
        [PROGRAM_OBJECT] = "object",
    };
    const char *const parts[] = {
        forms[launch->program_kind],
        source_sha256,
        launch->options,
        launch->entry,
        target->arch,
        target->features,
        toolchain->name,
        toolchain_version,
        toolchain->flags,
        toolchain->prelude,
    };
    gsize count = G_N_ELEMENTS(parts) - (toolchain->prelude ? 0 : 1);

    /* Each text is hashed with its NUL, so that moving a character from one text to the next changes the key. */
    for (gsize i = 0; i < count; i++)
        g_checksum_update(sum, (const guchar *)parts[i], (gssize)strlen(parts[i]) + 1);
    g_strlcpy(key, g_checksum_get_string(sum), KERNEL_KEY_LENGTH + 1);
}

static int compare_file(const void *file, const void *row)
{
    return strcmp(file, ((const struct kernel_source *)row)->file);
}

const struct kernel_source *kernel_source_find(const char *file, GError **error)
{
    const struct kernel_source *found = bsearch(file, kernel_sources, kernel_sources_count,
                                                sizeof(kernel_sources[0]), compare_file);

    if (!found)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_SOURCE,
                    "no kernel source '%s' is built in: a solver names a file that kernels/device/ "
                    "lacks",
                    file);
    return found;
}
