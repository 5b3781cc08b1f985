/*
 * Keeps bytes outside of memory until a file is written, since code objects may be gigabytes. The
 * spool is a file that has no name, so the system deletes it when the process ends.
 */
#ifndef EXPORT_FORMATS_SPOOL_H
#define EXPORT_FORMATS_SPOOL_H

#include "export/formats/export_error.h"

typedef struct spool Spool;
/* `beside` is a path: the spool's file will be in the same folder. It is made when the first bytes
 * are appended. */
Spool *spool_new(const char *beside);
void spool_free(Spool *spool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Spool, spool_free)

/* Appends bytes and sets *start to their offset, right behind the bytes appended before. */
bool spool_append(Spool *spool, const void *bytes, gsize count, goffset *start, GError **error);
/* Reads `count` bytes from offset `start`; all of them must have been appended. */
bool spool_read(const Spool *spool, goffset start, void *room, gsize count, GError **error);

/* Reads the appended bytes from the first to the last. */
struct spool_reader {
    const Spool *spool;
    goffset next; /* offset in the spool of the next bytes to read */
    /* bytes that were read ahead; the first `used` of them were already returned */
    GByteArray *held;
    gsize used;
};
void spool_reader_init(struct spool_reader *reader, const Spool *spool);
void spool_reader_clear(struct spool_reader *reader);
bool spool_reader_at_end(const struct spool_reader *reader);
/* Returns the next `count` bytes, valid until the next call. All of them must have been appended.
 * */
const guint8 *spool_reader_take(struct spool_reader *reader, gsize count, GError **error);

#endif
