/*
 * The parts of the embedded PostgreSQL: where its programs and folders are,
 * who runs it, and its process. Internal to the room; database.c puts them
 * together.
 *
 * HOME/database.lock        held while a command creates, starts or stops it; by initdb to its end
 * HOME/server.lock          held by the server's processes for their whole life; names their host
 * HOME/postgres/data        the cluster, of the server's user, 0700
 * HOME/postgres/data.new    a cluster in the making, renamed when complete
 * HOME/postgres/log         what initdb and the server say; log.old before it
 * HOME/postgres/socket      0700; elsewhere when its path would be too long
 */
#ifndef SCHEMA_SERVER_EMBEDDED_H
#define SCHEMA_SERVER_EMBEDDED_H

#include "schema/server/database.h"

#include <sys/types.h>

/* The user that runs the server: ourselves, but for root "postgres", "nobody", or whoever owns the
 * cluster already. */
struct server_user {
    uid_t uid;
    gid_t gid;
    char name[64]; /* "" for a user without a name */
};

typedef struct embedded {
    char *home, *folder, *data, *data_new, *log, *socket_dir;
    struct server_user user;
} Embedded;

/* Fills in the paths; touches nothing. */
bool embedded_init(struct embedded *embedded, GError **error);
void embedded_clear(struct embedded *embedded);
bool embedded_exists(const struct embedded *embedded);
/* Creates folders with the right owner and mode, and checks that the server's user can reach them. */
bool embedded_make_folders(const struct embedded *embedded, GError **error);
/* Whether no other user made the socket's folder, whose name in /tmp can be computed, to have clients send
 * him what is meant for the server. True where it is not there. */
bool embedded_check_socket(const struct embedded *embedded, GError **error);
/* A URL of one of its databases. It asks libpq to talk to a server of the right user only. */
char *embedded_url(const struct embedded *embedded, const char *database);
/* The last lines of the log, for messages. Free with g_free(). */
char *embedded_log_tail(const struct embedded *embedded);

/* The folder that has initdb and postgres: SKIPJACK_PG_BIN, else the newest of 15 or later that is
 * installed, or major's where it is not 0. Free with g_free(). */
char *postgres_find_programs(int major, GError **error);

/* Waits for this process's turn: one command at a time may create, start or stop the server, on all hosts
 * that share the home. Returns a descriptor that holds the turn until it is closed in every process that
 * has it, or -1 with an error. */
int home_turn_take(const struct embedded *embedded, GError **error);
/* Takes the home for a server that this process is about to start, and records this host in the lock's
 * file. *held_fd is then a descriptor for the server to inherit: the home is held until the last process
 * that has it open ends. *held_fd is -1, and the result true, where processes of another server hold the
 * home. False and an error where the file cannot be locked. To be called in one's turn. */
bool home_lock_take(const struct embedded *embedded, int *held_fd, GError **error);

struct home_holder {
    bool is_here; /* in this PID namespace: /proc shows its processes */
    char *text;   /* "on host 'node7' since 2025-01-31 12:00:00 UTC, process 12 there" */
};
/* Whether processes of a server hold the home, and which. False where this cannot be asked, too. */
bool home_lock_holder(const struct embedded *embedded, struct home_holder *holder);
void home_holder_clear(struct home_holder *holder);

/* Runs `argv` as the server's user with the log as output, and waits for its end. names: a file in
 * /etc/passwd's form that names this user to the program, by way of libnss_wrapper.so; NULL: the system's own.
 * kept_fd stays open in it and its children: a lock of ours then lasts until they end, though we be killed. */
bool server_run(const struct embedded *embedded, const char *const *argv, const char *names,
                int kept_fd, GError **error);
/* Starts `argv` as a daemon: its own session, no open file but the log and kept_fd. Returns its pid, or -1. */
pid_t server_spawn(const struct embedded *embedded, const char *const *argv, int kept_fd,
                   GError **error);
/* The postmaster's pid from postmaster.pid if that process lives and is this cluster's, else 0. */
pid_t server_pid(const struct embedded *embedded);
/* Whether the server said that it is shutting down. */
bool server_is_stopping(const struct embedded *embedded);
/* Whether a process is alive (a zombie is not). */
bool server_is_alive(pid_t pid);
/* Kills what is left of a server in this PID namespace. False and an error where it does not end. */
bool server_kill_remains(const struct embedded *embedded, GError **error);
/* Waits for backends that outlived their postmaster, kills those that do not end, and removes the files
 * that would keep a new postmaster from starting. The home must be held (home_lock_take()). */
bool server_clear_remains(const struct embedded *embedded, GError **error);

#endif
