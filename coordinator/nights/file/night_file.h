/*
 * The description of a night: the problems and targets that are tuned every night, the limits, what is released, and
 * the receivers of messages. `run FILE` reads it from JSON.
 *
 * One table of fields (night_file.c, on top of fields/fields.h) is the definition: the parser walks it, and the JSON Schema in
 * nightly.schema.json is printed from it. A relative path is sought in the description's folder.
 */
#ifndef COORDINATOR_NIGHTS_FILE_NIGHT_FILE_H
#define COORDINATOR_NIGHTS_FILE_NIGHT_FILE_H

#include "coordinator/campaigns/request.h"
#include "coordinator/import/import.h"

#include <jansson.h>

#define NIGHT_FILE_BYTES_MAX (4 << 20)
#define NIGHT_GOLDEN_LATEST  0 /* night_golden.version: the newest approved version */

/* A target of the night. Lists are joined by commas, as options of `campaign create` are. */
struct night_file_target {
    char *target; /* as the user wrote it: an id, or "local" */
    char *stack;  /* constraints on the software of workers; NULL for none */
    char *pool;   /* pool whose workers may take part; NULL for all */
    char *trust;  /* logins; NULL for none */
};

enum night_source_kind {
    NIGHT_SOURCE_NETWORK, /* an imported network, "NAME" or "NAME@VERSION" */
    NIGHT_SOURCE_TAG,     /* the problems imported with a tag */
    NIGHT_SOURCE_FILE,    /* any file that the importers read */
    NIGHT_SOURCE_URL,     /* the same, fetched by HTTP or HTTPS */
};

/* A source of problems. */
struct night_source {
    enum night_source_kind kind;
    char *tag, *file, *url; /* the one of its kind; file is absolute or relative to the process */
    /* Values that the list leaves out. words.network is the source of the kind NETWORK; for files and URLs it names
     * the list, or the network to take of several. */
    struct import_words words;
    double runs;         /* how often the network is run: a weight of its problems, over 0 */
    char *sha256;        /* the content's checksum in hex; NULL for any content */
    gint64 bytes_most;   /* of a URL: a longer answer is refused */
    gint64 seconds_most; /* of a URL: time for the whole answer */
};

/* Jobs that are worked on again although nothing changed. */
struct night_again {
    double older_than_days; /* points older than this; 0 for no limit of age */
    double sample;          /* share of the unchanged jobs, 0 to 1 */
    double noisy_spread;    /* IQR / median from which a point is noisy */
    gint64 retries;         /* nights in a row that a failure that may pass is tried again */
};

struct night_golden {
    gint64 version; /* baseline of comparisons: a version's number, or NIGHT_GOLDEN_LATEST */
    gboolean propose, approve;
    double noise, gain; /* of `golden propose`: a factor, and percent */
};

struct night_regressions {
    double percent; /* slow-downs below this are not reported */
    double alpha;   /* false discovery rate */
    gint64 nodes;   /* on how many nodes a suspect is measured again */
};

enum night_export_what { NIGHT_EXPORT_GOLDEN, NIGHT_EXPORT_CAMPAIGN };

struct night_export {
    char *folder; /* NULL: nothing is exported. Each night gets a folder in it */
    enum night_export_what what;
    char *kinds; /* of find, perf, kernels, compact, joined by commas; NULL for all */
    gint64 keep; /* folders of nights that stay, 0 for all */
};

/* Events of which a receiver gets a message, as bits. */
enum night_tell_on {
    NIGHT_TELL_REGRESSION = 1 << 0,
    NIGHT_TELL_GAIN = 1 << 1,
    NIGHT_TELL_FAILURE = 1 << 2,
    NIGHT_TELL_ALWAYS = 1 << 3,
};

struct night_tell {
    char *webhook;     /* an http or https URL */
    char *secret_file; /* the file with the key of the signature; NULL for no signature */
    int on;            /* bits of enum night_tell_on */
};

struct night_file {
    char *path;   /* of the description itself */
    json_t *json; /* the description as it was read; the database keeps it with the night */
    char *name;   /* name of the night in lists; its history and rows belong to the name */
    struct night_file_target *targets;
    int target_count;
    struct night_source *sources;
    int source_count;
    char *solvers; /* names and families joined by commas; NULL for all */
    gboolean all_solvers;
    struct {
        char *strategy;
        gint64 configs, close_configs; /* as in struct request */
        gint64 seed;
        double search_seconds, min_gain; /* as in struct request */
        double final_seconds;            /* for each problem's second measurement, 0 for none */
    } search;
    struct {
        char *workspace; /* as byte_count_parse() reads it; NULL for no limit */
        gboolean dynamic_only, deterministic, tunable_only;
    } limits;
    struct {
        double node_hours; /* of all targets together, 0 for no limit */
        double seconds;    /* working time of each target's campaign, 0 for no limit */
    } budget;
    char *deadline; /* as when_parse() reads it; NULL for none */
    gint64 priority;
    double share;
    gint64
        backfill_priority; /* of campaigns that fill in what never was measured: new solvers, new targets */
    struct night_again again;
    struct night_golden golden;
    struct night_regressions regressions;
    struct night_export export;
    struct {
        char *folder; /* NULL: the report is only printed */
    } report;
    struct night_tell *tells;
    int tell_count;
};

/* Returns true if the file is a JSON object with "targets", so the description of a night; false for any other file,
 * also one that cannot be read: request_from_file() names what is wrong with it. */
bool night_file_is(const char *path);
/* Whether the file holds a JSON object, of a night or of one campaign. False with COORDINATOR_ERROR_USAGE, or with why the
 * file cannot be read. */
bool night_file_is_object(const char *path, GError **error);

/* Reads a description and checks every field. Returns NULL with COORDINATOR_ERROR_USAGE: the message names the file,
 * the line of an error of syntax, or the field's path ("problems[1].batch"), and what the field takes. Free with
 * night_file_free(). */
struct night_file *night_file_read(const char *path, GError **error);
/* The same for a description that was read before, such as the one that a night began with. path names it in messages
 * and is the base of relative paths. */
struct night_file *night_file_from_json(const char *path, json_t *json, GError **error);
void night_file_free(struct night_file *night);

/* Fills a request for one target's campaign from the description: target, stack, pool, trust, solvers, search, limits,
 * budget, deadline, priority and share. It names no source of problems. The caller has called request_init(). */
void night_file_request(const struct night_file *night, const struct night_file_target *target,
                        struct request *request);

/* Returns the JSON Schema (draft 2020-12) of descriptions, a new reference. */
json_t *night_file_schema(void);

/* "regression", "gain", ...: the words of a receiver's "on". */
extern const char *const night_tell_names[]; /* NULL-terminated; the place is the bit's number */

#endif
