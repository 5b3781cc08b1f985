/*
 * Tables that several commands show, and how a listing command ends.
 */
#ifndef COORDINATOR_LISTS_H
#define COORDINATOR_LISTS_H

#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "schema/store/store_results.h"

/* A GOptionEntry. */
#define LIST_JSON_OPTION(variable)                                                                 \
    {                                                                                              \
        "json", 0, 0, G_OPTION_ARG_NONE, variable, "print JSON instead of a table", NULL           \
    }

/* NULL and a set error when the database refuses. Free with table_free(). */
Table *list_job_states(const struct progress *progress);
Table *list_events(Store *store, int64_t campaign, int limit, GError **error); /* campaign 0: all */

/* Shows and frees the table, or reports error where it is NULL; the exit status. */
int list_finish(const char *command, Table *table, bool as_json, GError *error);

/* A whole command that takes --json alone and shows what make returns: `cli` has no options. */
int list_command(const struct cli *cli, Table *(*make)(Store *store, GError **error), int argc,
                 char **argv);

/* "title:" and the table below it, or nothing when it is empty. */
void list_section(const char *title, const Table *table);

/* "2026-11-21 09:30:00" in local time. Free with g_free(). */
char *list_time_text(int64_t unix_seconds);

#endif
