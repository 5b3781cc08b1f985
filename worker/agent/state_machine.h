/*
 * A state machine as a table. A row allows one event in one state, and names the
 * next state and the action that follows. Every machine of the agent has one list
 * of states, one list of events, one such table, and one function that moves it
 * and logs each move at debug level. An event that the table does not allow is a
 * bug, and aborts.
 */
#ifndef WORKER_AGENT_STATE_MACHINE_H
#define WORKER_AGENT_STATE_MACHINE_H

#include "schema/monitor/log.h"

struct state_machine_name {
    const char *name, *meaning;
};

/* The states and events of a machine are listed in one macro of (identifier, name, meaning),
 * from which MACHINE_ENUM makes the enum and MACHINE_NAME the names. */
#define MACHINE_ENUM(id, name, meaning) id,
#define MACHINE_NAME(id, name, meaning) {name, meaning},

/* Called after the move, when the object is in its next state. It may move the machine again,
 * and may free the object. detail: data that came with the event. */
typedef void state_machine_action_fn(void *object, const void *detail);

struct state_machine_row {
    int state, event, next;
    state_machine_action_fn *action; /* NULL for none */
    const char *action_name;
};
#define MACHINE_ROW(state, event, next)                                                            \
    {                                                                                              \
        state, event, next, NULL, NULL                                                             \
    }
#define MACHINE_ROW_DOES(state, event, next, does)                                                 \
    {                                                                                              \
        state, event, next, does, #does                                                            \
    }

/* A machine's table, with the names of its states and events. Its objects begin in the first
 * state. */
struct state_machine {
    const char *name;
    const struct state_machine_name *states, *events;
    int state_count, event_count;
    const struct state_machine_row *rows;
    int row_count;
};
#define MACHINE_INIT(name, states, events, rows)                                                   \
    {                                                                                              \
        name, states, events, G_N_ELEMENTS(states), G_N_ELEMENTS(events), rows, G_N_ELEMENTS(rows) \
    }

/* The table's row for this event in this state, or NULL if the event is not allowed there. */
const struct state_machine_row *state_machine_find(const struct state_machine *machine, int state,
                                                   int event);

/* Logs the move and returns its row; the caller sets its object's state to row->next, then calls
 * the row's action. `which` names the object in the log, in addition to `about`; both may be
 * NULL. Aborts if the table has no such row. */
const struct state_machine_row *state_machine_move(const struct state_machine *machine,
                                                   const char *which, const struct log_about *about,
                                                   int state, int event);

#endif
