/*
 * Sorts byte strings, each with a number, without holding them in memory: SQLite sorts them in a
 * file without a name, which is deleted with the sorter. Internal to the writer of .sjdb.
 */
#ifndef EXPORT_SJDB_SJDB_SORT_H
#define EXPORT_SJDB_SJDB_SORT_H

#include "export/formats/export_error.h"

typedef struct sjdb_sorter SjdbSorter;
SjdbSorter *sjdb_sorter_new(const char *beside, GError **error);
void sjdb_sorter_free(SjdbSorter *sorter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SjdbSorter, sjdb_sorter_free)

bool sjdb_sorter_add(SjdbSorter *sorter, const void *bytes, gsize count, guint32 number,
                     GError **error);
/* Returns the next string in byte order; a prefix comes before longer strings, equal strings in any
 * order. The first call ends the adding. READ_ROW with bytes that are valid until the next call;
 * READ_END; READ_FAILED. */
enum read_step sjdb_sorter_next(SjdbSorter *sorter, const guint8 **bytes, gsize *count,
                                guint32 *number, GError **error);

#endif
