/*
 * Chooses which candidates of a problem become its find-db entries. A library may ask for the
 * fastest, for one without workspace, or for a dynamic one whose kernels are compiled already. So a
 * problem keeps one of each, before more of the fastest. Internal to the folder.
 */
#ifndef EXPORT_EXPORT_ENTRIES_H
#define EXPORT_EXPORT_ENTRIES_H

#include "export/formats/find_db.h"
#include "solvers/framework/solver.h"

/* A candidate: a result that passed the gate. */
struct planned_entry {
    const struct solver *solver;
    char time_text[FIND_TIME_MAX];
    double time_ms;
    uint64_t workspace_bytes;
    const char *params; /* text of the config, "" for none */
    bool is_taken;
};

/*
 * Sets is_taken of up to `top` (at least 1) of a problem's entries, which are sorted by time, and
 * returns how many. Taken are, while there is room: the fastest; the fastest without workspace and
 * the fastest dynamic one, unless an entry taken before is such (with room for one, an entry that
 * is both goes first); then the fastest of the rest.
 */
int export_entries_choose(struct planned_entry *entries, int count, int top);

#endif
