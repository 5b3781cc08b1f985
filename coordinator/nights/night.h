/*
 * Runs a night (NIGHTS.md): a state machine of one enum (enum night_state), one table of moves and one function that
 * makes them. The state is in the database: a process that is killed is followed by another one, which goes on with
 * the step that was under way. Each step may be done again: it finds what was done before.
 */
#ifndef COORDINATOR_NIGHTS_NIGHT_H
#define COORDINATOR_NIGHTS_NIGHT_H

#include "coordinator/cli/progress_line.h"
#include "coordinator/nights/file/night_file.h"
#include "schema/results/store_nights.h"

/* A night under way in this process. */
struct night_run {
    Store *store;
    const struct night_file *file;
    struct night *night; /* its row, as it was read or moved last */
    int caught;          /* the last signal that asked to end; 0 for none */
    struct progress_line line;
};

/* How a step ended. */
enum night_outcome {
    NIGHT_STEP_DONE,
    NIGHT_STEP_EMPTY,   /* done, and there is nothing for the steps behind it */
    NIGHT_STEP_STOPPED, /* a signal asked to end: run->caught */
    NIGHT_STEP_FAILED,  /* *error says why */
};

/* The work of a state, and the states that it leads to. */
struct night_move {
    enum night_state at, done, empty, failed;
    /* Does the state's work. detail: a few words on what was done, for lists. */
    enum night_outcome (*work)(struct night_run *run, GString *detail, GError **error);
    const char *says; /* what begins, for people */
};
/* One row for each state but NIGHT_DONE, by state. */
extern const struct night_move night_moves[NIGHT_DONE];
/* Whether the table has the move, or it begins a failed step of an ended night again. The database has the same list
 * (night_may_move()). */
bool night_may_move(enum night_state from, enum night_state to);

struct night_wish {
    const char *date; /* YYYY-MM-DD */
    bool as_json;     /* print the summary as an object, else as text */
};
/* Runs the night, or follows the process that does, or goes on where a process ended. A night that ended with failed
 * steps begins again with the first of them. Returns the exit status: CLI_DONE, CLI_FAILED for findings or failures of a
 * night that is done, CLI_UNFINISHED if it is not done and the same command goes on with it, CLI_INTERRUPTED after a
 * signal. */
int night_run(Store *store, const struct night_file *file, const struct night_wish *wish);
/* Says why a night could not be carried on, and frees the error. Returns CLI_USAGE if the description is wrong, else
 * CLI_UNFINISHED: timers start the night again. */
int night_fail(GError *error);

#endif
