/*
 * The smallest set of solvers with which every group (a network on a target) takes at most x % more
 * time than with all solvers.
 *
 * A case is a problem of a group with its weight and the times of its solvers. With a set of
 * solvers a group takes the sum of weight x fastest time in the set; the set is a cover if no
 * group exceeds its limit, (1 + within) x its best time, and every case has a solver.
 *
 * Greedy. A case that no solver of the set computes is given a time so long that its group exceeds
 * the limit. A group's progress is the part of the way from the empty set's time to the limit,
 * at most 1; the sum F over groups is monotone and submodular, so adding the solver that raises F
 * most, until F = groups, needs at most 1 + ln(F / (F - F before the last step)) times as many
 * solvers as the smallest cover: L. A. Wolsey, "An analysis of the greedy algorithm for the
 * submodular set covering problem", Combinatorica 2 (1982), theorem 1.
 *
 * Exact. Branch and bound for 1, 2, ... solvers from the lower bound on: the first size that has a
 * cover is the smallest. Branches are the solvers that are good enough for the case with the
 * fewest of them. A branch ends when more solvers are needed than are left: by cases that share no
 * good enough solver, or by the largest gains of single solvers for a group.
 *
 * Pure: no I/O.
 */
#ifndef EXPORT_USAGE_COVER_H
#define EXPORT_USAGE_COVER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct cover_case {
    int group;           /* from 0 */
    double weight;       /* over 0 */
    int count;           /* at least 1 */
    const int *solvers;  /* numbers from 0, each once */
    const double *times; /* over 0 */
};

struct cover {
    int solvers, groups, cases;
    const struct cover_case *list;
    double within; /* 0.05: at most 5 % more time */
    /* the exact search ends after about so many comparisons of times, without a proof */
    int64_t effort;
};

struct cover_found {
    GArray *set;        /* int: the numbers of the solvers of the smallest cover known, rising */
    int greedy;         /* size of the greedy cover */
    double greedy_most; /* the greedy cover is at most so many times as large as the smallest one */
    int lower_bound;    /* every cover has at least so many solvers */
    bool optimal;       /* no cover is smaller than `set` */
    int64_t comparisons;
};

/* All solvers together are a cover, so there is always one. Free set with g_array_unref(). */
void cover_solve(const struct cover *cover, struct cover_found *found);

/* Whether the solvers for which in[] is true are a cover. times_ms (cover->groups numbers, may be NULL) becomes each
 * group's time; a case without a solver counts as nothing there. */
bool cover_holds(const struct cover *cover, const bool *in, double *times_ms);

#endif
