#include "coordinator/process/machine.h"

#include "coordinator/cli/cli.h"
#include "coordinator/process/process.h"
#include "schema/store/store_problems.h"

#include <string.h>

void machine_clear(struct machine *machine)
{
    g_free(machine->stack);
    g_free(machine->device);
    *machine = (struct machine){0};
}

static void take_limit(const json_t *object, const char *key, int *field)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    if (value > 0 && value <= G_MAXINT)
        *field = (int)value;
}

/* Reads the target. Its id implies the architecture's limits; limits that the opened device
 * reported replace these. */
static bool take_target(const json_t *object, struct target *target, GError **error)
{
    const char *id = json_string_value(json_object_get(object, "id"));
    if (!id) {
        g_set_error(
            error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
            "cannot learn this machine's device: 'skipjack worker --probe' names no target");
        return false;
    }
    if (!target_parse(id, target, error))
        return false;
    json_int_t local_bytes = json_integer_value(json_object_get(object, "local_bytes"));
    double flops = json_number_value(json_object_get(object, "peak_flops"));
    double bytes = json_number_value(json_object_get(object, "peak_bytes"));
    target->local_bytes = local_bytes > 0 ? local_bytes : target->local_bytes;
    target->peak_flops = flops > 0 ? flops : target->peak_flops;
    target->peak_bytes = bytes > 0 ? bytes : target->peak_bytes;
    take_limit(object, "max_workgroup", &target->max_workgroup);
    take_limit(object, "wave_size", &target->wave_size);
    take_limit(object, "vector_bytes", &target->vector_bytes);
    return true;
}

static char *take_word(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return g_strdup(text ? text : "");
}

bool machine_probe(struct machine *machine, GError **error)
{
    *machine = (struct machine){0};
    json_t *probe = process_probe(error);
    if (!probe)
        return false;
    bool ok = take_target(json_object_get(probe, "target"), &machine->target, error);
    machine->stack = take_word(probe, "stack");
    machine->device = take_word(probe, "device");
    json_decref(probe);
    return ok;
}

bool machine_parse_target(const char *name, struct target *target, GError **error)
{
    g_autoptr(GError) wrong = NULL;
    if (target_parse(name, target, &wrong))
        return true;
    g_set_error_literal(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE, wrong->message);
    return false;
}

bool machine_check_target(const struct machine *machine, const char *wanted, const char *command,
                          GError **error)
{
    struct target other;
    const char *id = machine->target.id;
    if (!wanted || strcmp(wanted, "local") == 0 || strcmp(wanted, id) == 0)
        return true;
    if (!machine_parse_target(wanted, &other, error))
        return false;
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                "this machine is %s, not %s; %s works on its own machine, and for another target "
                "'skipjack campaign create --target %s' makes a campaign that its workers take",
                id, wanted, command, wanted);
    return false;
}

bool machine_find(Store *store, const char *name, struct machine *machine, GError **error)
{
    if (strcmp(name, "local") == 0)
        return machine_probe(machine, error);
    *machine = (struct machine){.stack = g_strdup(""), .device = g_strdup("")};
    g_autoptr(GError) unknown = NULL;
    if (store_get_target(store, name, &machine->target, &unknown))
        return true;
    if (!g_error_matches(unknown, STORE_ERROR, STORE_ERROR_NOT_FOUND)) {
        g_propagate_error(error, g_steal_pointer(&unknown));
        return false;
    }
    return machine_parse_target(name, &machine->target, error);
}

char *machine_target_id(Store *store, const char *name, GError **error)
{
    struct machine machine = {0};
    char *id = machine_find(store, name, &machine, error) ? g_strdup(machine.target.id) : NULL;
    machine_clear(&machine);
    return id;
}
