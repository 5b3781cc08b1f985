/*
 * Finds conflicts of kernel names: a kernel-db can hold only one code object of a kernel_name and
 * kernel_args. A scratch database (sqlite_file_scratch()) keeps which code objects each result
 * needs; a result is known by a number, its owner number. One database may have two independent
 * sets, its sides. Internal to release and golden.
 */
#ifndef EXPORT_RELEASE_CODE_NAMES_H
#define EXPORT_RELEASE_CODE_NAMES_H

#include "export/formats/sqlite_file.h"
#include "export/release/gate.h"

/* SQL that makes two tables. codes: a row for each code object of a side. uses: which owner needs
 * which code object. */
#define CODE_NAMES_SCHEMA                                                                          \
    "CREATE TABLE codes (id INTEGER PRIMARY KEY, side INTEGER, key TEXT, name TEXT, args TEXT,"    \
    " sha256 TEXT, bound INTEGER DEFAULT 0, contested INTEGER DEFAULT 0, UNIQUE (side, key));"     \
    "CREATE INDEX codes_names ON codes (side, name, args);"                                        \
    "CREATE TABLE uses (owner INTEGER, code INTEGER, PRIMARY KEY (owner, code)) WITHOUT ROWID;"

/* SQL condition on an owner number: one of its code objects shares the name with a different code
 * object. Valid after code_names_contest(). */
#define CODE_NAMES_CONTESTED(OWNER)                                                                \
    "EXISTS (SELECT 1 FROM uses u JOIN codes c ON c.id = u.code WHERE u.owner = " OWNER            \
    " AND c.contested)"

struct code_names {
    sqlite3 *db;
    int side;
    sqlite3_stmt *find, *add, *use, *of_owner, *rival, *bind, *release;
};

/* For a database with CODE_NAMES_SCHEMA. To be cleared also after failure. */
bool code_names_init(struct code_names *names, sqlite3 *db, int side, GError **error);
void code_names_clear(struct code_names *names);

/* Notes that the owner needs these kernels. gate_learn_kernels() must have read them. */
bool code_names_add(struct code_names *names, int64_t owner, const struct gate *gate,
                    char *const *keys, GError **error);
/* Marks the code objects whose name another code object shares. */
bool code_names_contest(struct code_names *names, GError **error);
/* Reserves the names of all code objects that the owner needs. If one of them is reserved for
 * another code object, none is reserved, and *reason (g_free()) says which. */
bool code_names_bind(struct code_names *names, int64_t owner, char **reason, GError **error);
/* Forgets which code objects the owner needs. Names that were reserved for it stay reserved. */
bool code_names_release(struct code_names *names, int64_t owner, GError **error);

#endif
