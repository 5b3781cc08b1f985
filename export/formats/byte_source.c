#include "export/formats/byte_source.h"

#include <bzlib.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_BYTES 65536

struct byte_source {
    FILE *file;
    char *path;
    bool compressed, in_stream;
    uint64_t given, verified; /* bytes */
    bz_stream stream;
    char input[INPUT_BYTES];
};

static bool fill(ByteSource *source, GError **error)
{
    size_t got = fread(source->input, 1, sizeof source->input, source->file);
    if (got == 0 && ferror(source->file)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot read '%s': %s", source->path,
                    g_strerror(errno));
        return false;
    }
    source->stream.next_in = source->input;
    source->stream.avail_in = (unsigned)got;
    return true;
}

static bool looks_compressed(const ByteSource *source)
{
    return source->stream.avail_in >= 4 && memcmp(source->input, "BZh", 3) == 0 &&
           source->input[3] >= '1' && source->input[3] <= '9';
}

static FILE *open_plain(const char *path, GError **error)
{
    FILE *file = fopen(path, "rbe");
    struct stat status;
    if (file == NULL || fstat(fileno(file), &status) != 0 || S_ISDIR(status.st_mode)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot open '%s': %s", path,
                    g_strerror(file == NULL ? errno : EISDIR));
        if (file != NULL) {
            fclose(file);
        }
        return NULL;
    }
    return file;
}

ByteSource *byte_source_open(const char *path, GError **error)
{
    FILE *file = open_plain(path, error);
    if (file == NULL) {
        return NULL;
    }
    ByteSource *source = g_new0(ByteSource, 1);
    source->file = file;
    source->path = g_strdup(path);
    if (!fill(source, error)) {
        byte_source_close(source);
        return NULL;
    }
    source->compressed = looks_compressed(source);
    return source;
}

void byte_source_close(ByteSource *source)
{
    if (source == NULL) {
        return;
    }
    if (source->in_stream) {
        BZ2_bzDecompressEnd(&source->stream);
    }
    fclose(source->file);
    g_free(source->path);
    g_free(source);
}

static bool read_plain(ByteSource *source, void *buffer, size_t size, size_t *length,
                       GError **error)
{
    if (source->stream.avail_in == 0 && !fill(source, error)) {
        return false;
    }
    *length = MIN(size, source->stream.avail_in);
    memcpy(buffer, source->stream.next_in, *length);
    source->stream.next_in += *length;
    source->stream.avail_in -= (unsigned)*length;
    source->given += *length;
    source->verified = source->given;
    return true;
}

static bool damaged(const ByteSource *source, const char *what, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED,
                "cannot decompress '%s': %s near byte %ld of the file", source->path, what,
                ftell(source->file) - (long)source->stream.avail_in);
    return false;
}

/* Between two streams: begins the next one. *ended when there is none. */
static bool begin_stream(ByteSource *source, bool *ended, GError **error)
{
    if (source->stream.avail_in == 0 && !fill(source, error)) {
        return false;
    }
    *ended = source->stream.avail_in == 0;
    if (*ended) {
        return true;
    }
    if (source->stream.next_in[0] != 'B') {
        return damaged(source, "bytes that are not bzip2 follow", error);
    }
    if (BZ2_bzDecompressInit(&source->stream, 0, 0) != BZ_OK) {
        return damaged(source, "bzip2 cannot start", error);
    }
    source->in_stream = true;
    return true;
}

/* One step of decompression; *length may stay 0 though more follows. */
static bool decompress_some(ByteSource *source, GError **error)
{
    if (source->stream.avail_in == 0) {
        if (!fill(source, error)) {
            return false;
        }
        if (source->stream.avail_in == 0) {
            return damaged(source, "the bzip2 data is cut off", error);
        }
    }
    int status = BZ2_bzDecompress(&source->stream);
    if (status == BZ_STREAM_END) {
        BZ2_bzDecompressEnd(&source->stream);
        source->in_stream = false;
    } else if (status != BZ_OK) {
        return damaged(source, "the bzip2 data is damaged", error);
    }
    return true;
}

/* A block's checksum is compared behind its last byte: when more input is wanted, all blocks that
 * were begun are verified. */
static void count_given(ByteSource *source, size_t length)
{
    source->given += length;
    if (source->stream.avail_out > 0 || !source->in_stream) {
        source->verified = source->given;
    }
}

bool byte_source_read(ByteSource *source, void *buffer, size_t size, size_t *length, GError **error)
{
    size = MIN(size, G_MAXUINT32);
    *length = 0;
    if (!source->compressed) {
        return read_plain(source, buffer, size, length, error);
    }
    while (*length == 0) {
        bool ended = false;
        if (!source->in_stream && !begin_stream(source, &ended, error)) {
            return false;
        }
        if (ended) {
            return true;
        }
        source->stream.next_out = buffer;
        source->stream.avail_out = (unsigned)size;
        if (!decompress_some(source, error)) {
            return false;
        }
        *length = size - source->stream.avail_out;
        count_given(source, *length);
    }
    return true;
}

uint64_t byte_source_verified(const ByteSource *source)
{
    return source->verified;
}

static bool write_all(int fd, const char *bytes, size_t length, GError **error)
{
    while (length > 0) {
        ssize_t wrote = write(fd, bytes, length);
        if (wrote < 0 && errno != EINTR) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot write a temporary file: %s",
                        g_strerror(errno));
            return false;
        }
        if (wrote > 0) {
            bytes += wrote;
            length -= (size_t)wrote;
        }
    }
    return true;
}

bool byte_source_copy(ByteSource *source, int fd, uint64_t limit, GError **error)
{
    char buffer[INPUT_BYTES];
    uint64_t total = 0;
    size_t length = 0;
    do {
        if (!byte_source_read(source, buffer, sizeof buffer, &length, error) ||
            !write_all(fd, buffer, length, error)) {
            return false;
        }
        total += length;
        if (total > limit) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED,
                        "'%s' decompresses to more than %" G_GUINT64_FORMAT " bytes", source->path,
                        limit);
            return false;
        }
    } while (length > 0);
    return true;
}
