/* History: points of jobs by night, which stay when their campaign is dropped, and are thinned by age. */
#include "schema/results/store_history.h"

#include "schema/farm/upkeep.h"
#include "schema/results/store_remeasure.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_problems.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <string.h>

static void run(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(store, &error, sql, "");
    g_assert_no_error(error);
}

static char *ask(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(store, &error, sql, "");
    g_assert_no_error(error);
    return rows == NULL || PQntuples(rows) == 0 ? g_strdup("") : g_strdup(PQgetvalue(rows, 0, 0));
}

static void expect(Store *store, const char *sql, const char *expected)
{
    g_autofree char *found = ask(store, sql);
    g_assert_cmpstr(found, ==, expected);
}

static void gather(Store *store)
{
    g_autoptr(GError) error = NULL;
    store_gather_history(store, 0, NULL, &error);
    g_assert_no_error(error);
}

static void name_night(const struct farm *farm, const char *night)
{
    g_autoptr(GError) error = NULL;
    store_name_night(farm->store, farm->campaign, night, &error);
    g_assert_no_error(error);
}

#define ALL_POINTS                                                                                 \
    "SELECT coalesce(string_agg(concat_ws(' ', solver, night, config_text, median_ms, n,"          \
    " failure, wins, older, nights, node), '; ' ORDER BY problem_id, solver, night), '') FROM history_points"

static void ended_jobs_become_points_of_their_night(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 2});
    name_night(&farm, "2027-03-05");
    farm_work(&farm, 0, false, 1);
    gather(farm.store);
    expect(farm.store, ALL_POINTS, "ConvTest 2027-03-05 0,0 2 10 0 t f 1 one");
    gather(farm.store);
    expect(farm.store, "SELECT count(*) FROM history", "1");
    farm_work(&farm, 0, false, 1);
    gather(farm.store);
    expect(farm.store, "SELECT count(*) FROM history", "2");
    farm_clear(&farm);
}

static void a_dropped_campaign_loses_no_point(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 3});
    name_night(&farm, "2027-03-05");
    farm_work(&farm, 0, false, 1);
    farm_work(&farm, 0, false, 1);
    farm_change(&farm, "drop");
    expect(farm.store, "SELECT count(*) FROM campaigns", "0");
    expect(farm.store, ALL_POINTS,
           "ConvTest 2027-03-05 0,0 2 10 0 t f 1 one; ConvTest 2027-03-05 0,0 2 10 0 t f 1 one");
    run(farm.store, "DELETE FROM workers");
    expect(farm.store, "SELECT count(*) FROM history_points WHERE night = '2027-03-05'", "2");
    farm_clear(&farm);
}

/* ---- measured again, taken over, failed ---- */

static void remeasure(struct farm *farm, double ms)
{
    g_autoptr(GError) error = NULL;
    struct remeasure_counts counts = {0};
    const struct remeasure_wish wish = {.what = REMEASURE_ALL, .solvers = farm_carried};
    store_remeasure(farm->store, farm->campaign, &wish, &counts, &error);
    g_assert_no_error(error);
    g_assert_cmpint(counts.jobs, ==, 1);
    struct job *job = farm_claim_one(farm, 0, POOL_BUILD);
    struct round *round = farm_make_round((int)job->rounds->len);
    round->config_count = 1;
    round->configs[0] = g_array_index(job->wish, struct perf_config, 0);
    store_built(farm->store, job, round, &error);
    g_assert_no_error(error);
    job_free(job);
    job = farm_claim_one(farm, 1, POOL_EVAL);
    farm_evaluate(round, ms);
    char text[CONFIG_TEXT_MAX];
    struct kept kept = farm_make_kept(round);
    kept.config_text = (char *)perf_config_format(&round->configs[0], text);
    store_round(farm->store, job, round, &kept, 1, false, 1, &error);
    g_assert_no_error(error);
    round->config_count = 2;
    round_free(round);
    job_free(job);
}

static void a_job_measured_again_gets_the_point_of_that_night(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    name_night(&farm, "2027-03-05");
    farm_work(&farm, 0, false, 1);
    gather(farm.store);
    name_night(&farm, "2027-03-09");
    remeasure(&farm, 7);
    expect(farm.store, "SELECT count(*) FROM history", "1");
    gather(farm.store);
    expect(farm.store, ALL_POINTS,
           "ConvTest 2027-03-05 0,0 2 10 0 t f 1 one; ConvTest 2027-03-09 0,0 7 10 0 t f 1 two");
    name_night(&farm, "2027-03-09");
    remeasure(&farm, 8);
    gather(farm.store);
    expect(farm.store, ALL_POINTS,
           "ConvTest 2027-03-05 0,0 2 10 0 t f 1 one; ConvTest 2027-03-09 0,0 8 10 0 t f 1 two");
    farm_clear(&farm);
}

/* An older campaign that measures in the same night does not take the newer one's point. */
static void a_point_of_a_newer_campaign_stays(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    name_night(&farm, "2027-03-05");
    farm_work(&farm, 0, false, 1);
    gather(farm.store);
    run(farm.store, "UPDATE history SET campaign_id = campaign_id + 1");
    name_night(&farm, "2027-03-05");
    remeasure(&farm, 7);
    gather(farm.store);
    expect(farm.store, ALL_POINTS, "ConvTest 2027-03-05 0,0 2 10 0 t f 1 one");
    farm_clear(&farm);
}

static void without_a_named_night_the_day_12_hours_before_counts(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, false, 1);
    run(farm.store, "UPDATE deliveries SET at = '2027-03-06 02:00'");
    gather(farm.store);
    expect(farm.store, "SELECT night FROM history", "2027-03-05");
    farm_clear(&farm);
}

static void a_job_that_took_its_answer_over_has_no_point(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, false, 1);
    gather(farm.store);
    int reused = 0;
    int64_t second =
        farm_create(farm.store, &(struct order){.jobs = 1, .configs_limit = 0}, &reused);
    g_assert_cmpint(reused, ==, 1);
    gather(farm.store);
    g_autofree char *sql = g_strdup_printf(
        "SELECT count(*) FROM history WHERE campaign_id = %" G_GINT64_FORMAT, second);
    expect(farm.store, sql, "0");
    expect(farm.store, "SELECT count(*) FROM history", "1");
    farm_clear(&farm);
}

static void a_failed_job_is_a_point_without_a_time(void)
{
    g_autoptr(GError) error = NULL;
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    name_night(&farm, "2027-03-05");
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    store_fail_job(farm.store, job, FAILURE_COMPILE_ERROR, "no", &error);
    g_assert_no_error(error);
    job_free(job);
    gather(farm.store);
    expect(farm.store, ALL_POINTS, "ConvTest 2027-03-05  0 0 2 f f 1 one");
    farm_clear(&farm);
}

static void upkeep_gathers_campaigns_from_before_the_history(void)
{
    g_autoptr(GError) error = NULL;
    struct upkeep_report report;
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 2});
    farm_work(&farm, 0, false, 1);
    farm_work(&farm, 0, false, 1);
    run(farm.store, "DELETE FROM history_marks");
    g_assert_true(upkeep_run(farm.store, &UPKEEP_DEFAULTS, &report, &error));
    g_assert_no_error(error);
    expect(farm.store, "SELECT count(*) FROM history", "2");
    expect(farm.store, "SELECT final::text || whole FROM history_marks", "truetrue");
    farm_clear(&farm);
}

/* ---- several sessions ---- */

static Store *other_session(void)
{
    g_autoptr(GError) error = NULL;
    Store *store = store_open(scratch_db_url(), &error);
    g_assert_no_error(error);
    return store;
}

/* The statement waits for another session, whose end it does not see. */
static void expect_waits(Store *store, const char *sql)
{
    g_autofree char *block =
        g_strdup_printf("DO $do$ BEGIN SET LOCAL lock_timeout = '50ms'; PERFORM %s;"
                        " RAISE 'it waited for nobody';"
                        " EXCEPTION WHEN lock_not_available THEN NULL; END $do$",
                        sql);
    run(store, block);
}

/* Without turns, two sessions that gather different solvers of one problem would each count their own solver as the
 * winner. */
static void sessions_that_gather_or_thin_take_turns(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 2});
    farm_work(&farm, 0, false, 1);
    farm_work(&farm, 0, false, 1);
    /* Texts that both points have lock nothing: another campaign has brought them. */
    run(farm.store, "SELECT history_text_ids(ARRAY['0,0', 'one', 'clang 15.0.6'])");
    g_autoptr(Store) other = other_session();
    const char *const second =
        "gather_history(c.id, (SELECT min(id) FROM jobs), 1) FROM campaigns c";
    run(farm.store, "BEGIN");
    run(farm.store, "SELECT gather_history(c.id, 0, 1) FROM campaigns c");
    expect_waits(other, second);
    expect_waits(other, "thin_history('week', '2020-01-06', '2020-02-03', 0, 100)");
    run(farm.store, "COMMIT");
    g_autofree char *again = g_strconcat("SELECT ", second, NULL);
    run(other, again);
    expect(farm.store, "SELECT count(*) FROM history", "2");
    farm_clear(&farm);
}

/* A campaign that is marked as gathered to its end while another session lets it work again would never be
 * gathered again. */
static void a_campaign_that_works_again_meanwhile_is_not_marked_as_final(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, false, 1);
    g_autoptr(Store) other = other_session();
    const char *const mark = "mark_history(c.id, history_progress(c.id)) FROM campaigns c";
    run(farm.store, "BEGIN");
    run(farm.store, "UPDATE campaigns SET state = 'active'");
    expect_waits(other, mark);
    run(farm.store, "COMMIT");
    run(other, "SELECT mark_history(c.id, history_progress(c.id)) FROM campaigns c");
    expect(farm.store, "SELECT final FROM history_marks", "f");
    farm_clear(&farm);
}

static void a_campaign_that_is_cancelled_after_it_was_gathered_is_counted_once_more(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 2});
    farm_work(&farm, 0, false, 1);
    gather(farm.store);
    expect(farm.store, "SELECT count(*) FROM history_to_gather(0)", "0");
    farm_change(&farm, "cancel");
    gather(farm.store);
    expect(farm.store, "SELECT final FROM history_marks", "t");
    expect(farm.store, "SELECT count(*) FROM history_to_gather(0)", "0");
    farm_clear(&farm);
}

/* ---- points without a farm ---- */

/* Puts a point of the first problem; config and stack are texts. */
static void put(Store *store, const char *solver, const char *night, const char *config,
                const char *stack, double ms)
{
    g_autofree char *sql = g_strdup_printf(
        "INSERT INTO history (series, night, campaign_id, version, config, stack, node, median_ms, spread,"
        " fastest_ms, slowest_ms, drift, n, sm_mhz_min, sm_mhz_max, throttle, failure, older)"
        " SELECT s.id, '%s', 1, v.id, t[1], t[2], t[3], %f, 0.1, %f, %f, 1, 100, 0, 0, 0, %d, false"
        " FROM history_series s, history_versions v, history_text_ids(ARRAY['%s', '%s', 'node']) AS t"
        " WHERE s.solver = '%s' LIMIT 1",
        night, ms, ms, ms, ms > 0 ? 0 : 9, config, stack, solver);
    run(store, sql);
}

/* A store with series of two solvers for one problem. */
static Store *store_with_series(void)
{
    g_autoptr(GError) error = NULL;
    Store *store = scratch_store();
    struct problem p;
    int64_t id;
    farm_problem(&p, 8);
    g_assert_true(store_put_problems(store, &p, 1, NULL, &id, &error));
    run(store, "INSERT INTO solvers (provider, name, revision, hash, algorithm, dynamic, tunable)"
               " VALUES ('us', 'ConvOne', 1, 'h', 'direct', false, true)");
    run(store, "INSERT INTO history_versions (solver_id) SELECT id FROM solvers");
    run(store,
        "INSERT INTO history_series (target, problem_id, solver)"
        " SELECT 'gfx90a68', p.id, s FROM problems p, unnest(ARRAY['ConvOne', 'ConvTwo']) AS s");
    return store;
}

static int64_t thin(Store *store, const char *today)
{
    g_autoptr(GError) error = NULL;
    int64_t dropped = 0;
    store_thin_history(store, today, NULL, &dropped, &error);
    g_assert_no_error(error);
    return dropped;
}

/* Puts a point on each of `days` days from the night on. */
static void put_days(Store *store, const char *solver, const char *first, int days)
{
    g_autofree char *sql = g_strdup_printf(
        "INSERT INTO history (series, night, campaign_id, version, config, stack, node, median_ms, spread,"
        " fastest_ms, slowest_ms, drift, n, sm_mhz_min, sm_mhz_max, throttle, failure, older)"
        " SELECT s.id, d::date, 1, v.id, t[1], t[2], t[3], 1 + m, 0.1, 1 + m, 1 + m, 1, 100, 0, 0, 0, 0, false"
        " FROM history_series s, history_versions v, history_text_ids(ARRAY['4,4', 'clang 15', 'node']) AS t,"
        "  generate_series('%s'::date, '%s'::date + %d, '1 day') AS d,"
        "  LATERAL (SELECT extract(day FROM d) / 100 AS m) AS o WHERE s.solver = '%s'",
        first, first, days - 1, solver);
    run(store, sql);
}

static void old_nights_are_thinned_to_the_first_of_their_week_then_month(void)
{
    g_autoptr(Store) store = store_with_series();
    put_days(store, "ConvOne", "2027-01-01", 400); /* a Friday, to 2028-02-04 */
    g_assert_cmpint(thin(store, "2027-03-31"), ==, 0);
    /* 2027-11-05 is 90 days after 2027-08-07, in the week from 2027-08-02. */
    g_assert_cmpint(thin(store, "2027-11-05"), >, 0);
    expect(store, "SELECT count(*) FROM history WHERE night >= '2027-08-02'", "187");
    expect(store,
           "SELECT string_agg(night::text, ' ' ORDER BY night) FROM history"
           " WHERE night BETWEEN '2027-01-01' AND '2027-01-31'",
           "2027-01-01 2027-01-04 2027-01-11 2027-01-18 2027-01-25");
    expect(
        store,
        "SELECT concat_ws(' ', nights, fastest_ms, slowest_ms) FROM history WHERE night = '2027-01-04'",
        "7 1.04 1.1");
    g_assert_cmpint(thin(store, "2027-11-05"), ==, 0);
    expect(store, "SELECT sum(nights) FROM history", "400");
    /* 2029-02-15 is 730 days after 2027-02-16. */
    g_assert_cmpint(thin(store, "2029-02-15"), >, 0);
    expect(
        store,
        "SELECT string_agg(night::text, ' ' ORDER BY night) FROM history WHERE night < '2027-02-10'",
        "2027-01-01 2027-02-01 2027-02-08");
    expect(store, "SELECT sum(nights) FROM history", "400");
    expect(
        store,
        "SELECT concat_ws(' ', nights, fastest_ms, slowest_ms) FROM history WHERE night = '2027-01-01'",
        "31 1.01 1.31");
}

static void nights_of_changes_stay_for_ever(void)
{
    g_autoptr(Store) store = store_with_series();
    put(store, "ConvOne", "2027-01-04", "4", "clang 15", 1);
    put(store, "ConvOne", "2027-01-05", "4", "clang 15", 1);
    put(store, "ConvOne", "2027-01-06", "8", "clang 15", 1);
    put(store, "ConvOne", "2027-01-07", "8", "clang 16", 1);
    put(store, "ConvOne", "2027-01-08", "8", "clang 16", 0);
    put(store, "ConvOne", "2027-01-09", "8", "clang 16", 1);
    put(store, "ConvOne", "2027-01-10", "8", "clang 16", 2);
    run(store, "UPDATE history SET wins = true WHERE night = '2027-01-10'");
    g_assert_cmpint(thin(store, "2037-01-01"), ==, 1);
    expect(store, "SELECT string_agg(right(night::text, 2), ' ' ORDER BY night) FROM history",
           "04 06 07 08 09 10");
}

static void a_shorter_retention_counts_from_the_next_thinning(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = store_with_series();
    struct history_retention retention = {0};
    g_assert_true(store_history_retention(store, &retention, &error));
    g_assert_cmpint(retention.dense_days, ==, HISTORY_RETENTION_DEFAULT.dense_days);
    g_assert_cmpint(retention.weekly_days, ==, HISTORY_RETENTION_DEFAULT.weekly_days);
    put_days(store, "ConvOne", "2027-01-04", 28);
    g_assert_cmpint(thin(store, "2027-02-15"), ==, 0);
    retention = (struct history_retention){.dense_days = 14, .weekly_days = 30};
    g_assert_true(store_set_history_retention(store, &retention, &error));
    g_assert_cmpint(thin(store, "2027-02-15"), ==, 24);
    retention.weekly_days = 3;
    g_assert_false(store_set_history_retention(store, &retention, &error));
    g_assert_nonnull(error);
}

static void a_point_from_before_the_last_thinning_is_thinned_too(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    run(farm.store,
        "UPDATE history_retention SET weeks_done = '2027-06-07', months_done = '2027-05-01'");
    name_night(&farm, "2027-01-06");
    farm_work(&farm, 0, false, 1);
    gather(farm.store);
    expect(farm.store, "SELECT concat_ws(' ', weeks_done, months_done) FROM history_retention",
           "2027-01-04 2027-01-01");
    /* Points that were gathered whole and thinned since do not come back. */
    run(farm.store,
        "UPDATE history_retention SET weeks_done = '2027-06-07', months_done = '2027-05-01'");
    run(farm.store, "DELETE FROM history");
    run(farm.store, "UPDATE history_marks SET final = false, progress = -1");
    gather(farm.store);
    expect(farm.store, "SELECT count(*) FROM history", "0");
    farm_clear(&farm);
}

static void the_winner_is_the_fastest_of_the_newest_points(void)
{
    g_autoptr(Store) store = store_with_series();
    put(store, "ConvOne", "2027-01-04", "4", "clang 15", 1);
    put(store, "ConvTwo", "2027-01-04", "4", "clang 15", 2);
    put(store, "ConvOne", "2027-01-05", "4", "clang 15", 3);
    put(store, "ConvTwo", "2027-01-06", "4", "clang 15", 2);
    put(store, "ConvOne", "2027-01-07", "4", "clang 15", 0);
    run(store, "SELECT set_history_winners('gfx90a68', array_agg(s.problem_id), array_agg(h.night))"
               " FROM history h JOIN history_series s ON s.id = h.series");
    expect(
        store,
        "SELECT string_agg(concat(solver, ' ', right(night::text, 2), ' ', wins), ', ' ORDER BY night, solver)"
        " FROM history_points",
        "ConvOne 04 t, ConvTwo 04 f, ConvOne 05 f, ConvTwo 06 t, ConvOne 07 f");
}

/* A config that a second measurement chose wins over a faster one of its own campaign, but not over a faster one of
 * another campaign. */
static void the_winner_is_the_chosen_one_of_the_fastest_ones_campaign(void)
{
    g_autoptr(Store) store = store_with_series();
    put(store, "ConvOne", "2027-01-04", "4", "clang 15", 2);
    put(store, "ConvTwo", "2027-01-04", "4", "clang 15", 2.02);
    put(store, "ConvOne", "2027-01-05", "4", "clang 15", 1.9);
    run(store,
        "UPDATE history h SET low_ms = 2.01, high_ms = 2.03, chosen = true FROM history_series s"
        " WHERE s.id = h.series AND s.solver = 'ConvTwo'");
    run(store, "UPDATE history SET campaign_id = 2 WHERE night = '2027-01-05'");
    run(store, "SELECT set_history_winners('gfx90a68', array_agg(s.problem_id), array_agg(h.night))"
               " FROM history h JOIN history_series s ON s.id = h.series");
    expect(
        store,
        "SELECT string_agg(concat(solver, ' ', right(night::text, 2), ' ', wins), ', ' ORDER BY night, solver)"
        " FROM history_points",
        "ConvOne 04 f, ConvTwo 04 t, ConvOne 05 t");
    expect(
        store,
        "SELECT concat(low_ms, ' ', high_ms, ' ', is_second) FROM history_points WHERE solver = 'ConvTwo'",
        "2.01 2.03 t");
    expect(store, "SELECT count(*) FROM history_points WHERE NOT is_second AND low_ms < median_ms",
           "2");
}

/* A campaign may be gathered after others that measured later. */
static void a_point_that_comes_late_takes_the_win_from_later_nights(void)
{
    g_autoptr(Store) store = store_with_series();
    put(store, "ConvTwo", "2027-01-02", "4", "clang 15", 2);
    put(store, "ConvTwo", "2027-01-06", "4", "clang 15", 2);
    put(store, "ConvTwo", "2027-01-07", "4", "clang 15", 2);
    run(store, "UPDATE history SET wins = true");
    run(store, "UPDATE history_retention SET weeks_done = '2027-01-07'");
    put(store, "ConvOne", "2027-01-04", "4", "clang 15", 1);
    run(store,
        "SELECT set_history_winners('gfx90a68', ARRAY[id], ARRAY['2027-01-04'::date]) FROM problems");
    /* The nights before the 7th were thinned: their winners stay. */
    expect(
        store,
        "SELECT string_agg(concat(solver, ' ', right(night::text, 2), ' ', wins), ', ' ORDER BY night, solver)"
        " FROM history_points",
        "ConvTwo 02 t, ConvOne 04 t, ConvTwo 06 t, ConvTwo 07 f");
}

/* ---- reading ---- */

static void expect_points(GPtrArray *points, const char *expected)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_assert_nonnull(points);
    for (guint i = 0; i < points->len; i++) {
        const struct history_point *point = points->pdata[i];
        g_string_append_printf(text, "%s%s %s %.3g", i > 0 ? ", " : "", point->solver, point->night,
                               point->median_ms);
    }
    g_assert_cmpstr(text->str, ==, expected);
}

static void the_latest_state_is_the_newest_point_before_a_night(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = store_with_series();
    put(store, "ConvOne", "2027-01-04", "4", "clang 15", 1);
    put(store, "ConvOne", "2027-01-05", "4", "clang 15", 2);
    put(store, "ConvOne", "2027-01-07", "4", "clang 15", 3);
    put(store, "ConvTwo", "2027-01-03", "4", "clang 15", 4);
    g_autoptr(GPtrArray) newest =
        store_newest_history(store, "gfx90a68", NULL, "2027-01-07", 1, &error);
    expect_points(newest, "ConvOne 2027-01-05 2, ConvTwo 2027-01-03 4");
    g_autoptr(GPtrArray) several = store_newest_history(store, "gfx90a68", NULL, NULL, 2, &error);
    expect_points(several, "ConvOne 2027-01-07 3, ConvOne 2027-01-05 2, ConvTwo 2027-01-03 4");
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_autoptr(GPtrArray) nothing = store_newest_history(store, "gfx90a68", none, NULL, 2, &error);
    expect_points(nothing, "");
    g_autofree char *problem = ask(store, "SELECT id FROM problems");
    const int64_t id = g_ascii_strtoll(problem, NULL, 10);
    g_array_append_val(none, id);
    g_autoptr(GPtrArray) one = store_newest_history(store, "gfx90a68", none, NULL, 1, &error);
    expect_points(one, "ConvOne 2027-01-07 3, ConvTwo 2027-01-03 4");
    g_autoptr(GPtrArray) listed =
        store_list_history(store, id, "gfx90a68", "ConvOne", "2027-01-05", &error);
    expect_points(listed, "ConvOne 2027-01-05 2, ConvOne 2027-01-07 3");
    const struct history_point *point = listed->pdata[0];
    g_assert_cmpstr(point->stack, ==, "clang 15");
    g_assert_cmpstr(point->config, ==, "4");
    g_assert_cmpstr(point->node, ==, "node");
    g_assert_cmpstr(point->hash, ==, "h");
    g_assert_cmpint(point->revision, ==, 1);
    /* 1.57 * 0.1 / sqrt(100) of the median. */
    g_assert_cmpfloat_with_epsilon(point->low_ms, 2 * (1 - 0.0157), 1e-6);
    g_assert_cmpfloat_with_epsilon(point->high_ms, 2 * (1 + 0.0157), 1e-6);
    g_assert_no_error(error);
}

static void coordinators_gather_and_readers_read(void)
{
    g_autoptr(GError) error = NULL;
    struct role_farm f;
    role_farm_make_logins();
    role_farm_init(&f, 1);
    farm_work(&f.farm, 0, false, 1);
    g_assert_true(store_gather_history(f.boss, 0, NULL, &error));
    g_assert_no_error(error);
    g_autoptr(GPtrArray) points = store_newest_history(f.guest, "gfx90a68", NULL, NULL, 1, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(points->len, ==, 1);
    int64_t dropped;
    g_assert_true(store_thin_history(f.boss, NULL, NULL, &dropped, &error));
    role_expect_refused(store_gather_history(f.guest, 0, NULL, &error), &error, STORE_ERROR_ACCESS,
                        "history_to_gather");
    role_farm_clear(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(path, function) g_test_add_func("/history/" path "/" #function, function)
    TEST("gather", ended_jobs_become_points_of_their_night);
    TEST("gather", a_dropped_campaign_loses_no_point);
    TEST("gather", a_job_measured_again_gets_the_point_of_that_night);
    TEST("gather", a_point_of_a_newer_campaign_stays);
    TEST("gather", without_a_named_night_the_day_12_hours_before_counts);
    TEST("gather", a_job_that_took_its_answer_over_has_no_point);
    TEST("gather", a_failed_job_is_a_point_without_a_time);
    TEST("gather", upkeep_gathers_campaigns_from_before_the_history);
    TEST("gather", the_winner_is_the_fastest_of_the_newest_points);
    TEST("gather", the_winner_is_the_chosen_one_of_the_fastest_ones_campaign);
    TEST("gather", a_point_that_comes_late_takes_the_win_from_later_nights);
    TEST("gather", sessions_that_gather_or_thin_take_turns);
    TEST("gather", a_campaign_that_works_again_meanwhile_is_not_marked_as_final);
    TEST("gather", a_campaign_that_is_cancelled_after_it_was_gathered_is_counted_once_more);
    TEST("gather", coordinators_gather_and_readers_read);
    TEST("thin", old_nights_are_thinned_to_the_first_of_their_week_then_month);
    TEST("thin", nights_of_changes_stay_for_ever);
    TEST("thin", a_shorter_retention_counts_from_the_next_thinning);
    TEST("thin", a_point_from_before_the_last_thinning_is_thinned_too);
    TEST("read", the_latest_state_is_the_newest_point_before_a_night);
    return g_test_run();
}
