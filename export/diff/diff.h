/*
 * Two files of one sort (find-dbs in either form; perf-dbs, SQLite or text;
 * kernel-dbs; an .sjdb by what the other file can hold too) compared by what
 * they say: keys that one of them lacks, winners that changed, and what that
 * does to the time, over all keys and over networks. How a file is written, in which form and order, is no difference. A
 * time of 0 is compared and wins nothing; a line that cannot be read is named
 * and counts as not there.
 */
#ifndef EXPORT_DIFF_H
#define EXPORT_DIFF_H

#include "coordinator/import/import.h"
#include "export/merge/merge.h"

enum diff_what {
    DIFF_GAINED, /* a key that only the second file has */
    DIFF_LOST,   /* one that only the first has */
    DIFF_WINNER, /* of a find-db's key another solver is the fastest */
    DIFF_CHANGED, /* other entries of a find-db's key, with the same winner; a solver's params; a code
                   * object */
    DIFF_NOISE, /* of a find-db's key times alone differ, or the winner, by no more than the noise: this is
                 * counted and is no difference */
    DIFF_COUNT,
};

struct diff_place {
    enum diff_what what;
    const char *key, *solver;   /* solver: perf-dbs' alone; of kernels, their arguments; else "" */
    const char *first, *second; /* "ConvX 0.12 ms", params, a hash; "" where there is none */
};

/* Problems of a network, or of all keys. Times are of those that both files have a winner for. */
struct diff_times {
    char *name; /* NULL for all keys and for all networks */
    int64_t problems, both, only_first, only_second;
    int64_t faster, slower;     /* in the second */
    double first_ms, second_ms; /* summed, by multiplicity */
    double ratio; /* geometric mean of second / first, by multiplicity; 1 where there are none */
};

struct diff_report {
    char *files[2];
    enum file_kind kinds[2];
    int64_t keys[2], entries[2]; /* that are good */
    struct file_target targets[2];
    int64_t counts[DIFF_COUNT];
    GArray *places; /* struct diff_place, by key */
    bool timed;     /* find-dbs alone have times */
    double noise;   /* times that differ by no more than this part of the smaller count as equal */
    struct diff_times times; /* of the keys that both have */
    GArray *networks;        /* struct diff_times, in the order of lists; empty without lists */
    struct diff_times all_networks;
    struct merge_report *read; /* what was left out */
    GStringChunk *texts;
};

/* Lists of problems, networks by which the times of find-dbs are weighted: files (a layer table names its
 * own networks), and the options that say what these leave out. */
struct diff_lists {
    char *const *paths;
    struct import_options options;
};

/* Two runs on one device differ by about so much: diff leaves it out unless --noise says otherwise. */
#define DIFF_NOISE_PERCENT 2.0

/* lists: NULL for none. noise: a part, 0.02 for 2 %. all: keep every place, not the first MERGE_NAMED_MAX of each sort.
 * EXPORT_ERROR_KIND when the files are of different sorts. NULL on failure. */
struct diff_report *diff_files(const char *first, const char *second,
                               const struct diff_lists *lists, double noise, bool all,
                               GError **error);
void diff_report_free(struct diff_report *report);
typedef struct diff_report DiffReport;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DiffReport, diff_report_free)

bool diff_report_equal(const struct diff_report *report);
/* The files are of two targets: differences are what is to be expected. */
bool diff_report_two_targets(const struct diff_report *report);
void diff_report_print(const struct diff_report *report, FILE *out);
/* One JSON object on one line: files [{file, format, target, keys, entries}], two_targets, counts {gained, lost, winner,
 * changed, noise}, differences [{what, key, solver?, first, second}], times and networks [{network,
 * problems, both, only_first, only_second, faster, slower, first_ms, second_ms, ratio}],
 * all_networks, left_out [{file, where, reason}], equal. */
void diff_report_print_json(const struct diff_report *report, FILE *out);

#endif
