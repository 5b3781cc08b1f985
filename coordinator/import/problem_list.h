/*
 * Distinct problems with their multiplicities, in the order they were first
 * seen. Problems in it are valid.
 */
#ifndef COORDINATOR_IMPORT_PROBLEM_LIST_H
#define COORDINATOR_IMPORT_PROBLEM_LIST_H

#include "solvers/problem/problem.h"

struct problem_entry {
    struct problem problem;
    int64_t multiplicity;
    int index;
};

typedef struct problem_list ProblemList;

ProblemList *problem_list_new(void);
void problem_list_free(ProblemList *list);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProblemList, problem_list_free)

/* Adds the problem, or raises the multiplicity of the equal one that is there. */
void problem_list_add(ProblemList *list, const struct problem *p, int64_t multiplicity);

int problem_list_count(const ProblemList *list);
/* Returns an entry of the list. Valid until the next problem_list_add(). */
const struct problem_entry *problem_list_get(const ProblemList *list, int index);

/* Returns the index of the equal problem in the list, or -1. */
int problem_list_find(const ProblemList *list, const struct problem *p);

/* Returns how many distinct problems there are if the direction is ignored. */
int problem_list_shapes(const ProblemList *list);

#endif
