/* Rounds that are handed in as binary rows are read back unchanged. */
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_rows.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <math.h>
#include <string.h>

#define CONFIGS 300

/* Configs of 0 to CONFIG_MAX values, and texts that JSON and arrays must escape. */
static struct round *make_odd_round(void)
{
    static const char *const texts[] = {"", "plain", "a \"quote\", {a,b} \\ and\n\ttab", "NULL",
                                        "\xc3\xa9\xf0\x9f\x98\x80"};
    struct round *round = round_new(CONFIGS);
    round->stack = g_strdup("clang \"15\", {hip} \\ 5.2");
    for (int i = 0; i < CONFIGS; i++) {
        const char *text = texts[i % (int)G_N_ELEMENTS(texts)];
        round->configs[i].count = i % (CONFIG_MAX + 1);
        for (int v = 0; v < round->configs[i].count; v++)
            round->configs[i].values[v] = v % 2 == 0 ? G_MININT32 + i : G_MAXINT32 - i;
        round->kernel_keys[i] = i % 2 == 0 ? g_strdup("") : g_strdup_printf("%064d", i % 32);
        round->details[i] = i % 3 == 0 ? NULL : g_strdup(text);
        round->outcomes[i].build_seconds = i / 3.0;
    }
    return round;
}

static void expect_same_round(const struct round *is, const struct round *was)
{
    g_assert_cmpint(is->config_count, ==, was->config_count);
    g_assert_cmpstr(is->stack, ==, was->stack);
    for (int i = 0; i < was->config_count; i++) {
        g_assert_cmpint(is->configs[i].count, ==, was->configs[i].count);
        g_assert_cmpmem(is->configs[i].values, (gsize)is->configs[i].count * sizeof(int32_t),
                        was->configs[i].values, (gsize)was->configs[i].count * sizeof(int32_t));
        g_assert_cmpstr(is->kernel_keys[i], ==, was->kernel_keys[i]);
        g_assert_cmpstr(is->details[i], ==, was->details[i]);
        g_assert_cmpint((int)is->outcomes[i].failure, ==, (int)was->outcomes[i].failure);
        g_assert_cmpfloat(is->outcomes[i].build_seconds, ==, was->outcomes[i].build_seconds);
    }
}

static void odd_rounds_are_read_back(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct round *round = make_odd_round();
    store_do(farm.store, &error, "UPDATE campaigns SET round_configs = 300", "");
    g_assert_no_error(error);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_true(store_built(farm.store, job, round, &error));
    g_assert_no_error(error);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    expect_same_round(job->rounds->pdata[0], round);
    round_free(round);
    job_free(job);
    farm_clear(&farm);
}

/* Strings and numbers that PostgreSQL cannot store are replaced, not refused, so that the round's
 * work is not lost. */
static void foreign_bytes_and_numbers_are_mended(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    struct round *round = farm_make_round(0);
    round->details[1] = g_strdup("half a character: \xc3");
    round->outcomes[0].build_seconds = INFINITY;
    round->outcomes[1].build_seconds = NAN;
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_true(store_built(farm.store, job, round, &error));
    g_assert_no_error(error);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    const struct round *open = job->rounds->pdata[0];
    g_assert_cmpstr(open->details[1], ==, "half a character: \xef\xbf\xbd");
    g_assert_cmpfloat(open->outcomes[0].build_seconds, ==, 0);
    g_assert_cmpfloat(open->outcomes[1].build_seconds, ==, 0);
    round_free(round);
    job_free(job);
    farm_clear(&farm);
}

/* A restored database gives its types other numbers: each connection asks for them anew. */
static void types_are_asked_for_by_each_connection(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 2});
    farm_work(&farm, 0, false, 1);
    g_assert_cmpint(farm.store->types_of, ==, PQbackendPID(farm.store->connection));
    PQreset(farm.store->connection);
    store_do(farm.store, &error, "SET search_path = skipjack, pg_temp", "");
    g_assert_no_error(error);
    farm.store->rounds_type = farm.store->outcomes_type = farm.store->results_type = 1;
    farm_work(&farm, 0, false, 1);
    farm_expect_campaign(&farm, farm.campaign, "done");
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/rows/odd_rounds_are_read_back", odd_rounds_are_read_back);
    g_test_add_func("/rows/foreign_bytes_and_numbers_are_mended",
                    foreign_bytes_and_numbers_are_mended);
    g_test_add_func("/rows/types_are_asked_for_by_each_connection",
                    types_are_asked_for_by_each_connection);
    return g_test_run();
}
