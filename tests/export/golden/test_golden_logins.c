/* Where two logins' workers can measure the target, a golden winner counts only when both logins'
 * times agree. */
#include "export/golden/golden.h"

#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "solvers/framework/solver.h"
#include "tests/support/export/export_farm.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <stdlib.h>
#include <string.h>

#define NAIVE "ConvDirectNaive"
#define TUNED "ConvCpuGemm"

#define SECRET_TWO "2222222222222222222222222222222222222222222222222222222222222222"

/* A campaign of one problem, and two workers with a login each (node1, node2); the campaign's owner
 * has no worker. */
struct logins {
    struct export_farm farm, nodes[2];
};

static void run(const struct logins *f, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(f->farm.store, &error, sql, "");
    g_assert_no_error(error);
}

static int ask(const struct logins *f, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(f->farm.store, &error, sql, "");
    g_assert_no_error(error);
    return rows == NULL || PQntuples(rows) == 0 ? -1 : atoi(PQgetvalue(rows, 0, 0));
}

static void enter(struct export_farm *node, const struct export_farm *farm, const char *login,
                  const char *secret)
{
    g_autoptr(GError) error = NULL;
    const struct worker_info info = {
        .node = login, .process = login, .target = EXPORT_FARM_TARGET, .stack = "test"};
    *node = *farm;
    node->store = role_open(login);
    if (secret != NULL)
        store_act_as(node->store, secret, &error);
    store_register_worker(node->store, &info, &node->worker, &error);
    g_assert_no_error(error);
}

static void begin(struct logins *f, const char *solvers)
{
    export_farm_init_with(&f->farm, export_farm_keys, 1);
    export_farm_begin_anew(&f->farm, export_farm_keys, 1, solvers);
    run(f, "DELETE FROM workers");
    enter(&f->nodes[0], &f->farm, "node1", NULL);
    enter(&f->nodes[1], &f->farm, "node2", SECRET_TWO);
}

static void clear(struct logins *f)
{
    store_close(f->nodes[0].store);
    store_close(f->nodes[1].store);
    export_farm_clear(&f->farm);
}

struct told {
    double naive, tuned;
};

static double tell(void *data, const struct job *job, const struct perf_config *config)
{
    const struct told *told = data;
    (void)config;
    return strcmp(job->solver, NAIVE) == 0 ? told->naive : told->tuned;
}

/* Lets the login's worker build and measure all that it may claim; `told` are the times that it
 * reports. */
static void serve(const struct logins *f, int node, struct told told)
{
    const struct export_farm_worker worker = {.configs = 1, .measure = tell, .data = &told};
    export_farm_serve(&f->nodes[node], &worker);
}

static const struct golden_wish standard = {.base = -1,
                                            .by = "ann",
                                            .noise = GOLDEN_NOISE_FACTOR,
                                            .gain = GOLDEN_GAIN_PERCENT / 100,
                                            .allow_incomplete = true};

static struct golden_summary propose(const struct logins *f, bool remeasure, bool unconfirmed)
{
    struct golden_summary summary;
    g_autoptr(GError) error = NULL;
    struct golden_wish wish = standard;
    wish.campaign = f->farm.campaign;
    wish.remeasure = remeasure;
    wish.allow_unconfirmed = unconfirmed;
    golden_propose(f->farm.store, &wish, &summary, &error);
    g_assert_no_error(error);
    return summary;
}

/* Asserts how many entries the proposal takes, how many wait for another login's time, and how many
 * of these were queued to be measured. */
static void expect(struct golden_summary summary, int taken, int awaited, int asked)
{
    int taken_now = 0;
    for (int i = 0; i < GOLDEN_TAKEN_COUNT; i++)
        taken_now += summary.counts[i];
    g_assert_cmpint(taken_now, ==, taken);
    g_assert_cmpint(summary.logins.awaited, ==, awaited);
    g_assert_cmpint(summary.disputes, ==, awaited);
    g_assert_cmpint((int)summary.remeasure.asked, ==, asked);
    g_assert_cmpint(summary.version != 0, ==, taken > 0);
    golden_summary_clear(&summary);
}

static void a_forged_winner_waits_for_another_login_and_loses(void)
{
    struct logins f;
    begin(&f, NAIVE "," TUNED);
    serve(&f, 0, (struct told){.naive = 0.5, .tuned = 10});
    struct golden_summary summary = propose(&f, false, false);
    g_assert_cmpint(summary.counts[GOLDEN_UNCONFIRMED], ==, 2);
    g_assert_cmpstr(summary.logins.measured_by, ==, "node1");
    g_assert_cmpstr(summary.logins.able, ==, "node2");
    expect(summary, 0, 1, 0);
    expect(propose(&f, true, false), 0, 1, 1);
    /* node1, which measured the winner, may build the round but not measure it again. */
    serve(&f, 0, (struct told){.naive = 0.4, .tuned = 10});
    g_assert_cmpint(ask(&f, "SELECT count(*) FROM bundles WHERE state = 'built'"), ==, 1);
    g_assert_cmpint(ask(&f,
                        "SELECT count(*) FROM refusals(0, 0) r JOIN workers w ON w.id = r.worker_id"
                        " AND w.login = 'node1' WHERE r.reason LIKE '%another login%'"),
                    ==, 1);
    g_assert_cmpint(ask(&f, "SELECT count(*) FROM refusals(0, 0)"), ==, 1);
    serve(&f, 1, (struct told){.naive = 50, .tuned = 10.2});
    g_assert_cmpint(ask(&f, "SELECT count(*) FROM bundles"), ==, 0);
    /* After node2's times the other solver wins, which only node1 has measured: another round is
     * needed. */
    expect(propose(&f, true, false), 0, 1, 1);
    serve(&f, 0, (struct told){.naive = 0.4, .tuned = 10});
    serve(&f, 1, (struct told){.naive = 50, .tuned = 10.2});
    expect(propose(&f, false, false), 2, 0, 0);
    clear(&f);
}

static void a_winner_whose_times_agree_counts(void)
{
    struct logins f;
    begin(&f, TUNED);
    serve(&f, 0, (struct told){.tuned = 10});
    expect(propose(&f, true, false), 0, 1, 1);
    serve(&f, 0, (struct told){.tuned = 10});
    serve(&f, 1, (struct told){.tuned = 10.5});
    struct golden_summary summary = propose(&f, false, false);
    g_assert_cmpint(summary.logins.alone, ==, 0);
    expect(summary, 1, 0, 0);
    g_assert_cmpint(ask(&f, "SELECT count(*) FROM golden_proposed"
                            " WHERE median_ms = 10.5 AND measured_by = '{node1,node2}'"),
                    ==, 1);
    clear(&f);
}

/* Either login may be the one that forges times: a winner does not count while the two logins'
 * times differ. */
static void logins_that_disagree_are_both_doubted(void)
{
    struct logins f;
    begin(&f, TUNED);
    serve(&f, 0, (struct told){.tuned = 10});
    expect(propose(&f, true, false), 0, 1, 1);
    serve(&f, 1, (struct told){.tuned = 0.5});
    struct golden_summary summary = propose(&f, true, false);
    g_assert_cmpint(summary.logins.disagreed, ==, 1);
    expect(summary, 0, 1, 1);
    /* The round after a disagreement may not be measured by node2, which measured last. */
    serve(&f, 1, (struct told){.tuned = 0.5});
    g_assert_cmpint(ask(&f, "SELECT count(*) FROM bundles WHERE state = 'built'"), ==, 1);
    serve(&f, 0, (struct told){.tuned = 10});
    expect(propose(&f, false, false), 0, 1, 0);
    clear(&f);
}

static void where_there_is_no_other_login_nothing_changes(void)
{
    static const char *const none[] = {
        "DELETE FROM workers WHERE login = 'node2'",
        "UPDATE workers SET target = 'gfx90a68' WHERE login = 'node2'",
        "UPDATE workers SET beat_at = now() - interval '8 days' WHERE login = 'node2'",
        "UPDATE workers SET carried = '{}' WHERE login = 'node2'",
        "UPDATE campaigns SET pool = 'nightly'",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(none); i++) {
        struct logins f;
        begin(&f, NAIVE "," TUNED);
        serve(&f, 0, (struct told){.naive = 20, .tuned = 10});
        run(&f, none[i]);
        struct golden_summary summary = propose(&f, true, false);
        g_assert_cmpint(summary.logins.alone, ==, 1);
        g_assert_cmpstr(summary.logins.measured_by, ==, "node1");
        g_assert_null(summary.logins.able);
        expect(summary, 2, 0, 0);
        clear(&f);
    }
}

static void unconfirmed_winners_are_taken_where_it_is_allowed(void)
{
    struct logins f;
    begin(&f, TUNED);
    serve(&f, 0, (struct told){.tuned = 10});
    struct golden_summary summary = propose(&f, false, true);
    g_assert_cmpint(summary.logins.alone, ==, 1);
    g_assert_cmpstr(summary.logins.able, ==, "node2");
    expect(summary, 1, 0, 0);
    g_assert_cmpint(ask(&f, "SELECT counts->>'of one login' FROM golden_versions"), ==, 1);
    clear(&f);
}

/* Makes the measured results a golden version, approved by another person than the proposer, and
 * begins a new campaign of the same problem. */
static void approve_and_begin_anew(struct logins *f)
{
    struct golden_summary summary = propose(f, false, true);
    g_autoptr(GError) error = NULL;
    store_approve_golden(f->farm.store, EXPORT_FARM_TARGET, summary.version, "bob", &error);
    g_assert_no_error(error);
    golden_summary_clear(&summary);
    export_farm_begin_anew(&f->farm, export_farm_keys, 1, TUNED);
}

/* A winner that beats the golden entry is measured again in a round with the golden config, and
 * must then be confirmed by the other login. */
static void a_winner_over_the_golden_one_is_seconded_beside_it(void)
{
    struct logins f;
    begin(&f, TUNED);
    serve(&f, 0, (struct told){.tuned = 20});
    approve_and_begin_anew(&f);
    serve(&f, 0, (struct told){.tuned = 10});
    /* 10 ms and golden's 20 ms differ beyond the noise */
    struct golden_summary summary = propose(&f, true, false);
    g_assert_cmpint(summary.disputes, ==, 1);
    g_assert_cmpint(summary.logins.awaited, ==, 0);
    golden_summary_clear(&summary);
    serve(&f, 0, (struct told){.tuned = 10});
    expect(propose(&f, true, false), 0, 1, 1);
    serve(&f, 0, (struct told){.tuned = 10});
    g_assert_cmpint(ask(&f, "SELECT count(*) FROM bundles WHERE state = 'built'"), ==, 1);
    serve(&f, 1, (struct told){.tuned = 10.1}); /* node2 may build and measure the second round */
    g_assert_cmpint(ask(&f, "SELECT count(*) FROM bundles"), ==, 0);
    summary = propose(&f, false, false);
    g_assert_cmpint(summary.counts[GOLDEN_CONFIRMED], ==, 1);
    expect(summary, 1, 0, 0);
    clear(&f);
}

/* A golden time of the same config by another login confirms the winner: no further measurement is
 * needed. */
static void a_golden_time_of_another_login_counts(void)
{
    struct logins f;
    begin(&f, TUNED);
    serve(&f, 1, (struct told){.tuned = 10});
    approve_and_begin_anew(&f);
    serve(&f, 0, (struct told){.tuned = 5});
    struct golden_summary summary = propose(&f, true, false);
    golden_summary_clear(&summary);
    serve(&f, 0, (struct told){.tuned = 9.8});
    summary = propose(&f, false, false);
    g_assert_cmpint(summary.logins.alone, ==, 0);
    expect(summary, 1, 0, 0);
    clear(&f);
}

/* Times stored before the farm recorded logins have no login and confirm nothing: two logins must
 * measure again. */
static void a_time_without_a_login_counts_for_none(void)
{
    struct logins f;
    begin(&f, TUNED);
    serve(&f, 0, (struct told){.tuned = 10});
    run(&f, "DELETE FROM deliveries");
    expect(propose(&f, true, false), 0, 1, 1);
    serve(&f, 1, (struct told){.tuned = 10});
    struct golden_summary summary = propose(&f, true, false);
    g_assert_cmpstr(summary.logins.measured_by, ==, "node2");
    expect(summary, 0, 1, 1);
    serve(&f, 1, (struct told){.tuned = 10});
    g_assert_cmpint(ask(&f, "SELECT count(*) FROM bundles"), ==, 1);
    serve(&f, 0, (struct told){.tuned = 10});
    expect(propose(&f, false, false), 1, 0, 0);
    clear(&f);
}

/* Two logins handed in parts of one round, so it is not known whose worker measured the winner: the
 * round counts for neither login. */
static void a_round_of_two_logins_is_not_two_times(void)
{
    struct logins f;
    begin(&f, TUNED);
    serve(&f, 0, (struct told){.tuned = 10});
    run(&f,
        "INSERT INTO deliveries SELECT campaign_id, (SELECT id FROM workers WHERE login = 'node2'),"
        " at, job_ids, numbers FROM deliveries");
    expect(propose(&f, true, false), 0, 1, 1);
    serve(&f, 0, (struct told){.tuned = 10});
    expect(propose(&f, true, false), 0, 1, 1);
    serve(&f, 0, (struct told){.tuned = 10});
    serve(&f, 1, (struct told){.tuned = 10});
    expect(propose(&f, false, false), 1, 0, 0);
    clear(&f);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    store_close(scratch_store());
    role_farm_make_logins();
    g_test_add_func("/golden_logins/a_forged_winner_waits_for_another_login_and_loses",
                    a_forged_winner_waits_for_another_login_and_loses);
    g_test_add_func("/golden_logins/a_winner_whose_times_agree_counts",
                    a_winner_whose_times_agree_counts);
    g_test_add_func("/golden_logins/logins_that_disagree_are_both_doubted",
                    logins_that_disagree_are_both_doubted);
    g_test_add_func("/golden_logins/where_there_is_no_other_login_nothing_changes",
                    where_there_is_no_other_login_nothing_changes);
    g_test_add_func("/golden_logins/unconfirmed_winners_are_taken_where_it_is_allowed",
                    unconfirmed_winners_are_taken_where_it_is_allowed);
    g_test_add_func("/golden_logins/a_winner_over_the_golden_one_is_seconded_beside_it",
                    a_winner_over_the_golden_one_is_seconded_beside_it);
    g_test_add_func("/golden_logins/a_golden_time_of_another_login_counts",
                    a_golden_time_of_another_login_counts);
    g_test_add_func("/golden_logins/a_time_without_a_login_counts_for_none",
                    a_time_without_a_login_counts_for_none);
    g_test_add_func("/golden_logins/a_round_of_two_logins_is_not_two_times",
                    a_round_of_two_logins_is_not_two_times);
    return g_test_run();
}
