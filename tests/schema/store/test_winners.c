#include "schema/results/store_foreign.h"
#include "schema/store/store_winners.h"
#include "solvers/framework/strategy.h"

#include "schema/farm/upkeep.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <string.h>

static void gather(Store *store)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(store_gather_winners(store, 0, NULL, &error));
    g_assert_no_error(error);
}

static void execute(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(store_do(store, &error, sql, ""));
    g_assert_no_error(error);
}

/* Makes a campaign of one job, whose winner is config "0,0" for 8 channels, and gathers its
 * winner. */
static void farm_with_a_winner(struct farm *farm)
{
    farm_init(farm, &(struct order){.jobs = 1});
    farm_work(farm, 0, false, 1);
    gather(farm->store);
}

static int64_t create(Store *store, const char *strategy, int jobs, bool searches)
{
    return farm_create(
        store, &(struct order){.strategy = strategy, .jobs = jobs, .searches = searches}, NULL);
}

static void expect_prior(const struct job *job, const char *expected)
{
    g_autofree char *given = job->prior ? g_strjoinv(" ", job->prior) : NULL;
    g_assert_cmpstr(given, ==, expected);
}

static void prior_is_what_won_nearby(void)
{
    static const struct {
        const char *strategy, *expected;
        bool searches;
    } cases[] = {
        {STRATEGY_PRIOR, "0,0", false},
        {STRATEGY_PRIOR, NULL, true},
        {"random", NULL, false},
        {"local", NULL, false},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct farm farm;
        g_autoptr(GError) error = NULL;
        int64_t given = -1;
        farm_init(&farm, &(struct order){.jobs = 1, .searches = cases[i].searches});
        farm_work(&farm, 0, false, 1);
        gather(farm.store);
        /* The first job is taken over from the ended campaign. */
        int64_t campaign = create(farm.store, cases[i].strategy, 2, cases[i].searches);
        struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
        expect_prior(job, cases[i].expected);
        farm_built(&farm, job, 0);
        job_free(job);
        job = farm_claim_one(&farm, 0, POOL_EVAL);
        expect_prior(job, NULL);
        job_free(job);
        g_assert_true(store_count_priors(farm.store, campaign, &given, &error));
        g_assert_cmpint(given, ==, cases[i].expected != NULL);
        farm_clear(&farm);
    }
}

/* All builders of a job's rounds get the same prior, even if the campaigns of its winners are
 * dropped meanwhile. */
static void prior_of_a_job_never_changes(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_with_a_winner(&farm);
    farm.campaign = create(farm.store, STRATEGY_PRIOR, 3, false);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    int64_t id = job->id;
    expect_prior(job, "0,0");
    g_assert_true(store_release_job(farm.store, job, &error));
    job_free(job);
    execute(farm.store, "DELETE FROM winners");
    for (int worker = 1; worker >= 0; worker--) {
        job = farm_claim_one(&farm, worker, POOL_BUILD);
        g_assert_cmpint(job->id, ==, id);
        expect_prior(job, "0,0");
        if (worker == 1)
            g_assert_true(store_release_job(farm.store, job, &error));
        else
            farm_built(&farm, job, 0);
        job_free(job);
    }
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    farm_round(&farm, job, 0, true, 1);
    job_free(job);
    /* A job that begins without any winner has an empty prior, and each later round gets the prior
     * of the first. */
    job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(job->id, !=, id);
    expect_prior(job, NULL);
    farm_built(&farm, job, 0);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_cmpint(job->id, ==, id);
    expect_prior(job, "0,0");
    job_free(job);
    g_assert_no_error(error);
    farm_clear(&farm);
}

/* The prior is stored with the rounds, for repeating the search. */
static void jobs_that_are_taken_over_bring_theirs(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    int64_t given = 0;
    int reused = 0;
    const struct order order = {.strategy = STRATEGY_PRIOR, .jobs = 2, .configs_limit = 9};
    farm_with_a_winner(&farm);
    int64_t first = farm_create(farm.store, &order, NULL);
    farm_work(&farm, 0, false, 1);
    int64_t second = farm_create(farm.store, &order, &reused);
    g_assert_cmpint(reused, ==, 2);
    g_assert_true(store_count_priors(farm.store, first, &given, &error));
    g_assert_cmpint(given, ==, 1);
    g_assert_true(store_change_campaign(farm.store, first, "drop", &error));
    g_assert_true(store_count_priors(farm.store, second, &given, &error));
    g_assert_cmpint(given, ==, 1);
    farm_clear(&farm);
}

/* ---- winners of near problems ---- */

/* A winner of solver S on the target; its name is its config. */
static void add_winner(Store *store, const struct problem *problem, const char *target,
                       const char *config)
{
    g_autoptr(GError) error = NULL;
    int64_t id = 0;
    store_ensure_target(store, target, &error);
    g_assert_true(store_put_problems(store, problem, 1, NULL, &id, &error));
    g_assert_true(store_do(store, &error,
                           "INSERT INTO winners SELECT 'S', $2, p.id, 0, $3, 0, likeness(p),"
                           " work_of(sizes_of(p)), sizes_of(p) FROM problems p WHERE p.id = $1",
                           "lss", id, target, config));
    g_assert_no_error(error);
}

static char *nearest(Store *store, const struct problem *problem, const char *target)
{
    g_autoptr(GError) error = NULL;
    int64_t id = 0;
    g_assert_true(store_put_problems(store, problem, 1, NULL, &id, &error));
    g_autoptr(StoreRows) rows =
        store_read(store, &error,
                   "SELECT array_to_string(nearest_winners('S', p, $2), ' ') FROM problems p"
                   " WHERE p.id = $1",
                   "ls", id, target);
    g_assert_no_error(error);
    return g_strdup(PQgetvalue(rows, 0, 0));
}

static void nearest_by_target_and_size_come_first(void)
{
    static const struct {
        const char *config, *target;
        int64_t channels;
    } winners[] = {
        {"far", "gfx90a68", 64 * 8},        {"same", "gfx90a68", 64},
        {"twice", "gfx90a68", 128},         {"half", "gfx90a68", 32},
        {"arch", "gfx90a6e", 64},           {"family", "gfx942130", 64},
        {"vendor", "gfx1030_36", 64},       {"other", "sm_90_132_80g", 64},
        {"arch-far", "gfx90a6e", 64 * 256}, {"same", "sm_90_132_80g", 64 * 4},
    };
    g_autoptr(Store) store = scratch_store();
    struct problem problem;
    for (gsize i = 0; i < G_N_ELEMENTS(winners); i++) {
        farm_problem(&problem, winners[i].channels);
        add_winner(store, &problem, winners[i].target, winners[i].config);
    }
    farm_problem(&problem, 64);
    g_autofree char *here = nearest(store, &problem, "gfx90a68");
    g_assert_cmpstr(here, ==, "same half twice arch far family vendor other arch-far");
    g_autofree char *there = nearest(store, &problem, "sm_90_132_80g");
    g_assert_true(g_str_has_prefix(there, "other same "));
}

static void other_directions_types_and_layouts_are_no_neighbours(void)
{
    g_autoptr(Store) store = scratch_store();
    struct problem problem, other;
    farm_problem(&problem, 64);
    add_winner(store, &problem, "gfx90a68", "1");
    other = problem;
    other.direction = DIRECTION_B;
    g_autofree char *direction = nearest(store, &other, "gfx90a68");
    g_assert_cmpstr(direction, ==, "");
    other = problem;
    for (int t = 0; t < TENSOR_COUNT; t++)
        other.type[t] = TYPE_FP16;
    g_autofree char *type = nearest(store, &other, "gfx90a68");
    g_assert_cmpstr(type, ==, "");
    other = problem;
    other.k = 4096;
    g_autofree char *size = nearest(store, &other, "gfx90a68");
    g_assert_cmpstr(size, ==, "1");
}

static void sixteen_are_given_at_most_each_once(void)
{
    g_autoptr(Store) store = scratch_store();
    struct problem problem;
    for (int i = 1; i <= 40; i++) {
        g_autofree char *config = g_strdup_printf("%d", i / 2);
        farm_problem(&problem, i);
        add_winner(store, &problem, "gfx90a68", config);
    }
    farm_problem(&problem, 1);
    g_autofree char *given = nearest(store, &problem, "gfx90a68");
    g_assert_cmpstr(given, ==, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15");
}

/* ---- the campaigns that winners come from ---- */

#define REAL "ConvCpuGemm" /* tunable, and in the table */

static int64_t import(Store *store)
{
    static char name[] = "theirs", identity[] = "f", target[] = "gfx90a68";
    const struct campaign theirs = {.name = name, .identity = identity, .target = target};
    g_autoptr(GError) error = NULL;
    int64_t ids[2], id = 0;
    int added = 0;
    struct problem problems[2];
    farm_problem(&problems[0], 8);
    farm_problem(&problems[1], 16);
    g_assert_true(store_begin_foreign(store, &theirs, &id, &error));
    g_assert_true(store_put_problems(store, problems, 2, NULL, ids, &error));
    const struct foreign_params params[] = {
        {ids[0], REAL, "1,2,3"}, {ids[0], "SomebodyElses", "a"}, {ids[1], REAL, "4,5"}};
    g_assert_true(store_add_foreign_params(store, id, params, 3, &added, &error));
    g_assert_true(store_end_foreign(store, true, &error));
    g_assert_no_error(error);
    return id;
}

#define WINNERS                                                                                                                                              \
    "SELECT coalesce(string_agg(w.solver || ' ' || w.config_text || CASE sign(w.origin) WHEN 1 THEN '' WHEN 0 THEN ' golden' ELSE ' theirs' END, ', ' ORDER" \
    " BY w.origin, w.problem_id), '') FROM winners w"

static void only_our_solvers_are_taken_from_foreign_campaigns(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GError) error = NULL;
    int64_t id = import(store);
    for (int i = 0; i < 2; i++) {
        gather(store);
        role_expect_count(store, WINNERS, "ConvCpuGemm 1,2,3 theirs, ConvCpuGemm 4,5 theirs");
    }
    g_assert_true(store_change_campaign(store, id, "drop", &error));
    gather(store);
    role_expect_count(store, WINNERS, "");
    role_expect_count(store, "SELECT count(*) FROM winner_marks", "0");
}

/* The fastest winner of all campaigns counts, also after its campaign was dropped. */
static void fastest_of_all_campaigns_counts(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1, .seed = 1, .configs_limit = 3});
    g_autoptr(GError) error = NULL;
    farm_work(&farm, 0, true, 1);
    farm_work(&farm, 1, false, 1); /* 3 ms */
    gather(farm.store);
    role_expect_count(farm.store, WINNERS, "ConvTest 1,0");
    /* the next campaign would take these outcomes over */
    execute(farm.store, "DELETE FROM outcomes");
    farm.campaign =
        farm_create(farm.store, &(struct order){.jobs = 1, .seed = 2, .configs_limit = 3}, NULL);
    farm_work(&farm, 0, false, 1); /* 2 ms */
    gather(farm.store);
    role_expect_count(farm.store, WINNERS, "ConvTest 0,0");
    g_assert_true(store_change_campaign(farm.store, farm.campaign, "drop", &error));
    farm_create(farm.store, &(struct order){.jobs = 1, .seed = 3, .configs_limit = 3}, NULL);
    farm_work(&farm, 0, true, 1);
    farm_work(&farm, 1, false, 1);
    gather(farm.store);
    role_expect_count(farm.store, WINNERS, "ConvTest 0,0");
    farm_clear(&farm);
}

#define CONTENDERS                                                                                 \
    "SELECT string_agg(config_text || ' ' || time_ms, ', ' ORDER BY time_ms, config_text) FROM contenders"

/* All verified configs of a job contend; the winner is one of them. They outlive their campaign, as the winner does. */
static void the_next_configs_are_kept_too(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1, .seed = 1, .configs_limit = 3});
    farm_work(&farm, 0, true, 1);
    farm_work(&farm, 1, false, 1);
    gather(farm.store);
    role_expect_count(farm.store, CONTENDERS, "0,0 2, 1,0 3");
    g_assert_true(store_change_campaign(farm.store, farm.campaign, "drop", &error));
    gather(farm.store);
    role_expect_count(farm.store, CONTENDERS, "0,0 2, 1,0 3");
    farm_clear(&farm);
}

#define ATTEMPTS                                                                                             \
    "SELECT string_agg(array_to_string(config_texts, ' ') || ' | ' || array_to_string(times_ms, ' '), ', ')" \
    " FROM attempts"

/* Tried configs outlive their campaign, and a job of the same problem gets them beside its prior. */
static void a_job_is_told_of_earlier_attempts(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1, .seed = 1, .configs_limit = 3});
    farm_work(&farm, 0, true, 1);
    farm_work(&farm, 1, false, 1);
    gather(farm.store);
    role_expect_count(farm.store, ATTEMPTS, "0,0 0,1 1,0 1,1 | 2 Infinity 3 Infinity");
    /* 1,0 counts with its newest time, behind what is known from before. */
    execute(farm.store,
            "UPDATE attempts SET config_texts = '{\"9,9\",\"1,0\"}', times_ms = '{Infinity,7}'");
    execute(farm.store, "UPDATE winner_marks SET final = false, ends = 0");
    gather(farm.store);
    role_expect_count(farm.store, ATTEMPTS, "9,9 0,0 0,1 1,0 1,1 | Infinity 2 Infinity 3 Infinity");
    g_assert_true(store_change_campaign(farm.store, farm.campaign, "drop", &error));
    create(farm.store, STRATEGY_PRIOR, 1, false);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    expect_prior(job, "1,0 0,0");
    g_autofree char *told = job->attempts ? g_strjoinv(" ", job->attempts) : NULL;
    g_assert_cmpstr(told, ==, "9,9@Infinity 0,0@2 0,1@Infinity 1,0@3 1,1@Infinity");
    job_free(job);
    farm_clear(&farm);
}

/* The 80 fastest of many attempts are kept, and the newest of the others. */
static void fast_and_new_attempts_stay(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1, .seed = 1, .configs_limit = 3});
    farm_work(&farm, 0, true, 1);
    farm_work(&farm, 1, false, 1);
    gather(farm.store);
    execute(
        farm.store,
        "UPDATE attempts SET (config_texts, times_ms) = (SELECT array_agg('7,' || i ORDER BY i),"
        " array_agg(CASE WHEN i <= 90 THEN 1 + i / 1000.0 WHEN i % 2 = 0 THEN 9 ELSE 'Infinity' END ORDER BY i)"
        " FROM generate_series(1, 200) AS i)");
    execute(farm.store, "UPDATE winner_marks SET final = false, ends = 0");
    gather(farm.store);
    role_expect_count(
        farm.store,
        "SELECT cardinality(config_texts) || ' ' || ('7,80' = ANY (config_texts)) || ' ' ||"
        " ('7,81' = ANY (config_texts)) || ' ' || ('7,125' = ANY (config_texts)) || ' ' ||"
        " ('7,124' = ANY (config_texts)) || ' ' || config_texts[160] FROM attempts",
        "160 true false true false 1,1");
    farm_clear(&farm);
}

/* A contender is further away than its winner by its place behind it. */
static void contenders_come_after_nearer_winners(void)
{
    g_autoptr(Store) store = scratch_store();
    struct problem problem;
    farm_problem(&problem, 64);
    add_winner(store, &problem, "gfx90a6e", "arch");
    execute(store, "UPDATE winners SET origin = 1");
    execute(store, "INSERT INTO contenders SELECT 'S', target, problem_id, c, t FROM winners,"
                   " unnest(ARRAY['arch', 'next', 'third'], ARRAY[1.0, 1.1, 1.2]) AS u(c, t)");
    farm_problem(&problem, 256);
    add_winner(store, &problem, "gfx90a68", "far");
    farm_problem(&problem, 64);
    g_autofree char *given = nearest(store, &problem, "gfx90a68");
    g_assert_cmpstr(given, ==, "arch far next third");
}

/* A campaign is gathered again when it ends, and when it goes on after its end. */
static void campaigns_are_gathered_as_they_go(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 2, .budget_seconds = 1});
    gather(farm.store);
    role_expect_count(farm.store, WINNERS, "");
    farm_work(&farm, 0, false, 0.5);
    gather(farm.store);
    role_expect_count(farm.store, WINNERS, "ConvTest 0,0");
    farm_work(&farm, 0, true, 1);
    farm_expect_campaign(&farm, farm.campaign, "done");
    gather(farm.store);
    role_expect_count(farm.store, WINNERS, "ConvTest 0,0, ConvTest 0,0");
    execute(farm.store, "UPDATE winners SET time_ms = 10");
    gather(farm.store);
    role_expect_count(farm.store, "SELECT max(time_ms) FROM winners", "10");
    g_assert_true(store_set_campaign(farm.store, farm.campaign,
                                     &(struct campaign_changes){.budget_seconds = &(double){0}},
                                     &error));
    farm_work(&farm, 1, false, 1);
    gather(farm.store);
    role_expect_count(farm.store, "SELECT max(time_ms) FROM winners", "3");
    farm_clear(&farm);
}

/* Some jobs end while winners are gathered: the campaign is done then, but not all its jobs were
 * read, so it is gathered again. */
static void campaign_that_ends_meanwhile_is_gathered_again(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 2});
    farm_work(&farm, 0, false, 1);
    farm_work(&farm, 0, false, 1);
    farm_expect_campaign(&farm, farm.campaign, "done");
    g_assert_true(
        store_do(farm.store, &error, "SELECT mark_gathered($1, 1, '[]')", "l", farm.campaign));
    g_assert_no_error(error);
    gather(farm.store);
    role_expect_count(farm.store, WINNERS, "ConvTest 0,0, ConvTest 0,0");
    role_expect_count(farm.store, "SELECT ends || ' ' || final FROM winner_marks", "2 true");
    farm_clear(&farm);
}

static void golden_winners_follow_the_version(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1, .searches = true});
    farm_work(&farm, 0, false, 1);
    execute(farm.store,
            "INSERT INTO golden_versions (target, version, kind, base, asked, counts, note,"
            " proposed_by, approved_by, approved_at) SELECT 'gfx90a68', v, 'propose', v - 1, '',"
            " '{}', '', 'me', 'you', CASE WHEN v < 3 THEN now() END FROM generate_series(1, 3) v");
    execute(
        farm.store,
        "INSERT INTO golden_rows SELECT 'gfx90a68', j.problem_id, 'ConvTest', 0, v, CASE v WHEN"
        " 1 THEN 2 END, j.solver_id, 1, 1, 1, '', '{9}', '9,' || v, '', '', 1, 1, 1, 0, 0, 0, 0,"
        " 0, 0, false FROM jobs j, generate_series(1, 2) v");
    gather(farm.store);
    role_expect_count(farm.store, WINNERS, "ConvTest 9,2 golden, ConvTest 0,0");
    execute(farm.store, "UPDATE golden_rows SET until = 3 WHERE since = 2");
    execute(farm.store, "UPDATE golden_versions SET approved_at = now(), approved_by = 'you'"
                        " WHERE version = 3");
    gather(farm.store);
    role_expect_count(farm.store, WINNERS, "ConvTest 0,0");
    farm_clear(&farm);
}

static void upkeep_gathers(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    struct upkeep_options options = UPKEEP_DEFAULTS;
    struct upkeep_report report;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, false, 1);
    options.dry_run = true;
    g_assert_true(upkeep_run(farm.store, &options, &report, &error));
    role_expect_count(farm.store, WINNERS, "");
    options.dry_run = false;
    g_assert_true(upkeep_run(farm.store, &options, &report, &error));
    role_expect_count(farm.store, WINNERS, "ConvTest 0,0");
    g_assert_no_error(error);
    farm_clear(&farm);
}

/* ---- who may read winners ---- */

static PGresult *ask(Store *store, int64_t worker, const struct job *job, GError **error)
{
    g_autoptr(StoreJson) ids = json_pack("[I]", (json_int_t)job->id);
    return store_run(store, error, "SELECT * FROM skipjack_work.priors($1, $2, $3)", "llj", worker,
                     job->campaign, ids);
}

static void worker_is_told_of_jobs_that_it_claimed_alone(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    farm_work(&f.farm, 0, false, 1);
    gather(f.boss);
    f.farm.campaign = create(f.boss, STRATEGY_PRIOR, 2, false);
    struct job *job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    expect_prior(job, "0,0");
    g_autoptr(StoreRows) own = ask(f.farm.store, f.farm.workers[0], job, &error);
    g_assert_cmpint(PQntuples(own), ==, 1);
    g_autoptr(StoreRows) as_itself = ask(f.two, f.farm.workers[1], job, &error);
    g_assert_cmpint(PQntuples(as_itself), ==, 0);
    g_autoptr(StoreRows) as_the_other = ask(f.two, f.farm.workers[0], job, &error);
    role_expect_refused(as_the_other != NULL, &error, STORE_ERROR_ACCESS, "does not act for");
    farm_built(&f.farm, job, 0);
    g_autoptr(StoreRows) later = ask(f.farm.store, f.farm.workers[0], job, &error);
    g_assert_cmpint(PQntuples(later), ==, 0);
    g_assert_false(store_gather_winners(f.farm.store, 0, NULL, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_ACCESS);
    job_free(job);
    role_farm_clear(&f);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    role_farm_make_logins();
    g_test_add_func("/winners/prior/nearby_winners_are_the_prior", prior_is_what_won_nearby);
    g_test_add_func("/winners/prior/prior_of_a_job_never_changes", prior_of_a_job_never_changes);
    g_test_add_func("/winners/prior/prior_of_a_job_taken_over_is_copied",
                    jobs_that_are_taken_over_bring_theirs);
    g_test_add_func("/winners/nearest/by_target_and_size_come_first",
                    nearest_by_target_and_size_come_first);
    g_test_add_func("/winners/nearest/other_directions_types_and_layouts_are_no_neighbours",
                    other_directions_types_and_layouts_are_no_neighbours);
    g_test_add_func("/winners/nearest/sixteen_are_given_at_most_each_once",
                    sixteen_are_given_at_most_each_once);
    g_test_add_func("/winners/gather/only_our_solvers_are_taken_from_foreign_campaigns",
                    only_our_solvers_are_taken_from_foreign_campaigns);
    g_test_add_func("/winners/gather/fastest_of_all_campaigns_counts",
                    fastest_of_all_campaigns_counts);
    g_test_add_func("/winners/gather/the_next_configs_are_kept_too", the_next_configs_are_kept_too);
    g_test_add_func("/winners/prior/a_job_is_told_of_earlier_attempts",
                    a_job_is_told_of_earlier_attempts);
    g_test_add_func("/winners/gather/fast_and_new_attempts_stay", fast_and_new_attempts_stay);
    g_test_add_func("/winners/nearest/contenders_come_after_nearer_winners",
                    contenders_come_after_nearer_winners);
    g_test_add_func("/winners/gather/campaigns_are_gathered_as_they_go",
                    campaigns_are_gathered_as_they_go);
    g_test_add_func("/winners/gather/a_campaign_that_ends_meanwhile_is_gathered_again",
                    campaign_that_ends_meanwhile_is_gathered_again);
    g_test_add_func("/winners/gather/golden_ones_follow_the_version",
                    golden_winners_follow_the_version);
    g_test_add_func("/winners/gather/upkeep_does_it", upkeep_gathers);
    g_test_add_func("/winners/worker_is_told_of_jobs_that_it_claimed_alone",
                    worker_is_told_of_jobs_that_it_claimed_alone);
    return g_test_run();
}
