/*
 * Times as numbers of one width, without loss: files hold decimals of few digits, so a time is a
 * whole number divided by a power of ten, and the few that are not are kept as they are. Internal
 * to the writer of .sjdb.
 */
#ifndef EXPORT_SJDB_TIME_H
#define EXPORT_SJDB_TIME_H

#include "export/formats/sjdb_file.h"
#include "export/reader/layout.h"

struct sjdb_times {
    struct {
        int digits;
        uint64_t first, last, first_code;
    } ranges[SJDB_TIME_RANGES_MAX];
    int count;
    uint64_t first_rare;
    GArray *rare; /* uint64_t: the doubles' bits, ascending */
    unsigned width;
};

/* Finds the codes that take the least room for these times. */
void sjdb_times_init(struct sjdb_times *times, const double *values, gsize count);
void sjdb_times_clear(struct sjdb_times *times);
/* The code of one of these times. */
uint64_t sjdb_times_code(const struct sjdb_times *times, double value);
void sjdb_times_write(const struct sjdb_times *times, SjdbFile *file);

#endif
