/*
 * The child's side of worker/child/child.h: what a child process does before and while it serves.
 */
#ifndef WORKER_CHILD_ENTER_H
#define WORKER_CHILD_ENTER_H

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

/* Moves standard output to a new descriptor, which is returned for the frames, and standard error into its
 * place: a compiler or driver that prints to standard output would break the frames. -1 with
 * WORKER_ERROR_CHILD. */
int child_take_stdout(GError **error);

#endif
