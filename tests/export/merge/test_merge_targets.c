#include "export/commands.h"
#include "export/formats/kernel_db.h"
#include "export/sjdb/sjdb_meta.h"
#include "tests/support/export/merge_texts.h"
#include "tests/support/export/real_data.h"
#include "tests/support/temp_folder.h"

#include <elf.h>
#include <string.h>

#define FIND     K1 "=S:5,0" DIRECT "\n"
#define OTHER    K2 "=S:5,0" DIRECT "\n"
/* A time below what gfx1030's 36 compute units can reach, and a solver that gfx1030 cannot run. */
#define TOO_FAST K1 "=S:0.0001,0" DIRECT "\n"
#define XDLOPS   K1 "=ConvHipImplicitGemmFwdXdlops:5,0" DIRECT "\n"

/* Merges files of these names and texts. Returns NULL if the merge is refused; *message then says
 * why, else it is "". */
static MergeReport *merge_named(TempFolder *folder, const char *const names[2],
                                const char *const texts[2], const char *out, bool mixed,
                                char **message)
{
    struct merge_options options = {.mixed_targets = mixed};
    g_autoptr(GError) error = NULL;
    char *paths[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 2 && names[i] != NULL; i++) {
        paths[i] = texts != NULL ? (char *)temp_folder_write(folder, names[i], texts[i], -1)
                                 : (char *)temp_folder_path(folder, names[i]);
    }
    MergeReport *report = merge_files(paths, temp_folder_path(folder, out), &options, &error);
    g_assert_true(report != NULL || g_error_matches(error, EXPORT_ERROR, EXPORT_ERROR_TARGET));
    *message = g_strdup(error != NULL ? error->message : "");
    return report;
}

static void files_of_other_targets_are_refused(void)
{
    static const struct {
        const char *names[2], *texts[2], *out;
        const char *said[3]; /* parts of the refusal; empty where the files are merged */
        const char *target;  /* the target of the merged output */
    } cases[] = {
        {{"gfx1030_36.HIP.fdb.txt", "gfx942130.HIP.fdb.txt"},
         {FIND, OTHER},
         "gfx942130.HIP.fdb.txt",
         {"gfx1030_36.HIP.fdb.txt' is of the target gfx1030_36",
          "gfx942130.HIP.fdb.txt' of gfx942130", "--mixed-targets"},
         NULL},
        {{"gfx1030_36.HIP.fdb.txt", NULL},
         {FIND, NULL},
         "gfx942130.sjdb",
         {"of the target gfx1030_36", "gfx942130.sjdb', of gfx942130", "--mixed-targets"},
         NULL},
        {{"gfx1030_36.HIP.fdb.txt", "gfx942130.HIP.fdb.txt"},
         {FIND, OTHER},
         "all.fdb.txt",
         {"gfx1030_36", "gfx942130", "--mixed-targets"},
         NULL},
        {{"gfx90a68.HIP.fdb.txt", "gfx90a_xnack68.HIP.fdb.txt"},
         {FIND, OTHER},
         "all.fdb.txt",
         {"gfx90a68", "gfx90a_xnack68", "--mixed-targets"},
         NULL},
        {{"gfx900_56.OpenCL.fdb.txt", "gfx906_60.HIP.fdb.txt"},
         {FIND, OTHER},
         "all.fdb.txt",
         {"gfx900_56", "gfx906_60", "--mixed-targets"},
         NULL},
        {{"gfx1030_36.HIP.fdb.txt", NULL},
         {TOO_FAST, NULL},
         "x.fdb.txt",
         {"is not of the target gfx1030_36", "1 of its 1 entries", "0.0001 ms"},
         NULL},
        {{"mine.fdb.txt", NULL},
         {XDLOPS, NULL},
         "gfx1030_36.HIP.fdb.txt",
         {"mine.fdb.txt' is not of the target gfx1030_36", "matrix units", "--mixed-targets"},
         NULL},
        {{"gfx1030_36.HIP.fdb.txt", "gfx1030_36.OpenCL.fdb.txt"},
         {FIND, OTHER},
         "gfx1030_36.sjdb",
         {NULL},
         "gfx1030_36"},
        {{"gfx90a68.HIP.fdb.txt", "gfx90a_104.HIP.fdb.txt"},
         {FIND, OTHER},
         "gfx90a68.HIP.fdb.txt",
         {NULL},
         "gfx90a68"},
        {{"gfx1030_36.HIP.fdb.txt", "mine.fdb.txt"},
         {FIND, OTHER},
         "x.fdb.txt",
         {NULL},
         "gfx1030_36"},
        {{"mine.fdb.txt", "yours.fdb.txt"}, {TOO_FAST, OTHER}, "ours.fdb.txt", {NULL}, "unknown"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autofree char *message = NULL;
        g_autoptr(MergeReport) report =
            merge_named(folder, cases[i].names, cases[i].texts, cases[i].out, false, &message);
        bool refused = cases[i].target == NULL;
        g_test_message("%s: %s", cases[i].names[0], message);
        g_assert_true((report == NULL) == refused);
        for (int s = 0; s < 3 && cases[i].said[s] != NULL; s++) {
            g_assert_nonnull(strstr(message, cases[i].said[s]));
        }
        if (report != NULL) {
            g_assert_cmpstr(file_target_text(&report->target), ==, cases[i].target);
        } else if (g_strcmp0(cases[i].out, cases[i].names[1]) != 0) {
            g_assert_false(g_file_test(temp_folder_path(folder, cases[i].out), G_FILE_TEST_EXISTS));
        }
    }
}

static void mixed_targets_are_merged_when_asked_for(void)
{
    static const char *const names[] = {"gfx1030_36.HIP.fdb.txt", "gfx942130.HIP.fdb.txt"};
    static const char *const texts[] = {TOO_FAST, OTHER};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *message = NULL;
    g_autoptr(MergeReport) report =
        merge_named(folder, names, texts, "gfx942130.sjdb", true, &message);
    g_assert_nonnull(report);
    g_assert_true(report->mixed);
    g_assert_cmpint(report->keys, ==, 2);
    g_assert_cmpstr(file_target_text(&report->target), ==, "unknown");
    skipjackdb *db = NULL;
    struct sjdb_meta meta;
    g_assert_cmpint(skipjackdb_open(temp_folder_path(folder, "gfx942130.sjdb"), &db), ==,
                    SKIPJACKDB_OK);
    sjdb_meta_read(db, &meta);
    g_assert_cmpint(meta.target.known, ==, TARGET_UNKNOWN);
    sjdb_meta_clear(&meta);
    skipjackdb_close(db);
}

/* A .sjdb's meta text states its target, which counts whatever the file is called later. */
static void a_sjdb_keeps_its_target(void)
{
    static const char *const from[] = {"gfx1030_36.HIP.fdb.txt", NULL};
    static const char *const texts[] = {FIND, NULL};
    static const char *const renamed[] = {"gfx942130.sjdb", NULL};
    static const char *const unnamed[] = {"mine.sjdb", NULL};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *message = NULL;
    g_autofree char *refusal = NULL;
    g_autofree char *ignored = NULL;
    g_autoptr(MergeReport) report =
        merge_named(folder, from, texts, "gfx1030_36.sjdb", false, &message);
    g_assert_nonnull(report);
    g_autoptr(GBytes) bytes = temp_folder_read(temp_folder_path(folder, "gfx1030_36.sjdb"));
    for (int i = 0; i < 2; i++) {
        temp_folder_write(folder, i == 0 ? renamed[0] : unnamed[0], g_bytes_get_data(bytes, NULL),
                          (gssize)g_bytes_get_size(bytes));
    }
    g_autoptr(MergeReport) refused =
        merge_named(folder, renamed, NULL, "out.fdb.txt", false, &refusal);
    g_assert_null(refused);
    g_assert_nonnull(strstr(refusal, "it says that it is of gfx1030_36, not gfx942130"));
    g_autoptr(MergeReport) merged =
        merge_named(folder, unnamed, NULL, "out.fdb.txt", false, &ignored);
    g_assert_nonnull(merged);
    g_assert_cmpstr(file_target_text(&merged->target), ==, "gfx1030_36");
}

/* Writes a kernel-db with one code object, whose ELF header has AMD's number of an architecture. */
static void write_kernel(TempFolder *folder, const char *name, const char *arch, unsigned number)
{
    Elf64_Ehdr header = {.e_machine = EM_AMDGPU, .e_flags = number};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) code = g_bytes_new(&header, sizeof header);
    g_autofree char *args = kernel_db_args("-O3", arch);
    g_autoptr(KernelDbWriter) writer = kernel_db_create(temp_folder_path(folder, name), &error);
    g_assert_true(kernel_db_add(writer, "a.o", args, code, &error));
    g_assert_true(kernel_db_finish(writer, &error));
    g_assert_no_error(error);
}

static void kernels_tell_their_architecture(void)
{
    static const struct {
        const char *name, *arch;
        unsigned number; /* the architecture's number in the code object's ELF header */
        const char *out, *said;
    } cases[] = {
        {"gfx90a68.kdb", "gfx90a", 0x3f, "gfx90a68.x.kdb", NULL},
        {"gfx90a68.kdb", "gfx942", 0x4c, "x.kdb", "is for gfx942, not gfx90a68"},
        {"gfx90a68.kdb", "gfx90a", 0x4c, "x.kdb", "is for gfx942, not gfx90a68"},
        {"mine.kdb", "gfx90a", 0x3f, "x.kdb", NULL},
        {"mine.kdb", "gfx90a", 0x3f, "gfx942130.kdb", "of the target gfx90a"},
        {"mine.kdb", "gfx90a", 0x4c, "x.kdb", "is for gfx942, not gfx90a"},
        {"gfx90a.kdb", "gfx90a", 0x3f, "gfx90a68.kdb", NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autofree char *message = NULL;
        const char *const names[2] = {cases[i].name, NULL};
        write_kernel(folder, cases[i].name, cases[i].arch, cases[i].number);
        g_autoptr(MergeReport) report =
            merge_named(folder, names, NULL, cases[i].out, false, &message);
        g_test_message("%s of %s into %s: %s", cases[i].name, cases[i].arch, cases[i].out, message);
        g_assert_true((report == NULL) == (cases[i].said != NULL));
        g_assert_true(cases[i].said == NULL || strstr(message, cases[i].said) != NULL);
    }
}

static int run(const char *const *words)
{
    char *argv[8];
    int argc = 0;
    for (; words[argc] != NULL; argc++) {
        argv[argc] = (char *)words[argc];
    }
    argv[argc] = NULL;
    return command_merge(argc, argv);
}

/* MIOpen ships 99,737 keys of another GPU under the name of gfx942130: merging the two files is
 * refused. */
static void shipped_files_of_two_targets_are_refused(void)
{
    g_autofree char *data = real_data("miopen");
    if (data == NULL) {
        return;
    }
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *first = g_build_filename(data, "gfx1030_36.HIP.fdb.txt.bz2", NULL);
    g_autofree char *second = g_build_filename(data, "gfx942130.HIP.fdb.txt.bz2", NULL);
    const char *out = temp_folder_path(folder, "gfx942130.HIP.fdb.txt");
    const char *const two[] = {"merge", first, second, "-o", out, NULL};
    g_assert_cmpint(run(two), ==, 1);
    g_assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
    /* A file whose name states no target is refused, too, if its content contradicts the output's
     * target. */
    g_autoptr(GBytes) bytes = temp_folder_read(second);
    const char *hidden = temp_folder_write(folder, "new.fdb.txt.bz2", g_bytes_get_data(bytes, NULL),
                                           (gssize)g_bytes_get_size(bytes));
    const char *wrong = temp_folder_path(folder, "gfx1030_36.HIP.fdb.txt");
    const char *right = temp_folder_path(folder, "gfx942130.x.fdb.txt");
    const char *const as_other[] = {"merge", hidden, "-o", wrong, NULL};
    const char *const as_itself[] = {"merge", hidden, "-o", right, NULL};
    g_assert_cmpint(run(as_other), ==, 1);
    g_assert_false(g_file_test(wrong, G_FILE_TEST_EXISTS));
    g_assert_cmpint(run(as_itself), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/merge_targets/files_of_other_targets_are_refused",
                    files_of_other_targets_are_refused);
    g_test_add_func("/merge_targets/mixed_targets_are_merged_when_asked_for",
                    mixed_targets_are_merged_when_asked_for);
    g_test_add_func("/merge_targets/a_sjdb_keeps_its_target", a_sjdb_keeps_its_target);
    g_test_add_func("/merge_targets/kernels_tell_their_architecture",
                    kernels_tell_their_architecture);
    g_test_add_func("/merge_targets/shipped_files_of_two_targets_are_refused",
                    shipped_files_of_two_targets_are_refused);
    return g_test_run();
}
