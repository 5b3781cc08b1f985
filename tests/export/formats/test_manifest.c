#include "export/formats/manifest.h"

#include "tests/support/temp_folder.h"

#include <string.h>

#define SUM   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define FILES "\"files\":[{\"name\":\"a.db\",\"bytes\":3,\"sha256\":\"" SUM "\"}]"

static struct manifest *read_text(TempFolder *folder, const char *text, GError **error)
{
    return manifest_read(temp_folder_write(folder, "x.export.json", text, -1), error);
}

static void all_members_are_read(void)
{
    static const struct {
        const char *text, *whose;
        int jobs;
    } cases[] = {
        {"{\"target\":\"t\",\"campaign\":\"net\",\"jobs\":7,\"jobs_ended\":5," FILES "}",
         "the campaign 'net'", 7},
        {"{\"target\":\"t\",\"version\":3,\"campaigns\":[]," FILES "}", "golden version 3", -1},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Manifest) manifest = read_text(folder, cases[i].text, &error);
        g_assert_no_error(error);
        g_autofree char *whose = manifest_whose(manifest);
        const struct manifest_file *file = manifest->files->pdata[0];
        g_assert_cmpstr(whose, ==, cases[i].whose);
        g_assert_cmpint(manifest->jobs, ==, cases[i].jobs);
        g_assert_cmpstr(file->name, ==, "a.db");
        g_assert_cmpint(file->bytes, ==, 3);
        g_assert_cmpstr(file->sha256, ==, SUM);
    }
}

static void other_json_is_refused(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "line"},
        {"{", "line 1"},
        {"[]", "of which target"},
        {"{\"campaign\":\"net\"," FILES "}", "of which target"},
        {"{\"target\":\"t\"," FILES "}", "which campaign or golden version"},
        {"{\"target\":\"t\",\"campaign\":\"a\",\"version\":2," FILES "}", "which campaign"},
        {"{\"target\":\"t\",\"version\":-2," FILES "}", "which campaign"},
        {"{\"target\":\"t\",\"version\":1}", "lists no files"},
        {"{\"target\":\"t\",\"version\":1,\"files\":[{\"name\":\"a\"}]}", "name, size and SHA-256"},
        {"{\"target\":\"t\",\"version\":1,\"files\":[{\"name\":\"../a\",\"bytes\":1,\"sha256\":\"\"}]}",
         "not in its folder"},
        {"{\"target\":\"t\",\"version\":1,\"files\":[{\"name\":\"..\",\"bytes\":1,\"sha256\":\"\"}]}",
         "not in its folder"},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Manifest) manifest = read_text(folder, cases[i].text, &error);
        g_test_message("%s", cases[i].text);
        g_assert_null(manifest);
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX);
        g_assert_nonnull(strstr(error->message, cases[i].says));
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(manifest_read(temp_folder_path(folder, "none"), &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_IO);
}

/* The target's limits are read from the manifest; limits that are missing or that no device has are
 * ignored. */
static void limits_of_the_target_are_read(void)
{
    static const struct {
        const char *limits;
        bool taken;
    } cases[] = {
        {"\"limits\":{\"local_bytes\":4096,\"max_workgroup\":8,\"wave_size\":1,\"vector_bytes\":16},",
         true},
        {"\"limits\":{\"local_bytes\":4096,\"max_workgroup\":0,\"wave_size\":1,\"vector_bytes\":16},",
         false},
        {"\"limits\":{\"max_workgroup\":8,\"wave_size\":1,\"vector_bytes\":16},", false},
        {"\"limits\":7,", false},
        {"", false},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct target target;
        g_assert_true(target_parse("cpu-znver4_2", &target, NULL));
        const struct target before = target;
        g_autofree char *text =
            g_strdup_printf("{\"target\":\"t\",\"version\":1,%s" FILES "}", cases[i].limits);
        g_autoptr(Manifest) manifest = read_text(folder, text, NULL);
        g_assert_true(manifest_take_limits(manifest, &target) == cases[i].taken);
        g_assert_cmpint(target.vector_bytes, ==, cases[i].taken ? 16 : before.vector_bytes);
        g_assert_cmpint(target.local_bytes, ==, cases[i].taken ? 4096 : before.local_bytes);
    }
}

static void parts_are_compared_by_the_options_both_name(void)
{
    static const struct {
        const char *said, *asked;
        bool same;
    } cases[] = {
        {"{\"top\":4,\"tag\":null}", "{\"top\":4,\"tag\":null}", true},
        {"{\"top\":4}", "{\"top\":4,\"allow_drift\":false}", true},
        {"{\"top\":4,\"old\":1}", "{\"top\":4}", true},
        {"{\"top\":4}", "{\"top\":2}", false},
        {"{\"tag\":null}", "{\"tag\":\"a\"}", false},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup_printf(
            "{\"target\":\"t\",\"version\":1,\"part\":%s," FILES "}", cases[i].said);
        g_autoptr(Manifest) manifest = read_text(folder, text, NULL);
        json_t *asked = json_loads(cases[i].asked, 0, NULL);
        g_test_message("%s and %s", cases[i].said, cases[i].asked);
        g_assert_true(manifest_is_of_part(manifest, asked) == cases[i].same);
        json_decref(asked);
    }
}

/* The manifest's SHA-256 and size of a file are of its unpacked bytes: releases are shipped
 * packed. */
static void sums_are_of_unpacked_bytes(void)
{
    int64_t bytes = 0;
    g_autofree char *plain = NULL;
    g_autofree char *packed = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_assert_true(
        manifest_sum(temp_folder_write(folder, "a.db", "abc", -1), &bytes, &plain, &error));
    g_assert_cmpint(bytes, ==, 3);
    g_assert_true(manifest_sum(temp_folder_write_bzip2(folder, "a.db.bz2", "abc", 3), &bytes,
                               &packed, &error));
    g_assert_no_error(error);
    g_assert_cmpint(bytes, ==, 3);
    g_assert_cmpstr(plain, ==, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    g_assert_cmpstr(packed, ==, plain);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/manifest/all_members_are_read", all_members_are_read);
    g_test_add_func("/manifest/other_json_is_refused", other_json_is_refused);
    g_test_add_func("/manifest/parts_are_compared_by_the_options_both_name",
                    parts_are_compared_by_the_options_both_name);
    g_test_add_func("/manifest/limits_of_the_target_are_read", limits_of_the_target_are_read);
    g_test_add_func("/manifest/sums_are_of_unpacked_bytes", sums_are_of_unpacked_bytes);
    return g_test_run();
}
