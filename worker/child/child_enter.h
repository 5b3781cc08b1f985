/*
 * The child's side of worker/child/child.h: what a child process does before and while it serves.
 */
#ifndef WORKER_CHILD_CHILD_ENTER_H
#define WORKER_CHILD_CHILD_ENTER_H

#include <glib.h>
#include <stdbool.h>

#define CHILD_ARGUMENTS 2

/*
 * Call it first, with the arguments after `child ROLE`: the parent's process id and the memory limit in bytes (0
 * for none); the role's own arguments follow them. Afterwards the process, and everything it starts, dies with its
 * parent; it ignores SIGTERM, SIGINT and SIGHUP, which the agent answers; and its private memory is limited.
 * False with WORKER_ERROR_CHILD if the parent is gone already, an argument is wrong or the system refuses.
 */
bool child_enter(int argc, char **argv, GError **error);

/* Keeps standard output for frames: a compiler or driver that prints there would break them.
 * Returns a new descriptor of standard output, to which frames are written, and directs standard
 * output to standard error. -1 with WORKER_ERROR_CHILD. */
int child_take_stdout(GError **error);

#endif
