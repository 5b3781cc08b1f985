/*
 * A file's bytes in order, unpacked on the way when they begin as bzip2, gzip
 * or zstd does. Several packed streams one behind the other read as one, as
 * bzcat, zcat and zstdcat read them. Memory does not grow with the file.
 *
 * A few kilobytes can be packed so that they unfold to gigabytes. A packed file
 * that unfolds to more than UNFOLDED_BYTES_FREE bytes and to more than
 * UNFOLDED_TIMES times its own size is therefore refused with
 * EXPORT_ERROR_DAMAGED; the files that MIOpen ships unfold to 6 to 30 times theirs.
 */
#ifndef EXPORT_FORMATS_BYTE_SOURCE_H
#define EXPORT_FORMATS_BYTE_SOURCE_H

#include "export/formats/export_error.h"

#include <stddef.h>

#define UNFOLDED_BYTES_FREE (UINT64_C(64) << 20)
#define UNFOLDED_TIMES      1000

/* The compression formats as help texts and messages name them. */
#define PACKINGS_READ "bzip2, gzip or zstd"

typedef struct byte_source ByteSource;

/* NULL and EXPORT_ERROR_IO if the path cannot be opened or is a folder. */
ByteSource *byte_source_open(const char *path, GError **error);
/* Reads this process's standard input. byte_source_close() does not close it. */
ByteSource *byte_source_open_stdin(GError **error);
/* Reads `length` bytes in memory, which must outlive the source. Messages name the source by
 * `name`. */
ByteSource *byte_source_open_memory(const char *name, const void *bytes, size_t length,
                                    GError **error);
void byte_source_close(ByteSource *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ByteSource, byte_source_close)

/* Returns true if the content is packed. */
bool byte_source_packed(const ByteSource *source);

/* Returns the first bytes of the file, at most 64 KiB, as they are in the file, packed or not. Only
 * allowed before the first byte_source_read(), which makes the pointer invalid. */
const char *byte_source_head(const ByteSource *source, size_t *length);

/* Reads up to size bytes into buffer. Returns false with EXPORT_ERROR_IO or EXPORT_ERROR_DAMAGED;
 * *length is 0 only at the end. */
bool byte_source_read(ByteSource *source, void *buffer, size_t size, size_t *length,
                      GError **error);

/* Begins again at the first byte. Works for plain files and bytes in memory, not for pipes. */
bool byte_source_rewind(ByteSource *source, GError **error);

/* Returns how many of the bytes read so far a checksum has confirmed: bzip2 has one for each block,
 * gzip and zstd one for each stream. All bytes of a plain file count. After damage only these bytes
 * may be used. */
uint64_t byte_source_verified(const ByteSource *source);

/* Unpacks the whole file into an open file descriptor. EXPORT_ERROR_DAMAGED if it unpacks to more
 * than `limit` bytes. */
bool byte_source_copy(ByteSource *source, int fd, uint64_t limit, GError **error);

/* Unpacks the whole file into a new temporary file and returns its path; the caller deletes the
 * file and frees the path with g_free(). NULL on failure, and then no file is left. `limit` as in
 * byte_source_copy(). */
char *byte_source_unpack(ByteSource *source, uint64_t limit, GError **error);

/* Returns the length of a file's name without ".bz2", ".gz" or another ending of packed files: 5
 * for "x.csv.bz2", and for "x.csv". */
size_t packed_name_length(const char *name);

#endif
