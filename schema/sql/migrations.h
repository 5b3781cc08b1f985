/*
 * The database's schema, carried inside the program. Made at build time by
 * kernels/tools/embed.c from schema/sql/tables/NNNN_subject.sql (migrations:
 * tables, types, indexes, first rows; each applied once) and from
 * schema/sql/functions/SUBJECT.sql (functions, views, triggers; laid anew as a
 * whole when their text changed).
 */
#ifndef SCHEMA_SQL_MIGRATIONS_H
#define SCHEMA_SQL_MIGRATIONS_H

#include <stddef.h>

struct migration {
    int number;         /* NNNN */
    const char *name;   /* the file's name without .sql, such as "0001_problems" */
    const char *sql;    /* NUL-terminated */
    const char *sha256; /* SHA-256 of sql, 64 lower-case hex digits */
};

/* By rising number, each number once. */
extern const struct migration migrations[];
extern const size_t migrations_count;

enum definition_kind {
    DEFINITION_FUNCTION,
    DEFINITION_VIEW,
    DEFINITION_TRIGGER,
};

struct definition {
    enum definition_kind kind;
    /* The function's name as its statement has it: "put_jobs", "skipjack_work.claim". */
    const char *name;
    const char *sql; /* one CREATE OR REPLACE statement without a semicolon at its end */
};

/* All functions, views and triggers. Comments outside of the statements count for neither hash. */
struct definitions {
    /* Revision in schema/sql/functions/revision.sql, by which programs compare their functions. */
    int revision;
    int oldest; /* the revision of the oldest program that may go on beside these definitions */
    const char *sha256;
    const char *triggers_sha256; /* SHA-256 of the triggers alone: laying one locks its table */
    const char *views_sha256;    /* SHA-256 of the views alone: laying one waits for its readers */
    const struct definition *list;
    size_t count;
};

extern const struct definitions own_definitions;

#endif
