/*
 * The layer tables of coordinator/networks, which the build embeds in the program (kernels/tools/embed.c). Commands that
 * read lists of problems take such a table by its name where no file is called so.
 */
#ifndef COORDINATOR_IMPORT_SHIPPED_H
#define COORDINATOR_IMPORT_SHIPPED_H

#include <stddef.h>

struct shipped_table {
    const char *name; /* the network's, and the file's without .csv */
    const char *text;
};

/* By name. */
extern const struct shipped_table shipped_tables[];
extern const size_t shipped_tables_count;

/* The table of a network, "resnet50-v1.5"; NULL if none is called so. */
const struct shipped_table *shipped_find(const char *name);

#endif
