/*
 * Shared by the readers of the formats: the content of one file, and the functions that hand
 * problems to the import. Internal to the importers.
 */
#ifndef COORDINATOR_IMPORT_IMPORT_READER_H
#define COORDINATOR_IMPORT_IMPORT_READER_H

#include "coordinator/import/import.h"
#include "export/formats/line_reader.h"

#include <sqlite3.h>

struct import_source {
    const char *name;  /* for messages */
    LineReader *lines; /* the lines if the file is a text, else NULL */
    sqlite3 *database; /* the database if the file is in SQLite, else NULL */
};

/* A walk over the lines of a text, from the first one. */
struct import_lines {
    /* the import that counts the lines and keeps the unusable ones; NULL if the walk is only a
     * look into the file */
    Import *import;
    /* options whose goes_on() may end the walk; NULL if nothing may end it */
    const struct import_options *options;
    const struct import_source *source;
    int64_t number; /* number of the line returned last, from 1 */
    /* number of lines that were joined to it: each of them follows a line that ends in a
     * backslash */
    int64_t joined;
    bool plain; /* true for formats in which a line never continues in the next one */
    GString *line;
    GString *ahead;       /* the line behind the one returned last, which was read already */
    int64_t ahead_number; /* number of the line in `ahead`, 0 if no line was read ahead */
    GError *failure;      /* the reason if the source could not be read to its end */
};

void import_lines_init(struct import_lines *lines, Import *import,
                       const struct import_source *source);
/* The next line without its line end; valid until the next call. NULL at the end, or where the source
 * cannot be read any further. A command that a backslash and flags in the next line continue is one
 * line. A line that is too long or holds a NUL byte becomes one of the import's skipped lines. */
const char *import_lines_next(struct import_lines *lines);
/* Ends the walk. False with the reason where the source could not be read to its end. */
bool import_lines_end(struct import_lines *lines, GError **error);
/* Returns true for lines of white space alone and for comments ('#'). */
bool import_line_is_blank(const char *line);

/* A layer that a line describes: its problems, one for each direction and each choice of the
 * options. */
struct import_layer {
    /* name of its network; NULL for none, or for the one that the options name */
    const char *network;
    const char *name; /* name of the layer; "" if it has none */
    int64_t multiplicity;
    const struct problem *problems;
    int count;
    /* true if its problems are already those of the directions that the options ask for */
    bool directed;
    /* true for a line of a database, in which a filter may be larger than its padded input */
    bool shipped;
    const struct network_facts *facts; /* what the list states of the network; NULL for nothing */
    int64_t per_image; /* inputs of the layer for each image of the batch; 0 for 1 */
};

/* Counts the line as a convolution and adds those of its problems that have the options' directions;
 * or skips it, with the reason, when a filter is larger than its padded input and the options do not
 * allow that. */
void import_add(Import *import, const struct import_source *source, int64_t line,
                const struct import_layer *layer);
/* Does the same as import_add() with each of the layer's problems in all batch sizes and data types, and the layout, of
 * the options. Returns true if that changed a value. If the options make a problem invalid, the line is skipped with the
 * reason. */
bool import_add_variants(Import *import, const struct import_source *source, int64_t line,
                         const struct import_layer *layer);
/* Does the same as import_add_variants() for a line that states batch size, type and layout, which the options
 * replace; counts it in import->replaced if a value changed. */
void import_add_replaced(Import *import, const struct import_source *source, int64_t line,
                         const struct import_layer *layer);
void import_skip(Import *import, const struct import_source *source, int64_t line,
                 const char *reason);

/* Reads an ONNX model: its convolutions, in their order, are the layers of one network. `path` is the file, in whose
 * folder large tensors may be; NULL for a model from a pipe. Returns false as the readers below. */
bool import_onnx(Import *import, const char *name, const char *path, const void *bytes,
                 size_t length, GError **error);

/* Readers of the formats. Each reads the whole source, or returns false with EXPORT_ERROR_KIND, _IO, _DAMAGED or
 * _STOPPED. Problems read before the failure stay in the import. */
bool import_driver_lines(Import *import, const struct import_source *source, GError **error);
bool import_find_db(Import *import, const struct import_source *source, GError **error);
bool import_perf_text(Import *import, const struct import_source *source, GError **error);
bool import_keys(Import *import, const struct import_source *source, GError **error);
bool import_table(Import *import, const struct import_source *source, GError **error);
bool import_commented_table(Import *import, const struct import_source *source, GError **error);
/* Always fails: the error names what the table's first line lacks to be a header. */
bool import_headless_table(Import *import, const struct import_source *source, GError **error);

/* Each import_is_*() returns true for a line that looks like its format: the format of a file is recognised so. */
bool import_is_find_db_line(const char *line);
bool import_is_perf_text_line(const char *line);
bool import_is_key_line(const char *line);
bool import_is_table_header(const char *line);
bool import_is_commented_header(const char *line);
bool import_is_table_row(const char *line);

struct onnx_about;
/* The network's name where the user gives none: what the model calls itself, if it is a name that the database takes, else
 * that of its file. Free with g_free(). */
char *import_onnx_name(const struct onnx_about *about, const char *file);

#endif
