/*
 * One supervised child process on a libuv loop: this program, started by exec as `child ROLE ...`, which reads and
 * writes frames over pipes. A child may hang, crash or be killed. died() then reports the cause, with the end of the
 * child's standard error, and the owner may start it again. A child that died without an answer starts only after a
 * pause, which doubles with each such death.
 *
 * All calls belong to the loop's thread. No call of this header calls a callback; callbacks come from the loop.
 */
#ifndef WORKER_CHILD_CHILD_H
#define WORKER_CHILD_CHILD_H

#include <uv.h>

#include "worker/protocol/frames.h"

typedef struct child Child;

enum child_end {
    CHILD_EXITED,   /* The process exited; `code` is its exit status. */
    CHILD_CRASHED,  /* A signal ended the process; `code` is the signal. */
    CHILD_TIMEOUT,  /* The process was killed since its deadline passed. */
    CHILD_PROTOCOL, /* The process wrote bytes that are not a frame, and was killed. */
    CHILD_UNBORN,   /* The process could not be started. */
    CHILD_ENDS
};

struct child_death {
    enum child_end end;
    int code;
    /* The end of the process's standard error, "" if it wrote nothing; valid during the
     * callback. */
    const char *words;
    char *text; /* the cause of death in one line, without `words`; valid during the callback */
};

struct child_callbacks {
    /* Called when the process runs: requests may be sent. */
    void (*up)(Child *child, void *data);
    /* Called for each frame that the process sends. The frame's JSON and blob belong to the
     * child; take references to keep them. */
    void (*frame)(Child *child, const struct frame *frame, void *data);
    /* Called once for each process, after all its frames. It may call child_start(). */
    void (*died)(Child *child, const struct child_death *death, void *data);
};

struct child_spec {
    const char *role;      /* "build", "eval" */
    const char *argument;  /* argument of the child's main function; may be NULL */
    bool logged;           /* the lines of the child's standard error become lines of the log */
    uint64_t memory_bytes; /* limit of the child's private memory, 0 for none */
    /* Settings ("NAME=VALUE") in addition to the inherited ones, NULL-terminated; may be NULL. */
    char *const *environment;
};

/* spec is copied. */
Child *child_new(uv_loop_t *loop, const struct child_spec *spec,
                 const struct child_callbacks *callbacks, void *data);
/* Kills a running process; no callback follows. The loop must run until the child's handles are closed. */
void child_free(Child *child);

/* Starts the process, at once or after the pause for earlier deaths. The child must be down. */
void child_start(Child *child);
/* Whether the child is neither running nor waiting to start. */
bool child_is_down(const Child *child);
bool child_is_up(const Child *child);
long child_pid(const Child *child); /* 0 for a child that is not up */

/* Sends a request. The child must be up. If its process has ended meanwhile, the frame is lost, and died() follows.
 * head stays the caller's. */
void child_send(Child *child, json_t *head, GBytes *blob);
/* Kills the child if it is still up after so many seconds. Replaces an earlier deadline; 0 removes
 * it. */
void child_set_deadline(Child *child, double seconds);
/* Closes the child's standard input, which asks it to end, and kills it after grace_seconds. */
void child_end(Child *child, double grace_seconds);

#endif
