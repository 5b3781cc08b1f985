/*
 * Collects how solvers compute problems. A recipe is a solution's params, workspace and launches; a
 * form is what launches of different sizes have in common. Equal recipes, launches and forms are
 * stored once. Internal to the writer.
 */
#ifndef EXPORT_SJDB_SJDB_RECIPES_H
#define EXPORT_SJDB_SJDB_RECIPES_H

#include "export/sjdb/sjdb_rows.h"
#include "solvers/framework/solution.h"

struct sjdb_recipes {
    char *path;
    /* the records of the forms as in the file, but with the id of the kernel's name in place of the
     * number that the file will have */
    struct sjdb_dictionary forms;
    /* the other numbers of each recipe (params, workspace, launches), spooled in the file's
     * folder */
    Spool *solutions;
    guint32 count, launches;
    bool other; /* the records of the sections SJDB_OTHER_RECIPES and so on, which have packing */
    GError *error; /* the first error of the spool, reported by sjdb_recipes_write() */
};
void sjdb_recipes_init(struct sjdb_recipes *recipes, const char *path, bool other);
void sjdb_recipes_clear(struct sjdb_recipes *recipes);

/* Returns true if the solution can be stored. Errors of solution_validate(); EXPORT_ERROR_SYNTAX
 * for a launch without a kernel name. */
bool sjdb_recipes_check(const struct solution *solution, GError **error);
/* Adds a recipe and returns its id; adding an equal one may give another id. params: the id of the
 * config's text + 1, or 0 for none. entries, kernels: an id for each launch. Errors of the spool
 * are kept and reported by sjdb_recipes_write(). */
guint32 sjdb_recipes_add(struct sjdb_recipes *recipes, const struct solution *solution,
                         uint64_t params, const uint64_t *entries, const uint64_t *kernels);

/* Writes the sections about recipes. Returns the number that each recipe got in the file (guint32,
 * by id), or NULL on failure. The caller adds no more recipes afterwards. */
GArray *sjdb_recipes_write(struct sjdb_recipes *recipes, const GArray *text_ranks,
                           const GArray *kernel_ranks, SjdbFile *file, GError **error);

#endif
