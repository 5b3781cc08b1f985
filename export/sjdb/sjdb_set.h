/*
 * A set of problems of a .sjdb file in the making: those with find entries, with perf params, or with
 * solutions. Internal to the writer.
 */
#ifndef EXPORT_SJDB_SET_H
#define EXPORT_SJDB_SET_H

#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_rows.h"
#include "export/sjdb/sjdb_time.h"

struct sjdb_set_item {
    guint32 choice;
    uint64_t value; /* workspace, the text of the params, or the recipe */
    double time_ms;
};

/* Of items, first is the number of the problem's first one; of answers, its last one's and 1. */
struct sjdb_set_extent {
    guint32 first, count;
};

/* Texts and solvers by the ids that they have while the file is made. */
struct sjdb_set_builder {
    struct sjdb_rows shapes, variants, choices;
    struct sjdb_rows problems; /* of a shape and a variant */
    GArray *extents;           /* struct sjdb_set_extent, by problem */
    Spool *items;              /* struct sjdb_set_item, of each problem in a row */
    guint32 item_count;
    GArray *answers; /* in place of items: each leads to the problem's one before it */
    bool twice;
    guint32 first_twice; /* the problem that was added twice */
    GError *error;       /* the first one of the spool */
};
/* Fields of a choice. "none" of a text is 0; others are 1 and its id. */
enum { CHOICE_SOLVER, CHOICE_ALGORITHM, CHOICE_LIBRARY, CHOICE_IDLE, CHOICE_FIELDS };

/* Items wait in a temporary file beside the path; where they cannot, sjdb_set_each() fails. */
void sjdb_set_builder_init(struct sjdb_set_builder *builder, const char *path);
void sjdb_set_builder_clear(struct sjdb_set_builder *builder);
/* Items stay in this order. */
void sjdb_set_add(struct sjdb_set_builder *builder, const struct skipjackdb_problem *problem,
                  uint64_t epilogue, const struct sjdb_set_item *items, gsize count);

/* The other way to fill a set: solvers' answers, which come in any order. */
struct sjdb_set_place {
    guint32 problem, choice;
};
/* The place for an answer, which must follow; false where the solver has one, or the problem too many. */
bool sjdb_set_find_place(struct sjdb_set_builder *builder, const struct skipjackdb_problem *problem,
                         uint64_t epilogue, guint32 solver, struct sjdb_set_place *place);
void sjdb_set_answer(struct sjdb_set_builder *builder, const struct sjdb_set_place *place,
                     guint32 value);

/* Calls back for each item that was added, in any order; answers are items without a time. */
bool sjdb_set_each(const struct sjdb_set_builder *builder,
                   void (*take)(void *data, const struct sjdb_set_item *item), void *data,
                   GError **error);
/* items becomes a problem's own: in their order, answers in any. */
bool sjdb_set_items(const struct sjdb_set_builder *builder, guint32 problem, GArray *items,
                    GError **error);

/* What ids become in the file. */
struct sjdb_renaming {
    const GArray *texts, *solvers; /* guint32: rank by id */
    const GArray *values;          /* likewise, NULL where values are numbers */
};
/* Writes all sections of the set, which begin at kind `base`; with times where times is not NULL.
 * EXPORT_ERROR_SYNTAX when a problem was added twice. */
bool sjdb_set_write(struct sjdb_set_builder *builder, const struct sjdb_renaming *renaming,
                    uint32_t base, const struct sjdb_times *times, SjdbFile *file, GError **error);

#endif
