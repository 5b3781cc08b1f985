/*
 * Databases of the 66 migrations 0001 to 0071, which the baseline in
 * schema/sql/tables replaced. A database with all of them has the baseline's
 * tables, so taking it over changes its ledger, and no data. Internal to schema/sql.
 */
#ifndef SCHEMA_SQL_FORMER_H
#define SCHEMA_SQL_FORMER_H

#include <libpq-fe.h>
#include <stdbool.h>

/* The last migration of the baseline, which former databases have in another form. */
#define FORMER_BASELINE 12
/* The number of former migrations, and the last one. */
#define FORMER_COUNT    66
#define FORMER_LAST     71

/* ledger: rows of number, name, sha256 by rising number. */
bool former_is(const PGresult *ledger);
/* A former database with all 66 migrations. Others cannot be taken over. */
bool former_is_complete(const PGresult *ledger);

/* Removes what the baseline does not have: the old ledger's rows, and a table that became a view. */
extern const char former_take_over_sql[];
/* The remedy for a former database that lacks some of the 66 migrations. */
extern const char former_remedy[];

#endif
