/*
 * Which of a problem's candidates become its find-db entries. A library asks for the fastest, for one
 * that needs no workspace and for one whose kernels it has compiled already (dynamic): a problem keeps
 * one of each where it has them, before more of the fastest. Internal to the room.
 */
#ifndef EXPORT_EXPORT_ENTRIES_H
#define EXPORT_EXPORT_ENTRIES_H

#include "export/gate.h"

/*
 * candidates: of one problem, by time. Sets take[i] for up to `top` (at least 1) of them and returns how
 * many: the fastest; then, while there is room and nothing taken is such, the fastest without workspace
 * and the fastest dynamic one (with room for one, one that is both goes before either); then the fastest
 * of the rest.
 */
int export_entries_choose(struct candidate *const *candidates, int count, int top, bool *take);

#endif
