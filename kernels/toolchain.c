#include "kernels/toolchain.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/kernel_source.h"
#include "kernels/toolchain_rows.h"

G_DEFINE_QUARK(skipjack - kernels - error - quark, kernels_error)

const struct toolchain *const toolchain_table[] = {
    &toolchain_clang,
    &toolchain_hiprtc,
    &toolchain_nvrtc,
    &toolchain_opencl,
};

const int toolchain_table_count = (int)G_N_ELEMENTS(toolchain_table);

void code_object_clear(struct code_object *object)
{
    g_clear_pointer(&object->code, g_bytes_unref);
    g_clear_pointer(&object->log, g_free);
    g_clear_pointer(&object->instructions, g_free);
}

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

const struct toolchain *toolchain_for_target(const struct target *target, GError **error)
{
    static const struct toolchain *const usual[] = {
        [VENDOR_AMD] = &toolchain_clang,
        [VENDOR_NVIDIA] = &toolchain_nvrtc,
        [VENDOR_CPU] = &toolchain_opencl,
    };
    const char *wish = g_getenv("SKIPJACK_TOOLCHAIN");
    const struct toolchain *wished = wish && *wish ? toolchain_find(wish) : NULL;

    if (wish && *wish && !wished) {
        wish_unknown(wish, error);
        return NULL;
    }
    return wished && wished->vendor == target->vendor ? wished : usual[target->vendor];
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

    /* The terminating NUL goes in too: it keeps neighbouring parts apart. */
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
