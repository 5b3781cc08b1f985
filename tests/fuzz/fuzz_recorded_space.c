/* A recorded space: any bytes are read or refused with a message, and what is read can be searched. */
#include "coordinator/replay/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(RecordedSpace) space = recorded_space_parse("space", data, size, &error);
    if (!space) {
        g_assert_nonnull(error);
        return 0;
    }
    const struct replay_setup setup = {
        .space = space, .strategy = SEARCH_LOCAL, .budget = {.tries = 12}, .batch = REPLAY_BATCH};
    struct replay_run *run = replay_once(&setup, size);
    g_assert_cmpuint(run->tries->len, >, 0);
    for (guint i = 0; i < space->configs->len; i++)
        json_decref(recorded_config_json(space, (int)i));
    replay_run_free(run);
    return 0;
}
