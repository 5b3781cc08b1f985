/* Impossible values that workers hand in: the database refuses each with its own error and stores nothing
 * of it. The same round with possible values is accepted right after. */
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "tests/support/farm/queue_farm.h"

#include <string.h>

struct handed_in {
    struct round *round;
    struct kept kept;
};
typedef void spoil_fn(struct handed_in *handed);

static void short_key(struct handed_in *h)
{
    h->round->kernel_keys[1][strlen(h->round->kernel_keys[1]) - 1] = '\0';
}
static void verified_unseen(struct handed_in *h)
{
    h->round->outcomes[0].failure = FAILURE_NONE;
}
static void slow_unseen(struct handed_in *h)
{
    h->round->outcomes[1].failure = FAILURE_SLOW;
}
static void endless_build(struct handed_in *h)
{
    h->round->outcomes[0].build_seconds = 1e300;
}
static void negative_build(struct handed_in *h)
{
    h->round->outcomes[0].build_seconds = -1;
}
static void long_detail(struct handed_in *h)
{
    h->round->details[0] = g_strnfill(100000, 'x');
}
static void no_runs(struct handed_in *h)
{
    h->round->outcomes[0].n = 0;
}
static void no_time(struct handed_in *h)
{
    h->round->outcomes[0].min_ms = 0;
}
static void low_median(struct handed_in *h)
{
    h->round->outcomes[0].median_ms = 0.1;
}
static void beyond_tolerance(struct handed_in *h)
{
    h->round->outcomes[0].error = 1.5;
}
static void negative_spread(struct handed_in *h)
{
    h->round->outcomes[1].spread = -1;
}
static void still_pending(struct handed_in *h)
{
    h->round->outcomes[1].failure = FAILURE_PENDING;
}
static void lost_worker(struct handed_in *h)
{
    h->round->outcomes[1].failure = FAILURE_WORKER_LOST;
}
static void kept_unmeasured(struct handed_in *h)
{
    static char text[] = "0,7";
    h->kept.config.values[1] = 7;
    h->kept.config_text = text;
}
static void kept_rejected(struct handed_in *h)
{
    static char text[] = "0,1";
    h->kept.config = h->round->configs[1];
    h->kept.config_text = text;
}
static void kept_faster(struct handed_in *h)
{
    h->kept.outcome.median_ms *= 0.95;
}
static void kept_other_text(struct handed_in *h)
{
    static char text[] = "0,9";
    h->kept.config_text = text;
}
static void kept_other_kernel(struct handed_in *h)
{
    h->kept.kernel_keys = h->round->kernel_keys[1];
}
static void kept_no_runs(struct handed_in *h)
{
    h->kept.outcome.n = 0;
}
static void kept_impossible(struct handed_in *h)
{
    h->kept.flops = 1e15;
}

static const struct {
    spoil_fn *spoil;
    enum pool pool;
    const char *words;
} cases[] = {
    {short_key, POOL_BUILD, "*keys of another length*"},
    {verified_unseen, POOL_BUILD, "*building ends with no such failure*"},
    {slow_unseen, POOL_BUILD, "*building ends with no such failure*"},
    {endless_build, POOL_BUILD, "*negative or endless*"},
    {negative_build, POOL_BUILD, "*negative or endless*"},
    {long_detail, POOL_BUILD, "*too long*"},
    {no_runs, POOL_EVAL, "*without a time*"},
    {no_time, POOL_EVAL, "*without a time*"},
    {low_median, POOL_EVAL, "*without a time*"},
    {beyond_tolerance, POOL_EVAL, "*tolerance*"},
    {negative_spread, POOL_EVAL, "*negative*"},
    {still_pending, POOL_EVAL, "*evaluating ends with no such failure*"},
    {lost_worker, POOL_EVAL, "*evaluating ends with no such failure*"},
    {kept_unmeasured, POOL_EVAL, "*config 0,7 is to be kept, and no round*"},
    {kept_rejected, POOL_EVAL, "*config 0,1 is to be kept, and no round*"},
    {kept_faster, POOL_EVAL, "*no round of the job has it verified*"},
    {kept_other_text, POOL_EVAL, "*another than its text*"},
    {kept_other_kernel, POOL_EVAL, "*no round of the job has it verified*"},
    {kept_no_runs, POOL_EVAL, "*no time*"},
    {kept_impossible, POOL_EVAL, "*the target needs*"},
};

static bool hand_in(struct farm *farm, const struct job *job, enum pool pool, spoil_fn *spoil,
                    GError **error)
{
    struct handed_in handed = {.round = farm_make_round(0)};
    if (pool == POOL_EVAL)
        farm_evaluate(handed.round, 2);
    handed.kept = farm_make_kept(handed.round);
    if (spoil)
        spoil(&handed);
    bool done = pool == POOL_BUILD
                    ? store_built(farm->store, job, handed.round, error)
                    : store_round(farm->store, job, handed.round, &handed.kept, 1, false, 1, error);
    round_free(handed.round);
    return done;
}

static void expect_refusals(struct farm *farm, enum pool pool)
{
    g_autoptr(GError) error = NULL;
    struct job *job = farm_claim_one(farm, 0, pool);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) refusal = NULL;
        if (cases[i].pool != pool)
            continue;
        g_assert_false(hand_in(farm, job, pool, cases[i].spoil, &refusal));
        g_assert_error(refusal, STORE_ERROR, STORE_ERROR_REFUSED);
        g_test_message("%s", refusal ? refusal->message : cases[i].words);
        g_assert_true(refusal && g_pattern_match_simple(cases[i].words, refusal->message));
    }
    hand_in(farm, job, pool, NULL, &error);
    g_assert_no_error(error);
    job_free(job);
}

static void what_cannot_be_is_refused(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = 1});
    expect_refusals(&farm, POOL_BUILD);
    expect_refusals(&farm, POOL_EVAL);
    farm_expect_job(&farm, "done", 0, FAILURE_NONE);
    farm_clear(&farm);
}

static void over_limits(struct handed_in *h)
{
    h->round->outcomes[1].failure = FAILURE_OVER_LIMITS;
}

/* A failure for exceeded limits is accepted: when building it ends a config, and may end the
 * job. */
static void what_exceeds_limits_is_taken(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 2});
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    store_fail_job(farm.store, job, FAILURE_OVER_LIMITS, "too much", &error);
    g_assert_no_error(error);
    farm_expect_job(&farm, "failed", 0, FAILURE_OVER_LIMITS);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_BUILD);
    hand_in(&farm, job, POOL_BUILD, over_limits, &error);
    g_assert_no_error(error);
    job_free(job);
    farm_clear(&farm);
}

static void one_of_many_is_refused_and_the_rest_is_stored(void)
{
    struct farm farm;
    GError *refused[2] = {NULL};
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 2});
    g_autoptr(GPtrArray) jobs = farm_claim(farm.store, farm.workers[0], POOL_BUILD, 2, 60);
    struct handed_in bad = {.round = farm_make_round(0)}, good = {.round = farm_make_round(0)};
    short_key(&bad);
    const struct handed items[] = {{.job = jobs->pdata[0], .round = bad.round},
                                   {.job = jobs->pdata[1], .round = good.round}};
    g_assert_true(store_built_many(farm.store, items, 2, refused, &error));
    g_assert_error(refused[0], STORE_ERROR, STORE_ERROR_REFUSED);
    g_assert_no_error(refused[1]);
    g_clear_error(&refused[0]);
    round_free(bad.round);
    round_free(good.round);
    farm_clear(&farm);
}

static void a_kernel_is_checked_too(void)
{
    struct farm farm;
    char empty[] = "", key[65];
    g_autoptr(GError) error = NULL;
    farm_init(&farm, NULL);
    memset(key, 'K', 64);
    key[64] = '\0';
    struct kernel_row row = {.key = key,
                             .file = empty,
                             .entry = empty,
                             .options = empty,
                             .arch = empty,
                             .toolchain = empty,
                             .toolchain_version = empty,
                             .failure = FAILURE_COMPILE_ERROR,
                             .log = empty};
    g_assert_false(store_put_kernel(farm.store, &row, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_REFUSED);
    g_clear_error(&error);
    memset(key, 'a', 64);
    row.failure = FAILURE_WRONG_RESULT;
    g_assert_false(store_put_kernel(farm.store, &row, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_REFUSED);
    farm_clear(&farm);
}

/* ---- how many rows the checks read ---- */

#define YOUNG_JOBS  1000
#define YOUNG_BATCH 10
#define DEEP_ROUNDS 60

/* Takes a batch of jobs through a pool; returns false when no job is left. */
static bool work_a_batch(struct farm *farm, enum pool pool)
{
    GError *refused[YOUNG_BATCH] = {NULL};
    struct handed items[YOUNG_BATCH];
    struct kept kept[YOUNG_BATCH];
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) jobs = farm_claim(farm->store, farm->workers[0], pool, YOUNG_BATCH, 60);
    for (guint i = 0; i < jobs->len; i++) {
        struct round *round = farm_make_round(0);
        items[i] = (struct handed){.job = jobs->pdata[i], .round = round};
        if (pool == POOL_BUILD)
            continue;
        farm_evaluate(round, 2);
        kept[i] = farm_make_kept(round);
        items[i].kept = &kept[i];
        items[i].kept_count = 1;
    }
    if (pool == POOL_BUILD)
        store_built_many(farm->store, items, (int)jobs->len, refused, &error);
    else
        store_round_many(farm->store, items, (int)jobs->len, refused, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < jobs->len; i++) {
        g_assert_no_error(refused[i]);
        round_free((struct round *)items[i].round);
    }
    return jobs->len > 0;
}

/* Counts scans of the campaign's tables, of any kind. */
static double rows_read(struct farm *farm)
{
    store_do(farm->store, NULL, "SELECT pg_stat_force_next_flush()", "");
    g_autoptr(StoreRows) rows =
        store_read(farm->store, NULL,
                   "SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes"
                   "        WHERE relname ~ '_[0-9]+$')"
                   " + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables"
                   "    WHERE relname ~ '_[0-9]+$')",
                   "");
    return g_ascii_strtod(PQgetvalue(rows, 0, 0), NULL);
}

/* The checks read by keys although the planner has no statistics of tables younger than a
 * minute. */
static void a_young_campaign_is_read_by_keys(void)
{
    struct farm farm;
    farm_init(&farm, &(struct order){.jobs = YOUNG_JOBS});
    for (enum pool pool = POOL_BUILD; pool <= POOL_EVAL; pool++)
        while (work_a_batch(&farm, pool))
            continue;
    double read = rows_read(&farm);
    g_test_message("%.1f rows a job", read / YOUNG_JOBS);
    g_assert_cmpfloat(read, >, YOUNG_JOBS);
    g_assert_cmpfloat(read, <, 15 * YOUNG_JOBS);
    farm_clear(&farm);
}

static void put_kernels(Store *store, int first, int count, bool built)
{
    char key[65], text[] = "";
    g_autoptr(GBytes) code = g_bytes_new("code", 4);
    for (int i = first; i < first + count; i++) {
        const struct kernel_row kernel = {.key = key,
                                          .file = text,
                                          .log = text,
                                          .failure = built ? FAILURE_NONE : FAILURE_COMPILE_ERROR,
                                          .code = built ? code : NULL};
        g_snprintf(key, sizeof key, "%064d", 1000 + i);
        g_assert_true(store_put_kernel(store, &kernel, NULL));
    }
}

/* The statistics show kernels without code as rare until there are many: the check still reads by
 * keys. */
static void what_others_answer_is_read_by_keys(void)
{
    struct farm farm;
    const struct order order = {.jobs = YOUNG_JOBS};
    int reused = 0;
    farm_init(&farm, &order);
    for (enum pool pool = POOL_BUILD; pool <= POOL_EVAL; pool++)
        while (work_a_batch(&farm, pool))
            continue;
    put_kernels(farm.store, 0, 1000, true);
    g_assert_true(store_do(farm.store, NULL, "ANALYZE kernels, results", ""));
    put_kernels(farm.store, 1000, 100, false);
    double before = rows_read(&farm);
    farm_create(farm.store, &order, &reused);
    double read = rows_read(&farm) - before;
    g_assert_cmpint(reused, ==, YOUNG_JOBS);
    g_test_message("%.1f rows a job", read / YOUNG_JOBS);
    g_assert_cmpfloat(read, <, 25 * YOUNG_JOBS);
    farm_clear(&farm);
}

/* Works a round of the only job; the kept result is that of the first round. */
static void work_a_round(struct farm *farm, const struct round *first, struct round *round)
{
    g_autoptr(GError) error = NULL;
    struct job *job = farm_claim_one(farm, 0, POOL_BUILD);
    farm_built(farm, job, round->number);
    job_free(job);
    job = farm_claim_one(farm, 0, POOL_EVAL);
    g_assert_cmpint((int)job->rounds->len, ==, round->number + 1);
    farm_evaluate(round, 2 + round->number);
    const struct kept kept = farm_make_kept(first);
    g_assert_true(store_round(farm->store, job, round, &kept, 1, true, 1, &error));
    g_assert_no_error(error);
    job_free(job);
}

static void a_young_job_of_many_rounds_is_read_by_keys(void)
{
    struct farm farm;
    struct round *first = farm_make_round(0);
    farm_init(&farm, &(struct order){.jobs = 1});
    work_a_round(&farm, first, first);
    for (int number = 1; number < DEEP_ROUNDS; number++) {
        struct round *round = farm_make_round(number);
        work_a_round(&farm, first, round);
        round_free(round);
    }
    round_free(first);
    /* A claim returns all earlier rounds of a job, in which the kept result is searched. */
    double read = rows_read(&farm);
    g_test_message("%.1f rows a round before", read / (DEEP_ROUNDS * DEEP_ROUNDS / 2));
    g_assert_cmpfloat(read, <, 12 * (DEEP_ROUNDS * DEEP_ROUNDS / 2));
    farm_clear(&farm);
}

/* ---- a job that is named twice ---- */

/* A batch that names a job twice is refused; its rounds, one earlier and one open, are handed in
 * again one by one. */
static void a_job_named_twice_is_refused(void)
{
    struct farm farm;
    struct kept kept[2];
    struct handed items[2];
    struct round *rounds[2] = {farm_make_round(0), farm_make_round(1)};
    GError *refused[2] = {NULL};
    g_autoptr(GError) error = NULL;
    farm_init(&farm, &(struct order){.jobs = 1});
    farm_work(&farm, 0, true, 1);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    farm_built(&farm, job, 1);
    job_free(job);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    for (int i = 0; i < 2; i++) {
        farm_evaluate(rounds[i], 2 + i);
        kept[i] = farm_make_kept(rounds[i]);
        items[i] = (struct handed){
            .job = job, .round = rounds[i], .kept = &kept[i], .kept_count = 1, .more = true};
    }
    g_assert_true(store_round_many(farm.store, items, 2, refused, &error));
    g_assert_no_error(error);
    g_assert_nonnull(refused[0]);
    g_assert_no_error(refused[1]);
    g_clear_error(&refused[0]);
    for (int i = 0; i < 2; i++)
        round_free(rounds[i]);
    job_free(job);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/checks/impossible_values_are_refused", what_cannot_be_is_refused);
    g_test_add_func("/checks/failure_over_limits_is_accepted", what_exceeds_limits_is_taken);
    g_test_add_func("/checks/refused_item_of_a_batch_leaves_the_rest_stored",
                    one_of_many_is_refused_and_the_rest_is_stored);
    g_test_add_func("/checks/a_kernel_is_checked_too", a_kernel_is_checked_too);
    g_test_add_func("/checks/a_young_campaign_is_read_by_keys", a_young_campaign_is_read_by_keys);
    g_test_add_func("/checks/answers_of_other_campaigns_are_read_by_keys",
                    what_others_answer_is_read_by_keys);
    g_test_add_func("/checks/a_young_job_of_many_rounds_is_read_by_keys",
                    a_young_job_of_many_rounds_is_read_by_keys);
    g_test_add_func("/checks/a_job_named_twice_is_refused", a_job_named_twice_is_refused);
    return g_test_run();
}
