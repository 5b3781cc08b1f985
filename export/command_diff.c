#include "export/commands.h"

#include "export/diff.h"

#define SUMMARY                                                                                    \
    "Compares two find-dbs (either form), two perf-dbs (SQLite or text) or two\n"                  \
    "kernel-dbs, plain or .bz2, or .sjdb with any of them, by what they say: keys\n"               \
    "gained and lost, winners changed, and what that does to the time, over all keys\n"            \
    "and over networks: each list of problems is one (a layer table names its own)."
#define DESCRIPTION                                                                                \
    "Exit status: 0 when both say the same; 1 when they differ or cannot be read; 2 for\n"         \
    "wrong usage. Lines that cannot be read are named and not compared; check says more.\n\n"      \
    "Example:\n"                                                                                   \
    "  skipjack diff old.HIP.fdb.txt new.HIP.fdb.txt --problems lists/*.txt"

struct diff_options {
    gboolean json;
    char **files; /* A and B, then lists that stand behind the first */
    char **lists;
};

static bool wrong(const char *message, GError **error)
{
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "%s, see skipjack diff --help",
                message);
    return false;
}

static bool check_options(const struct diff_options *options, GError **error)
{
    guint files = options->files != NULL ? g_strv_length(options->files) : 0;
    if (files < 2) {
        return wrong("name two files", error);
    }
    return files == 2 || options->lists != NULL ||
           wrong("it compares two files; lists stand behind --problems", error);
}

static bool parse(int argc, char **argv, struct diff_options *options, GError **error)
{
    const GOptionEntry entries[] = {
        {"problems", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->lists,
         "Lists of problems, networks by which time is weighted", "LIST..."},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options->json, "One JSON object, with all differences",
         NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->files, NULL, "A B"},
        {0},
    };
    g_set_prgname("skipjack diff");
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_option_context_set_summary(context, SUMMARY);
    g_option_context_set_description(context, DESCRIPTION);
    g_option_context_add_main_entries(context, entries, NULL);
    return g_option_context_parse(context, &argc, &argv, error) && check_options(options, error);
}

/* A shell's pattern behind --problems leaves all but its first list among the files. Borrowed;
 * NULL without lists. */
static char **all_lists(const struct diff_options *options)
{
    if (options->lists == NULL) {
        return NULL;
    }
    GPtrArray *lists = g_ptr_array_new();
    for (char **list = options->lists; *list != NULL; list++) {
        g_ptr_array_add(lists, *list);
    }
    for (char **list = options->files + 2; *list != NULL; list++) {
        g_ptr_array_add(lists, *list);
    }
    g_ptr_array_add(lists, NULL);
    return (char **)g_ptr_array_free(lists, FALSE);
}

static int run(const struct diff_options *options)
{
    g_autoptr(GError) error = NULL;
    g_autofree char **lists = all_lists(options);
    g_autoptr(DiffReport) report =
        diff_files(options->files[0], options->files[1], lists, options->json, &error);
    if (report == NULL) {
        g_printerr("skipjack diff: %s\n", error->message);
        return 1;
    }
    if (options->json) {
        diff_report_print_json(report, stdout);
    } else {
        diff_report_print(report, stdout);
    }
    return diff_report_equal(report) ? 0 : 1;
}

int command_diff(int argc, char **argv)
{
    struct diff_options options = {0};
    g_autoptr(GError) error = NULL;
    int status = 2;
    if (parse(argc, argv, &options, &error)) {
        status = run(&options);
    } else {
        g_printerr("skipjack diff: %s\n", error->message);
    }
    g_strfreev(options.files);
    g_strfreev(options.lists);
    return status;
}
