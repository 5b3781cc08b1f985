#include "export/formats/file_name.h"

static void a_name_tells_its_target(void)
{
    static const struct {
        const char *name;
        enum target_known known;
        const char *id;
    } cases[] = {
        {"gfx1030_36.HIP.fdb.txt", TARGET_WHOLE, "gfx1030_36"},
        {"/some/folder/gfx90a68.db", TARGET_WHOLE, "gfx90a68"},
        {"gfx942130.db.bz2", TARGET_WHOLE, "gfx942130"},
        {"gfx900_56.OpenCL.fdb.txt", TARGET_WHOLE, "gfx900_56"},
        {"gfx1030_36.HIP.2_20_0_c3a1f2.ufdb.txt", TARGET_WHOLE, "gfx1030_36"},
        {"gfx906_60.cd.pdb.txt", TARGET_WHOLE, "gfx906_60"},
        {"gfx90a_104.db", TARGET_WHOLE, "gfx90a68"},
        {"gfx90a_xnack_104.db.txt", TARGET_WHOLE, "gfx90a_xnack68"},
        {"gfx906_nosramecc_60.kdb", TARGET_WHOLE, "gfx906_nosramecc_60"},
        {"gfx90a_60.db", TARGET_WHOLE, "gfx90a_60"},
        {"sm_90_132_80g.sjdb", TARGET_WHOLE, "sm_90_132_80g"},
        {"cpu-znver4_2.HIP.fdb.txt", TARGET_WHOLE, "cpu-znver4_2"},
        {"cpu-pwr8.1_16.db.txt", TARGET_WHOLE, "cpu-pwr8.1_16"},
        {"gfx90a.kdb", TARGET_ARCH, "gfx90a"},
        {"gfx906_nosramecc.kdb", TARGET_ARCH, "gfx906_nosramecc"},
        {"mine.db.txt", TARGET_UNKNOWN, "unknown"},
        {"old-gfx90a68.db", TARGET_UNKNOWN, "unknown"},
        {"gfx90a_.db", TARGET_UNKNOWN, "unknown"},
        {"gfx90a_0.db", TARGET_UNKNOWN, "unknown"},
        {"gfx90a_999999.db", TARGET_UNKNOWN, "unknown"},
        {"gfx.db", TARGET_UNKNOWN, "unknown"},
        {"gfx1999.kdb", TARGET_UNKNOWN, "unknown"},
        {"", TARGET_UNKNOWN, "unknown"},
        {".db", TARGET_UNKNOWN, "unknown"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct file_target target = file_name_target(cases[i].name);
        g_test_message("%s", cases[i].name);
        g_assert_cmpint(target.known, ==, cases[i].known);
        g_assert_cmpstr(file_target_text(&target), ==, cases[i].id);
    }
}

static void targets_fit_if_their_known_parts_agree(void)
{
    static const struct {
        const char *name, *other;
        bool fits;
    } names[] = {
        {"gfx90a68.db", "gfx90a68.kdb", true},
        {"gfx90a68.db", "gfx90a_104.db", true},
        {"gfx90a68.db", "gfx90a6e.db", false},
        {"gfx90a68.db", "gfx90a_xnack68.db", false},
        {"gfx906_60.db", "gfx906_nosramecc_60.db", false},
        {"gfx90a68.db", "gfx90a.kdb", true},
        {"gfx908.kdb", "gfx90a.kdb", false},
        {"gfx906_nosramecc_60.db", "gfx906_sramecc.kdb", false},
        {"gfx1030_36.db", "gfx942130.db", false},
        {"gfx1030_36.db", "mine.db", true},
        {"sm_90_132_80g.db", "sm_90_132_141g.db", false},
        /* MIOpen's file names state neither partitions (cpx, nps4) nor gfx90a's sramecc; Skipjack's
         * names do. */
        {"gfx942_38.db", "gfx942_38_cpx_nps4.sjdb", true},
        {"gfx90a68.kdb", "gfx90a_nosramecc68.sjdb", true},
        {"gfx942_40.db", "gfx942_38_cpx.sjdb", false},
        {"gfx942_38_cpx.sjdb", "gfx942_38_cpx_nps4.sjdb", false},
        {"gfx942_38_cpx.sjdb", "gfx942_38.sjdb", false},
        {"sm_90_16_10g_mig1g.sjdb", "sm_90_16_10g.sjdb", false},
    };
    static const struct {
        const char *name, *arch;
        bool fits;
    } archs[] = {
        {"gfx90a68.db", "gfx90a", true},
        {"gfx90a68.db", "gfx90a:sramecc+:xnack-", true},
        {"gfx90a_xnack68.db", "gfx90a:sramecc+:xnack-", false},
        {"gfx906_nosramecc_60.db", "gfx906:sramecc+", false},
        {"gfx90a68.db", "gfx942", false},
        {"sm_90_132_80g.kdb", "sm_90", true},
        {"cpu-znver4_2.kdb", "znver4", true},
        {"cpu-znver4_2.kdb", "znver3", false},
        {"gfx90a68.db", "", true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        struct file_target a = file_name_target(names[i].name);
        struct file_target b = file_name_target(names[i].other);
        g_test_message("%s and %s", names[i].name, names[i].other);
        g_assert_true(file_targets_fit(&a, &b) == names[i].fits);
        g_assert_true(file_targets_fit(&b, &a) == names[i].fits);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(archs); i++) {
        struct file_target a = file_name_target(archs[i].name);
        struct file_target b = file_arch_target(archs[i].arch);
        g_test_message("%s and %s", archs[i].name, archs[i].arch);
        g_assert_true(file_targets_fit(&a, &b) == archs[i].fits);
    }
}

/* MIOpen's names know no partitions, so files for MIOpen are named by the whole card; a .sjdb is
 * named by the target's whole id. */
static void files_of_a_part_of_a_card_are_found_by_miopen(void)
{
    static const struct {
        const char *target;
        enum file_kind kind;
        const char *name;
    } cases[] = {
        {"gfx90a68", FILE_FIND_DB, "gfx90a68.HIP.fdb.txt"},
        {"gfx90a_xnack68", FILE_PERF_DB, "gfx90a_xnack68.db"},
        {"gfx90a_nosramecc68", FILE_PERF_TEXT, "gfx90a68.db.txt"},
        {"gfx942_38_cpx_nps4", FILE_FIND_DB, "gfx942_38.HIP.fdb.txt"},
        {"gfx942_38_cpx_nps4", FILE_KERNEL_DB, "gfx942_38.kdb"},
        {"gfx942_38_cpx_nps4", FILE_SJDB, "gfx942_38_cpx_nps4.sjdb"},
        {"sm_90_16_10g_mig1g", FILE_SJDB, "sm_90_16_10g_mig1g.sjdb"},
        {"sm_90_16_10g_mig1g", FILE_FIND_DB, "sm_90_16_10g_mig1g.HIP.fdb.txt"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct target target;
        g_assert_true(target_parse(cases[i].target, &target, NULL));
        g_autofree char *name = file_name(&target, cases[i].kind);
        g_assert_cmpstr(name, ==, cases[i].name);
        enum file_kind kind;
        g_assert_true(file_name_kind(name, &kind));
        g_assert_cmpint(kind, ==, cases[i].kind);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/file_name/a_name_tells_its_target", a_name_tells_its_target);
    g_test_add_func("/file_name/targets_fit_if_their_known_parts_agree",
                    targets_fit_if_their_known_parts_agree);
    g_test_add_func("/file_name/files_of_a_part_of_a_card_are_found_by_miopen",
                    files_of_a_part_of_a_card_are_found_by_miopen);
    return g_test_run();
}
