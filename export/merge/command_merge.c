#include "export/commands.h"

#include "coordinator/cli/cli.h"
#include "export/merge/merge.h"

#include <string.h>

#define SUMMARY                                                                                    \
    "Merges find-dbs (both forms), perf-dbs (SQLite, text), kernel-dbs, plain or .bz2,\n"          \
    "and .sjdb into one file of the format that OUT's name says. One input is\n"                   \
    "converted. OUT has every key once, sorted, and replaces an older OUT as a whole."
#define DESCRIPTION                                                                                \
    "Where inputs give one key and solver different values, --prefer says which stays:\n"          \
    "  newest   the input's that is named last (files hold no dates)\n"                            \
    "  fastest  the smaller time; where the format has none, as first\n"                           \
    "  trust    in perf-dbs params that our solvers take today before those they refuse;\n"        \
    "           else as first\n"                                                                   \
    "  first    the input's that is named first\n\n"                                               \
    "What is unreadable or has a time of 0 is left out and named.\n\n"                             \
    "Names of files begin with the target (gfx90a68.HIP.fdb.txt); other names are of an\n"         \
    "unknown target. Files of different targets are refused, also where their content\n"           \
    "contradicts the name: code objects and solvers for another target, a .sjdb that\n"            \
    "says another one, times that no such device reaches.\n\n"                                     \
    "Exit status: 0 when all was merged, also with conflicts; 1 when something was left\n"         \
    "out or nothing could be written; 2 for wrong usage.\n\nExample:\n"                            \
    "  skipjack merge --prefer fastest old.fdb.txt new.fdb.txt -o gfx90a68.HIP.fdb.txt"

static const char *const prefers[] = {[MERGE_NEWEST] = "newest",
                                      [MERGE_FASTEST] = "fastest",
                                      [MERGE_TRUST] = "trust",
                                      [MERGE_FIRST] = "first"};
static const char *const others[] = {"keep", "replace"};
static const char *const zeros[] = {"drop", "keep"};
static const char *const forms[] = {"newer", "older"};

struct words {
    char *prefer, *others, *zero, *form, *out;
    char **inputs;
    gboolean json, mixed;
};

/* Sets *chosen to the index of the option's value among `words`, 0 if the option is not given.
 * Returns false with an error for any other value. */
static bool choose(const char *option, const char *word, const char *const *words, int count,
                   int *chosen, GError **error)
{
    *chosen = 0;
    for (int i = 0; word != NULL && i < count; i++) {
        if (strcmp(word, words[i]) == 0) {
            *chosen = i;
            return true;
        }
    }
    if (word == NULL) {
        return true;
    }
    return cli_misuse(error, "%s knows no '%s'; see skipjack merge --help", option, word);
}

static bool choose_all(const struct words *words, struct merge_options *options, GError **error)
{
    int prefer = 0, other = 0, zero = 0, form = 0;
    if (!choose("--prefer", words->prefer, prefers, G_N_ELEMENTS(prefers), &prefer, error) ||
        !choose("--others", words->others, others, G_N_ELEMENTS(others), &other, error) ||
        !choose("--zero", words->zero, zeros, G_N_ELEMENTS(zeros), &zero, error) ||
        !choose("--form", words->form, forms, G_N_ELEMENTS(forms), &form, error)) {
        return false;
    }
    options->prefer = (enum merge_prefer)prefer;
    options->replace_others = other == 1;
    options->keep_zero = zero == 1;
    options->older_form = form == 1;
    options->all_conflicts = words->json;
    options->mixed_targets = words->mixed;
    return true;
}

static bool parse(int argc, char **argv, struct words *words, struct merge_options *options,
                  GError **error)
{
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &words->out, "The file to write", "OUT"},
        {"prefer", 0, 0, G_OPTION_ARG_STRING, &words->prefer,
         "newest (the default), fastest, trust or first", "newest|fastest|trust|first"},
        {"others", 0, 0, G_OPTION_ARG_STRING, &words->others,
         "Other inputs' solvers of a key: keep them (the default) or replace them all",
         "keep|replace"},
        {"zero", 0, 0, G_OPTION_ARG_STRING, &words->zero,
         "Times of 0: drop them (the default) or keep them, never winning", "drop|keep"},
        {"form", 0, 0, G_OPTION_ARG_STRING, &words->form,
         "A find-db's: newer (the default) or older", "newer|older"},
        {"mixed-targets", 0, 0, G_OPTION_ARG_NONE, &words->mixed,
         "Inputs and output may be of several targets: compare none", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &words->json, "What was done as one JSON object", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &words->inputs, NULL, "IN..."},
        {0},
    };
    const struct cli cli = {
        .command = "merge", .summary = SUMMARY, .description = DESCRIPTION, .options = entries};
    bool parsed = cli_parse_options(&cli, &argc, &argv, error);
    if (parsed && words->inputs == NULL) {
        return cli_misuse(error, "name the files to merge");
    }
    if (parsed && words->out == NULL) {
        return cli_misuse(error, "name the file to write: -o OUT");
    }
    return parsed && choose_all(words, options, error);
}

static int merge(const struct words *words, const struct merge_options *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(MergeReport) report = merge_files(words->inputs, words->out, options, &error);
    if (report == NULL) {
        return cli_fail("merge", g_steal_pointer(&error));
    }
    if (words->json) {
        merge_report_print_json(report, stdout);
    } else {
        merge_report_print(report, stdout);
    }
    return merge_report_clean(report) ? 0 : 1;
}

int command_merge(int argc, char **argv)
{
    struct words words = {0};
    struct merge_options options = {0};
    g_autoptr(GError) error = NULL;
    int status = CLI_USAGE;
    if (parse(argc, argv, &words, &options, &error)) {
        status = merge(&words, &options);
    } else {
        cli_fail("merge", g_steal_pointer(&error));
    }
    g_free(words.prefer);
    g_free(words.others);
    g_free(words.zero);
    g_free(words.form);
    g_free(words.out);
    g_strfreev(words.inputs);
    return status;
}
