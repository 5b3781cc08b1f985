/*
 * Chooses a solver for a problem that a file need not hold. Internal to the library.
 */
#ifndef EXPORT_READER_CHOOSE_H
#define EXPORT_READER_CHOOSE_H

#include "export/sjdb/reader/view.h"

/* The number of problems that vote. For held-out keys of MIOpen's find-dbs, 16 gives better answers
 * than 1, 4 or 8, and 32 no better ones. */
#define SJDB_NEIGHBOURS 16

/* Distances are integers in these units, so that sums are equal on all machines. */
#define SJDB_DISTANCE_UNIT 65536

/* The logarithm to base 2 in distance units, linear between powers of two. */
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

/* Finds the problems with find entries that are nearest: of the same direction, types, layouts,
 * casts and number of dimensions. Reads each shape once, and the problems of shapes that are near
 * enough. */
int sjdb_nearest(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                 struct sjdb_neighbours *found);

/* One solver that may be the answer. */
struct sjdb_candidate {
    struct skipjackdb_entry entry; /* time and workspace scaled to the problem asked for */
    double order;                  /* candidates with smaller values are asked first */
    uint64_t number, distance;     /* the problem it comes from */
};
/* Most candidates: problems rarely have more than four entries, and targets have a few dozen
 * solvers. */
#define SJDB_CANDIDATES 64
struct sjdb_candidates {
    uint32_t count;
    struct sjdb_candidate list[SJDB_CANDIDATES];
};

/* The entries of a problem of the database, fastest first. */
int sjdb_candidates_exact(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                          struct sjdb_candidates *found);
/* Solvers with launches for the problem, in the order of the file; also those without an entry,
 * whose times the file lacks. */
int sjdb_candidates_solved(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                           struct sjdb_candidates *found);
/* The solvers of the nearest problems, most votes first. */
int sjdb_candidates_near(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                         struct sjdb_candidates *found);
/* Finds the number of a solver; false if the file does not name it. */
bool sjdb_solver_find(struct sjdb_look *look, const char *solver, uint64_t *number);

#endif
