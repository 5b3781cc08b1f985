/*
 * Builds one of the sets of problems of a .sjdb: those with find entries, with perf params, with solutions, or with
 * solutions that were never measured. An item says what the file holds for one choice (solver, algorithm, library)
 * of a problem. Internal to the writer.
 */
#ifndef EXPORT_SJDB_SJDB_SET_H
#define EXPORT_SJDB_SJDB_SET_H

#include "export/sjdb/reader/skipjackdb.h"
#include "export/sjdb/sjdb_rows.h"
#include "export/sjdb/sjdb_time.h"

struct sjdb_set_item {
    guint32 choice;
    /* workspace in bytes, or id of the params' text, or id of the recipe: one of them for all of
     * a set */
    uint64_t value;
    double time_ms, low_ms, high_ms; /* the time and its interval, which is 0 and 0 for none */
};

/* Where a problem's items are. first: for items that were added together, the number of the first
 * one; for answers, the number of the last one + 1, from which the others are linked. */
struct sjdb_set_extent {
    guint32 first, count;
};

/* A set of problems while the file is made. Texts and solvers are known by ids, which become their
 * numbers in the file only when it is written. */
struct sjdb_set_builder {
    struct sjdb_rows shapes, variants, choices;
    struct sjdb_rows problems; /* rows of two numbers: the ids of a shape and of a variant */
    GArray *extents;           /* struct sjdb_set_extent, by the problem's id */
    Spool *items;              /* struct sjdb_set_item; the items of a problem follow each other */
    guint32 item_count;
    /* used instead of `items` if answers are added one by one: each links to the problem's
     * answer before it */
    GArray *answers;
    bool twice;
    guint32 first_twice; /* id of the first problem that was added twice; valid if `twice` */
    GError *error;       /* the first error of the spool, reported by sjdb_set_each() */
};
/* Fields of a choice. Algorithm and library are a text's id + 1, or 0 for none; CHOICE_IDLE is 1 if
 * the entry needs no workspace. */
enum { CHOICE_SOLVER, CHOICE_ALGORITHM, CHOICE_LIBRARY, CHOICE_IDLE, CHOICE_FIELDS };

/* Items are spooled in the folder of `path`. Errors of the spool are kept and reported by
 * sjdb_set_each(). */
void sjdb_set_builder_init(struct sjdb_set_builder *builder, const char *path);
void sjdb_set_builder_clear(struct sjdb_set_builder *builder);
/* Adds a problem with all its items, and keeps their order. */
void sjdb_set_add(struct sjdb_set_builder *builder, const struct skipjackdb_problem *problem,
                  uint64_t epilogue, const struct sjdb_set_item *items, gsize count);

/* Where sjdb_set_answer() adds an answer. Adding answers one by one, in any order, is the other way
 * to fill a set: an answer is what one solver has for a problem. */
struct sjdb_set_place {
    guint32 problem, choice;
};
/* Finds the place for a solver's answer; if it returns true, sjdb_set_answer() must add the answer.
 * Returns false if the solver has an answer already, or the problem has too many. */
bool sjdb_set_find_place(struct sjdb_set_builder *builder, const struct skipjackdb_problem *problem,
                         uint64_t epilogue, guint32 solver, struct sjdb_set_place *place);
void sjdb_set_answer(struct sjdb_set_builder *builder, const struct sjdb_set_place *place,
                     guint32 value);

/* Calls `take` for each item of the set, in any order. Answers are passed as items without a
 * time. */
bool sjdb_set_each(const struct sjdb_set_builder *builder,
                   void (*take)(void *data, const struct sjdb_set_item *item), void *data,
                   GError **error);
/* Sets `items` to a problem's items in the order in which they were added, or to its answers in any
 * order. */
bool sjdb_set_items(const struct sjdb_set_builder *builder, guint32 problem, GArray *items,
                    GError **error);

/* The numbers that ids get in the file (ranks). */
struct sjdb_renaming {
    const GArray *texts, *solvers; /* guint32: rank by id, of texts and of solvers */
    /* guint32: rank by id of what values name; NULL if values are plain numbers */
    const GArray *values;
};
/* Writes the set's sections, with kinds from `base` on. `intervals`: encodes the items' times, and gets
 * their intervals; NULL for a set without times. EXPORT_ERROR_SYNTAX if a problem was added twice. */
bool sjdb_set_write(struct sjdb_set_builder *builder, const struct sjdb_renaming *renaming,
                    uint32_t base, struct sjdb_intervals *intervals, SjdbFile *file,
                    GError **error);

#endif
