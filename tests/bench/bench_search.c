/*
 * Search strategies on recorded spaces: those of SKIPJACK_DATA/spaces (other programs' kernels on GPUs) and those of
 * tests/bench/spaces (our solvers, on an H100 and on PoCL). How many configs are tried until one is within 5 % and within
 * 1 % of the fastest, failed ones included: for each space the median and the 95th percentile of the seeds, then the geometric
 * means over the spaces (skipjack replay counts; coordinator/replay/REPLAY.md).
 *
 * Without a prior; with a prior from another device, as the product stores it and with less; where the other device is
 * of another vendor; and with a prior from other problems on the same device, a farm's nightly case. "32 tries" are
 * priors that one campaign of the default size found on the other device or problem; "4 campaigns" and "12 campaigns"
 * those of a farm that tuned the network again so often, as it does by default when a driver, a compiler or a solver
 * changed. The other priors know all its configs, as after a campaign that tried the whole space.
 *
 * The strategies' constants were chosen on the spaces of chosen_on[]; rows "judged" are of all others. When a search ends
 * (--configs, --close-configs) was chosen on tests/bench/spaces/h100-chosen.
 *
 * Last, how often two campaigns agree (tests/support/bench/search_twice.h), and how a campaign of limited time divides it
 * (search_budget.h), on the spaces of tests/bench/spaces.
 *
 * usage: bench_search [SEEDS [each|gain|twice|budget]]     each: also a row for each space
 * gain: instead, what ends of searches for a small expected gain save in tries, and lose in time
 * twice, budget: one of the last parts alone
 */
#include "coordinator/replay/replay.h"
#include "solvers/problem/problem_key.h"
#include "solvers/search/expected_gain.h"
#include "tests/support/bench/search_budget.h"
#include "tests/support/bench/search_twice.h"
#include "tests/support/export/real_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The spaces of a row of a table. Those of SKIPJACK_DATA come first, then those of our own solvers. */
static const struct bench_set {
    const char *name;
    const char *folder; /* NULL for SKIPJACK_DATA/spaces */
} sets[] = {
    {"GPUs: constants chosen on", NULL},
    {"GPUs: judged", NULL},
    {"ours, H100: judged", "tests/bench/spaces/h100"},
    {"ours, H100: ends chosen on", "tests/bench/spaces/h100-chosen"},
    {"ours, PoCL: judged", "tests/bench/spaces/pocl"},
};
enum { CHOSEN_SET, JUDGED_SET, FIRST_OWN_SET };

/* Smaller spaces take part in campaigns, but are no test of a search. */
#define SPACE_LEAST 18

static const char *const chosen_on[] = {"convolution_RTX_2080_Ti", "convolution_milo_A4000",
                                        "convolution_milo_MI250X", "dedispersion_milo_A4000",
                                        "gemm_RTX_3090"};

struct bench_space {
    RecordedSpace *recorded;
    char *name;
    int vendor;             /* enum vendor, -1 if unknown */
    int set;                /* of sets[] */
    struct problem problem; /* of our own spaces */
};

/* ---- the spaces ---- */

/* By the device's name, and by the file's where that is empty. */
static int vendor_of(const struct bench_space *space)
{
    static const struct {
        const char *word;
        enum vendor vendor;
    } words[] = {{"cpu-", VENDOR_CPU},    {"NVIDIA", VENDOR_NVIDIA}, {"RTX", VENDOR_NVIDIA},
                 {"A100", VENDOR_NVIDIA}, {"A4000", VENDOR_NVIDIA},  {"A6000", VENDOR_NVIDIA},
                 {"sm_", VENDOR_NVIDIA},  {"gfx", VENDOR_AMD},       {"MI250", VENDOR_AMD},
                 {"W6600", VENDOR_AMD},   {"W7800", VENDOR_AMD},     {"AMD", VENDOR_AMD}};
    const char *device = space->recorded->about.device;
    const char *name = device[0] ? device : space->name;
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (strstr(name, words[i].word))
            return words[i].vendor;
    return -1;
}

static void add_space(GPtrArray *spaces, const char *folder, const char *file, int set)
{
    g_autofree char *path = g_build_filename(folder, file, NULL);
    g_autoptr(GError) error = NULL;
    struct bench_space *space = g_new0(struct bench_space, 1);
    space->recorded = recorded_space_read(path, &error);
    if (!space->recorded)
        g_error("%s", error->message);
    space->name = g_strndup(file, strcspn(file, "."));
    space->vendor = vendor_of(space);
    space->set = set;
    if (set >= FIRST_OWN_SET &&
        !problem_key_parse(space->recorded->about.problem, &space->problem, &error))
        g_error("%s: %s", path, error->message);
    for (gsize i = 0; i < G_N_ELEMENTS(chosen_on); i++)
        if (set == JUDGED_SET && strcmp(space->name, chosen_on[i]) == 0)
            space->set = CHOSEN_SET;
    g_ptr_array_add(spaces, space);
}

static gint compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_folder(GPtrArray *spaces, const char *folder, int set)
{
    g_autoptr(GDir) dir = folder ? g_dir_open(folder, 0, NULL) : NULL;
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    const char *file;
    while (dir && (file = g_dir_read_name(dir)))
        if (strstr(file, ".json"))
            g_ptr_array_add(files, g_strdup(file));
    g_ptr_array_sort(files, compare_texts);
    for (guint i = 0; i < files->len; i++)
        add_space(spaces, folder, files->pdata[i], set);
}

/* ---- priors ---- */

static bool same_kernel(const struct bench_space *a, const struct bench_space *b)
{
    return a != b && recorded_space_same_params(a->recorded, b->recorded, NULL) &&
           g_strcmp0(a->recorded->about.kernel, b->recorded->about.kernel) == 0;
}

static bool other_device(const struct bench_space *a, const struct bench_space *b)
{
    return same_kernel(a, b) && a->vendor == b->vendor &&
           g_strcmp0(a->recorded->about.device, b->recorded->about.device) != 0 &&
           g_strcmp0(a->recorded->about.problem, b->recorded->about.problem) == 0;
}

static bool other_vendor(const struct bench_space *a, const struct bench_space *b)
{
    return same_kernel(a, b) && a->vendor != b->vendor &&
           g_strcmp0(a->recorded->about.problem, b->recorded->about.problem) == 0;
}

static bool other_problem(const struct bench_space *a, const struct bench_space *b)
{
    return same_kernel(a, b) && a->set >= FIRST_OWN_SET && b->set == a->set &&
           a->problem.direction == b->problem.direction &&
           g_strcmp0(a->recorded->about.device, b->recorded->about.device) == 0;
}

/* ---- figures ---- */

typedef bool pair_fn(const struct bench_space *a, const struct bench_space *b);

struct scenario {
    const char *label;
    enum strategy_id strategy;
    pair_fn *pair; /* whose best configs are the prior; NULL for no prior */
    bool together; /* all of them at once; else one after the other */
    int best, tries, campaigns;
};

enum figure { TO_5, P95_5, TO_1, P95_1, SECONDS_5, FIGURE_COUNT };

/* Sums of logarithms over the spaces of a row. */
struct mean {
    double sums[FIGURE_COUNT];
    int count;
};

static void print_figures(const char *label, const char *of, const double figures[FIGURE_COUNT],
                          int count)
{
    printf("%-34s %-28.28s %6d", label, of, count);
    for (int i = 0; i < FIGURE_COUNT; i++)
        printf(" %8.1f", figures[i]);
    printf("\n");
    fflush(stdout);
}

static void print_mean(const char *label, const char *of, const struct mean *mean)
{
    double figures[FIGURE_COUNT];
    if (mean->count == 0)
        return;
    for (int i = 0; i < FIGURE_COUNT; i++)
        figures[i] = exp(mean->sums[i] / mean->count);
    print_figures(label, of, figures, mean->count);
}

static void print_titles(void)
{
    printf("\n%-34s %-28s %6s %8s %8s %8s %8s %8s\n", "strategy and prior", "spaces", "count",
           "to 5 %", "95th", "to 1 %", "95th", "s to 5 %");
}

struct bench {
    const GPtrArray *spaces;
    int seeds;
    bool each;
};

/* Searches one space with the others' prior, and adds to the mean of its set. */
static void measure(const struct bench *bench, const struct scenario *scenario,
                    const struct bench_space *space, const GPtrArray *others, struct mean *mean)
{
    const struct replay_prior prior = {.others = others,
                                       .best = scenario->best,
                                       .most = REPLAY_PRIOR_MOST,
                                       .tries = scenario->tries,
                                       .campaigns = scenario->campaigns};
    const struct replay_setup setup = {.space = space->recorded,
                                       .strategy = scenario->strategy,
                                       .prior = others->len > 0 ? &prior : NULL,
                                       .ends_at_1pct = true,
                                       .batch = REPLAY_BATCH};
    g_autoptr(GPtrArray) runs = replay_seeds(&setup, bench->seeds);
    const struct replay_summary summary = replay_summarize(runs);
    const double figures[FIGURE_COUNT] = {
        [TO_5] = summary.tries[REPLAY_5PCT].median,        [P95_5] = summary.tries[REPLAY_5PCT].p95,
        [TO_1] = summary.tries[REPLAY_1PCT].median,        [P95_1] = summary.tries[REPLAY_1PCT].p95,
        [SECONDS_5] = summary.seconds[REPLAY_5PCT].median,
    };
    for (int i = 0; i < FIGURE_COUNT; i++)
        mean->sums[i] += log(figures[i]);
    mean->count++;
    if (bench->each)
        print_figures(scenario->label, space->name, figures, 1);
}

/* The spaces that give a prior (struct bench_space *). */
static GPtrArray *givers_of(const struct bench *bench, const struct scenario *scenario,
                            const struct bench_space *space)
{
    GPtrArray *givers = g_ptr_array_new();
    for (guint i = 0; scenario->pair && i < bench->spaces->len; i++)
        if (scenario->pair(space, bench->spaces->pdata[i]))
            g_ptr_array_add(givers, bench->spaces->pdata[i]);
    return givers;
}

static void measure_space(const struct bench *bench, const struct scenario *scenario,
                          const struct bench_space *space, struct mean *mean)
{
    g_autoptr(GPtrArray) givers = givers_of(bench, scenario, space);
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    if (!scenario->pair)
        measure(bench, scenario, space, others, mean);
    for (guint i = 0; i < givers->len; i++) {
        if (!scenario->together)
            g_ptr_array_set_size(others, 0);
        g_ptr_array_add(others, ((const struct bench_space *)givers->pdata[i])->recorded);
        if (!scenario->together || i + 1 == givers->len)
            measure(bench, scenario, space, others, mean);
    }
}

static void measure_scenario(const struct bench *bench, const struct scenario *scenario)
{
    for (int set = 0; set < (int)G_N_ELEMENTS(sets); set++) {
        struct mean mean = {0};
        for (guint i = 0; i < bench->spaces->len; i++) {
            const struct bench_space *space = bench->spaces->pdata[i];
            if (space->set == set && space->recorded->configs->len >= SPACE_LEAST)
                measure_space(bench, scenario, space, &mean);
        }
        print_mean(scenario->label, sets[set].name, &mean);
    }
}

/* ---- ending where little is to be gained ---- */

/* The cost of ending searches at a gain, for one set, budget of tries and gain. */
struct gain_cost {
    double tries, all_tries; /* sums: tries at the end, and without the gain */
    double
        log_loss; /* sum of the logarithms of the best time at the end over the one without the gain */
    GArray *losses; /* double: best time at the end over the one without the gain */
    int sooner;     /* searches that it ended */
};

static const double gains[] = {5, 3, 2, 1, 0.5, 0.25};
static const int gain_budgets[] = {32, 128};

/* The recorded time of the config that the search would name after so many tries. */
static double named_ms(const struct bench_space *space, const struct replay_run *run, int tries)
{
    double best = INFINITY, named = INFINITY;
    for (int i = 0; i < tries; i++) {
        const struct replay_try *tried = &g_array_index(run->tries, struct replay_try, i);
        if (tried->observed_ms >= best)
            continue;
        best = tried->observed_ms;
        named =
            g_array_index(space->recorded->configs, struct recorded_config, tried->index).time_ms;
    }
    return named;
}

/* After how many of the run's first `most` tries a search ends by the gain, in per cent. */
static int end_by_gain(const struct replay_run *run, int most, double gain)
{
    g_autofree double *times = g_new(double, most);
    for (int i = 0; i < most; i++)
        times[i] = g_array_index(run->tries, struct replay_try, i).observed_ms;
    for (int tries = REPLAY_BATCH; tries < most; tries += REPLAY_BATCH)
        if (expected_gain(times, tries, SEARCH_GAIN_TRIES) < gain / 100)
            return tries;
    return most;
}

static void add_gain(const struct bench_space *space, const struct replay_run *run, int budget,
                     double gain, struct gain_cost *cost)
{
    int most = MIN(budget, (int)run->tries->len);
    int tries = end_by_gain(run, most, gain);
    double loss = named_ms(space, run, tries) / named_ms(space, run, most);
    cost->tries += tries;
    cost->all_tries += most;
    cost->sooner += tries < most;
    cost->log_loss += log(loss);
    g_array_append_val(cost->losses, loss);
}

static gint compare_doubles(gconstpointer a, gconstpointer b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void print_gain(const char *label, const char *set, int budget, double gain,
                       const struct gain_cost *cost)
{
    int count = (int)cost->losses->len;
    if (count == 0)
        return;
    g_array_sort(cost->losses, compare_doubles);
    const double *losses = (const double *)(const void *)cost->losses->data;
    printf("%-34s %-16s %6d %6.2f %9.0f %8.1f %8.1f %8.2f %8.2f %8.2f\n", label, set, budget, gain,
           100.0 * cost->sooner / count, cost->all_tries / count, cost->tries / count,
           100 * (exp(cost->log_loss / count) - 1), 100 * (losses[count * 95 / 100] - 1),
           100 * (losses[count - 1] - 1));
    fflush(stdout);
}

/* The runs of all spaces of a set go by one table of costs: a row for each budget, a column for each gain. own: the spaces
 * of PoCL; else those of SKIPJACK_DATA. */
static void measure_gain_set(const struct bench *bench, const struct scenario *scenario, bool own)
{
    struct gain_cost costs[G_N_ELEMENTS(gain_budgets)][G_N_ELEMENTS(gains)] = {0};
    for (gsize b = 0; b < G_N_ELEMENTS(gain_budgets); b++)
        for (gsize g = 0; g < G_N_ELEMENTS(gains); g++)
            costs[b][g].losses = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < bench->spaces->len; i++) {
        const struct bench_space *space = bench->spaces->pdata[i];
        g_autoptr(GPtrArray) givers = givers_of(bench, scenario, space);
        if (own ? space->vendor != VENDOR_CPU : space->set >= FIRST_OWN_SET)
            continue;
        if (scenario->pair && givers->len == 0)
            continue;
        g_autoptr(GPtrArray) others = g_ptr_array_new();
        for (guint o = 0; o < givers->len; o++)
            g_ptr_array_add(others, ((const struct bench_space *)givers->pdata[o])->recorded);
        const struct replay_prior prior = {.others = others,
                                           .best = scenario->best,
                                           .most = REPLAY_PRIOR_MOST,
                                           .tries = scenario->tries};
        const struct replay_setup setup = {
            .space = space->recorded,
            .strategy = scenario->strategy,
            .prior = others->len > 0 ? &prior : NULL,
            .budget = {.tries = gain_budgets[G_N_ELEMENTS(gain_budgets) - 1]},
            .goes_on = true,
            .batch = REPLAY_BATCH};
        g_autoptr(GPtrArray) runs = replay_seeds(&setup, bench->seeds);
        for (guint r = 0; r < runs->len; r++)
            for (gsize b = 0; b < G_N_ELEMENTS(gain_budgets); b++)
                for (gsize g = 0; g < G_N_ELEMENTS(gains); g++)
                    add_gain(space, runs->pdata[r], gain_budgets[b], gains[g], &costs[b][g]);
    }
    for (gsize b = 0; b < G_N_ELEMENTS(gain_budgets); b++)
        for (gsize g = 0; g < G_N_ELEMENTS(gains); g++) {
            print_gain(scenario->label, own ? "ours on PoCL" : "GPUs", gain_budgets[b], gains[g],
                       &costs[b][g]);
            g_array_unref(costs[b][g].losses);
        }
}

static const struct scenario gain_scenarios[] = {
    {"prior, nothing known", SEARCH_PRIOR, NULL, false, 0, 0, false},
    {"prior, other problems: 32 tries", SEARCH_PRIOR, other_problem, true, 10, 32, false},
    {"prior, another vendor: 32 tries", SEARCH_PRIOR, other_vendor, true, 10, 32, false},
    {"local", SEARCH_LOCAL, NULL, false, 0, 0, false},
};

static void measure_gains(const struct bench *bench)
{
    printf("\n%-34s %-16s %6s %6s %9s %8s %8s %8s %8s %8s\n", "strategy and prior", "spaces",
           "budget", "gain %", "sooner %", "tries", "with it", "loss %", "95th", "most");
    for (gsize i = 0; i < G_N_ELEMENTS(gain_scenarios); i++) {
        measure_gain_set(bench, &gain_scenarios[i], false);
        measure_gain_set(bench, &gain_scenarios[i], true);
    }
}

static const struct scenario scenarios[] = {
    {"prior, another device: ten best", SEARCH_PRIOR, other_device, false, 10, 0, 0},
    {"prior, another device: winner", SEARCH_PRIOR, other_device, false, 1, 0, 0},
    {"prior, another device: 32 tries", SEARCH_PRIOR, other_device, false, 10, 32, 1},
    {"prior, another device: 4 campaigns", SEARCH_PRIOR, other_device, false, 10, 32, 4},
    {"prior, another device: 12 campaigns", SEARCH_PRIOR, other_device, false, 10, 32, 12},
    {"prior, another vendor: ten best", SEARCH_PRIOR, other_vendor, false, 10, 0, 0},
    {"prior, another vendor: winner", SEARCH_PRIOR, other_vendor, false, 1, 0, 0},
    {"prior, another vendor: 32 tries", SEARCH_PRIOR, other_vendor, false, 10, 32, 1},
    {"prior, another vendor: 4 campaigns", SEARCH_PRIOR, other_vendor, false, 10, 32, 4},
    {"prior, another vendor: 12 campaigns", SEARCH_PRIOR, other_vendor, false, 10, 32, 12},
    {"prior, other problems: ten best", SEARCH_PRIOR, other_problem, true, 10, 0, 0},
    {"prior, other problems: winners", SEARCH_PRIOR, other_problem, true, 1, 0, 0},
    {"prior, other problems: 32 tries", SEARCH_PRIOR, other_problem, true, 10, 32, 1},
    {"prior, other problems: 4 campaigns", SEARCH_PRIOR, other_problem, true, 10, 32, 4},
};

#define BUDGET_DRAWS 20 /* at most, so that this part takes seconds */

/* The spaces of a set (struct recorded_space *). */
static GPtrArray *spaces_of(const struct bench *bench, int set)
{
    GPtrArray *spaces = g_ptr_array_new();
    for (guint i = 0; i < bench->spaces->len; i++) {
        const struct bench_space *space = bench->spaces->pdata[i];
        if (space->set == set)
            g_ptr_array_add(spaces, space->recorded);
    }
    return spaces;
}

static void measure_campaigns(const struct bench *bench, bool twice, bool budget)
{
    for (int set = FIRST_OWN_SET; set < (int)G_N_ELEMENTS(sets); set++) {
        g_autoptr(GPtrArray) spaces = spaces_of(bench, set);
        if (twice)
            search_twice_print(sets[set].name, spaces, bench->seeds);
        if (budget)
            search_budget_print(sets[set].name, spaces, MIN(bench->seeds, BUDGET_DRAWS));
    }
}

int main(int argc, char **argv)
{
    g_autofree char *folder = real_data("spaces");
    g_autoptr(GPtrArray) spaces = g_ptr_array_new();
    struct bench bench = {.spaces = spaces,
                          .seeds = argc > 1 ? atoi(argv[1]) : 100,
                          .each = argc > 2 && strcmp(argv[2], "each") == 0};
    bool gain = argc > 2 && strcmp(argv[2], "gain") == 0;
    bool twice = argc > 2 && strcmp(argv[2], "twice") == 0;
    bool budget = argc > 2 && strcmp(argv[2], "budget") == 0;
    if (bench.seeds < 1 || argc > 3 || (argc > 2 && !bench.each && !gain && !twice && !budget)) {
        fprintf(stderr, "usage: bench_search [SEEDS [each|gain|twice|budget]]\n");
        return 2;
    }
    if (!folder)
        printf("no recorded spaces in SKIPJACK_DATA: only those of the tree\n");
    add_folder(spaces, folder, JUDGED_SET);
    for (int set = FIRST_OWN_SET; set < (int)G_N_ELEMENTS(sets); set++)
        add_folder(spaces, sets[set].folder, set);
    if (gain)
        measure_gains(&bench);
    if (twice || budget)
        measure_campaigns(&bench, twice, budget);
    if (gain || twice || budget)
        return 0;
    printf("constants of strategies were chosen on");
    for (gsize i = 0; i < G_N_ELEMENTS(chosen_on); i++)
        printf("%s %s", i > 0 ? "," : "", chosen_on[i]);
    printf("; all other spaces judge them\n");
    printf("geometric means over the spaces of the median and the 95th percentile of %d seeds\n",
           bench.seeds);
    print_titles();
    for (int strategy = 0; strategy < STRATEGY_COUNT; strategy++) {
        const struct scenario alone = {
            strategy_table[strategy].name, strategy, NULL, false, 0, 0, 0};
        if (strategy != SEARCH_PRIOR && strategy != SEARCH_EXHAUSTIVE)
            measure_scenario(&bench, &alone);
    }
    print_titles();
    for (gsize i = 0; i < G_N_ELEMENTS(scenarios); i++)
        measure_scenario(&bench, &scenarios[i]);
    measure_campaigns(&bench, true, true);
    return 0;
}
