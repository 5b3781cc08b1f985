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
#ifndef EXPORT_BYTE_SOURCE_H
#define EXPORT_BYTE_SOURCE_H

#include "export/formats/export_error.h"

#include <stddef.h>

#define UNFOLDED_BYTES_FREE (UINT64_C(64) << 20)
#define UNFOLDED_TIMES      1000

/* Help texts and messages list the ways to pack by these names. */
#define PACKINGS_READ "bzip2, gzip or zstd"

typedef struct byte_source ByteSource;

/* EXPORT_ERROR_IO when it cannot be opened or is a folder. */
ByteSource *byte_source_open(const char *path, GError **error);
/* The same of this process's standard input, which stays open. */
ByteSource *byte_source_open_stdin(GError **error);
/* The same of bytes in memory, which must outlive it; messages call them by `name`. */
ByteSource *byte_source_open_memory(const char *name, const void *bytes, size_t length,
                                    GError **error);
void byte_source_close(ByteSource *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ByteSource, byte_source_close)

/* Whether the source is packed. */
bool byte_source_packed(const ByteSource *source);

/* The first bytes of the file as they are stored there, packed or not; at most 64 KiB. Only before
 * the first byte_source_read(), and valid until then. */
const char *byte_source_head(const ByteSource *source, size_t *length);

/* Reads up to size bytes into buffer. Returns false with EXPORT_ERROR_IO or EXPORT_ERROR_DAMAGED;
 * *length is 0 only at the end. */
bool byte_source_read(ByteSource *source, void *buffer, size_t size, size_t *length,
                      GError **error);

/* Begins again at the first byte. Only for a plain file (not a pipe) or bytes in memory. */
bool byte_source_rewind(ByteSource *source, GError **error);

/* How many of the bytes that were read are known to be what was packed: bzip2 has a checksum a
 * block, gzip and zstd one a stream. All bytes of a plain file count. Behind damage only these may be used. */
uint64_t byte_source_verified(const ByteSource *source);

/* Writes all of it to the open file descriptor. EXPORT_ERROR_DAMAGED past limit bytes. */
bool byte_source_copy(ByteSource *source, int fd, uint64_t limit, GError **error);

/* Writes all of it to a new temporary file and returns its path; NULL on failure, and then no file
 * is left. The caller removes the file and frees the path with g_free(). */
char *byte_source_unpack(ByteSource *source, uint64_t limit, GError **error);

/* The length of a name without the ending that a packed file has: 5 for "x.csv.bz2". For a
 * name without such an ending it is the whole length. */
size_t packed_name_length(const char *name);

#endif
