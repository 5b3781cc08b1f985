/*
 * PostgreSQL's programs and processes, for the embedded server.
 */
#ifndef SCHEMA_SERVER_POSTGRES_SERVER_H
#define SCHEMA_SERVER_POSTGRES_SERVER_H

#include "schema/server/embedded.h"

/* The folder that has initdb and postgres: SKIPJACK_PG_BIN, else the installed one of the newest major version from
 * 15 on, or of version `major` if it is not 0. Free with g_free(). */
char *postgres_find_programs(int major, GError **error);

/* Runs `argv` as the server's user, with the log as its output, and waits for its end. names: a file in the form of
 * /etc/passwd that gives this user a name in the program (by libnss_wrapper.so); NULL: the system's file. The program
 * and its children inherit kept_fd: a lock of this process then lasts until they end, even if this process is
 * killed. */
bool server_run(const struct embedded *embedded, const char *const *argv, const char *names,
                int kept_fd, GError **error);
/* Starts `argv` as a daemon: in a session of its own, with no open file but the log and kept_fd. Returns its pid, or
 * -1 with an error. */
pid_t server_spawn(const struct embedded *embedded, const char *const *argv, int kept_fd,
                   GError **error);
/* The pid in postmaster.pid if that process lives and serves this cluster, else 0. */
pid_t server_pid(const struct embedded *embedded);
/* Whether postmaster.pid says that the server is shutting down. */
bool server_is_stopping(const struct embedded *embedded);
/* Whether a process is alive; a zombie is not. */
bool server_is_alive(pid_t pid);
/* Kills the server's remaining processes in this PID namespace. False with an error if they do not end. */
bool server_kill_remains(const struct embedded *embedded, GError **error);
/* Waits for backends that outlived their postmaster, kills those that do not end, and removes the files that would
 * keep a new postmaster from starting. The caller holds the home (home_lock_take()). */
bool server_clear_remains(const struct embedded *embedded, GError **error);

#endif
