#include "export/usage/cover.h"

#include <math.h>
#include <string.h>

/* Sums of many times are compared with this relative error. */
#define ROUNDING 1e-9

struct gain_item {
    int index; /* of the case */
    double time_ms;
};

struct search {
    const struct cover *cover;
    double *best; /* of each case */
    double *
        missing; /* of each case: the time that it counts with while no solver of the set serves it */
    double *limits; /* of each group */
    double *begin;  /* of each group: time of the empty set */
    GArray **items; /* of each solver: struct gain_item, the cases for which it is good enough */
    int64_t comparisons;
    bool exhausted; /* the effort was spent */
};

/* Whether the solver may serve the case in a cover: alone it does not exceed the group's limit. */
static bool is_good(const struct search *search, const struct cover_case *that, int place)
{
    const double slack = search->limits[that->group];
    gsize index = (gsize)(that - search->cover->list);
    double loss = that->weight * (that->times[place] - search->best[index]);
    /* limits[] still holds the allowed loss when this is called */
    return loss <= slack * (1 + ROUNDING);
}

static void search_init(struct search *search, const struct cover *cover)
{
    *search = (struct search){.cover = cover};
    search->best = g_new0(double, (gsize)cover->cases + 1);
    search->missing = g_new0(double, (gsize)cover->cases + 1);
    search->limits = g_new0(double, (gsize)cover->groups + 1);
    search->begin = g_new0(double, (gsize)cover->groups + 1);
    search->items = g_new0(GArray *, (gsize)cover->solvers + 1);
    double *best = g_new0(double, (gsize)cover->groups + 1);
    for (int i = 0; i < cover->cases; i++) {
        const struct cover_case *that = &cover->list[i];
        search->best[i] = INFINITY;
        for (int s = 0; s < that->count; s++) {
            search->best[i] = MIN(search->best[i], that->times[s]);
        }
        best[that->group] += that->weight * search->best[i];
    }
    for (int g = 0; g < cover->groups; g++) {
        search->limits[g] = cover->within * best[g];
    }
    for (int s = 0; s < cover->solvers; s++) {
        search->items[s] = g_array_new(FALSE, FALSE, sizeof(struct gain_item));
    }
    for (int i = 0; i < cover->cases; i++) {
        const struct cover_case *that = &cover->list[i];
        double longest = 0;
        for (int s = 0; s < that->count; s++) {
            if (is_good(search, that, s)) {
                const struct gain_item item = {i, that->times[s]};
                g_array_append_val(search->items[that->solvers[s]], item);
                longest = MAX(longest, that->times[s]);
            }
        }
        /* Twice the longest time and the allowed loss: with it the group exceeds its limit. */
        search->missing[i] = 2 * longest + 2 * search->limits[that->group] / that->weight;
        search->begin[that->group] += that->weight * search->missing[i];
    }
    for (int g = 0; g < cover->groups; g++) {
        search->limits[g] += best[g];
    }
    g_free(best);
}

static void search_clear(struct search *search)
{
    for (int s = 0; s < search->cover->solvers; s++) {
        g_array_unref(search->items[s]);
    }
    g_free(search->items);
    g_free(search->begin);
    g_free(search->limits);
    g_free(search->missing);
    g_free(search->best);
}

static void take(struct search *search, int solver, double *times)
{
    const GArray *items = search->items[solver];
    search->comparisons += items->len;
    for (guint i = 0; i < items->len; i++) {
        const struct gain_item *item = &g_array_index(items, struct gain_item, i);
        times[item->index] = MIN(times[item->index], item->time_ms);
    }
}

/* Returns by how much each group exceeds its limit (left[], 0 if it does not), and whether one
 * does. */
static bool is_open(struct search *search, const double *times, double *left)
{
    const struct cover *cover = search->cover;
    bool open = false;
    memset(left, 0, (gsize)cover->groups * sizeof *left);
    for (int i = 0; i < cover->cases; i++) {
        left[cover->list[i].group] += cover->list[i].weight * times[i];
    }
    for (int g = 0; g < cover->groups; g++) {
        bool within = left[g] <= search->limits[g] * (1 + ROUNDING);
        left[g] = within ? 0 : left[g] - search->limits[g];
        open = open || !within;
    }
    search->comparisons += cover->cases;
    return open;
}

/* The time that a solver saves in each group: gains[group]. */
static void gains_of(struct search *search, int solver, const double *times, double *gains)
{
    const struct cover *cover = search->cover;
    const GArray *items = search->items[solver];
    memset(gains, 0, (gsize)cover->groups * sizeof *gains);
    search->comparisons += items->len;
    for (guint i = 0; i < items->len; i++) {
        const struct gain_item *item = &g_array_index(items, struct gain_item, i);
        const struct cover_case *that = &cover->list[item->index];
        gains[that->group] += that->weight * MAX(0, times[item->index] - item->time_ms);
    }
}

/* ---- greedy ---- */

/* By how much the solver raises F. */
static double raise_of(const struct search *search, const double *gains, const double *left)
{
    double raise = 0;
    for (int g = 0; g < search->cover->groups; g++) {
        if (left[g] > 0) {
            raise += MIN(gains[g], left[g]) / (search->begin[g] - search->limits[g]);
        }
    }
    return raise;
}

static int best_raise(struct search *search, const double *times, const double *left,
                      const bool *in, double *gains)
{
    int best = -1;
    double most = -1;
    for (int s = 0; s < search->cover->solvers; s++) {
        if (in[s] || search->items[s]->len == 0) {
            continue;
        }
        gains_of(search, s, times, gains);
        double raise = raise_of(search, gains, left);
        if (raise > most) {
            most = raise;
            best = s;
        }
    }
    return best;
}

/* Returns by how much F is smaller than the number of groups. */
static double left_of(const struct search *search, const double *left)
{
    double sum = 0;
    for (int g = 0; g < search->cover->groups; g++) {
        sum += left[g] > 0 ? left[g] / (search->begin[g] - search->limits[g]) : 0;
    }
    return sum;
}

/* Leaves out solvers that the others made needless. */
static void prune(const struct search *search, bool *in)
{
    for (int s = search->cover->solvers - 1; s >= 0; s--) {
        if (in[s]) {
            in[s] = false;
            in[s] = !cover_holds(search->cover, in, NULL);
        }
    }
}

static int count_of(const struct search *search, const bool *in)
{
    int count = 0;
    for (int s = 0; s < search->cover->solvers; s++) {
        count += in[s];
    }
    return count;
}

static void solve_greedily(struct search *search, bool *in, struct cover_found *found)
{
    const struct cover *cover = search->cover;
    double *times = g_memdup2(search->missing, ((gsize)cover->cases + 1) * sizeof *times);
    double *left = g_new0(double, (gsize)cover->groups + 1);
    double *gains = g_new0(double, (gsize)cover->groups + 1);
    double rest = 0;
    int steps = 0, most = 0;
    while (is_open(search, times, left)) {
        rest = left_of(search, left);
        int next = best_raise(search, times, left, in, gains);
        g_assert(next >= 0); /* all solvers together are a cover */
        in[next] = true;
        take(search, next, times);
        steps++;
    }
    found->greedy_most = steps > 0 ? 1 + log(MAX(1, cover->groups / rest)) : 1;
    most = (int)ceil(steps / found->greedy_most - ROUNDING);
    found->lower_bound = MAX(found->lower_bound, most);
    prune(search, in);
    found->greedy = count_of(search, in);
    g_free(gains);
    g_free(left);
    g_free(times);
}

/* ---- exact ---- */

/* The good enough solvers that are still allowed for each case. */
struct options {
    int *counts;  /* of each case; 0 for a case that has a solver */
    int *solvers; /* of each case: where its solvers begin in `list` */
    int *list;
};

/* Lists the allowed solvers of the cases without one. Returns the case with the fewest, -1 if every case has a
 * solver. */
static int list_options(struct search *search, const double *times, const bool *allowed,
                        struct options *options)
{
    const struct cover *cover = search->cover;
    int fewest = -1, at = 0;
    memset(options->counts, 0, ((gsize)cover->cases + 1) * sizeof *options->counts);
    for (int s = 0; s < cover->solvers; s++) {
        for (guint i = 0; allowed[s] && i < search->items[s]->len; i++) {
            const struct gain_item *item = &g_array_index(search->items[s], struct gain_item, i);
            options->counts[item->index] += times[item->index] >= search->missing[item->index];
        }
        search->comparisons += allowed[s] ? search->items[s]->len : 0;
    }
    for (int i = 0; i < cover->cases; i++) {
        options->solvers[i] = at;
        at += options->counts[i];
        if (times[i] >= search->missing[i] &&
            (fewest < 0 || options->counts[i] < options->counts[fewest])) {
            fewest = i;
        }
    }
    memset(options->counts, 0, ((gsize)cover->cases + 1) * sizeof *options->counts);
    for (int s = 0; s < cover->solvers; s++) {
        for (guint i = 0; allowed[s] && i < search->items[s]->len; i++) {
            int index = g_array_index(search->items[s], struct gain_item, i).index;
            if (times[index] >= search->missing[index]) {
                options->list[options->solvers[index] + options->counts[index]++] = s;
            }
        }
    }
    return fewest;
}

/* Cases with more options than this hardly ever raise the bound of packed(). */
#define OPTIONS_PACKED 6

/* A lower bound: cases without a solver that share no allowed one. The cases with few options are taken first. */
static int packed(struct search *search, const double *times, const struct options *options,
                  bool *used)
{
    const struct cover *cover = search->cover;
    int found = 0;
    memset(used, 0, ((gsize)cover->solvers + 1) * sizeof *used);
    search->comparisons += (int64_t)OPTIONS_PACKED * cover->cases;
    for (int wanted = 1; wanted <= OPTIONS_PACKED; wanted++) {
        for (int i = 0; i < cover->cases; i++) {
            if (times[i] < search->missing[i] || options->counts[i] != wanted) {
                continue;
            }
            const int *of = &options->list[options->solvers[i]];
            bool free = true;
            for (int o = 0; o < wanted && free; o++) {
                free = !used[of[o]];
            }
            for (int o = 0; o < wanted && free; o++) {
                used[of[o]] = true;
            }
            found += free;
        }
    }
    return found;
}

static gint falling(gconstpointer a, gconstpointer b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return one > other ? -1 : one < other;
}

/* A lower bound: the fewest solvers whose gains, added up, bring a group to its limit. solvers + 1 if all of them do
 * not. gains: of each solver and group. */
static int needed_by_gains(const struct search *search, const double *gains, const double *left,
                           const bool *allowed, double *sorted)
{
    const struct cover *cover = search->cover;
    int needed = 0;
    for (int g = 0; g < cover->groups; g++) {
        int count = 0, of = 0;
        double sum = 0;
        for (int s = 0; left[g] > 0 && s < cover->solvers; s++) {
            if (allowed[s]) {
                sorted[count++] = gains[(gsize)s * (gsize)cover->groups + (gsize)g];
            }
        }
        qsort(sorted, (gsize)count, sizeof *sorted, falling);
        while (left[g] > sum * (1 + ROUNDING) + search->limits[g] * ROUNDING && of < count) {
            sum += sorted[of++];
        }
        bool enough = left[g] <= sum * (1 + ROUNDING) + search->limits[g] * ROUNDING;
        needed = MAX(needed, enough ? of : cover->solvers + 1);
    }
    return needed;
}

/* The memory of one depth of the search. */
struct depth {
    double *times, *left, *gains, *sorted;
    bool *allowed, *used;
    int *order;
    struct options options;
};

static void depth_init(const struct search *search, struct depth *depth)
{
    const struct cover *cover = search->cover;
    gsize cases = (gsize)cover->cases + 1, solvers = (gsize)cover->solvers + 1;
    gsize groups = (gsize)cover->groups + 1, items = 1;
    for (int s = 0; s < cover->solvers; s++) {
        items += search->items[s]->len;
    }
    depth->times = g_new0(double, cases);
    depth->left = g_new0(double, groups);
    depth->gains = g_new0(double, solvers *groups);
    depth->sorted = g_new0(double, solvers);
    depth->allowed = g_new0(bool, solvers);
    depth->used = g_new0(bool, solvers);
    depth->order = g_new0(int, solvers);
    depth->options.counts = g_new0(int, cases);
    depth->options.solvers = g_new0(int, cases);
    depth->options.list = g_new0(int, items);
}

static void depth_clear(struct depth *depth)
{
    g_free(depth->times);
    g_free(depth->left);
    g_free(depth->gains);
    g_free(depth->sorted);
    g_free(depth->allowed);
    g_free(depth->used);
    g_free(depth->order);
    g_free(depth->options.counts);
    g_free(depth->options.solvers);
    g_free(depth->options.list);
}

struct branches {
    struct search *search;
    struct depth *depths; /* one for each number of solvers that are left to choose, and 0 */
    bool *in;
};

/* Orders the solvers of which a cover must have one: those that raise F most come first. Returns how many. */
static int order_branches(struct search *search, struct depth *depth, int fewest)
{
    const struct cover *cover = search->cover;
    double *raises = depth->sorted;
    int count = 0;
    for (int s = 0; s < cover->solvers; s++) {
        bool serves = depth->allowed[s];
        for (int o = 0; fewest >= 0 && serves && o <= depth->options.counts[fewest]; o++) {
            serves = o < depth->options.counts[fewest];
            if (serves && depth->options.list[depth->options.solvers[fewest] + o] == s) {
                break;
            }
        }
        if (!serves) {
            continue;
        }
        double raise =
            raise_of(search, &depth->gains[(gsize)s * (gsize)cover->groups], depth->left);
        int at = count++;
        for (; at > 0 && raises[at - 1] < raise; at--) {
            raises[at] = raises[at - 1];
            depth->order[at] = depth->order[at - 1];
        }
        raises[at] = raise;
        depth->order[at] = s;
    }
    return count;
}

/* Whether the set of depths[k] becomes a cover with at most k more of its allowed solvers. in[] then has them. */
static bool branch(struct branches *branches, int k)
{
    struct search *search = branches->search;
    const struct cover *cover = search->cover;
    struct depth *depth = &branches->depths[k];
    if (!is_open(search, depth->times, depth->left)) {
        return true;
    }
    if (k == 0 || search->comparisons > cover->effort) {
        search->exhausted = search->exhausted || k > 0;
        return false;
    }
    for (int s = 0; s < cover->solvers; s++) {
        if (depth->allowed[s]) {
            gains_of(search, s, depth->times, &depth->gains[(gsize)s * (gsize)cover->groups]);
        }
    }
    int fewest = list_options(search, depth->times, depth->allowed, &depth->options);
    if ((fewest >= 0 && depth->options.counts[fewest] == 0) ||
        needed_by_gains(search, depth->gains, depth->left, depth->allowed, depth->sorted) > k ||
        packed(search, depth->times, &depth->options, depth->used) > k) {
        return false;
    }
    int count = order_branches(search, depth, fewest);
    struct depth *next = &branches->depths[k - 1];
    for (int b = 0; b < count && !search->exhausted; b++) {
        int solver = depth->order[b];
        /* The branches that follow try the covers without this solver. */
        depth->allowed[solver] = false;
        memcpy(next->times, depth->times, (gsize)cover->cases * sizeof *next->times);
        memcpy(next->allowed, depth->allowed, (gsize)cover->solvers * sizeof *next->allowed);
        take(search, solver, next->times);
        branches->in[solver] = true;
        if (branch(branches, k - 1)) {
            return true;
        }
        branches->in[solver] = false;
    }
    return false;
}

/* Begins the search for a cover of k solvers. */
static bool has_cover_of(struct branches *branches, int k)
{
    const struct cover *cover = branches->search->cover;
    struct depth *depth = &branches->depths[k];
    g_assert(depth->times != NULL);
    memset(branches->in, 0, (gsize)cover->solvers * sizeof *branches->in);
    memcpy(depth->times, branches->search->missing, (gsize)cover->cases * sizeof *depth->times);
    for (int s = 0; s < cover->solvers; s++) {
        depth->allowed[s] = branches->search->items[s]->len > 0;
    }
    return branch(branches, k);
}

/* Looks for covers smaller than the greedy one in in[], which becomes the smallest cover known. */
static void solve_exactly(struct search *search, bool *in, struct cover_found *found)
{
    int size = found->greedy;
    struct branches branches = {.search = search,
                                .depths = g_new0(struct depth, (gsize)size + 1),
                                .in = g_new0(bool, (gsize)search->cover->solvers + 1)};
    for (int k = 0; k < size; k++) {
        depth_init(search, &branches.depths[k]);
    }
    for (int k = found->lower_bound; k < size; k++) {
        if (has_cover_of(&branches, k)) {
            memcpy(in, branches.in, (gsize)search->cover->solvers * sizeof *in);
            size = k;
        } else if (search->exhausted) {
            break;
        } else {
            found->lower_bound = k + 1;
        }
    }
    for (int k = 0; k < found->greedy; k++) {
        depth_clear(&branches.depths[k]);
    }
    g_free(branches.depths);
    g_free(branches.in);
}

bool cover_holds(const struct cover *cover, const bool *in, double *times_ms)
{
    double *with = g_new0(double, (gsize)cover->groups + 1);
    double *best = g_new0(double, (gsize)cover->groups + 1);
    bool holds = true;
    for (int i = 0; i < cover->cases; i++) {
        const struct cover_case *that = &cover->list[i];
        double fastest = INFINITY, of_all = INFINITY;
        for (int s = 0; s < that->count; s++) {
            of_all = MIN(of_all, that->times[s]);
            fastest = in[that->solvers[s]] ? MIN(fastest, that->times[s]) : fastest;
        }
        holds = holds && isfinite(fastest);
        best[that->group] += that->weight * of_all;
        with[that->group] += isfinite(fastest) ? that->weight * fastest : 0;
    }
    for (int g = 0; g < cover->groups; g++) {
        holds = holds && with[g] <= best[g] * (1 + cover->within) * (1 + ROUNDING);
    }
    if (times_ms != NULL) {
        memcpy(times_ms, with, (gsize)cover->groups * sizeof *times_ms);
    }
    g_free(best);
    g_free(with);
    return holds;
}

void cover_solve(const struct cover *cover, struct cover_found *found)
{
    struct search search;
    bool *in = g_new0(bool, (gsize)cover->solvers + 1);
    *found = (struct cover_found){.set = g_array_new(FALSE, FALSE, sizeof(int))};
    search_init(&search, cover);
    solve_greedily(&search, in, found);
    search.comparisons = 0;
    solve_exactly(&search, in, found);
    for (int s = 0; s < cover->solvers; s++) {
        if (in[s]) {
            g_array_append_val(found->set, s);
        }
    }
    found->lower_bound = MAX(found->lower_bound, 0);
    found->optimal = (int)found->set->len == found->lower_bound;
    found->comparisons = search.comparisons;
    search_clear(&search);
    g_free(in);
}
