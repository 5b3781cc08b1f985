/* Any JSON as the description of a night: refused with the name of the wrong field, or a request that can be checked for
 * each target. */
#include "coordinator/cli/cli.h"
#include "coordinator/nights/file/night_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct night_file *night)
{
    g_assert_true(night->target_count > 0 && night->source_count > 0);
    for (int i = 0; i < night->target_count; i++) {
        struct request request;
        struct context_limits limits;
        request_init(&request, 0);
        night_file_request(night, &night->targets[i], &request);
        g_assert_true(request_limits(&request, &limits, NULL));
        g_assert_true(request_check_share(request.share, NULL));
        g_assert_true(request_check_budget(request.budget_seconds, NULL));
        request_clear(&request);
    }
    for (int i = 0; i < night->source_count; i++)
        g_assert_true(night->sources[i].runs > 0 && night->sources[i].bytes_most > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    json_t *json =
        json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    if (!json)
        return 0;
    struct night_file *night = night_file_from_json("night.json", json, &error);
    if (night)
        check(night);
    else {
        g_assert_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE);
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
    }
    night_file_free(night);
    json_decref(json);
    return 0;
}
