/*
 * Builds one set of problems of a .sjdb: those with find entries, with perf params, or with
 * solutions. Internal to the writer.
 */
#ifndef EXPORT_SJDB_SET_H
#define EXPORT_SJDB_SET_H

#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_rows.h"
#include "export/sjdb/sjdb_time.h"

struct sjdb_set_item {
    guint32 choice;
    uint64_t value; /* workspace, text of the params, or recipe */
    double time_ms;
};

/* For items: the first one's number. For answers: the last one's number + 1. */
struct sjdb_set_extent {
    guint32 first, count;
};

/* Texts and solvers are stored by the ids that they have while the file is made. */
struct sjdb_set_builder {
    struct sjdb_rows shapes, variants, choices;
    struct sjdb_rows problems; /* pairs of a shape and a variant */
    GArray *extents;           /* struct sjdb_set_extent, by problem */
    Spool *items;              /* struct sjdb_set_item; a problem's items are contiguous */
    guint32 item_count;
    GArray *answers; /* instead of items: each links to the problem's answer before it */
    bool twice;
    guint32 first_twice; /* the first problem that was added twice */
    GError *error;       /* the spool's first error */
};
/* Fields of a choice. Texts are stored as id + 1, 0 for none. */
enum { CHOICE_SOLVER, CHOICE_ALGORITHM, CHOICE_LIBRARY, CHOICE_IDLE, CHOICE_FIELDS };

/* Items are spooled beside the path. Errors of the spool are reported by sjdb_set_each(). */
void sjdb_set_builder_init(struct sjdb_set_builder *builder, const char *path);
void sjdb_set_builder_clear(struct sjdb_set_builder *builder);
/* Adds a problem with its items, whose order is kept. */
void sjdb_set_add(struct sjdb_set_builder *builder, const struct skipjackdb_problem *problem,
                  uint64_t epilogue, const struct sjdb_set_item *items, gsize count);

/* The other way to fill a set: answers of solvers, in any order. */
struct sjdb_set_place {
    guint32 problem, choice;
};
/* Finds the place for an answer, which sjdb_set_answer() must then add. False if the solver has one
 * already, or the problem has too many. */
bool sjdb_set_find_place(struct sjdb_set_builder *builder, const struct skipjackdb_problem *problem,
                         uint64_t epilogue, guint32 solver, struct sjdb_set_place *place);
void sjdb_set_answer(struct sjdb_set_builder *builder, const struct sjdb_set_place *place,
                     guint32 value);

/* Calls `take` for each item, in any order. Answers are items without a time. */
bool sjdb_set_each(const struct sjdb_set_builder *builder,
                   void (*take)(void *data, const struct sjdb_set_item *item), void *data,
                   GError **error);
/* Fills `items` with a problem's items in their order, or with its answers in any order. */
bool sjdb_set_items(const struct sjdb_set_builder *builder, guint32 problem, GArray *items,
                    GError **error);

/* Maps ids to numbers in the file. */
struct sjdb_renaming {
    const GArray *texts, *solvers; /* guint32: rank by id */
    const GArray *values;          /* guint32: rank by id; NULL if values are numbers */
};
/* Writes the set's sections, whose kinds begin at `base`; with times unless `times` is NULL.
 * EXPORT_ERROR_SYNTAX if a problem was added twice. */
bool sjdb_set_write(struct sjdb_set_builder *builder, const struct sjdb_renaming *renaming,
                    uint32_t base, const struct sjdb_times *times, SjdbFile *file, GError **error);

#endif
