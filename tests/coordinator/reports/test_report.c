#include "coordinator/campaigns/enter.h"
#include "coordinator/plan/plan.h"
#include "coordinator/reports/report.h"
#include "schema/store/store_workers.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/farm/scratch_db.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define TUNED_SOLVER "ConvCpuDirect"

/* A campaign of two problems and two solvers, so four jobs, in a real database. */
struct fixture {
    Store *store;
    struct target target;
    GArray *problems;
    int64_t worker, campaign;
    enum failure default_failure; /* outcome of the tuned solver's default configs */
    double spread;
    double drift; /* the device's drift in the tuned solver's rounds */
    /* In all rounds: what was compared of a result, and the runs that proved the second config. */
    double share;
    int proof_runs;
};

static void add_problem(struct fixture *f, int64_t channels, int multiplicity)
{
    struct problem p;
    problem_init(&p);
    p.n = 1;
    p.c = p.k = channels;
    p.in[AXIS_H] = p.in[AXIS_W] = 16;
    problem_set_output(&p);
    plan_add_problem(f->problems, &p, multiplicity);
}

static void set_up(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->store = scratch_store();
    f->spread = 0.02;
    f->problems = g_array_new(FALSE, FALSE, sizeof(struct plan_problem));
    add_problem(f, 16, 3);
    add_problem(f, 32, 1);
    g_assert_true(target_parse("cpu-znver4_2", &f->target, NULL));
    struct request request;
    request_init(&request, 0);
    request.name = g_strdup("sample");
    request.solvers = g_strdup(PLAN_NAIVE_SOLVER "," TUNED_SOLVER);
    struct machine machine = {.target = f->target, .stack = g_strdup(""), .device = g_strdup("")};
    struct entered entered;
    g_assert_true(enter_campaign(f->store, &request, &machine, f->problems, &entered, NULL));
    f->campaign = entered.campaign->id;
    const struct worker_info info = {
        .node = "node", .process = "process", .target = f->target.id, .stack = ""};
    g_assert_true(store_register_worker(f->store, &info, &f->worker, NULL));
    entered_clear(&entered);
    machine_clear(&machine);
    request_clear(&request);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    (void)data;
    g_array_unref(f->problems);
    store_close(f->store);
}

static GPtrArray *claim_jobs(struct fixture *f, enum pool pool)
{
    char names[2][128];
    const char *solvers[3] = {names[0], names[1], NULL};
    const char *const carried[] = {PLAN_NAIVE_SOLVER, TUNED_SOLVER};
    for (int i = 0; i < 2; i++) {
        const struct solver *solver = solver_find(carried[i]);
        g_snprintf(names[i], sizeof names[i], "%s:%d:%s", solver->name, solver->revision,
                   solver_hash(solver));
    }
    const struct claim claim = {
        .worker = f->worker,
        .pool = pool,
        .target = pool == POOL_EVAL ? f->target.id : NULL,
        .solvers = solvers,
        .batch = 100,
        .lease_seconds = 60,
    };
    GPtrArray *jobs = store_claim(f->store, &claim, NULL);
    g_assert_nonnull(jobs);
    return jobs;
}

/* A round of the default config, and for a tunable solver of a second config, whose outcome is
 * `second`. */
static struct round *make_round(const struct fixture *f, const struct job *job, double default_ms,
                                double second_ms, enum failure second)
{
    const struct solver *solver = solver_find(job->solver);
    struct round *round = round_new(solver->space ? 2 : 1);
    struct target target;
    struct context context;
    g_assert_true(target_parse(job->target, &target, NULL));
    context_init(&context, &target);
    for (int i = 0; i < round->config_count; i++) {
        solver->default_config(&job->problem, &context, &round->configs[i]);
        round->outcomes[i] = (struct outcome){
            .failure = i > 0           ? second
                       : solver->space ? f->default_failure
                                       : FAILURE_NONE,
            .n = 9,
            .min_ms = i == 0 ? default_ms : second_ms,
            .median_ms = i == 0 ? default_ms : second_ms,
            .spread = f->spread,
            .proof_runs = i == 1 ? f->proof_runs : 0,
            .proof_kinds = i == 0 || f->proof_runs == 0 ? 0
                           : f->proof_runs < 100        ? 3
                                                        : 5,
        };
        if (round->outcomes[i].failure != FAILURE_NONE)
            round->details[i] = g_strdup("made to fail");
    }
    if (round->config_count == 2)
        round->configs[1].values[0]++;
    round->drift = solver->space ? f->drift : 0;
    round->verified_share = f->share;
    return round;
}

static void store_outcome(struct fixture *f, const struct job *job, struct round *round)
{
    struct kept kept[2] = {0};
    int count = 0;
    for (int i = round->config_count - 1; i >= 0; i--) {
        if (round->outcomes[i].failure != FAILURE_NONE)
            continue;
        char text[CONFIG_TEXT_MAX];
        perf_config_format(&round->configs[i], text);
        kept[count++] = (struct kept){
            .config = round->configs[i],
            .config_text = g_strdup(text),
            .kernel_keys = g_strdup(""),
            .outcome = round->outcomes[i],
            .is_default = i == 0,
        };
    }
    g_assert_true(store_round(f->store, job, round, kept, count, false, 2, NULL));
    for (int i = 0; i < count; i++) {
        g_free(kept[i].config_text);
        g_free(kept[i].kernel_keys);
    }
}

/* Measures all jobs: ConvDirectNaive takes 8 ms, TUNED_SOLVER 4 ms by default and second_ms when
 * tuned. */
static void finish_jobs(struct fixture *f, double second_ms, enum failure second)
{
    for (enum pool pool = POOL_BUILD; pool <= POOL_EVAL; pool++) {
        g_autoptr(GPtrArray) jobs = claim_jobs(f, pool);
        g_assert_cmpuint(jobs->len, ==, 4);
        for (guint i = 0; i < jobs->len; i++) {
            const struct job *job = g_ptr_array_index(jobs, i);
            bool naive = strcmp(job->solver, PLAN_NAIVE_SOLVER) == 0;
            struct round *round = make_round(f, job, naive ? 8 : 4, second_ms, second);
            if (pool == POOL_EVAL)
                store_outcome(f, job, round);
            for (int c = 0; pool == POOL_BUILD && c < round->config_count; c++)
                round->outcomes[c] = (struct outcome){.failure = FAILURE_PENDING};
            g_assert_true(pool == POOL_EVAL || store_built(f->store, job, round, NULL));
            round_free(round);
        }
    }
}

static void the_winner_stands_beside_its_default_and_the_naive_time(struct fixture *f,
                                                                    gconstpointer data)
{
    (void)data;
    finish_jobs(f, 2, FAILURE_NONE);
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    g_assert_cmpuint(report->rows->len, ==, 2);
    /* Rows are ordered by weight: the layer that the network runs three times comes first. */
    const struct report_row *row = &g_array_index(report->rows, struct report_row, 0);
    g_assert_cmpint(row->multiplicity, ==, 3);
    g_assert_true(row->won && row->tuned);
    g_assert_cmpstr(row->solver, ==, TUNED_SOLVER);
    g_assert_cmpfloat(row->time_ms, ==, 2);
    g_assert_cmpfloat(row->own_default_ms, ==, 4);
    g_assert_cmpfloat(row->default_ms, ==, 4);
    g_assert_cmpfloat(row->naive_ms, ==, 8);
    g_assert_cmpfloat_with_epsilon(row->gflops, 2 * problem_macs(&row->problem) / 2e6, 1e-9);
    report_free(report);
}

static void totals_are_weighted_by_multiplicity(struct fixture *f, gconstpointer data)
{
    (void)data;
    finish_jobs(f, 2, FAILURE_NONE);
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    g_assert_cmpint(report->totals.layers, ==, 4);
    g_assert_cmpint(report->totals.compared, ==, 2);
    g_assert_cmpfloat(report->totals.naive_ms, ==, 32);
    g_assert_cmpfloat(report->totals.default_ms, ==, 16);
    g_assert_cmpfloat(report->totals.tuned_ms, ==, 8);
    report_free(report);
}

static void rejected_configs_are_counted_and_never_win(struct fixture *f, gconstpointer data)
{
    (void)data;
    finish_jobs(f, 0.5, FAILURE_WRONG_RESULT);
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    const struct report_row *row = &g_array_index(report->rows, struct report_row, 0);
    g_assert_cmpfloat(row->time_ms, ==, 4);
    g_assert_false(row->tuned);
    g_assert_cmpint(report->outcomes[FAILURE_WRONG_RESULT], ==, 2);
    g_assert_cmpint(report->outcomes[FAILURE_NONE], ==, 4);
    report_free(report);
}

/* Returns the report as printed for people. Free with free(). */
static char *printed(const struct report *report)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    report_print(report, out);
    fclose(out);
    return text;
}

static void a_default_without_a_time_is_named_with_its_reason(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->default_failure = FAILURE_UNSTABLE;
    finish_jobs(f, 2, FAILURE_NONE);
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    const struct report_row *row = &g_array_index(report->rows, struct report_row, 0);
    g_assert_cmpfloat(row->time_ms, ==, 2);
    g_assert_true(isnan(row->own_default_ms) && isnan(row->default_ms));
    g_assert_cmpstr(row->default_solver, ==, TUNED_SOLVER);
    g_assert_cmpint(report->totals.compared, ==, 0);
    g_assert_cmpint(table_rows(report->missing), ==, 2);
    char *text = printed(report);
    g_assert_nonnull(strstr(text, "unstable: made to fail"));
    g_assert_nonnull(strstr(text, "no problem has all the times"));
    free(text);
    report_free(report);
}

static void a_large_spread_is_told(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->spread = REPORT_WIDE_SPREAD + 0.01;
    finish_jobs(f, 2, FAILURE_NONE);
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    g_assert_cmpint(report->totals.wide, ==, 2);
    g_assert_cmpint(table_rows(report->missing), ==, 0);
    char *text = printed(report);
    g_assert_nonnull(strstr(text, "2 of 2 winners spread by more than 10 %"));
    free(text);
    report_free(report);
}

static void winners_of_rounds_that_drifted_are_named(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->drift = 1.31;
    finish_jobs(f, 2, FAILURE_NONE);
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    g_assert_cmpint(report->totals.drifted, ==, 2);
    g_assert_cmpint(report->totals.drifted_results, ==, 4);
    char *text = printed(report);
    g_assert_nonnull(
        strstr(text, "while 4 kept results were measured, 2 of the 2 winners among them"));
    g_assert_nonnull(strstr(text, TUNED_SOLVER ": the default config took 1.31 times as long"));
    free(text);
    json_t *json = report_json(report);
    const json_t *row = json_array_get(json_object_get(json, "problems"), 0);
    g_assert_cmpfloat(json_number_value(json_object_get(row, "drift")), ==, 1.31);
    const json_t *totals = json_object_get(json, "totals");
    g_assert_cmpint(json_integer_value(json_object_get(totals, "drifted")), ==, 2);
    g_assert_cmpint(json_integer_value(json_object_get(totals, "drifted_results")), ==, 4);
    json_decref(json);
    report_free(report);
}

static void winners_say_what_verified_them(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->share = 0.125;
    f->proof_runs = 37;
    finish_jobs(f, 2, FAILURE_NONE);
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    g_assert_cmpint(report->totals.verified_in_part, ==, 2);
    g_assert_cmpint(report->totals.briefly_proved, ==, 2);
    char *text = printed(report);
    g_assert_nonnull(strstr(text, "2 of 2 winners were verified in part"));
    g_assert_nonnull(strstr(text, TUNED_SOLVER ": 12.5 % of the result\n"));
    g_assert_nonnull(strstr(text, "0 of 2 winners were verified by 100 runs or more."));
    g_assert_nonnull(strstr(text, TUNED_SOLVER ": 37 runs on 3 kinds of inputs\n"));
    free(text);
    json_t *json = report_json(report);
    const json_t *row = json_array_get(json_object_get(json, "problems"), 0);
    g_assert_cmpfloat(json_number_value(json_object_get(row, "verified_share")), ==, 0.125);
    g_assert_cmpint(json_integer_value(json_object_get(row, "proof_runs")), ==, 37);
    g_assert_cmpint(json_integer_value(json_object_get(row, "proof_kinds")), ==, 3);
    const json_t *totals = json_object_get(json, "totals");
    g_assert_cmpint(json_integer_value(json_object_get(totals, "briefly_proved")), ==, 2);
    json_decref(json);
    report_free(report);
}

static void a_whole_proof_is_not_named(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->share = 1;
    f->proof_runs = 100;
    finish_jobs(f, 2, FAILURE_NONE);
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    char *text = printed(report);
    g_assert_null(strstr(text, "in part"));
    g_assert_nonnull(strstr(text, "2 of 2 winners were verified by 100 runs or more.\n"));
    g_assert_null(strstr(text, "kinds of inputs"));
    free(text);
    report_free(report);
}

static void a_round_without_drift_is_not_named(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->drift = 1.1;
    finish_jobs(f, 2, FAILURE_NONE);
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    g_assert_cmpint(report->totals.drifted_results, ==, 0);
    char *text = printed(report);
    g_assert_null(strstr(text, "drifted"));
    free(text);
    report_free(report);
}

static struct job_conditions *conditions_of(int64_t job, const char *device, int mhz,
                                            unsigned throttle)
{
    struct job_conditions *row = g_new0(struct job_conditions, 1);
    row->job = job;
    row->seen = (struct conditions){.samples = 1,
                                    .sm_mhz_min = mhz,
                                    .sm_mhz_max = 1980,
                                    .temperature_c = 60 + (int)job % 10,
                                    .throttle = throttle};
    g_strlcpy(row->seen.device, device, sizeof(row->seen.device));
    return row;
}

/* The report names winners whose device was throttled by heat, which makes times too long. A power
 * cap is not named: the device always runs under it. */
static void winners_of_a_throttled_device_are_named(struct fixture *f, gconstpointer data)
{
    (void)data;
    finish_jobs(f, 2, FAILURE_NONE);
    g_autoptr(GPtrArray) conditions = g_ptr_array_new_with_free_func(g_free);
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    char *text = printed(report);
    g_assert_null(strstr(text, "Devices while"));
    free(text);
    const struct report_row *first = &g_array_index(report->rows, struct report_row, 0);
    const struct report_row *second = &g_array_index(report->rows, struct report_row, 1);
    g_ptr_array_add(conditions, conditions_of(first->job, "GPU-a", 1410, THROTTLE_POWER_CAP));
    g_ptr_array_add(conditions,
                    conditions_of(second->job, "GPU-a", 1700, THROTTLE_POWER_CAP | THROTTLE_HEAT));
    g_ptr_array_add(conditions, conditions_of(0, "GPU-b", 0, THROTTLE_UNTOLD));
    report_take_conditions(report->rows, conditions);
    report_add_devices(report->devices, conditions);
    report->totals = report_sum(report->rows);
    g_assert_cmpint(report->totals.throttled, ==, 1);
    char key[PROBLEM_KEY_MAX];
    g_autofree char *line =
        g_strdup_printf("--what unstable\n  %s: heat\n", problem_key(&second->problem, key));
    text = printed(report);
    g_assert_nonnull(strstr(text, "  GPU-a: units 1410-1980 MHz, memory unknown, up to 6"));
    g_assert_nonnull(strstr(text, "held back by heat, power cap"));
    g_assert_nonnull(strstr(text, "whether something held it back is not known"));
    g_assert_nonnull(strstr(text, line));
    free(text);
    json_t *json = report_json(report);
    const json_t *problems = json_object_get(json, "problems");
    g_assert_true(json_is_null(json_object_get(json_array_get(problems, 0), "throttled")));
    g_assert_cmpstr(json_string_value(json_object_get(json_array_get(problems, 1), "throttled")),
                    ==, "heat");
    g_assert_cmpuint(json_array_size(json_object_get(json, "devices")), ==, 2);
    json_decref(json);
    report_free(report);
}

static void without_the_naive_solver_the_other_two_are_compared(void)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, sizeof(struct report_row));
    struct report_row row = {
        .multiplicity = 2, .won = true, .time_ms = 1, .default_ms = 3, .naive_ms = NAN};
    g_array_append_val(rows, row);
    struct report_totals totals = report_sum(rows);
    g_assert_cmpint(totals.compared, ==, 1);
    g_assert_cmpfloat(totals.default_ms, ==, 6);
    g_assert_cmpfloat(totals.tuned_ms, ==, 2);
    g_assert_true(isnan(totals.naive_ms));
    /* Two rows, of which one has no naive time: the sums leave that problem out. */
    row.naive_ms = 9;
    g_array_append_val(rows, row);
    totals = report_sum(rows);
    g_assert_cmpint(totals.compared, ==, 1);
    g_assert_cmpfloat(totals.naive_ms, ==, 18);
}

/* Must take 10 s of CPU time at most: searching all jobs for each problem would take minutes. */
static void a_large_campaign_takes_no_longer_a_problem(void)
{
    enum { PROBLEMS = 20000, SOLVERS = 10, CPU_SECONDS = 10 };
    g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) results = g_ptr_array_new_with_free_func(g_free);
    char naive[] = PLAN_NAIVE_SOLVER, tuned[] = TUNED_SOLVER;
    for (int i = 0; i < PROBLEMS * SOLVERS; i++) {
        struct job_row *job = g_new0(struct job_row, 1);
        struct result *result = g_new0(struct result, 1);
        problem_init(&job->problem);
        job->problem.n = 1;
        job->problem.c = job->problem.k = 1 + i % PROBLEMS;
        job->problem.in[AXIS_H] = job->problem.in[AXIS_W] = 16;
        problem_set_output(&job->problem);
        job->multiplicity = 1;
        job->id = result->job = 1 + i;
        job->solver = result->solver = i < PROBLEMS ? naive : tuned;
        result->problem = job->problem;
        result->kept.is_default = true;
        result->kept.outcome.median_ms = PROBLEMS * SOLVERS - i;
        g_ptr_array_add(jobs, job);
        g_ptr_array_add(results, result);
    }
    clock_t start = clock();
    g_autoptr(GArray) rows =
        report_rows(jobs, results, &(struct campaign){.target = (char *)"cpu-znver4_2"});
    g_assert_cmpfloat((double)(clock() - start) / CLOCKS_PER_SEC, <, CPU_SECONDS);
    g_assert_cmpuint(rows->len, ==, PROBLEMS);
    for (int i = 0; i < PROBLEMS; i++) {
        const struct report_row *row = &g_array_index(rows, struct report_row, i);
        g_assert_cmpint(row->problem.c, ==, 1 + i);
        g_assert_cmpint(row->job, ==, PROBLEMS * (SOLVERS - 1) + 1 + i);
        g_assert_cmpfloat(row->naive_ms, ==, PROBLEMS * SOLVERS - i);
    }
}

static void a_problem_whose_jobs_failed_has_no_winner_and_is_named(struct fixture *f,
                                                                   gconstpointer data)
{
    (void)data;
    g_autoptr(GPtrArray) jobs = claim_jobs(f, POOL_BUILD);
    for (guint i = 0; i < jobs->len; i++)
        g_assert_true(store_fail_job(f->store, g_ptr_array_index(jobs, i), FAILURE_COMPILE_ERROR,
                                     "made to fail", NULL));
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    g_assert_cmpint(report->totals.without_winner, ==, 2);
    g_assert_cmpint(report->totals.compared, ==, 0);
    char key[PROBLEM_KEY_MAX];
    char *text = printed(report);
    problem_key(&g_array_index(f->problems, struct plan_problem, 1).problem, key);
    g_assert_nonnull(strstr(text, "Without a winner:"));
    g_assert_nonnull(strstr(text, key));
    free(text);
    json_t *json = report_json(report);
    g_assert_nonnull(json);
    json_decref(json);
    report_free(report);
}

static void no_line_is_wider_than_a_table(struct fixture *f, gconstpointer data)
{
    (void)data;
    finish_jobs(f, 2, FAILURE_NONE);
    struct report *report = report_new(f->store, f->campaign, NULL);
    g_assert_nonnull(report);
    char *text = printed(report);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int i = 0; lines[i]; i++)
        g_assert_cmpint(g_utf8_strlen(lines[i], -1), <=, TABLE_WIDTH);
    free(text);
    report_free(report);
}

/* The GPU time of a problem's two jobs is added up; a problem without such data gets none. */
static void gpu_times_of_jobs_add_up(struct fixture *f, gconstpointer data)
{
    (void)data;
    finish_jobs(f, 2, FAILURE_NONE);
    g_autoptr(GPtrArray) jobs = store_list_jobs(f->store, f->campaign, NULL);
    struct report *report = report_new(f->store, f->campaign, NULL);
    const struct report_row *rows = &g_array_index(report->rows, struct report_row, 0);
    g_autoptr(GPtrArray) uses = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = g_ptr_array_index(jobs, i);
        struct job_device_use *use = g_new0(struct job_device_use, 1);
        *use = (struct job_device_use){job->id, {4, 1}};
        if (problem_equal(&job->problem, &rows[0].problem))
            g_ptr_array_add(uses, use);
        else
            g_free(use);
    }
    json_t *none = report_use_json(report);
    g_assert_true(json_is_null(none));
    report_take_use(report->rows, jobs, uses);
    report->totals = report_sum(report->rows);
    char *text = printed(report);
    g_assert_nonnull(strstr(text, "GPU: busy in 2.0 of 8.0 seconds of evaluation (25 %)"));
    free(text);
    g_assert_cmpfloat(rows[0].use.busy_seconds, ==, 2);
    g_assert_cmpfloat(rows[1].use.seconds, ==, 0);
    json_t *gpu = report_use_json(report);
    g_assert_cmpint(json_integer_value(json_object_get(gpu, "problems")), ==, 1);
    g_assert_cmpfloat(json_number_value(json_object_get(gpu, "busy_share")), ==, 0.25);
    g_assert_cmpfloat(json_number_value(json_object_get(gpu, "seconds_a_problem")), ==, 2);
    json_decref(gpu);
    json_decref(none);
    report_free(report);
}

/* A large campaign is read in parts, each of whole problems: the report has every row once. */
static void rows_of_several_parts_are_one_report(void)
{
    enum { PROBLEMS = 60 };
    struct fixture f;
    set_up(&f, NULL);
    int usual = report_part_jobs;
    report_part_jobs = 50; /* of the 120 */
    g_array_set_size(f.problems, 0);
    for (int i = 0; i < PROBLEMS; i++)
        add_problem(&f, 100 + i, 1);
    struct request request;
    request_init(&request, 0);
    request.name = g_strdup("large");
    request.solvers = g_strdup(PLAN_NAIVE_SOLVER "," TUNED_SOLVER);
    struct machine machine = {.target = f.target, .stack = g_strdup(""), .device = g_strdup("")};
    struct entered entered;
    g_assert_true(enter_campaign(f.store, &request, &machine, f.problems, &entered, NULL));
    struct report *report = report_new(f.store, entered.campaign->id, NULL);
    g_assert_nonnull(report);
    g_assert_cmpint(report->progress.jobs, ==, 2 * PROBLEMS);
    g_assert_cmpuint(report->rows->len, ==, PROBLEMS);
    for (int i = 0; i < PROBLEMS; i++)
        g_assert_cmpint(g_array_index(report->rows, struct report_row, i).problem.c, ==, 100 + i);
    report_part_jobs = usual;
    report_free(report);
    entered_clear(&entered);
    machine_clear(&machine);
    request_clear(&request);
    tear_down(&f, NULL);
}

#define ADD(path, function) g_test_add(path, struct fixture, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    ADD("/report/the_winner_stands_beside_its_default_and_the_naive_time",
        the_winner_stands_beside_its_default_and_the_naive_time);
    ADD("/report/totals_are_weighted_by_multiplicity", totals_are_weighted_by_multiplicity);
    ADD("/report/rejected_configs_are_counted_and_never_win",
        rejected_configs_are_counted_and_never_win);
    ADD("/report/a_default_without_a_time_is_named_with_its_reason",
        a_default_without_a_time_is_named_with_its_reason);
    ADD("/report/a_large_spread_is_told", a_large_spread_is_told);
    ADD("/report/winners_of_a_throttled_device_are_named", winners_of_a_throttled_device_are_named);
    ADD("/report/winners_say_what_verified_them", winners_say_what_verified_them);
    ADD("/report/a_whole_proof_is_not_named", a_whole_proof_is_not_named);
    ADD("/report/winners_of_rounds_that_drifted_are_named",
        winners_of_rounds_that_drifted_are_named);
    ADD("/report/a_round_without_drift_is_not_named", a_round_without_drift_is_not_named);
    ADD("/report/gpu_times_of_jobs_add_up", gpu_times_of_jobs_add_up);
    g_test_add_func("/report/without_the_naive_solver_the_other_two_are_compared",
                    without_the_naive_solver_the_other_two_are_compared);
    g_test_add_func("/report/a_large_campaign_takes_no_longer_a_problem",
                    a_large_campaign_takes_no_longer_a_problem);
    ADD("/report/a_problem_whose_jobs_failed_has_no_winner_and_is_named",
        a_problem_whose_jobs_failed_has_no_winner_and_is_named);
    ADD("/report/no_line_is_wider_than_a_table", no_line_is_wider_than_a_table);
    g_test_add_func("/report/rows_of_several_parts_are_one_report",
                    rows_of_several_parts_are_one_report);
    return g_test_run();
}
