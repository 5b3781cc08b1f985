/*
 * Which code objects results need, kept in a scratch database (sqlite_file_scratch()), and that a file
 * which knows one code object of a kernel_name and kernel_args can hold them all. Results are known by a number,
 * their owner. Two sets of code objects may lie in one database, as two sides. Internal to the room.
 */
#ifndef EXPORT_CODE_NAMES_H
#define EXPORT_CODE_NAMES_H

#include "export/formats/sqlite_file.h"
#include "export/release/gate.h"

/* codes: a row a code object, of a side; uses: which owner needs which. */
#define CODE_NAMES_SCHEMA                                                                          \
    "CREATE TABLE codes (id INTEGER PRIMARY KEY, side INTEGER, key TEXT, name TEXT, args TEXT,"    \
    " sha256 TEXT, bound INTEGER DEFAULT 0, contested INTEGER DEFAULT 0, UNIQUE (side, key));"     \
    "CREATE INDEX codes_names ON codes (side, name, args);"                                        \
    "CREATE TABLE uses (owner INTEGER, code INTEGER, PRIMARY KEY (owner, code)) WITHOUT ROWID;"

/* A condition on an owner: some other code object has the name of one of its own. See code_names_contest(). */
#define CODE_NAMES_CONTESTED(OWNER)                                                                \
    "EXISTS (SELECT 1 FROM uses u JOIN codes c ON c.id = u.code WHERE u.owner = " OWNER            \
    " AND c.contested)"

struct code_names {
    sqlite3 *db;
    int side;
    sqlite3_stmt *find, *add, *use, *of_owner, *rival, *bind, *release;
};

/* For a database that has the tables. To be cleared also where it fails. */
bool code_names_init(struct code_names *names, sqlite3 *db, int side, GError **error);
void code_names_clear(struct code_names *names);

/* Notes that the owner needs the kernels, which the gate knows. */
bool code_names_add(struct code_names *names, int64_t owner, const struct gate *gate,
                    char *const *keys, GError **error);
/* Finds out which code objects have a name that another one has. */
bool code_names_contest(struct code_names *names, GError **error);
/* Binds the names of the owner's code objects to them; none where one is bound to another code object, which
 * *reason (g_free) then says. */
bool code_names_bind(struct code_names *names, int64_t owner, char **reason, GError **error);
/* The owner needs nothing any more. What was bound for it stays. */
bool code_names_release(struct code_names *names, int64_t owner, GError **error);

#endif
