/* A PostgreSQL for chaos: its data is on a disk of its own, and it listens on the room's loopback
 * alone, so that hosts reach it only through their proxies. A call aborts the test if the server
 * does not do what was asked. */
#ifndef TESTS_SUPPORT_CHAOS_CHAOS_SERVER_H
#define TESTS_SUPPORT_CHAOS_CHAOS_SERVER_H

#include "schema/store/store.h"

/* Makes the cluster, on a disk of that size if the room can have disks, and starts it. */
void server_create(int megabytes);
/* The server's port on 127.0.0.1. */
int server_port(void);
/* Makes a migrated database. Returns its URL by 127.0.0.1; free with g_free(). */
char *server_add_database(const char *name);

enum server_end { SERVER_FAST, SERVER_IMMEDIATE, SERVER_KILLED };
/* Ends the server in this way and waits for its end. */
void server_stop(enum server_end end);
/* Starts the server after any kind of end, and waits until it answers. */
void server_start(void);

/* Whether the server's data is on a disk of its own, which can be filled. */
bool server_has_disk(void);
/* server_fill_disk() fills the disk to its last byte; server_free_disk() frees it again, and starts
 * the server if it stopped because of that. */
void server_fill_disk(void);
void server_free_disk(void);

/* Copies a database into the embedded cluster of a new SKIPJACK_HOME, so that it can be looked at
 * after the test. */
bool server_keep(const char *database, const char *home, const char *program);

#endif
