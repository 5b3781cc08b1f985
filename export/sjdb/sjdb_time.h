/*
 * Encodes times, without loss, as codes that all have the same bit width. Find-dbs print short
 * decimals, so most times are an integer divided by a power of ten: a range of such integers gets
 * consecutive codes. The few other times, the rare ones, are stored as doubles. Internal to the
 * writer of .sjdb.
 */
#ifndef EXPORT_SJDB_SJDB_TIME_H
#define EXPORT_SJDB_SJDB_TIME_H

#include "export/sjdb/reader/layout.h"
#include "export/sjdb/sjdb_file.h"

struct sjdb_tally {
    int digits;
    uint64_t count, first, last;
};
struct sjdb_times {
    /* counts of times by digits behind the point, from which the ranges are chosen */
    struct sjdb_tally tallies[SJDB_DIGITS_MAX + 1];
    uint64_t counted;
    struct {
        int digits;
        uint64_t first, last, first_code;
    } ranges[SJDB_TIME_RANGES_MAX];
    int count;
    uint64_t first_rare;
    GArray *rare; /* uint64_t: bits of the rare times' doubles; sjdb_times_end() sorts them */
    guint rare_limit;
    unsigned width;
};

/* Finds the smallest encoding in two passes over all times: sjdb_times_count() for each time, then
 * sjdb_times_choose(); sjdb_times_keep() for each time, then sjdb_times_end(). Only then are codes
 * valid. */
void sjdb_times_init(struct sjdb_times *times);
void sjdb_times_count(struct sjdb_times *times, double value);
void sjdb_times_choose(struct sjdb_times *times);
void sjdb_times_keep(struct sjdb_times *times, double value);
void sjdb_times_end(struct sjdb_times *times);
void sjdb_times_clear(struct sjdb_times *times);
/* Returns the code of a time that sjdb_times_keep() has had. */
uint64_t sjdb_times_code(const struct sjdb_times *times, double value);
void sjdb_times_write(const struct sjdb_times *times, SjdbFile *file);

/* The intervals of times while the problems are written. The ends are times, too: sjdb_times_count() and
 * sjdb_times_keep() have had them. */
struct sjdb_intervals {
    const struct sjdb_times *times;
    uint64_t problems; /* how many problems were written: the number of the next one */
    /* uint64_t, as in the sections of these names: numbers of entries, and codes */
    GArray *entries, *lows, *highs;
};
void sjdb_intervals_init(struct sjdb_intervals *intervals, const struct sjdb_times *times);
/* Adds the interval of an entry of problem intervals->problems by the entry's place among the problem's.
 * Places come in ascending order. */
void sjdb_intervals_add(struct sjdb_intervals *intervals, guint place, double low_ms,
                        double high_ms);
/* Writes three sections; none if there is no interval. */
void sjdb_intervals_write(const struct sjdb_intervals *intervals, SjdbFile *file);
void sjdb_intervals_clear(struct sjdb_intervals *intervals);

#endif
