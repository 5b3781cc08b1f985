/*
 * A find-db whole in memory (plain or packed): its bytes as they lie in the
 * file and an index of its lines in the order of their keys. Lines are cut
 * here and taken apart by find_part_scan() when they are needed. It takes the
 * file's size and 32 bytes a line.
 */
#ifndef EXPORT_FIND_TABLE_H
#define EXPORT_FIND_TABLE_H

#include "export/formats/export_error.h"
#include "export/formats/find_scan.h"

/* Bytes and keys that a file may hold; the largest that ships has 60 MB and 193,590 keys. Both
 * together bound the memory of a table to 1.5 GiB. */
#define FIND_TABLE_BYTES_MAX (UINT64_C(1) << 30)
#define FIND_TABLE_ROWS_MAX  (1 << 24)

struct find_row {
    struct span text; /* the line without its end and without a carriage return there */
    uint32_t key_length;
    int64_t number; /* of the line, from 1 */
};

struct find_table {
    char *bytes;
    size_t size;
    GArray *rows; /* struct find_row, by key, equal ones as they stand in the file */
};

/* Told of each line that is left out: it is too long, not printable, or has no key. */
typedef void find_bad_line(void *data, int64_t number, const char *reason);

/* NULL and EXPORT_ERROR_IO or EXPORT_ERROR_DAMAGED when nothing could be read. What lies in front of
 * damage is kept, and the damage is told as a bad line. Free with find_table_free(). */
struct find_table *find_table_read(const char *path, find_bad_line *bad, void *data,
                                   GError **error);
/* The same of a file's text, which it takes over. */
struct find_table *find_table_cut(GString *text, find_bad_line *bad, void *data);
void find_table_free(struct find_table *table);
typedef struct find_table FindTable;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FindTable, find_table_free)

struct span find_row_key(const struct find_row *row);
/* What stands behind the '=': its entries. */
struct span find_row_entries(const struct find_row *row);

#endif
