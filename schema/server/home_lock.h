/*
 * The two locks of a home: a command's turn, and the server's hold. Both are
 * open-file-description locks (fcntl, F_OFD_SETLK). Such a lock belongs to the
 * open file: a child that inherits the descriptor holds it too, and the lock
 * ends with the last process that has the file open, however that process
 * ends. On NFS the server arbitrates the locks among all hosts.
 */
#ifndef SCHEMA_SERVER_HOME_LOCK_H
#define SCHEMA_SERVER_HOME_LOCK_H

#include "schema/server/embedded.h"

/* Waits for this process's turn: one command at a time may create, start or stop the server, on all hosts that
 * share the home. Returns a descriptor, or -1 with an error. The turn ends when every process that has the
 * descriptor has closed it. */
int home_turn_take(const struct embedded *embedded, GError **error);

/* Takes the home for a server that this process is about to start, and records this host in the lock's file. Call it
 * during one's turn. *held_fd is a descriptor for the server to inherit: the home is held until the last process
 * that has it open ends. If another server's processes hold the home, returns true with *held_fd -1. False with an
 * error if the file cannot be locked. */
bool home_lock_take(const struct embedded *embedded, int *held_fd, GError **error);

struct home_holder {
    bool is_here; /* in this PID namespace: /proc shows its processes */
    char *text;   /* "on host 'node7' since 2025-01-31 12:00:00 UTC, process 12 there" */
};
/* Returns whether a server's processes hold the home, and describes them. False also if that cannot be found out. */
bool home_lock_holder(const struct embedded *embedded, struct home_holder *holder);
void home_holder_clear(struct home_holder *holder);
typedef struct home_holder HomeHolder;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HomeHolder, home_holder_clear)

#endif
