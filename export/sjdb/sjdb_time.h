/*
 * Encodes times as codes of one bit width, without loss. Find-dbs hold short decimals, so most
 * times are an integer divided by a power of ten; codes are ranges of such integers, and the few
 * other times are stored as doubles. Internal to the writer of .sjdb.
 */
#ifndef EXPORT_SJDB_TIME_H
#define EXPORT_SJDB_TIME_H

#include "export/sjdb/reader/layout.h"
#include "export/sjdb/sjdb_file.h"

struct sjdb_tally {
    int digits;
    uint64_t count, first, last;
};
struct sjdb_times {
    struct sjdb_tally
        tallies[SJDB_DIGITS_MAX + 1]; /* by digits behind the point, until the ranges are chosen */
    uint64_t counted;
    struct {
        int digits;
        uint64_t first, last, first_code;
    } ranges[SJDB_TIME_RANGES_MAX];
    int count;
    uint64_t first_rare;
    GArray *rare; /* uint64_t: bits of the doubles, sorted by sjdb_times_end() */
    guint rare_limit;
    unsigned width;
};

/* Finds the smallest encoding. Every time is given twice: sjdb_times_count() for all,
 * sjdb_times_choose(), then sjdb_times_keep() for all, sjdb_times_end(). Codes are valid
 * afterwards. */
void sjdb_times_init(struct sjdb_times *times);
void sjdb_times_count(struct sjdb_times *times, double value);
void sjdb_times_choose(struct sjdb_times *times);
void sjdb_times_keep(struct sjdb_times *times, double value);
void sjdb_times_end(struct sjdb_times *times);
void sjdb_times_clear(struct sjdb_times *times);
/* Returns the code of a time that was kept. */
uint64_t sjdb_times_code(const struct sjdb_times *times, double value);
void sjdb_times_write(const struct sjdb_times *times, SjdbFile *file);

#endif
