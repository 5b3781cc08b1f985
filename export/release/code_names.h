/*
 * Keeps which code objects each result (its owner, a number) needs, in a scratch database of
 * sqlite_file_scratch(), and settles conflicts of names: a kernel-db can hold one code object of a
 * kernel_name and kernel_args. A database may have two separate sets, its sides. Internal to
 * release and golden.
 */
#ifndef EXPORT_CODE_NAMES_H
#define EXPORT_CODE_NAMES_H

#include "export/formats/sqlite_file.h"
#include "export/release/gate.h"

/* codes: a row for each code object of a side; uses: which owner needs which code object. */
#define CODE_NAMES_SCHEMA                                                                          \
    "CREATE TABLE codes (id INTEGER PRIMARY KEY, side INTEGER, key TEXT, name TEXT, args TEXT,"    \
    " sha256 TEXT, bound INTEGER DEFAULT 0, contested INTEGER DEFAULT 0, UNIQUE (side, key));"     \
    "CREATE INDEX codes_names ON codes (side, name, args);"                                        \
    "CREATE TABLE uses (owner INTEGER, code INTEGER, PRIMARY KEY (owner, code)) WITHOUT ROWID;"

/* SQL condition on an owner: a code object of its own shares its name with another one. Valid after
 * code_names_contest(). */
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

/* Notes that the owner needs these kernels, which gate_learn_kernels() has read. */
bool code_names_add(struct code_names *names, int64_t owner, const struct gate *gate,
                    char *const *keys, GError **error);
/* Marks the code objects whose name another code object shares. */
bool code_names_contest(struct code_names *names, GError **error);
/* Reserves the names of the owner's code objects for them. If one name is reserved for another code
 * object, nothing is reserved and *reason (g_free()) says so. */
bool code_names_bind(struct code_names *names, int64_t owner, char **reason, GError **error);
/* Forgets the owner's needs. Names that were reserved for it stay reserved. */
bool code_names_release(struct code_names *names, int64_t owner, GError **error);

#endif
