#include "solvers/framework/target.h"

#include <string.h>

static void test_ids_are_read_and_written(void)
{
    static const struct {
        const char *id, *arch, *features;
        enum vendor vendor;
        int units, memory_gib, wave;
        const char *partition;
    } rows[] = {
        {"gfx90a68", "gfx90a", "", VENDOR_AMD, 104, 0, 64, ""},
        {"gfx90878", "gfx908", "", VENDOR_AMD, 120, 0, 64, ""},
        {"gfx942130", "gfx942", "", VENDOR_AMD, 304, 0, 64, ""},
        {"gfx942e4", "gfx942", "", VENDOR_AMD, 228, 0, 64, ""},
        {"gfx1030_36", "gfx1030", "", VENDOR_AMD, 36, 0, 32, ""},
        {"gfx103050", "gfx1030", "", VENDOR_AMD, 80, 0, 32, ""},
        {"gfx906_60", "gfx906", "", VENDOR_AMD, 60, 0, 64, ""},
        {"gfx906_64", "gfx906", "", VENDOR_AMD, 64, 0, 64, ""},
        {"gfx906_nosramecc_60", "gfx906", "_nosramecc", VENDOR_AMD, 60, 0, 64, ""},
        {"gfx908_nosramecc78", "gfx908", "_nosramecc", VENDOR_AMD, 120, 0, 64, ""},
        {"gfx90a_xnack68", "gfx90a", "_xnack", VENDOR_AMD, 104, 0, 64, ""},
        {"gfx90a6e", "gfx90a", "", VENDOR_AMD, 110, 0, 64, ""},
        {"gfx110060", "gfx1100", "", VENDOR_AMD, 96, 0, 32, ""},
        /* an architecture that the program does not know */
        {"gfx1299_20", "gfx1299", "", VENDOR_AMD, 20, 0, 32, ""},
        {"gfx942_38_cpx_nps4", "gfx942", "", VENDOR_AMD, 38, 0, 64, "_cpx_nps4"},
        {"gfx942_xnack98_dpx", "gfx942", "_xnack", VENDOR_AMD, 152, 0, 64, "_dpx"},
        {"gfx950100_nps2", "gfx950", "", VENDOR_AMD, 256, 0, 64, "_nps2"},
        {"gfx906_nosramecc_noxnack_60", "gfx906", "_nosramecc_noxnack", VENDOR_AMD, 60, 0, 64, ""},
        {"sm_90_132_80g", "sm_90", "", VENDOR_NVIDIA, 132, 80, 32, ""},
        {"sm_90_16_10g_mig1g", "sm_90", "", VENDOR_NVIDIA, 16, 10, 32, "_mig1g"},
        {"sm_90_16_36g_mig1c2g", "sm_90", "", VENDOR_NVIDIA, 16, 36, 32, "_mig1c2g"},
        {"sm_80_14_5g_mig", "sm_80", "", VENDOR_NVIDIA, 14, 5, 32, "_mig"},
        {"sm_90a_132_140g", "sm_90a", "", VENDOR_NVIDIA, 132, 140, 32, ""},
        {"sm_75_40_15g", "sm_75", "", VENDOR_NVIDIA, 40, 15, 32, ""},
        {"cpu-znver4_2", "znver4", "", VENDOR_CPU, 2, 0, 1, ""},
        {"cpu-x86-64-v3_16", "x86-64-v3", "", VENDOR_CPU, 16, 0, 1, ""},
        {"cpu-atom_sse4_2_4", "atom_sse4_2", "", VENDOR_CPU, 4, 0, 1, ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        struct target t;
        g_assert_true(target_parse(rows[i].id, &t, &error));
        g_assert_no_error(error);
        g_assert_cmpstr(t.arch, ==, rows[i].arch);
        g_assert_cmpstr(t.features, ==, rows[i].features);
        g_assert_cmpint(t.vendor, ==, rows[i].vendor);
        g_assert_cmpint(t.compute_units, ==, rows[i].units);
        g_assert_cmpint(t.memory_gib, ==, rows[i].memory_gib);
        g_assert_cmpint(t.wave_size, ==, rows[i].wave);
        g_assert_cmpstr(t.partition, ==, rows[i].partition);
        g_assert_cmpint(t.local_bytes, >=, 32 * 1024);
        g_assert_cmpint(t.max_workgroup, >=, 1024);
        t.id[0] = '\0';
        target_set_id(&t);
        g_assert_cmpstr(t.id, ==, rows[i].id);
    }
}

static void test_other_ids_are_refused(void)
{
    static const char *const ids[] = {
        "",
        "gfx90a",
        "gfx",
        "gfx90a_0",
        "gfx90a_65",
        "gfx90a_068",
        "gfx90a40",
        "gfx90A68",
        "gfx90a068",
        "gfx129968",
        "gfx90a68 ",
        "gfx906_xyz3",
        "sm_90",
        "sm_90_132",
        "sm_90_132_80",
        "sm_90_0_8g",
        "sm_x_1_1g",
        "sm_90_132_80gx",
        "gfx906_xnack_nosramecc_60",
        "gfx90a_xnack_xnack68",
        "gfx942130_spx",
        "gfx942130_nps1",
        "gfx942_38_nps4_cpx",
        "gfx942_38_cpx_cpx",
        "gfx942_38_CPX",
        "gfx942_38_mig1g",
        "sm_90_16_10g_cpx",
        "sm_90_16_10g_mig1g.10gb",
        "sm_90_16_10g_mig1c.2g",
        "sm_90_16_10g_mig0g",
        "sm_90_16_10g_mig1c",
        "sm_90_16_10g_mig100g",
        "cpu-znver4_2_cpx",
        "cpu-",
        "cpu-znver4",
        "cpu-_4",
        "cpu-a b_4",
        "cpu-znver4_02",
        "local",
        "h100",
        "cpu-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_4",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
        g_autoptr(GError) error = NULL;
        struct target t;
        g_assert_false(target_parse(ids[i], &t, &error));
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_UNKNOWN);
        g_assert_nonnull(strstr(error->message, "gfx90a68"));
    }
}

static void test_drivers_words_name_the_part(void)
{
    static const struct {
        const char *words, *partition; /* NULL: refused */
    } rows[] = {
        {"", ""},
        {"SPX", ""},
        {"SPX NPS1", ""},
        {"CPX NPS1", "_cpx"},
        {"CPX NPS4", "_cpx_nps4"},
        {"DPX NPS2", "_dpx_nps2"},
        {"SPX NPS4", "_nps4"},
        {"TPX", "_tpx"},
        {"MIG 1g.10gb", "_mig1g"},
        {"MIG 1g.10gb+me", "_mig1g"},
        {"MIG 1c.3g.40gb", "_mig1c3g"},
        {"MIG 7g.80gb", "_mig7g"},
        {"MIG", "_mig"},
        {"XPX", NULL},
        {"CPX NPS3", NULL},
        {"MIG one", NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct target t = {.partition = "_before"};
        g_assert_true(target_set_partition(&t, rows[i].words) == (rows[i].partition != NULL));
        g_assert_cmpstr(t.partition, ==, rows[i].partition ? rows[i].partition : "");
    }
}

/* The expected names are those by which MIOpen's library looks for its databases. */
static void test_files_have_miopens_names(void)
{
    static const struct {
        const char *id, *name;
    } rows[] = {
        {"gfx90a68", "gfx90a68"},
        {"gfx90a_xnack68", "gfx90a_xnack68"},
        {"gfx90a_nosramecc68", "gfx90a68"},
        {"gfx90a_sramecc_noxnack68", "gfx90a68"},
        {"gfx908_nosramecc_xnack78", "gfx908_nosramecc_xnack78"},
        {"gfx906_nosramecc_60", "gfx906_nosramecc_60"},
        {"gfx942_38_cpx_nps4", "gfx942_38"},
        {"gfx942130_nps4", "gfx942130"},
        {"sm_90_16_10g_mig1g", "sm_90_16_10g_mig1g"},
        {"cpu-znver4_2", "cpu-znver4_2"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct target t;
        char name[TARGET_FILE_NAME_MAX];
        g_assert_true(target_parse(rows[i].id, &t, NULL));
        g_assert_cmpstr(target_file_name(&t, name), ==, rows[i].name);
        g_assert_cmpstr(t.id, ==, rows[i].id);
    }
}

static void test_peaks_are_near_the_data_sheets(void)
{
    static const struct {
        const char *id;
        double teraflops, gigabytes;
    } rows[] = {
        {"sm_90_132_80g", 67, 3350}, {"sm_90_132_140g", 67, 4900}, {"sm_80_108_40g", 19.5, 1555},
        {"gfx90a6e", 47.9, 1638},    {"gfx942130", 163.4, 6000},   {"gfx906_60", 13.8, 1024},
        {"cpu-znver4_2", 1.024, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct target t;
        g_assert_true(target_parse(rows[i].id, &t, NULL));
        g_assert_cmpfloat_with_epsilon(t.peak_flops / 1e12, rows[i].teraflops,
                                       rows[i].teraflops * 0.02);
        g_assert_cmpfloat_with_epsilon(t.peak_bytes / 1e9, rows[i].gigabytes,
                                       rows[i].gigabytes * 0.02 + 1);
    }
}

static void test_peaks_of_types_are_near_the_data_sheets(void)
{
    static const struct {
        const char *id;
        enum data_type type;
        double teraops;
    } rows[] = {
        {"gfx90a6e", TYPE_FP16, 191.5},    {"gfx90a6e", TYPE_BF16, 191.5},
        {"gfx90878", TYPE_BF16, 92.3},     {"gfx942130", TYPE_INT8, 2614.9},
        {"gfx906_60", TYPE_FP16, 26.5},    {"sm_80_108_40g", TYPE_BF16, 312},
        {"sm_89_128_24g", TYPE_INT8, 661}, {"sm_90_132_80g", TYPE_FP16, 1070},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct target t;
        g_assert_true(target_parse(rows[i].id, &t, NULL));
        g_assert_cmpfloat_with_epsilon(target_type_peak(&t, rows[i].type) / 1e12, rows[i].teraops,
                                       rows[i].teraops * 0.06);
        g_assert_cmpfloat_with_epsilon(target_least_ms(&t, rows[i].type, 1e12),
                                       1e3 / rows[i].teraops, 1e3 / rows[i].teraops * 0.06);
    }
}

static void test_memory_of_a_unit_is_known(void)
{
    static const struct {
        const char *id;
        int64_t local_kib, dynamic_kib, register_kib;
    } rows[] = {
        {"gfx90a68", 64, 64, 512},     {"gfx906_60", 64, 64, 256},
        {"gfx950100", 160, 160, 512},  {"sm_90_132_80g", 48, 227, 256},
        {"sm_75_68_11g", 48, 64, 256}, {"cpu-znver4_2", 256, 256, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct target t;
        g_assert_true(target_parse(rows[i].id, &t, NULL));
        g_assert_cmpint(t.local_bytes, ==, rows[i].local_kib * 1024);
        g_assert_cmpint(target_dynamic_local_bytes(&t), ==, rows[i].dynamic_kib * 1024);
        g_assert_cmpint(target_register_bytes(&t), ==, rows[i].register_kib * 1024);
    }
}

/* PoCL's and LLVM's names of CPUs, from SSE to AVX-512, with the width of their vectors. */
static void test_vectors_are_as_wide_as_the_cpu_has_them(void)
{
    static const struct {
        const char *id;
        int bytes;
    } rows[] = {
        {"cpu-athlon64_2", 16}, {"cpu-core2_2", 16},          {"cpu-penryn_2", 16},
        {"cpu-corei7_2", 16},   {"cpu-x86-64_2", 16},         {"cpu-corei7-avx_2", 32},
        {"cpu-bdver1_2", 32},   {"cpu-sandybridge_2", 32},    {"cpu-ivybridge_2", 32},
        {"cpu-haswell_2", 32},  {"cpu-znver3_2", 32},         {"cpu-skylake_2", 32},
        {"cpu-znver4_2", 64},   {"cpu-skylake-avx512_2", 64},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct target t;
        g_assert_true(target_parse(rows[i].id, &t, NULL));
        g_assert_cmpint(t.vector_bytes, ==, rows[i].bytes);
    }
}

static void test_compute_capabilities_are_read(void)
{
    static const struct {
        const char *id;
        int capability;
    } rows[] = {{"sm_90_132_80g", 90},           {"sm_90a_132_80g", 90}, {"sm_120_170_32g", 120},
                {"sm_9999999999_1_1g", INT_MAX}, {"gfx90a68", 0},        {"cpu-znver4_2", 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct target t;
        g_assert_true(target_parse(rows[i].id, &t, NULL));
        g_assert_cmpint(target_compute_capability(&t), ==, rows[i].capability);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/target/ids_are_read_and_written", test_ids_are_read_and_written);
    g_test_add_func("/target/other_ids_are_refused", test_other_ids_are_refused);
    g_test_add_func("/target/drivers_words_name_the_part", test_drivers_words_name_the_part);
    g_test_add_func("/target/files_have_miopens_names", test_files_have_miopens_names);
    g_test_add_func("/target/peaks_are_near_the_data_sheets", test_peaks_are_near_the_data_sheets);
    g_test_add_func("/target/peaks_of_types_are_near_the_data_sheets",
                    test_peaks_of_types_are_near_the_data_sheets);
    g_test_add_func("/target/memory_of_a_unit_is_known", test_memory_of_a_unit_is_known);
    g_test_add_func("/target/vectors_are_as_wide_as_the_cpu_has_them",
                    test_vectors_are_as_wide_as_the_cpu_has_them);
    g_test_add_func("/target/compute_capabilities_are_read", test_compute_capabilities_are_read);
    return g_test_run();
}
