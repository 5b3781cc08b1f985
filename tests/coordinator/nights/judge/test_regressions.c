/* Regressions of a night: simulated farms with noise of known kinds, and single cases. */
#include "coordinator/nights/judge/regression_statistics.h"
#include "coordinator/nights/judge/regressions.h"

#include <math.h>
#include <string.h>

/* ---- a simulated farm ---- */

enum noise { NOISE_NORMAL, NOISE_HEAVY, NOISE_OUTLIERS, NOISE_MIXED };

struct farm {
    int problems;
    int nights; /* earlier points of each entry */
    enum noise noise;
    double level;     /* standard deviation between nights, of the logarithm */
    int slower;       /* so many of the problems are slower */
    double slow_down; /* factor */
    guint32 seed;
};

static double normal(GRand *rand)
{
    double u = g_rand_double_range(rand, 1e-12, 1);
    return sqrt(-2 * log(u)) * cos(2 * G_PI * g_rand_double(rand));
}

/* One night's deviation, with about the middle part of a normal one of standard deviation 1. */
static double deviation(GRand *rand, enum noise noise)
{
    double value = normal(rand), sum = 0;
    switch (noise) {
    case NOISE_HEAVY: /* Student's t with 3 degrees, by its definition */
        for (int i = 0; i < 3; i++)
            sum += pow(normal(rand), 2);
        return value / sqrt(sum / 3) * 0.6745 / 0.7649;
    case NOISE_OUTLIERS: /* one night in twenty is disturbed, and slower by up to a tenth of its time */
        return g_rand_double(rand) < 0.05 ? 10 * fabs(value) : value;
    default: return value;
    }
}

/* Each entry has a level of its own if the noise is mixed: from a third to three times the farm's. */
static double level_of(GRand *rand, const struct farm *farm)
{
    return farm->noise == NOISE_MIXED ? farm->level * exp(g_rand_double_range(rand, -1.1, 1.1))
                                      : farm->level;
}

static void measure(struct regression_point *point, GRand *rand, const struct farm *farm,
                    double level, double time_ms, const char *night, const char *node)
{
    *point = (struct regression_point){
        .night = g_strdup(night),
        .campaign = 7,
        .solver = g_strdup("ConvX"),
        .config = g_strdup("1,2,3"),
        .revision = 1,
        .hash = g_strdup("cafe"),
        .stack = g_strdup("clang 15.0.6; driver 535.1"),
        .node = g_strdup(node),
        .n = 25,
        .spread = 0.01,
        .median_ms = time_ms * exp(level * deviation(rand, farm->noise)),
    };
}

struct truth {
    double time_ms, level;
};

static GPtrArray *simulate(GRand *rand, const struct farm *farm, struct truth *truths)
{
    GPtrArray *problems = g_ptr_array_new_with_free_func((GDestroyNotify)regression_problem_free);
    for (int i = 0; i < farm->problems; i++) {
        g_autofree char *key = g_strdup_printf("problem %d", i);
        const char *node = i % 2 ? "n1" : "n2";
        struct regression_problem *problem = regression_problem_new(i + 1, key);
        struct regression_entry *entry = regression_problem_add(problem, "ConvX");
        double time_ms = exp(g_rand_double_range(rand, -3, 3)), level = level_of(rand, farm);
        for (int k = 0; k < farm->nights; k++) {
            struct regression_point point;
            measure(&point, rand, farm, level, time_ms, "2026-11-01", node);
            g_array_append_val(entry->earlier, point);
        }
        time_ms *= i < farm->slower ? farm->slow_down : 1;
        measure(&entry->now, rand, farm, level, time_ms, "2026-11-02", node);
        entry->has_now = true;
        regression_problem_use(problem, i % 3 ? "net@1" : "other@1", 1 + i % 4, 1);
        truths[i] = (struct truth){time_ms, level};
        g_ptr_array_add(problems, problem);
    }
    return problems;
}

struct outcome {
    int suspects, found, false_slower, false_faster;
};

/* A whole night: judged, suspects measured again on two nodes, judged again. */
static struct outcome night(const struct farm *farm)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(farm->seed);
    g_autofree struct truth *truths = g_new0(struct truth, farm->problems);
    g_autoptr(GPtrArray) problems = simulate(rand, farm, truths);
    struct regression_limits limits = REGRESSION_LIMITS;
    g_autoptr(Regressions) r = regressions_judge("t", 0, problems, &limits);
    g_autoptr(GPtrArray) wishes = regressions_wishes(r);
    struct outcome outcome = {.suspects = (int)wishes->len};
    for (guint i = 0; i < wishes->len; i++) {
        const struct regression_wish *wish = g_ptr_array_index(wishes, i);
        const struct truth *truth = &truths[wish->problem_id - 1];
        for (int k = 0; k < 2; k++) {
            struct regression_point point;
            measure(&point, rand, farm, truth->level, truth->time_ms, "2026-11-02",
                    k ? "n9" : wish->node);
            g_assert_cmpint(regressions_add_again(r, wish->problem_id, wish->solver, &point), ==,
                            1);
            regression_point_clear(&point);
        }
    }
    regressions_judge_again(r);
    for (guint i = 0; i < r->findings->len; i++) {
        const struct regression_finding *finding = g_ptr_array_index(r->findings, i);
        if (finding->state != REGRESSION_CONFIRMED)
            continue;
        bool slow = finding->problem_id <= farm->slower && finding->kind == REGRESSION_SLOWER;
        outcome.found += slow;
        outcome.false_slower += !slow && finding->kind == REGRESSION_SLOWER;
        outcome.false_faster += !slow && finding->kind == REGRESSION_FASTER;
    }
    return outcome;
}

static const char *const noise_names[] = {"normal", "heavy", "outliers", "mixed"};
static const double levels[] = {0.003, 0.01, 0.03};

/* ---- promises, on simulated farms ---- */

/* At most one in twenty (alpha) of the nights without a change has any finding. 48 nights: more than 6 have a
 * probability below 1 % if the promise is just kept. */
static void test_noise_is_not_reported(void)
{
    int nights = 0, wrong = 0;
    for (int noise = NOISE_NORMAL; noise <= NOISE_MIXED; noise++)
        for (size_t l = 0; l < G_N_ELEMENTS(levels); l++)
            for (int seed = 1; seed <= 4; seed++) {
                const struct farm farm = {
                    .problems = seed == 1 ? 10000 : 1000,
                    .nights = (const int[]){3, 1, 3, 8}[seed - 1],
                    .noise = (enum noise)noise,
                    .level = levels[l],
                    .slow_down = 1,
                    .seed = (guint32)(1000 * noise + 100 * (int)l + seed),
                };
                struct outcome outcome = night(&farm);
                int found = outcome.false_slower + outcome.false_faster;
                if (found > 0)
                    g_test_message("%s noise of %g, %d nights: %d findings", noise_names[noise],
                                   farm.level, farm.nights, found);
                nights++;
                wrong += found > 0;
            }
    g_assert_cmpint(nights, ==, 48);
    g_assert_cmpint(wrong, <=, 6);
}

/* Small farms know little of their noise: the promise holds there, too. */
static void test_noise_of_small_farms_is_not_reported(void)
{
    int nights = 0, wrong = 0;
    for (int noise = NOISE_NORMAL; noise <= NOISE_MIXED; noise++)
        for (int size = 30; size <= 300; size *= 10)
            for (int earlier = 1; earlier <= 3; earlier += 2)
                for (guint32 seed = 1; seed <= 25; seed++) {
                    const struct farm farm = {.problems = size,
                                              .nights = earlier,
                                              .noise = (enum noise)noise,
                                              .level = 0.03,
                                              .slow_down = 1,
                                              .seed = seed};
                    struct outcome outcome = night(&farm);
                    nights++;
                    wrong += outcome.false_slower + outcome.false_faster > 0;
                }
    g_test_message("%d of %d nights have a finding", wrong, nights);
    g_assert_cmpint(wrong * 20, <=, nights);
}

/* A solver that is slower by 5 % in 100 of 10,000 problems: the share that is found. REGRESSIONS.md has these. */
static void test_slow_down_is_found(void)
{
    static const struct {
        enum noise noise;
        double level;
        int nights;
        double least; /* share that is found at least */
    } rows[] = {
        {NOISE_NORMAL, 0.003, 1, 0.99}, {NOISE_NORMAL, 0.003, 8, 0.99},
        {NOISE_NORMAL, 0.01, 3, 0.7},   {NOISE_NORMAL, 0.01, 8, 0.85},
        {NOISE_HEAVY, 0.003, 3, 0.85},  {NOISE_HEAVY, 0.003, 8, 0.95},
        {NOISE_MIXED, 0.003, 8, 0.85},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct farm farm = {.problems = 10000,
                                  .nights = rows[i].nights,
                                  .noise = rows[i].noise,
                                  .level = rows[i].level,
                                  .slower = 100,
                                  .slow_down = 1.05,
                                  .seed = 5};
        struct outcome outcome = night(&farm);
        int wrong = outcome.false_slower + outcome.false_faster;
        g_test_message("%s noise of %g, %d nights: %d of 100 found, %d wrong, %d suspects",
                       noise_names[rows[i].noise], farm.level, farm.nights, outcome.found, wrong,
                       outcome.suspects);
        g_assert_cmpfloat(outcome.found, >=, 100 * rows[i].least);
        /* A tenth where a twentieth is promised on average. */
        g_assert_cmpint(wrong, <=, 1 + outcome.found / 10);
    }
}

/* ---- single cases ---- */

static void add_point(struct regression_point *point, const char *config, double median_ms)
{
    *point = (struct regression_point){
        .night = g_strdup("2026-11-01"),
        .campaign = 7,
        .config = g_strdup(config),
        .revision = 1,
        .hash = g_strdup("cafe"),
        .stack = g_strdup("clang 15.0.6; driver 535.1"),
        .node = g_strdup("n1"),
        .n = 25,
        .spread = 0.004,
        .median_ms = median_ms,
    };
}

/* An entry with five earlier nights of about then_ms; now_ms 0: not measured tonight. */
static struct regression_entry *add_entry(struct regression_problem *problem, const char *solver,
                                          double then_ms, double now_ms)
{
    static const double nights[] = {1, 1.004, 0.997, 1.002, 0.998};
    struct regression_entry *entry = regression_problem_add(problem, solver);
    for (size_t i = 0; i < G_N_ELEMENTS(nights) && then_ms > 0; i++) {
        struct regression_point point;
        add_point(&point, "1,1", then_ms * nights[i]);
        point.solver = g_strdup(solver);
        g_array_append_val(entry->earlier, point);
    }
    if (now_ms > 0) {
        add_point(&entry->now, "1,1", now_ms);
        entry->now.solver = g_strdup(solver);
        entry->has_now = true;
    }
    return entry;
}

static void set_golden(struct regression_entry *entry, const char *config, double median_ms)
{
    add_point(&entry->golden, config, median_ms);
    g_free(entry->golden.night);
    entry->golden.night = g_strdup("golden 4");
    entry->golden.solver = g_strdup(entry->solver);
    entry->has_golden = true;
}

static GPtrArray *problems_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)regression_problem_free);
}

static Regressions *judge(const GPtrArray *problems)
{
    struct regression_limits limits = REGRESSION_LIMITS;
    return regressions_judge("cpu-x", 4, problems, &limits);
}

static void add_again(Regressions *r, const char *node, const char *config, double median_ms,
                      enum failure failure)
{
    struct regression_point point;
    add_point(&point, config, median_ms);
    point.solver = g_strdup("ConvA");
    point.failure = failure;
    g_free(point.node);
    point.node = g_strdup(node);
    regressions_add_again(r, 1, "ConvA", &point);
    regression_point_clear(&point);
}

static const struct regression_finding *finding(const Regressions *r, guint at)
{
    g_assert_cmpuint(at, <, r->findings->len);
    return g_ptr_array_index(r->findings, at);
}

/* One problem whose solver became slower by a fifth. */
static Regressions *one_suspect(void)
{
    g_autoptr(GPtrArray) problems = problems_new();
    struct regression_problem *problem = regression_problem_new(1, "key");
    add_entry(problem, "ConvA", 1, 1.2);
    regression_problem_use(problem, "net@1", 3, 10);
    g_ptr_array_add(problems, problem);
    return judge(problems);
}

static void test_second_measurement_decides(void)
{
    static const struct {
        double same, other; /* times of the second measurements; 0: none */
        enum regression_state state;
    } rows[] = {
        {1.21, 1.19, REGRESSION_CONFIRMED}, {1.2, 0, REGRESSION_CONFIRMED},
        {1.001, 0.999, REGRESSION_GONE},    {1.0, 0, REGRESSION_GONE},
        {1.2, 1.0, REGRESSION_OF_NODE},     {0, 0, REGRESSION_UNCONFIRMED},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(Regressions) r = one_suspect();
        g_assert_cmpint(r->findings->len, ==, 1);
        g_assert_cmpint(finding(r, 0)->state, ==, REGRESSION_SUSPECT);
        if (rows[i].same > 0)
            add_again(r, "n1", "1,1", rows[i].same, FAILURE_NONE);
        if (rows[i].other > 0)
            add_again(r, "n2", "1,1", rows[i].other, FAILURE_NONE);
        regressions_judge_again(r);
        g_test_message("row %zu: %s, p %g, q %g", i, regression_state_name(finding(r, 0)->state),
                       finding(r, 0)->p, finding(r, 0)->q);
        g_assert_cmpint(finding(r, 0)->state, ==, rows[i].state);
        g_assert_true(regressions_are_bad(r) == (rows[i].state == REGRESSION_CONFIRMED));
    }
}

static void test_node_is_named_as_cause(void)
{
    g_autoptr(Regressions) r = one_suspect();
    add_again(r, "n1", "1,1", 1.2, FAILURE_NONE);
    add_again(r, "n2", "1,1", 1.0, FAILURE_NONE);
    regressions_judge_again(r);
    g_autofree char *causes = causes_text(finding(r, 0)->causes);
    g_assert_cmpstr(causes, ==, "node: n1 is slow, n2 is not");
}

static void test_same_measurement_counts_once(void)
{
    g_autoptr(Regressions) r = one_suspect();
    add_again(r, "n1", "1,1", 1.2, FAILURE_NONE);
    add_again(r, "n1", "1,1", 1.2, FAILURE_NONE);
    g_assert_cmpint(finding(r, 0)->again->len, ==, 1);
}

static void test_failure_is_found_and_confirmed(void)
{
    static const struct {
        enum failure tonight, same, other; /* FAILURE_PENDING: not measured */
        int findings;
        enum regression_state state;
    } rows[] = {
        {FAILURE_WRONG_RESULT, FAILURE_WRONG_RESULT, FAILURE_WRONG_RESULT, 1, REGRESSION_CONFIRMED},
        {FAILURE_WRONG_RESULT, FAILURE_NONE, FAILURE_NONE, 1, REGRESSION_GONE},
        {FAILURE_DEVICE_FAULT, FAILURE_DEVICE_FAULT, FAILURE_NONE, 1, REGRESSION_OF_NODE},
        {FAILURE_COMPILE_ERROR, FAILURE_PENDING, FAILURE_PENDING, 1, REGRESSION_UNCONFIRMED},
        {FAILURE_WORKER_LOST, FAILURE_PENDING, FAILURE_PENDING, 0, REGRESSION_GONE},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GPtrArray) problems = problems_new();
        struct regression_problem *problem = regression_problem_new(1, "key");
        struct regression_entry *entry = add_entry(problem, "ConvA", 1, 1);
        entry->now.failure = rows[i].tonight;
        g_ptr_array_add(problems, problem);
        g_autoptr(Regressions) r = judge(problems);
        g_assert_cmpint(r->findings->len, ==, rows[i].findings);
        if (rows[i].findings == 0)
            continue;
        g_assert_cmpint(finding(r, 0)->kind, ==, REGRESSION_FAILED);
        if (rows[i].same != FAILURE_PENDING)
            add_again(r, "n1", "1,1", 1, rows[i].same);
        if (rows[i].other != FAILURE_PENDING)
            add_again(r, "n2", "1,1", 1, rows[i].other);
        regressions_judge_again(r);
        g_assert_cmpint(finding(r, 0)->state, ==, rows[i].state);
    }
}

static void test_golden_config_is_measured_beside(void)
{
    g_autoptr(GPtrArray) problems = problems_new();
    struct regression_problem *problem = regression_problem_new(1, "key");
    struct regression_entry *entry = add_entry(problem, "ConvA", 1, 1);
    set_golden(entry, "2,2", 0.8);
    g_ptr_array_add(problems, problem);
    g_autoptr(Regressions) r = judge(problems);
    g_autoptr(GPtrArray) wishes = regressions_wishes(r);
    g_assert_cmpint(wishes->len, ==, 1);
    const struct regression_wish *wish = g_ptr_array_index(wishes, 0);
    g_assert_cmpint(wish->configs->len, ==, 2);
    g_assert_cmpstr(g_ptr_array_index(wish->configs, 0), ==, "1,1");
    g_assert_cmpstr(g_ptr_array_index(wish->configs, 1), ==, "2,2");
    g_assert_cmpstr(wish->node, ==, "n1");
    g_assert_true(wish->elsewhere);
    /* Golden's config is as slow today, with the same software: its old time was luck. */
    add_again(r, "n1", "1,1", 1, FAILURE_NONE);
    add_again(r, "n1", "2,2", 1.01, FAILURE_NONE);
    regressions_judge_again(r);
    g_assert_cmpint(finding(r, 0)->against, ==, REGRESSION_GOLDEN);
    g_assert_cmpint(finding(r, 0)->state, ==, REGRESSION_GONE);
}

static void test_networks_lose_what_the_winner_loses(void)
{
    g_autoptr(GPtrArray) problems = problems_new();
    struct regression_problem *problem = regression_problem_new(1, "key");
    add_entry(problem, "ConvA", 1, 1.5);
    add_entry(problem, "ConvB", 1.1, 0); /* takes over */
    add_entry(problem, "ConvC", 3, 4.5); /* never wins */
    regression_problem_use(problem, "net@1", 3, 10);
    g_ptr_array_add(problems, problem);
    problem = regression_problem_new(2, "other");
    add_entry(problem, "ConvA", 7, 0);
    regression_problem_use(problem, "net@1", 1, 10);
    g_ptr_array_add(problems, problem);
    g_autoptr(Regressions) r = judge(problems);
    g_assert_cmpint(r->findings->len, ==, 2);
    g_assert_cmpstr(finding(r, 0)->solver, ==, "ConvA");
    g_assert_cmpstr(finding(r, 1)->solver, ==, "ConvC");
    g_assert_cmpint(finding(r, 1)->networks->len, ==, 0);
    const struct regression_network_effect *effect =
        &g_array_index(finding(r, 0)->networks, struct regression_network_effect, 0);
    g_assert_cmpfloat_with_epsilon(effect->ms, 3 * (1.1 - 1), 1e-6);
    g_assert_cmpfloat_with_epsilon(effect->percent, 100 * 0.3 / 10, 1e-6);
    g_assert_cmpfloat_with_epsilon(finding(r, 0)->weight, 3, 1e-6);
}

static void test_problem_without_a_solver_is_lost(void)
{
    g_autoptr(GPtrArray) problems = problems_new();
    struct regression_problem *problem = regression_problem_new(1, "key");
    add_entry(problem, "ConvA", 1, 1)->now.failure = FAILURE_COMPILE_ERROR;
    regression_problem_use(problem, "net@1", 3, 1);
    g_ptr_array_add(problems, problem);
    g_autoptr(Regressions) r = judge(problems);
    g_assert_true(g_array_index(finding(r, 0)->networks, struct regression_network_effect, 0).lost);
}

static void test_new_solver_that_wins_is_a_gain(void)
{
    g_autoptr(GPtrArray) problems = problems_new();
    struct regression_problem *problem = regression_problem_new(1, "key");
    add_entry(problem, "ConvB", 1, 0);
    add_entry(problem, "ConvA", 0, 0.7);
    regression_problem_use(problem, "net@1", 2, 1);
    g_ptr_array_add(problems, problem);
    g_autoptr(Regressions) r = judge(problems);
    g_assert_cmpint(r->findings->len, ==, 1);
    g_assert_cmpint(finding(r, 0)->kind, ==, REGRESSION_FASTER);
    g_assert_cmpint(finding(r, 0)->scope, ==, REGRESSION_WINNER);
    g_assert_cmpfloat_with_epsilon(finding(r, 0)->weight, -0.6, 1e-6);
    add_again(r, "n1", "1,1", 0.7, FAILURE_NONE);
    regressions_judge_again(r);
    g_assert_cmpint(regressions_count(r, REGRESSION_FASTER, REGRESSION_CONFIRMED), ==, 1);
    g_assert_false(regressions_are_bad(r));
}

static void test_slow_node_is_seen(void)
{
    g_autoptr(GPtrArray) problems = problems_new();
    for (int i = 0; i < 20; i++) {
        struct regression_problem *problem = regression_problem_new(i + 1, "key");
        struct regression_entry *entry =
            add_entry(problem, "ConvA", 1, (i < 10 ? 1.08 : 1) + i * 1e-4);
        g_free(entry->now.node);
        entry->now.node = g_strdup(i < 10 ? "hot" : "fine");
        g_ptr_array_add(problems, problem);
    }
    g_autoptr(Regressions) r = judge(problems);
    g_assert_cmpint(r->nodes->len, ==, 2);
    const struct regression_node *fine = g_ptr_array_index(r->nodes, 0),
                                 *hot = g_ptr_array_index(r->nodes, 1);
    g_assert_false(fine->is_slow);
    g_assert_true(hot->is_slow);
    g_assert_cmpfloat_with_epsilon(hot->percent, 8, 0.5);
}

static void test_state_survives_a_killed_process(void)
{
    g_autoptr(Regressions) r = one_suspect();
    add_again(r, "n1", "1,1", 1.21, FAILURE_NONE);
    json_t *json = regressions_to_json(r);
    g_autoptr(GError) error = NULL;
    g_autoptr(Regressions) read = regressions_from_json(json, &error);
    g_assert_no_error(error);
    json_t *again = regressions_to_json(read);
    g_assert_true(json_equal(json, again));
    regressions_judge_again(read);
    g_assert_cmpint(finding(read, 0)->state, ==, REGRESSION_CONFIRMED);
    json_object_set_new(json, "version", json_integer(99));
    g_assert_null(regressions_from_json(json, &error));
    g_assert_nonnull(error);
    json_decref(json);
    json_decref(again);
}

static void test_without_second_measurements_the_first_decides(void)
{
    g_autoptr(GPtrArray) problems = problems_new();
    struct regression_problem *problem = regression_problem_new(1, "key");
    add_entry(problem, "ConvA", 1, 1.4);
    g_ptr_array_add(problems, problem);
    struct regression_limits limits = REGRESSION_LIMITS;
    limits.nodes = 0;
    g_autoptr(Regressions) r = regressions_judge("cpu-x", 0, problems, &limits);
    g_autoptr(GPtrArray) wishes = regressions_wishes(r);
    g_assert_cmpint(wishes->len, ==, 0);
    regressions_judge_again(r);
    g_assert_cmpint(finding(r, 0)->state, ==, REGRESSION_CONFIRMED);
}

/* ---- formulas, by published values ---- */

static void test_formulas(void)
{
    /* Tables of Student's t: Abramowitz and Stegun, table 26.10. */
    g_assert_cmpfloat_with_epsilon(student_quantile(0.025, 5), 2.571, 0.001);
    g_assert_cmpfloat_with_epsilon(student_quantile(0.005, 10), 3.169, 0.001);
    g_assert_cmpfloat_with_epsilon(student_quantile(0.05, 1), 6.314, 0.001);
    g_assert_cmpfloat_with_epsilon(student_tail(0, 7), 0.5, 1e-12);
    /* Cauchy: P(T > t) = 1/2 - atan(t) / pi. */
    g_assert_cmpfloat_with_epsilon(student_tail(1e4, 1) * 1e4, 1 / G_PI, 1e-6);
    g_assert_cmpfloat_with_epsilon(
        student_freedom(student_quantile(0.005, 6) / student_quantile(0.25, 6), 0.99), 6, 0.01);
    g_assert_cmpfloat_with_epsilon(middle_tail(0.1, 1), 0.1, 1e-12);
    g_assert_cmpfloat_with_epsilon(middle_tail(0.1, 2), 0.01, 1e-12);
    g_assert_cmpfloat_with_epsilon(middle_tail(0.1, 3), 0.028, 1e-12);
    double p[] = {0.01, 0.04, 0.03, 0.005};
    statistics_adjust(p, 4, 8);
    g_assert_cmpfloat_with_epsilon(p[0], 0.04, 1e-12);
    g_assert_cmpfloat_with_epsilon(p[1], 0.08, 1e-12);
    g_assert_cmpfloat_with_epsilon(p[2], 0.08, 1e-12);
    g_assert_cmpfloat_with_epsilon(p[3], 0.04, 1e-12);
    double values[] = {5, 1, 9, 3};
    g_assert_cmpfloat(statistics_middle(values, 4, 10), ==, 5);
    g_assert_cmpfloat(statistics_middle(values, 4, 0), ==, 3);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/regressions/formulas_give_published_values", test_formulas);
    g_test_add_func("/regressions/noise_is_not_reported", test_noise_is_not_reported);
    g_test_add_func("/regressions/noise_of_small_farms_is_not_reported",
                    test_noise_of_small_farms_is_not_reported);
    g_test_add_func("/regressions/slow_down_is_found", test_slow_down_is_found);
    g_test_add_func("/regressions/second_measurement_decides", test_second_measurement_decides);
    g_test_add_func("/regressions/node_is_named_as_cause", test_node_is_named_as_cause);
    g_test_add_func("/regressions/same_measurement_counts_once", test_same_measurement_counts_once);
    g_test_add_func("/regressions/failure_is_found_and_confirmed",
                    test_failure_is_found_and_confirmed);
    g_test_add_func("/regressions/golden_config_is_measured_beside",
                    test_golden_config_is_measured_beside);
    g_test_add_func("/regressions/networks_lose_what_the_winner_loses",
                    test_networks_lose_what_the_winner_loses);
    g_test_add_func("/regressions/problem_without_a_solver_is_lost",
                    test_problem_without_a_solver_is_lost);
    g_test_add_func("/regressions/new_solver_that_wins_is_a_gain",
                    test_new_solver_that_wins_is_a_gain);
    g_test_add_func("/regressions/slow_node_is_seen", test_slow_node_is_seen);
    g_test_add_func("/regressions/state_survives_a_killed_process",
                    test_state_survives_a_killed_process);
    g_test_add_func("/regressions/without_second_measurements_the_first_decides",
                    test_without_second_measurements_the_first_decides);
    return g_test_run();
}
