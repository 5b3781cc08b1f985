#include "solvers/target.h"

#include <string.h>

/*
 * Peaks are upper bounds from vendors' public data sheets: the highest boost clock and memory speed
 * of any product of that architecture, 0 where a product line has no common figure. From gfx10 on
 * HIP may count workgroup processors (two compute units each) as units, so ops_a_clock is a pair's
 * there. Matrix units count where they take FP32. A row matches an architecture's whole name; for
 * devices that differ in memory the first row whose memory_gib reaches the device's is the one.
 */
static const struct limits {
    const char *arch;
    int memory_gib; /* up to, 0 for any */
    int wave_size;
    double ops_a_clock; /* FP32 operations a unit and clock, a multiply-add is two */
    double clock_ghz;
    double gigabytes; /* a second */
} limits_table[] = {
    {"gfx803", 0, 64, 128, 1.55, 512},   {"gfx900", 0, 64, 128, 1.68, 484},
    {"gfx902", 0, 64, 128, 1.40, 0},     {"gfx904", 0, 64, 128, 1.68, 484},
    {"gfx906", 0, 64, 128, 1.80, 1024},  {"gfx908", 0, 64, 256, 1.51, 1229},
    {"gfx909", 0, 64, 128, 1.40, 0},     {"gfx90a", 0, 64, 256, 1.70, 1639},
    {"gfx90c", 0, 64, 128, 2.40, 0},     {"gfx940", 0, 64, 256, 2.10, 6000},
    {"gfx941", 0, 64, 256, 2.10, 6000},  {"gfx942", 0, 64, 256, 2.10, 6000},
    {"gfx950", 0, 64, 256, 2.40, 8000},  {"gfx1010", 0, 32, 256, 1.98, 448},
    {"gfx1011", 0, 32, 256, 1.90, 512},  {"gfx1012", 0, 32, 256, 1.90, 224},
    {"gfx1030", 0, 32, 256, 2.44, 576},  {"gfx1031", 0, 32, 256, 2.65, 432},
    {"gfx1032", 0, 32, 256, 2.70, 281},  {"gfx1033", 0, 32, 256, 1.70, 0},
    {"gfx1034", 0, 32, 256, 2.82, 144},  {"gfx1035", 0, 32, 256, 2.50, 0},
    {"gfx1036", 0, 32, 256, 2.30, 0},    {"gfx1100", 0, 32, 512, 2.60, 960},
    {"gfx1101", 0, 32, 512, 2.60, 625},  {"gfx1102", 0, 32, 512, 2.76, 288},
    {"gfx1103", 0, 32, 512, 3.00, 0},    {"gfx1150", 0, 32, 512, 3.00, 0},
    {"gfx1151", 0, 32, 512, 3.00, 0},    {"gfx1152", 0, 32, 512, 3.00, 0},
    {"gfx1200", 0, 32, 512, 3.30, 322},  {"gfx1201", 0, 32, 512, 3.10, 645},
    {"sm_60", 0, 32, 128, 1.48, 733},    {"sm_61", 0, 32, 256, 1.92, 548},
    {"sm_70", 0, 32, 128, 1.60, 1135},   {"sm_75", 0, 32, 128, 1.88, 673},
    {"sm_80", 40, 32, 128, 1.41, 1556},  {"sm_80", 0, 32, 128, 1.41, 2040},
    {"sm_86", 0, 32, 256, 1.90, 1009},   {"sm_87", 0, 32, 256, 1.30, 205},
    {"sm_89", 0, 32, 256, 2.65, 1009},   {"sm_90", 81, 32, 256, 1.98, 3360},
    {"sm_90", 99, 32, 256, 1.98, 4030},  {"sm_90", 0, 32, 256, 1.98, 4920},
    {"sm_90a", 81, 32, 256, 1.98, 3360}, {"sm_90a", 99, 32, 256, 1.98, 4030},
    {"sm_90a", 0, 32, 256, 1.98, 4920},  {"sm_100", 0, 32, 256, 2.10, 8000},
    {"sm_103", 0, 32, 256, 2.10, 8000},  {"sm_120", 0, 32, 256, 2.70, 1793},
};

/* CPUs whose widest vectors are not the 32 bytes of AVX2; a row matches names that begin with
 * it. */
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
    {"core2", 16},
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
    t->local_bytes = 256 * 1024; /* what a core's own cache holds; PoCL reports at least that */
    t->max_workgroup = 4096;
    t->wave_size = 1;
    /* 8 GHz, two multiply-adds (4 operations) of the widest vector of 4-byte lanes, a thread. */
    t->peak_flops = 8e9 * 4 * (t->vector_bytes / 4) * t->compute_units;
    t->peak_bytes = 0;
}

/* gfx9 and older run 64 wide; gfx10 and later, and NVIDIA, 32 wide. */
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
    /* NVIDIA: what a kernel may declare; more needs an opt-in at launch. */
    t->local_bytes = t->vendor == VENDOR_NVIDIA ? 48 * 1024 : 64 * 1024;
    t->wave_size = limits != NULL ? limits->wave_size : default_wave(t);
    t->peak_flops = 0;
    t->peak_bytes = 0;
    if (limits != NULL) {
        t->peak_flops = limits->ops_a_clock * limits->clock_ghz * 1e9 * t->compute_units;
        t->peak_bytes = limits->gigabytes * 1e9;
    }
}

/* From NVIDIA's table of technical specifications by compute capability. */
int64_t target_dynamic_local_bytes(const struct target *t)
{
    static const struct {
        const char *arch; /* a name that begins so */
        int64_t kib;
    } rows[] = {{"sm_75", 64},  {"sm_80", 163},  {"sm_86", 99},   {"sm_87", 163},  {"sm_89", 99},
                {"sm_90", 227}, {"sm_100", 227}, {"sm_103", 227}, {"sm_110", 227}, {"sm_12", 99}};

    for (size_t i = 0; t->vendor == VENDOR_NVIDIA && i < G_N_ELEMENTS(rows); i++) {
        if (g_str_has_prefix(t->arch, rows[i].arch)) {
            return rows[i].kib * 1024;
        }
    }
    return t->local_bytes;
}

double target_type_peak(const struct target *t, enum data_type type)
{
    double speed = MAX(1, 4 / MAX(1, data_type_bytes(type)));
    if (speed > 1 && t->vendor != VENDOR_CPU) {
        speed *= 8;
    }
    return t->peak_flops > 0 ? t->peak_flops * speed : 0;
}

double target_least_ms(const struct target *t, enum data_type type, double flops)
{
    double peak = target_type_peak(t, type);
    return peak > 0 ? flops / peak * 1e3 : 0;
}
