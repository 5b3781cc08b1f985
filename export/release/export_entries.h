/*
 * Chooses which candidates of a problem become its find-db entries. A library may ask for the
 * fastest solver, for the fastest without workspace, or for a dynamic one, whose kernels need no
 * compiling for a new shape. A problem therefore keeps one of each kind before further fast ones.
 * Internal to the folder.
 */
#ifndef EXPORT_RELEASE_EXPORT_ENTRIES_H
#define EXPORT_RELEASE_EXPORT_ENTRIES_H

#include "export/formats/find_db.h"
#include "solvers/framework/solver.h"

/* A candidate: a result that passed the gate. */
struct planned_entry {
    const struct solver *solver;
    char time_text[FIND_TIME_MAX];
    double time_ms;
    double low_ms, high_ms; /* the interval of the time, of a second measurement; both 0 for none */
    uint64_t workspace_bytes;
    const char *params; /* the config's text; "" for a solver without configs */
    bool is_taken;
};

/*
 * Chooses at most `top` (at least 1) of a problem's entries, which are sorted by time, sets their
 * is_taken, and returns how many. The order of choosing: the fastest entry; the fastest without
 * workspace and the fastest dynamic one, unless an entry chosen before already is one; the fastest
 * of the rest. If `top` leaves one place for both kinds, an entry that is dynamic and without
 * workspace is chosen first.
 */
int export_entries_choose(struct planned_entry *entries, int count, int top);

#endif
