/*
 * Where a campaign's time went, problem by problem, and where it would go next. The rule is in
 * coordinator/CAMPAIGNS.md; the database applies it (sql/functions/prospects.sql).
 */
#ifndef SCHEMA_RESULTS_STORE_PROSPECTS_H
#define SCHEMA_RESULTS_STORE_PROSPECTS_H

#include "schema/results/store_results.h"

/* The time that one problem has taken and gained so far. Times of unknown length are NAN. */
struct problem_time {
    struct problem problem;
    int multiplicity;
    int jobs;        /* number of solvers planned for it */
    int64_t tries;   /* distinct configs that were tried, of all its solvers */
    double seconds;  /* working time of building and evaluating them */
    double first_ms; /* the best time after the first rounds */
    double best_ms;  /* the best time now */
    /* The round that is expected to save most for its time, among the solvers whose search has not ended by itself: the
     * time that it is expected to save the network, with the multiplicity, and how long it takes. NAN if all have
     * ended, or no round is stored. */
    double next_saves_ms, next_seconds;
    char *next_solver; /* whose round it is; NULL for none */
};
void problem_time_free(struct problem_time *time);

/* GPtrArray of struct problem_time *, by problem id. Free it with g_ptr_array_unref(). */
GPtrArray *store_list_part_times(Store *store, int64_t campaign, const struct problem_part *part,
                                 GError **error);

#endif
