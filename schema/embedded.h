/*
 * The parts of the embedded PostgreSQL: where its programs and folders are,
 * who runs it, and its process. Internal to the room; database.c puts them
 * together.
 *
 * HOME/database.lock        held while somebody creates, starts or stops it; by initdb to its end
 * HOME/postgres/data        the cluster, of the server's user, 0700
 * HOME/postgres/data.new    a cluster in the making, renamed when complete
 * HOME/postgres/log         what initdb and the server say; log.old before it
 * HOME/postgres/socket      0700; elsewhere when its path would be too long
 */
#ifndef SCHEMA_EMBEDDED_H
#define SCHEMA_EMBEDDED_H

#include "schema/database.h"

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
/* A URL of one of its databases. It asks libpq to talk to a server of the right user only. */
char *embedded_url(const struct embedded *embedded, const char *database);
/* The last lines of the log, for messages. Free with g_free(). */
char *embedded_log_tail(const struct embedded *embedded);

/* The folder that has initdb and postgres: SKIPJACK_PG_BIN, else the newest of 15 or later that is
 * installed, or major's where it is not 0. Free with g_free(). */
char *postgres_find_programs(int major, GError **error);

/* Runs `argv` as the server's user with the log as output, and waits for its end. kept_fd stays open
 * in it and its children: a lock of ours then lasts until they end, though we be killed. */
bool server_run(const struct embedded *embedded, const char *const *argv, int kept_fd,
                GError **error);
/* Starts `argv` as a daemon: its own session, no open file but the log. Returns its pid, or -1. */
pid_t server_spawn(const struct embedded *embedded, const char *const *argv, GError **error);
/* The postmaster's pid from postmaster.pid if that process lives and is this cluster's, else 0. */
pid_t server_pid(const struct embedded *embedded);
/* Whether the server said that it is shutting down. */
bool server_is_stopping(const struct embedded *embedded);
/* Whether a process is alive (a zombie is not). */
bool server_is_alive(pid_t pid);
/* Waits for backends that outlived their postmaster, ends them where they do not go by themselves, and
 * removes what would keep a new postmaster from starting. */
bool server_clear_remains(const struct embedded *embedded, GError **error);

#endif
