#include "export/commands.h"

#include "export/check.h"

#define SUMMARY                                                                                    \
    "Reads find-dbs, perf-dbs and kernel-dbs (plain or .bz2, MIOpen's own or ours)\n"              \
    "and says what is in them: what cannot be read and why, whether what was read\n"               \
    "is written back to the same bytes, and what else is worth knowing. Of a folder,\n"            \
    "the files with names of these formats."
#define DESCRIPTION                                                                                \
    "Exit status: 0 when all files are clean; 1 when a file has something that cannot\n"           \
    "be read, something that is written back differently, or a finding that makes it\n"            \
    "unfit to ship; 2 for wrong usage.\n\nExample:\n"                                              \
    "  skipjack check --json out/gfx90a68.HIP.fdb.txt out/gfx90a68.db"

struct check_options {
    gboolean json;
    char **paths;
};

static bool parse(int argc, char **argv, struct check_options *options, GError **error)
{
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "One JSON object a file, one a line",
         NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->paths, NULL, "PATH..."},
        {0},
    };
    g_set_prgname("skipjack check");
    GOptionContext *context = g_option_context_new(NULL);
    g_option_context_set_summary(context, SUMMARY);
    g_option_context_set_description(context, DESCRIPTION);
    g_option_context_add_main_entries(context, entries, NULL);
    bool parsed = g_option_context_parse(context, &argc, &argv, error);
    g_option_context_free(context);
    if (parsed && options->paths == NULL) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "name a file or a folder");
        return false;
    }
    return parsed;
}

static bool list_all(char **paths, GPtrArray *files)
{
    bool listed = true;
    for (char **path = paths; *path != NULL; path++) {
        g_autoptr(GError) error = NULL;
        guint before = files->len;
        if (!check_list_files(*path, files, &error)) {
            g_printerr("skipjack check: %s\n", error->message);
            listed = false;
        } else if (files->len == before) {
            g_printerr("skipjack check: no find-db, perf-db or kernel-db lies in '%s'\n", *path);
            listed = false;
        }
    }
    return listed;
}

int command_check(int argc, char **argv)
{
    struct check_options options = {0};
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    if (!parse(argc, argv, &options, &error)) {
        g_printerr("skipjack check: %s\n", error->message);
        return 2;
    }
    bool clean = list_all(options.paths, files);
    g_strfreev(options.paths);
    for (guint i = 0; i < files->len; i++) {
        g_autoptr(CheckReport) report = check_file(files->pdata[i]);
        if (options.json) {
            check_report_print_json(report, stdout);
        } else {
            check_report_print(report, stdout);
        }
        fflush(stdout);
        clean = clean && check_report_clean(report);
    }
    return clean ? 0 : 1;
}
