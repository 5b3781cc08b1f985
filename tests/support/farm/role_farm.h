/* A farm whose nodes have their own logins, on the scratch database: node1 and node2 are workers,
 * boss is a coordinator, guest a reader, and stranger has no role. */
#ifndef TESTS_SUPPORT_FARM_ROLE_FARM_H
#define TESTS_SUPPORT_FARM_ROLE_FARM_H

#include "tests/support/farm/queue_farm.h"

struct role_farm {
    struct farm farm; /* its store is node1's; its workers are one of node1 and one of node2 */
    Store *two, *boss, *guest;
};

/* Creates the logins; call it once in a program. */
void role_farm_make_logins(void);
/* Empties the scratch database and has boss create a campaign. */
void role_farm_init(struct role_farm *f, int jobs);
void role_farm_clear(struct role_farm *f);

/* The scratch database's URL for this login. Free with g_free(). */
char *role_url(const char *login);
Store *role_open(const char *login);
/* Registers a worker of node `node` and returns its id. */
int64_t role_enter(Store *store, const char *node, const char *process);
/* Asserts that `done` is false and that the error has this code and its message contains the words;
 * clears the error. */
void role_expect_refused(bool done, GError **error, int code, const char *words);
/* Asserts the statement's first value. */
void role_expect_count(Store *store, const char *sql, const char *expected);

#endif
