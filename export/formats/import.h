/*
 * Importing: files in the formats of this field become one list of problems.
 * Read are driver command lines, layer tables (CSV with a header), find-dbs
 * and perf-dbs of MIOpen (text or SQLite) and our own canonical keys, each
 * also compressed with bzip2; what a file is, is seen from its content.
 * Whatever a line holds, reading goes on: a line that cannot be used is kept
 * with its reason.
 */
#ifndef EXPORT_IMPORT_H
#define EXPORT_IMPORT_H

#include "export/formats/export_error.h"
#include "export/formats/problem_list.h"
#include "solvers/layer.h"

/* Bits of a set of directions; 1 << enum direction. */
#define DIRECTIONS_ALL 7

struct import_options {
    const char *network; /* NULL: only layer tables name networks */
    int64_t batch;       /* replaces every problem's batch size; 0: as given, 1 in layer tables */
    int directions;      /* only these; 0: as given, F in layer tables */
};

/* A line that could not be used, or the header of a table with columns that look mistyped. */
struct import_skip {
    char *file;
    int64_t line; /* from 1; in SQLite files the row's id */
    char *reason;
};

struct import_network {
    char *name;
    GArray *layers; /* struct layer, in the file's order; equal layers without a name are one */
    GHashTable *unnamed; /* canonical key of such a layer: its place in `layers`, from 1 */
};

typedef struct import {
    struct import_options options;
    ProblemList *problems;
    int64_t lines;        /* read, with blank ones and comments; rows of SQLite files */
    int64_t convolutions; /* lines that are convolutions and usable */
    GPtrArray *skipped;   /* struct import_skip * */
    GPtrArray *networks;  /* struct import_network * */
    GHashTable *by_name;  /* the same by their names, which they own */
} Import;

/* options' strings must outlive the import. */
Import *import_new(const struct import_options *options);
void import_free(Import *import);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Import, import_free)

/* Adds a file's problems. Unusable lines are no failure (see `skipped`); false
 * when the file as a whole cannot be used: EXPORT_ERROR_IO, _DAMAGED or _KIND (of a damaged SQLite
 * file, what came before the damage is kept). */
bool import_file(Import *import, const char *path, GError **error);
/* The same for bytes in memory; name stands for the file in messages and tells nothing of its
 * format but by its ending. */
bool import_bytes(Import *import, const char *name, const char *bytes, size_t length,
                  GError **error);

/* What a list is called after its file: "resnet50-v1.5" of "lists/resnet50-v1.5.txt.bz2". UTF-8; free
 * with g_free(). */
char *import_file_name(const char *path);

/* "F", "B", "W", "FBW", ...: each letter at most once. 0 for anything else. */
int import_parse_directions(const char *text);

#endif
