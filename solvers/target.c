#include "solvers/target.h"

#include "solvers/text_cursor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNITS_MAX         100000
#define DECIMAL_UNITS_MAX 64 /* MIOpen writes more in hexadecimal */

static const char *const feature_names[] = {"_nosramecc", "_sramecc", "_noxnack", "_xnack"};

void target_set_id(struct target *t)
{
    struct text_writer writer;
    text_writer_init(&writer, t->id, sizeof t->id);
    switch (t->vendor) {
    case VENDOR_AMD:
        text_write(&writer, "%s%s", t->arch, t->features);
        if (t->compute_units <= DECIMAL_UNITS_MAX) {
            text_write(&writer, "_%d", t->compute_units);
        } else {
            text_write(&writer, "%x", (unsigned)t->compute_units);
        }
        return;
    case VENDOR_NVIDIA:
        text_write(&writer, "%s_%d_%dg", t->arch, t->compute_units, t->memory_gib);
        return;
    case VENDOR_CPU: text_write(&writer, "cpu-%s_%d", t->arch, t->compute_units); return;
    }
    g_assert_not_reached();
}

static bool take_units(struct text_cursor *cursor, int *units)
{
    int64_t number;
    if (!text_take_number(cursor, &number) || number < 1 || number > UNITS_MAX) {
        return false;
    }
    *units = (int)number;
    return true;
}

static bool take_feature(struct text_cursor *cursor, struct target *t)
{
    for (size_t i = 0; i < G_N_ELEMENTS(feature_names); i++) {
        if (text_take_literal(cursor, feature_names[i])) {
            return g_strlcat(t->features, feature_names[i], sizeof t->features) <
                   sizeof t->features;
        }
    }
    return false;
}

static bool take_hex_units(struct text_cursor *cursor, int *units)
{
    int64_t number = 0;
    for (; g_ascii_isxdigit(*cursor->at); cursor->at++) {
        number = number * 16 + g_ascii_xdigit_value(*cursor->at);
        if (number > UNITS_MAX) {
            return false;
        }
    }
    *units = (int)number;
    return number > DECIMAL_UNITS_MAX;
}

/* Reads what follows an architecture's name of this length. */
static bool parse_amd_at(const char *id, size_t arch_length, struct target *t)
{
    struct text_cursor cursor = {id, id + arch_length};
    if (arch_length >= sizeof t->arch) {
        return false;
    }
    memcpy(t->arch, id, arch_length);
    t->arch[arch_length] = '\0';
    t->features[0] = '\0';
    while (take_feature(&cursor, t)) {
    }
    bool decimal = text_take_char(&cursor, '_');
    /* A count in hexadecimal can only be told from a name that is known. */
    bool taken = decimal ? take_units(&cursor, &t->compute_units)
                         : target_arch_known(t->arch) && take_hex_units(&cursor, &t->compute_units);
    return taken && *cursor.at == '\0';
}

/* The longest name of a known architecture with which the rest makes sense; else any name in front
 * of an underscore. */
static bool parse_amd(const char *id, struct target *t)
{
    size_t whole = strspn(id + 3, "0123456789abcdef") + 3;
    t->vendor = VENDOR_AMD;
    for (size_t length = whole; length > 3; length--) {
        if (parse_amd_at(id, length, t)) {
            return true;
        }
    }
    return false;
}

static bool parse_nvidia(const char *id, struct target *t)
{
    struct text_cursor cursor = {id, id + strlen("sm_")};
    char arch[16];
    t->vendor = VENDOR_NVIDIA;
    if (!g_ascii_isdigit(*cursor.at) || !text_take_word(&cursor, "_", arch, sizeof arch) ||
        strspn(arch, "0123456789af") != strlen(arch)) {
        return false;
    }
    snprintf(t->arch, sizeof t->arch, "sm_%s", arch);
    return text_take_char(&cursor, '_') && take_units(&cursor, &t->compute_units) &&
           text_take_char(&cursor, '_') && take_units(&cursor, &t->memory_gib) &&
           text_take_literal(&cursor, "g") && *cursor.at == '\0';
}

static bool plain_name(const char *name)
{
    for (; *name != '\0'; name++) {
        if (!g_ascii_isalnum(*name) && strchr("-_.+", *name) == NULL) {
            return false;
        }
    }
    return true;
}

static bool parse_cpu(const char *id, struct target *t)
{
    const char *name = id + strlen("cpu-");
    const char *last = strrchr(name, '_'); /* LLVM's names may hold underscores themselves */
    t->vendor = VENDOR_CPU;
    if (last == NULL || last == name || (size_t)(last - name) >= sizeof t->arch) {
        return false;
    }
    memcpy(t->arch, name, (size_t)(last - name));
    t->arch[last - name] = '\0';
    struct text_cursor cursor = {id, last + 1};
    return plain_name(t->arch) && take_units(&cursor, &t->compute_units) && *cursor.at == '\0';
}

bool target_parse(const char *id, struct target *t, GError **error)
{
    struct target made = {0};
    bool ok = false;
    if (g_str_has_prefix(id, "gfx")) {
        ok = parse_amd(id, &made);
    } else if (g_str_has_prefix(id, "sm_")) {
        ok = parse_nvidia(id, &made);
    } else if (g_str_has_prefix(id, "cpu-")) {
        ok = parse_cpu(id, &made);
    }
    if (ok) {
        target_set_id(&made);
    }
    if (!ok || strcmp(made.id, id) != 0) {
        g_autofree char *shown = g_utf8_make_valid(id, (gssize)strnlen(id, 80));
        g_set_error(
            error, SOLVERS_ERROR, SOLVERS_ERROR_UNKNOWN,
            "unknown target '%s': name it like gfx90a68 (compute units in hexadecimal past "
            "64), gfx1030_36, sm_90_132_80g (multiprocessors, GiB) or cpu-znver4_2 (threads)",
            shown);
        return false;
    }
    target_set_limits(&made);
    *t = made;
    return true;
}

int target_compute_capability(const struct target *t)
{
    if (t->vendor != VENDOR_NVIDIA)
        return 0;
    return (int)MIN(g_ascii_strtoull(t->arch + strlen("sm_"), NULL, 10), INT_MAX);
}

/* What any device stays below by far: a workgroup's memory, a register's bytes, items of a workgroup. */
#define LOCAL_BYTES_MAX  (1ll << 40)
#define VECTOR_BYTES_MAX 4096
#define WORKGROUP_MAX    (1 << 20)
#define WAVE_MAX         1024

static bool invalid(const struct target *t, const char *field, GError **error)
{
    g_autofree char *shown = g_utf8_make_valid(t->id, (gssize)strnlen(t->id, sizeof t->id));
    g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID,
                "target '%s': its %s is none that a device has", shown, field);
    return false;
}

static bool names_itself(const struct target *t)
{
    struct target said;
    return memchr(t->id, '\0', sizeof t->id) != NULL && target_parse(t->id, &said, NULL) &&
           said.vendor == t->vendor && strncmp(said.arch, t->arch, sizeof t->arch) == 0 &&
           strncmp(said.features, t->features, sizeof t->features) == 0 &&
           said.compute_units == t->compute_units && said.memory_gib == t->memory_gib;
}

bool target_validate(const struct target *t, GError **error)
{
    const struct {
        const char *name;
        int64_t value, least, most;
    } limits[] = {
        {"local_bytes", t->local_bytes, 0, LOCAL_BYTES_MAX},
        {"max_workgroup", t->max_workgroup, 1, WORKGROUP_MAX},
        {"wave_size", t->wave_size, 1, WAVE_MAX},
        {"vector_bytes", t->vector_bytes, 0, VECTOR_BYTES_MAX},
    };
    if (!names_itself(t))
        return invalid(t, "id, beside its architecture and sizes,", error);
    for (size_t i = 0; i < G_N_ELEMENTS(limits); i++)
        if (limits[i].value < limits[i].least || limits[i].value > limits[i].most)
            return invalid(t, limits[i].name, error);
    if (!isfinite(t->peak_flops) || t->peak_flops < 0)
        return invalid(t, "peak_flops", error);
    if (!isfinite(t->peak_bytes) || t->peak_bytes < 0)
        return invalid(t, "peak_bytes", error);
    return true;
}
