#include "solvers/framework/target.h"

#include "solvers/problem/text_cursor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNITS_MAX         100000
/* the most compute units that an id gives in decimal; MIOpen writes larger counts in hexadecimal */
#define DECIMAL_UNITS_MAX 64

/* Suffixes of an id's features: off, on. An id has them in this order, each feature at most once. */
static const char *const feature_names[][2] = {{"_nosramecc", "_sramecc"}, {"_noxnack", "_xnack"}};

/* AMD's compute modes (how a card's dies are grouped) and memory modes. */
static const char *const compute_modes[] = {"dpx", "tpx", "qpx", "cpx"};
static const char *const memory_modes[] = {"nps2", "nps4", "nps8"};
#define WHOLE_COMPUTE "spx"
#define WHOLE_MEMORY  "nps1"

#define INSTANCE "mig" /* how the partition of an id begins for NVIDIA's MIG instances */

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
        text_write(&writer, "%s", t->partition);
        return;
    case VENDOR_NVIDIA:
        text_write(&writer, "%s_%d_%dg%s", t->arch, t->compute_units, t->memory_gib, t->partition);
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

static void take_features(struct text_cursor *cursor, struct target *t)
{
    t->features[0] = '\0';
    for (size_t i = 0; i < G_N_ELEMENTS(feature_names); i++) {
        for (int which = 0; which < 2; which++) {
            if (text_take_literal(cursor, feature_names[i][which])) {
                g_strlcat(t->features, feature_names[i][which], sizeof t->features);
                break;
            }
        }
    }
}

/* ---- modes in which a card is divided into several devices, as in gfx942_38_cpx_nps4 ---- */

/* Takes one of `modes` if it is next, and returns it; NULL where none of them is next. */
static const char *take_mode(struct text_cursor *cursor, const char *const *modes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_take_literal(cursor, modes[i]))
            return modes[i];
    return NULL;
}

static void add_part(struct target *t, const char *part)
{
    g_strlcat(t->partition, "_", sizeof t->partition);
    g_strlcat(t->partition, part, sizeof t->partition);
}

/* Takes a number and the letter `kind` ("1g") and appends them to `slices`: a number of slices of a card. */
static bool take_slices(struct text_cursor *cursor, char kind, GString *slices)
{
    struct text_cursor at = *cursor;
    int64_t number;
    if (!text_take_number(&at, &number) || number < 1 || number > 99 || !text_take_char(&at, kind))
        return false;
    g_string_append_printf(slices, "%d%c", (int)number, kind);
    *cursor = at;
    return true;
}

/* Takes the slices of a compute instance and of a GPU instance. Drivers write a dot between the two ("1c.2g"), and
 * nothing for an unknown profile. */
static void take_instance(struct text_cursor *cursor, struct target *t)
{
    g_autoptr(GString) part = g_string_new(INSTANCE);
    struct text_cursor at = *cursor;
    if (take_slices(&at, 'c', part))
        text_take_char(&at, '.');
    if (take_slices(&at, 'g', part))
        *cursor = at;
    else
        g_string_assign(part, INSTANCE);
    add_part(t, part->str);
}

/* Takes the partition at the end of an id; each part follows a "_". */
static void take_partition(struct text_cursor *cursor, struct target *t)
{
    struct text_cursor at = *cursor;
    const char *mode;
    t->partition[0] = '\0';
    if (t->vendor == VENDOR_NVIDIA) {
        if (text_take_literal(cursor, "_" INSTANCE))
            take_instance(cursor, t);
        return;
    }
    if (text_take_char(&at, '_') &&
        (mode = take_mode(&at, compute_modes, G_N_ELEMENTS(compute_modes))) != NULL) {
        add_part(t, mode);
        *cursor = at;
    }
    at = *cursor;
    if (text_take_char(&at, '_') &&
        (mode = take_mode(&at, memory_modes, G_N_ELEMENTS(memory_modes))) != NULL) {
        add_part(t, mode);
        *cursor = at;
    }
}

bool target_set_partition(struct target *t, const char *words)
{
    g_autofree char *small = g_ascii_strdown(words, -1);
    struct text_cursor cursor = {small, small};
    const char *mode;
    t->partition[0] = '\0';
    if (text_take_literal(&cursor, INSTANCE)) {
        text_take_char(&cursor, ' ');
        /* The id already states the memory, so the memory and media engines that may follow the slices are skipped.
         * */
        take_instance(&cursor, t);
        if (*cursor.at == '\0' || *cursor.at == '.')
            return true;
        t->partition[0] = '\0';
        return false;
    }
    if (!text_take_literal(&cursor, WHOLE_COMPUTE) &&
        (mode = take_mode(&cursor, compute_modes, G_N_ELEMENTS(compute_modes))) != NULL)
        add_part(t, mode);
    text_take_char(&cursor, ' ');
    if (!text_take_literal(&cursor, WHOLE_MEMORY) &&
        (mode = take_mode(&cursor, memory_modes, G_N_ELEMENTS(memory_modes))) != NULL)
        add_part(t, mode);
    if (*cursor.at == '\0')
        return true;
    t->partition[0] = '\0';
    return false;
}

const char *target_file_name(const struct target *t, char name[TARGET_FILE_NAME_MAX])
{
    struct target known = *t;
    if (t->vendor == VENDOR_AMD) {
        bool has_sramecc = strcmp(t->arch, "gfx906") == 0 || strcmp(t->arch, "gfx908") == 0;
        g_snprintf(known.features, sizeof known.features, "%s%s",
                   has_sramecc && strstr(t->features, "_nosramecc") ? "_nosramecc" : "",
                   strstr(t->features, "_xnack") ? "_xnack" : "");
        known.partition[0] = '\0';
        target_set_id(&known);
    }
    g_strlcpy(name, known.id, TARGET_FILE_NAME_MAX);
    return name;
}

/* ---- reading ---- */

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

/* Parses an AMD id, with the first arch_length characters as the architecture's name. */
static bool parse_amd_at(const char *id, size_t arch_length, struct target *t)
{
    struct text_cursor cursor = {id, id + arch_length};
    if (arch_length >= sizeof t->arch) {
        return false;
    }
    memcpy(t->arch, id, arch_length);
    t->arch[arch_length] = '\0';
    take_features(&cursor, t);
    bool decimal = text_take_char(&cursor, '_');
    /* Only a known architecture's name shows where a hexadecimal count begins; after an unknown name only a decimal
     * count is taken. */
    bool taken = decimal ? take_units(&cursor, &t->compute_units)
                         : target_arch_known(t->arch) && take_hex_units(&cursor, &t->compute_units);
    take_partition(&cursor, t);
    return taken && *cursor.at == '\0';
}

/* Parses an AMD id. The architecture is the longest known name with which the rest of the id parses; failing that,
 * any name before an underscore. */
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
    if (!text_take_char(&cursor, '_') || !take_units(&cursor, &t->compute_units) ||
        !text_take_char(&cursor, '_') || !take_units(&cursor, &t->memory_gib) ||
        !text_take_literal(&cursor, "g"))
        return false;
    take_partition(&cursor, t);
    return *cursor.at == '\0';
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
    /* the last underscore ends the name, since LLVM's names may hold underscores */
    const char *last = strrchr(name, '_');
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
            "64), gfx1030_36, sm_90_132_80g (multiprocessors, GiB) or cpu-znver4_2 (threads); features "
            "like gfx90a_xnack68, parts of a card like gfx942_38_cpx_nps4 or sm_90_16_10g_mig1g",
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

/* Bounds for plausible limits, far above any device: local memory, bytes of a vector register, work-items of a
 * workgroup. */
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
           strncmp(said.partition, t->partition, sizeof t->partition) == 0 &&
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
