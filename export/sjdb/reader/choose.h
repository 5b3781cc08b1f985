/*
 * Chooses a solver for a problem that no file may hold. Internal to the library.
 */
#ifndef EXPORT_SJDB_READER_CHOOSE_H
#define EXPORT_SJDB_READER_CHOOSE_H

#include "export/sjdb/reader/forms.h"

/* The number of problems that vote. For held-out keys of MIOpen's find-dbs, 16 gives better answers
 * than 1, 4 or 8, and 32 no better ones. */
#define SJDB_NEIGHBOURS 16

/* Distances are integers in these units, so that sums are equal on all machines. */
#define SJDB_DISTANCE_UNIT 65536

/* The logarithm to base 2, in units of 1/SJDB_DISTANCE_UNIT; linear between powers of two. */
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

/* Finds the problems with find entries that are nearest to the given one, among those with equal
 * operator, mode, direction, types, layouts, casts and number of dimensions. `others`: among problems
 * of other forms than packed convolutions without epilogue, else among these. Computes each shape's
 * distance once, and reads only the problems of shapes that are near enough. */
int sjdb_nearest(const struct skipjackdb *db, const struct skipjackdb_problem *problem, bool others,
                 struct sjdb_neighbours *found);

/* One solver that may be the answer. */
struct sjdb_candidate {
    /* the entry; time and workspace are scaled to the wanted problem if it comes from another
     * one */
    struct skipjackdb_entry entry;
    const char *params; /* those of a solution that was never measured; else NULL */
    double order;       /* candidates with smaller values are tried first */
    /* number of the problem that the entry comes from, and its distance to the wanted one */
    uint64_t number, distance;
};
/* Most candidates: problems rarely have more than four entries, and targets have a few dozen
 * solvers. */
#define SJDB_CANDIDATES 64
struct sjdb_candidates {
    uint32_t count;
    struct sjdb_candidate list[SJDB_CANDIDATES];
};

/* Lists the entries of the very problem whose times are above 0. Their `order` is the time, so that
 * the fastest is tried first. SKIPJACKDB_NOT_FOUND if the file lacks the problem. */
int sjdb_candidates_exact(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                          struct sjdb_candidates *found);
/* Lists the solvers that have launches for the very problem, in the order of the file, all without
 * a time. Includes solvers that have no entry. SKIPJACKDB_NOT_FOUND if no solver has launches. */
int sjdb_candidates_solved(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                           struct sjdb_candidates *found);
/* Calls visit() for each never-measured solution of the problem with that number, in the order of the file. */
int sjdb_unmeasured_each(const struct skipjackdb *db, uint64_t number,
                         void (*visit)(void *context, const struct skipjackdb_solution *solution),
                         void *context);
/* Lists the very problem's solutions that were never measured, in the order in which they should be tried: a
 * candidate for each solver and config, all without a time. A problem may have a thousand: of more than
 * SJDB_CANDIDATES, each solver's come first that need less workspace than those before them, or are the first dynamic
 * ones, so that some candidate fits any rules that some solution fits. Returns SKIPJACKDB_NOT_FOUND for a problem without such
 * solutions. */
int sjdb_candidates_unmeasured(const struct skipjackdb *db,
                               const struct skipjackdb_problem *problem,
                               struct sjdb_candidates *found);
/* Lists the entries of the problem with packed tensors, as sjdb_candidates_exact() does.
 * SKIPJACKDB_NOT_FOUND if the problem's own tensors are packed. */
int sjdb_candidates_packed(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                           struct sjdb_candidates *found);
/* Lists the solvers of the nearest problems. Their `order` makes those with the most votes be tried
 * first. SKIPJACKDB_NOT_FOUND if no solver is found. */
int sjdb_candidates_near(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                         struct sjdb_candidates *found);
/* Sets *number to the number of the solver with this name. Returns false if the file has no such
 * solver. */
bool sjdb_solver_find(struct sjdb_look *look, const char *solver, uint64_t *number);

#endif
