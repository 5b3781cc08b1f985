/*
 * A recorded space: a kernel's configs, all of them measured, with what each try cost. Searches are replayed on it
 * (replay.h). Three formats are read, plain or compressed with bzip2, gzip or zstd; REPLAY.md describes them:
 *
 *   Kernel Tuner's cache files       an object with "tune_params_keys" and "cache"
 *   T4 result files                  an object with "results", each with "configuration", "times", "invalidity"
 *   Skipjack's own                   an object with "format": "skipjack space" (recorded_space.schema.json)
 *
 * A search sees the parameters that have more than one value (search_space.h). Values that are not 32-bit integers are
 * numbered in ascending order: numbers, then texts, then false and true.
 */
#ifndef COORDINATOR_REPLAY_RECORDED_SPACE_H
#define COORDINATOR_REPLAY_RECORDED_SPACE_H

#include "solvers/search/search_space.h"

#include <jansson.h>

/* The member "format" of our own files. */
#define RECORDED_FORMAT "skipjack space"

#define REPLAY_ERROR (replay_error_quark())
GQuark replay_error_quark(void);

enum replay_error {
    REPLAY_ERROR_FILE,  /* A file of a recorded space cannot be read or written. */
    REPLAY_ERROR_SPACE, /* The space cannot be replayed, or a prior is of another space. */
};

/* The parts of a space's own description that a program may group spaces by; "" for what the file does not say. */
struct recorded_about {
    char *kernel;  /* the kernel's or solver's name */
    char *problem; /* the problem: a key of ours, or Kernel Tuner's size */
    char *device;  /* the device's or target's name */
    char *how;     /* how it was recorded: date, machine, load */
};

struct recorded_param {
    char *name;
    GPtrArray *values; /* json_t *: its values, ascending */
    bool numbered;     /* a search sees places in `values` instead of the values */
    int place;         /* its place in a config that a search sees; -1 if it has one value only */
};

/* One measured config. */
struct recorded_config {
    struct perf_config config; /* as a search sees it */
    double time_ms;            /* the recorded time; INFINITY if it failed */
    const char *failure;       /* why it failed, in the file's word; NULL if it was measured */
    double seconds;            /* what the try took: compiling, verifying, measuring */
    int readings;              /* number of single runs that the file holds */
    guint first_reading;       /* the first of them in the space's `readings` */
    /* Where the file holds no single runs: their number and their interquartile range divided by the median. */
    int runs;
    double spread;
};

struct recorded_space {
    char *path;
    const char *format; /* RECORDED_FORMAT, "Kernel Tuner cache" or "T4" */
    struct recorded_about about;
    GArray *params;   /* struct recorded_param, in the file's order */
    GArray *configs;  /* struct recorded_config, in the file's order */
    GArray *readings; /* double: milliseconds */
    int64_t whole; /* configs of the whole space; more than are recorded if the file is a sample */
    int default_config; /* index of the config that is used where nothing was tuned, -1 if unknown */
    int best, failed;   /* index of the fastest config; how many failed */
    GHashTable *places;           /* struct perf_config * -> its index */
    GHashTable *failures;         /* set of char *: the texts of `failure` */
    struct space_param *searched; /* the parameters that a search sees */
    struct search_space space;    /* for searcher_new(); belongs to this struct */
};

/* Reads a file. NULL with an EXPORT_ERROR if it cannot be opened or unpacked, else with REPLAY_ERROR_FILE: the message names the file and the place in it (line and column, or the
 * member), and what is wrong there. A space without a measured config, or without a parameter of several values, is
 * refused. */
struct recorded_space *recorded_space_read(const char *path, GError **error);
/* The same of bytes in memory, which may be packed. `name` names them in messages. */
struct recorded_space *recorded_space_parse(const char *name, const void *bytes, gsize length,
                                            GError **error);
void recorded_space_free(struct recorded_space *space);
typedef struct recorded_space RecordedSpace;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RecordedSpace, recorded_space_free)

/* The index of a config as a search sees it; -1 if it was not recorded. */
int recorded_space_find(const struct recorded_space *space, const struct perf_config *config);

/* An object with the names and values of all parameters, as the file has them. A new reference. */
json_t *recorded_config_json(const struct recorded_space *space, int index);

/* Writes into *config what `other`'s config at `index` is in this space. false: this space has no such value. The
 * spaces have the same parameters (recorded_space_same_params()). */
bool recorded_space_translate(const struct recorded_space *space,
                              const struct recorded_space *other, int index,
                              struct perf_config *config);
/* Whether both have the same parameters, by name. false with REPLAY_ERROR_SPACE, which names one that differs. */
bool recorded_space_same_params(const struct recorded_space *space,
                                const struct recorded_space *other, GError **error);

/* The time that a search observes: the recorded one with the recorded noise. The same seed and config give the same
 * time. Where the file holds single runs, as many are drawn from them (with repetition), and the time is the recorded
 * one times the draw's median over the median of all (the bootstrap: Efron, Annals of Statistics 7, 1979). Elsewhere
 * it is drawn from the normal distribution of a median of n runs, whose standard deviation is
 * sqrt(pi / 2) / sqrt(n) x spread / 1.349. INFINITY for a config that failed. */
double recorded_space_observe(const struct recorded_space *space, int index, uint64_t seed);

#endif
