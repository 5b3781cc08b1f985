/*
 * A whole find-db in memory: the file's bytes, unpacked, and an index of its lines sorted by key.
 * Loading splits lines and keys only; find_part_scan() parses the entries that a caller needs.
 * Memory: the unpacked size and 32 bytes a line.
 */
#ifndef EXPORT_FORMATS_FIND_TABLE_H
#define EXPORT_FORMATS_FIND_TABLE_H

#include "export/formats/export_error.h"
#include "export/formats/find_scan.h"

/* Limits on a file: 1 GiB of text, and as many lines as keep the whole table below 1.5 GiB of
 * memory. The largest file that MIOpen ships has 60 MB and 193,590 keys. */
#define FIND_TABLE_BYTES_MAX (UINT64_C(1) << 30)
#define FIND_TABLE_ROWS_MAX  (1 << 24)

struct find_row {
    struct span text; /* the line's text, without line end or carriage return */
    uint32_t key_length;
    int64_t number; /* the line's number in the file, from 1 */
};

struct find_table {
    char *bytes;
    size_t size;
    GArray *rows; /* struct find_row, sorted by key; equal keys in the order of the file */
};

/* Called for each line that the table leaves out: the line is too long, not printable ASCII, or has
 * no key. */
typedef void find_bad_line(void *data, int64_t number, const char *reason);

/* Loads a file. Lines in front of damage are kept, and `bad` is called once more with the damage.
 * NULL with EXPORT_ERROR_IO, EXPORT_ERROR_DAMAGED or EXPORT_ERROR_KIND if nothing could be read or
 * a limit is exceeded. Free with find_table_free(). */
struct find_table *find_table_read(const char *path, find_bad_line *bad, void *data,
                                   GError **error);
/* The same for the text of a find-db in memory. The table takes `text` over. */
struct find_table *find_table_cut(GString *text, find_bad_line *bad, void *data);
void find_table_free(struct find_table *table);
typedef struct find_table FindTable;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FindTable, find_table_free)

struct span find_row_key(const struct find_row *row);
/* Returns the row's entries: the text behind the first '=', for find_part_scan(). */
struct span find_row_entries(const struct find_row *row);

#endif
