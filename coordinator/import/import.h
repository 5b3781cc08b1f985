/*
 * Importing: files in the formats of this field become one list of problems. Read are driver
 * command lines, layer tables (CSV with a header), find-dbs and perf-dbs of MIOpen (text or
 * SQLite), ONNX models and our own canonical keys, each also compressed with bzip2, gzip or zstd. The content tells
 * which format a file has. No line ends the import: a line that cannot be used is listed with the
 * reason.
 */
#ifndef COORDINATOR_IMPORT_IMPORT_H
#define COORDINATOR_IMPORT_IMPORT_H

#include "coordinator/import/problem_list.h"
#include "coordinator/network/onnx/onnx_read.h"
#include "export/formats/export_error.h"
#include "solvers/problem/layer.h"
#include "solvers/problem/network_facts.h"

/* All directions as a set, in which direction d is the bit 1 << d. */
#define DIRECTIONS_ALL 7

#define IMPORT_CHOICES_MAX 32
/* bytes; as long as a file's name may be, since files name networks */
#define NETWORK_NAME_MAX   255

/* Values that a list of problems leaves out. A layer table uses an option where it has no value
 * of its own, and is refused if its own value differs. Lines of other lists always state batch
 * size, data type and layout (driver lines by the driver's defaults): there the options replace
 * these values, and the import counts such lines. With several batch sizes or types, every line
 * gives a problem for each. */
struct import_options {
    /* for a table with several networks: the one to read; for any other list: its network's
     * name. NULL: only layer tables name networks. */
    const char *network;
    /* set of directions to import; 0: those that the list states, in layer tables F */
    int directions;
    /* batch sizes to import; with batch_count 0 those that the list states, or 1 for layer
     * tables */
    int64_t batches[IMPORT_CHOICES_MAX];
    int batch_count;
    /* data types to import; with type_count 0 those that the list states, or FP32 for layer
     * tables */
    enum data_type types[IMPORT_CHOICES_MAX];
    int type_count;
    /* for each of them: its convolutions may be computed in TF32; the type is then FP32 */
    bool tf32[IMPORT_CHOICES_MAX];
    bool has_layout; /* false: the layout is the list's, in layer tables NCHW */
    enum layout layout;
    /* sizes of dimensions that an ONNX model leaves open: the value of --dim, or NULL */
    const char *dim;
    /* facts of every network of the list, instead of those that the list states; NULL for none */
    const struct network_facts *facts;
    bool allow_clamped; /* import problems whose filter is larger than the padded input, too */
    /* Called after every few thousand lines with the file's name and the line's number. If it
     * returns false, reading ends with EXPORT_ERROR_STOPPED. May be NULL. */
    bool (*goes_on)(const char *file, int64_t line);
};

/* The same options as the user typed them. Every command that takes lists has these options; the
 * strings are owned. */
struct import_words {
    char *network, *batch, *dtype, *layout, *dim;
    gboolean allow_clamped;
};
void import_words_clear(struct import_words *words);
/* Returns true if at least one of these options was given. */
bool import_words_any(const struct import_words *words);
/* --network, --batch, --dtype, --layout, --dim and --allow-clamped, which point into words. The letters are the
 * short forms of --network and --batch, 0 for none. Free with g_free(). */
GOptionEntry *import_words_entries(struct import_words *words, char network_letter,
                                   char batch_letter);
/* Appends the options that the user gave to a command line that is suggested: "--batch", "1,64",
 * ... (owned). */
void import_words_append(const struct import_words *words, GPtrArray *line);
/* Fills *options; options->network points into *words. Returns false with EXPORT_ERROR_USAGE, which names the
 * wrong option and what it takes. */
bool import_words_parse(const struct import_words *words, struct import_options *options,
                        GError **error);

/* Reads the value of --dim, as "height=224,width=224", into the options of a model. *words holds the names and must
 * outlive them; free with g_strfreev(). `dim` may be NULL. Returns false with EXPORT_ERROR_USAGE. */
bool import_dim_parse(const char *dim, struct onnx_options *options, char ***words, GError **error);

/* A line that could not be used. */
struct import_skip {
    char *file;
    /* number of the line, from 1; in a SQLite file the row's id, in a model the node's place */
    int64_t line;
    char *reason;
};

struct import_network {
    char *name;
    /* struct layer, in the order of the file; equal layers without a name are stored once */
    GArray *layers;
    /* Facts that the list or the options state. The first statement of a fact counts; of a list with layers for several
     * batch sizes, none is the network's. */
    struct network_facts facts;
    bool several_batches;
    char *difference;    /* says which later statement was passed over; NULL for none */
    GHashTable *unnamed; /* canonical key of a layer without a name -> its index in `layers`, + 1 */
    int files;           /* number of files that have layers of the network */
    int last_file;       /* number of the last of these files, from 1 */
};

typedef struct import {
    struct import_options options;
    ProblemList *problems;
    int files; /* number of files whose reading has begun */
    /* number of lines read, with blank lines and comments; for a SQLite file, of rows */
    int64_t lines;
    int64_t
        convolutions; /* number of lines that are convolutions, or keys of other operators, and can be used */
    int64_t replaced;    /* number of these lines in which an option replaced a value */
    GPtrArray *skipped;  /* struct import_skip *: lines that could not be used */
    GPtrArray *networks; /* struct import_network *: the networks of all files */
    GPtrArray *notes;    /* char *: what reading models had to decide, a sentence each */
    GHashTable *by_name; /* the networks by name; keys belong to them */
} Import;

/* The strings of the options must outlive the import. */
Import *import_new(const struct import_options *options);
void import_free(Import *import);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Import, import_free)

/* Adds a file's problems. Where no file is called `path`, it may be the name of a network that comes with the program
 * (shipped.h). Unusable lines are no failure (see `skipped`); false
 * when the file as a whole cannot be used: EXPORT_ERROR_IO, _DAMAGED or _KIND (of a damaged SQLite
 * file, what came before the damage is kept), or _STOPPED if goes_on() in the options returned false. */
bool import_file(Import *import, const char *path, GError **error);
/* Does the same for bytes in memory. Messages call the bytes `name`; for the format only the
 * ending of `name` counts. */
bool import_bytes(Import *import, const char *name, const char *bytes, size_t length,
                  GError **error);

/* The name of a list, made from its file's name: "resnet50-v1.5" from
 * "lists/resnet50-v1.5.txt.bz2". UTF-8; free with g_free(). */
char *import_file_name(const char *path);

/* Returns the set of directions, in which direction d is the bit 1 << d, that "F", "B", "W", "FBW", ... name, each
 * letter at most once. 0 for any other text. */
int import_parse_directions(const char *text);

#endif
