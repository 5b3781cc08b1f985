/*
 * Where usage takes networks and times from: lists, the database's networks and tags, databases
 * that libraries ship, campaigns and golden versions.
 *
 * All networks are read before the first time (usage_add_entry()). A source whose own problems are
 * to be a network is read twice: first by its _own function, then by its _read function.
 */
#ifndef EXPORT_USAGE_USAGE_READ_H
#define EXPORT_USAGE_USAGE_READ_H

#include "coordinator/import/import.h"
#include "export/usage/usage.h"
#include "schema/results/store_usage.h"
#include "schema/store/store.h"

/* ---- lists and files ---- */

/* Adds the problems of a list as networks. `options` supply the values that the list leaves out.
 * Lines that cannot be used are named on stderr, the first few of a file. Returns false only if the
 * file as a whole cannot be read or has no usable problem (EXPORT_ERROR_EMPTY). */
bool usage_read_list(Usage *usage, const char *path, const struct import_options *options,
                     GError **error);
/* Adds the times of a find-db or a .sjdb; the content, not the name, says which it is. The target is
 * the one that the file's name begins with. apart: the file is a place of its own. Lines and
 * problems that cannot be used are named on stderr, the first few of a file. EXPORT_ERROR_KIND for
 * a file without times. */
bool usage_read_db(Usage *usage, const char *path, bool apart, GError **error);
/* Adds the file's problems as a network with the file's name. */
bool usage_own_db(Usage *usage, const char *path, bool apart, GError **error);

/* ---- the database ---- */

struct usage_database {
    Store *store;
    bool apart; /* each campaign and version is a place of its own */
    /* networks also have problems of lists and files, whose rows in the database are not known */
    bool partial;
    /* The problems whose rows are known: id (int64_t *) -> struct used_problem *. NULL before the first. */
    GHashTable *known;
};
void usage_database_clear(struct usage_database *database);

/* Adds a network of the database, NAME or NAME@VERSION; STORE_ERROR_NOT_FOUND. */
bool usage_read_network(Usage *usage, struct usage_database *database, const char *name,
                        GError **error);
/* Adds the problems with a tag as a network "tag TAG". EXPORT_ERROR_EMPTY if no problem has the tag. */
bool usage_read_tag(Usage *usage, struct usage_database *database, const char *tag, GError **error);

/* Adds the times of the campaign's best configs. */
bool usage_read_campaign(Usage *usage, struct usage_database *database, int64_t campaign,
                         GError **error);
/* Adds the problems of the campaign's jobs as a network with the campaign's name. */
bool usage_own_campaign(Usage *usage, struct usage_database *database, int64_t campaign,
                        GError **error);
/* Adds the times of a target's golden version; 0 means the newest approved one. EXPORT_ERROR_EMPTY
 * if the target has no such version. */
bool usage_read_golden(Usage *usage, struct usage_database *database, const char *target,
                       int version, GError **error);
/* Adds the version's problems as a network "TARGET version N". */
bool usage_own_golden(Usage *usage, struct usage_database *database, const char *target,
                      int version, GError **error);

/* ---- what an entry was read from: usage_origin_at() ---- */

struct usage_origin {
    char *path;                 /* a .sjdb, NULL for the database; find-dbs are no origin */
    struct usage_source source; /* campaign or golden version; the texts are owned */
};

/* ---- runs ---- */

/* Reads how often networks run: CSV with the columns network and runs, or JSON, {"resnet50": 1000} or
 * [{"network": "resnet50", "runs": 1000}]. Networks that the file names and `usage` lacks are counted on stderr.
 * EXPORT_ERROR_SYNTAX names file, line or member, and what is expected. */
bool usage_read_runs(Usage *usage, const char *path, GError **error);

#endif
