/*
 * Answers the questions that skipjackdb_choose() asks its caller from our solver table: is a solver
 * applicable, which workspace does it need, are params valid, what does it estimate? The library
 * itself contains no solvers.
 */
#ifndef EXPORT_LOOKUP_CHOOSE_SOLVERS_H
#define EXPORT_LOOKUP_CHOOSE_SOLVERS_H

#include "export/sjdb/reader/skipjackdb.h"
#include "solvers/framework/space.h"
#include "solvers/problem/problem.h"

typedef struct choose_solvers ChooseSolvers;
/* For questions about one problem on one target. Both must outlive the result. */
ChooseSolvers *choose_solvers_new(const struct target *target, const struct problem *problem,
                                  uint64_t workspace_bytes);
void choose_solvers_free(ChooseSolvers *solvers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ChooseSolvers, choose_solvers_free)

/* Sets the callbacks and the list of solvers in the rules. Texts of the library's answer may point
 * into *solvers. */
void choose_solvers_answer(ChooseSolvers *solvers, struct skipjackdb_rules *rules);

#endif
