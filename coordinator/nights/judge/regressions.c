/*
 * Judging a night. A test compares the logarithms of two times: tonight's, and the middle of the nights that end with
 * the newest earlier one and in which nothing changed. Noise has three parts, each measured: the spread within a
 * measurement, the spread between nights of the entry, and the weight of the tails, from all pairs of nights in which
 * nothing changed. REGRESSIONS.md has the formulas and says why.
 */
#include "coordinator/nights/judge/regressions.h"

#include "coordinator/nights/judge/regression_statistics.h"
#include "schema/store/drift.h"

#include <math.h>
#include <string.h>

/* Standard error of a median by the standard deviation: sqrt(pi / 2). */
#define MEDIAN_ERROR      1.2533
/* Interquartile range of a normal distribution, in standard deviations. */
#define IQR_DEVIATIONS    1.349
/* Spread between two processes on one device, until the farm's own history says more; and the least that is believed,
 * below what clocks resolve. */
#define NIGHT_ERROR_GUESS 0.01
#define NIGHT_ERROR_LEAST 0.002
/* The farm's spread counts like so many nights of the entry: the number under which the tests' tails are lightest. Few,
 * if entries differ in their noise; many, if they do not. The first is taken until the tails are known, and if
 * runs are too short to tell: the scatter of three nights alone would pass for a small noise too often. */
static const int farm_nights[] = {16, 64, 4, 1};
/* Pairs of nights from which the spread is believed, and from which the tails are. */
#define PAIRS_FOR_SPREAD  30
#define PAIRS_FOR_TAILS   100
/* Degrees of freedom before there are PAIRS_FOR_TAILS: a farm in which some nights are disturbed. */
#define FREEDOM_GUESS     2.0
/* The far quantile by which tails are fitted: that with so many values beyond it, up to a share. The share
 * is lower for tonight's values, since regressions may be among the largest. */
#define FAR_VALUES        5
#define SHARE_PAST        0.99
#define SHARE_TONIGHT     0.95
/* Beyond the fitted quantile a difference of two heavy-tailed values is heavier than the fit says. */
#define TAIL_MARGIN       0.8
/* Few pairs may have no far value by chance: the degrees are bounded by one for so many pairs. */
#define PAIRS_PER_FREEDOM 50
/* Results of a node, and standard errors of their median change, from which a node is called slow. */
#define NODE_RESULTS      5
#define NODE_ERRORS       4

/* ---- problems ---- */

static void clear_entry(void *data)
{
    struct regression_entry *entry = data;
    g_free(entry->solver);
    g_array_unref(entry->earlier);
    regression_point_clear(&entry->now);
    regression_point_clear(&entry->golden);
}

static void clear_use(void *data)
{
    g_free(((struct regression_use *)data)->network);
}

static void clear_point(void *data)
{
    regression_point_clear(data);
}

static GArray *points_new(void)
{
    GArray *points = g_array_new(FALSE, TRUE, sizeof(struct regression_point));
    g_array_set_clear_func(points, clear_point);
    return points;
}

struct regression_problem *regression_problem_new(int64_t id, const char *key)
{
    struct regression_problem *problem = g_new0(struct regression_problem, 1);
    problem->id = id;
    problem->key = g_strdup(key);
    problem->entries = g_array_new(FALSE, TRUE, sizeof(struct regression_entry));
    g_array_set_clear_func(problem->entries, clear_entry);
    problem->uses = g_array_new(FALSE, TRUE, sizeof(struct regression_use));
    g_array_set_clear_func(problem->uses, clear_use);
    return problem;
}

void regression_problem_free(struct regression_problem *problem)
{
    if (problem == NULL)
        return;
    g_free(problem->key);
    g_array_unref(problem->entries);
    g_array_unref(problem->uses);
    g_free(problem);
}

struct regression_entry *regression_problem_add(struct regression_problem *problem,
                                                const char *solver)
{
    const struct regression_entry entry = {.solver = g_strdup(solver), .earlier = points_new()};
    g_array_append_val(problem->entries, entry);
    return &g_array_index(problem->entries, struct regression_entry, problem->entries->len - 1);
}

void regression_problem_use(struct regression_problem *problem, const char *network,
                            int multiplicity, double runs)
{
    const struct regression_use use = {g_strdup(network), multiplicity, runs};
    g_array_append_val(problem->uses, use);
}

/* ---- names ---- */

const char *regression_against_name(enum regression_against against)
{
    return against == REGRESSION_GOLDEN ? "golden" : "last night";
}

const char *regression_kind_name(enum regression_kind kind)
{
    static const char *const names[] = {"slower", "faster", "failed"};
    return names[kind];
}

const char *regression_state_name(enum regression_state state)
{
    static const char *const names[] = {"suspect", "confirmed", "gone", "node", "unconfirmed"};
    return names[state];
}

/* ---- noise ---- */

static bool is_timed(const struct regression_point *point)
{
    return point->failure == FAILURE_NONE && point->median_ms > 0 && isfinite(point->median_ms);
}

/* Failures that say something about the config; the others say something about the night. */
static bool is_failure(const struct regression_point *point)
{
    return point->failure != FAILURE_NONE && point->failure != FAILURE_WORKER_LOST &&
           point->failure != FAILURE_PENDING && point->failure != FAILURE_SLOW &&
           point->failure != FAILURE_NOT_APPLICABLE;
}

static bool same(const char *a, const char *b)
{
    return g_strcmp0(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool is_unchanged(const struct regression_point *a, const struct regression_point *b)
{
    return a->revision == b->revision && same(a->config, b->config) && same(a->hash, b->hash) &&
           same(a->stack, b->stack);
}

/* Standard error of the logarithm of a measurement's median, from the runs within it. */
static double within_error(const struct regression_point *point)
{
    return MEDIAN_ERROR * MAX(point->spread, 0) / IQR_DEVIATIONS / sqrt(MAX(point->n, 1));
}

/* Standard deviation of the middle of count values with this standard deviation. The middle of two is the one nearer
 * to what it is compared with, so it gains nothing. */
static double middle_error(double error, int count)
{
    int odd = count % 2 == 1 ? count : count - 1;
    return odd < 3 ? error : error * MEDIAN_ERROR / sqrt(odd);
}

/* The nights that end with the newest earlier point and in which nothing changed. */
struct run {
    const struct regression_point *point; /* the newest; NULL without points */
    double logs[REGRESSION_NIGHTS];       /* the newest first */
    int count;
    double within; /* mean square of within_error() */
};

/* Points whose round drifted are doubtful: they count only if there is no other. */
static struct run run_of(const GArray *earlier, guint from)
{
    struct run run = {0};
    for (guint i = from; i < earlier->len && run.count < REGRESSION_NIGHTS; i++) {
        const struct regression_point *point = &g_array_index(earlier, struct regression_point, i);
        if (run.point == NULL && !is_timed(point))
            break;
        if (run.point != NULL && (!is_timed(point) || !is_unchanged(run.point, point)))
            break;
        if (run.point != NULL && drift_is_large(point->drift))
            continue;
        if (run.point != NULL && drift_is_large(run.point->drift)) {
            run.count = 0;
            run.within = 0;
        }
        if (run.count == 0)
            run.point = point;
        run.logs[run.count++] = log(point->median_ms);
        run.within += within_error(point) * within_error(point);
    }
    run.within /= MAX(run.count, 1);
    return run;
}

/* The run without its newest night. */
static struct run run_before(const struct run *run)
{
    struct run before = *run;
    before.count--;
    memmove(before.logs, run->logs + 1, sizeof *run->logs * (size_t)before.count);
    return before;
}

/* The entry's spread between nights: the farm's, and with every night more the entry's own. */
static double night_error(const struct run *run, const struct regression_noise *noise)
{
    double logs[REGRESSION_NIGHTS];
    double farm = noise->night_error;
    if (run->count < 3)
        return farm;
    memcpy(logs, run->logs, sizeof logs);
    double own = statistics_deviation(logs, (guint)run->count);
    int nights = run->count - 1;
    return sqrt((noise->farm_nights * farm * farm + nights * own * own) /
                (noise->farm_nights + nights));
}

/* Standard deviation of one night's measurement. */
static double single_error(double between, const struct regression_point *point)
{
    return hypot(between, within_error(point));
}

struct comparison {
    double now, then;             /* logarithms of the times */
    double now_error, then_error; /* standard deviations of one measurement each */
    int now_count, then_count;    /* measurements of which each is the middle */
};

static double comparison_error(const struct comparison *c)
{
    return hypot(middle_error(c->now_error, c->now_count),
                 middle_error(c->then_error, c->then_count));
}

/* Two bounds of the probability that noise alone makes the difference; each holds, so the smaller one does. The first
 * takes the difference as one value of Student's t. The second splits it: at least one side is off by its part, and a
 * middle of several is off only if more than half of them are. */
static double comparison_p(const struct comparison *c, const struct regression_noise *noise)
{
    double apart = fabs(c->now - c->then);
    double now_error = middle_error(c->now_error, c->now_count);
    double then_error = middle_error(c->then_error, c->then_count);
    double whole =
        student_tail(apart / (noise->scale * hypot(now_error, then_error)), noise->freedom);
    double part = apart / (now_error + then_error) / noise->scale;
    double now_tail = student_tail(part * now_error / c->now_error, noise->freedom);
    double then_tail = student_tail(part * then_error / c->then_error, noise->freedom);
    double split = middle_tail(now_tail, c->now_count) + middle_tail(then_tail, c->then_count);
    return MIN(1, 2 * MIN(whole, split));
}

/* The values from which the noise is learned: entries in nights in which nothing changed. */
struct learner {
    GArray *values; /* double */
    double within;  /* sum of the squares of within_error() */
    struct regression_noise *noise;
};

/* Two nights' distance, as a standard deviation of one night. */
static void note_distance(struct learner *learner, double a, double b, double within)
{
    double apart = fabs(a - b) / G_SQRT2;
    g_array_append_val(learner->values, apart);
    learner->within += within;
}

static void note_distances(const struct run *run, struct learner *learner)
{
    for (int i = 0; i + 1 < run->count; i++)
        note_distance(learner, run->logs[i], run->logs[i + 1], run->within);
}

/* The statistic of the tests, for a time and an odd number of nights before it: of an even number the nearer middle
 * one counts, which would make the bulk look narrower than the tails. */
static void note_statistic(double now, double within, const struct run *before,
                           struct learner *learner)
{
    double between = night_error(before, learner->noise);
    double then[REGRESSION_NIGHTS];
    int count = before->count % 2 == 1 ? before->count : before->count - 1;
    memcpy(then, before->logs, sizeof then);
    const struct comparison c = {
        .now_error = hypot(between, sqrt(within)),
        .then_error = hypot(between, sqrt(before->within)),
        .now_count = 1,
        .then_count = count,
    };
    double apart = fabs(now - sample_median(then, (guint)count)) / comparison_error(&c);
    g_array_append_val(learner->values, apart);
}

/* Each night of the run, as if it were tonight. */
static void note_statistics(const struct run *run, struct learner *learner)
{
    for (struct run rest = *run; rest.count >= 2; rest = run_before(&rest)) {
        const struct run before = run_before(&rest);
        note_statistic(rest.logs[0], run->within, &before, learner);
    }
}

/* Calls `of_run` for the nights before this one; with `tonight`, looks at tonight's times, too. */
static void learn(const GPtrArray *problems, bool tonight, struct learner *learner,
                  void (*of_run)(const struct run *, struct learner *))
{
    for (guint p = 0; p < problems->len; p++) {
        const struct regression_problem *problem = g_ptr_array_index(problems, p);
        for (guint e = 0; e < problem->entries->len; e++) {
            const struct regression_entry *entry =
                &g_array_index(problem->entries, struct regression_entry, e);
            struct run run = run_of(entry->earlier, 0);
            double within = within_error(&entry->now) * within_error(&entry->now);
            if (run.count >= 2)
                of_run(&run, learner);
            if (!tonight || run.count == 0 || !entry->has_now || !is_timed(&entry->now) ||
                !is_unchanged(run.point, &entry->now))
                continue;
            double now = log(entry->now.median_ms);
            if (of_run == note_distances)
                note_distance(learner, now, run.logs[0], (within + run.within) / 2);
            else
                note_statistic(now, within, &run, learner);
        }
    }
}

/* Fits Student's t to the statistics' sizes by two quantiles. */
static void fit_tails(GArray *values, bool tonight, struct regression_noise *noise)
{
    double *sizes = (double *)(void *)values->data;
    double most = tonight ? SHARE_TONIGHT : SHARE_PAST;
    double share = MIN(most, 1 - FAR_VALUES / (double)values->len);
    double half = sample_quantile(sizes, values->len, 0.5);
    double far = sample_quantile(sizes, values->len, share);
    noise->freedom = half > 0 ? TAIL_MARGIN * student_freedom(far / half, share) : FREEDOM_GUESS;
    noise->freedom = MIN(noise->freedom, FREEDOM_GUESS + (double)values->len / PAIRS_PER_FREEDOM);
    noise->scale = MAX(1, half / student_quantile(0.25, noise->freedom));
}

/* Learns the noise from the nights before this one, and where they are few from tonight's entries of unchanged
 * solvers and software, too (REGRESSIONS.md, "The noise"). */
static void measure_noise(const GPtrArray *problems, struct regression_noise *noise)
{
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
    struct learner learner = {.values = values, .noise = noise};
    *noise = (struct regression_noise){.night_error = NIGHT_ERROR_GUESS,
                                       .farm_nights = farm_nights[0],
                                       .scale = 1,
                                       .freedom = FREEDOM_GUESS};
    learn(problems, false, &learner, note_distances);
    bool tonight = values->len < PAIRS_FOR_TAILS;
    if (tonight) {
        g_array_set_size(values, 0);
        learner.within = 0;
        learn(problems, true, &learner, note_distances);
    }
    noise->pairs = (int)values->len;
    if (values->len >= PAIRS_FOR_SPREAD) {
        /* 0.6745 standard deviations: the median of the size of a normal value. */
        double seen = sample_median((double *)(void *)values->data, values->len) / 0.6745;
        double between = seen * seen - learner.within / values->len;
        noise->night_error = MAX(NIGHT_ERROR_LEAST, between > 0 ? sqrt(between) : 0);
    }
    struct regression_noise best = *noise;
    best.freedom = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(farm_nights); i++) {
        noise->farm_nights = farm_nights[i];
        g_array_set_size(values, 0);
        learn(problems, tonight, &learner, note_statistics);
        if (values->len < PAIRS_FOR_TAILS)
            break;
        fit_tails(values, tonight, noise);
        if (noise->freedom > best.freedom)
            best = *noise;
    }
    if (best.freedom > 0)
        *noise = best;
}

/* ---- a problem's best ---- */

struct best {
    double ms; /* 0 without an entry */
    const struct regression_entry *entry;
};

static void take_best(struct best *best, double ms, const struct regression_entry *entry)
{
    if (ms > 0 && (best->ms <= 0 || ms < best->ms))
        *best = (struct best){ms, entry};
}

static const struct regression_point *newest(const struct regression_entry *entry)
{
    return entry->earlier->len > 0 ? &g_array_index(entry->earlier, struct regression_point, 0)
                                   : NULL;
}

/* The time that counts for a problem after this night, 0 for none: tonight's, or the newest one. */
static double time_now(const struct regression_entry *entry)
{
    const struct regression_point *point = entry->has_now ? &entry->now : newest(entry);
    return point != NULL && is_timed(point) ? point->median_ms : 0;
}

static double time_then(const struct regression_entry *entry, enum regression_against against)
{
    if (against == REGRESSION_GOLDEN)
        return entry->has_golden && is_timed(&entry->golden) ? entry->golden.median_ms : 0;
    struct run run = run_of(entry->earlier, 0);
    return run.count > 0 ? exp(sample_median(run.logs, (guint)run.count)) : 0;
}

struct bests {
    struct best now, then[REGRESSION_AGAINST_COUNT];
    bool measured; /* an entry of the problem was measured tonight */
};

static struct bests find_bests(const struct regression_problem *problem)
{
    struct bests bests = {0};
    for (guint e = 0; e < problem->entries->len; e++) {
        const struct regression_entry *entry =
            &g_array_index(problem->entries, struct regression_entry, e);
        bests.measured |= entry->has_now;
        take_best(&bests.now, time_now(entry), entry);
        for (int a = 0; a < REGRESSION_AGAINST_COUNT; a++)
            take_best(&bests.then[a], time_then(entry, (enum regression_against)a), entry);
    }
    return bests;
}

/* ---- findings ---- */

static void clear_effect(void *data)
{
    g_free(((struct regression_network_effect *)data)->network);
}

struct regression_finding *regressions_add_finding(Regressions *r)
{
    struct regression_finding *finding = g_new0(struct regression_finding, 1);
    finding->again = points_new();
    finding->networks = g_array_new(FALSE, TRUE, sizeof(struct regression_network_effect));
    g_array_set_clear_func(finding->networks, clear_effect);
    finding->causes = causes_new();
    g_ptr_array_add(r->findings, finding);
    return finding;
}

static void finding_free(void *data)
{
    struct regression_finding *finding = data;
    g_free(finding->key);
    g_free(finding->solver);
    regression_point_clear(&finding->now);
    regression_point_clear(&finding->then);
    g_array_unref(finding->again);
    g_array_unref(finding->networks);
    g_array_unref(finding->causes);
    g_free(finding);
}

static void node_free(void *data)
{
    g_free(((struct regression_node *)data)->node);
    g_free(data);
}

Regressions *regressions_new(const char *target)
{
    Regressions *r = g_new0(Regressions, 1);
    r->target = g_strdup(target);
    r->findings = g_ptr_array_new_with_free_func(finding_free);
    r->nodes = g_ptr_array_new_with_free_func(node_free);
    return r;
}

void regressions_free(Regressions *r)
{
    if (r == NULL)
        return;
    g_free(r->target);
    g_ptr_array_unref(r->findings);
    g_ptr_array_unref(r->nodes);
    g_free(r);
}

static double percent_of(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

static void set_estimate(struct regression_finding *finding, const struct comparison *c,
                         const struct regression_noise *noise)
{
    double apart = c->now - c->then;
    double reach = student_quantile(0.025, noise->freedom) * noise->scale * comparison_error(c);
    finding->percent = percent_of(apart);
    finding->low = percent_of(apart - reach);
    finding->high = percent_of(apart + reach);
    finding->p = comparison_p(c, noise);
}

/* ---- what a finding costs networks ---- */

struct network {
    double then_ms[REGRESSION_AGAINST_COUNT];
};

static GHashTable *sum_networks(const GPtrArray *problems)
{
    GHashTable *networks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (guint p = 0; p < problems->len; p++) {
        const struct regression_problem *problem = g_ptr_array_index(problems, p);
        if (problem->uses->len == 0)
            continue;
        struct bests bests = find_bests(problem);
        for (guint u = 0; u < problem->uses->len; u++) {
            const struct regression_use *use =
                &g_array_index(problem->uses, struct regression_use, u);
            struct network *network = g_hash_table_lookup(networks, use->network);
            if (network == NULL) {
                network = g_new0(struct network, 1);
                g_hash_table_insert(networks, g_strdup(use->network), network);
            }
            for (int a = 0; a < REGRESSION_AGAINST_COUNT; a++)
                network->then_ms[a] += use->multiplicity * bests.then[a].ms;
        }
    }
    return networks;
}

static int by_effect(const void *a, const void *b)
{
    const struct regression_network_effect *x = a, *y = b;
    double heavier = fabs(y->runs * y->ms) - fabs(x->runs * x->ms);
    return heavier > 0 ? 1 : heavier < 0 ? -1 : strcmp(x->network, y->network);
}

static void weigh(struct regression_finding *finding)
{
    finding->weight = 0;
    for (guint i = 0; i < finding->networks->len; i++) {
        const struct regression_network_effect *effect =
            &g_array_index(finding->networks, struct regression_network_effect, i);
        finding->weight += effect->runs * effect->ms;
    }
}

/* A problem's time changes with its fastest entry: only that entry's finding has the networks. */
static void add_networks(struct regression_finding *finding,
                         const struct regression_problem *problem, const struct bests *bests,
                         GHashTable *networks)
{
    const struct best *then = &bests->then[finding->against];
    bool lost = bests->now.ms <= 0;
    double ms = lost ? then->ms : bests->now.ms - then->ms;
    const struct best *mover = finding->kind == REGRESSION_FASTER ? &bests->now : then;
    bool moves = mover->entry != NULL && strcmp(mover->entry->solver, finding->solver) == 0;
    if (then->ms <= 0 || (!moves && finding->scope == REGRESSION_ENTRY) ||
        (ms > 0) == (finding->kind == REGRESSION_FASTER))
        return;
    for (guint u = 0; u < problem->uses->len; u++) {
        const struct regression_use *use = &g_array_index(problem->uses, struct regression_use, u);
        const struct network *network = g_hash_table_lookup(networks, use->network);
        double whole = network != NULL ? network->then_ms[finding->against] : 0;
        const struct regression_network_effect effect = {
            .network = g_strdup(use->network),
            .runs = use->runs,
            .ms = use->multiplicity * ms,
            .percent = whole > 0 ? 100 * use->multiplicity * ms / whole : 0,
            .lost = lost,
        };
        g_array_append_val(finding->networks, effect);
    }
    g_array_sort(finding->networks, by_effect);
    weigh(finding);
}

/* ---- nodes ---- */

static struct regression_node *node_of(const Regressions *r, const char *name)
{
    for (guint i = 0; i < r->nodes->len; i++) {
        struct regression_node *node = g_ptr_array_index(r->nodes, i);
        if (strcmp(node->node, name) == 0)
            return node;
    }
    return NULL;
}

static void judge_node(Regressions *r, const char *name, GArray *changes)
{
    double *logs = (double *)(void *)changes->data;
    double median = sample_median(logs, changes->len);
    double spread = MAX(statistics_deviation(logs, changes->len), r->noise.night_error);
    struct regression_node *node = g_new0(struct regression_node, 1);
    node->node = g_strdup(name);
    node->percent = percent_of(median);
    node->results = (int)changes->len;
    node->is_slow = changes->len >= NODE_RESULTS && node->percent >= r->limits.percent / 2 &&
                    median > NODE_ERRORS * MEDIAN_ERROR * spread / sqrt(changes->len);
    g_ptr_array_add(r->nodes, node);
}

static int by_node(const void *a, const void *b)
{
    const struct regression_node *x = *(struct regression_node *const *)a,
                                 *y = *(struct regression_node *const *)b;
    return strcmp(x->node, y->node);
}

/* A node shows by the results in which nothing but the night changed. */
static void judge_nodes(Regressions *r, const GPtrArray *problems)
{
    g_autoptr(GHashTable) nodes =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
    for (guint p = 0; p < problems->len; p++) {
        const struct regression_problem *problem = g_ptr_array_index(problems, p);
        for (guint e = 0; e < problem->entries->len; e++) {
            const struct regression_entry *entry =
                &g_array_index(problem->entries, struct regression_entry, e);
            struct run run = run_of(entry->earlier, 0);
            if (!entry->has_now || !is_timed(&entry->now) || run.count == 0 ||
                !is_unchanged(run.point, &entry->now) || entry->now.node == NULL ||
                *entry->now.node == '\0')
                continue;
            double change = log(entry->now.median_ms) - sample_median(run.logs, (guint)run.count);
            GArray *changes = g_hash_table_lookup(nodes, entry->now.node);
            if (changes == NULL) {
                changes = g_array_new(FALSE, FALSE, sizeof(double));
                g_hash_table_insert(nodes, entry->now.node, changes);
            }
            g_array_append_val(changes, change);
        }
    }
    GHashTableIter iter;
    gpointer name, changes;
    g_hash_table_iter_init(&iter, nodes);
    while (g_hash_table_iter_next(&iter, &name, &changes))
        judge_node(r, name, changes);
    g_ptr_array_sort(r->nodes, by_node);
}

/* ---- the first judgement ---- */

struct judge {
    Regressions *r;
    GHashTable *networks;
    GArray *p;         /* double: the p-values of all tests */
    GPtrArray *tested; /* their findings, NULL for tests that found nothing */
};

static struct regression_finding *add_finding(struct judge *judge,
                                              const struct regression_problem *problem,
                                              const struct regression_point *now,
                                              const struct regression_point *then)
{
    struct regression_finding *finding = regressions_add_finding(judge->r);
    finding->problem_id = problem->id;
    finding->key = g_strdup(problem->key);
    regression_point_copy(&finding->now, now);
    regression_point_copy(&finding->then, then);
    return finding;
}

/* Sets the causes, with what the night's measurements say about the finding's node. */
static void find_causes(const Regressions *r, struct regression_finding *finding,
                        const char *other_node)
{
    struct regression_node_evidence evidence = {.other_fine = other_node != NULL,
                                                .other_node = other_node};
    const struct regression_node *node =
        finding->now.node != NULL ? node_of(r, finding->now.node) : NULL;
    if (node != NULL) {
        evidence.percent = node->percent;
        evidence.results = node->results;
        evidence.is_slow = node->is_slow && finding->kind == REGRESSION_SLOWER;
    }
    g_array_unref(finding->causes);
    finding->causes = causes_find(&finding->then, &finding->now, &evidence);
}

struct sides {
    const struct regression_point *now, *then;
    struct run run; /* the nights behind `then` */
    const char *solver;
    enum regression_against against;
    enum regression_scope scope;
};

/* One test. A failure needs no test: a config that was verified and fails is found without statistics. */
static void test(struct judge *judge, const struct regression_problem *problem,
                 const struct bests *bests, const struct sides *sides)
{
    Regressions *r = judge->r;
    struct run run = sides->run;
    double between = night_error(&run, &r->noise);
    struct regression_finding *finding = NULL;
    enum regression_kind kind = REGRESSION_FAILED;
    struct comparison c = {.now_count = 1, .then_count = run.count};
    if (is_timed(sides->now)) {
        double p, least = log1p(r->limits.percent / 100);
        c.now = log(sides->now->median_ms);
        c.now_error = single_error(between, sides->now);
        c.then_error = hypot(between, sqrt(run.within));
        c.then = statistics_middle(run.logs, (guint)run.count, c.now);
        p = comparison_p(&c, &r->noise);
        g_array_append_val(judge->p, p);
        kind = c.now > c.then ? REGRESSION_SLOWER : REGRESSION_FASTER;
        if (fabs(c.now - c.then) >= least && p <= r->limits.alpha)
            finding = add_finding(judge, problem, sides->now, sides->then);
        g_ptr_array_add(judge->tested, finding);
    } else if (is_failure(sides->now)) {
        finding = add_finding(judge, problem, sides->now, sides->then);
        c.then = sample_median(run.logs, (guint)run.count);
    }
    if (finding == NULL)
        return;
    finding->solver = g_strdup(sides->solver);
    finding->against = sides->against;
    finding->scope = sides->scope;
    finding->kind = kind;
    finding->then_ms = exp(c.then);
    finding->then_nights = run.count;
    finding->then_error = c.then_error;
    finding->now_error = c.now_error;
    if (kind != REGRESSION_FAILED)
        set_estimate(finding, &c, &r->noise);
    add_networks(finding, problem, bests, judge->networks);
    find_causes(r, finding, NULL);
}

/* Fills in the side of the past; false if there is nothing to compare with. */
static bool look_back(const struct regression_entry *entry, struct sides *sides)
{
    if (sides->against == REGRESSION_LAST_NIGHT) {
        sides->run = run_of(entry->earlier, 0);
    } else if (entry->has_golden && is_timed(&entry->golden)) {
        sides->run = (struct run){.point = &entry->golden, .count = 1};
        sides->run.logs[0] = log(entry->golden.median_ms);
        sides->run.within = within_error(&entry->golden) * within_error(&entry->golden);
    }
    sides->then = sides->run.point;
    return sides->run.count > 0;
}

/* The problem's fastest solver is another one than before: tested if no test of the two solvers says the same. */
static void test_winners(struct judge *judge, const struct regression_problem *problem,
                         const struct bests *bests, enum regression_against against)
{
    const struct regression_entry *now = bests->now.entry, *then = bests->then[against].entry;
    struct sides own = {.against = against}, sides = {.against = against};
    if (now == NULL || then == NULL || now == then || !now->has_now)
        return;
    bool was_tested = look_back(now, &own);
    bool is_known = then->has_now || newest(then) != NULL;
    if ((was_tested && is_known) || !look_back(then, &sides))
        return;
    sides.now = &now->now;
    sides.solver = now->solver;
    sides.scope = REGRESSION_WINNER;
    test(judge, problem, bests, &sides);
}

static void judge_problem(struct judge *judge, const struct regression_problem *problem)
{
    struct bests bests = find_bests(problem);
    if (!bests.measured)
        return;
    for (int a = 0; a < REGRESSION_AGAINST_COUNT; a++) {
        for (guint e = 0; e < problem->entries->len; e++) {
            const struct regression_entry *entry =
                &g_array_index(problem->entries, struct regression_entry, e);
            struct sides sides = {.now = &entry->now,
                                  .solver = entry->solver,
                                  .against = (enum regression_against)a,
                                  .scope = REGRESSION_ENTRY};
            if (entry->has_now && look_back(entry, &sides))
                test(judge, problem, &bests, &sides);
        }
        test_winners(judge, problem, &bests, (enum regression_against)a);
    }
}

/* Failures first, then what got slower, then what got faster; each by what it costs networks. */
static int by_weight(const void *a, const void *b)
{
    static const int places[] = {
        [REGRESSION_FAILED] = 0, [REGRESSION_SLOWER] = 1, [REGRESSION_FASTER] = 2};
    const struct regression_finding *x = *(struct regression_finding *const *)a,
                                    *y = *(struct regression_finding *const *)b;
    if (places[x->kind] != places[y->kind])
        return places[x->kind] - places[y->kind];
    if (fabs(x->weight) != fabs(y->weight))
        return fabs(x->weight) < fabs(y->weight) ? 1 : -1;
    if (fabs(x->percent) != fabs(y->percent))
        return fabs(x->percent) < fabs(y->percent) ? 1 : -1;
    int order = strcmp(x->key, y->key);
    order = order != 0 ? order : strcmp(x->solver, y->solver);
    return order != 0 ? order : (int)x->against - (int)y->against;
}

Regressions *regressions_judge(const char *target, int golden, const GPtrArray *problems,
                               const struct regression_limits *limits)
{
    Regressions *r = regressions_new(target);
    g_autoptr(GHashTable) networks = sum_networks(problems);
    g_autoptr(GArray) p = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GPtrArray) tested = g_ptr_array_new();
    struct judge judge = {r, networks, p, tested};
    r->golden = golden;
    r->limits = *limits;
    measure_noise(problems, &r->noise);
    judge_nodes(r, problems);
    for (guint i = 0; i < problems->len; i++) {
        const struct regression_problem *problem = g_ptr_array_index(problems, i);
        for (guint e = 0; e < problem->entries->len; e++)
            r->entries += g_array_index(problem->entries, struct regression_entry, e).has_now;
        judge_problem(&judge, problem);
    }
    r->tests = (int)p->len;
    statistics_adjust((double *)(void *)p->data, p->len, r->tests);
    for (guint i = 0; i < tested->len; i++) {
        struct regression_finding *finding = g_ptr_array_index(tested, i);
        if (finding != NULL)
            finding->q = g_array_index(p, double, i);
    }
    g_ptr_array_sort(r->findings, by_weight);
    return r;
}

/* ---- measuring again ---- */

static void wish_free(void *data)
{
    struct regression_wish *wish = data;
    g_ptr_array_unref(wish->configs);
    g_free(wish);
}

static void wish_config(struct regression_wish *wish, const char *config)
{
    if (config != NULL &&
        !g_ptr_array_find_with_equal_func(wish->configs, config, g_str_equal, NULL))
        g_ptr_array_add(wish->configs, (gpointer)config);
}

static struct regression_wish *find_wish(const GPtrArray *wishes,
                                         const struct regression_finding *finding)
{
    for (guint i = 0; i < wishes->len; i++) {
        struct regression_wish *wish = g_ptr_array_index(wishes, i);
        if (wish->problem_id == finding->problem_id && strcmp(wish->solver, finding->solver) == 0)
            return wish;
    }
    return NULL;
}

GPtrArray *regressions_wishes(const Regressions *r)
{
    GPtrArray *wishes = g_ptr_array_new_with_free_func(wish_free);
    for (guint i = 0; i < r->findings->len && r->limits.nodes > 0; i++) {
        const struct regression_finding *finding = g_ptr_array_index(r->findings, i);
        if (finding->state != REGRESSION_SUSPECT)
            continue;
        struct regression_wish *wish = find_wish(wishes, finding);
        if (wish == NULL && r->limits.most > 0 && (int)wishes->len == r->limits.most)
            continue;
        if (wish == NULL) {
            wish = g_new0(struct regression_wish, 1);
            wish->problem_id = finding->problem_id;
            wish->solver = finding->solver;
            wish->campaign = finding->now.campaign;
            wish->node = finding->now.node;
            wish->elsewhere = r->limits.nodes > 1;
            wish->configs = g_ptr_array_new();
            g_ptr_array_add(wishes, wish);
        }
        wish_config(wish, finding->now.config);
        if (same(finding->then.solver, finding->now.solver))
            wish_config(wish, finding->then.config);
    }
    return wishes;
}

static bool is_same_measurement(const struct regression_point *a, const struct regression_point *b)
{
    return a->campaign == b->campaign && a->median_ms == b->median_ms && a->failure == b->failure &&
           same(a->node, b->node) && same(a->night, b->night) && same(a->config, b->config);
}

int regressions_add_again(Regressions *r, int64_t problem_id, const char *solver,
                          const struct regression_point *point)
{
    int count = 0;
    for (guint i = 0; i < r->findings->len; i++) {
        struct regression_finding *finding = g_ptr_array_index(r->findings, i);
        bool is_new = finding->state == REGRESSION_SUSPECT && finding->problem_id == problem_id &&
                      strcmp(finding->solver, solver) == 0;
        for (guint k = 0; k < finding->again->len && is_new; k++)
            is_new = !is_same_measurement(
                &g_array_index(finding->again, struct regression_point, k), point);
        if (!is_new)
            continue;
        struct regression_point copy;
        regression_point_copy(&copy, point);
        g_array_append_val(finding->again, copy);
        count++;
    }
    return count;
}

/* ---- the second judgement ---- */

/* The second measurements of a finding, by config and node. */
struct again {
    GArray *same_node, *other_node, *reference; /* double: logarithms of times */
    int failed_same, failed_other, passed_same, passed_other;
    const char *other; /* a node other than the first measurement's */
};

static void again_clear(struct again *again)
{
    g_array_unref(again->same_node);
    g_array_unref(again->other_node);
    g_array_unref(again->reference);
}

static struct again sort_again(const struct regression_finding *finding)
{
    struct again again = {
        .same_node = g_array_new(FALSE, FALSE, sizeof(double)),
        .other_node = g_array_new(FALSE, FALSE, sizeof(double)),
        .reference = g_array_new(FALSE, FALSE, sizeof(double)),
    };
    for (guint i = 0; i < finding->again->len; i++) {
        const struct regression_point *point =
            &g_array_index(finding->again, struct regression_point, i);
        bool is_other = !same(point->node, finding->now.node);
        double value = is_timed(point) ? log(point->median_ms) : 0;
        if (!same(point->config, finding->now.config)) {
            if (is_timed(point) && same(point->config, finding->then.config))
                g_array_append_val(again.reference, value);
            continue;
        }
        if (is_other)
            again.other = point->node;
        *(is_other ? &again.failed_other : &again.failed_same) += is_failure(point);
        *(is_other ? &again.passed_other : &again.passed_same) += is_timed(point);
        if (is_timed(point))
            g_array_append_val(is_other ? again.other_node : again.same_node, value);
    }
    return again;
}

static double middle_of(const GArray *values, double toward)
{
    g_autofree double *copy = g_new(double, values->len);
    memcpy(copy, values->data, sizeof *copy * values->len);
    return statistics_middle(copy, values->len, toward);
}

static enum regression_state judge_failure(const struct again *again)
{
    if (again->failed_same > 0 || (again->failed_other > 0 && again->passed_same == 0))
        return again->passed_other > 0 && again->failed_other == 0 ? REGRESSION_OF_NODE
                                                                   : REGRESSION_CONFIRMED;
    return again->passed_same > 0 ? REGRESSION_GONE : REGRESSION_UNCONFIRMED;
}

/* The reference, as the second measurements leave it. If nothing but the config changed since, its second measurement
 * counts like the first one, and of the two that counts which is nearer to tonight's: a time that was only lucky then
 * is found out. If the software changed, the second measurement is one of another software, and only a hint. */
static double reference_of(const struct regression_finding *finding, const struct again *again,
                           double now)
{
    double old = log(finding->then_ms);
    bool comparable = finding->then.revision == finding->now.revision &&
                      (same(finding->then.hash, finding->now.hash) || finding->then.hash == NULL ||
                       *finding->then.hash == '\0') &&
                      same(finding->then.stack, finding->now.stack);
    if (again->reference->len == 0 || !comparable)
        return old;
    double fresh = middle_of(again->reference, now);
    return fabs(fresh - now) < fabs(old - now) ? fresh : old;
}

/* Whether the other node is clearly without the change that the first one has: its own change is less than half, and
 * the two nodes differ by more than noise. */
static bool is_of_node(const Regressions *r, const struct regression_finding *finding,
                       const struct again *again, double then)
{
    if (again->other_node->len == 0)
        return false;
    g_autoptr(GArray) here = g_array_copy(again->same_node);
    double first = log(finding->now.median_ms);
    g_array_append_val(here, first);
    const struct comparison nodes = {
        .now = middle_of(here, then),
        .then = middle_of(again->other_node, middle_of(here, then)),
        .now_error = finding->now_error,
        .then_error = finding->now_error,
        .now_count = (int)here->len,
        .then_count = (int)again->other_node->len,
    };
    double change = nodes.now - then, other = nodes.then - then;
    double least = log1p(r->limits.percent / 100);
    return fabs(change) >= least && (change > 0 ? other < change / 2 : other > change / 2) &&
           comparison_p(&nodes, &r->noise) <= r->limits.alpha;
}

/* Sets the estimate from all measurements of tonight's config, and scales what networks lose with it. */
static void estimate_again(const Regressions *r, struct regression_finding *finding,
                           const struct again *again, double then)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double));
    double first = log(finding->now.median_ms), before = finding->percent;
    g_array_append_val(all, first);
    g_array_append_vals(all, again->same_node->data, again->same_node->len);
    g_array_append_vals(all, again->other_node->data, again->other_node->len);
    const struct comparison c = {
        .now = middle_of(all, then),
        .then = then,
        .now_error = finding->now_error,
        .then_error = finding->then_error,
        .now_count = (int)all->len,
        .then_count = finding->then_nights,
    };
    set_estimate(finding, &c, &r->noise);
    for (guint i = 0; i < finding->networks->len && before != 0; i++) {
        struct regression_network_effect *effect =
            &g_array_index(finding->networks, struct regression_network_effect, i);
        double part = CLAMP(finding->percent / before, 0, 1);
        effect->ms *= part;
        effect->percent *= part;
    }
    weigh(finding);
}

/* Judges one suspect, without the correction for many tests, which needs the p-values of all: a timed suspect that
 * may be confirmed stays a suspect. */
static void judge_finding_again(const Regressions *r, struct regression_finding *finding)
{
    struct again again = sort_again(finding);
    double then = finding->kind != REGRESSION_FAILED
                      ? reference_of(finding, &again, log(finding->now.median_ms))
                      : 0;
    const char *fine_node = NULL;
    if (r->limits.nodes == 0) {
        if (finding->kind == REGRESSION_FAILED)
            finding->state = REGRESSION_CONFIRMED;
    } else if (finding->kind == REGRESSION_FAILED) {
        finding->state = judge_failure(&again);
    } else if (again.passed_same + again.passed_other == 0) {
        finding->state = REGRESSION_UNCONFIRMED;
    } else if (is_of_node(r, finding, &again, then)) {
        finding->state = REGRESSION_OF_NODE;
    } else {
        bool slower = finding->kind == REGRESSION_SLOWER;
        estimate_again(r, finding, &again, then);
        double least = log1p(r->limits.percent / 100);
        if ((slower ? 1 : -1) * log1p(finding->percent / 100) < least)
            finding->state = REGRESSION_GONE;
    }
    if (finding->state == REGRESSION_OF_NODE)
        fine_node = again.other;
    find_causes(r, finding, fine_node);
    again_clear(&again);
}

void regressions_judge_again(Regressions *r)
{
    g_autoptr(GArray) p = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GPtrArray) left = g_ptr_array_new();
    for (guint i = 0; i < r->findings->len; i++) {
        struct regression_finding *finding = g_ptr_array_index(r->findings, i);
        if (finding->state != REGRESSION_SUSPECT)
            continue;
        judge_finding_again(r, finding);
        if (finding->state != REGRESSION_SUSPECT)
            continue;
        g_array_append_val(p, finding->p);
        g_ptr_array_add(left, finding);
    }
    statistics_adjust((double *)(void *)p->data, p->len, r->tests);
    for (guint i = 0; i < left->len; i++) {
        struct regression_finding *finding = g_ptr_array_index(left, i);
        finding->q = g_array_index(p, double, i);
        finding->state = finding->q <= r->limits.alpha ? REGRESSION_CONFIRMED : REGRESSION_GONE;
    }
    r->judged_again = true;
    g_ptr_array_sort(r->findings, by_weight);
}

/* ---- results ---- */

bool regression_is_open(const struct regression_finding *finding)
{
    return finding->state == REGRESSION_SUSPECT || finding->state == REGRESSION_UNCONFIRMED;
}

int regressions_count(const Regressions *r, enum regression_kind kind, enum regression_state state)
{
    int count = 0;
    for (guint i = 0; i < r->findings->len; i++) {
        const struct regression_finding *finding = g_ptr_array_index(r->findings, i);
        count += finding->kind == kind && finding->state == state;
    }
    return count;
}

bool regressions_are_bad(const Regressions *r)
{
    return regressions_count(r, REGRESSION_SLOWER, REGRESSION_CONFIRMED) > 0 ||
           regressions_count(r, REGRESSION_FAILED, REGRESSION_CONFIRMED) > 0;
}
