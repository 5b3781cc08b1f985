/* Two programs side by side on one database, as in an upgrade: build/skipjack, and build/skipjack-faults, which carries
 * one solver more. Each gets only jobs of the solvers that it carries. A database that a newer program migrated admits
 * an older one, or ends it with a reason. */
#include <locale.h>
#include <string.h>
#include <sys/wait.h>

#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/farm/scratch_db.h"

#define PROBLEM "8-10-10-1x1-12-10-10-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"

static const char *path_of(const char *variable, const char *otherwise)
{
    const char *path = g_getenv(variable);
    return path ? path : otherwise;
}

static void do_sql(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    store_do(store, &error, sql, "");
    g_assert_no_error(error);
}

static int64_t campaign_of(const char *program, const char *solver, const char *seed)
{
    const char *const arguments[] = {"--solvers", solver, "--configs", "1", "--seed", seed, NULL};
    return live_campaign(program, PROBLEM, arguments);
}

/* Whether the worker process `pid` built the kernel of the campaign's best result. */
static bool was_built_by(Store *store, int64_t campaign, pid_t pid)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) results = store_list_results(store, campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(results->len, ==, 1);
    const struct result *best = results->pdata[0];
    g_auto(GStrv) keys = g_strsplit(best->kept.kernel_keys, ",", 2);
    struct kernel_row *kernel = store_get_kernel(store, keys[0], &error);
    g_assert_no_error(error);
    g_autofree char *wanted = g_strdup_printf("%d", (int)pid);
    g_autoptr(GPtrArray) workers = store_list_workers(store, NULL, &error);
    bool was = false;
    for (guint i = 0; i < workers->len; i++) {
        const struct worker_row *row = workers->pdata[i];
        was |= row->id == kernel->built_by && strstr(row->process, wanted) != NULL;
    }
    kernel_row_free(kernel);
    return was;
}

static void test_each_program_gets_what_it_carries(void)
{
    static const char *const quick[] = {"--sample-seconds", "0.05", NULL};
    const char *older = path_of("SKIPJACK", "build/skipjack");
    const char *newer = path_of("SKIPJACK_FAULTS", "build/skipjack-faults");
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = scratch_store();
    int64_t nobodys = campaign_of(older, "ConvDirectNaive", "1");
    /* the revision of a future program */
    do_sql(store, "UPDATE solvers SET revision = revision + 1");
    int64_t both = campaign_of(older, "ConvDirectNaive", "2");
    int64_t newers = campaign_of(newer, "ConvFaults", "3");
    do_sql(store, "INSERT INTO schema_migrations VALUES (9998, '9998_kind', 'x', now(), 12)");
    pid_t old_worker = live_worker(older, quick);
    pid_t new_worker = live_worker(newer, quick);
    g_assert_cmpint(live_wait(old_worker), ==, 0);
    g_assert_cmpint(live_wait(new_worker), ==, 0);
    live_assert_done(store, both, 1);
    live_assert_done(store, newers, 1);
    g_assert_true(was_built_by(store, newers, new_worker));
    struct campaign *open = store_get_campaign(store, nobodys, &error);
    g_assert_cmpstr(open->state, ==, "active");
    g_assert_cmpint(open->jobs_done + open->jobs_failed, ==, 0);
    campaign_free(open);

    do_sql(store, "INSERT INTO schema_migrations VALUES (9999, '9999_unkind', 'x', now(), 9999)");
    int status = live_wait(live_worker(older, quick));
    do_sql(store, "DELETE FROM schema_migrations WHERE number > 9000");
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/upgrade/each_program_gets_what_it_carries",
                    test_each_program_gets_what_it_carries);
    return g_test_run();
}
