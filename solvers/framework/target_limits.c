#include "solvers/framework/target.h"

#include <string.h>

enum speed { SPEED_FP32, SPEED_FP16, SPEED_BF16, SPEED_INT8, SPEED_COUNT };

/* Limits of GPUs, from vendors' data sheets and architecture guides. Peaks are upper bounds: the highest boost
 * clock and memory speed of any product of the architecture, 0 where products differ too much. Operations are
 * those of the fastest unit for the type, dense matrix units included; a multiply-add is two. Types without
 * units of their own have the speed of the type as which they are computed. From gfx10 on HIP may count
 * workgroup processors (two compute units), so these rows are for a pair. A row matches a whole architecture
 * name; among rows that differ in memory the first whose memory_gib reaches the device's counts. */
static const struct limits {
    const char *arch;
    /* the row is for devices with at most this much memory, in GiB; 0 for any memory */
    int memory_gib;
    int wave_size;
    /* operations of one compute unit in one clock: FP32, FP16, BF16, INT8 */
    double ops_a_clock[SPEED_COUNT];
    double clock_ghz;
    double gigabytes; /* a second */
    /* the most local memory of a workgroup, in KiB; on NVIDIA the most that a launch may request */
    int local_kib;
    int registers_kib; /* of a unit */
} limits_table[] = {
    // clang-format off
    {"gfx803", 0, 64, {128, 128, 128, 128}, 1.55, 512, 64, 256},
    {"gfx900", 0, 64, {128, 256, 128, 256}, 1.68, 484, 64, 256},
    {"gfx902", 0, 64, {128, 256, 128, 256}, 1.40, 0, 64, 256},
    {"gfx904", 0, 64, {128, 256, 128, 256}, 1.68, 484, 64, 256},
    {"gfx906", 0, 64, {128, 256, 128, 512}, 1.80, 1024, 64, 256},
    {"gfx908", 0, 64, {256, 1024, 512, 1024}, 1.51, 1229, 64, 512},
    {"gfx909", 0, 64, {128, 256, 128, 256}, 1.40, 0, 64, 256},
    {"gfx90a", 0, 64, {256, 1024, 1024, 1024}, 1.70, 1639, 64, 512},
    {"gfx90c", 0, 64, {128, 256, 128, 256}, 2.40, 0, 64, 256},
    {"gfx940", 0, 64, {256, 2048, 2048, 4096}, 2.10, 6000, 64, 512},
    {"gfx941", 0, 64, {256, 2048, 2048, 4096}, 2.10, 6000, 64, 512},
    {"gfx942", 0, 64, {256, 2048, 2048, 4096}, 2.10, 6000, 64, 512},
    {"gfx950", 0, 64, {256, 4096, 4096, 8192}, 2.40, 8000, 160, 512},
    {"gfx1010", 0, 32, {256, 512, 256, 512}, 1.98, 448, 64, 512},
    {"gfx1011", 0, 32, {256, 512, 256, 1024}, 1.90, 512, 64, 512},
    {"gfx1012", 0, 32, {256, 512, 256, 1024}, 1.90, 224, 64, 512},
    {"gfx1030", 0, 32, {256, 512, 256, 1024}, 2.44, 576, 64, 512},
    {"gfx1031", 0, 32, {256, 512, 256, 1024}, 2.65, 432, 64, 512},
    {"gfx1032", 0, 32, {256, 512, 256, 1024}, 2.70, 281, 64, 512},
    {"gfx1033", 0, 32, {256, 512, 256, 1024}, 1.70, 0, 64, 512},
    {"gfx1034", 0, 32, {256, 512, 256, 1024}, 2.82, 144, 64, 512},
    {"gfx1035", 0, 32, {256, 512, 256, 1024}, 2.50, 0, 64, 512},
    {"gfx1036", 0, 32, {256, 512, 256, 1024}, 2.30, 0, 64, 512},
    {"gfx1100", 0, 32, {512, 1024, 1024, 1024}, 2.60, 960, 64, 768},
    {"gfx1101", 0, 32, {512, 1024, 1024, 1024}, 2.60, 625, 64, 768},
    {"gfx1102", 0, 32, {512, 1024, 1024, 1024}, 2.76, 288, 64, 512},
    {"gfx1103", 0, 32, {512, 1024, 1024, 1024}, 3.00, 0, 64, 512},
    {"gfx1150", 0, 32, {512, 1024, 1024, 1024}, 3.00, 0, 64, 512},
    {"gfx1151", 0, 32, {512, 1024, 1024, 1024}, 3.00, 0, 64, 768},
    {"gfx1152", 0, 32, {512, 1024, 1024, 1024}, 3.00, 0, 64, 512},
    {"gfx1200", 0, 32, {512, 2048, 2048, 4096}, 3.30, 322, 64, 768},
    {"gfx1201", 0, 32, {512, 2048, 2048, 4096}, 3.10, 645, 64, 768},
    {"sm_60", 0, 32, {128, 256, 128, 128}, 1.48, 733, 48, 256},
    {"sm_61", 0, 32, {256, 256, 256, 1024}, 1.92, 548, 48, 256},
    {"sm_70", 0, 32, {128, 1024, 128, 512}, 1.60, 1135, 96, 256},
    {"sm_75", 0, 32, {128, 1024, 128, 2048}, 1.88, 673, 64, 256},
    {"sm_80", 40, 32, {128, 2048, 2048, 4096}, 1.41, 1556, 163, 256},
    {"sm_80", 0, 32, {128, 2048, 2048, 4096}, 1.41, 2040, 163, 256},
    {"sm_86", 0, 32, {256, 1024, 1024, 2048}, 1.90, 1009, 99, 256},
    {"sm_87", 0, 32, {256, 2048, 2048, 4096}, 1.30, 205, 163, 256},
    {"sm_89", 0, 32, {256, 1024, 1024, 2048}, 2.65, 1009, 99, 256},
    {"sm_90", 81, 32, {256, 4096, 4096, 8192}, 1.98, 3360, 227, 256},
    {"sm_90", 99, 32, {256, 4096, 4096, 8192}, 1.98, 4030, 227, 256},
    {"sm_90", 0, 32, {256, 4096, 4096, 8192}, 1.98, 4920, 227, 256},
    {"sm_90a", 81, 32, {256, 4096, 4096, 8192}, 1.98, 3360, 227, 256},
    {"sm_90a", 99, 32, {256, 4096, 4096, 8192}, 1.98, 4030, 227, 256},
    {"sm_90a", 0, 32, {256, 4096, 4096, 8192}, 1.98, 4920, 227, 256},
    {"sm_100", 0, 32, {256, 8192, 8192, 16384}, 2.10, 8000, 227, 256},
    {"sm_103", 0, 32, {256, 8192, 8192, 16384}, 2.10, 8000, 227, 256},
    {"sm_120", 0, 32, {256, 1024, 1024, 2048}, 2.70, 1793, 99, 256},
    // clang-format on
};

/* CPUs whose widest vectors are not AVX2's 32 bytes. A row matches names that begin with its name. */
static const struct {
    const char *prefix;
    int vector_bytes;
} vector_table[] = {
    {"znver4", 64},
    {"znver5", 64},
    {"skylake-avx512", 64},
    {"skx", 64},
    {"cascadelake", 64},
    {"cooperlake", 64},
    {"cannonlake", 64},
    {"icelake", 64},
    {"tigerlake", 64},
    {"rocketlake", 64},
    {"sapphirerapids", 64},
    {"emeraldrapids", 64},
    {"graniterapids", 64},
    {"knl", 64},
    {"knm", 64},
    {"x86-64-v4", 64},
    {"x86-64-v3", 32},
    {"x86-64", 16},
    {"generic", 16},
    {"athlon", 16},
    {"opteron", 16},
    {"pentium", 16},
    {"prescott", 16},
    {"nocona", 16},
    {"yonah", 16},
    {"core2", 16},
    {"corei7-avx", 32},
    {"corei7", 16},
    {"penryn", 16},
    {"nehalem", 16},
    {"westmere", 16},
    {"atom", 16},
    {"bonnell", 16},
    {"silvermont", 16},
    {"goldmont", 16},
    {"tremont", 16},
    {"barcelona", 16},
    {"amdfam10", 16},
    {"btver1", 16},
    {"k8", 16},
    {"cortex-", 16},
    {"apple-", 16},
    {"neoverse-n", 16},
    {"neoverse-v1", 32},
    {"neoverse-v2", 16},
    {"neoverse-e", 16},
    {"a64fx", 64},
};

bool target_arch_known(const char *arch)
{
    for (size_t i = 0; i < G_N_ELEMENTS(limits_table); i++) {
        if (strcmp(arch, limits_table[i].arch) == 0) {
            return true;
        }
    }
    return false;
}

static const struct limits *find_limits(const struct target *t)
{
    for (size_t i = 0; i < G_N_ELEMENTS(limits_table); i++) {
        const struct limits *row = &limits_table[i];
        if (strcmp(t->arch, row->arch) == 0 &&
            (row->memory_gib == 0 || t->memory_gib <= row->memory_gib)) {
            return row;
        }
    }
    return NULL;
}

static void set_cpu_limits(struct target *t)
{
    t->vector_bytes = 32;
    for (size_t i = 0; i < G_N_ELEMENTS(vector_table); i++) {
        if (g_str_has_prefix(t->arch, vector_table[i].prefix)) {
            t->vector_bytes = vector_table[i].vector_bytes;
            break;
        }
    }
    /* a core's own cache; PoCL reports at least this much local memory */
    t->local_bytes = 256 * 1024;
    t->max_workgroup = 4096;
    t->wave_size = 1;
    /* 8 GHz, and in each thread two multiply-adds (4 operations) on each 4-byte lane of the widest vector. */
    t->peak_flops = 8e9 * 4 * (t->vector_bytes / 4) * t->compute_units;
    t->peak_bytes = 0;
}

/* Work-items of a wave: 64 on gfx9 and older, 32 on gfx10 and later and on NVIDIA. */
static int default_wave(const struct target *t)
{
    return t->vendor == VENDOR_AMD && strlen(t->arch) <= strlen("gfx90a") ? 64 : 32;
}

void target_set_limits(struct target *t)
{
    if (t->vendor == VENDOR_CPU) {
        set_cpu_limits(t);
        return;
    }
    const struct limits *limits = find_limits(t);
    t->vector_bytes = 0;
    t->max_workgroup = 1024;
    /* NVIDIA: 48 KiB is the most that a kernel may declare; a launch may request more. */
    t->local_bytes = t->vendor == VENDOR_NVIDIA                ? 48 * 1024
                     : limits != NULL && limits->local_kib > 0 ? limits->local_kib * INT64_C(1024)
                                                               : 64 * 1024;
    t->wave_size = limits != NULL ? limits->wave_size : default_wave(t);
    t->peak_flops = 0;
    t->peak_bytes = 0;
    if (limits != NULL) {
        t->peak_flops =
            limits->ops_a_clock[SPEED_FP32] * limits->clock_ghz * 1e9 * t->compute_units;
        t->peak_bytes = limits->gigabytes * 1e9;
    }
}

int64_t target_dynamic_local_bytes(const struct target *t)
{
    const struct limits *limits = t->vendor == VENDOR_NVIDIA ? find_limits(t) : NULL;

    return limits != NULL ? MAX(limits->local_kib * INT64_C(1024), t->local_bytes) : t->local_bytes;
}

int64_t target_register_bytes(const struct target *t)
{
    const struct limits *limits = t->vendor != VENDOR_CPU ? find_limits(t) : NULL;

    return limits != NULL ? limits->registers_kib * INT64_C(1024) : 0;
}

/* The speed class as which a type is computed. */
static enum speed speed_of(enum data_type type)
{
    switch (type) {
    case TYPE_FP16: return SPEED_FP16;
    case TYPE_BF16: return SPEED_BF16;
    case TYPE_INT8:
    case TYPE_FP8:
    case TYPE_BF8: return SPEED_INT8;
    default: return SPEED_FP32;
    }
}

/* The speed of a narrow type relative to FP32 on an unknown GPU or CPU: faster by its width, on a GPU eight times
 * more for matrix units. */
static double unknown_speedup(const struct target *t, enum data_type type)
{
    double packed = MAX(1, 4 / MAX(1, data_type_bytes(type)));

    return packed > 1 && t->vendor != VENDOR_CPU ? 8 * packed : packed;
}

double target_type_peak(const struct target *t, enum data_type type)
{
    const struct limits *limits = t->vendor != VENDOR_CPU ? find_limits(t) : NULL;
    double speedup = unknown_speedup(t, type);

    if (limits != NULL) {
        speedup = limits->ops_a_clock[speed_of(type)] / limits->ops_a_clock[SPEED_FP32];
    }
    return t->peak_flops > 0 ? t->peak_flops * speedup : 0;
}

double target_least_ms(const struct target *t, enum data_type type, double flops)
{
    double peak = target_type_peak(t, type);
    return peak > 0 ? flops / peak * 1e3 : 0;
}

void target_set_forms(const struct target *t, struct problem *p)
{
    static const char *const fnuz[] = {"gfx940", "gfx941", "gfx942", NULL};

    p->fnuz = t->vendor == VENDOR_AMD && g_strv_contains(fnuz, t->arch);
}
