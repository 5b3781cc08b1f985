/*
 * The migrations of the database, carried inside the program. Made at build
 * time by kernels/tools/embed.c from schema/migrations/NNNN_name.sql.
 */
#ifndef SCHEMA_MIGRATIONS_H
#define SCHEMA_MIGRATIONS_H

#include <stddef.h>

struct migration {
    int number;         /* NNNN */
    const char *name;   /* "NNNN_name" without .sql: "0001_campaigns" */
    const char *sql;    /* NUL-terminated */
    const char *sha256; /* of sql, 64 lower-case hex digits */
};

/* By rising number, each number once. */
extern const struct migration migrations[];
extern const size_t migrations_count;

#endif
