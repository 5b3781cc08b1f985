#include "export/formats/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

struct spool {
    char *beside;
    int fd; /* -1 until something is appended */
    goffset end;
};

Spool *spool_new(const char *beside)
{
    Spool *spool = g_new0(Spool, 1);
    spool->beside = g_strdup(beside);
    spool->fd = -1;
    return spool;
}

void spool_free(Spool *spool)
{
    if (spool->fd >= 0) {
        close(spool->fd);
    }
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

bool spool_append(Spool *spool, const void *bytes, gsize count, goffset *start, GError **error)
{
    const char *at = bytes;
    goffset end = spool->end;
    if (spool->fd < 0 && !open_spool(spool, error)) {
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
    *start = spool->end;
    spool->end = end;
    return true;
}

bool spool_read(const Spool *spool, goffset start, void *room, gsize count, GError **error)
{
    char *at = room;
    g_assert(start <= spool->end && (goffset)count <= spool->end - start);
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
