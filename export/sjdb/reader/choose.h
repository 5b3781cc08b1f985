/*
 * How this library answers for a problem that a file does not hold. Internal to the library.
 */
#ifndef EXPORT_READER_CHOOSE_H
#define EXPORT_READER_CHOOSE_H

#include "export/sjdb/reader/view.h"

/* So many problems vote. Held-out keys of MIOpen's find-dbs are answered better by 16 than by 1, 4 or 8,
 * and no better by 32. */
#define SJDB_NEIGHBOURS 16

/* Distances are kept in whole numbers: sums are then the same everywhere. */
#define SJDB_DISTANCE_UNIT 65536

/* The logarithm to base 2 in units of a distance, by straight lines between the powers of two. */
static inline uint64_t sjdb_logarithm(uint64_t value)
{
    if (value <= 1) {
        return 0;
    }
    uint32_t top = 63 - (uint32_t)__builtin_clzll(value);
    uint64_t fraction = value << (63 - top) >> 47 & (SJDB_DISTANCE_UNIT - 1);
    return (uint64_t)top * SJDB_DISTANCE_UNIT + fraction;
}

struct sjdb_neighbour {
    uint64_t number;   /* of the problem */
    uint64_t distance; /* in units of 1/SJDB_DISTANCE_UNIT */
};
struct sjdb_neighbours {
    uint32_t count;
    struct sjdb_neighbour list[SJDB_NEIGHBOURS]; /* nearest first */
};

/* The problems with find entries that are nearest to this one: of its direction, types, layouts, casts
 * and number of dimensions. Reads each shape once, and problems of those that are near enough. */
int sjdb_nearest(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                 struct sjdb_neighbours *found);

/* One solver that may be the answer. */
struct sjdb_candidate {
    struct skipjackdb_entry entry; /* time and workspace scaled to the problem asked for */
    double order;                  /* the smaller, the sooner it is asked */
    uint64_t number, distance;     /* the problem it comes from */
};
/* What is asked at most: problems have hardly more entries than four, targets a few dozens of solvers. */
#define SJDB_CANDIDATES 64
struct sjdb_candidates {
    uint32_t count;
    struct sjdb_candidate list[SJDB_CANDIDATES];
};

/* The entries of a problem of the database, by their times. */
int sjdb_candidates_exact(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                          struct sjdb_candidates *found);
/* Those that the file says how to run the problem by, also beside its entries: it has no times of them, or only of
 * the fastest. In their order in the file. */
int sjdb_candidates_solved(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                           struct sjdb_candidates *found);
/* The solvers of the nearest problems, by their votes. */
int sjdb_candidates_near(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                         struct sjdb_candidates *found);
/* The number of a solver that the file names; false where it does not. */
bool sjdb_solver_find(struct sjdb_look *look, const char *solver, uint64_t *number);

#endif
