/*
 * Times as numbers of one width, without loss: files hold decimals of few digits, so a time is a
 * whole number divided by a power of ten, and the few that are not are kept as they are. Internal
 * to the writer of .sjdb.
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
    struct sjdb_tally tallies[SJDB_DIGITS_MAX + 1]; /* by digits, until the ranges are chosen */
    uint64_t counted;
    struct {
        int digits;
        uint64_t first, last, first_code;
    } ranges[SJDB_TIME_RANGES_MAX];
    int count;
    uint64_t first_rare;
    GArray *rare; /* uint64_t: the doubles' bits, ascending once all are told */
    guint rare_limit;
    unsigned width;
};

/* Finds the codes that take the least room for all times, which are told twice: each is counted, then the
 * ranges are chosen; each is kept, then the codes are known. */
void sjdb_times_init(struct sjdb_times *times);
void sjdb_times_count(struct sjdb_times *times, double value);
void sjdb_times_choose(struct sjdb_times *times);
void sjdb_times_keep(struct sjdb_times *times, double value);
void sjdb_times_end(struct sjdb_times *times);
void sjdb_times_clear(struct sjdb_times *times);
/* The code of one of these times. */
uint64_t sjdb_times_code(const struct sjdb_times *times, double value);
void sjdb_times_write(const struct sjdb_times *times, SjdbFile *file);

#endif
