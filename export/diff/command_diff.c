#include "export/commands.h"

#include "coordinator/cli/cli.h"
#include "export/diff/diff.h"
#include "export/formats/file_name.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define SUMMARY                                                                                    \
    "Compares two find-dbs (either form), two perf-dbs (SQLite or text) or two\n"                  \
    "kernel-dbs, plain or .bz2, or .sjdb with any of them, by what they say: keys\n"               \
    "gained and lost, winners changed, and what that does to the time, over all keys\n"            \
    "and over networks: each list of problems is one (a layer table names its own).\n"             \
    "Of two folders files of one name are compared, and those with equal bytes only\n"             \
    "counted. Times that differ by no more than --noise count as equal, and so do those\n"         \
    "of two .sjdb whose intervals meet, unless --noise is 0."
#define DESCRIPTION                                                                                \
    "Exit status: 0 when both say the same; 1 when they differ or cannot be read; 2 for\n"         \
    "wrong usage. Lines that cannot be read are named and not compared; check says more.\n\n"      \
    "Example:\n"                                                                                   \
    "  skipjack diff old.HIP.fdb.txt new.HIP.fdb.txt --problems lists/*.txt"

struct diff_options {
    gboolean json;
    double noise_percent;
    char **files; /* A, B, and lists that a shell expanded (see all_lists()) */
    char **lists;
    struct import_words words; /* --batch, --dtype, ...: values that lists leave out */
    struct import_options list;
};

static bool check_options(const struct diff_options *options, GError **error)
{
    guint files = options->files != NULL ? g_strv_length(options->files) : 0;
    if (files < 2) {
        return cli_misuse(error, "name two files, or two folders"
                                 "; see skipjack diff --help");
    }
    if (!(options->noise_percent >= 0 && options->noise_percent <= 1000)) {
        return cli_misuse(error, "--noise takes a percentage, 0 or more"
                                 "; see skipjack diff --help");
    }
    if (options->lists == NULL && import_words_any(&options->words)) {
        return cli_misuse(
            error, "--network, --batch, --dtype, --layout and --allow-clamped belong to --problems"
                   "; see skipjack diff --help");
    }
    return files == 2 || options->lists != NULL ||
           cli_misuse(error, "it compares two files; lists stand behind --problems"
                             "; see skipjack diff --help");
}

static bool parse(int argc, char **argv, struct diff_options *options, GError **error)
{
    const GOptionEntry entries[] = {
        {"problems", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->lists,
         "Lists of problems, networks by which time is weighted", "LIST..."},
        {"noise", 0, 0, G_OPTION_ARG_DOUBLE, &options->noise_percent,
         "Times that differ by at most this are equal (2)", "PERCENT"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options->json,
         "One JSON object, with all differences; of folders one for each file that differs, then one for both, a line each",
         NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options->files, NULL, "A B"},
        {0},
    };
    g_autofree GOptionEntry *list = import_words_entries(&options->words, 0, 0);
    const struct cli cli = {.command = "diff",
                            .summary = SUMMARY,
                            .description = DESCRIPTION,
                            .options = entries,
                            .lists = list};
    return cli_parse_options(&cli, &argc, &argv, error) && check_options(options, error) &&
           import_words_parse(&options->words, &options->list, error);
}

/* Returns all lists of problems (texts borrowed), NULL if --problems was not given. A shell expands
 * `--problems *.txt` to several words: the first follows the option, the others are found among the
 * plain arguments, behind A and B. */
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

/* Returns 0 if the files are equal, 1 if they differ or cannot be compared. */
static int compare_files(const struct diff_options *options, const char *first, const char *second)
{
    g_autoptr(GError) error = NULL;
    g_autofree char **paths = all_lists(options);
    const struct diff_lists lists = {paths, options->list};
    g_autoptr(DiffReport) report = diff_files(first, second, paths != NULL ? &lists : NULL,
                                              options->noise_percent / 100, options->json, &error);
    if (report == NULL) {
        return cli_fail("diff", g_steal_pointer(&error));
    }
    if (options->json) {
        diff_report_print_json(report, stdout);
    } else {
        diff_report_print(report, stdout);
    }
    return diff_report_equal(report) ? 0 : 1;
}

/* ---- folders ---- */

static int compare_names(const char *const *a, const char *const *b)
{
    return strcmp(*a, *b);
}

/* Returns the sorted names of the files that can be compared; NULL with an error. */
static GPtrArray *names_of(const char *folder, GError **error)
{
    enum file_kind kind;
    const char *name;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, error);
    if (dir == NULL) {
        return NULL;
    }
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    while ((name = g_dir_read_name(dir)) != NULL) {
        if (file_name_kind(name, &kind)) {
            g_ptr_array_add(names, g_strdup(name));
        }
    }
    g_ptr_array_sort(names, (GCompareFunc)compare_names);
    return names;
}

static bool same_bytes(const char *first, const char *second)
{
    g_autoptr(GMappedFile) left = g_mapped_file_new(first, FALSE, NULL);
    g_autoptr(GMappedFile) right = g_mapped_file_new(second, FALSE, NULL);
    gsize length = left != NULL ? g_mapped_file_get_length(left) : 0;
    return left != NULL && right != NULL && length == g_mapped_file_get_length(right) &&
           (length == 0 || memcmp(g_mapped_file_get_contents(left),
                                  g_mapped_file_get_contents(right), length) == 0);
}

/* The result of comparing two folders. only_first, only_second: names of files that the other folder
 * lacks. equal_bytes: how many of the compared files are equal byte by byte. */
struct folders {
    const char *first, *second;
    GPtrArray *only_first, *only_second;
    int compared, equal_bytes;
    bool equal;
};

static json_t *names_as_json(const GPtrArray *names)
{
    json_t *array = json_array();
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *name = g_utf8_make_valid(names->pdata[i], -1);
        json_array_append_new(array, json_string(name));
    }
    return array;
}

static void print_folders_json(const struct folders *folders)
{
    g_autofree char *first = g_utf8_make_valid(folders->first, -1);
    g_autofree char *second = g_utf8_make_valid(folders->second, -1);
    json_t *object = json_pack("{s:[s, s], s:o, s:o, s:i, s:i, s:b}", "folders", first, second,
                               "only_first", names_as_json(folders->only_first), "only_second",
                               names_as_json(folders->only_second), "compared", folders->compared,
                               "equal_bytes", folders->equal_bytes, "equal", folders->equal);
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

static void print_only(const char *folder, const GPtrArray *names)
{
    for (guint i = 0; i < names->len; i++) {
        printf("only in %s: %s\n", folder, (const char *)names->pdata[i]);
    }
}

static void print_folders(const struct folders *folders)
{
    print_only(folders->first, folders->only_first);
    print_only(folders->second, folders->only_second);
    printf("%d of %d files in both folders have equal bytes\n", folders->equal_bytes,
           folders->compared);
}

static void compare_both(const struct diff_options *options, const char *name,
                         struct folders *folders)
{
    g_autofree char *first = g_build_filename(folders->first, name, NULL);
    g_autofree char *second = g_build_filename(folders->second, name, NULL);
    folders->compared++;
    if (same_bytes(first, second)) {
        folders->equal_bytes++;
    } else if (compare_files(options, first, second) != 0) {
        folders->equal = false;
    }
}

/* Compares the files that have the same name in both folders. Files with equal bytes are counted and
 * not read as databases. */
static int compare_folders(const struct diff_options *options, const char *first,
                           const char *second)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) left = names_of(first, &error);
    g_autoptr(GPtrArray) right = left != NULL ? names_of(second, &error) : NULL;
    if (right == NULL) {
        return cli_fail("diff", g_steal_pointer(&error));
    }
    if (left->len + right->len == 0) {
        g_printerr("skipjack diff: neither '%s' nor '%s' holds a file that can be compared\n",
                   first, second);
        return 1;
    }
    g_autoptr(GPtrArray) only_first = g_ptr_array_new(), only_second = g_ptr_array_new();
    struct folders folders = {first, second, only_first, only_second, 0, 0, true};
    for (guint i = 0, j = 0; i < left->len || j < right->len;) {
        int order = i == left->len    ? 1
                    : j == right->len ? -1
                                      : strcmp(left->pdata[i], right->pdata[j]);
        if (order < 0) {
            g_ptr_array_add(only_first, left->pdata[i++]);
        } else if (order > 0) {
            g_ptr_array_add(only_second, right->pdata[j++]);
        } else {
            compare_both(options, left->pdata[i++], &folders);
            j++;
        }
    }
    folders.equal = folders.equal && only_first->len + only_second->len == 0;
    if (options->json) {
        print_folders_json(&folders);
    } else {
        print_folders(&folders);
    }
    return folders.equal ? 0 : 1;
}

static int run(const struct diff_options *options)
{
    const char *first = options->files[0], *second = options->files[1];
    bool folders =
        g_file_test(first, G_FILE_TEST_IS_DIR) && g_file_test(second, G_FILE_TEST_IS_DIR);
    return folders ? compare_folders(options, first, second)
                   : compare_files(options, first, second);
}

int command_diff(int argc, char **argv)
{
    struct diff_options options = {.noise_percent = DIFF_NOISE_PERCENT};
    g_autoptr(GError) error = NULL;
    int status = CLI_USAGE;
    if (parse(argc, argv, &options, &error)) {
        status = run(&options);
    } else {
        cli_fail("diff", g_steal_pointer(&error));
    }
    g_strfreev(options.files);
    g_strfreev(options.lists);
    import_words_clear(&options.words);
    return status;
}
