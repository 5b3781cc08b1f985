#include "coordinator/pages/walk.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/describe.h"
#include "coordinator/process/process.h"

const char *pages_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* Returns what `skipjack COMMAND` says of itself. command: "campaign create", or "" for the command table. */
static json_t *ask(const char *command, GError **error)
{
    g_autofree char *line = g_strconcat(command, command[0] ? " " : "", DESCRIBE_OPTION, NULL);
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    g_autofree char *output = NULL;
    if (!process_run((const char *const *)words, NULL, &output, error))
        return NULL;
    json_t *object = json_loads(output, 0, NULL);
    if (!object)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
                    "skipjack %s prints no JSON", line);
    return object;
}

/* Adds to each row of `array` what the command says of itself, and to its verbs. `command`: the command whose verbs
 * the rows are, "" if they are commands. */
static bool fill(json_t *array, const char *command, GError **error)
{
    size_t index;
    json_t *row;
    json_array_foreach (array, index, row) {
        g_autofree char *name =
            g_strconcat(command, command[0] ? " " : "", pages_text(row, "name"), NULL);
        json_t *own = ask(name, error);
        if (!own)
            return false;
        /* The row's "summary" is one line; that of the command itself may be several sentences. */
        json_object_set_new(own, "line", json_incref(json_object_get(row, "summary")));
        json_object_update(row, own);
        json_decref(own);
        if (!fill(json_object_get(row, "verbs"), name, error))
            return false;
    }
    return true;
}

json_t *pages_walk(GError **error)
{
    json_t *program = ask("", error);
    if (program && fill(json_object_get(program, "commands"), "", error))
        return program;
    json_decref(program);
    return NULL;
}
