#include "worker/agent/agent_probe.h"

#include <stdio.h>
#include <string.h>

#include "schema/monitor/log.h"
#include "worker/agent/identity.h"
#include "worker/child/child.h"

#define PROBE_SECONDS 60

struct probe {
    Child *child;
    const char *device;
    bool answered;
};

static void probe_up(Child *child, void *data)
{
    (void)data;
    child_set_deadline(child, PROBE_SECONDS);
}

static void probe_frame(Child *child, const struct frame *frame, void *data)
{
    struct probe *probe = data;
    const char *op = json_string_value(json_object_get(frame->head, "op"));
    if (probe->answered || !op || strcmp(op, "hello") != 0)
        return;
    json_t *answer = json_pack(
        "{s:O, s:O, s:O, s:O}", "target", json_object_get(frame->head, "target"), "stack",
        json_object_get(frame->head, "stack"), "device", json_object_get(frame->head, "device"),
        "identity", json_object_get(frame->head, "identity"));
    if (answer && json_dumpf(answer, stdout, JSON_COMPACT) == 0) {
        putchar('\n');
        probe->answered = true;
    }
    json_decref(answer);
    child_end(child, 1);
}

static void probe_died(Child *child, const struct child_death *death, void *data)
{
    struct probe *probe = data;
    if (!probe->answered)
        log_write(LEVEL_ERROR, "device_failed", NULL, "cannot open device '%s': %s: %s",
                  probe->device, death->text, death->words);
    probe->child = NULL;
    child_free(child);
}

static bool probe_device(uv_loop_t *loop, const char *device, char **environment)
{
    static const struct child_callbacks callbacks = {probe_up, probe_frame, probe_died};
    struct probe probe = {.device = device};
    struct child_spec spec = {.role = "probe", .argument = device, .environment = environment};
    probe.child = child_new(loop, &spec, &callbacks, &probe);
    child_start(probe.child);
    uv_run(loop, UV_RUN_DEFAULT);
    return probe.answered;
}

int agent_probe(char **devices)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *scratch = identity_make_scratch(&error);
    uv_loop_t loop;
    bool answered = true;
    if (!scratch) {
        log_write(LEVEL_ERROR, "worker_failed", NULL, "%s", error->message);
        return 1;
    }
    g_autofree char *setting = g_strdup_printf("SKIPJACK_SCRATCH=%s/probe", scratch);
    char *environment[] = {setting, NULL};
    uv_loop_init(&loop);
    for (char **device = devices; *device; device++)
        answered = probe_device(&loop, *device, environment) && answered;
    uv_loop_close(&loop);
    identity_remove_scratch(scratch);
    return answered ? 0 : 1;
}
