/*
 * Bytes that wait for their place in a file outside of memory: gigabytes of code objects on their way
 * into a database. They lie in a file without a name beside that database, which is gone with its
 * process.
 */
#ifndef EXPORT_SPOOL_H
#define EXPORT_SPOOL_H

#include "export/formats/export_error.h"

typedef struct spool Spool;
/* In the folder of the path that is to be written. The file is made when something is appended. */
Spool *spool_new(const char *beside);
void spool_free(Spool *spool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Spool, spool_free)

/* *start becomes where the bytes lie: right behind those appended last. */
bool spool_append(Spool *spool, const void *bytes, gsize count, goffset *start, GError **error);
/* count bytes from start on, which were appended. */
bool spool_read(const Spool *spool, goffset start, void *room, gsize count, GError **error);

/* Goes through what was appended, from the begin to its end. */
struct spool_reader {
    const Spool *spool;
    goffset next;     /* of the spool */
    GByteArray *held; /* what was read ahead; the first `used` bytes were taken */
    gsize used;
};
void spool_reader_init(struct spool_reader *reader, const Spool *spool);
void spool_reader_clear(struct spool_reader *reader);
bool spool_reader_at_end(const struct spool_reader *reader);
/* The next count bytes, valid until the next call. All of them were appended. */
const guint8 *spool_reader_take(struct spool_reader *reader, gsize count, GError **error);

#endif
