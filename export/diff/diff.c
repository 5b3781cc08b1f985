#include "export/diff/diff.h"

#include "export/merge/merge_find.h"
#include "export/merge/merge_kernel.h"
#include "export/merge/merge_perf.h"
#include "export/merge/merge_sjdb.h"
#include "export/usage/usage_read.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The winner's time in a file, with its interval: all 0 if the file has no winner, the interval also if it was not
 * measured a second time. */
struct won {
    double ms, low_ms, high_ms;
};

/* A problem's winners in the two files. */
struct timed {
    struct won won[2];
};

struct diff {
    struct merge merge;
    struct diff_report *report;
    bool all;
    GHashTable *timed; /* key -> struct timed *, for the problems of the given networks */
};

static const char *keep(struct diff *diff, const char *text)
{
    return g_string_chunk_insert(diff->report->texts, text);
}

static void add_place(struct diff *diff, enum diff_what what, const char *key, const char *solver,
                      const char *first, const char *second)
{
    if (diff->report->counts[what]++ < MERGE_NAMED_MAX || diff->all) {
        const struct diff_place place = {what, keep(diff, key), keep(diff, solver),
                                         keep(diff, first), keep(diff, second)};
        g_array_append_val(diff->report->places, place);
    }
}

static bool within_noise(double a, double b, double noise)
{
    return fmax(a, b) <= fmin(a, b) * (1 + noise);
}

/* Returns true if two times are equal as far as was measured: by the noise, or because their intervals meet. Without
 * noise every difference counts. */
static bool as_fast(const struct won *a, const struct won *b, double noise)
{
    bool meet = noise > 0 && a->low_ms > 0 && b->low_ms > 0 && a->low_ms <= b->high_ms &&
                b->low_ms <= a->high_ms;
    return meet || within_noise(a->ms, b->ms, noise);
}

static void add_times(struct diff_times *times, const struct won won[2], int64_t multiplicity,
                      double noise)
{
    const double ms[2] = {won[0].ms, won[1].ms};
    times->problems++;
    if (ms[0] > 0 && ms[1] > 0) {
        times->both++;
        times->first_ms += ms[0] * (double)multiplicity;
        times->second_ms += ms[1] * (double)multiplicity;
        bool differs = !as_fast(&won[0], &won[1], noise);
        times->faster += differs && ms[1] < ms[0];
        times->slower += differs && ms[1] > ms[0];
    } else {
        times->only_first += ms[0] > 0;
        times->only_second += ms[1] > 0;
    }
}

/* Geometric mean as a mean of logarithms: a product of 100,000 ratios overflows a double. */
struct mean {
    double sum, weight;
};

static void mean_add(struct mean *mean, const struct won won[2], int64_t multiplicity)
{
    if (won[0].ms > 0 && won[1].ms > 0) {
        mean->sum += log(won[1].ms / won[0].ms) * (double)multiplicity;
        mean->weight += (double)multiplicity;
    }
}

static double mean_ratio(const struct mean *mean)
{
    return mean->weight > 0 ? exp(mean->sum / mean->weight) : 1;
}

/* ---- find-dbs ---- */

/* Returns the fastest entry of one file for the key; of equal times the first solver by name, as in
 * a sorted file. An entry with a time of 0 cannot win; NULL if the file has no other. */
static const struct find_choice *winner(const GArray *choices, guint input)
{
    const struct find_choice *best = NULL;
    for (guint i = 0; i < choices->len; i++) {
        const struct find_choice *at = &g_array_index(choices, struct find_choice, i);
        if (at->input != input || at->part.time_ms == 0) {
            continue;
        }
        if (best == NULL || at->part.time_ms < best->part.time_ms ||
            (at->part.time_ms == best->part.time_ms &&
             span_compare(at->part.solver, best->part.solver) < 0)) {
            best = at;
        }
    }
    return best;
}

/* Orders entries by solver, time and workspace, whether they were written in the older or the newer
 * form. */
static int compare_choices(const struct find_choice *a, const struct find_choice *b)
{
    int order = span_compare(a->part.solver, b->part.solver);
    if (order == 0) {
        order = (a->part.time_ms > b->part.time_ms) - (a->part.time_ms < b->part.time_ms);
    }
    if (order == 0) {
        order = (a->part.workspace_bytes > b->part.workspace_bytes) -
                (a->part.workspace_bytes < b->part.workspace_bytes);
    }
    return order != 0 ? order : span_compare(a->part.algorithm, b->part.algorithm);
}

static int compare_sides(const void *a, const void *b)
{
    const struct find_choice *left = *(const struct find_choice *const *)a;
    const struct find_choice *right = *(const struct find_choice *const *)b;
    if (left->input != right->input) {
        return left->input < right->input ? -1 : 1;
    }
    return compare_choices(left, right);
}

/* Drops entries that the same file repeats, and returns how many are left. */
static guint drop_repeated(GPtrArray *choices, guint first)
{
    guint kept = first;
    for (guint i = first; i < choices->len; i++) {
        if (kept == first || compare_sides(&choices->pdata[kept - 1], &choices->pdata[i]) != 0) {
            choices->pdata[kept++] = choices->pdata[i];
        }
    }
    return kept;
}

static struct won won_by(const struct find_choice *choice)
{
    return choice == NULL ? (struct won){0}
                          : (struct won){choice->part.time_ms, choice->low_ms, choice->high_ms};
}

/* How close entries must be to count as equal. */
struct closeness {
    double noise;
    bool
        intervals; /* their intervals are compared, too: both files can hold them, and no noise is allowed */
};

static bool equal_entries(const struct find_choice *a, const struct find_choice *b,
                          const struct closeness *closeness)
{
    const struct won one = won_by(a), other = won_by(b);
    if (closeness->intervals) {
        return compare_choices(a, b) == 0 && one.low_ms == other.low_ms &&
               one.high_ms == other.high_ms;
    }
    return span_equal(a->part.solver, b->part.solver) &&
           a->part.workspace_bytes == b->part.workspace_bytes &&
           span_equal(a->part.algorithm, b->part.algorithm) &&
           as_fast(&one, &other, closeness->noise);
}

/* Returns true if both files have the same solvers, workspaces and algorithms, and times that are close enough. */
static bool same_entries(const GArray *choices, const struct closeness *closeness)
{
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    for (guint i = 0; i < choices->len; i++) {
        g_ptr_array_add(order, &g_array_index(choices, struct find_choice, i));
    }
    g_ptr_array_sort(order, compare_sides);
    guint count = drop_repeated(order, 0), half = count / 2;
    if (count % 2 != 0) {
        return false;
    }
    for (guint i = 0; i < half; i++) {
        const struct find_choice *first = order->pdata[i], *second = order->pdata[half + i];
        if (first->input == second->input || !equal_entries(first, second, closeness)) {
            return false;
        }
    }
    return true;
}

static char *winner_text(const struct find_choice *winner)
{
    GString *text = g_string_new(NULL);
    if (winner != NULL) {
        g_string_append_printf(text, "%.*s %.*s ms", (int)winner->part.solver.length,
                               winner->part.solver.at, (int)winner->part.time.length,
                               winner->part.time.at);
    }
    if (winner != NULL && winner->low_ms > 0) {
        g_string_append_printf(text, " (%g to %g)", winner->low_ms, winner->high_ms);
    }
    return g_string_free(text, FALSE);
}

static bool same_winner(const struct find_choice *a, const struct find_choice *b)
{
    return a == NULL || b == NULL ? a == b : span_equal(a->part.solver, b->part.solver);
}

static void place_key(struct diff *diff, const char *key, const GArray *choices,
                      const struct find_choice *const winners[2])
{
    bool has[2] = {false, false};
    const struct diff_report *report = diff->report;
    const struct closeness exact = {.intervals = report->kinds[0] == FILE_SJDB &&
                                                 report->kinds[1] == FILE_SJDB};
    const struct closeness near = {.noise = report->noise,
                                   .intervals = exact.intervals && report->noise == 0};
    for (guint i = 0; i < choices->len; i++) {
        has[g_array_index(choices, struct find_choice, i).input] = true;
    }
    enum diff_what what = DIFF_CHANGED;
    if (has[0] != has[1]) {
        what = has[0] ? DIFF_LOST : DIFF_GAINED;
    } else if (same_entries(choices, &exact)) {
        return;
    } else if (winners[0] != NULL && winners[1] != NULL && !same_winner(winners[0], winners[1])) {
        const struct won one = won_by(winners[0]), other = won_by(winners[1]);
        what = report->noise > 0 && as_fast(&one, &other, report->noise) ? DIFF_NOISE : DIFF_WINNER;
    } else if (!same_winner(winners[0], winners[1])) {
        what = DIFF_WINNER;
    } else if (same_entries(choices, &near)) {
        what = DIFF_NOISE;
    }
    g_autofree char *first = winner_text(winners[0]);
    g_autofree char *second = winner_text(winners[1]);
    add_place(diff, what, key, "", first, second);
}

static void compare_finds(struct diff *diff)
{
    struct mean mean = {0};
    struct span span;
    const GArray *choices = NULL;
    diff->report->timed = true;
    while (merge_finds_next(&diff->merge, &span, &choices)) {
        const struct find_choice *const winners[2] = {winner(choices, 0), winner(choices, 1)};
        const struct won won[2] = {won_by(winners[0]), won_by(winners[1])};
        g_autofree char *key = g_strndup(span.at, span.length);
        struct timed *timed = g_hash_table_lookup(diff->timed, key);
        if (timed != NULL) {
            memcpy(timed->won, won, sizeof won);
        }
        add_times(&diff->report->times, won, 1, diff->report->noise);
        mean_add(&mean, won, 1);
        place_key(diff, key, choices, winners);
    }
    diff->report->times.ratio = mean_ratio(&mean);
}

/* ---- perf-dbs and kernel-dbs ---- */

/* The params of one solver, or one kernel's hash, in each of the two files. If a file repeats the
 * row, its last text counts. */
struct sides {
    const char *text[2];
};

static void compare_perf_row(struct diff *diff, struct perf_item *const *items, guint count)
{
    char key[PROBLEM_KEY_MAX];
    bool has[2] = {false, false};
    perf_row_key(&items[0]->record->row, key);
    for (guint i = 0; i < count; i++) {
        has[items[i]->input] = true;
    }
    if (has[0] != has[1]) {
        add_place(diff, has[0] ? DIFF_LOST : DIFF_GAINED, key, "", "", "");
        return;
    }
    for (guint i = 0, end = 0; i < count; i = end) {
        struct sides sides = {{"", ""}};
        for (end = i;
             end < count && strcmp(items[end]->record->solver, items[i]->record->solver) == 0;
             end++) {
            sides.text[items[end]->input] = items[end]->record->params;
        }
        if (strcmp(sides.text[0], sides.text[1]) != 0) {
            add_place(diff, DIFF_CHANGED, key, items[i]->record->solver, sides.text[0],
                      sides.text[1]);
        }
    }
}

static void compare_perfs(struct diff *diff)
{
    g_autoptr(GPtrArray) order = merge_perfs_sorted(&diff->merge);
    struct perf_item *const *items = (struct perf_item *const *)order->pdata;
    for (guint i = 0, end = 0; i < order->len; i = end) {
        for (end = i + 1; end < order->len &&
                          perf_row_equal(&items[i]->record->row, &items[end]->record->row);) {
            end++;
        }
        compare_perf_row(diff, items + i, end - i);
    }
}

static void compare_kernels(struct diff *diff)
{
    g_autoptr(GPtrArray) order = merge_kernels_sorted(&diff->merge);
    struct kernel_item *const *items = (struct kernel_item *const *)order->pdata;
    for (guint i = 0, end = 0; i < order->len; i = end) {
        struct sides sides = {{"", ""}};
        for (end = i; end < order->len && kernel_item_compare(items[i], items[end]) == 0; end++) {
            sides.text[items[end]->input] = items[end]->hash;
        }
        enum diff_what what = sides.text[0][0] == '\0'   ? DIFF_GAINED
                              : sides.text[1][0] == '\0' ? DIFF_LOST
                                                         : DIFF_CHANGED;
        if (g_ascii_strcasecmp(sides.text[0], sides.text[1]) != 0) {
            add_place(diff, what, items[i]->name, items[i]->args, sides.text[0], sides.text[1]);
        }
    }
}

/* ---- solutions that were never measured ---- */

/* A file's never-measured solutions of one problem: `whole` has all configs, with workspace and number of launches; `text` names
 * their number and the first one. Both are NULL if it holds none. */
struct unmeasured_side {
    char *whole, *text;
};

#define UNMEASURED_MAX 1024 /* most never-measured solutions that a .sjdb holds for one problem */

static struct unmeasured_side unmeasured_of(const skipjackdb *db,
                                            const struct skipjackdb_problem *problem)
{
    g_autofree struct skipjackdb_solution *solutions =
        g_new(struct skipjackdb_solution, UNMEASURED_MAX);
    struct unmeasured_side side = {NULL, NULL};
    uint64_t number = 0;
    size_t count = 0;
    if (skipjackdb_unmeasured_find(db, problem, &number) != SKIPJACKDB_OK ||
        skipjackdb_unmeasured_solutions(db, number, solutions, sizeof *solutions, UNMEASURED_MAX,
                                        &count) != SKIPJACKDB_OK ||
        count == 0) {
        return side;
    }
    GString *whole = g_string_new(NULL);
    for (size_t i = 0; i < MIN(count, UNMEASURED_MAX); i++) {
        g_string_append_printf(whole, "%s %u %s %" G_GUINT64_FORMAT " %u\n", solutions[i].solver,
                               solutions[i].revision, solutions[i].params,
                               solutions[i].workspace_bytes, solutions[i].launch_count);
    }
    side.whole = g_string_free(whole, FALSE);
    side.text = g_strdup_printf("%zu never measured, the first %s [%s]", count, solutions[0].solver,
                                solutions[0].params);
    return side;
}

/* Compares the problem with this number of file `from` with the other file. Problems of both files are compared
 * when the first file's are walked. */
static void compare_unmeasured_problem(struct diff *diff, const skipjackdb *const dbs[2], int from,
                                       uint64_t number)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    char key[SKIPJACKDB_KEY_MAX];
    if (skipjackdb_unmeasured_at(dbs[from], number, &problem) != SKIPJACKDB_OK ||
        skipjackdb_problem_key(&problem, key, sizeof key) != SKIPJACKDB_OK) {
        return;
    }
    struct unmeasured_side sides[2] = {unmeasured_of(dbs[0], &problem),
                                       unmeasured_of(dbs[1], &problem)};
    bool both = sides[0].whole != NULL && sides[1].whole != NULL;
    if (!both || (from == 0 && strcmp(sides[0].whole, sides[1].whole) != 0)) {
        add_place(diff,
                  both        ? DIFF_CHANGED
                  : from == 0 ? DIFF_LOST
                              : DIFF_GAINED,
                  key, "", sides[0].text != NULL ? sides[0].text : "",
                  sides[1].text != NULL ? sides[1].text : "");
    }
    for (int i = 0; i < 2; i++) {
        g_free(sides[i].whole);
        g_free(sides[i].text);
    }
}

static void compare_unmeasured(struct diff *diff)
{
    const skipjackdb *const dbs[2] = {merge_sjdb_of(&diff->merge, 0),
                                      merge_sjdb_of(&diff->merge, 1)};
    for (int from = 0; from < 2; from++) {
        uint64_t problems = skipjackdb_unmeasured(dbs[from], sizeof(struct skipjackdb_problem));
        for (uint64_t number = 0; number < problems; number++) {
            compare_unmeasured_problem(diff, dbs, from, number);
        }
    }
}

/* ---- times of networks ---- */

/* Reads the lists as networks. No times are given to `usage`, so its summary lists every problem as
 * a gap; diff takes the problems from this list. */
static bool read_lists(Usage *usage, const struct diff_lists *lists, struct usage_summary *uses,
                       GError **error)
{
    for (char *const *list = lists != NULL ? lists->paths : NULL; list != NULL && *list != NULL;
         list++) {
        if (!usage_read_list(usage, *list, &lists->options, error)) {
            return false;
        }
    }
    usage_sum(usage, uses);
    return true;
}

static void expect_problems(struct diff *diff, const struct usage_summary *uses)
{
    char key[PROBLEM_KEY_MAX];
    for (guint i = 0; i < uses->gaps->len; i++) {
        problem_key(&g_array_index(uses->gaps, struct usage_gap, i).problem, key);
        if (!g_hash_table_contains(diff->timed, key)) {
            g_hash_table_insert(diff->timed, g_strdup(key), g_new0(struct timed, 1));
        }
    }
}

static void sum_network(struct diff *diff, const struct usage_summary *uses, const char *name,
                        struct mean *all)
{
    char key[PROBLEM_KEY_MAX];
    struct mean mean = {0};
    struct diff_times times = {.name = g_strdup(name)};
    for (guint i = 0; i < uses->gaps->len; i++) {
        const struct usage_gap *use = &g_array_index(uses->gaps, struct usage_gap, i);
        if (strcmp(use->network, name) == 0) {
            problem_key(&use->problem, key);
            const struct timed *timed = g_hash_table_lookup(diff->timed, key);
            add_times(&times, timed->won, use->multiplicity, diff->report->noise);
            add_times(&diff->report->all_networks, timed->won, use->multiplicity,
                      diff->report->noise);
            mean_add(&mean, timed->won, use->multiplicity);
            mean_add(all, timed->won, use->multiplicity);
        }
    }
    times.ratio = mean_ratio(&mean);
    g_array_append_val(diff->report->networks, times);
}

static void sum_networks(struct diff *diff, const struct usage_summary *uses)
{
    struct mean all = {0};
    for (guint i = 0; i < uses->networks->len; i++) {
        const struct usage_network *network = uses->networks->pdata[i];
        sum_network(diff, uses, network->name, &all);
    }
    diff->report->all_networks.ratio = mean_ratio(&all);
}

/* ---- all ---- */

/* The parts of files that diff can compare, and the formats that hold each part. Two files are
 * compared by everything that both formats hold. */
static const struct {
    bool holds[FILE_KIND_COUNT];
    void (*compare)(struct diff *diff);
} parts[] = {
    {{[FILE_FIND_DB] = true, [FILE_SJDB] = true}, compare_finds},
    {{[FILE_PERF_DB] = true, [FILE_PERF_TEXT] = true, [FILE_SJDB] = true}, compare_perfs},
    {{[FILE_KERNEL_DB] = true, [FILE_SJDB] = true}, compare_kernels},
    {{[FILE_SJDB] = true}, compare_unmeasured},
};

static bool both_hold(const struct diff_report *report, size_t part)
{
    return parts[part].holds[report->kinds[0]] && parts[part].holds[report->kinds[1]];
}

static bool comparable(const struct diff_report *report, bool *timed)
{
    bool any = false;
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        any = any || both_hold(report, i);
    }
    *timed = both_hold(report, 0);
    return any;
}

static bool read_files(struct diff *diff, const struct diff_lists *lists, GError **error)
{
    struct diff_report *report = diff->report;
    bool timed = false;
    for (int i = 0; i < 2; i++) {
        if (!merge_read(&diff->merge, report->files[i], error)) {
            return false;
        }
        report->kinds[i] = merge_input(&diff->merge, (guint)i)->kind;
    }
    if (!comparable(report, &timed)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                    "'%s' is a %s and '%s' a %s: name two files of one sort", report->files[0],
                    file_kind_name(report->kinds[0]), report->files[1],
                    file_kind_name(report->kinds[1]));
        return false;
    }
    if (lists != NULL && !timed) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                    "a %s has no times that networks could weight: leave --problems out",
                    file_kind_name(report->kinds[0]));
        return false;
    }
    return true;
}

static void compare(struct diff *diff)
{
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (both_hold(diff->report, i)) {
            parts[i].compare(diff);
        }
    }
    for (guint i = 0; i < 2; i++) {
        diff->report->keys[i] = merge_input(&diff->merge, i)->keys;
        diff->report->entries[i] = merge_input(&diff->merge, i)->entries;
        diff->report->targets[i] = merge_input_target(merge_input(&diff->merge, i));
    }
    merge_report_finish(diff->merge.report);
}

static bool diff_all(struct diff *diff, const struct diff_lists *lists, GError **error)
{
    struct usage_summary uses = {0};
    g_autoptr(Usage) usage = usage_new();
    if (!read_files(diff, lists, error) || !read_lists(usage, lists, &uses, error)) {
        return false;
    }
    expect_problems(diff, &uses);
    compare(diff);
    sum_networks(diff, &uses);
    usage_summary_clear(&uses);
    return true;
}

static void times_clear(void *times)
{
    g_free(((struct diff_times *)times)->name);
}

static struct diff_report *report_new(const char *first, const char *second)
{
    struct diff_report *report = g_new0(struct diff_report, 1);
    report->files[0] = g_strdup(first);
    report->files[1] = g_strdup(second);
    report->places = g_array_new(FALSE, FALSE, sizeof(struct diff_place));
    report->networks = g_array_new(FALSE, FALSE, sizeof(struct diff_times));
    g_array_set_clear_func(report->networks, times_clear);
    report->texts = g_string_chunk_new(1 << 14);
    return report;
}

void diff_report_free(struct diff_report *report)
{
    if (report != NULL) {
        g_free(report->files[0]);
        g_free(report->files[1]);
        g_array_unref(report->places);
        g_array_unref(report->networks);
        g_string_chunk_free(report->texts);
        merge_report_free(report->read);
        g_free(report);
    }
}

struct diff_report *diff_files(const char *first, const char *second,
                               const struct diff_lists *lists, double noise, bool all,
                               GError **error)
{
    const struct merge_options options = {.keep_zero = true};
    g_autoptr(DiffReport) report = report_new(first, second);
    report->noise = noise;
    struct diff diff = {.report = report, .all = all};
    merge_init(&diff.merge, &options, first);
    diff.timed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    bool done = diff_all(&diff, lists, error);
    report->read = g_steal_pointer(&diff.merge.report);
    merge_clear(&diff.merge);
    g_hash_table_unref(diff.timed);
    return done ? g_steal_pointer(&report) : NULL;
}

/* ---- printing the report ---- */

static const struct {
    const char *name, *title;
} whats[DIFF_COUNT] = {
    [DIFF_GAINED] = {"gained", "keys gained"},
    [DIFF_LOST] = {"lost", "keys lost"},
    [DIFF_WINNER] = {"winner", "winners changed"},
    [DIFF_NOISE] = {"noise", "within the noise, not counted as differences"},
    [DIFF_CHANGED] = {"changed", "otherwise changed"},
};

bool diff_report_equal(const struct diff_report *report)
{
    for (int i = 0; i < DIFF_COUNT; i++) {
        if (i != DIFF_NOISE && report->counts[i] > 0) {
            return false;
        }
    }
    return true;
}

bool diff_report_two_targets(const struct diff_report *report)
{
    return !file_targets_fit(&report->targets[0], &report->targets[1]);
}

/* ---- as text ---- */

static void print_place(const struct diff_place *place, FILE *out)
{
    fprintf(out, "    %s%s%s", place->key, place->solver[0] != '\0' ? " " : "", place->solver);
    if (place->first[0] != '\0' || place->second[0] != '\0') {
        fprintf(out, ": %s -> %s", place->first[0] != '\0' ? place->first : "none",
                place->second[0] != '\0' ? place->second : "none");
    }
    fputc('\n', out);
}

static void print_what(const struct diff_report *report, enum diff_what what, FILE *out)
{
    int64_t named = 0;
    if (report->counts[what] == 0) {
        return;
    }
    fprintf(out, "  %s: %" G_GINT64_FORMAT "\n", whats[what].title, report->counts[what]);
    for (guint i = 0; i < report->places->len && named < MERGE_NAMED_MAX; i++) {
        const struct diff_place *place = &g_array_index(report->places, struct diff_place, i);
        if (place->what == what) {
            print_place(place, out);
            named++;
        }
    }
    if (report->counts[what] > named) {
        fprintf(out, "    and %" G_GINT64_FORMAT " more, see --json\n",
                report->counts[what] - named);
    }
}

static void print_times(const struct diff_times *times, const char *name, FILE *out)
{
    fprintf(out, "  %-30s %8" G_GINT64_FORMAT " %8" G_GINT64_FORMAT, name, times->problems,
            times->both);
    if (times->both > 0) {
        fprintf(out, " %12.6g %12.6g %+9.2f %% %+9.2f %%", times->first_ms, times->second_ms,
                100 * (times->second_ms / times->first_ms - 1), 100 * (times->ratio - 1));
    }
    fputc('\n', out);
}

static void print_all_times(const struct diff_report *report, FILE *out)
{
    const struct diff_times *times = &report->times;
    fprintf(out, "  %-30s %8s %8s %12s %12s %11s %11s\n", "time of the fastest", "problems",
            "in both", "first ms", "second ms", "sum", "mean");
    print_times(times, "all keys", out);
    for (guint i = 0; i < report->networks->len; i++) {
        const struct diff_times *network = &g_array_index(report->networks, struct diff_times, i);
        print_times(network, network->name, out);
    }
    if (report->networks->len > 1) {
        print_times(&report->all_networks, "all networks", out);
    }
    fprintf(out,
            "  sum and geometric mean are of what is in both, networks' by multiplicity; of all "
            "keys %" G_GINT64_FORMAT " are faster, %" G_GINT64_FORMAT " slower\n",
            times->faster, times->slower);
}

static void print_left_out(const struct diff_report *report, FILE *out)
{
    const struct merge_report *read = report->read;
    for (guint i = 0; i < MIN(read->places->len, MERGE_NAMED_MAX); i++) {
        const struct merge_place *place = &g_array_index(read->places, struct merge_place, i);
        fprintf(out, "  not compared: %s %s %" G_GINT64_FORMAT ": %s\n",
                report->files[place->input], place->noun, place->number, place->reason);
    }
    if (read->place_count > MERGE_NAMED_MAX) {
        fprintf(out, "  not compared: %" G_GINT64_FORMAT " more, see --json\n",
                read->place_count - MERGE_NAMED_MAX);
    }
}

void diff_report_print(const struct diff_report *report, FILE *out)
{
    for (int i = 0; i < 2; i++) {
        fprintf(out, "%s: %s, target %s, %" G_GINT64_FORMAT " keys, %" G_GINT64_FORMAT " entries\n",
                report->files[i], file_kind_name(report->kinds[i]),
                file_target_text(&report->targets[i]), report->keys[i], report->entries[i]);
    }
    if (diff_report_two_targets(report)) {
        fprintf(out,
                "  they are of two targets, %s and %s: other winners and times are no changes\n",
                file_target_text(&report->targets[0]), file_target_text(&report->targets[1]));
    }
    if (diff_report_equal(report)) {
        fputs("  they say the same\n", out);
    }
    for (int what = 0; what < DIFF_COUNT; what++) {
        print_what(report, (enum diff_what)what, out);
    }
    if (report->timed) {
        print_all_times(report, out);
    }
    print_left_out(report, out);
}

/* ---- JSON ---- */

static json_t *json_text(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

static json_t *json_times(const struct diff_times *times)
{
    json_t *object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "problems",
                               (json_int_t)times->problems, "both", (json_int_t)times->both,
                               "only_first", (json_int_t)times->only_first, "only_second",
                               (json_int_t)times->only_second, "faster", (json_int_t)times->faster,
                               "slower", (json_int_t)times->slower, "first_ms", times->first_ms,
                               "second_ms", times->second_ms, "ratio", times->ratio);
    if (times->name != NULL) {
        json_object_set_new(object, "network", json_text(times->name));
    }
    return object;
}

static json_t *json_files(const struct diff_report *report)
{
    json_t *list = json_array();
    for (int i = 0; i < 2; i++) {
        json_array_append_new(list, json_pack("{s:o, s:s, s:s?, s:I, s:I}", "file",
                                              json_text(report->files[i]), "format",
                                              file_kind_name(report->kinds[i]), "target",
                                              report->targets[i].known == TARGET_UNKNOWN
                                                  ? NULL
                                                  : file_target_text(&report->targets[i]),
                                              "keys", (json_int_t)report->keys[i], "entries",
                                              (json_int_t)report->entries[i]));
    }
    return list;
}

static json_t *json_counts(const struct diff_report *report)
{
    json_t *object = json_object();
    for (int i = 0; i < DIFF_COUNT; i++) {
        json_object_set_new(object, whats[i].name, json_integer((json_int_t)report->counts[i]));
    }
    return object;
}

static json_t *json_places(const struct diff_report *report)
{
    json_t *list = json_array();
    for (guint i = 0; i < report->places->len; i++) {
        const struct diff_place *place = &g_array_index(report->places, struct diff_place, i);
        json_t *object = json_pack("{s:s, s:o, s:o, s:o}", "what", whats[place->what].name, "key",
                                   json_text(place->key), "first", json_text(place->first),
                                   "second", json_text(place->second));
        if (place->solver[0] != '\0') {
            json_object_set_new(object, "solver", json_text(place->solver));
        }
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *json_networks(const struct diff_report *report)
{
    json_t *list = json_array();
    for (guint i = 0; i < report->networks->len; i++) {
        json_array_append_new(list,
                              json_times(&g_array_index(report->networks, struct diff_times, i)));
    }
    return list;
}

static json_t *json_left_out(const struct diff_report *report)
{
    json_t *list = json_array();
    for (guint i = 0; i < report->read->places->len; i++) {
        const struct merge_place *place =
            &g_array_index(report->read->places, struct merge_place, i);
        g_autofree char *where =
            g_strdup_printf("%s %" G_GINT64_FORMAT, place->noun, place->number);
        json_array_append_new(list, json_pack("{s:o, s:s, s:s}", "file",
                                              json_text(report->files[place->input]), "where",
                                              where, "reason", place->reason));
    }
    return list;
}

void diff_report_print_json(const struct diff_report *report, FILE *out)
{
    json_t *object =
        json_pack("{s:o, s:b, s:o, s:o, s:o, s:I, s:b}", "files", json_files(report), "two_targets",
                  diff_report_two_targets(report), "counts", json_counts(report), "differences",
                  json_places(report), "left_out", json_left_out(report), "left_out_count",
                  (json_int_t)report->read->place_count, "equal", diff_report_equal(report));
    if (report->timed) {
        json_object_set_new(object, "times", json_times(&report->times));
    }
    if (report->networks->len > 0) {
        json_object_set_new(object, "networks", json_networks(report));
        json_object_set_new(object, "all_networks", json_times(&report->all_networks));
    }
    char *dumped = json_dumps(object, JSON_COMPACT);
    fprintf(out, "%s\n", dumped);
    free(dumped);
    json_decref(object);
}
