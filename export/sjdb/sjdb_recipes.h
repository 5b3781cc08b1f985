/*
 * Collects how solvers compute problems: recipes with their launches, and the forms that launches
 * of different sizes share, each stored once. Internal to the writer.
 */
#ifndef EXPORT_SJDB_RECIPES_H
#define EXPORT_SJDB_RECIPES_H

#include "export/sjdb/sjdb_rows.h"
#include "solvers/framework/solution.h"

struct sjdb_recipes {
    char *path;
    struct sjdb_dictionary
        forms;        /* encoded as in the file, except that they hold ids instead of ranks */
    Spool *solutions; /* the recipes' other numbers, spooled beside the path */
    guint32 count, launches;
    GError *error; /* the spool's first error */
};
void sjdb_recipes_init(struct sjdb_recipes *recipes, const char *path);
void sjdb_recipes_clear(struct sjdb_recipes *recipes);

/* Returns true if the solution can be stored. Errors of solution_validate(); EXPORT_ERROR_SYNTAX
 * for a launch without a kernel name. */
bool sjdb_recipes_check(const struct solution *solution, GError **error);
/* Adds a recipe and returns its id; equal recipes may get several. params: id of the text + 1, or
 * 0; entries and kernels: ids for each launch. Errors of the spool are reported by
 * sjdb_recipes_write(). */
guint32 sjdb_recipes_add(struct sjdb_recipes *recipes, const struct solution *solution,
                         uint64_t params, const uint64_t *entries, const uint64_t *kernels);

/* Writes the sections. Returns each recipe's number in the file (guint32, by id), or NULL. Nothing
 * may be added afterwards. */
GArray *sjdb_recipes_write(struct sjdb_recipes *recipes, const GArray *text_ranks,
                           const GArray *kernel_ranks, SjdbFile *file, GError **error);

#endif
