/* Nights: found by name and date, worked on by one session at a time, with campaigns whose jobs each have a reason. */
#include "schema/results/store_nights.h"

#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"

#include <string.h>

static struct night *begin(Store *store, const char *date, bool *is_new)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreJson) file = json_pack("{s:s}", "name", "fleet");
    struct night *night = store_begin_night(store, "fleet", date, file, 2000000000, is_new, &error);
    g_assert_no_error(error);
    g_assert_nonnull(night);
    return night;
}

static bool take(Store *store, int64_t night)
{
    g_autoptr(GError) error = NULL;
    bool taken = false;
    store_take_night(store, night, "one process 7", &taken, &error);
    g_assert_no_error(error);
    return taken;
}

/* Begins a night of that date and takes it. Returns its id. */
static int64_t own(Store *store, const char *date)
{
    struct night *night = begin(store, date, NULL);
    int64_t id = night->id;
    g_assert_true(take(store, id));
    night_free(night);
    return id;
}

static void expect_error(bool done, GError **error, enum store_error code, const char *words)
{
    g_assert_false(done);
    g_assert_error(*error, STORE_ERROR, (int)code);
    g_assert_nonnull(strstr((*error)->message, words));
    g_clear_error(error);
}

static void the_same_name_and_date_find_the_same_night(void)
{
    g_autoptr(Store) store = scratch_store();
    bool is_new = false;
    struct night *first = begin(store, "2026-11-23", &is_new);
    g_assert_true(is_new);
    g_assert_cmpint(first->state, ==, NIGHT_PLANNING);
    g_assert_cmpint(first->deadline_unix, ==, 2000000000);
    g_assert_cmpstr(first->date, ==, "2026-11-23");

    g_autoptr(GError) error = NULL;
    g_autoptr(StoreJson) other = json_pack("{s:s}", "name", "changed since");
    struct night *again =
        store_begin_night(store, "fleet", "2026-11-23", other, 0, &is_new, &error);
    g_assert_no_error(error);
    g_assert_false(is_new);
    g_assert_cmpint(again->id, ==, first->id);
    g_assert_cmpint(again->deadline_unix, ==, 2000000000);
    g_assert_cmpstr(json_string_value(json_object_get(again->description, "name")), ==, "fleet");

    struct night *next = begin(store, "2026-11-24", &is_new);
    g_assert_true(is_new);
    g_assert_cmpint(next->id, !=, first->id);
    g_autoptr(GPtrArray) nights = store_list_nights(store, "fleet", 0, &error);
    g_assert_cmpuint(nights->len, ==, 2);
    g_assert_cmpint(((struct night *)nights->pdata[0])->id, ==, next->id);
    night_free(first);
    night_free(again);
    night_free(next);
}

static void one_session_works_on_a_night_and_its_end_frees_the_night(void)
{
    g_autoptr(Store) first = scratch_store();
    g_autoptr(GError) error = NULL;
    Store *second = store_open(scratch_db_url(), &error);
    struct night *night = begin(first, "2026-11-23", NULL);
    int64_t id = night->id;
    g_assert_false(night->is_running);
    night_free(night);
    g_assert_true(take(second, id));
    g_assert_true(take(second, id));
    g_assert_false(take(first, id));
    expect_error(store_move_night(first, id, NIGHT_PLANNING, NIGHT_TUNING, &error), &error,
                 STORE_ERROR_STATE, "does not work on it");
    night = store_get_night(first, id, &error);
    g_assert_true(night->is_running);
    g_assert_cmpstr(night->begun_by, ==, "one process 7");
    night_free(night);
    store_close(second);
    for (gint64 limit = patience_end(); !take(first, id) && g_get_monotonic_time() < limit;)
        g_usleep(10000);
    g_assert_true(store_move_night(first, id, NIGHT_PLANNING, NIGHT_TUNING, &error));
    g_assert_no_error(error);
    store_leave_night(first, id);
    night = store_get_night(first, id, &error);
    g_assert_false(night->is_running);
    night_free(night);
}

/* Otherwise each of thousands of jobs would look at each bundle. */
static void jobs_that_measure_again_are_found_by_a_hash(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) plan = store_run(
        store, &error, "EXPLAIN (COSTS OFF, VERBOSE) SELECT state FROM night_job_rows", "");
    g_assert_no_error(error);
    bool hashed = false;
    for (int i = 0; i < PQntuples(plan); i++)
        hashed = hashed || strstr(PQgetvalue(plan, i, 0), "(hashed SubPlan ") != NULL;
    g_assert_true(hashed);
}

static void forbidden_moves_are_refused(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    int64_t id = own(store, "2026-11-23");
    expect_error(store_move_night(store, id, NIGHT_PLANNING, NIGHT_EXPORTING, &error), &error,
                 STORE_ERROR_STATE, "cannot move from planning to exporting");
    expect_error(store_move_night(store, id, NIGHT_TUNING, NIGHT_GATHERING, &error), &error,
                 STORE_ERROR_STATE, "is planning");
    expect_error(store_move_night(store, 99, NIGHT_PLANNING, NIGHT_TUNING, &error), &error,
                 STORE_ERROR_NOT_FOUND, "no night 99");
    const enum night_state way[] = {NIGHT_PLANNING, NIGHT_REPORTING, NIGHT_TELLING, NIGHT_DONE};
    for (gsize i = 0; i + 1 < G_N_ELEMENTS(way); i++) {
        g_assert_true(store_move_night(store, id, way[i], way[i + 1], &error));
        g_assert_no_error(error);
    }
    g_autoptr(StoreJson) summary = json_pack("{s:s}", "report", "reports/x");
    g_assert_true(store_set_night_summary(store, id, summary, 3, true, &error));
    g_assert_no_error(error);
    struct night *night = store_get_night(store, id, &error);
    g_assert_cmpint(night->state, ==, NIGHT_DONE);
    g_assert_cmpint(night->ended_unix, >, 0);
    g_assert_cmpint(night->findings, ==, 3);
    g_assert_true(night->empty);
    g_assert_cmpstr(json_string_value(json_object_get(night->summary, "report")), ==, "reports/x");
    night_free(night);
}

static void steps_count_their_tries_and_keep_the_last_outcome(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    int64_t id = own(store, "2026-11-23");
    int tries = 0;
    g_assert_true(store_begin_night_step(store, id, NIGHT_PLANNING, &tries, &error));
    g_assert_true(store_end_night_step(store, id, NIGHT_PLANNING, true, "no such file", &error));
    g_assert_true(store_begin_night_step(store, id, NIGHT_PLANNING, &tries, &error));
    g_assert_cmpint(tries, ==, 2);
    g_autoptr(GPtrArray) open = store_list_night_steps(store, id, &error);
    const struct night_step *step = open->pdata[0];
    g_assert_cmpint(step->ended_unix, ==, 0);
    g_assert_false(step->failed);
    g_assert_true(store_end_night_step(store, id, NIGHT_PLANNING, false, "3 jobs", &error));
    g_assert_true(store_begin_night_step(store, id, NIGHT_TUNING, &tries, &error));
    g_autoptr(GPtrArray) steps = store_list_night_steps(store, id, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(steps->len, ==, 2);
    step = steps->pdata[0];
    g_assert_cmpint(step->step, ==, NIGHT_PLANNING);
    g_assert_cmpstr(step->detail, ==, "3 jobs");
    g_assert_cmpint(step->tries, ==, 2);
    g_assert_cmpint(step->ended_unix, >, 0);
}

/* Makes the night's campaign with so many jobs, of which job 0 has `cause`. Returns its id. */
static int64_t create(Store *store, int64_t night, const struct job_cause *cause, int jobs,
                      bool *existed, int *reused)
{
    static const struct job_cause plain = {.reason = 1, .detail = "ConvTest is new"};
    char name[] = "night", identity[] = "night", target[] = "gfx90a68", strategy[] = "random";
    g_autoptr(GError) error = NULL;
    struct job_plan plans[4];
    struct campaign campaign = {.name = name,
                                .identity = identity,
                                .target = target,
                                .strategy = strategy,
                                .round_configs = 4,
                                .night = night};
    for (int i = 0; i < jobs; i++) {
        plans[i] = (struct job_plan){.solver = "ConvTest",
                                     .revision = 1,
                                     .hash = "h1",
                                     .provider = "test",
                                     .algorithm = "Direct",
                                     .tunable = true,
                                     .priority = 1.0 / (i + 1),
                                     .multiplicity = i + 1,
                                     .cause = i == 0 ? cause : &plain};
        farm_problem(&plans[i].problem, 8 * (i + 1));
    }
    store_create_night_campaign(store, &campaign, plans, jobs, NULL, existed, reused, &error);
    g_assert_no_error(error);
    return campaign.id;
}

static const struct night_job_query all_jobs = {.reason = -1};

static GPtrArray *list(Store *store, const struct night_job_query *query)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *jobs = store_list_night_jobs(store, query, &error);
    g_assert_no_error(error);
    return jobs;
}

static void each_job_has_its_reason_and_the_campaign_is_made_once(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 2});
    farm_work(&farm, 0, false, 1);
    farm_work(&farm, 0, false, 1);
    int64_t night = own(farm.store, "2026-11-23");
    const struct job_cause cause = {.reason = 7, .detail = "90 days old", .again = true};
    bool existed = true;
    int reused = 0;
    int64_t campaign = create(farm.store, night, &cause, 2, &existed, &reused);
    g_assert_false(existed);
    g_assert_cmpint(reused, ==, 2);
    g_assert_cmpint(create(farm.store, night, &cause, 2, &existed, NULL), ==, campaign);
    g_assert_true(existed);

    g_autoptr(GPtrArray) jobs = list(farm.store, &all_jobs);
    g_assert_cmpuint(jobs->len, ==, 2);
    const struct night_job *job = jobs->pdata[0];
    g_assert_cmpint(job->reason, ==, 7);
    g_assert_cmpstr(job->detail, ==, "90 days old");
    g_assert_cmpstr(job->solver, ==, "ConvTest");
    g_assert_cmpstr(job->state, ==, "done");
    g_assert_cmpint(job->problem.c, ==, 8);
    g_assert_cmpint(job->campaign, ==, campaign);
    g_assert_true(job->again);
    g_assert_false(job->fresh);
    g_autoptr(GPtrArray) some = list(farm.store, &(struct night_job_query){.reason = 1});
    g_assert_cmpuint(some->len, ==, 1);
    g_autoptr(GPtrArray) none =
        list(farm.store, &(struct night_job_query){.reason = -1, .state = "unfinished"});
    g_assert_cmpuint(none->len, ==, 0);
    farm_clear(&farm);
}

static void a_fresh_job_takes_over_nothing(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 2});
    farm_work(&farm, 0, false, 1);
    farm_work(&farm, 0, false, 1);
    int64_t night = own(farm.store, "2026-11-23");
    const struct job_cause cause = {.reason = 5, .detail = "driver 535 -> 550", .fresh = true};
    int reused = 0;
    int64_t campaign = create(farm.store, night, &cause, 2, NULL, &reused);
    g_assert_cmpint(reused, ==, 1);
    g_autoptr(GPtrArray) rows = NULL;
    const struct job_row *row = farm_job_row(&farm, campaign, 0, &rows);
    g_assert_cmpstr(row->state, ==, "ready");
    g_assert_cmpint(row->configs_taken, ==, 0);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    g_assert_cmpint(job->problem.c, ==, 8);
    g_assert_cmpuint(job->rounds->len, ==, 0);
    job_free(job);
    farm_clear(&farm);
}

/* A job with rounds that is not finished is cut short, too: as fresh it begins anew. */
static void a_fresh_job_takes_over_no_single_config_either(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1, .configs_limit = 9, .budget_seconds = 10});
    farm_work(&farm, 0, true, 5);
    farm_work(&farm, 1, true, 6);
    farm_expect_campaign(&farm, farm.campaign, "done");
    for (int fresh = 0; fresh < 2; fresh++) {
        int64_t night = own(farm.store, fresh ? "2026-11-24" : "2026-11-23");
        const struct job_cause cause = {.reason = 5, .fresh = fresh};
        int64_t campaign = create(farm.store, night, &cause, 1, NULL, NULL);
        g_autoptr(GPtrArray) rows = NULL;
        const struct job_row *row = farm_job_row(&farm, campaign, 0, &rows);
        g_assert_cmpint(row->configs_taken, ==, fresh ? 0 : 4);
    }
    farm_clear(&farm);
}

static void what_the_deadline_cut_is_left_to_the_next_night(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, NULL);
    int64_t night = own(farm.store, "2026-11-23");
    const struct job_cause cause = {.reason = 1};
    int64_t campaign = create(farm.store, night, &cause, 2, NULL, NULL);
    farm_work(&farm, 0, false, 1);
    g_assert_true(store_end_night_jobs(farm.store, night, &error));
    g_assert_no_error(error);
    struct night *row = store_get_night(farm.store, night, &error);
    g_assert_cmpint(row->jobs, ==, 2);
    g_assert_cmpint(row->jobs_done, ==, 1);
    g_assert_cmpint(row->jobs_unfinished, ==, 1);
    night_free(row);

    int64_t next = own(farm.store, "2026-11-24");
    g_autoptr(GPtrArray) left =
        store_list_unfinished_jobs(farm.store, "fleet", "2026-11-24", "gfx90a68", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(left->len, ==, 1);
    g_assert_cmpint(((struct night_job *)left->pdata[0])->problem.c, ==, 16);
    g_autoptr(GPtrArray) elsewhere =
        store_list_unfinished_jobs(farm.store, "fleet", "2026-11-24", "gfx942", &error);
    g_assert_cmpuint(elsewhere->len, ==, 0);

    int ended = 0;
    g_assert_true(store_end_earlier_nights(farm.store, next, &ended, &error));
    g_assert_no_error(error);
    g_assert_cmpint(ended, ==, 1);
    farm_expect_campaign(&farm, campaign, "cancelled");
    int reused = 0;
    create(farm.store, next, &cause, 2, NULL, &reused);
    g_assert_cmpint(reused, ==, 1);
    farm_clear(&farm);
}

static void targets_name_their_campaigns(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    int64_t night = own(store, "2026-11-23");
    char name[] = "gfx90a68", stack[] = "driver >= 5";
    g_autoptr(StoreJson) plan = json_pack("{s:i}", "jobs", 1);
    struct night_target target = {.target = name, .stack = stack, .baseline = 3, .plan = plan};
    g_assert_true(store_put_night_target(store, night, &target, &error));
    target.baseline = 4;
    g_assert_true(store_put_night_target(store, night, &target, &error));
    int64_t campaign = create(store, night, &(struct job_cause){.reason = 1}, 1, NULL, NULL);
    g_autoptr(GPtrArray) targets = store_list_night_targets(store, night, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(targets->len, ==, 1);
    const struct night_target *row = targets->pdata[0];
    g_assert_cmpint(row->baseline, ==, 4);
    g_assert_cmpint(row->campaign, ==, campaign);
    g_assert_cmpint(row->backfill_campaign, ==, 0);
    g_assert_cmpint(json_integer_value(json_object_get(row->plan, "jobs")), ==, 1);
}

static void a_coordinator_runs_nights_a_reader_sees_them(void)
{
    struct role_farm roles;
    g_autoptr(GError) error = NULL;
    role_farm_make_logins();
    role_farm_init(&roles, 1);
    int64_t night = own(roles.boss, "2026-11-23");
    create(roles.boss, night, &(struct job_cause){.reason = 1}, 2, NULL, NULL);
    g_assert_true(store_move_night(roles.boss, night, NIGHT_PLANNING, NIGHT_TUNING, &error));
    g_assert_true(store_end_night_jobs(roles.boss, night, &error));
    g_assert_no_error(error);
    struct night *seen = store_get_night(roles.guest, night, &error);
    g_assert_no_error(error);
    g_assert_true(seen->is_running);
    g_assert_cmpint(seen->jobs_unfinished, ==, 2);
    night_free(seen);
    g_autoptr(GPtrArray) jobs = store_list_night_jobs(roles.guest, &all_jobs, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(jobs->len, ==, 2);
    bool taken;
    role_expect_refused(store_take_night(roles.guest, night, "me", &taken, &error), &error,
                        STORE_ERROR_ACCESS, "role");
    role_expect_refused(store_take_night(roles.farm.store, night, "me", &taken, &error), &error,
                        STORE_ERROR_ACCESS, "role");
    role_farm_clear(&roles);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/nights/the_same_name_and_date_find_the_same_night",
                    the_same_name_and_date_find_the_same_night);
    g_test_add_func("/nights/one_session_works_on_a_night_and_its_end_frees_the_night",
                    one_session_works_on_a_night_and_its_end_frees_the_night);
    g_test_add_func("/nights/jobs_that_measure_again_are_found_by_a_hash",
                    jobs_that_measure_again_are_found_by_a_hash);
    g_test_add_func("/nights/forbidden_moves_are_refused", forbidden_moves_are_refused);
    g_test_add_func("/nights/steps_count_their_tries_and_keep_the_last_outcome",
                    steps_count_their_tries_and_keep_the_last_outcome);
    g_test_add_func("/nights/each_job_has_its_reason_and_the_campaign_is_made_once",
                    each_job_has_its_reason_and_the_campaign_is_made_once);
    g_test_add_func("/nights/a_fresh_job_takes_over_nothing", a_fresh_job_takes_over_nothing);
    g_test_add_func("/nights/a_fresh_job_takes_over_no_single_config_either",
                    a_fresh_job_takes_over_no_single_config_either);
    g_test_add_func("/nights/what_the_deadline_cut_is_left_to_the_next_night",
                    what_the_deadline_cut_is_left_to_the_next_night);
    g_test_add_func("/nights/targets_name_their_campaigns", targets_name_their_campaigns);
    g_test_add_func("/nights/a_coordinator_runs_nights_a_reader_sees_them",
                    a_coordinator_runs_nights_a_reader_sees_them);
    return g_test_run();
}
