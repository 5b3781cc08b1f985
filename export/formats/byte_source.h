/*
 * A file's bytes in order, decompressed on the way when they begin as bzip2
 * does. Several bzip2 streams one behind the other read as one, as bzcat's do.
 */
#ifndef EXPORT_BYTE_SOURCE_H
#define EXPORT_BYTE_SOURCE_H

#include "export/formats/export_error.h"

#include <stddef.h>

typedef struct byte_source ByteSource;

/* EXPORT_ERROR_IO when it cannot be opened or is a folder. */
ByteSource *byte_source_open(const char *path, GError **error);
void byte_source_close(ByteSource *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ByteSource, byte_source_close)

/* Up to size bytes into buffer. False with EXPORT_ERROR_IO or EXPORT_ERROR_DAMAGED; *length is 0
 * only at the end. */
bool byte_source_read(ByteSource *source, void *buffer, size_t size, size_t *length,
                      GError **error);

/* How many of the bytes that were read are what was packed, as the checksums of a compressed file
 * say; all of a plain one. After damage the rest are not to be used. */
uint64_t byte_source_verified(const ByteSource *source);

/* Writes all of it to the open file descriptor. EXPORT_ERROR_DAMAGED past limit bytes: a small
 * compressed file can claim to hold anything. */
bool byte_source_copy(ByteSource *source, int fd, uint64_t limit, GError **error);

#endif
