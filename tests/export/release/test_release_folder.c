#include "export/release/release_folder.h"

#include "export/sjdb/sjdb_write.h"
#include "tests/support/temp_folder.h"

#include <string.h>

#define LISTED(NAME) "{\"name\":\"" NAME "\",\"bytes\":1,\"sha256\":\"00\"}"
#define CAMPAIGN(NAME, FILE)                                                                       \
    "{\"target\":\"gfx90a68\",\"campaign\":\"" NAME "\",\"files\":[" LISTED(FILE) "]}"
#define GOLDEN(FILE) "{\"target\":\"gfx90a68\",\"version\":2,\"files\":[" LISTED(FILE) "]}"

/* Whether a folder with these files accepts the export of the campaign "net" of gfx90a68. */
static void a_folder_is_accepted_by_the_release_it_holds(void)
{
    static const struct {
        const char *name, *text;   /* name and content of a file in the folder */
        const char *name2, *text2; /* a second file; NULL: there is none */
        const char *whose;         /* a part of the refusal; NULL: the folder accepts the export */
    } cases[] = {
        {"notes.txt", "", NULL, NULL, NULL},
        {"gfx942130.db", "", "gfx942130.export.json", "damaged", NULL},
        {"gfx90a68.db", "", NULL, NULL, "somebody else: no manifest lists them: gfx90a68.db"},
        {"gfx90a68.db", "", "gfx90a68.export.json", CAMPAIGN("net", "gfx90a68.db"), NULL},
        {"gfx90a68.db", "", "gfx90a68.export.json", CAMPAIGN("net", "gfx90a68.kdb"),
         "no manifest lists 'gfx90a68.db'"},
        {"gfx90a68.db", "", "gfx90a68.export.json", CAMPAIGN("other", "gfx90a68.db"),
         "the campaign 'other'"},
        {"gfx90a68.db", "", "gfx90a68.golden.json", GOLDEN("gfx90a68.db"), "golden version 2"},
        {"gfx90a68.export.json", CAMPAIGN("net", "gfx90a68.db"), "gfx90a68.golden.json",
         GOLDEN("gfx90a68.db"), "golden version 2"},
        {"gfx90a68.export.json", "damaged", NULL, NULL, "whose manifest cannot be read"},
        {"gfx90a68.sjdb", "damaged", NULL, NULL, "somebody else"},
    };
    const struct release_name release = {.target = "gfx90a68", .campaign = "net"};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct release_folder folder;
        g_autoptr(TempFolder) temp = temp_folder_new();
        g_autoptr(GError) error = NULL;
        temp_folder_write(temp, cases[i].name, cases[i].text, -1);
        if (cases[i].name2 != NULL) {
            temp_folder_write(temp, cases[i].name2, cases[i].text2, -1);
        }
        const char *dir = temp_folder_path(temp, "");
        bool admitted = release_folder_read(&folder, dir, &release, false, &error);
        g_test_message("%s: %s", cases[i].name, error != NULL ? error->message : "admitted");
        g_assert_true(admitted == (cases[i].whose == NULL));
        g_assert_cmpuint(folder.stale->len, ==, 0);
        if (!admitted) {
            g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_FOLDER);
            g_assert_true(cases[i].whose != NULL && strstr(error->message, cases[i].whose) != NULL);
        }
        release_folder_clear(&folder);
        g_assert_true(release_folder_read(&folder, dir, &release, true, NULL));
        g_assert_true((folder.stale->len > 0) == !admitted);
        release_folder_clear(&folder);
    }
    struct release_folder none;
    g_assert_true(release_folder_read(&none, "/nonexistent", &release, false, NULL));
    release_folder_clear(&none);
}

/* Exports of older programs wrote no manifest: the .sjdb then says which campaign the files are
 * of. */
static void without_a_manifest_the_sjdb_tells(void)
{
    static const struct {
        const char *meta, *whose;
    } cases[] = {
        {"{\"target\":\"gfx90a68\",\"campaign\":\"net\"}", NULL},
        {"{\"target\":\"gfx90a68\",\"campaign\":\"other\"}", "the campaign 'other'"},
        {"{\"target\":\"gfx90a68\",\"golden_version\":4}", "golden version 4"},
        {"{\"target\":\"gfx942130\",\"campaign\":\"net\"}", "the campaign 'net'"},
        {"{\"target\":\"gfx90a68\"}", "somebody else"},
    };
    const struct release_name release = {.target = "gfx90a68", .campaign = "net"};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct release_folder folder;
        struct problem problem;
        const struct sjdb_find_entry entry = {"S", "miopenConvolutionFwdAlgoGEMM", NULL, 1, 0, 0,
                                              0};
        g_autoptr(TempFolder) temp = temp_folder_new();
        g_autoptr(GError) error = NULL;
        g_autoptr(SjdbWriter) writer = sjdb_writer_new(temp_folder_path(temp, "gfx90a68.sjdb"));
        problem_init(&problem);
        problem_set_output(&problem);
        g_assert_true(sjdb_writer_add_find(writer, &problem, &entry, 1, &error));
        sjdb_writer_set_meta(writer, cases[i].meta);
        g_assert_true(sjdb_writer_finish(writer, &error));
        temp_folder_write(temp, "gfx90a68.kdb", "", 0);
        bool admitted =
            release_folder_read(&folder, temp_folder_path(temp, ""), &release, false, &error);
        g_test_message("%s", cases[i].meta);
        g_assert_true(admitted == (cases[i].whose == NULL));
        g_assert_true(admitted || strstr(error->message, cases[i].whose) != NULL);
        release_folder_clear(&folder);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/release_folder/a_folder_is_accepted_by_the_release_it_holds",
                    a_folder_is_accepted_by_the_release_it_holds);
    g_test_add_func("/release_folder/without_a_manifest_the_sjdb_tells",
                    without_a_manifest_the_sjdb_tells);
    return g_test_run();
}
