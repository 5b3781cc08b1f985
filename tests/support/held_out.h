/*
 * A find-db with a tenth of it held out: what was measured for the keys that are held out is known, and a
 * database of the others is asked for them.
 */
#ifndef TESTS_SUPPORT_HELD_OUT_H
#define TESTS_SUPPORT_HELD_OUT_H

#include "export/sjdb/reader/skipjackdb.h"
#include "tests/support/temp_folder.h"

#include <stdbool.h>

struct held_out {
    skipjackdb *rest;
    GArray *problems; /* held out: struct skipjackdb_problem */
    /* private */
    skipjackdb *whole;
};

/* Every tenth key by chance; or every tenth shape, with all its batch sizes, types and directions. Files
 * are made in the folder. */
void held_out_init(struct held_out *held, TempFolder *folder, const char *path, bool by_shape);
void held_out_clear(struct held_out *held);

/* How good answers were. */
struct held_tally {
    guint asked, answered;
    guint wins;     /* the solver that was measured as the fastest */
    guint listed;   /* one that was measured: at most four a key are kept */
    double excess;  /* of those, the sum of logarithms of its time over the fastest's */
    GArray *errors; /* double: logarithm of the expected time over the measured one */
};
void held_tally_init(struct held_tally *tally);
void held_tally_clear(struct held_tally *tally);
/* The answer for a problem that is held out; NULL for none, time_ms 0 where nothing was expected. */
void held_tally_add(struct held_tally *tally, const struct held_out *held, guint index,
                    const char *solver, double time_ms);
/* The geometric mean, over measured answers, of the answer's time divided by the fastest config's. */
double held_tally_cost(const struct held_tally *tally);
/* The median factor between the expected time and the measured one. */
double held_tally_error(struct held_tally *tally);

#endif
