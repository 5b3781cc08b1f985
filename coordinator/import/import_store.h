/*
 * Storing what an import read: all of it in one transaction, in pieces, with
 * progress on standard error. SIGINT and SIGTERM end reading and storing, and
 * then nothing is stored.
 */
#ifndef COORDINATOR_IMPORT_IMPORT_STORE_H
#define COORDINATOR_IMPORT_IMPORT_STORE_H

#include "coordinator/import/import.h"
#include "schema/store/store.h"
#include "schema/store/store_problems.h"

/* From this call on, SIGINT and SIGTERM end the import in order. */
void import_catch_signals(void);
/* Returns true once SIGINT or SIGTERM has come. */
bool import_stopped(void);
/* Shows how many lines of the file were read; for goes_on() in struct import_options. Returns false
 * once a signal has come. */
bool import_goes_on(const char *file, int64_t line);
/* Ends the line of progress that import_goes_on() may have left on the terminal. */
void import_end_progress(void);

/* Waits, with a notice, until no other import is storing. store_leave_import() ends the turn.
 * Returns false with *error set if the database fails or a signal came. */
bool import_take_turn(Store *store, GError **error);

/* Stores the problems, with the tag where one is given, and the networks. Returns false with *error set if storing
 * fails or a signal came: nothing is stored then. */
bool import_store(const Import *import, const char *tag, GError **error);

/* Says on standard error that the network's name means another version now; prints nothing where the network is
 * new or unchanged. */
void network_say_change(const char *name, const struct network_change *change);

#endif
