/* Results keep their worker and login, and times that no device can reach are refused. */
#include "schema/results/store_results.h"
#include "schema/store/store_private.h"
#include "schema/store/store_problems.h"
#include "schema/store/store_queue.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>

/* Takes a job through both pools by the given worker. */
static void work(struct farm *farm, int worker)
{
    struct job *job = farm_claim_one(farm, worker, POOL_BUILD);
    farm_built(farm, job, 0);
    job_free(job);
    job = farm_claim_one(farm, worker, POOL_EVAL);
    farm_round(farm, job, 0, false, 1);
    job_free(job);
}

static void results_name_the_login_that_measured_them(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 3);
    work(&f.farm, 0);
    struct farm second = f.farm;
    second.store = f.two;
    work(&second, 1);
    work(&second, 1);
    g_autoptr(GPtrArray) all = store_list_measured(f.guest, f.farm.campaign, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(all->len, ==, 3);
    const struct measured *first = all->pdata[0], *last = all->pdata[2];
    g_assert_cmpstr(first->login, ==, "node1");
    g_assert_cmpstr(first->node, ==, "one");
    g_assert_cmpint(first->worker, ==, f.farm.workers[0]);
    g_assert_cmpint(first->rounds, ==, 1);
    g_assert_cmpstr(last->login, ==, "node2");
    g_autoptr(GPtrArray) some = store_list_measured(f.guest, f.farm.campaign, "node2", &error);
    g_assert_cmpuint(some->len, ==, 2);
    /* The worker's row is dropped; its name stays with the result. */
    g_autoptr(Store) owner = store_open(scratch_db_url(), &error);
    g_assert_true(store_do(owner, &error, "DELETE FROM workers WHERE login = 'node2'", ""));
    g_autoptr(GPtrArray) later = store_list_measured(f.guest, f.farm.campaign, "node2", &error);
    g_assert_cmpuint(later->len, ==, 2);
    role_farm_clear(&f);
}

/* A worker cannot claim that its solution needs no operations: the problem needs some. */
static void forged_times_are_refused(void)
{
    static const char *const targets[] = {"gfx90a68", "cpu-znver4_16"};
    for (gsize i = 0; i < G_N_ELEMENTS(targets); i++) {
        struct role_farm f;
        struct target target;
        g_autoptr(GError) error = NULL;
        role_farm_init(&f, 1);
        g_assert_true(target_parse(targets[i], &target, &error));
        g_assert_true(store_put_target(f.boss, &target, &error));
        struct job *job = farm_claim_one(&f.farm, 0, POOL_BUILD);
        farm_built(&f.farm, job, 0);
        job_free(job);
        job = farm_claim_one(&f.farm, 0, POOL_EVAL);
        g_autoptr(Store) owner = store_open(scratch_db_url(), &error);
        g_assert_true(store_do(owner, &error, "UPDATE campaigns SET target = $1", "s", target.id));
        struct round *round = farm_make_round(0);
        farm_evaluate(round, 1e-9);
        struct kept kept = farm_make_kept(round);
        kept.flops = 0;
        role_expect_refused(store_round(f.farm.store, job, round, &kept, 1, false, 1, &error),
                            &error, STORE_ERROR_REFUSED, "the target needs");
        role_expect_count(f.guest, "SELECT count(*) FROM deliveries", "0");
        round_free(round);
        job_free(job);
        role_farm_clear(&f);
    }
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    store_close(scratch_store());
    role_farm_make_logins();
    g_test_add_func("/measured_by/results_name_the_login_that_measured_them",
                    results_name_the_login_that_measured_them);
    g_test_add_func("/measured_by/forged_times_are_refused", forged_times_are_refused);
    return g_test_run();
}
