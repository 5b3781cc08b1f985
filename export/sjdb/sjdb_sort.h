/*
 * Sorts strings of bytes, each with a number, outside of memory: SQLite does, in a file beside the one that is
 * to be written, without a name and gone with the sorter. Internal to the writer of .sjdb.
 */
#ifndef EXPORT_SJDB_SORT_H
#define EXPORT_SJDB_SORT_H

#include "export/formats/export_error.h"

typedef struct sjdb_sorter SjdbSorter;
SjdbSorter *sjdb_sorter_new(const char *beside, GError **error);
void sjdb_sorter_free(SjdbSorter *sorter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SjdbSorter, sjdb_sorter_free)

bool sjdb_sorter_add(SjdbSorter *sorter, const void *bytes, gsize count, guint32 number,
                     GError **error);
/* Once all were added: in byte order, shorter ones first where one begins with the other, equal ones in any
 * order. READ_ROW with bytes that are valid until the next call, READ_END, READ_FAILED. */
enum read_step sjdb_sorter_next(SjdbSorter *sorter, const guint8 **bytes, gsize *count,
                                guint32 *number, GError **error);

#endif
