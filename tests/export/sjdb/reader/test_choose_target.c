#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_write.h"
#include "solvers/framework/target.h"
#include "tests/support/export/sjdb_bytes.h"
#include "tests/support/temp_folder.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static void compare(const char *target, const char *other, int *kinship, uint64_t *distance)
{
    g_assert_cmpint(skipjackdb_target_compare(target, other, kinship, distance), ==, SKIPJACKDB_OK);
}

/* Each list begins with a target; the following targets are ordered from the nearest to the
 * furthest. */
static void targets_are_near_in_the_order_of_the_rules(void)
{
    static const char *const lists[][9] = {
        {"gfx90a68", "gfx90a68", "gfx90a6e", "gfx90a_40", "gfx90a_xnack68", "gfx90878", "gfx942130",
         "gfx950100", "gfx906_60"},
        {"gfx90878", "gfx90a6e", "gfx942130", "gfx950100", "gfx906_60", "gfx1100_48"},
        {"gfx1030_36", "gfx1030_40", "gfx1031_36", "gfx1010_20", "gfx1100_48", "gfx1201_32"},
        {"gfx906_60", "gfx906_64", "gfx900_56", "gfx803_36", "gfx908_nosramecc78"},
        {"gfx942_38_cpx", "gfx942_40_cpx", "gfx942_38_cpx_nps4", "gfx942_40", "gfx942130"},
        {"sm_90_132_80g", "sm_90_114_80g", "sm_90_132_80g_mig7g", "sm_90_16_10g_mig1g"},
        {"sm_90_132_80g", "sm_90_132_141g", "sm_90_114_80g", "sm_90a_132_80g", "sm_89_128_24g",
         "sm_86_84_48g", "sm_100_148_180g"},
        {"sm_86_84_48g", "sm_87_16_32g", "sm_80_108_80g", "sm_75_40_16g"},
        {"cpu-znver4_2", "cpu-znver4_4", "cpu-znver4_64", "cpu-znver3_2", "cpu-znver5_2",
         "cpu-znver1_2", "cpu-skylake-avx512_2"},
    };
    for (gsize l = 0; l < G_N_ELEMENTS(lists); l++) {
        int last_kinship = SKIPJACKDB_SAME_TARGET;
        uint64_t last = 0;
        for (gsize i = 1; i < G_N_ELEMENTS(lists[l]) && lists[l][i] != NULL; i++) {
            int kinship = 0;
            uint64_t distance = 0;
            compare(lists[l][0], lists[l][i], &kinship, &distance);
            bool further = kinship > last_kinship || (kinship == last_kinship && distance > last);
            if (!further && strcmp(lists[l][0], lists[l][i]) != 0) {
                g_test_message("'%s': '%s' is not further than '%s'", lists[l][0], lists[l][i],
                               lists[l][i - 1]);
                g_test_fail();
            }
            last_kinship = kinship;
            last = distance;
        }
    }
}

static void kinship_is_by_architecture_family_and_vendor(void)
{
    static const struct {
        const char *target, *other;
        int kinship;
    } cases[] = {
        {"gfx90a68", "gfx90a68.sjdb", SKIPJACKDB_SAME_TARGET},
        {"gfx90a68.HIP.fdb.txt", "gfx90a68.db", SKIPJACKDB_SAME_TARGET},
        {"gfx90a68", "gfx90a6e", SKIPJACKDB_SAME_ARCHITECTURE},
        {"gfx906_60", "gfx906_xnack_60", SKIPJACKDB_SAME_ARCHITECTURE},
        {"gfx942_38_cpx", "gfx942_38.sjdb", SKIPJACKDB_SAME_ARCHITECTURE},
        {"gfx942_38_cpx", "gfx942_38_cpx.my_net.sjdb", SKIPJACKDB_SAME_TARGET},
        {"gfx90a68", "gfx90878", SKIPJACKDB_SAME_FAMILY},
        {"gfx90a68", "gfx906_60", SKIPJACKDB_SAME_VENDOR},
        {"gfx90a68", "gfx1030_36", SKIPJACKDB_SAME_VENDOR},
        {"gfx90a68", "sm_90_132_80g", SKIPJACKDB_STRANGERS},
        {"sm_90_132_80g", "sm_90_132_141g", SKIPJACKDB_SAME_ARCHITECTURE},
        {"sm_80_108_80g", "sm_86_84_48g", SKIPJACKDB_SAME_FAMILY},
        {"sm_90_132_80g", "sm_89_128_24g", SKIPJACKDB_SAME_VENDOR},
        {"cpu-znver4_2", "cpu-znver4_4.sjdb", SKIPJACKDB_SAME_ARCHITECTURE},
        {"cpu-znver4_2", "cpu-znver4_2.my_net.sjdb", SKIPJACKDB_SAME_TARGET},
        {"gfx90a68", "gfx90a68.my_net.sjdb", SKIPJACKDB_SAME_TARGET},
        {"cpu-znver4_2", "cpu-znver3_2", SKIPJACKDB_SAME_FAMILY},
        {"cpu-znver4_2", "cpu-skylake_2", SKIPJACKDB_SAME_VENDOR},
        {"cpu-znver4_2", "gfx90a68", SKIPJACKDB_STRANGERS},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        int there = -1, back = -1;
        uint64_t distance = 0;
        compare(cases[i].target, cases[i].other, &there, &distance);
        compare(cases[i].other, cases[i].target, &back, &distance);
        g_assert_cmpint(there, ==, cases[i].kinship);
        g_assert_cmpint(back, ==, cases[i].kinship);
    }
}

static void library_and_program_take_the_same_ids(void)
{
    static const char *const ids[] = {
        "gfx900_56",
        "gfx906_60",
        "gfx906_64",
        "gfx90878",
        "gfx90a68",
        "gfx90a6e",
        "gfx942130",
        "gfx1030_36",
        "gfx1100_48",
        "gfx110060",
        "gfx1201_32",
        "gfx90a_xnack68",
        "gfx942_38_cpx",
        "gfx942_38_cpx_nps4",
        "gfx942130_nps4",
        "gfx942130_spx",
        "gfx942_38_nps4_cpx",
        "gfx90a_xnack_nosramecc68",
        "sm_90_16_10g_mig",
        "sm_90_16_10g_mig1g",
        "sm_90_16_10g_mig1c2g",
        "sm_90_16_10g_mig1c",
        "sm_90_16_10g_mig01g",
        "sm_90_16_10g_mig100g",
        "sm_90_16_10g_mig1gx",
        "gfx906_nosramecc_noxnack_60",
        "sm_75_40_16g",
        "sm_90_132_80g",
        "sm_90a_132_80g",
        "cpu-znver4_2",
        "cpu-x86-64-v3_8",
        "cpu-skylake-avx512_16",
        "",
        "gfx",
        "gfx9",
        "gfx90a",
        "gfx90a_",
        "gfx90a_0",
        "gfx90a_68x",
        "gfx90a_999999999999",
        "sm_",
        "sm_90",
        "sm_90_132",
        "sm_90_132_80",
        "sm_90_132_80gb",
        "sm_90_0_80g",
        "cpu-",
        "cpu-_2",
        "cpu-znver4",
        "cpu-znver4_",
        "cpu-znver4_x",
        "local",
        "GFX90A68",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(ids); i++) {
        struct target target;
        int kinship = 0;
        uint64_t distance = 0;
        bool ours = target_parse(ids[i], &target, NULL);
        int code = skipjackdb_target_compare(ids[i], ids[i], &kinship, &distance);
        if (code != (ours ? SKIPJACKDB_OK : SKIPJACKDB_SYNTAX)) {
            g_test_message("'%s': the program %s it, the library says '%s'", ids[i],
                           ours ? "takes" : "refuses", skipjackdb_error_text(code));
            g_test_fail();
        }
    }
}

/* ---- folders ---- */

static void write_db(TempFolder *folder, const char *name)
{
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(temp_folder_path(folder, name));
    sjdb_writer_set_meta(writer, name);
    g_assert_true(sjdb_writer_finish(writer, NULL));
}

/* "NAME:CODE " of each file; opened databases come first, each named by its meta text. */
static char *describe(skipjackdb_folder *opened)
{
    GString *text = g_string_new("");
    struct skipjackdb_file file = {.size = sizeof file};
    size_t count = 0;
    uint32_t near = 0;
    skipjackdb *const *dbs = skipjackdb_folder_dbs(opened, &count, &near);
    g_string_append_printf(text, "near %u: ", near);
    for (size_t i = 0;; i++) {
        int code = skipjackdb_folder_file(opened, i, &file);
        if (code != SKIPJACKDB_OK && i >= count) {
            return g_string_free(text, FALSE);
        }
        if (code != SKIPJACKDB_OK) {
            g_assert_null(dbs[i]);
            g_string_append(text, "- ");
            continue;
        }
        g_string_append_printf(text, "%s:%d ", file.name, file.code);
        if (i < count) {
            g_assert_cmpstr(skipjackdb_meta(dbs[i]), ==, file.name);
        }
    }
}

static void folder_is_opened_in_the_order_of_nearness(void)
{
    static const struct {
        const char *target, *expected;
    } cases[] = {
        {"gfx90a68", "near 2: gfx90a68.sjdb:0 gfx90a6e.sjdb:0 gfx90878.sjdb:0 gfx1030_36.sjdb:0 "
                     "gfx942130.sjdb:3 "},
        {"gfx90a6e", "near 2: gfx90a6e.sjdb:0 gfx90a68.sjdb:0 gfx90878.sjdb:0 gfx1030_36.sjdb:0 "
                     "gfx942130.sjdb:3 "},
        {"gfx90a_40", "near 3: - gfx90a68.sjdb:0 gfx90a6e.sjdb:0 gfx90878.sjdb:0 "
                      "gfx1030_36.sjdb:0 gfx942130.sjdb:3 "},
        {"gfx942130", "near 1: - gfx90a6e.sjdb:0 gfx90a68.sjdb:0 gfx90878.sjdb:0 "
                      "gfx1030_36.sjdb:0 gfx942130.sjdb:3 "},
        {"sm_90_114_80g", "near 2: - sm_90_132_80g.sjdb:0 "},
        {"cpu-znver4_2", "near 1: - "},
    };
    static const char *const names[] = {"gfx1030_36.sjdb", "gfx90878.sjdb", "gfx90a6e.sjdb",
                                        "gfx90a68.sjdb", "sm_90_132_80g.sjdb"};
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        write_db(folder, names[i]);
    }
    temp_folder_write(folder, "gfx942130.sjdb", "no database", -1);
    temp_folder_write(folder, "gfx90a68.HIP.fdb.txt", "", -1);
    temp_folder_write(folder, "notes.sjdb", "", -1);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        skipjackdb_folder *opened = NULL;
        g_assert_cmpint(
            skipjackdb_folder_open(temp_folder_path(folder, "."), cases[i].target, &opened), ==,
            SKIPJACKDB_OK);
        g_autofree char *text = describe(opened);
        g_assert_cmpstr(text, ==, cases[i].expected);
        skipjackdb_folder_close(opened);
    }
}

/* Calls of readdir() that succeed before it fails; below 0 it never fails. */
static int readable = -1;

/* Replaces the C library's readdir(). */
struct dirent *readdir(DIR *stream)
{
    struct dirent *(*next)(DIR *) = NULL;
    if (readable == 0) {
        errno = ESTALE;
        return NULL;
    }
    readable -= readable > 0;
    *(void **)&next = dlsym(RTLD_NEXT, "readdir");
    return next(stream);
}

static void folder_that_fails_while_listed_is_an_error(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    write_db(folder, "gfx90a68.sjdb");
    write_db(folder, "gfx90a6e.sjdb");
    for (int count = 0; count < 4; count++) { /* two files, and the entries "." and ".." */
        skipjackdb_folder *opened = NULL;
        readable = count;
        int code = skipjackdb_folder_open(temp_folder_path(folder, "."), "gfx90a68", &opened);
        int reason = errno;
        readable = -1;
        g_assert_cmpint(code, ==, SKIPJACKDB_IO);
        g_assert_cmpint(reason, ==, ESTALE);
        g_assert_null(opened);
    }
}

static void unreadable_folder_is_an_error(void)
{
    skipjackdb_folder *opened = NULL;
    errno = 0;
    g_assert_cmpint(skipjackdb_folder_open("/no/such/folder", "gfx90a68", &opened), ==,
                    SKIPJACKDB_IO);
    g_assert_cmpint(errno, ==, ENOENT);
    g_assert_null(opened);
    g_assert_cmpint(skipjackdb_folder_open("/", "my GPU", &opened), ==, SKIPJACKDB_SYNTAX);
    g_assert_cmpint(skipjackdb_folder_open(NULL, "gfx90a68", &opened), ==, SKIPJACKDB_USAGE);
    skipjackdb_folder_close(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/choose_target/targets_are_near_in_the_order_of_the_rules",
                    targets_are_near_in_the_order_of_the_rules);
    g_test_add_func("/choose_target/kinship_is_by_architecture_family_and_vendor",
                    kinship_is_by_architecture_family_and_vendor);
    g_test_add_func("/choose_target/library_and_program_take_the_same_ids",
                    library_and_program_take_the_same_ids);
    g_test_add_func("/choose_target/folder_is_opened_in_the_order_of_nearness",
                    folder_is_opened_in_the_order_of_nearness);
    g_test_add_func("/choose_target/unreadable_folder_is_an_error", unreadable_folder_is_an_error);
    g_test_add_func("/choose_target/folder_that_fails_while_listed_is_an_error",
                    folder_that_fails_while_listed_is_an_error);
    return g_test_run();
}
