/* The costs of policies (static, dynamic, mixed kernels) and of compile-time parameters, computed
 * from made-up results. */
#include "coordinator/dynamism/dynamism.h"

#include "coordinator/plan/plan.h"
#include "schema/store/store_kernels.h"

#include <math.h>
#include <string.h>

/* ---- solvers of each form ---- */

static const int32_t tiles[] = {1, 2, 3};
static const int32_t off_on[] = {0, 1};
static const struct space_param partial_params[] = {{"TILE", 3, tiles},
                                                    {"FIX_FILTER", 2, off_on},
                                                    {"FIX_CONV", 2, off_on},
                                                    {"FIX_MOON", 2, off_on}};
static const struct space partial_space = {.param_count = 4, .params = partial_params};

static const struct solver rows[] = {
    {.name = "Static"},
    {.name = "Dynamic", .dynamic = true},
    {.name = "Partial", .partial = true, .space = &partial_space},
};

static const struct solver *find_row(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

/* ---- what was measured ---- */

struct fixture {
    GArray *problems; /* struct plan_problem */
    GPtrArray *results, *outcomes;
    GHashTable *kernels;
    struct dynamism_data data;
    struct dynamism_limits limits;
};

static void free_cost(gpointer data)
{
    struct kernel_cost *cost = data;
    g_free(cost->key);
    g_free(cost);
}

static void free_result(gpointer result)
{
    result_free(result);
}

static void free_outcome(gpointer data)
{
    struct config_outcome *outcome = data;
    g_free(outcome->solver);
    g_free(outcome);
}

static void set_up(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->problems = g_array_new(FALSE, FALSE, sizeof(struct plan_problem));
    f->results = g_ptr_array_new_with_free_func(free_result);
    f->outcomes = g_ptr_array_new_with_free_func(free_outcome);
    f->kernels = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_cost);
    f->data = (struct dynamism_data){f->results, f->outcomes, f->kernels, find_row};
    f->limits = (struct dynamism_limits){.within = 0.1, .compile_share = 1.0 / 3};
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    (void)data;
    g_array_unref(f->problems);
    g_ptr_array_unref(f->results);
    g_ptr_array_unref(f->outcomes);
    g_hash_table_unref(f->kernels);
}

/* Problem number i has 8 * (i + 1) channels. */
static struct problem make_problem(int number)
{
    struct problem p;
    problem_init(&p);
    p.c = p.k = 8 * (number + 1);
    p.in[AXIS_H] = p.in[AXIS_W] = 14;
    problem_set_output(&p);
    return p;
}

static void add_problem(struct fixture *f, int number, int multiplicity)
{
    struct problem p = make_problem(number);
    plan_add_problem(f->problems, &p, multiplicity);
}

static void add_kernel(struct fixture *f, const char *key, int64_t bytes, double seconds)
{
    struct kernel_cost *cost = g_new0(struct kernel_cost, 1);
    *cost = (struct kernel_cost){.key = g_strdup(key), .bytes = bytes, .seconds = seconds};
    g_hash_table_insert(f->kernels, cost->key, cost);
}

static void add_result(struct fixture *f, int problem, const char *solver, const char *keys,
                       double ms)
{
    struct result *result = g_new0(struct result, 1);
    result->problem = make_problem(problem);
    result->solver = g_strdup(solver);
    result->kept.kernel_keys = g_strdup(keys);
    result->kept.outcome.median_ms = ms;
    g_ptr_array_add(f->results, result);
}

static struct config_outcome *add_outcome(struct fixture *f, int problem,
                                          const struct perf_config *config, enum failure failure,
                                          double ms)
{
    struct config_outcome *outcome = g_new0(struct config_outcome, 1);
    outcome->problem = make_problem(problem);
    outcome->solver = g_strdup("Partial");
    outcome->config = *config;
    outcome->failure = failure;
    outcome->median_ms = ms;
    outcome->baseline_ms = 2;
    g_ptr_array_add(f->outcomes, outcome);
    return outcome;
}

/* ---- the mixture ---- */

static void the_mixture_keeps_what_is_dynamic_or_cheap(void)
{
    static const struct {
        const char *what;
        /* run time in ms of the static, dynamic and partly specialised config; 0: no such config */
        double ms[DYNAMISM_FORMS];
        double seconds[DYNAMISM_FORMS];
        int expected;
    } cases[] = {
        {"nothing", {0, 0, 0}, {0, 0, 0}, -1},
        {"dynamic is fastest", {2, 1, 2}, {1, 9, 1}, DYNAMISM_DYNAMIC},
        {"dynamic is close, and dear", {1, 1.1, 1}, {1, 9, 1}, DYNAMISM_DYNAMIC},
        {"dynamic is not close", {1, 1.11, 2}, {9, 1, 1}, DYNAMISM_STATIC},
        {"partial is close and cheap", {1, 2, 1.1}, {9, 1, 3}, DYNAMISM_PARTIAL},
        {"partial is close, not cheap", {1, 2, 1.1}, {9, 1, 3.1}, DYNAMISM_STATIC},
        {"partial is cheap, not close", {1, 2, 1.2}, {9, 1, 1}, DYNAMISM_STATIC},
        {"static is close and cheap", {1.05, 0, 1}, {1, 0, 4}, DYNAMISM_STATIC},
        {"nobody knows the seconds", {1, 2, 1.1}, {9, 1, NAN}, DYNAMISM_STATIC},
        {"nobody knows the fastest's", {1, 2, 1.1}, {NAN, 1, 1}, DYNAMISM_STATIC},
        {"only dynamic", {0, 5, 0}, {0, 1, 0}, DYNAMISM_DYNAMIC},
    };
    const struct dynamism_limits limits = {.within = 0.1, .compile_share = 1.0 / 3};
    const struct result any = {0};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct dynamism_candidate candidates[DYNAMISM_FORMS] = {{0}};
        for (int f = 0; f < DYNAMISM_FORMS; f++)
            candidates[f] = (struct dynamism_candidate){cases[i].ms[f] > 0 ? &any : NULL,
                                                        cases[i].ms[f], cases[i].seconds[f]};
        int form = dynamism_mix(candidates, &limits);
        if (form != cases[i].expected)
            g_test_message("%s", cases[i].what);
        g_assert_cmpint(form, ==, cases[i].expected);
    }
}

static void thresholds_move_the_choice(void)
{
    const struct result any = {0};
    const struct dynamism_candidate candidates[DYNAMISM_FORMS] = {
        {&any, 1, 9}, {&any, 1.3, 1}, {&any, 1.15, 4}};
    static const struct {
        double within, share;
        int expected;
    } cases[] = {
        {0.1, 0.33, DYNAMISM_STATIC}, {0.3, 0.33, DYNAMISM_DYNAMIC}, {0.2, 0.33, DYNAMISM_STATIC},
        {0.2, 0.5, DYNAMISM_PARTIAL}, {0, 1, DYNAMISM_STATIC},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct dynamism_limits limits = {cases[i].within, cases[i].share};
        g_assert_cmpint(dynamism_mix(candidates, &limits), ==, cases[i].expected);
    }
}

/* ---- a network ---- */

/* Three problems. One dynamic kernel serves all; the static config of problem 1 has a kernel of its
 * own and s0, which is problem 0's, too; problems 1 and 2 share a partly specialised kernel. Problem 2
 * has no static config, problem 0 no partly specialised one. */
static void make_network(struct fixture *f)
{
    add_problem(f, 0, 1);
    add_problem(f, 1, 10);
    add_problem(f, 2, 100);
    add_kernel(f, "d", 1000, 1);
    add_kernel(f, "s0", 100, 2);
    add_kernel(f, "s1", 200, 4);
    add_kernel(f, "p", 300, 1);
    for (int i = 0; i < 3; i++) {
        add_result(f, i, "Dynamic", "d", 2);
        /* slower than the first result, so its kernel "x" is not counted */
        add_result(f, i, "Dynamic", "x", 3);
    }
    add_result(f, 0, "Static", "s0", 1.9);
    add_result(f, 1, "Static", "s1,s0", 1);
    add_result(f, 1, "Partial", "p", 1.05);
    add_result(f, 2, "Partial", "p", 0.5);
}

static void check_policy(const struct dynamism_network *network, int number, int covered,
                         int kernels, int64_t bytes, double seconds, double ms)
{
    const struct dynamism_policy *policy = &network->policies[number];
    g_assert_cmpint(policy->covered, ==, covered);
    g_assert_cmpint(policy->kernels, ==, kernels);
    g_assert_cmpint(policy->bytes, ==, bytes);
    g_assert_cmpfloat_with_epsilon(policy->compile_seconds, seconds, 1e-9);
    g_assert_cmpfloat_with_epsilon(policy->run_ms, ms, 1e-9);
    g_assert_cmpuint(policy->choices->len, ==, network->measured->len);
}

static void kernels_are_counted_once(struct fixture *f, gconstpointer data)
{
    (void)data;
    make_network(f);
    struct dynamism_network *network =
        dynamism_network_new(&f->data, "net", f->problems, &f->limits);
    g_assert_cmpint(network->problems, ==, 3);
    g_assert_cmpint(network->layers, ==, 111);
    /* Without a static config problem 2 falls back on its partly specialised kernel; the partial
     * policy lets problem 0 fall back on its static kernel. */
    check_policy(network, DYNAMISM_STATIC, 2, 3, 600, 7, 1.9 + 10 + 50);
    check_policy(network, DYNAMISM_DYNAMIC, 3, 1, 1000, 1, 222);
    check_policy(network, DYNAMISM_PARTIAL, 2, 2, 400, 3, 1.9 + 10.5 + 50);
    /* Problem 0 takes the dynamic kernel, whose time is within the limit of the fastest. Problem 1
     * takes the partial one, which is as close and compiles in a sixth of the time. */
    check_policy(network, DYNAMISM_MIXED, 3, 2, 1300, 2, 2 + 10.5 + 50);
    const int *forms = network->policies[DYNAMISM_MIXED].forms;
    g_assert_cmpint(forms[DYNAMISM_STATIC], ==, 0);
    g_assert_cmpint(forms[DYNAMISM_DYNAMIC], ==, 1);
    g_assert_cmpint(forms[DYNAMISM_PARTIAL], ==, 2);
    g_assert_cmpint(network->policies[DYNAMISM_STATIC].forms[DYNAMISM_PARTIAL], ==, 1);
    dynamism_network_free(network);
}

static void unmeasured_problems_are_named(struct fixture *f, gconstpointer data)
{
    (void)data;
    make_network(f);
    g_array_set_size(f->problems, 0);
    add_problem(f, 7, 4);
    add_problem(f, 1, 1);
    struct dynamism_network *network =
        dynamism_network_new(&f->data, "net", f->problems, &f->limits);
    g_assert_cmpint(network->problems, ==, 2);
    g_assert_cmpuint(network->unmeasured->len, ==, 1);
    g_assert_true(g_str_has_prefix(g_ptr_array_index(network->unmeasured, 0), "64-"));
    check_policy(network, DYNAMISM_STATIC, 1, 2, 300, 6, 1);
    check_policy(network, DYNAMISM_DYNAMIC, 1, 1, 1000, 1, 2);
    dynamism_network_free(network);
}

static void kernels_without_code_are_told(struct fixture *f, gconstpointer data)
{
    (void)data;
    add_problem(f, 0, 1);
    add_kernel(f, "collected", 0, 3);
    add_result(f, 0, "Static", "collected,unheard", 1);
    struct dynamism_network *network =
        dynamism_network_new(&f->data, "net", f->problems, &f->limits);
    check_policy(network, DYNAMISM_STATIC, 1, 2, 0, 3, 1);
    g_assert_cmpint(network->policies[DYNAMISM_STATIC].unknown, ==, 2);
    dynamism_network_free(network);
}

static void a_solvers_form_is_what_its_row_says(void)
{
    g_assert_cmpint(dynamism_form(&rows[0], true), ==, DYNAMISM_STATIC);
    g_assert_cmpint(dynamism_form(&rows[1], false), ==, DYNAMISM_DYNAMIC);
    g_assert_cmpint(dynamism_form(&rows[2], false), ==, DYNAMISM_PARTIAL);
    g_assert_cmpint(dynamism_form(NULL, true), ==, DYNAMISM_DYNAMIC);
    g_assert_cmpint(dynamism_form(NULL, false), ==, DYNAMISM_STATIC);
    g_assert_cmpint(dynamism_form(solver_find(PLAN_NAIVE_SOLVER), false), ==, DYNAMISM_DYNAMIC);
}

/* ---- parameters ---- */

static const struct dynamism_parameter *find_parameter(const GArray *parameters, const char *name)
{
    for (guint i = 0; i < parameters->len; i++) {
        const struct dynamism_parameter *parameter =
            &g_array_index(parameters, struct dynamism_parameter, i);
        if (strcmp(parameter->name, name) == 0)
            return parameter;
    }
    g_error("there is no parameter %s", name);
}

static void values_are_counted_by_part(struct fixture *f, gconstpointer data)
{
    static const struct {
        const char *name;
        int values, compilations;
    } expected[] = {
        {"filter", 2, 3},   {"stride", 2, 4}, {"pad", 1, 2},   {"dilation", 1, 2}, {"conv", 2, 4},
        {"channels", 2, 3}, {"image", 3, 4},  {"batch", 1, 2}, {"groups", 2, 3},
    };
    struct problem p = make_problem(0);
    (void)data;
    plan_add_problem(f->problems, &p, 1);
    p.stride[AXIS_H] = 2; /* halves the output's height, so the image sizes differ */
    problem_set_output(&p);
    plan_add_problem(f->problems, &p, 1);
    p.direction = DIRECTION_B;
    plan_add_problem(f->problems, &p, 1);
    p.stride[AXIS_H] = 1;
    p.fil[AXIS_H] = 3;
    p.groups = 2;
    problem_set_output(&p);
    plan_add_problem(f->problems, &p, 1);
    g_autoptr(GArray) parameters = dynamism_parameters(&f->data, f->problems);
    g_assert_cmpint(dynamism_kinds(f->problems), ==, 2);
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
        const struct dynamism_parameter *parameter = find_parameter(parameters, expected[i].name);
        g_test_message("%s", expected[i].name);
        g_assert_cmpint(parameter->values, ==, expected[i].values);
        g_assert_cmpint(parameter->compilations, ==, expected[i].compilations);
        g_assert_false(parameter->choice);
        g_assert_true(isnan(parameter->gain));
    }
}

/* The round with the parameter ran on a machine three times as slow as the first: its time is
 * scaled by the baselines. A round without a baseline is left out. */
static void rounds_are_compared_by_their_default(struct fixture *f, gconstpointer data)
{
    (void)data;
    const struct perf_config without = {4, {1, 0, 0, 0}}, with = {4, {1, 1, 0, 0}};
    add_outcome(f, 0, &without, FAILURE_NONE, 4);
    struct config_outcome *outcome = add_outcome(f, 0, &with, FAILURE_NONE, 6);
    outcome->baseline_ms = 6;
    outcome = add_outcome(f, 0, &with, FAILURE_NONE, 0.5);
    outcome->baseline_ms = 0;
    add_problem(f, 0, 1);
    g_autoptr(GArray) parameters = dynamism_parameters(&f->data, f->problems);
    g_assert_cmpfloat_with_epsilon(find_parameter(parameters, "filter")->gain, 2, 1e-9);
}

static void gains_come_from_pairs_alone(struct fixture *f, gconstpointer data)
{
    static const struct {
        int problem, tile, filter, conv, moon;
        enum failure failure;
        double ms;
    } configs[] = {
        /* Problem 0: two pairs of configs that differ only in `filter`. Their best times are 4
         * without and 1 with it. */
        {0, 1, 0, 0, 0, FAILURE_NONE, 4},
        {0, 1, 1, 0, 0, FAILURE_NONE, 2},
        {0, 2, 0, 0, 0, FAILURE_SLOW, 5},
        {0, 2, 1, 0, 0, FAILURE_NONE, 1},
        /* These configs count for `filter` in no pair: the first has no counterpart; the
         * counterpart of the second failed. */
        {0, 3, 1, 0, 0, FAILURE_NONE, 0.1},
        {0, 3, 1, 1, 0, FAILURE_NONE, 0.1},
        {0, 3, 0, 1, 0, FAILURE_WRONG_RESULT, 0.01},
        /* Problem 1: a pair that differs in `filter` (1 without, 1 with it) and a pair that differs
         * in `moon` (3 and 1). */
        {1, 1, 0, 1, 0, FAILURE_NONE, 1},
        {1, 1, 1, 1, 0, FAILURE_NONE, 1},
        {1, 1, 1, 0, 0, FAILURE_NONE, 3},
        {1, 1, 1, 0, 1, FAILURE_NONE, 1},
        /* The config above, measured again and slower: its shorter time counts. */
        {0, 2, 1, 0, 0, FAILURE_NONE, 3},
    };
    (void)data;
    for (gsize i = 0; i < G_N_ELEMENTS(configs); i++) {
        const struct perf_config config = {
            4, {configs[i].tile, configs[i].filter, configs[i].conv, configs[i].moon}};
        add_outcome(f, configs[i].problem, &config, configs[i].failure, configs[i].ms);
    }
    add_problem(f, 0, 1);
    g_autoptr(GArray) parameters = dynamism_parameters(&f->data, f->problems);
    const struct dynamism_parameter *filter = find_parameter(parameters, "filter");
    g_assert_true(filter->choice);
    g_assert_cmpint(filter->pairs, ==, 3);
    g_assert_cmpint(filter->problems, ==, 2);
    g_assert_cmpfloat_with_epsilon(filter->gain, 2, 1e-9); /* of 4 and 1 */
    const struct dynamism_parameter *conv = find_parameter(parameters, "conv");
    g_assert_cmpint(conv->pairs, ==, 2);
    g_assert_cmpint(conv->problems, ==, 2);
    /* geometric mean of 0.1 / 0.1 and 3 / 1 */
    g_assert_cmpfloat_with_epsilon(conv->gain, sqrt(3), 1e-9);
    const struct dynamism_parameter *moon = find_parameter(parameters, "moon");
    g_assert_cmpint(moon->values, ==, -1);
    g_assert_cmpint(moon->compilations, ==, -1);
    g_assert_cmpint(moon->pairs, ==, 1);
    g_assert_cmpfloat_with_epsilon(moon->gain, 3, 1e-9);
    g_assert_false(find_parameter(parameters, "batch")->choice);
}

#define ADD(path, function)                                                                        \
    g_test_add("/dynamism/" path, struct fixture, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/dynamism/the_mixture_keeps_what_is_dynamic_or_cheap",
                    the_mixture_keeps_what_is_dynamic_or_cheap);
    g_test_add_func("/dynamism/thresholds_move_the_choice", thresholds_move_the_choice);
    g_test_add_func("/dynamism/a_solvers_form_is_what_its_row_says",
                    a_solvers_form_is_what_its_row_says);
    ADD("kernels_are_counted_once", kernels_are_counted_once);
    ADD("unmeasured_problems_are_named", unmeasured_problems_are_named);
    ADD("kernels_without_code_are_told", kernels_without_code_are_told);
    ADD("values_are_counted_by_part", values_are_counted_by_part);
    ADD("gains_come_from_pairs_alone", gains_come_from_pairs_alone);
    ADD("rounds_are_compared_by_their_default", rounds_are_compared_by_their_default);
    return g_test_run();
}
