#include "export/commands.h"

#include "coordinator/cli/cli.h"
#include "export/check/check_release.h"
#include "export/formats/manifest.h"

#define SUMMARY                                                                                    \
    "Reads find-dbs, perf-dbs and kernel-dbs (plain or .bz2, MIOpen's own or ours)\n"              \
    "and reports rows that cannot be read, rows that are not written back to the same\n"           \
    "bytes, content that contradicts the target in the file's name, and other findings.\n\n"       \
    "In a folder, checks all files with names of these formats, and then each target's\n"          \
    "files together as a release: tunable winners of the find-db have params in the\n"             \
    "perf-db, winners have their kernels in the kernel-db and are in the .sjdb, and the\n"         \
    "manifest (.export.json, .golden.json) lists exactly the files that are there. A\n"            \
    "manifest as PATH checks the release that it lists."
#define DESCRIPTION                                                                                \
    "Exit status: 0 when all files are clean; 1 when a file has something that cannot\n"           \
    "be read, something that is written back differently, or a finding that makes it\n"            \
    "unfit to ship; 2 for wrong usage.\n\nExamples:\n"                                             \
    "  skipjack check out\n"                                                                       \
    "  skipjack check --json out/gfx90a68.HIP.fdb.txt out/gfx90a68.db"

struct check_options {
    gboolean json;
    char **paths;
};

static bool parse(int argc, char **argv, struct check_options *options, GError **error)
{
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &options->json,
         "Print one JSON object for each file, one a line", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->paths, NULL, "PATH..."},
        {0},
    };
    const struct cli cli = {
        .command = "check", .summary = SUMMARY, .description = DESCRIPTION, .options = entries};
    bool parsed = cli_parse_options(&cli, &argc, &argv, error);
    if (parsed && options->paths == NULL) {
        return cli_misuse(error, "name a file or a folder");
    }
    return parsed;
}

static bool print(const struct check_report *report, const struct check_options *options)
{
    if (options->json) {
        check_report_print_json(report, stdout);
    } else {
        check_report_print(report, stdout);
    }
    fflush(stdout);
    return check_report_clean(report);
}

/* Checks each file of a folder, then the files of each target together. */
static bool check_together(const char *folder, const GPtrArray *files,
                           const struct check_options *options)
{
    bool clean = true;
    g_autoptr(GHashTable) ours = check_names_of_manifests(files);
    for (guint i = 0; i < files->len; i++) {
        g_autoptr(CheckReport) report = check_file(files->pdata[i]);
        g_autofree char *name = g_path_get_basename(files->pdata[i]);
        report->ours = report->says_ours || g_hash_table_contains(ours, name);
        clean = print(report, options) && clean;
    }
    g_autoptr(GPtrArray) releases = check_releases(folder, files, ours);
    for (guint i = 0; i < releases->len; i++) {
        clean = print(releases->pdata[i], options) && clean;
    }
    return clean;
}

static bool check_path(const char *path, const struct check_options *options)
{
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) error = NULL;
    if (manifest_is_name(path) && !g_file_test(path, G_FILE_TEST_IS_DIR)) {
        g_autofree char *folder = g_path_get_dirname(path);
        check_list_release(path, files);
        return check_together(folder, files, options);
    }
    if (!g_file_test(path, G_FILE_TEST_IS_DIR)) {
        g_autoptr(CheckReport) report = check_file(path);
        return print(report, options);
    }
    if (!check_list_files(path, files, &error)) {
        cli_fail("check", g_steal_pointer(&error));
        return false;
    }
    if (files->len == 0) {
        g_printerr("skipjack check: '%s' holds no find-db, perf-db or kernel-db\n", path);
        return false;
    }
    return check_together(path, files, options);
}

int command_check(int argc, char **argv)
{
    struct check_options options = {0};
    g_autoptr(GError) error = NULL;
    if (!parse(argc, argv, &options, &error)) {
        return cli_fail("check", g_steal_pointer(&error));
    }
    bool clean = true;
    for (char **path = options.paths; *path != NULL; path++) {
        clean = check_path(*path, &options) && clean;
    }
    g_strfreev(options.paths);
    return clean ? 0 : 1;
}
