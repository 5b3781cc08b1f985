/*
 * How solvers compute problems, in a .sjdb file in the making: recipes, their launches, and the forms that
 * launches share, each kept once. Internal to the writer.
 */
#ifndef EXPORT_SJDB_RECIPES_H
#define EXPORT_SJDB_RECIPES_H

#include "export/formats/sjdb_rows.h"
#include "solvers/solution.h"

/* Records of numbers, each once, as they are in the file but for the ids in them. */
struct sjdb_records {
    GStringChunk *bytes;
    GHashTable *ids;  /* a record to its id */
    GPtrArray *by_id; /* records: their length in two bytes, then they */
};
struct sjdb_recipes {
    struct sjdb_records forms, launches, recipes;
};
void sjdb_recipes_init(struct sjdb_recipes *recipes);
void sjdb_recipes_clear(struct sjdb_recipes *recipes);

/* Whether it can be kept. The errors of solution_validate(); EXPORT_ERROR_SYNTAX for a launch without a
 * kernel's name. */
bool sjdb_recipes_check(const struct solution *solution, GError **error);
/* The id of the recipe. params is the text's id and 1, or 0 for none; entries and kernels are those of
 * the launches, texts and kernels by the ids that they have while the file is made. */
guint32 sjdb_recipes_add(struct sjdb_recipes *recipes, const struct solution *solution,
                         uint64_t params, const uint64_t *entries, const uint64_t *kernels);

/* Writes the sections; what is added afterwards has no meaning. Returns where each recipe stands, guint32
 * by id. */
GArray *sjdb_recipes_write(struct sjdb_recipes *recipes, const GArray *text_ranks,
                           const GArray *kernel_ranks, SjdbFile *file);

#endif
