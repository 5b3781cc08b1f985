/*
 * A PostgreSQL that is treated badly: on a disk of its own, listening on the room's loopback alone, so
 * that hosts reach it by their proxies only. Calls abort the test where the server does not do as it
 * should.
 */
#ifndef TESTS_SUPPORT_CHAOS_SERVER_H
#define TESTS_SUPPORT_CHAOS_SERVER_H

#include "schema/store/store.h"

/* Makes the cluster, on a disk of so many megabytes where there can be one, and starts it. */
void server_create(int megabytes);
/* Its port on 127.0.0.1. */
int server_port(void);
/* A new database, migrated. Its URL by 127.0.0.1: free with g_free(). */
char *server_add_database(const char *name);

enum server_end { SERVER_FAST, SERVER_IMMEDIATE, SERVER_KILLED };
/* Ends it and waits for that. */
void server_stop(enum server_end end);
/* Starts it, after whatever end, and waits until it answers. */
void server_start(void);

/* Whether it is on a disk of its own, which can be filled: without room nobody can write. */
bool server_has_disk(void);
/* Fills it to the last byte, and frees it again; starts the server anew where that made it give up. */
void server_fill_disk(void);
void server_free_disk(void);

/* Copies a database into the embedded cluster under a new SKIPJACK_HOME. */
bool server_keep(const char *database, const char *home, const char *program);

#endif
