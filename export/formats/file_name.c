#include "export/formats/file_name.h"

#include "export/formats/byte_source.h"

#include <string.h>

static const struct {
    const char *name, *ending;
    const char *endings[2]; /* endings accepted when reading */
} kinds[FILE_KIND_COUNT] = {
    [FILE_FIND_DB] = {"find-db", ".HIP.fdb.txt", {".fdb.txt", ".ufdb.txt"}},
    [FILE_PERF_DB] = {"perf-db", ".db", {".db", ".udb"}},
    [FILE_PERF_TEXT] = {"perf-db text", ".db.txt", {".db.txt", ".udb.txt"}},
    [FILE_KERNEL_DB] = {"kernel-db", ".kdb", {".kdb", ".ukdb"}},
    [FILE_SJDB] = {".sjdb", ".sjdb", {".sjdb", ".sjdb"}},
};

char *file_name(const struct target *target, enum file_kind kind)
{
    char name[TARGET_FILE_NAME_MAX];
    return g_strconcat(kind == FILE_SJDB ? target->id : target_file_name(target, name),
                       kinds[kind].ending, NULL);
}

char *file_name_of(const char *target_id, enum file_kind kind)
{
    struct target target;
    return target_parse(target_id, &target, NULL)
               ? file_name(&target, kind)
               : g_strconcat(target_id, kinds[kind].ending, NULL);
}

bool file_name_kind(const char *name, enum file_kind *kind)
{
    g_autofree char *bare = g_strndup(name, packed_name_length(name));
    for (int i = 0; i < FILE_KIND_COUNT; i++) {
        if (g_str_has_suffix(bare, kinds[i].endings[0]) ||
            g_str_has_suffix(bare, kinds[i].endings[1])) {
            *kind = (enum file_kind)i;
            return true;
        }
    }
    return false;
}

const char *file_kind_name(enum file_kind kind)
{
    return kinds[kind].name;
}

/* ---- targets ---- */

/* Takes an architecture with its features ("gfx90a"), without a number of compute units. AMD's
 * names alone: the ids of NVIDIA's GPUs and of CPUs always state more than the architecture. */
static bool take_arch(const char *text, struct target *target)
{
    g_autofree char *id = g_strconcat(text, "_1", NULL);
    if (!g_str_has_prefix(text, "gfx") || !target_parse(id, target, NULL) ||
        !target_arch_known(target->arch)) {
        return false;
    }
    target->compute_units = 0;
    g_snprintf(target->id, sizeof target->id, "%s%s", target->arch, target->features);
    return true;
}

/* Takes a name whose number of compute units is decimal and above 64 ("gfx90a_104"). MIOpen itself
 * writes such numbers in hexadecimal ("gfx90a68"). */
static bool take_decimal(const char *text, struct target *target)
{
    const char *last = strrchr(text, '_');
    if (last == NULL || last[1] == '\0' || strspn(last + 1, "0123456789") != strlen(last + 1) ||
        strlen(last + 1) > 5) {
        return false;
    }
    g_autofree char *arch = g_strndup(text, (gsize)(last - text));
    if (!take_arch(arch, target)) {
        return false;
    }
    target->compute_units = (int)g_ascii_strtoll(last + 1, NULL, 10);
    target_set_id(target);
    g_autofree char *id = g_strdup(target->id);
    return target_parse(id, target, NULL);
}

struct file_target file_id_target(const char *id)
{
    struct file_target found = {.known = TARGET_WHOLE};
    if (target_parse(id, &found.target, NULL) || take_decimal(id, &found.target)) {
        return found;
    }
    return (struct file_target){.known = TARGET_UNKNOWN};
}

struct file_target file_name_target(const char *name)
{
    g_autofree char *rest = g_path_get_basename(name);
    enum file_kind kind;
    bool is_ours = file_name_kind(rest, &kind) && kind == FILE_SJDB;
    for (;;) {
        struct file_target found = file_id_target(rest);
        if (found.known == TARGET_UNKNOWN && take_arch(rest, &found.target)) {
            found.known = TARGET_ARCH;
        }
        found.by_miopen = found.known == TARGET_WHOLE && !is_ours;
        char *dot = strrchr(rest, '.');
        if (found.known != TARGET_UNKNOWN || dot == NULL) {
            return found;
        }
        *dot = '\0';
    }
}

/* LLVM writes a feature's setting as "xnack+" or "sramecc-", MIOpen as "_xnack" or "_nosramecc". */
struct file_target file_arch_target(const char *arch)
{
    struct file_target found = {.known = TARGET_ARCH};
    g_auto(GStrv) words = g_strsplit(arch, ":", -1);
    const char *name = words[0] != NULL ? words[0] : "";
    if (name[0] == '\0' || strlen(name) >= sizeof found.target.arch) {
        return (struct file_target){.known = TARGET_UNKNOWN};
    }
    found.target.vendor = g_str_has_prefix(name, "gfx")   ? VENDOR_AMD
                          : g_str_has_prefix(name, "sm_") ? VENDOR_NVIDIA
                                                          : VENDOR_CPU;
    g_strlcpy(found.target.arch, name, sizeof found.target.arch);
    for (char **word = words + 1; *word != NULL; word++) {
        size_t length = strlen(*word);
        char sign = length > 0 ? (*word)[length - 1] : '\0';
        g_autofree char *feature = g_strdup_printf("_%s%.*s", sign == '-' ? "no" : "",
                                                   length > 0 ? (int)length - 1 : 0, *word);
        g_strlcat(found.target.features, feature, sizeof found.target.features);
    }
    g_snprintf(found.target.id, sizeof found.target.id, "%s", arch);
    return found;
}

static bool has_feature(const struct target *target, const char *feature)
{
    const char *at = target->features;
    size_t length = strlen(feature);
    while ((at = strstr(at, feature)) != NULL) {
        if (at[length] == '\0' || at[length] == '_') {
            return true;
        }
        at += length;
    }
    return false;
}

/* Returns true if one target has a feature on and the other has it off. */
static bool features_contradict(const struct target *a, const struct target *b)
{
    static const char *const features[][2] = {{"_xnack", "_noxnack"}, {"_sramecc", "_nosramecc"}};
    for (size_t i = 0; i < G_N_ELEMENTS(features); i++) {
        if ((has_feature(a, features[i][0]) && has_feature(b, features[i][1])) ||
            (has_feature(a, features[i][1]) && has_feature(b, features[i][0]))) {
            return true;
        }
    }
    return false;
}

bool file_targets_fit(const struct file_target *a, const struct file_target *b)
{
    if (a->known == TARGET_UNKNOWN || b->known == TARGET_UNKNOWN) {
        return true;
    }
    if (a->known == TARGET_WHOLE && b->known == TARGET_WHOLE) {
        char name[TARGET_FILE_NAME_MAX], other[TARGET_FILE_NAME_MAX];
        return strcmp(a->target.id, b->target.id) == 0 ||
               ((a->by_miopen || b->by_miopen) && strcmp(target_file_name(&a->target, name),
                                                         target_file_name(&b->target, other)) == 0);
    }
    return strcmp(a->target.arch, b->target.arch) == 0 &&
           !features_contradict(&a->target, &b->target);
}

const char *file_target_text(const struct file_target *target)
{
    return target->known == TARGET_UNKNOWN ? "unknown" : target->target.id;
}
