#include "export/formats/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* Small appends and reads are combined into pieces of this many bytes. */
#define WAIT_BYTES (64 * 1024)

struct spool {
    char *beside;
    int fd; /* -1 until something is written */
    goffset end;
    GByteArray *waiting; /* the bytes that were appended last and are not yet in the file */
};

Spool *spool_new(const char *beside)
{
    Spool *spool = g_new0(Spool, 1);
    spool->beside = g_strdup(beside);
    spool->fd = -1;
    spool->waiting = g_byte_array_new();
    return spool;
}

void spool_free(Spool *spool)
{
    if (spool->fd >= 0) {
        close(spool->fd);
    }
    g_byte_array_unref(spool->waiting);
    g_free(spool->beside);
    g_free(spool);
}

static bool failed(const Spool *spool, const char *what, int reason, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot %s a temporary file beside '%s': %s",
                what, spool->beside, g_strerror(reason));
    return false;
}

static bool open_spool(Spool *spool, GError **error)
{
    g_autofree char *name = g_strdup_printf("%s.spool-XXXXXX", spool->beside);
    spool->fd = g_mkstemp_full(name, O_RDWR | O_CLOEXEC, 0600);
    if (spool->fd < 0) {
        return failed(spool, "make", errno, error);
    }
    g_unlink(name);
    return true;
}

static bool write_at(Spool *spool, const void *bytes, gsize count, goffset end, GError **error)
{
    const char *at = bytes;
    if (count > 0 && spool->fd < 0 && !open_spool(spool, error)) {
        return false;
    }
    while (count > 0) {
        gssize written = pwrite(spool->fd, at, count, end);
        if (written < 0 && errno != EINTR) {
            return failed(spool, "write", errno, error);
        }
        gsize step = (gsize)MAX(written, 0);
        at += step;
        end += (goffset)step;
        count -= step;
    }
    return true;
}

bool spool_append(Spool *spool, const void *bytes, gsize count, goffset *start, GError **error)
{
    if (spool->waiting->len + count > WAIT_BYTES) {
        if (!write_at(spool, spool->waiting->data, spool->waiting->len,
                      spool->end - (goffset)spool->waiting->len, error)) {
            return false;
        }
        g_byte_array_set_size(spool->waiting, 0);
    }
    if (count > WAIT_BYTES) {
        if (!write_at(spool, bytes, count, spool->end, error)) {
            return false;
        }
    } else if (count > 0) {
        g_byte_array_append(spool->waiting, bytes, (guint)count);
    }
    *start = spool->end;
    spool->end += (goffset)count;
    return true;
}

bool spool_read(const Spool *spool, goffset start, void *room, gsize count, GError **error)
{
    char *at = room;
    goffset written = spool->end - (goffset)spool->waiting->len;
    g_assert(start <= spool->end && (goffset)count <= spool->end - start);
    if (start + (goffset)count > written) {
        goffset begin = MAX(start, written);
        gsize waiting = (gsize)(start + (goffset)count - begin);
        memcpy(at + (begin - start), spool->waiting->data + (begin - written), waiting);
        count -= waiting;
    }
    while (count > 0) {
        gssize got = pread(spool->fd, at, count, start);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return failed(spool, "read", got == 0 ? EIO : errno, error);
        }
        gsize step = (gsize)MAX(got, 0);
        at += step;
        start += (goffset)step;
        count -= step;
    }
    return true;
}

void spool_reader_init(struct spool_reader *reader, const Spool *spool)
{
    *reader = (struct spool_reader){.spool = spool, .held = g_byte_array_new()};
}

void spool_reader_clear(struct spool_reader *reader)
{
    g_clear_pointer(&reader->held, g_byte_array_unref);
}

bool spool_reader_at_end(const struct spool_reader *reader)
{
    return reader->used == reader->held->len && reader->next == reader->spool->end;
}

const guint8 *spool_reader_take(struct spool_reader *reader, gsize count, GError **error)
{
    GByteArray *held = reader->held;
    if (held->len - reader->used < count) {
        g_byte_array_remove_range(held, 0, (guint)reader->used);
        reader->used = 0;
        guint old = held->len;
        gsize left = (gsize)(reader->spool->end - reader->next);
        gsize more = MIN(left, MAX(count - old, WAIT_BYTES));
        g_assert(old + more >= count);
        g_byte_array_set_size(held, old + (guint)more);
        if (!spool_read(reader->spool, reader->next, held->data + old, more, error)) {
            return NULL;
        }
        reader->next += (goffset)more;
    }
    reader->used += count;
    return held->data + (reader->used - count);
}
