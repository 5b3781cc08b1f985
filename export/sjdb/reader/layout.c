#include "export/sjdb/reader/layout.h"

#include <endian.h>
#include <string.h>

#define ODD_A 0x9e3779b97f4a7c15u
#define ODD_B 0xc2b2ae3d27d4eb4fu

const double sjdb_power_of_ten[SJDB_DIGITS_MAX + 1] = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

static const char *const kind_names[] = {
    [SJDB_META] = "meta",
    [SJDB_STRINGS] = "strings",
    [SJDB_STRING_STARTS] = "string starts",
    [SJDB_SOLVER_NAMES] = "solver names",
    [SJDB_SOLVER_REVISIONS] = "solver revisions",
    [SJDB_SOLVER_FLAGS] = "solver flags",
    [SJDB_TIME_RANGES] = "time ranges",
    [SJDB_RARE_TIMES] = "rare times",
    [SJDB_KERNEL_HASHES] = "kernel hashes",
    [SJDB_KERNEL_NUMBERS] = "kernel numbers",
    [SJDB_KERNEL_GROUPS] = "kernel groups",
    [SJDB_KERNEL_STARTS] = "kernel starts",
    [SJDB_KERNEL_TEXT_BYTES] = "kernel text bytes",
    [SJDB_KERNEL_CODE_BYTES] = "kernel code bytes",
    [SJDB_KERNEL_CHECKS] = "kernel checks",
    [SJDB_GROUP_STARTS] = "group starts",
    [SJDB_GROUPS] = "groups",
    [SJDB_RECIPE_STARTS] = "recipe starts",
    [SJDB_RECIPES] = "recipes",
    [SJDB_LAUNCH_STARTS] = "launch starts",
    [SJDB_LAUNCHES] = "launches",
    [SJDB_FORM_STARTS] = "form starts",
    [SJDB_FORMS] = "forms",
    [SJDB_OTHER_RECIPE_STARTS] = "other recipe starts",
    [SJDB_OTHER_RECIPES] = "other recipes",
    [SJDB_OTHER_LAUNCH_STARTS] = "other launch starts",
    [SJDB_OTHER_LAUNCHES] = "other launches",
    [SJDB_OTHER_FORM_STARTS] = "other form starts",
    [SJDB_OTHER_FORMS] = "other forms",
    [SJDB_INTERVAL_ENTRIES] = "interval entries",
    [SJDB_INTERVAL_LOWS] = "interval lows",
    [SJDB_INTERVAL_HIGHS] = "interval highs",
};

/* The names of a section in the sets of problems: those with find entries, perf rows, and solutions;
 * then the other forms of problems with find entries and with solutions; last, solutions that were never
 * measured. */
#define PART(number, text)                                                                         \
    [number] = {"find " text,       "perf " text,         "solved " text,                          \
                "other find " text, "other solved " text, "unmeasured " text}
static const char *const part_names[SJDB_PART_COUNT][SJDB_SET_COUNT] = {
    PART(SJDB_BUCKETS, "buckets"),
    PART(SJDB_FINGERPRINTS, "fingerprints"),
    PART(SJDB_SHAPES, "shapes"),
    PART(SJDB_SHAPE_WIDTHS, "shape widths"),
    PART(SJDB_SHAPE_STARTS, "shape starts"),
    PART(SJDB_SHAPE_VALUES, "shape values"),
    PART(SJDB_VARIANTS, "variants"),
    PART(SJDB_VARIANT_WIDTHS, "variant widths"),
    PART(SJDB_VARIANT_STARTS, "variant starts"),
    PART(SJDB_VARIANT_VALUES, "variant values"),
    PART(SJDB_VARIANT_SLOTS, "variant slots"),
    PART(SJDB_SET_STARTS, "set starts"),
    PART(SJDB_SET_ITEMS, "set items"),
    PART(SJDB_LIST_STARTS, "list starts"),
    PART(SJDB_LIST_ITEMS, "list items"),
    PART(SJDB_LIST_BITS, "list bits"),
    PART(SJDB_PROBLEM_LISTS, "problem lists"),
    PART(SJDB_PAYLOAD_STARTS, "payload starts"),
    PART(SJDB_PAYLOAD, "payload"),
    PART(SJDB_CHOICE_SOLVERS, "choice solvers"),
    PART(SJDB_CHOICE_ALGORITHMS, "choice algorithms"),
    PART(SJDB_CHOICE_LIBRARIES, "choice libraries"),
    PART(SJDB_CHOICE_WIDTHS, "choice widths"),
    PART(SJDB_CHOICE_STARTS, "choice starts"),
    PART(SJDB_CHOICE_VALUES, "choice values"),
};

const char *sjdb_kind_name(uint32_t kind)
{
    if (kind < sizeof kind_names / sizeof kind_names[0]) {
        return kind_names[kind];
    }
    uint32_t set = kind / SJDB_SET_KINDS, part = kind % SJDB_SET_KINDS;
    return set >= 1 && set <= SJDB_SET_COUNT && part < SJDB_PART_COUNT ? part_names[part][set - 1]
                                                                       : NULL;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * ODD_A;
    return hash ^ hash >> 29;
}

/* Each step maps different hashes, and different words, to different results, so changing a single
 * word always changes the sum. */
uint64_t sjdb_checksum_words(const void *bytes, size_t size, uint64_t seed)
{
    const uint8_t *at = bytes;
    uint64_t hash = seed;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = mix(hash, le64toh(word));
    }
    return hash;
}

uint64_t sjdb_checksum(const void *bytes, size_t size, uint64_t seed)
{
    const uint8_t *end = (const uint8_t *)bytes + (size & ~(size_t)7);
    uint64_t hash = sjdb_checksum_words(bytes, size, seed);
    uint64_t last = (uint64_t)(size & 7) << 56;
    for (size_t i = 0; i < (size & 7); i++) {
        last |= (uint64_t)end[i] << (8 * i);
    }
    return mix(mix(hash, last), ODD_B);
}

uint64_t sjdb_kernel_hash(const char *name, const char *args)
{
    uint64_t hash = sjdb_checksum(name, strlen(name), SJDB_CHECK_SEED);
    return sjdb_checksum(args, strlen(args), hash);
}

/* Fields are small, so two are packed into a word. Large values overlap, which only makes different
 * rows have the same hash. */
uint64_t sjdb_fields_hash(const uint64_t *fields, int count)
{
    uint64_t hash = ODD_B;
    for (int i = 0; i < count; i += 2) {
        uint64_t high = i + 1 < count ? fields[i + 1] : 0;
        hash = mix(hash, fields[i] ^ (high << 32 | high >> 32));
    }
    return mix(hash, ODD_B) * ODD_B;
}

static bool in_range(int64_t value)
{
    return value >= 0 && value <= INT32_MAX;
}

int64_t sjdb_formula_output(const struct skipjackdb_problem *problem, int axis)
{
    int64_t in = problem->in[axis], fil = problem->fil[axis], pad = problem->pad[axis];
    int64_t stride = problem->stride[axis], dilation = problem->dilation[axis];
    if (!in_range(in) || !in_range(fil) || !in_range(pad) || !in_range(stride) ||
        !in_range(dilation) || stride == 0) {
        return 1;
    }
    int64_t span = in + 2 * pad - dilation * (fil - 1) - 1;
    if (span <= 0) {
        return 1;
    }
    if (stride == 1) {
        return span + 1; /* most strides are 1, and this avoids a slow division */
    }
    return span <= UINT32_MAX ? (uint32_t)span / (uint32_t)stride + INT64_C(1) : span / stride + 1;
}

uint64_t sjdb_zigzag(uint64_t difference)
{
    return difference >> 63 ? ~(difference << 1) : difference << 1;
}

uint64_t sjdb_unzigzag(uint64_t number)
{
    return number & 1 ? ~(number >> 1) : number >> 1;
}

/* The order of a shape's fields: spatial_dim, c, k, groups; then, each for three axes: input size,
 * filter, output size less the formula's, padding, stride, dilation. */
void sjdb_shape_fields(const struct skipjackdb_problem *problem, uint64_t *fields)
{
    fields[0] = (uint64_t)problem->spatial_dim;
    fields[1] = (uint64_t)problem->c;
    fields[2] = (uint64_t)problem->k;
    fields[3] = (uint64_t)problem->groups;
    for (int a = 0; a < 3; a++) {
        fields[4 + a] = (uint64_t)problem->in[a];
        fields[7 + a] = (uint64_t)problem->fil[a];
        fields[10 + a] =
            sjdb_zigzag((uint64_t)problem->out[a] - (uint64_t)sjdb_formula_output(problem, a));
        fields[13 + a] = (uint64_t)problem->pad[a];
        fields[16 + a] = (uint64_t)problem->stride[a];
        fields[19 + a] = (uint64_t)problem->dilation[a];
    }
}

void sjdb_shape_from_fields(const uint64_t *fields, struct skipjackdb_problem *problem)
{
    problem->spatial_dim = fields[0] == 3 ? 3 : 2;
    problem->c = (int64_t)fields[1];
    problem->k = (int64_t)fields[2];
    problem->groups = (int64_t)fields[3];
    for (int a = 0; a < 3; a++) {
        problem->in[a] = (int64_t)fields[4 + a];
        problem->fil[a] = (int64_t)fields[7 + a];
        problem->pad[a] = (int64_t)fields[13 + a];
        problem->stride[a] = (int64_t)fields[16 + a];
        problem->dilation[a] = (int64_t)fields[19 + a];
        problem->out[a] =
            (int64_t)(sjdb_unzigzag(fields[10 + a]) + (uint64_t)sjdb_formula_output(problem, a));
    }
}

/* The order of a variant's fields: n, direction, bias, three types, three layouts, three casts,
 * epilogue. */
void sjdb_variant_fields(const struct skipjackdb_problem *problem, uint64_t epilogue,
                         uint64_t *fields)
{
    fields[0] = (uint64_t)problem->n;
    fields[1] = (uint64_t)problem->direction;
    fields[2] = (uint64_t)problem->bias;
    for (int t = 0; t < 3; t++) {
        fields[3 + t] = (uint64_t)problem->type[t];
        fields[6 + t] = (uint64_t)problem->layout[t];
    }
    fields[9] = (uint64_t)problem->cast[0] | (uint64_t)problem->cast[1] << 8 |
                (uint64_t)problem->cast[2] << 16;
    fields[SJDB_VARIANT_EPILOGUE] = epilogue;
}

bool sjdb_variant_from_fields(const uint64_t *fields, struct skipjackdb_problem *problem)
{
    bool known = fields[1] <= SKIPJACKDB_W && fields[2] <= 1 && fields[9] >> 24 == 0;
    problem->n = (int64_t)fields[0];
    problem->direction = (int32_t)fields[1];
    problem->bias = (int32_t)fields[2];
    for (int t = 0; t < 3; t++) {
        uint64_t cast = fields[9] >> (8 * t) & 0xff;
        known = known && fields[3 + t] >= 1 && fields[3 + t] <= SKIPJACKDB_BF8 &&
                fields[6 + t] <= SKIPJACKDB_NDHWC && cast <= SKIPJACKDB_BF8;
        problem->type[t] = (int32_t)fields[3 + t];
        problem->layout[t] = (int32_t)fields[6 + t];
        problem->cast[t] = (int32_t)cast;
    }
    return known;
}
