/*
 * One supervised child process on a libuv loop: this program again, started
 * by exec as `child ROLE ...`, spoken to in frames over pipes. A child may
 * hang, crash or be killed; whoever owns it is told what happened, with the
 * last words of its standard error, and may start it anew. A child that dies
 * before it answered anything is started again after a growing pause.
 *
 * All calls belong to the loop's thread. Callbacks are never called from
 * inside a call, except child_start()'s own failure to queue.
 */
#ifndef WORKER_CHILD_H
#define WORKER_CHILD_H

#include <uv.h>

#include "worker/protocol/frames.h"

typedef struct child Child;

enum child_end {
    CHILD_EXITED,   /* It ended by itself; `code` is its exit status. */
    CHILD_CRASHED,  /* A signal ended it; `code` is the signal. */
    CHILD_TIMEOUT,  /* Its deadline passed and it was killed. */
    CHILD_PROTOCOL, /* It wrote what is no frame and was killed. */
    CHILD_UNBORN,   /* It could not be started. */
    CHILD_ENDS
};

struct child_death {
    enum child_end end;
    int code;
    const char
        *words; /* the end of its standard error, "" when silent; valid during the callback */
    char *text; /* one line that names the cause, without the words; likewise */
};

struct child_callbacks {
    /* Requests may be sent from now on. */
    void (*up)(Child *child, void *data);
    /* The frame's parts belong to the caller. */
    void (*frame)(Child *child, const struct frame *frame, void *data);
    /* Told once a process, after all its frames; child_start() may be called from it. */
    void (*died)(Child *child, const struct child_death *death, void *data);
};

struct child_spec {
    const char *role;      /* "build", "eval" */
    const char *argument;  /* passed on to the child's main, may be NULL */
    bool logged;           /* what it says becomes lines of the log */
    uint64_t memory_bytes; /* limit of its private memory, 0 for none */
    char *const
        *environment; /* "NAME=VALUE" beside the inherited ones, NULL-terminated; may be NULL */
};

/* spec is copied. */
Child *child_new(uv_loop_t *loop, const struct child_spec *spec,
                 const struct child_callbacks *callbacks, void *data);
/* Kills what still runs; no callback follows. The loop must run on until its handles are closed. */
void child_free(Child *child);

/* Starts the process, at once or after the pause that earlier deaths earned. Only when it is down. */
void child_start(Child *child);
/* Neither running nor about to. */
bool child_is_down(const Child *child);
bool child_is_up(const Child *child);
long child_pid(const Child *child); /* 0 when not up */

/* Only when up. A child that died meanwhile loses the frame; `died` says so. head is not consumed. */
void child_send(Child *child, json_t *head, GBytes *blob);
/* Kills the child when it is still up in that many seconds; replaces an earlier deadline, 0 lifts it. */
void child_set_deadline(Child *child, double seconds);
/* Asks it to end by closing its standard input, and kills it after grace_seconds. */
void child_end(Child *child, double grace_seconds);

#endif
