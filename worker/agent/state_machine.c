#include "worker/agent/state_machine.h"

const struct state_machine_row *state_machine_find(const struct state_machine *machine, int state,
                                                   int event)
{
    for (int i = 0; i < machine->row_count; i++)
        if (machine->rows[i].state == state && machine->rows[i].event == event)
            return &machine->rows[i];
    return NULL;
}

const struct state_machine_row *state_machine_move(const struct state_machine *machine,
                                                   const char *which, const struct log_about *about,
                                                   int state, int event)
{
    const struct state_machine_row *row = state_machine_find(machine, state, event);
    const char *from = machine->states[state].name, *what = machine->events[event].name;
    if (!row)
        g_error("%s%s%s: '%s' is not allowed in state '%s'", machine->name, which ? " " : "",
                which ? which : "", what, from);
    log_write(LEVEL_DEBUG, "state", about, "%s%s%s: %s: %s -> %s", machine->name, which ? " " : "",
              which ? which : "", what, from, machine->states[row->next].name);
    return row;
}
