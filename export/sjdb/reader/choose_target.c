/* Compares targets: how related is the device of one to that of another? */
#include "export/sjdb/reader/choose.h"

#include <stdlib.h>

#define UNITS_MAX      100000
/* The distance between targets is one number, whose bits are, from the most significant down: how
 * many generations they are apart; whether the other one is newer, which is worse, since newer
 * devices run much code made for older ones but not the reverse; whether names or features differ;
 * whether the part of the card differs; the difference in compute units, then in memory, as
 * logarithms of 21 bits. */
#define GENERATION_BIT 45
#define NEWER_BIT      44
#define NAME_BIT       43
#define PARTITION_BIT  42
#define UNITS_BIT      21

enum vendor { AMD, NVIDIA, CPU };

struct target {
    enum vendor vendor;
    const char *arch;
    size_t arch_length;
    const char *features; /* the text of the id between architecture and compute units */
    size_t features_length;
    /* the text of the id behind units and memory, which names a part of a card */
    const char *partition;
    size_t partition_length;
    uint32_t family, generation;
    uint64_t units, memory;
};

enum amd_family { GCN = 1, CDNA, RDNA };

/* The first row whose prefix matches counts. AMD's generations are numbered from GCN on to CDNA,
 * which descends from it; RDNA is its own family, far from both. */
static const struct amd_name {
    const char *begin;
    uint32_t family, generation;
} amd_names[] = {
    {"gfx908", CDNA, 6},  {"gfx90a", CDNA, 7}, {"gfx94", CDNA, 8},  {"gfx950", CDNA, 9},
    {"gfx7", GCN, 2},     {"gfx8", GCN, 3},    {"gfx9", GCN, 5},    {"gfx101", RDNA, 21},
    {"gfx103", RDNA, 22}, {"gfx11", RDNA, 23}, {"gfx12", RDNA, 24},
};

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool take_units(const char **at, int base, uint64_t *units)
{
    char *end = NULL;
    if (!(base == 16 ? is_hex(**at) : is_digit(**at))) {
        return false;
    }
    *units = strtoull(*at, &end, base);
    *at = end;
    return *units >= 1 && *units <= UNITS_MAX;
}

/* Returns true at the end of an id: the text's end, or the '.' in front of a file name's ending. */
static bool at_end(const char *at)
{
    return *at == '\0' || *at == '.';
}

static void name_amd(struct target *target)
{
    for (size_t i = 0; i < sizeof amd_names / sizeof amd_names[0]; i++) {
        if (strncmp(target->arch, amd_names[i].begin, strlen(amd_names[i].begin)) == 0) {
            target->family = amd_names[i].family;
            target->generation = amd_names[i].generation;
            return;
        }
    }
}

/* Moves *at behind the first of the names that the text goes on with; does nothing if it goes on
 * with none. */
static void take_one_of(const char **at, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(*at, names[i], strlen(names[i])) == 0) {
            *at += strlen(names[i]);
            return;
        }
    }
}

/* Takes features in their fixed order, each at most once. */
static void take_features(const char **at, struct target *target)
{
    static const char *const sramecc[] = {"_nosramecc", "_sramecc"};
    static const char *const xnack[] = {"_noxnack", "_xnack"};
    target->features = *at;
    take_one_of(at, sramecc, sizeof sramecc / sizeof sramecc[0]);
    take_one_of(at, xnack, sizeof xnack / sizeof xnack[0]);
    target->features_length = (size_t)(*at - target->features);
}

/* Takes a number from 1 to 99 and the letter `kind` behind it: "1c", "12g". */
static bool take_slices(const char **at, char kind)
{
    const char *end = *at;
    while (is_digit(*end) && end - *at < 3) {
        end++;
    }
    if (end == *at || end - *at > 2 || **at == '0' || *end != kind) {
        return false;
    }
    *at = end + 1;
    return true;
}

/* Takes the part of a card that the id names: AMD's compute and memory modes ("_cpx_nps4"), or
 * NVIDIA's instance ("_mig1g", "_mig1c2g"). */
static void take_partition(const char **at, struct target *target)
{
    static const char *const compute[] = {"_dpx", "_tpx", "_qpx", "_cpx"};
    static const char *const memory[] = {"_nps2", "_nps4", "_nps8"};
    target->partition = *at;
    if (target->vendor == AMD) {
        take_one_of(at, compute, sizeof compute / sizeof compute[0]);
        take_one_of(at, memory, sizeof memory / sizeof memory[0]);
    } else if (strncmp(*at, "_mig", 4) == 0) {
        const char *slices = *at += 4;
        take_slices(&slices, 'c');
        if (take_slices(&slices, 'g')) {
            *at = slices;
        }
    }
    target->partition_length = (size_t)(*at - target->partition);
}

/* Reads an AMD id, "gfx90a68" or "gfx908_xnack_60". The architecture has three characters behind
 * "gfx", from gfx10 on four. */
static bool read_amd(const char *id, struct target *target)
{
    size_t length = id[3] == '1' ? 7 : 6;
    for (size_t i = 3; i < length; i++) {
        if (!is_hex(id[i])) {
            return false;
        }
    }
    const char *at = id + length;
    target->vendor = AMD;
    target->arch = id;
    target->arch_length = length;
    name_amd(target);
    take_features(&at, target);
    int base = *at == '_' ? 10 : 16;
    at += base == 10;
    if (!take_units(&at, base, &target->units)) {
        return false;
    }
    take_partition(&at, target);
    return at_end(at);
}

/* Reads an NVIDIA id, "sm_90_132_80g": compute capability without its point, multiprocessors,
 * memory in GiB. */
static bool read_nvidia(const char *id, struct target *target)
{
    const char *at = id + strlen("sm_");
    uint64_t capability = 0;
    target->vendor = NVIDIA;
    target->arch = id;
    if (!take_units(&at, 10, &capability)) {
        return false;
    }
    target->arch_length = (size_t)(at - id);
    target->family = (uint32_t)capability / 10;
    target->generation = (uint32_t)capability;
    target->features = at;
    while (*at >= 'a' && *at <= 'f') {
        at++;
    }
    target->features_length = (size_t)(at - target->features);
    if (*at++ != '_' || !take_units(&at, 10, &target->units) || *at++ != '_' ||
        !take_units(&at, 10, &target->memory)) {
        return false;
    }
    if (*at++ != 'g') {
        return false;
    }
    take_partition(&at, target);
    return at_end(at);
}

/* Reads a CPU's id, "cpu-znver4_2": LLVM's name, and the number of threads. CPUs whose names begin
 * with the same letters ("znver") are one family; digits behind them are the generation. */
static bool read_cpu(const char *id, struct target *target)
{
    const char *units = memrchr(id, '_', strcspn(id, "."));
    target->vendor = CPU;
    target->arch = id + strlen("cpu-");
    if (units == NULL || units <= target->arch) {
        return false;
    }
    target->arch_length = (size_t)(units++ - target->arch);
    const char *end = target->arch + target->arch_length, *at = target->arch;
    target->family = 5381;
    for (; at < end && !is_digit(*at) && *at != '-'; at++) {
        target->family = target->family * 33 + (unsigned char)*at;
    }
    for (int digits = 0; at < end && is_digit(*at) && digits < 4; at++, digits++) {
        target->generation = target->generation * 10 + (uint32_t)(*at - '0');
    }
    return take_units(&units, 10, &target->units) && at_end(units);
}

static bool read_target(const char *id, struct target *target)
{
    *target = (struct target){.features = "", .partition = ""};
    return strncmp(id, "gfx", 3) == 0    ? read_amd(id, target)
           : strncmp(id, "sm_", 3) == 0  ? read_nvidia(id, target)
           : strncmp(id, "cpu-", 4) == 0 ? read_cpu(id, target)
                                         : false;
}

static bool same_text(const char *one, size_t length, const char *other, size_t other_length)
{
    return length == other_length && memcmp(one, other, length) == 0;
}

static uint64_t between(uint64_t one, uint64_t other)
{
    uint64_t a = sjdb_logarithm(one), b = sjdb_logarithm(other);
    return a > b ? a - b : b - a;
}

static int kinship_of(const struct target *a, const struct target *b, uint64_t distance)
{
    return a->vendor != b->vendor ? SKIPJACKDB_STRANGERS
           : same_text(a->arch, a->arch_length, b->arch, b->arch_length)
               ? distance == 0 ? SKIPJACKDB_SAME_TARGET : SKIPJACKDB_SAME_ARCHITECTURE
           : a->family == b->family ? SKIPJACKDB_SAME_FAMILY
                                    : SKIPJACKDB_SAME_VENDOR;
}

int skipjackdb_target_compare(const char *target, const char *other, int *kinship,
                              uint64_t *distance)
{
    struct target a, b;
    if (target == NULL || other == NULL || kinship == NULL || distance == NULL) {
        return SKIPJACKDB_USAGE;
    }
    if (!read_target(target, &a) || !read_target(other, &b)) {
        return SKIPJACKDB_SYNTAX;
    }
    uint64_t generations =
        a.generation > b.generation ? a.generation - b.generation : b.generation - a.generation;
    bool same_name = same_text(a.arch, a.arch_length, b.arch, b.arch_length) &&
                     same_text(a.features, a.features_length, b.features, b.features_length);
    bool same_part = same_text(a.partition, a.partition_length, b.partition, b.partition_length);
    *distance = generations << GENERATION_BIT |
                (uint64_t)(b.generation > a.generation) << NEWER_BIT |
                (uint64_t)!same_name << NAME_BIT | (uint64_t)!same_part << PARTITION_BIT |
                between(a.units, b.units) << UNITS_BIT | between(a.memory, b.memory);
    *kinship = kinship_of(&a, &b, *distance);
    return SKIPJACKDB_OK;
}
