/* Any JSON as a row of the database: refused with a reason, or a value within its arrays' sizes
 * that is the same after writing and reading it again. */
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refused(bool read, GError **error)
{
    g_assert_true(read == (*error == NULL));
    if (!read) {
        g_assert_error(*error, STORE_ERROR, STORE_ERROR_DAMAGED);
    }
    g_clear_error(error);
}

static void read_problem(const json_t *object)
{
    struct problem p, again;
    g_autoptr(GError) error = NULL;
    bool read = problem_from_json(object, &p, &error);
    check_refused(read, &error);
    if (!read || !problem_validate(&p, NULL)) {
        return;
    }
    g_autoptr(StoreJson) written = problem_to_json(&p);
    g_assert_true(problem_from_json(written, &again, NULL) && problem_equal(&p, &again));
}

static void read_round(const json_t *object)
{
    const struct job job = {.id = 1};
    g_autoptr(GByteArray) rows = g_byte_array_new();
    g_autoptr(GError) error = NULL;
    struct round *round = round_from_json(object, &error);
    check_refused(round != NULL, &error);
    if (round != NULL) {
        built_to_row(rows, &job, round);
        outcomes_to_row(rows, &job, round, false);
    }
    round_free(round);
}

static void read_kept(const json_t *object)
{
    struct kept kept;
    struct perf_config again;
    g_autoptr(GError) error = NULL;
    bool read = kept_from_json(object, &kept, &error);
    check_refused(read, &error);
    g_autoptr(StoreJson) written = config_to_json(&kept.config);
    g_assert_true(config_from_json(written, &again, NULL));
    g_assert_true(perf_config_equal(&kept.config, &again));
    kept_clear(&kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(StoreJson) object =
        json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (object == NULL) {
        return 0;
    }
    read_problem(object);
    read_round(object);
    read_kept(object);
    campaign_free(store_read_campaign(object));
    return 0;
}
