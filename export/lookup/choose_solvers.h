/*
 * What our solvers say of a problem, as skipjackdb_choose() asks its caller: whether they are applicable, what
 * workspace they need, whether params are valid, what they estimate. The library itself knows no solver.
 */
#ifndef EXPORT_CHOOSE_SOLVERS_H
#define EXPORT_CHOOSE_SOLVERS_H

#include "export/sjdb/reader/skipjackdb.h"
#include "solvers/framework/space.h"
#include "solvers/problem/problem.h"

typedef struct choose_solvers ChooseSolvers;
/* For one problem on one target. Both must outlive it. */
ChooseSolvers *choose_solvers_new(const struct target *target, const struct problem *problem,
                                  uint64_t workspace_bytes);
void choose_solvers_free(ChooseSolvers *solvers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ChooseSolvers, choose_solvers_free)

/* Puts the callbacks and the names of the solver table into the rules. What is chosen by them may point
 * into *solvers. */
void choose_solvers_answer(ChooseSolvers *solvers, struct skipjackdb_rules *rules);

#endif
