/* A find-db of which a tenth is held out: a database of the rest is asked for the keys held out,
 * whose measured times are known. */
#ifndef TESTS_SUPPORT_EXPORT_HELD_OUT_H
#define TESTS_SUPPORT_EXPORT_HELD_OUT_H

#include "export/sjdb/reader/skipjackdb.h"
#include "tests/support/temp_folder.h"

#include <stdbool.h>

struct held_out {
    skipjackdb *rest;
    GArray *problems; /* struct skipjackdb_problem: the problems held out */
    /* private */
    skipjackdb *whole;
};

/* Holds out a tenth of the keys; with by_shape a tenth of the shapes, each with all its batch
 * sizes, types and directions. Files are made in the folder. */
void held_out_init(struct held_out *held, TempFolder *folder, const char *path, bool by_shape);
void held_out_clear(struct held_out *held);

/* Counts of answers by their quality. */
struct held_tally {
    guint asked, answered;
    guint wins;    /* answers that are the solver measured as the fastest */
    guint listed;  /* answers that are one of the measured solvers (at most four a key are kept) */
    double excess; /* sum over `listed` of log(time of the answer / time of the fastest) */
    /* double: absolute value of log(expected time / measured time) of each answer with an expected time */
    GArray *errors;
};
void held_tally_init(struct held_tally *tally);
void held_tally_clear(struct held_tally *tally);
/* Adds the answer for held-out problem `index`. solver NULL: there was no answer; time_ms 0: the
 * answer stated no expected time. */
void held_tally_add(struct held_tally *tally, const struct held_out *held, guint index,
                    const char *solver, double time_ms);
/* The geometric mean, over measured answers, of the answer's time divided by the fastest config's. */
double held_tally_cost(const struct held_tally *tally);
/* The median factor between the expected time and the measured one. */
double held_tally_error(struct held_tally *tally);

#endif
