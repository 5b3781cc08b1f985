/* Tests chaos_check(): an undisturbed farm passes, and each kind of damage to its database is
 * reported. */
#include "tests/support/chaos/chaos_check.h"
#include "tests/support/patience.h"

#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "tests/support/chaos/sim_solver.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <locale.h>
#include <signal.h>
#include <string.h>

#define JOBS 48

static struct chaos chaos;

static bool is_done(void)
{
    g_autoptr(GError) error = NULL;
    struct campaign *campaign = store_get_campaign(chaos.store, chaos.sim_campaign, &error);
    g_assert_no_error(error);
    bool done = strcmp(campaign->state, "done") == 0;
    campaign_free(campaign);
    return done;
}

static void work(const char *program, const char *log)
{
    g_autoptr(GError) error = NULL;
    const char *const argv[] = {program, scratch_db_url(), "node", "1", "0", "30", log, NULL};
    GPid worker;
    gint64 limit = patience_end();
    g_spawn_async(NULL, (char **)(gpointer)argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
                  &worker, &error);
    g_assert_no_error(error);
    while (!is_done() && g_get_monotonic_time() < limit)
        g_usleep(20000);
    g_assert_true(is_done());
    kill(worker, SIGKILL);
}

static void prepare(const char *argv0, TempFolder *folder)
{
    g_autofree char *programs = g_path_get_dirname(argv0);
    g_autofree char *program = g_build_filename(programs, "sim_worker", NULL);
    chaos.store = scratch_store();
    chaos.sim_campaign = sim_campaign(chaos.store, JOBS);
    for (int i = 1; i < CHAOS_ACTORS; i++)
        chaos.actors[i].agent = true; /* no log to read */
    chaos.actors[0].log = g_strdup(temp_folder_path(folder, "sim.log"));
    work(program, chaos.actors[0].log);
    chaos.calm = sim_results(chaos.store, chaos.sim_campaign);
}

static void test_who_was_not_disturbed_passes(void)
{
    struct chaos_check check;
    chaos_check_init(&check, &chaos);
    for (int i = 0; i < FINDINGS; i++)
        g_assert_cmpuint(g_hash_table_size(check.jobs[i]), ==, 0);
    g_assert_cmpint(check.errors, ==, 0);
    g_assert_cmpint(check.sim_done + check.sim_failed, ==, JOBS);
    g_assert_cmpint(check.acknowledged, >=, JOBS);
    chaos_check_clear(&check);
}

#define ONE "(SELECT min(job_id) FROM job_ends WHERE state = 'done')"

static const struct {
    const char *what, *sql;
    enum finding finding;
} damages[] = {
    {"a job is nowhere", "DELETE FROM job_ends WHERE job_id = " ONE, LOST},
    {"a job has not ended",
     "WITH gone AS (DELETE FROM job_ends WHERE job_id = " ONE " RETURNING campaign_id, job_id)"
     " INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)"
     " SELECT campaign_id, 1, 'ready', 0, 1, ARRAY[job_id] FROM gone",
     LOST},
    {"a job is in two places",
     "INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids)"
     " SELECT campaign_id, 1, 'ready', 0, 1, ARRAY[job_id] FROM job_ends WHERE job_id = " ONE,
     DUPLICATED},
    {"an acknowledged round is gone", "DELETE FROM outcomes WHERE number = 0 AND job_id = " ONE,
     LOST},
    {"an acknowledged round was replaced",
     "UPDATE outcomes SET fence = fence + 1000 WHERE number = 0 AND job_id = " ONE, LOST},
    {"another time won", "UPDATE results SET median_ms = median_ms / 2 WHERE job_id = " ONE,
     FALSELY_SUCCESSFUL},
    {"a bad job is done",
     "UPDATE job_ends SET state = 'done', failure = 0"
     " WHERE job_id = (SELECT min(job_id) FROM job_ends WHERE state = 'failed')",
     FALSELY_SUCCESSFUL},
    {"a good job failed", "UPDATE job_ends SET state = 'failed', failure = 5 WHERE job_id = " ONE,
     FALSELY_FAILED},
    {"a job failed as lost that nobody lost",
     "UPDATE job_ends SET state = 'failed', failure = 13, lost_state = 'ready' WHERE job_id = " ONE,
     FALSELY_FAILED},
};

static void test_each_damage_is_found(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(damages); i++) {
        g_autoptr(GError) error = NULL;
        struct chaos_check check;
        g_test_message("%s", damages[i].what);
        g_assert_true(store_do(chaos.store, &error, "BEGIN", ""));
        g_assert_true(store_do(chaos.store, &error, damages[i].sql, ""));
        g_assert_no_error(error);
        chaos_check_init(&check, &chaos);
        g_assert_cmpuint(g_hash_table_size(check.jobs[damages[i].finding]), ==, 1);
        chaos_check_clear(&check);
        g_assert_true(store_do(chaos.store, &error, "ROLLBACK", ""));
    }
}

/* Two rounds of one job are stored under the fences of two claims. */
static void test_a_round_accepted_twice_is_found(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    struct chaos_check check;
    g_assert_true(g_file_get_contents(chaos.actors[0].log, &text, NULL, &error));
    g_auto(GStrv) lines = g_strsplit(text, "\n", 2);
    g_autofree char *more = g_strconcat(text, lines[0], "1\n", NULL);
    g_assert_true(g_file_set_contents(chaos.actors[0].log, more, -1, &error));
    chaos_check_init(&check, &chaos);
    g_assert_cmpuint(g_hash_table_size(check.jobs[DUPLICATED]), ==, 1);
    g_assert_cmpuint(g_hash_table_size(check.jobs[LOST]), ==, 1);
    chaos_check_clear(&check);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_autoptr(TempFolder) folder = temp_folder_new();
    prepare(argv[0], folder);
    g_test_add_func("/chaos/check/who_was_not_disturbed_passes", test_who_was_not_disturbed_passes);
    g_test_add_func("/chaos/check/each_damage_is_found", test_each_damage_is_found);
    g_test_add_func("/chaos/check/a_round_accepted_twice_is_found",
                    test_a_round_accepted_twice_is_found);
    int status = g_test_run();
    g_hash_table_unref(chaos.calm);
    g_free(chaos.actors[0].log);
    store_close(chaos.store);
    return status;
}
