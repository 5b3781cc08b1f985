/* Where a campaign and the golden version disagree, both configs are measured again, so that a
 * lucky time does not stay golden. */
#include "export/golden/golden.h"

#include "schema/results/store_remeasure.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "solvers/framework/solver.h"
#include "tests/support/export/export_farm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void run(const struct export_farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(farm->store, &error, sql, "");
    g_assert_no_error(error);
}

static double ask(const struct export_farm *farm, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(farm->store, &error, sql, "");
    g_assert_no_error(error);
    return rows == NULL || PQntuples(rows) == 0 ? -1 : g_ascii_strtod(PQgetvalue(rows, 0, 0), NULL);
}

static const struct golden_wish standard = {.base = -1,
                                            .by = "ann",
                                            .noise = GOLDEN_NOISE_FACTOR,
                                            .gain = GOLDEN_GAIN_PERCENT / 100,
                                            .remeasure = true};

static struct golden_summary propose_as(const struct export_farm *farm, struct golden_wish wish)
{
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    wish.campaign = farm->campaign;
    golden_propose(farm->store, &wish, &summary, &error);
    g_assert_no_error(error);
    return summary;
}

static struct golden_summary propose(const struct export_farm *farm)
{
    return propose_as(farm, standard);
}

static void approve(const struct export_farm *farm, struct golden_summary *summary)
{
    g_autoptr(GError) error = NULL;
    if (summary->version != 0) {
        store_approve_golden(farm->store, EXPORT_FARM_TARGET, summary->version, "bob", &error);
        g_assert_no_error(error);
    }
    golden_summary_clear(summary);
}

/* ---- one problem, measured with given times ---- */

#define NAIVE "ConvDirectNaive"
#define TUNED "ConvCpuGemm"

/* The times in ms that the worker reports: for NAIVE, for TUNED's default config, and for TUNED's
 * other config. */
struct told {
    double naive, tuned, other;
};

static double tell(void *data, const struct job *job, const struct perf_config *config)
{
    const struct told *told = data;
    struct target target;
    struct context context;
    struct perf_config usual = {0};
    const struct solver *solver = solver_find(job->solver);
    g_assert_true(target_parse(job->target, &target, NULL));
    context_init(&context, &target);
    if (solver->default_config)
        solver->default_config(&job->problem, &context, &usual);
    if (strcmp(job->solver, NAIVE) == 0)
        return told->naive;
    return perf_config_equal(config, &usual) ? told->tuned : told->other;
}

static void serve(const struct export_farm *farm, struct told told)
{
    const struct export_farm_worker worker = {.configs = 2, .measure = tell, .data = &told};
    export_farm_serve(farm, &worker);
}

static void begin_anew(struct export_farm *farm, const char *solvers, struct told told)
{
    export_farm_begin_anew(farm, export_farm_keys, 1, solvers);
    serve(farm, told);
}

/* Measures a campaign of one problem with these times, and approves it as golden version 1. */
static void begin(struct export_farm *farm, const char *solvers, struct told told)
{
    export_farm_init_with(farm, export_farm_keys, 1);
    begin_anew(farm, solvers, told);
    struct golden_summary summary = propose(farm);
    g_assert_cmpint(summary.version, ==, 1);
    approve(farm, &summary);
}

/* The solver's time in ms in the newest golden version. */
static double golden_ms(const struct export_farm *farm, const char *solver)
{
    g_autofree char *sql = g_strdup_printf(
        "SELECT median_ms FROM golden_rows WHERE until IS NULL AND rank = 0 AND solver = '%s'",
        solver);
    return ask(farm, sql);
}

static void measuring_again_replaces_a_lucky_golden_time(void)
{
    struct export_farm farm;
    begin(&farm, TUNED, (struct told){.tuned = 10, .other = 30});
    begin_anew(&farm, TUNED, (struct told){.tuned = 20, .other = 30});

    struct golden_summary summary = propose(&farm);
    g_assert_cmpint(summary.counts[GOLDEN_UNCONFIRMED], ==, 1);
    g_assert_cmpint(summary.disputes, ==, 1);
    g_assert_cmpint(summary.remeasure.asked, ==, 1);
    g_assert_cmpint(summary.version, ==, 0);
    golden_summary_clear(&summary);
    /* A second proposal before the round is measured queues nothing: the round is already under
     * way. */
    struct golden_wish at_once = standard;
    at_once.allow_incomplete = true;
    summary = propose_as(&farm, at_once);
    g_assert_cmpint(summary.remeasure.under_way, ==, 1);
    g_assert_cmpint(summary.remeasure.asked, ==, 0);
    golden_summary_clear(&summary);

    serve(&farm, (struct told){.tuned = 21, .other = 30});
    summary = propose(&farm);
    g_assert_cmpint(summary.counts[GOLDEN_CONFIRMED], ==, 1);
    g_assert_cmpint(summary.disputes, ==, 0);
    g_assert_cmpint(summary.version, ==, 2);
    approve(&farm, &summary);
    g_assert_cmpfloat(golden_ms(&farm, TUNED), ==, 21);
    /* A proposal without new results makes no version. */
    summary = propose(&farm);
    g_assert_cmpint(summary.version, ==, 0);
    golden_summary_clear(&summary);
    export_farm_clear(&farm);
}

static void a_lucky_campaign_does_not_replace_a_true_time(void)
{
    struct export_farm farm;
    begin(&farm, TUNED, (struct told){.tuned = 20, .other = 30});
    begin_anew(&farm, TUNED, (struct told){.tuned = 20, .other = 10});
    struct golden_summary summary = propose(&farm);
    g_assert_cmpint(summary.remeasure.asked, ==, 1);
    golden_summary_clear(&summary);
    serve(&farm, (struct told){.tuned = 20.5, .other = 30});
    summary = propose(&farm);
    g_assert_cmpint(summary.counts[GOLDEN_CONFIRMED], ==, 1);
    approve(&farm, &summary);
    g_assert_cmpfloat(golden_ms(&farm, TUNED), ==, 20.5);
    export_farm_clear(&farm);
}

/* The times of two rounds that measure both configs: the winner is chosen by the first round, and
 * gets its time from the second. */
struct turns {
    struct told of[2];
    int asked;
};

static double tell_in_turn(void *data, const struct job *job, const struct perf_config *config)
{
    struct turns *turns = data;
    int turn = turns->asked / 2;
    turns->asked++;
    return tell(&turns->of[MIN(turn, 1)], job, config);
}

static void a_winner_gets_its_time_from_the_round_after_it_won(void)
{
    struct export_farm farm;
    begin(&farm, TUNED, (struct told){.tuned = 20, .other = 30});
    begin_anew(&farm, TUNED, (struct told){.tuned = 20, .other = 10});
    struct golden_summary summary = propose(&farm);
    golden_summary_clear(&summary);
    struct turns turns = {
        .of = {{.tuned = 20, .other = 9}, {.tuned = 11, .other = 12}},
    };
    const struct export_farm_worker worker = {
        .configs = 2, .measure = tell_in_turn, .data = &turns};
    export_farm_serve(&farm, &worker);
    summary = propose(&farm);
    g_assert_cmpint(summary.counts[GOLDEN_BETTER], ==, 1);
    approve(&farm, &summary);
    g_assert_cmpfloat(golden_ms(&farm, TUNED), ==, 12);
    g_assert_cmpfloat(
        ask(&farm, "SELECT median_ms FROM golden_rows WHERE until IS NULL AND rank = 1"), ==, 11);
    export_farm_clear(&farm);
}

static void a_golden_config_that_fails_this_time_gives_way(void)
{
    struct export_farm farm;
    begin(&farm, TUNED, (struct told){.tuned = 30, .other = 10});
    begin_anew(&farm, TUNED, (struct told){.tuned = 30, .other = 20});
    struct golden_summary summary = propose(&farm);
    golden_summary_clear(&summary);
    serve(&farm, (struct told){.tuned = 30, .other = 0});
    summary = propose(&farm);
    g_assert_cmpint(summary.counts[GOLDEN_BASE_FAILED], ==, 1);
    approve(&farm, &summary);
    g_assert_cmpfloat(golden_ms(&farm, TUNED), ==, 30);
    export_farm_clear(&farm);
}

/* The campaign never tried the golden winner's solver: a job for that solver is added to the
 * campaign. */
static void a_new_winner_and_the_former_one_are_both_measured_again(void)
{
    struct export_farm farm;
    begin(&farm, NAIVE, (struct told){.naive = 15});
    begin_anew(&farm, TUNED, (struct told){.tuned = 10, .other = 12});
    struct golden_summary summary = propose(&farm);
    g_assert_cmpint(summary.version, ==, 0);
    g_assert_cmpint(summary.counts[GOLDEN_UNCONFIRMED], ==, 1);
    g_assert_cmpint(summary.disputes, ==, 2);
    g_assert_cmpint(summary.remeasure.asked, ==, 2);
    golden_summary_clear(&summary);
    serve(&farm, (struct told){.naive = 16, .tuned = 25, .other = 26});
    summary = propose(&farm);
    g_assert_cmpint(summary.counts[GOLDEN_NEW_SOLVER], ==, 1);
    g_assert_cmpint(summary.counts[GOLDEN_CONFIRMED], ==, 1);
    approve(&farm, &summary);
    g_assert_cmpfloat(golden_ms(&farm, NAIVE), ==, 16);
    g_assert_cmpfloat(golden_ms(&farm, TUNED), ==, 25);
    export_farm_clear(&farm);
}

static void a_new_solver_that_does_not_win_is_taken_at_once(void)
{
    struct export_farm farm;
    begin(&farm, NAIVE, (struct told){.naive = 15});
    begin_anew(&farm, TUNED, (struct told){.tuned = 20, .other = 25});
    struct golden_summary summary = propose(&farm);
    g_assert_cmpint(summary.counts[GOLDEN_NEW_SOLVER], ==, 1);
    g_assert_cmpint(summary.disputes, ==, 0);
    golden_summary_clear(&summary);
    export_farm_clear(&farm);
}

static void nothing_is_asked_and_nothing_taken_unless_it_is_wished(void)
{
    struct export_farm farm;
    begin(&farm, TUNED, (struct told){.tuned = 20, .other = 30});
    begin_anew(&farm, TUNED, (struct told){.tuned = 10, .other = 30});
    struct golden_wish wish = standard;
    wish.remeasure = false;
    struct golden_summary summary = propose_as(&farm, wish);
    g_assert_cmpint(summary.counts[GOLDEN_UNCONFIRMED], ==, 1);
    g_assert_cmpint(summary.disputes, ==, 1);
    g_assert_cmpint(summary.version, ==, 0);
    g_assert_cmpint((int)ask(&farm, "SELECT count(*) FROM bundles"), ==, 0);
    golden_summary_clear(&summary);
    wish.allow_unconfirmed = true;
    summary = propose_as(&farm, wish);
    g_assert_cmpint(summary.counts[GOLDEN_BETTER], ==, 1);
    g_assert_cmpint(summary.version, ==, 2);
    golden_summary_clear(&summary);
    export_farm_clear(&farm);
}

/* The verdict on a disagreement holds for one golden entry and one state of the campaign's job;
 * after each of these changes it is void. */
static void a_verdict_ends_with_its_golden_entry(void)
{
    static const char *const ends[] = {
        /* the golden version has another entry now */
        "UPDATE golden_rows SET since = 2, until = NULL",
        /* the campaign measured the job once more */
        "UPDATE job_ends SET rounds = rounds + 1",
        /* the device drifted during the round that decided */
        "UPDATE outcomes SET drift = 2 WHERE number = 1",
        /* the device was throttled by heat during that round */
        "DO $$ BEGIN PERFORM add_partition(id, 'round_conditions') FROM campaigns;"
        " INSERT INTO round_conditions (campaign_id, job_id, number, device, samples, throttle)"
        " SELECT campaign_id, job_id, number, 'GPU-a', 1, 2 FROM outcomes WHERE number = 1; END $$",
    };
    struct export_farm farm;
    begin(&farm, TUNED, (struct told){.tuned = 10, .other = 30});
    run(&farm, "INSERT INTO golden_versions SELECT (jsonb_populate_record(v,"
               " '{\"version\": 2, \"base\": 1}')).* FROM golden_versions v");
    begin_anew(&farm, TUNED, (struct told){.tuned = 20, .other = 30});
    struct golden_summary summary = propose(&farm);
    golden_summary_clear(&summary);
    serve(&farm, (struct told){.tuned = 20, .other = 30});
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        struct golden_wish wish = standard;
        wish.remeasure = false;
        run(&farm, "BEGIN");
        run(&farm, ends[i]);
        summary = propose_as(&farm, wish);
        g_assert_cmpint(summary.counts[GOLDEN_UNCONFIRMED], ==, 1);
        g_assert_cmpint(summary.disputes, ==, 1);
        golden_summary_clear(&summary);
        run(&farm, "ROLLBACK");
    }
    summary = propose(&farm);
    g_assert_cmpint(summary.counts[GOLDEN_CONFIRMED], ==, 1);
    golden_summary_clear(&summary);
    export_farm_clear(&farm);
}

/* ---- many proposals of equally fast kernels whose times are noisy ---- */

#define NOISE 0.05

static double noisy_ms(void *data, const struct job *job, const struct perf_config *config)
{
    GRand *rand = data;
    double sum = -6;
    (void)job;
    (void)config;
    for (int i = 0; i < 12; i++)
        sum += g_rand_double(rand);
    return 10 * (1 + NOISE * sum);
}

/* Measures all of the campaign's jobs again, so that its results are as independent as another
 * campaign's. */
static void measure_anew(const struct export_farm *farm, const struct export_farm_worker *worker)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) solvers = solver_pins();
    struct remeasure_counts counts;
    const struct remeasure_wish wish = {.what = REMEASURE_ALL,
                                        .solvers = (const char *const *)solvers};
    store_remeasure(farm->store, farm->campaign, &wish, &counts, &error);
    g_assert_no_error(error);
    g_assert_cmpint(counts.jobs, >, 0);
    export_farm_serve(farm, worker);
}

/* The golden times' mean relative error after `proposals` campaigns. Where campaign and golden
 * version disagree both are measured again, or with `unconfirmed` the faster time is taken at
 * once. */
static double mean_error(int proposals, bool unconfirmed)
{
    struct export_farm farm;
    GRand *rand = g_rand_new_with_seed(7);
    const struct export_farm_worker worker = {
        .configs = 2, .spread = NOISE, .measure = noisy_ms, .data = rand};
    struct golden_wish wish = standard;
    wish.allow_unconfirmed = unconfirmed;
    wish.remeasure = !unconfirmed;
    export_farm_init(&farm);
    export_farm_serve(&farm, &worker);
    for (int i = 0; i < proposals; i++) {
        bool again = true;
        if (i > 0)
            measure_anew(&farm, &worker);
        while (again) {
            struct golden_summary summary = propose_as(&farm, wish);
            again = summary.disputes > 0;
            approve(&farm, &summary);
            if (again)
                export_farm_serve(&farm, &worker);
        }
    }
    double error = ask(&farm, "SELECT avg(median_ms) / 10 - 1 FROM golden_rows"
                              " WHERE until IS NULL AND rank = 0");
    g_test_message(
        "%d entries are off by %.1f %% in the mean",
        (int)ask(&farm, "SELECT count(*) FROM golden_rows WHERE until IS NULL AND rank = 0"),
        error * 100);
    g_rand_free(rand);
    export_farm_clear(&farm);
    return error;
}

static void lucky_times_do_not_stay(void)
{
    g_assert_cmpfloat(fabs(mean_error(20, false)), <, 0.025);
    /* Proposals that take disagreements unconfirmed keep the minimum of all times: golden times
     * become too low. */
    g_assert_cmpfloat(mean_error(8, true), <, -0.05);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/golden_verdict/measuring_again_replaces_a_lucky_golden_time",
                    measuring_again_replaces_a_lucky_golden_time);
    g_test_add_func("/golden_verdict/a_lucky_campaign_does_not_replace_a_true_time",
                    a_lucky_campaign_does_not_replace_a_true_time);
    g_test_add_func("/golden_verdict/a_winner_gets_its_time_from_the_round_after_it_won",
                    a_winner_gets_its_time_from_the_round_after_it_won);
    g_test_add_func("/golden_verdict/a_golden_config_that_fails_this_time_gives_way",
                    a_golden_config_that_fails_this_time_gives_way);
    g_test_add_func("/golden_verdict/a_new_winner_and_the_former_one_are_both_measured_again",
                    a_new_winner_and_the_former_one_are_both_measured_again);
    g_test_add_func("/golden_verdict/a_new_solver_that_does_not_win_is_taken_at_once",
                    a_new_solver_that_does_not_win_is_taken_at_once);
    g_test_add_func("/golden_verdict/nothing_is_asked_and_nothing_taken_unless_it_is_wished",
                    nothing_is_asked_and_nothing_taken_unless_it_is_wished);
    g_test_add_func("/golden_verdict/a_verdict_ends_with_its_golden_entry",
                    a_verdict_ends_with_its_golden_entry);
    g_test_add_func("/golden_verdict/lucky_times_do_not_stay", lucky_times_do_not_stay);
    return g_test_run();
}
