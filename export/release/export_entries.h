/*
 * Which of a problem's candidates become its find-db entries. A library asks for the fastest, for one
 * that needs no workspace and for one whose kernels it has compiled already (dynamic): a problem keeps
 * one of each where it has them, before more of the fastest. Internal to the room.
 */
#ifndef EXPORT_EXPORT_ENTRIES_H
#define EXPORT_EXPORT_ENTRIES_H

#include "export/formats/find_db.h"
#include "solvers/framework/solver.h"

/* What passed the gate for a problem. */
struct planned_entry {
    const struct solver *solver;
    char time_text[FIND_TIME_MAX];
    double time_ms;
    uint64_t workspace_bytes;
    const char *params; /* the config's text, "" for none */
    bool is_taken;
};

/*
 * entries: of one problem, by time. Sets is_taken of up to `top` (at least 1) of them and returns how
 * many: the fastest; then, while there is room and nothing taken is such, the fastest without workspace
 * and the fastest dynamic one (with room for one, one that is both goes before either); then the fastest
 * of the rest, until there are that many.
 */
int export_entries_choose(struct planned_entry *entries, int count, int top);

#endif
