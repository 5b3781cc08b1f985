/*
 * A state machine as a table. A row allows one event in one state, and names the next state and the action that
 * follows. Every machine of the agent has one list of states, one list of events, one such table and one function
 * that moves it, which logs each move at debug level. An event that the table does not allow is a bug, and aborts.
 */
#ifndef WORKER_STATE_MACHINE_H
#define WORKER_STATE_MACHINE_H

#include "schema/monitor/log.h"

struct state_machine_name {
    const char *name, *meaning;
};

/* Lists of states and events are macros of (identifier, name, meaning): an enum and the names are made from one. */
#define MACHINE_ENUM(id, name, meaning) id,
#define MACHINE_NAME(id, name, meaning) {name, meaning},

/* Called after the move, in the next state. It may move the machine again, and may free the object. detail is what
 * the event came with. */
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

/* A machine begins in its first state. */
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

/* The row of that event in that state, or NULL. */
const struct state_machine_row *state_machine_find(const struct state_machine *machine, int state,
                                                   int event);

/* Logs the move and returns its row: the caller sets its object's state, then calls the row's action. which names
 * the object in the log, beside about; both may be NULL. Aborts where the table has no such row. */
const struct state_machine_row *state_machine_move(const struct state_machine *machine,
                                                   const char *which, const struct log_about *about,
                                                   int state, int event);

#endif
