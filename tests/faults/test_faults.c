/* Each way in which a config can fail is stored with its own reason, and the good config wins. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "kernels/toolchains/toolchain.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_private.h"
#include "tests/faults/solver_faults.h"
#include "tests/faults/solver_slips.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/farm/scratch_db.h"

#define PROBLEM "8-10-10-1x1-12-10-10-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"

static const struct problem_part all_problems = PROBLEM_PART_ALL;

static const enum failure expected[FAULT_KINDS] = {
    [FAULT_NONE] = FAILURE_NONE,
    [FAULT_HANG] = FAILURE_RUN_TIMEOUT,
    [FAULT_COMPILER] = FAILURE_COMPILER_CRASH,
    [FAULT_RESULT] = FAILURE_WRONG_RESULT,
    [FAULT_OUT_OF_BOUNDS] = FAILURE_OUT_OF_BOUNDS,
    [FAULT_SYNTAX] = FAILURE_COMPILE_ERROR,
    [FAULT_CRASH] = FAILURE_DEVICE_FAULT,
    [FAULT_NAN] = FAILURE_WRONG_RESULT,
    [FAULT_MEMORY] = FAILURE_COMPILER_CRASH,
    [FAULT_CONSTRAINT] = FAILURE_LAUNCH_ERROR,
};

static const char *program(void)
{
    const char *path = g_getenv("SKIPJACK_FAULTS");
    return path ? path : "build/skipjack-faults";
}

static const char *const quick[] = {
    "--run-timeout", "8", "--sample-seconds", "0.05", "--compile-timeout", "90", NULL};

/* Tunes over the whole space, in the order of a seed. The limit of configs equals the space's size,
 * so that the next campaign does not take the results over. */
static int64_t tune(const char *seed)
{
    g_autofree char *configs = g_strdup_printf("%d", FAULT_KINDS);
    const char *const arguments[] = {"--seed",    seed,         "--configs", configs,
                                     "--solvers", "ConvFaults", NULL};
    int64_t campaign = live_campaign(program(), PROBLEM, arguments);
    g_assert_cmpint(live_wait(live_worker(program(), quick)), ==, 0);
    return campaign;
}

static void assert_rejections(Store *store, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    int named = 0;
    g_autoptr(GPtrArray) rejections =
        store_list_part_rejections(store, campaign, &all_problems, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < rejections->len; i++) {
        const struct config_outcome *row = g_ptr_array_index(rejections, i);
        gint64 kind = g_ascii_strtoll(row->config_text, NULL, 10);
        g_assert_cmpint(kind, <, FAULT_KINDS);
        if (kind == FAULT_NONE)
            continue; /* on a busy machine the default's repetition may be unstable */
        g_assert_cmpstr(failure_name(row->failure), ==, failure_name(expected[kind]));
        g_assert_nonnull(row->detail);
        g_assert_cmpstr(row->detail, !=, "");
        named++;
    }
    g_assert_cmpint(named, ==, FAULT_KINDS - 1);
}

static void assert_quarantine(Store *store)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = store_list_quarantine(store, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rows->len, ==, 2);
    for (guint i = 0; i < rows->len; i++) {
        const struct quarantine_row *row = g_ptr_array_index(rows, i);
        gint64 kind = g_ascii_strtoll(row->config_text, NULL, 10);
        g_assert_true(kind == FAULT_HANG || kind == FAULT_CRASH);
        g_assert_cmpint(row->failure, ==, expected[kind]);
    }
}

static void test_each_fault_is_named_and_the_good_config_wins(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = scratch_store();
    int64_t counts[FAILURE_COUNT];
    int64_t campaign = tune("1");
    assert_rejections(store, campaign);
    assert_quarantine(store);
    g_assert_true(store_count_outcomes(store, campaign, counts, &error));
    for (int kind = FAULT_NONE + 1; kind < FAULT_KINDS; kind++)
        counts[expected[kind]]--;
    for (int kind = FAULT_NONE + 1; kind < FAULT_KINDS; kind++)
        g_assert_cmpint(counts[expected[kind]], ==, 0);
    g_autoptr(GPtrArray) results = store_list_results(store, campaign, &error);
    g_assert_cmpuint(results->len, ==, 1);
    const struct result *best = g_ptr_array_index(results, 0);
    g_assert_cmpstr(best->kept.config_text, ==, "0");
    g_assert_true(best->kept.is_default);
    struct campaign *done = store_get_campaign(store, campaign, &error);
    g_assert_cmpstr(done->state, ==, "done");
    g_assert_cmpint(done->jobs_done, ==, 1);
    campaign_free(done);
}

static void test_quarantined_configs_are_not_tried_again(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = scratch_store();
    int64_t counts[FAILURE_COUNT];
    tune("1");
    int64_t again = tune("2");
    g_assert_true(store_count_outcomes(store, again, counts, &error));
    g_assert_cmpint(counts[FAILURE_RUN_TIMEOUT], ==, 0);
    g_assert_cmpint(counts[FAILURE_DEVICE_FAULT], ==, 0);
    g_assert_cmpint(counts[FAILURE_OUT_OF_BOUNDS], ==, 1);
}

/* HIPRTC compiles inside the build child, so the source that crashes HIPRTC ends that child. The
 * other configs are still built; they fail only on a device. */
static void test_what_is_built_without_a_device_is_judged_config_by_config(void)
{
    const char *const campaign_words[] = {"--target",   "gfx90a68",  "--build-only", "--strategy",
                                          "exhaustive", "--solvers", "ConvFaults",   NULL};
    const char *const worker_words[] = {"--eval", "none", "--build", "1", NULL};
    static const struct verdict {
        enum failure failure;
        const char *words;
    } verdicts[FAULT_KINDS] = {
        [FAULT_HANG] = {FAILURE_OVER_LIMITS, "bytes of scratch memory"},
        [FAULT_COMPILER] = {FAILURE_COMPILER_CRASH, "llvm_fatal_error"},
        [FAULT_SYNTAX] = {FAILURE_COMPILE_ERROR, "HIPRTC refused"},
        [FAULT_MEMORY] = {FAILURE_COMPILE_ERROR, "HIPRTC refused"},
    };
    const struct toolchain *hiprtc = toolchain_find("hiprtc");
    g_autoptr(GError) error = NULL;
    if (!hiprtc->version(NULL, &error)) {
        g_test_skip(error->message);
        return;
    }
    g_autoptr(Store) store = scratch_store();
    g_setenv("SKIPJACK_TOOLCHAIN", "hiprtc", TRUE);
    int64_t campaign = live_campaign(program(), PROBLEM, campaign_words);
    g_assert_cmpint(live_wait(live_worker(program(), worker_words)), ==, 0);
    g_unsetenv("SKIPJACK_TOOLCHAIN");
    g_autoptr(GPtrArray) rows = store_list_part_rejections(store, campaign, &all_problems, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < rows->len; i++) {
        const struct config_outcome *row = g_ptr_array_index(rows, i);
        const struct verdict *verdict = &verdicts[g_ascii_strtoll(row->config_text, NULL, 10)];
        g_assert_cmpint(row->failure, ==, verdict->failure);
        g_assert_true(verdict->words && strstr(row->detail, verdict->words));
    }
    g_assert_cmpint(rows->len, ==, 4);
    g_assert_cmpint(live_assert_done(store, campaign, 1), ==, 1);
}

/* ---- mistakes with the operands of epilogues, and with packed filters ---- */

#define SLIPS_PROBLEM                                                                              \
    "8-10-10-1x1-12-10-10-1-0x0-1x1-1x1-0-NCHW-INT8-F+bias+requant(INT8,channel)+add(INT8,NCHW)"   \
    "+relu\n"

static enum failure failure_of_slip(int slip)
{
    switch (slip) {
    case SLIP_NONE: return FAILURE_NONE;
    case SLIP_PACK_BEYOND: return FAILURE_OUT_OF_BOUNDS;
    case SLIP_PACK_READS_W: return FAILURE_REFUSED_BY_CHECK;
    default: return FAILURE_WRONG_RESULT;
    }
}

static void test_each_slip_with_an_operand_is_caught(void)
{
    g_autofree char *configs = g_strdup_printf("%d", SLIPS);
    const char *const arguments[] = {"--strategy", "exhaustive", "--configs", configs,
                                     "--solvers",  "ConvSlips",  NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = scratch_store();
    bool seen[SLIPS] = {false};
    int64_t campaign = live_campaign(program(), SLIPS_PROBLEM, arguments);
    g_assert_cmpint(live_wait(live_worker(program(), quick)), ==, 0);
    g_autoptr(GPtrArray) outcomes = store_list_outcomes(store, campaign, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < outcomes->len; i++) {
        const struct config_outcome *row = g_ptr_array_index(outcomes, i);
        int slip = (int)CLAMP(g_ascii_strtoll(row->config_text, NULL, 10), 0, SLIPS - 1);
        seen[slip] = true;
        g_test_message("slip %d: %s", slip, row->detail);
        if (slip != SLIP_NONE)
            g_assert_cmpstr(failure_name(row->failure), ==, failure_name(failure_of_slip(slip)));
    }
    for (int slip = 0; slip < SLIPS; slip++)
        g_assert_true(seen[slip]);
    g_autoptr(GPtrArray) results = store_list_results(store, campaign, &error);
    g_assert_cmpuint(results->len, ==, 1);
    const struct result *best = g_ptr_array_index(results, 0);
    g_assert_cmpstr(best->kept.config_text, ==, "0");
    g_assert_cmpuint(best->kept.packed_bytes, ==, 8 * 12);
    g_assert_cmpfloat(best->kept.outcome.pack_ms, >, 0);
}

static char *first_value(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_run(store, &error, sql, "");
    g_assert_no_error(error);
    return g_strdup(PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : "");
}

/* Another login, which the campaign trusts, has stored code that crashes under the good config's
 * key. */
static void
test_code_of_another_login_that_faults_is_built_here_before_anything_is_quarantined(void)
{
    const char *const all[] = {"--build-only", "--configs", "7",          "--strategy",
                               "exhaustive",   "--solvers", "ConvFaults", NULL};
    const char *const one[] = {"--configs", "1", "--solvers", "ConvFaults", NULL};
    const char *const worker_words[] = {"--eval", "none", "--build", "1", NULL};
    g_autoptr(Store) store = scratch_store();
    live_campaign(program(), PROBLEM, all);
    g_assert_cmpint(live_wait(live_worker(program(), worker_words)), ==, 0);
    g_autofree char *swapped = first_value(
        store,
        "WITH crash AS (SELECT code, code_sha256, code_bytes FROM kernels"
        " WHERE options LIKE '%FAULT=6%' AND code IS NOT NULL), swapped AS ("
        "UPDATE kernels k SET code = c.code, code_sha256 = c.code_sha256, code_bytes = c.code_bytes"
        " FROM crash c WHERE k.options LIKE '%FAULT=0%' RETURNING 1) SELECT count(*) FROM swapped");
    g_assert_cmpstr(swapped, ==, "1");
    int64_t campaign = live_campaign(program(), PROBLEM, one);
    g_free(first_value(store, "UPDATE worker_names SET login = 'another' RETURNING 1"));
    g_free(first_value(store, "UPDATE campaigns SET trusted = '{another}' RETURNING 1"));
    g_assert_cmpint(live_wait(live_worker(program(), quick)), ==, 0);
    g_assert_cmpint(live_assert_done(store, campaign, 1), ==, 1);
    g_autofree char *quarantined = first_value(store, "SELECT count(*) FROM quarantine");
    g_assert_cmpstr(quarantined, ==, "0");
    g_autofree char *said =
        first_value(store, "SELECT detail FROM events WHERE kind = 'foreign code faulted'");
    g_assert_nonnull(strstr(said, "its code was built by login another on node"));
    g_autofree char *builder = first_value(
        store, "SELECT count(*) FROM kernels k JOIN worker_names n ON n.worker_id = k.built_by"
               " WHERE k.options LIKE '%FAULT=0%' AND n.login <> 'another'");
    g_assert_cmpstr(builder, ==, "1");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/faults/each_fault_is_named_and_the_good_config_wins",
                    test_each_fault_is_named_and_the_good_config_wins);
    g_test_add_func("/faults/each_slip_with_an_operand_is_caught",
                    test_each_slip_with_an_operand_is_caught);
    g_test_add_func("/faults/quarantined_configs_are_not_tried_again",
                    test_quarantined_configs_are_not_tried_again);
    g_test_add_func("/faults/what_is_built_without_a_device_is_judged_config_by_config",
                    test_what_is_built_without_a_device_is_judged_config_by_config);
    g_test_add_func(
        "/faults/code_of_another_login_that_faults_is_built_here_before_anything_is_quarantined",
        test_code_of_another_login_that_faults_is_built_here_before_anything_is_quarantined);
    return g_test_run();
}
