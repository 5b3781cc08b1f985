/* A night's plan on a database: exactly the jobs that have a reason, the most important first, and nothing is changed by
 * planning. Workers and measurements go through the real queue; only what they measure is made up. */
#include "coordinator/nights/plan/night_plan.h"

#include "coordinator/nights/plan/night_show.h"
#include "schema/results/store_history.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <locale.h>
#include <string.h>

#define TARGET  "gfx90a68"
#define NIGHT   "2026-11-23"
#define BUILDER "clang 19.1.7 Debian"
#define DEVICE  "hip 6.2; driver 6.10.5"
#define KEY_A   "64-28-28-1x1-64-28-28-1-0x0-1x1-1x1-0-NCHW-FP32-F"
#define KEY_B   "32-14-14-1x1-32-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F"
#define QUIET   ", \"again\": {\"sample\": 0, \"older_than_days\": 100, \"retries\": 1}"
/* each solver serves both problems */
#define PAIRS   6

struct fixture {
    Store *store;
    TempFolder *folder;
    int64_t worker;
    struct night_file *file;
    struct night_sources *sources;
    struct night_plan *plan; /* of the last plan_night() */
};

static void describe(struct fixture *f, const char *target, const char *more)
{
    g_autoptr(GError) error = NULL;
    const char *list = temp_folder_write(f->folder, "list.txt", KEY_A "\n" KEY_B "\n", -1);
    g_autofree char *text = g_strdup_printf(
        "{\"name\": \"n\", \"targets\": [\"%s\"], \"problems\": [{\"file\": \"%s\"}], \"solvers\": "
        "[\"ConvDirectNaive\", \"ConvGemm1x1\", \"ConvImplicitGemm\"]%s}",
        target, list, more);
    json_t *json = json_loads(text, 0, NULL);
    night_sources_free(f->sources);
    night_file_free(f->file);
    f->file = night_file_from_json("night.json", json, &error);
    g_assert_no_error(error);
    json_decref(json);
    f->sources = night_sources_read(f->store, f->file, &error);
    g_assert_no_error(error);
}

/* Begins the worker of the only node anew, with this software. */
static void start_worker(struct fixture *f, const char *builder, const char *device)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *stack = g_strdup_printf("%s; %s", device, builder);
    const struct worker_device has = {.device = "hip:0",
                                      .name = "GPU",
                                      .target = TARGET,
                                      .uuid = "",
                                      .address = "",
                                      .partition = "",
                                      .stack = device};
    const struct worker_info info = {.node = "one",
                                     .process = "p",
                                     .target = TARGET,
                                     .stack = stack,
                                     .devices = &has,
                                     .device_count = 1};
    g_assert_true(store_register_worker(f->store, &info, &f->worker, &error));
    g_assert_no_error(error);
}

static void set_up(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->store = scratch_store();
    f->folder = temp_folder_new();
    start_worker(f, BUILDER, DEVICE);
    describe(f, TARGET, QUIET);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    (void)data;
    night_plan_free(f->plan);
    night_sources_free(f->sources);
    night_file_free(f->file);
    temp_folder_free(f->folder);
    store_close(f->store);
}

/* Plans in a transaction that refuses every change, twice: equal inputs give equal plans. */
static const struct night_target_plan *plan_night(struct fixture *f, const char *night)
{
    g_autoptr(GError) error = NULL;
    night_plan_free(f->plan);
    g_assert_true(store_begin_reading(f->store, &error));
    f->plan = night_plan_new(f->store, f->file, f->sources, night, &error);
    g_assert_no_error(error);
    struct night_plan *again = night_plan_new(f->store, f->file, f->sources, night, &error);
    g_assert_no_error(error);
    g_assert_true(store_end(f->store, false, &error));
    json_t *first = night_target_plan_json(f->plan->targets->pdata[0]);
    json_t *second = night_target_plan_json(again->targets->pdata[0]);
    g_assert_true(json_equal(first, second));
    json_decref(first);
    json_decref(second);
    night_plan_free(again);
    return f->plan->targets->pdata[0];
}

static const struct planned_job *job_at(const struct night_target_plan *plan, guint i)
{
    g_assert_cmpuint(i, <, plan->jobs->len);
    return &g_array_index(plan->jobs, struct planned_job, i);
}

/* "name:revision:hash" of every solver, also of the revision before. Free with g_strfreev(). */
static char **carried(void)
{
    g_autoptr(GStrvBuilder) all = g_strv_builder_new();
    for (int i = 0; i < solver_table_count; i++)
        for (int back = 0; back < 2; back++) {
            const struct solver *solver = solver_table[i];
            g_autofree char *name = g_strdup_printf("%s:%d:%s", solver->name,
                                                    solver->revision - back, solver_hash(solver));
            g_strv_builder_add(all, name);
        }
    return g_strv_builder_end(all);
}

static struct job *claim(struct fixture *f, enum pool pool)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) solvers = carried();
    const struct claim wish = {.worker = f->worker,
                               .pool = pool,
                               .solvers = (const char *const *)solvers,
                               .target = TARGET,
                               .batch = 1,
                               .lease_seconds = 60};
    g_autoptr(GPtrArray) jobs = store_claim(f->store, &wish, &error);
    g_assert_no_error(error);
    return jobs->len == 0 ? NULL : g_ptr_array_steal_index(jobs, 0);
}

/* A worker's result of a job: a time with this spread, or a failure. */
struct outcome_made_up {
    double spread;
    enum failure failure;
};

static void work(struct fixture *f, struct job *job, const struct outcome_made_up *made)
{
    g_autoptr(GError) error = NULL;
    struct round *round = farm_make_round(0);
    g_free(round->stack);
    round->stack = g_strdup(BUILDER "; " DEVICE);
    if (made->failure != FAILURE_NONE) {
        store_fail_job(f->store, job, made->failure, "made up", &error);
        g_assert_no_error(error);
    } else {
        store_built(f->store, job, round, &error);
        g_assert_no_error(error);
        job_free(job);
        job = claim(f, POOL_EVAL);
        farm_evaluate(round, 2);
        round->outcomes[0].spread = made->spread;
        const struct kept kept = farm_make_kept(round);
        store_round(f->store, job, round, &kept, 1, false, 0.5, &error);
        g_assert_no_error(error);
    }
    round_free(round);
    job_free(job);
}

/* Tunes the plan's jobs in a night: a campaign, its jobs, and the points of their history. older: this solver's jobs
 * are of the revision before. */
static void do_night(struct fixture *f, const struct night_target_plan *plan, const char *night,
                     const char *older, const struct outcome_made_up *made)
{
    g_autoptr(GError) error = NULL;
    g_autofree struct job_plan *jobs = g_new(struct job_plan, plan->jobs->len);
    for (guint i = 0; i < plan->jobs->len; i++) {
        jobs[i] = job_at(plan, i)->job;
        if (g_strcmp0(jobs[i].solver, older) == 0)
            jobs[i].revision--;
    }
    g_autofree char *identity = g_uuid_string_random();
    struct campaign campaign = {.name = (char *)"n",
                                .identity = identity,
                                .target = (char *)TARGET,
                                .strategy = (char *)"random",
                                .round_configs = 4,
                                .configs_limit = 2};
    g_assert_true(store_put_target(f->store, &plan->machine.target, &error));
    store_create_campaign(f->store, &campaign, jobs, (int)plan->jobs->len, NULL, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(store_name_night(f->store, campaign.id, night, &error));
    for (struct job *job; (job = claim(f, POOL_BUILD));)
        work(f, job, made);
    g_assert_true(store_gather_history(f->store, campaign.id, NULL, &error));
    g_assert_no_error(error);
}

static const struct outcome_made_up good = {.spread = 0.01};

static void expect(const struct night_target_plan *plan, enum night_reason reason, int jobs)
{
    g_assert_cmpint(plan->counts[reason], ==, jobs);
    g_assert_cmpuint(plan->jobs->len + plan->idle->len, ==, PAIRS);
}

/* ---- tests ---- */

static void everything_is_new_and_then_unchanged(struct fixture *f, gconstpointer data)
{
    (void)data;
    const struct night_target_plan *plan = plan_night(f, NIGHT);
    expect(plan, NIGHT_REASON_NEW_PROBLEM, PAIRS);
    g_assert_cmpint(plan->devices, ==, 1);
    g_assert_cmpint(job_at(plan, 0)->problem, ==, 0); /* the database does not have it yet */
    do_night(f, plan, NIGHT, NULL, &good);
    plan = plan_night(f, "2026-11-24");
    expect(plan, NIGHT_REASON_UNCHANGED, PAIRS);
    g_assert_cmpuint(plan->jobs->len, ==, 0);
    g_assert_cmpstr(g_array_index(plan->idle, struct planned_job, 0).last_night, ==, NIGHT);
}

static void planning_changes_nothing(struct fixture *f, gconstpointer data)
{
    (void)data;
    plan_night(f, NIGHT);
    g_autoptr(StoreRows) rows =
        store_read(f->store, NULL,
                   "SELECT count(*) FROM (SELECT 1 FROM problems UNION ALL SELECT 1 FROM "
                   "targets UNION ALL SELECT 1 FROM campaigns) AS x",
                   "");
    g_assert_cmpstr(PQgetvalue(rows, 0, 0), ==, "0");
}

static void heavier_and_more_often_run_problems_come_first(struct fixture *f, gconstpointer data)
{
    (void)data;
    char key[PROBLEM_KEY_MAX];
    const struct night_target_plan *plan = plan_night(f, NIGHT);
    g_assert_cmpstr(problem_key(&job_at(plan, 0)->job.problem, key), ==, KEY_A);
    for (guint i = 1; i < plan->jobs->len; i++)
        g_assert_cmpfloat(job_at(plan, i - 1)->job.priority, >=, job_at(plan, i)->job.priority);
    const char *list = temp_folder_write(f->folder, "often.txt", KEY_B "\n", -1);
    g_autofree char *text =
        g_strdup_printf("{\"name\": \"n\", \"targets\": [\"" TARGET
                        "\"], \"problems\": [{\"file\": \"%s\", \"runs\": "
                        "1000}, {\"file\": \"%s\"}]}",
                        list, temp_folder_write(f->folder, "once.txt", KEY_A "\n", -1));
    json_t *json = json_loads(text, 0, NULL);
    night_sources_free(f->sources);
    night_file_free(f->file);
    f->file = night_file_from_json("night.json", json, NULL);
    f->sources = night_sources_read(f->store, f->file, NULL);
    json_decref(json);
    plan = plan_night(f, NIGHT);
    g_assert_cmpstr(problem_key(&job_at(plan, 0)->job.problem, key), ==, KEY_B);
}

static void only_the_jobs_of_another_revision_are_planned(struct fixture *f, gconstpointer data)
{
    (void)data;
    do_night(f, plan_night(f, NIGHT), NIGHT, "ConvImplicitGemm", &good);
    const struct night_target_plan *plan = plan_night(f, "2026-11-24");
    expect(plan, NIGHT_REASON_SOLVER_REVISION, 2);
    expect(plan, NIGHT_REASON_UNCHANGED, PAIRS - 2);
    for (guint i = 0; i < plan->jobs->len; i++) {
        g_assert_cmpstr(job_at(plan, i)->job.solver, ==, "ConvImplicitGemm");
        g_assert_cmpint(job_at(plan, i)->action, ==, NIGHT_ACTION_TUNE);
        g_assert_nonnull(strstr(job_at(plan, i)->detail, "revision "));
    }
}

static void another_driver_makes_all_jobs_fresh(struct fixture *f, gconstpointer data)
{
    (void)data;
    do_night(f, plan_night(f, NIGHT), NIGHT, NULL, &good);
    start_worker(f, BUILDER, "hip 6.2; driver 6.12.0");
    const struct night_target_plan *plan = plan_night(f, "2026-11-24");
    expect(plan, NIGHT_REASON_DRIVER, PAIRS);
    g_assert_cmpint(job_at(plan, 0)->action, ==, NIGHT_ACTION_FRESH);
    g_assert_cmpstr(job_at(plan, 0)->detail, ==, "driver 6.10.5 -> 6.12.0");
}

static void another_compiler_makes_all_jobs_fresh(struct fixture *f, gconstpointer data)
{
    (void)data;
    do_night(f, plan_night(f, NIGHT), NIGHT, NULL, &good);
    start_worker(f, "clang 20.1.0 Debian", DEVICE);
    const struct night_target_plan *plan = plan_night(f, "2026-11-24");
    expect(plan, NIGHT_REASON_TOOLCHAIN, PAIRS);
    g_assert_cmpstr(job_at(plan, 0)->detail, ==, "clang 19.1.7 Debian -> 20.1.0 Debian");
}

static void workers_of_other_pools_do_not_count(struct fixture *f, gconstpointer data)
{
    (void)data;
    do_night(f, plan_night(f, NIGHT), NIGHT, NULL, &good);
    start_worker(f, BUILDER, "hip 6.2; driver 6.12.0");
    describe(f, TARGET, QUIET);
    f->file->targets[0].pool = g_strdup("night"); /* no worker has the label */
    const struct night_target_plan *plan = plan_night(f, "2026-11-24");
    expect(plan, NIGHT_REASON_UNCHANGED, PAIRS);
    g_assert_cmpuint(plan->stacks->len, ==, 0);
}

static void a_solver_that_is_new_is_backfilled(struct fixture *f, gconstpointer data)
{
    (void)data;
    g_free(f->file->solvers);
    f->file->solvers = g_strdup("ConvDirectNaive,ConvGemm1x1");
    do_night(f, plan_night(f, NIGHT), NIGHT, "ConvGemm1x1", &good);
    describe(f, TARGET, QUIET);
    const struct night_target_plan *plan = plan_night(f, "2026-11-24");
    expect(plan, NIGHT_REASON_NEW_SOLVER, 2);
    expect(plan, NIGHT_REASON_SOLVER_REVISION, 2);
    for (guint i = 0; i < 4; i++) { /* what fills gaps comes last */
        g_assert_cmpint(job_at(plan, i)->backfill, ==, i >= 2);
        g_assert_cmpstr(job_at(plan, i)->job.solver, ==,
                        i >= 2 ? "ConvImplicitGemm" : "ConvGemm1x1");
    }
}

static void a_target_that_is_new_names_the_nearest_one(struct fixture *f, gconstpointer data)
{
    (void)data;
    do_night(f, plan_night(f, NIGHT), NIGHT, NULL, &good);
    describe(f, "gfx942130", QUIET);
    const struct night_target_plan *plan = plan_night(f, "2026-11-24");
    expect(plan, NIGHT_REASON_NEW_TARGET, PAIRS);
    g_assert_cmpstr(plan->nearest, ==, TARGET);
    g_assert_true(job_at(plan, 0)->backfill);
    g_assert_cmpstr(job_at(plan, 0)->detail, ==, "begins with the winners of " TARGET);
}

static void failures_that_may_pass_are_tried_again(struct fixture *f, gconstpointer data)
{
    static const struct outcome_made_up lost = {.failure = FAILURE_RUN_TIMEOUT};
    (void)data;
    do_night(f, plan_night(f, NIGHT), NIGHT, NULL, &lost);
    const struct night_target_plan *plan = plan_night(f, "2026-11-24");
    expect(plan, NIGHT_REASON_FAILED, PAIRS);
    do_night(f, plan, "2026-11-24", NULL, &lost);
    plan = plan_night(f, "2026-11-25"); /* retries is 1 */
    expect(plan, NIGHT_REASON_FAILED_FOR_GOOD, PAIRS);
    g_assert_cmpuint(plan->jobs->len, ==, 0);
}

static void final_failures_are_not_tried_again(struct fixture *f, gconstpointer data)
{
    static const struct outcome_made_up wrong = {.failure = FAILURE_WRONG_RESULT};
    (void)data;
    do_night(f, plan_night(f, NIGHT), NIGHT, NULL, &wrong);
    expect(plan_night(f, "2026-11-24"), NIGHT_REASON_FAILED_FOR_GOOD, PAIRS);
}

static void noise_and_age_are_measured_again(struct fixture *f, gconstpointer data)
{
    static const struct outcome_made_up noise = {.spread = 0.5};
    (void)data;
    do_night(f, plan_night(f, NIGHT), NIGHT, NULL, &noise);
    const struct night_target_plan *plan = plan_night(f, "2026-11-24");
    expect(plan, NIGHT_REASON_NOISY, PAIRS);
    g_assert_cmpint(job_at(plan, 0)->action, ==, NIGHT_ACTION_AGAIN);
    g_assert_cmpint(job_at(plan, 0)->campaign, >, 0);
    g_assert_cmpfloat(job_at(plan, 0)->estimate.compile_seconds, ==, 0);
    expect(plan_night(f, "2027-03-03"), NIGHT_REASON_NOISY, PAIRS);
    describe(f, TARGET,
             ", \"again\": {\"sample\": 0, \"older_than_days\": 99, \"noisy_spread\": 1}");
    expect(plan_night(f, "2027-03-03"), NIGHT_REASON_TOO_OLD, PAIRS);
    expect(plan_night(f, "2027-03-02"), NIGHT_REASON_UNCHANGED, PAIRS);
}

static void a_share_of_the_unchanged_is_drawn(struct fixture *f, gconstpointer data)
{
    (void)data;
    do_night(f, plan_night(f, NIGHT), NIGHT, NULL, &good);
    describe(f, TARGET, ", \"again\": {\"sample\": 1}");
    expect(plan_night(f, "2026-11-24"), NIGHT_REASON_SAMPLE, PAIRS);
}

static void estimates_come_from_the_targets_campaigns(struct fixture *f, gconstpointer data)
{
    (void)data;
    const struct night_target_plan *plan = plan_night(f, NIGHT);
    g_assert_cmpint(plan->estimate.by[ESTIMATE_BY_GUESS], ==, PAIRS);
    g_assert_cmpfloat(plan->estimate.eval_seconds, >, 0);
    do_night(f, plan, NIGHT, NULL, &good);
    start_worker(f, BUILDER, "hip 6.2; driver 6.12.0");
    plan = plan_night(f, "2026-11-24");
    g_assert_cmpint(plan->estimate.by[ESTIMATE_BY_GUESS], ==, 0);
    g_assert_cmpint(plan->estimate.by[ESTIMATE_BY_SOLVER] + plan->estimate.by[ESTIMATE_BY_TARGET],
                    ==, PAIRS);
}

static void caps_say_how_many_jobs_fit(struct fixture *f, gconstpointer data)
{
    (void)data;
    describe(f, TARGET, QUIET ", \"budget\": {\"node_hours\": 1000}");
    plan_night(f, NIGHT);
    g_assert_cmpint(f->plan->caps.fitting, ==, PAIRS);
    describe(f, TARGET, QUIET ", \"budget\": {\"node_hours\": 1e-9}");
    plan_night(f, NIGHT);
    g_assert_cmpint(f->plan->caps.fitting, ==, 0);
    g_assert_cmpint(f->plan->caps.jobs, ==, PAIRS);
    describe(f, TARGET, QUIET ", \"deadline\": \"5000d\"");
    plan_night(f, NIGHT);
    g_assert_cmpint(f->plan->caps.fitting, ==, PAIRS);
}

static void every_solver_says_why(struct fixture *f, gconstpointer data)
{
    (void)data;
    struct problem problem;
    g_assert_true(problem_key_parse(KEY_A, &problem, NULL));
    do_night(f, plan_night(f, NIGHT), NIGHT, NULL, &good);
    g_assert_true(night_sources_keep_only(f->sources, &problem));
    const struct night_target_plan *plan = plan_night(f, "2026-11-24");
    g_autoptr(GPtrArray) all = night_why(f->file, plan, &problem, NULL);
    g_assert_cmpint(all->len, ==, solver_table_count);
    for (guint i = 0; i < all->len; i++) {
        const struct night_why *why = all->pdata[i];
        g_assert_nonnull(why->detail);
        if (strcmp(why->solver->name, "ConvGemm1x1") == 0) {
            g_assert_cmpint(why->reason, ==, NIGHT_REASON_UNCHANGED);
            g_assert_nonnull(strstr(why->detail, "measured in the night " NIGHT " with " BUILDER));
        } else if (strcmp(why->solver->name, "ConvFft") == 0)
            g_assert_cmpint(why->reason, ==, NIGHT_REASON_NOT_APPLICABLE);
        else if (strcmp(why->solver->name, "ConvDirectTiled") == 0) {
            g_assert_cmpint(why->reason, ==, NIGHT_REASON_LEFT_OUT);
            g_assert_cmpstr(why->detail, ==, "the description's solvers leave it out");
        }
    }
}

static void a_nights_date_is_that_of_twelve_hours_ago(void)
{
    g_autofree char *date = night_date();
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autofree char *today = g_date_time_format(now, "%Y-%m-%d");
    g_assert_true(night_date_is_valid(date));
    g_assert_cmpint(night_days_between(date, today), >=, 0);
    g_assert_cmpint(night_days_between(date, today), <=, 1);
    g_assert_false(night_date_is_valid("2026-02-30"));
    g_assert_false(night_date_is_valid("2026-1-1"));
    g_assert_false(night_date_is_valid("tonight"));
}

#define ADD(name) g_test_add("/night_plan/" #name, struct fixture, NULL, set_up, name, tear_down)

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    g_test_init(&argc, &argv, NULL);
    ADD(everything_is_new_and_then_unchanged);
    ADD(planning_changes_nothing);
    ADD(heavier_and_more_often_run_problems_come_first);
    ADD(only_the_jobs_of_another_revision_are_planned);
    ADD(another_driver_makes_all_jobs_fresh);
    ADD(another_compiler_makes_all_jobs_fresh);
    ADD(workers_of_other_pools_do_not_count);
    ADD(a_solver_that_is_new_is_backfilled);
    ADD(a_target_that_is_new_names_the_nearest_one);
    ADD(failures_that_may_pass_are_tried_again);
    ADD(final_failures_are_not_tried_again);
    ADD(noise_and_age_are_measured_again);
    ADD(a_share_of_the_unchanged_is_drawn);
    ADD(estimates_come_from_the_targets_campaigns);
    ADD(caps_say_how_many_jobs_fit);
    ADD(every_solver_says_why);
    g_test_add_func("/night_plan/a_nights_date_is_that_of_twelve_hours_ago",
                    a_nights_date_is_that_of_twelve_hours_ago);
    return g_test_run();
}
