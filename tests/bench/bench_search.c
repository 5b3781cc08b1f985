/*
 * Search strategies over recorded spaces (SKIPJACK_DATA/spaces: Kernel Tuner's caches, every config
 * with its time): how many configs are evaluated until one is within 5 % and within 1 % of the fastest,
 * and how far the best of 32 is from it, as means over seeds and as geometric means over the spaces. The
 * default config is one drawn by the seed.
 *
 * Where two devices have the same space, the second table has searches with a prior: the N fastest of all
 * configs of the other device's recorded space. That prior is the best there can be, since the other
 * device measured its whole space; what a farm knows of a neighbour is the few configs that its own search
 * found there. The table bounds what a prior can bring and does not say what the product reaches.
 *
 * usage: bench_search [SEEDS]
 */
#include "schema/store/store_rounds.h"
#include "solvers/framework/strategy.h"
#include "tests/support/export/real_data.h"
#include "worker/search/search.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_CONFIGS 4 /* configs in a round of a campaign's job */
/* configs in a round of a random search, whose order does not depend on the rounds' size */
#define DRAWN_CONFIGS 512
#define GIVE_UP       20000 /* most evaluations; more than any space has configs */

struct space_record {
    char *name;
    struct space space;
    struct space_param params[CONFIG_MAX];
    GArray *configs;   /* struct tried_config */
    GHashTable *times; /* struct perf_config * -> const double * */
    double best_ms;
};

/* A space's functions get only a problem, so this is the record being searched; one at a time. */
static const struct space_record *searched;
static struct perf_config searched_default;

static bool is_recorded(const struct problem *p, const struct context *context,
                        const int32_t *values)
{
    (void)p;
    (void)context;
    struct perf_config config = {.count = searched->space.param_count};
    memcpy(config.values, values, (gsize)config.count * sizeof *values);
    return g_hash_table_contains(searched->times, &config);
}

static void drawn_default(const struct problem *p, const struct context *context,
                          struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = searched_default;
}

/* ---- reading the records ---- */

static json_t *load(const char *path)
{
    char *argv[] = {(char *)"gzip", (char *)"-dc", (char *)path, NULL}, *text = NULL;
    g_autoptr(GError) error = NULL;
    if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &text, NULL, NULL, &error))
        g_error("cannot read '%s': %s", path, error->message);
    json_t *root = json_loads(text, 0, NULL);
    g_free(text);
    if (!root)
        g_error("'%s' is no JSON", path);
    return root;
}

static int compare_values(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

/* Takes a parameter's values from the recorded configs, not from the file's list of possible
 * values. */
static void take_values(struct space_record *record, int param, const char *name)
{
    GArray *values = g_array_new(FALSE, FALSE, sizeof(int32_t));
    for (guint i = 0; i < record->configs->len; i++) {
        int32_t value = g_array_index(record->configs, struct tried_config, i).config.values[param];
        bool known = false;
        for (guint v = 0; v < values->len; v++)
            known = known || g_array_index(values, int32_t, v) == value;
        if (!known)
            g_array_append_val(values, value);
    }
    g_array_sort(values, compare_values);
    record->params[param] = (struct space_param){.name = g_strdup(name),
                                                 .count = (int)values->len,
                                                 .values = (int32_t *)(void *)values->data};
    g_array_free(values, FALSE);
}

static void take_configs(struct space_record *record, const json_t *keys, json_t *cache)
{
    const char *unused;
    json_t *row;
    json_object_foreach (cache, unused, row) {
        struct tried_config tried = {.config.count = (int)json_array_size(keys)};
        for (int i = 0; i < tried.config.count; i++)
            tried.config.values[i] = (int32_t)json_integer_value(
                json_object_get(row, json_string_value(json_array_get(keys, (gsize)i))));
        double time_ms = json_number_value(json_object_get(row, "time"));
        tried.time_ms = time_ms > 0 ? time_ms : INFINITY;
        record->best_ms = fmin(record->best_ms, tried.time_ms);
        g_array_append_val(record->configs, tried);
    }
}

static struct space_record *space_read(const char *folder, const char *file)
{
    static const struct space_constraint recorded = {"recorded", "what was measured", 0,
                                                     is_recorded};
    struct space_record *record = g_new0(struct space_record, 1);
    struct space_constraint *constraint = g_memdup2(&recorded, sizeof recorded);
    g_autofree char *path = g_build_filename(folder, file, NULL);
    json_t *root = load(path);
    const json_t *keys = json_object_get(root, "tune_params_keys");
    g_assert(json_array_size(keys) > 0 && json_array_size(keys) <= CONFIG_MAX);
    record->name = g_strndup(file, strcspn(file, "."));
    record->best_ms = INFINITY;
    record->configs = g_array_new(FALSE, FALSE, sizeof(struct tried_config));
    record->times = g_hash_table_new(config_hash, config_equal);
    take_configs(record, keys, json_object_get(root, "cache"));
    constraint->needs = record->space.param_count = (int)json_array_size(keys);
    for (int i = 0; i < record->space.param_count; i++)
        take_values(record, i, json_string_value(json_array_get(keys, (gsize)i)));
    record->space.params = record->params;
    record->space.constraints = constraint;
    record->space.constraint_count = 1;
    for (guint i = 0; i < record->configs->len; i++) {
        struct tried_config *tried = &g_array_index(record->configs, struct tried_config, i);
        g_hash_table_insert(record->times, &tried->config, &tried->time_ms);
    }
    json_decref(root);
    return record;
}

/* ---- searching ---- */

struct score {
    /* evaluations until within 5 %, and within 1 %; the best time of 32 over the fastest */
    double within_5, within_1, after_32;
};

static void free_round(gpointer round)
{
    round_free(round);
}

/* Evaluates a round; the default config counts only in the first. */
static void evaluate(struct round *round, bool first, int *count, double *best, struct score *score)
{
    for (int i = 0; i < round->config_count; i++) {
        double time_ms = *(const double *)g_hash_table_lookup(searched->times, &round->configs[i]);
        bool timed = isfinite(time_ms);
        round->outcomes[i].failure = timed ? FAILURE_NONE : FAILURE_LAUNCH_ERROR;
        round->outcomes[i].median_ms = timed ? time_ms : 0;
        if (i == 0 && !first)
            continue;
        ++*count;
        *best = fmin(*best, time_ms);
        if (score->within_5 == 0 && *best <= 1.05 * searched->best_ms)
            score->within_5 = *count;
        if (score->within_1 == 0 && *best <= 1.01 * searched->best_ms)
            score->within_1 = *count;
        if (*count == 32)
            score->after_32 = *best / searched->best_ms;
    }
}

static struct score run(const char *strategy, const GArray *prior, int seed)
{
    const struct solver solver = {
        .name = "Recorded", .default_config = drawn_default, .space = &searched->space};
    struct problem problem;
    struct target target = {0};
    struct context context;
    struct score score = {0};
    double best = INFINITY;
    int count = 0;
    uint64_t state = (uint64_t)seed;
    problem_init(&problem);
    context_init(&context, &target);
    space_draw(&searched->space, &problem, &context, &state, &searched_default);
    g_autoptr(GPtrArray) rounds = g_ptr_array_new_with_free_func(free_round);
    struct search search = {.solver = &solver,
                            .problem = &problem,
                            .context = &context,
                            .strategy = strategy,
                            .seed = seed,
                            .round_configs =
                                strcmp(strategy, "random") == 0 ? DRAWN_CONFIGS : ROUND_CONFIGS,
                            .rounds = rounds,
                            .prior = prior};
    while (count < GIVE_UP && (score.within_1 == 0 || count < 32)) {
        int default_index;
        g_autoptr(GArray) configs = search_propose(&search, &default_index);
        if (configs->len == 0)
            break;
        struct round *round = round_new((int)configs->len);
        memcpy(round->configs, configs->data, configs->len * sizeof(struct perf_config));
        evaluate(round, rounds->len == 0, &count, &best, &score);
        g_ptr_array_add(rounds, round);
    }
    score.within_5 = score.within_5 > 0 ? score.within_5 : GIVE_UP;
    score.within_1 = score.within_1 > 0 ? score.within_1 : GIVE_UP;
    return score;
}

/* Prints the means over the seeds, and adds their logarithms to *sum. */
static void measure(const struct space_record *record, const char *strategy, const char *label,
                    const GArray *prior, int seeds, struct score *sum)
{
    struct score mean = {0};
    searched = record;
    for (int seed = 0; seed < seeds; seed++) {
        struct score score = run(strategy, prior, seed);
        mean.within_5 += score.within_5 / seeds;
        mean.within_1 += score.within_1 / seeds;
        mean.after_32 += score.after_32 / seeds;
    }
    printf("%-28s %-12s %9.1f %9.1f %9.2f\n", record->name, label, mean.within_5, mean.within_1,
           mean.after_32);
    fflush(stdout);
    sum->within_5 += log(mean.within_5);
    sum->within_1 += log(mean.within_1);
    sum->after_32 += log(mean.after_32);
}

static void print_mean(const char *label, const struct score *sum, guint count)
{
    printf("%-28s %-12s %9.1f %9.1f %9.2f\n", "geometric mean", label, exp(sum->within_5 / count),
           exp(sum->within_1 / count), exp(sum->after_32 / count));
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    const struct space_record *left = *(const struct space_record *const *)a;
    const struct space_record *right = *(const struct space_record *const *)b;
    return strcmp(left->name, right->name);
}

static void compare_strategies(const GPtrArray *records, int seeds)
{
    static const char *const strategies[] = {"random", "local"};
    for (gsize s = 0; s < G_N_ELEMENTS(strategies); s++) {
        struct score sum = {0};
        for (guint i = 0; i < records->len; i++)
            measure(records->pdata[i], strategies[s], strategies[s], NULL, seeds, &sum);
        print_mean(strategies[s], &sum, records->len);
    }
}

/* ---- with a prior ---- */

static bool same_space(const struct space_record *a, const struct space_record *b)
{
    bool same = a != b && a->space.param_count == b->space.param_count;
    for (int i = 0; same && i < a->space.param_count; i++)
        same = strcmp(a->params[i].name, b->params[i].name) == 0 &&
               a->params[i].count == b->params[i].count;
    return same;
}

static gint compare_times(gconstpointer a, gconstpointer b)
{
    const struct tried_config *left = a, *right = b;
    return (left->time_ms > right->time_ms) - (left->time_ms < right->time_ms);
}

static GArray *fastest_of(const struct space_record *record, guint count)
{
    g_autoptr(GArray) sorted = g_array_copy(record->configs);
    GArray *fastest = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    g_array_sort(sorted, compare_times);
    for (guint i = 0; i < MIN(count, sorted->len); i++)
        g_array_append_val(fastest, g_array_index(sorted, struct tried_config, i).config);
    return fastest;
}

static void compare_priors(const GPtrArray *records, int seeds)
{
    static const guint counts[] = {0, 1, 3, 10, 16};
    for (gsize c = 0; c < G_N_ELEMENTS(counts); c++) {
        struct score sum = {0};
        guint pairs = 0;
        g_autofree char *label = g_strdup_printf("oracle of %u", counts[c]);
        for (guint i = 0; i < records->len; i++)
            for (guint o = 0; o < records->len; o++) {
                if (!same_space(records->pdata[i], records->pdata[o]))
                    continue;
                g_autoptr(GArray) prior = fastest_of(records->pdata[o], counts[c]);
                measure(records->pdata[i], STRATEGY_PRIOR, label, prior, seeds, &sum);
                pairs++;
            }
        if (pairs > 0)
            print_mean(label, &sum, pairs);
    }
}

int main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : 20;
    g_autofree char *folder = real_data("spaces");
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    g_autoptr(GDir) dir = folder ? g_dir_open(folder, 0, NULL) : NULL;
    const char *file;
    if (!dir || seeds < 1) {
        fprintf(stderr, seeds < 1 ? "usage: bench_search [SEEDS]\n"
                                  : "no recorded spaces in SKIPJACK_DATA: nothing to measure\n");
        return seeds < 1 ? 2 : 0;
    }
    while ((file = g_dir_read_name(dir)))
        if (g_str_has_suffix(file, ".json.gz"))
            g_ptr_array_add(records, space_read(folder, file));
    g_ptr_array_sort(records, compare_names);
    printf("%-28s %-12s %9s %9s %9s\n", "space", "strategy", "to 5 %", "to 1 %", "of 32");
    compare_strategies(records, seeds);
    printf(
        "\nwith a prior: the N fastest of the other device's whole recorded space, which no farm knows\n"
        "of a neighbour: a bound for what a prior brings, not what the product reaches\n");
    printf("%-28s %-12s %9s %9s %9s\n", "space", "strategy", "to 5 %", "to 1 %", "of 32");
    compare_priors(records, seeds);
    return 0;
}
