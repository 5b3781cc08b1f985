/*
 * Importing: files in the formats of this field become one list of problems. Read are driver
 * command lines, layer tables (CSV with a header), find-dbs and perf-dbs of MIOpen (text or
 * SQLite) and our own canonical keys, each also compressed with bzip2; The content tells which
 * format a file has. No line ends the import: a line that cannot be used is listed with the
 * reason.
 */
#ifndef COORDINATOR_IMPORT_IMPORT_H
#define COORDINATOR_IMPORT_IMPORT_H

#include "coordinator/import/problem_list.h"
#include "export/formats/export_error.h"
#include "solvers/problem/layer.h"

/* Bits of a set of directions; 1 << enum direction. */
#define DIRECTIONS_ALL 7

#define IMPORT_CHOICES_MAX 32
#define NETWORK_NAME_MAX   255 /* bytes, as of a file's name, which names networks, too */

/* The options say what a list leaves out. A layer table takes it where it says nothing itself, and is
 * refused where it says something else. The lines of other lists always say their batch size, data type and layout (driver lines
 * by the driver's defaults): there the options replace them, and the import counts these lines. With
 * several batch sizes or types every line gives a problem for each. */
struct import_options {
    const char *network; /* of a table with several networks this one; else the list's name. NULL:
                            only layer tables name networks */
    int directions;      /* only these; 0: as given, F in layer tables */
    int64_t batches[IMPORT_CHOICES_MAX]; /* with none: 1 in layer tables */
    int batch_count;
    enum data_type types[IMPORT_CHOICES_MAX]; /* FP32 in layer tables */
    int type_count;
    bool has_layout; /* else NCHW in layer tables */
    enum layout layout;
    bool allow_clamped; /* take problems whose filter is larger than its padded input, too */
    /* Called every few thousand lines with the file and the line; where it returns false, reading ends
     * with EXPORT_ERROR_STOPPED. NULL for none. */
    bool (*goes_on)(const char *file, int64_t line);
};

/* The same as a user types it, for all commands that take lists; strings are owned. */
struct import_words {
    char *network, *batch, *dtype, *layout;
    gboolean allow_clamped;
};
void import_words_clear(struct import_words *words);
/* True when one of them is given. */
bool import_words_any(const struct import_words *words);
/* --network, --batch, --dtype, --layout and --allow-clamped, which point into words. The letters are the
 * short forms of --network and --batch, 0 for none. Free with g_free(). */
GOptionEntry *import_words_entries(struct import_words *words, char network_letter,
                                   char batch_letter);
/* Adds what was given to a command line that asks for the same: "--batch", "1,64", ... (owned). */
void import_words_append(const struct import_words *words, GPtrArray *line);
/* Fills *options; its network is words'. EXPORT_ERROR_USAGE names the option and what it takes. */
bool import_words_parse(const struct import_words *words, struct import_options *options,
                        GError **error);

/* A line that could not be used. */
struct import_skip {
    char *file;
    int64_t line; /* from 1; in SQLite files the row's id */
    char *reason;
};

struct import_network {
    char *name;
    GArray *layers; /* struct layer, in the file's order; equal layers without a name are one */
    GHashTable *unnamed; /* canonical key of such a layer: its place in `layers`, from 1 */
    int files;           /* that have layers of it */
    int last_file;       /* the last of these, from 1 */
};

typedef struct import {
    struct import_options options;
    ProblemList *problems;
    int files;            /* begun */
    int64_t lines;        /* read, with blank ones and comments; rows of SQLite files */
    int64_t convolutions; /* lines that are convolutions and usable */
    int64_t replaced;     /* of these, lines of which the options replaced something */
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
/* The same for bytes in memory; Messages call the bytes `name`; only its ending counts for the
 * format. */
bool import_bytes(Import *import, const char *name, const char *bytes, size_t length,
                  GError **error);

/* The name of a list, made from its file's name: "resnet50-v1.5" from
 * "lists/resnet50-v1.5.txt.bz2". UTF-8; free with g_free(). */
char *import_file_name(const char *path);

/* "F", "B", "W", "FBW", ...: each letter at most once. 0 for anything else. */
int import_parse_directions(const char *text);

#endif
