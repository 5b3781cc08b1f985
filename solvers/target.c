#include "solvers/target.h"

#include "solvers/text_cursor.h"

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
