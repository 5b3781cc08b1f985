/*
 * Compares two files of one kind by content: find-dbs in either form; perf-dbs as SQLite or text;
 * kernel-dbs; a .sjdb by what the other file can hold. It reports keys that one file lacks, winners
 * that changed, and how that changes the time over all keys and over networks. Order and form of
 * writing are no difference. A time of 0 is compared and wins nothing; a line that cannot be read
 * is reported and otherwise ignored.
 */
#ifndef EXPORT_DIFF_DIFF_H
#define EXPORT_DIFF_DIFF_H

#include "coordinator/import/import.h"
#include "export/merge/merge.h"

enum diff_what {
    /* a key of the second file alone. Never-measured solutions are compared apart from a .sjdb's entries: by
     * solvers, configs, workspaces and numbers of launches, in their order. */
    DIFF_GAINED,
    DIFF_LOST,   /* a key of the first file alone */
    DIFF_WINNER, /* another solver is the fastest of a find-db's key */
    /* the winner stays, but other entries of the key differ; or a solver's params, or a kernel's
     * code object */
    DIFF_CHANGED,
    /* times, or the winner, differ by no more than the noise, or the intervals of the two times meet; only
     * counted, and the files still count as equal */
    DIFF_NOISE,
    DIFF_COUNT,
};

struct diff_place {
    enum diff_what what;
    /* solver: of a perf-db the solver, of a kernel-db the kernel's arguments; "" for a find-db's
     * key, for never-measured solutions, and for a perf-db's row that one file lacks */
    const char *key, *solver;
    /* each file's winner ("ConvX 0.12 ms (0.119 to 0.123)", without interval if it has none), params or hash, or what
     * was never measured ("5 never measured, the first ConvX [1,4]"); "" if the file has none. For a
     * perf-db's row that one file lacks, both are "". */
    const char *first, *second;
};

/* Times of a network or of all keys. Sums and ratio are over the problems for which both files have
 * a winner. */
struct diff_times {
    char *name; /* the network's name; NULL in the sums over all keys and over all networks */
    /* numbers of problems: all, and those with a winner in both files, in the first or in the
     * second alone */
    int64_t problems, both, only_first, only_second;
    /* problems that the second file computes faster, and slower, beyond the noise */
    int64_t faster, slower;
    double first_ms, second_ms; /* sums of the winners' times, each times its multiplicity */
    /* geometric mean of second / first over the problems, weighted by multiplicity; 1 if there
     * are no problems */
    double ratio;
};

struct diff_report {
    char *files[2];
    enum file_kind kinds[2];
    int64_t keys[2], entries[2]; /* valid ones */
    struct file_target targets[2];
    int64_t counts[DIFF_COUNT];
    GArray *places; /* struct diff_place, sorted by key */
    bool timed;     /* true if the files hold find-db entries: only these have times */
    /* times that differ by at most this part of the smaller one are equal: a fraction, as 0.02. Unless it is 0,
     * times whose intervals meet are equal, too, and an interval alone is no difference. */
    double noise;
    struct diff_times times; /* over all keys of the two files */
    GArray *networks;        /* struct diff_times, in the order of the lists; empty without lists */
    struct diff_times all_networks;
    struct merge_report *read; /* lines and rows of the two files that could not be read */
    GStringChunk *texts;
};

/* Lists of problems (driver lines, keys, layer tables) that stand for networks: `diff` weights the times of find-dbs
 * with the lists' multiplicities. A layer table names its networks itself. `options` has batch, data type and layout
 * for layers that state none. */
struct diff_lists {
    char *const *paths;
    struct import_options options;
};

/* Default of --noise: two runs on one device differ by about this much. */
#define DIFF_NOISE_PERCENT 2.0

/* Compares two files. lists may be NULL; noise is a fraction (0.02 for 2 %); all keeps every place,
 * not the first MERGE_NAMED_MAX of each kind. NULL on failure, EXPORT_ERROR_KIND if the files are
 * of different kinds. */
struct diff_report *diff_files(const char *first, const char *second,
                               const struct diff_lists *lists, double noise, bool all,
                               GError **error);
void diff_report_free(struct diff_report *report);
typedef struct diff_report DiffReport;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiffReport, diff_report_free)

bool diff_report_equal(const struct diff_report *report);
/* Returns true if the files are for two different targets: their results are then expected to
 * differ. */
bool diff_report_two_targets(const struct diff_report *report);
void diff_report_print(const struct diff_report *report, FILE *out);
/* Prints one JSON object on one line: files [{file, format, target, keys, entries}], two_targets,
 * counts {gained, lost, winner, changed, noise}, differences [{what, key, solver?, first, second}],
 * times and networks [{network, problems, both, only_first, only_second, faster, slower, first_ms,
 * second_ms, ratio}], all_networks, left_out [{file, where, reason}], equal. */
void diff_report_print_json(const struct diff_report *report, FILE *out);

#endif
