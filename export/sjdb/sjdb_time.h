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

#endif
