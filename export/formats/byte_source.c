#include "export/formats/byte_source.h"

#include <bzlib.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define INPUT_BYTES 65536

/* A buffer that is being filled with unpacked bytes: `used` of its `size` bytes are filled. */
struct room {
    char *bytes;
    size_t size, used;
};

enum unpack_step {
    UNPACK_MORE,       /* the input is used up, or the room is full */
    UNPACK_STREAM_END, /* the stream ended and its checksum is right */
    UNPACK_DAMAGED,
};

/* A compression format that byte_source_open() recognises. */
struct packing {
    const char *name, *ending;
    /* characters: a packed stream begins with one of them (a cheap test before begins()) */
    const char *leads;
    bool (*begins)(const char *bytes, size_t length);
    bool (*start)(ByteSource *source);
    /* Unpacks from source->at[0 .. left) into the room and advances `at` and `left`. */
    enum unpack_step (*step)(ByteSource *source, struct room *room);
    void (*stop)(ByteSource *source);
    /* true if each block has a checksum (bzip2); false if only each stream has one (gzip, zstd) */
    bool checks_blocks;
};

struct byte_source {
    FILE *file;
    char *path;
    const struct packing *packing; /* the file's compression; NULL if it is not packed */
    bool in_stream;
    uint64_t taken, given,
        /* byte counts: taken, read from the file; given, unpacked and returned; verified, of
         * these, confirmed by a checksum */
        verified;
    union {
        bz_stream bzip2;
        z_stream gzip;
        ZSTD_DStream *zstd;
    } state;
    char *at; /* packed bytes that were read and not yet unpacked: at[0 .. left) */
    size_t left;
    char input[INPUT_BYTES];
};

/* ---- compression formats ---- */

static bool starts_with(const char *bytes, size_t length, const char *magic, size_t magic_length)
{
    return length >= magic_length && memcmp(bytes, magic, magic_length) == 0;
}

static bool bzip2_begins(const char *bytes, size_t length)
{
    return length >= 4 && starts_with(bytes, length, "BZh", 3) && bytes[3] >= '1' &&
           bytes[3] <= '9';
}

static bool bzip2_start(ByteSource *source)
{
    source->state.bzip2 = (bz_stream){0};
    return BZ2_bzDecompressInit(&source->state.bzip2, 0, 0) == BZ_OK;
}

static enum unpack_step bzip2_step(ByteSource *source, struct room *room)
{
    bz_stream *stream = &source->state.bzip2;
    size_t space = MIN(room->size - room->used, G_MAXUINT32);
    stream->next_in = source->at;
    stream->avail_in = (unsigned)source->left;
    stream->next_out = room->bytes + room->used;
    stream->avail_out = (unsigned)space;
    int status = BZ2_bzDecompress(stream);
    source->at = stream->next_in;
    source->left = stream->avail_in;
    room->used += space - stream->avail_out;
    return status == BZ_STREAM_END ? UNPACK_STREAM_END
           : status == BZ_OK       ? UNPACK_MORE
                                   : UNPACK_DAMAGED;
}

static void bzip2_stop(ByteSource *source)
{
    BZ2_bzDecompressEnd(&source->state.bzip2);
}

static bool gzip_begins(const char *bytes, size_t length)
{
    return starts_with(bytes, length, "\x1f\x8b\x08", 3);
}

static bool gzip_start(ByteSource *source)
{
    source->state.gzip = (z_stream){0};
    return inflateInit2(&source->state.gzip, 16 + MAX_WBITS) ==
           Z_OK; /* adding 16 makes zlib expect a gzip header */
}

static enum unpack_step gzip_step(ByteSource *source, struct room *room)
{
    z_stream *stream = &source->state.gzip;
    size_t space = MIN(room->size - room->used, G_MAXUINT32);
    stream->next_in = (Bytef *)source->at;
    stream->avail_in = (unsigned)source->left;
    stream->next_out = (Bytef *)room->bytes + room->used;
    stream->avail_out = (unsigned)space;
    int status = inflate(stream, Z_NO_FLUSH);
    source->at = (char *)stream->next_in;
    source->left = stream->avail_in;
    room->used += space - stream->avail_out;
    return status == Z_STREAM_END                    ? UNPACK_STREAM_END
           : status == Z_OK || status == Z_BUF_ERROR ? UNPACK_MORE
                                                     : UNPACK_DAMAGED;
}

static void gzip_stop(ByteSource *source)
{
    inflateEnd(&source->state.gzip);
}

/* A zstd frame, or a skippable frame, which parallel compressors put in front (RFC 8878, 3.1). */
static bool zstd_begins(const char *bytes, size_t length)
{
    return starts_with(bytes, length, "\x28\xb5\x2f\xfd", 4) ||
           (length >= 4 && ((unsigned char)bytes[0] & 0xf0) == 0x50 &&
            starts_with(bytes + 1, length - 1, "\x2a\x4d\x18", 3));
}

static bool zstd_start(ByteSource *source)
{
    source->state.zstd = ZSTD_createDStream();
    return source->state.zstd != NULL && !ZSTD_isError(ZSTD_initDStream(source->state.zstd));
}

static enum unpack_step zstd_step(ByteSource *source, struct room *room)
{
    ZSTD_inBuffer in = {source->at, source->left, 0};
    ZSTD_outBuffer out = {room->bytes, room->size, room->used};
    size_t status = ZSTD_decompressStream(source->state.zstd, &out, &in);
    source->at += in.pos;
    source->left -= in.pos;
    room->used = out.pos;
    return ZSTD_isError(status) ? UNPACK_DAMAGED : status == 0 ? UNPACK_STREAM_END : UNPACK_MORE;
}

static void zstd_stop(ByteSource *source)
{
    ZSTD_freeDStream(source->state.zstd);
}

static const struct packing packings[] = {
    {"bzip2", ".bz2", "B", bzip2_begins, bzip2_start, bzip2_step, bzip2_stop, true},
    {"gzip", ".gz", "\x1f", gzip_begins, gzip_start, gzip_step, gzip_stop, false},
    {"zstd", ".zst", "\x28PQRSTUVWXYZ[\\]^_", zstd_begins, zstd_start, zstd_step, zstd_stop, false},
};

static const struct packing *find_packing(const char *bytes, size_t length)
{
    for (size_t i = 0; i < G_N_ELEMENTS(packings); i++) {
        if (packings[i].begins(bytes, length)) {
            return &packings[i];
        }
    }
    return NULL;
}

size_t packed_name_length(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(packings); i++) {
        if (g_str_has_suffix(name, packings[i].ending)) {
            return strlen(name) - strlen(packings[i].ending);
        }
    }
    return strlen(name);
}

/* ---- reading ---- */

static bool fill(ByteSource *source, GError **error)
{
    size_t got = fread(source->input, 1, sizeof source->input, source->file);
    if (got == 0 && ferror(source->file)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot read '%s': %s", source->path,
                    g_strerror(errno));
        return false;
    }
    source->at = source->input;
    source->left = got;
    source->taken += got;
    return true;
}

/* Takes the file over; NULL means that it could not be opened, and errno says why. */
static ByteSource *open_stream(FILE *file, const char *path, GError **error)
{
    struct stat status;
    bool folder = file != NULL && fileno(file) >= 0 && fstat(fileno(file), &status) == 0 &&
                  S_ISDIR(status.st_mode);
    if (file == NULL || folder) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot open '%s': %s", path,
                    g_strerror(file == NULL ? errno : EISDIR));
        if (file != NULL) {
            fclose(file);
        }
        return NULL;
    }
    ByteSource *source = g_new0(ByteSource, 1);
    source->file = file;
    source->path = g_strdup(path);
    if (!fill(source, error)) {
        byte_source_close(source);
        return NULL;
    }
    source->packing = find_packing(source->at, source->left);
    return source;
}

ByteSource *byte_source_open(const char *path, GError **error)
{
    return open_stream(fopen(path, "rbe"), path, error);
}

ByteSource *byte_source_open_stdin(GError **error)
{
    int copy = dup(STDIN_FILENO);
    FILE *file = copy >= 0 ? fdopen(copy, "rbe") : NULL;
    if (file == NULL && copy >= 0) {
        close(copy);
    }
    return open_stream(file, "standard input", error);
}

ByteSource *byte_source_open_memory(const char *name, const void *bytes, size_t length,
                                    GError **error)
{
    return open_stream(fmemopen((void *)bytes, length, "rb"), name, error);
}

void byte_source_close(ByteSource *source)
{
    if (source == NULL) {
        return;
    }
    if (source->in_stream) {
        source->packing->stop(source);
    }
    fclose(source->file);
    g_free(source->path);
    g_free(source);
}

bool byte_source_packed(const ByteSource *source)
{
    return source->packing != NULL;
}

const char *byte_source_head(const ByteSource *source, size_t *length)
{
    g_assert(source->given == 0);
    *length = source->left;
    return source->at;
}

static bool read_plain(ByteSource *source, struct room *room, GError **error)
{
    if (source->left == 0 && !fill(source, error)) {
        return false;
    }
    room->used = MIN(room->size, source->left);
    memcpy(room->bytes, source->at, room->used);
    source->at += room->used;
    source->left -= room->used;
    source->given += room->used;
    source->verified = source->given;
    return true;
}

static bool damaged(const ByteSource *source, const char *what, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED,
                "cannot decompress '%s': %s (%s, near byte %" G_GUINT64_FORMAT "), fetch it again",
                source->path, what, source->packing->name, source->taken - source->left);
    return false;
}

/* Called between two packed streams: begins the next one, or sets *ended after the last one. */
static bool begin_stream(ByteSource *source, bool *ended, GError **error)
{
    if (source->left == 0 && !fill(source, error)) {
        return false;
    }
    *ended = source->left == 0;
    if (*ended) {
        return true;
    }
    if (strchr(source->packing->leads, *source->at) == NULL || *source->at == '\0') {
        return damaged(source, "other bytes follow the packed data", error);
    }
    if (!source->packing->start(source)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO,
                    "cannot decompress '%s': %s cannot start: memory is short", source->path,
                    source->packing->name);
        return false;
    }
    source->in_stream = true;
    return true;
}

/* Unpacks a piece of the input into the room. May add no byte although the file goes on. */
static bool unpack_some(ByteSource *source, struct room *room, GError **error)
{
    size_t before = room->used;
    if (source->left == 0) {
        if (!fill(source, error)) {
            return false;
        }
        if (source->left == 0) {
            return damaged(source, "the packed data is cut off", error);
        }
    }
    enum unpack_step step = source->packing->step(source, room);
    if (step == UNPACK_DAMAGED) {
        return damaged(source, "the packed data is damaged", error);
    }
    if (step == UNPACK_STREAM_END) {
        source->packing->stop(source);
        source->in_stream = false;
    }
    source->given += room->used - before;
    /* bzip2 compares a block's checksum after its last byte. When it asks for more input, all
     * blocks that it has begun are therefore confirmed. */
    bool wants_input = source->packing->checks_blocks && room->used < room->size;
    if (wants_input || !source->in_stream) {
        source->verified = source->given;
    }
    return true;
}

static bool check_unfolded(const ByteSource *source, GError **error)
{
    if (source->given <= UNFOLDED_BYTES_FREE || source->given / UNFOLDED_TIMES <= source->taken) {
        return true;
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED,
                "'%s' unfolds to more than %d times its size: if it is meant to, unpack it first",
                source->path, UNFOLDED_TIMES);
    return false;
}

bool byte_source_read(ByteSource *source, void *buffer, size_t size, size_t *length, GError **error)
{
    struct room room = {.bytes = buffer, .size = size};
    bool ended = false, read = true;
    if (source->packing == NULL) {
        read = read_plain(source, &room, error);
    }
    while (source->packing != NULL && read && !ended && room.used == 0) {
        read = (source->in_stream || begin_stream(source, &ended, error)) &&
               (ended || unpack_some(source, &room, error)) && check_unfolded(source, error);
    }
    *length = read ? room.used : 0;
    return read;
}

bool byte_source_rewind(ByteSource *source, GError **error)
{
    g_assert(source->packing == NULL);
    source->taken = source->given = source->verified = 0;
    if (fseek(source->file, 0, SEEK_SET) != 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot read '%s' again: %s",
                    source->path, g_strerror(errno));
        return false;
    }
    return fill(source, error);
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
                        "'%s' holds more than %" G_GUINT64_FORMAT " bytes", source->path, limit);
            return false;
        }
    } while (length > 0);
    return true;
}

char *byte_source_unpack(ByteSource *source, uint64_t limit, GError **error)
{
    char *copy = NULL;
    int fd = g_file_open_tmp("skipjack-XXXXXX", &copy, error);
    if (fd < 0) {
        return NULL;
    }
    bool copied = byte_source_copy(source, fd, limit, error);
    close(fd);
    if (!copied) {
        g_unlink(copy);
        g_clear_pointer(&copy, g_free);
    }
    return copy;
}
