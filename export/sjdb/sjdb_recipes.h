/*
 * How solvers compute problems, in a .sjdb file in the making: recipes, their launches, and the forms that
 * launches share, each kept once. Internal to the writer.
 */
#ifndef EXPORT_SJDB_RECIPES_H
#define EXPORT_SJDB_RECIPES_H

#include "export/sjdb/sjdb_rows.h"
#include "solvers/framework/solution.h"

struct sjdb_recipes {
    char *path;
    struct sjdb_dictionary forms; /* as they are in the file but for the ids in them */
    Spool *solutions;             /* their other numbers, in a temporary file beside the path */
    guint32 count, launches;
    GError *error; /* the first one of the spool */
};
void sjdb_recipes_init(struct sjdb_recipes *recipes, const char *path);
void sjdb_recipes_clear(struct sjdb_recipes *recipes);

/* Whether it can be kept. The errors of solution_validate(); EXPORT_ERROR_SYNTAX for a launch without a
 * kernel's name. */
bool sjdb_recipes_check(const struct solution *solution, GError **error);
/* The id of the recipe; equal ones may have several. What cannot be spooled is an error of
 * sjdb_recipes_write(). params is the text's id and 1, or 0 for none; entries and kernels are those of
 * the launches, texts and kernels by the ids that they have while the file is made. */
guint32 sjdb_recipes_add(struct sjdb_recipes *recipes, const struct solution *solution,
                         uint64_t params, const uint64_t *entries, const uint64_t *kernels);

/* Writes the sections; what is added afterwards has no meaning. Returns where each recipe stands, guint32
 * by id, or NULL. */
GArray *sjdb_recipes_write(struct sjdb_recipes *recipes, const GArray *text_ranks,
                           const GArray *kernel_ranks, SjdbFile *file, GError **error);

#endif
