/* Any JSON as a target, both in a frame and in a row of the database, and any text as a target's
 * id: a target that is read is valid for solvers, and both ways give the same target. */
#include "schema/store/store_private.h"
#include "schema/store/store_problems.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/target_json.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_id(const char *id)
{
    struct target target;
    g_autoptr(GError) error = NULL;
    bool read = target_parse(id, &target, &error);
    g_assert_true(read == (error == NULL));
    if (read) {
        g_assert_true(target_validate(&target, NULL));
        target_set_id(&target);
        g_assert_cmpstr(target.id, ==, id);
    }
}

/* A target in a frame has all fields, so the database's reader accepts it, too. */
static void read_frame(const json_t *object)
{
    struct target target, again;
    g_autoptr(GError) error = NULL;
    if (!target_from_json(object, &target, &error)) {
        g_assert_error(error, WORKER_ERROR, WORKER_ERROR_FRAME);
        return;
    }
    json_t *written = target_to_json(&target);
    g_assert_true(target_from_json(written, &again, NULL));
    g_assert_cmpmem(&target, sizeof target, &again, sizeof again);
    g_assert_true(target_from_row(written, &again, NULL));
    g_assert_cmpstr(target.id, ==, again.id);
    g_assert_cmpint(target.local_bytes, ==, again.local_bytes);
    json_decref(written);
}

static void read_row(const json_t *object)
{
    struct target target;
    g_autoptr(GError) error = NULL;
    bool read = target_from_row(object, &target, &error);
    g_assert_true(read == (error == NULL));
    g_assert_true(!read || target_validate(&target, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    json_t *object = json_loadb(text, size, JSON_ALLOW_NUL, NULL);
    read_id(text);
    if (object != NULL) {
        read_frame(object);
        read_row(object);
    }
    json_decref(object);
    return 0;
}
