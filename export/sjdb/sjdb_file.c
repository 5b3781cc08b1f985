#include "export/sjdb/sjdb_file.h"

#include "export/sjdb/reader/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A section of the file: its row in the table of sections, and where its bytes wait in the
 * spool. */
struct section {
    uint32_t kind, width;
    /* length: bytes in the file, with the zeros behind the items */
    uint64_t count, length, checksum;
    const Spool *spool;
    goffset start;
    uint64_t bytes; /* bytes in the spool, without the zeros behind the items */
};

struct sjdb_file {
    GArray *sections; /* struct section */
    Spool *spool;
    char *path;
    GError *error; /* the first error of the spool, reported by sjdb_file_write() */
};

/* Bytes that are in memory at a time. A multiple of 8, so that a checksum over whole words can be
 * continued. */
#define CHUNK_BYTES (256 * 1024)
#define CHUNK_WORDS 4096
static const uint8_t zeros[SJDB_PAD_BYTES + SJDB_ALIGN_BYTES];

SjdbFile *sjdb_file_new(const char *path)
{
    SjdbFile *file = g_new0(SjdbFile, 1);
    file->sections = g_array_new(FALSE, FALSE, sizeof(struct section));
    file->spool = spool_new(path);
    file->path = g_strdup(path);
    return file;
}

void sjdb_file_free(SjdbFile *file)
{
    g_array_unref(file->sections);
    spool_free(file->spool);
    g_clear_error(&file->error);
    g_free(file->path);
    g_free(file);
}

/* Appends bytes to the spool and returns their offset. */
static goffset keep(SjdbFile *file, const void *bytes, gsize count)
{
    goffset start = 0;
    if (file->error == NULL && count > 0) {
        (void)spool_append(file->spool, bytes, count, &start, &file->error);
    }
    return start;
}

void sjdb_bits_init(struct sjdb_bits *bits, SjdbFile *file)
{
    memset(bits, 0, sizeof *bits);
    bits->file = file;
    bits->words = g_array_new(FALSE, TRUE, sizeof(uint64_t));
    bits->checksum = SJDB_CHECK_SEED;
}

void sjdb_bits_clear(struct sjdb_bits *bits)
{
    g_clear_pointer(&bits->words, g_array_unref);
    bits->count = 0;
}

/* Makes the words little-endian, appends their first `count` bytes to the spool and continues the
 * checksum over the whole words among these. The words stay in memory. */
static void spool_words(struct sjdb_bits *bits, gsize count)
{
    uint64_t *words = (uint64_t *)(void *)bits->words->data;
    if (count == 0) {
        return;
    }
    for (guint i = 0; i < bits->words->len; i++) {
        words[i] = GUINT64_TO_LE(words[i]);
    }
    goffset start = keep(bits->file, words, count);
    if (bits->spooled_bytes == 0) {
        bits->start = start;
    }
    g_assert(bits->file->error != NULL || start == bits->start + (goffset)bits->spooled_bytes);
    bits->spooled_bytes += count;
    bits->checksum = sjdb_checksum_words(words, count, bits->checksum);
}

unsigned sjdb_bits_for(uint64_t max)
{
    return max == 0 ? 0 : 64 - (unsigned)__builtin_clzll(max);
}

void sjdb_bits_append(struct sjdb_bits *bits, uint64_t value, unsigned width)
{
    unsigned shift = bits->count & 63;
    g_assert(width == 64 || value >> width == 0);
    if (width == 0) {
        return;
    }
    if (shift == 0) {
        /* There may be more words than CHUNK_WORDS, since a number may begin in the last word and
         * end in the next one. */
        if (bits->words->len >= CHUNK_WORDS) {
            spool_words(bits, bits->words->len * sizeof(uint64_t));
            g_array_set_size(bits->words, 0);
        }
        g_array_append_val(bits->words, value);
    } else {
        g_array_index(bits->words, uint64_t, bits->words->len - 1) |= value << shift;
        if (shift + width > 64) {
            uint64_t rest = value >> (64 - shift);
            g_array_append_val(bits->words, rest);
        }
    }
    bits->count += width;
}

/* Returns how many zeros follow a section's items. Readers load whole words, which may reach into
 * the zeros, and the next section begins at a multiple of 8 bytes. */
static gsize padding_of(gsize length)
{
    return SJDB_PAD_BYTES + (SJDB_ALIGN_BYTES - length % SJDB_ALIGN_BYTES);
}

/* Adds a section whose bytes are in the spool. `checksum` covers its whole words; `rest` has the
 * bytes behind the last whole word. */
static void add_section(SjdbFile *file, struct section *section, const void *rest,
                        uint64_t checksum)
{
    guint8 last[SJDB_ALIGN_BYTES + sizeof zeros] = {0};
    gsize rest_bytes = (gsize)(section->bytes % SJDB_ALIGN_BYTES);
    gsize padding = padding_of((gsize)section->bytes);
    if (rest_bytes > 0) {
        memcpy(last, rest, rest_bytes);
    }
    section->spool = file->spool;
    section->length = section->bytes + padding;
    section->checksum = sjdb_checksum(last, rest_bytes + padding, checksum);
    g_array_append_val(file->sections, *section);
}

void sjdb_bits_end(struct sjdb_bits *bits)
{
    if (!bits->is_ended) {
        gsize left = (gsize)((bits->count + 7) / 8 - bits->spooled_bytes);
        spool_words(bits, left);
        gsize rest = left % sizeof bits->rest;
        if (rest > 0) {
            memcpy(bits->rest, bits->words->data + (left - rest), rest);
        }
        bits->is_ended = true;
    }
}

void sjdb_file_add_bits(SjdbFile *file, uint32_t kind, struct sjdb_bits *bits, unsigned width,
                        uint64_t count)
{
    g_assert(bits->file == file);
    sjdb_bits_end(bits);
    struct section section = {.kind = kind,
                              .width = width,
                              .count = count,
                              .bytes = bits->spooled_bytes,
                              .start = bits->start};
    add_section(file, &section, bits->rest, bits->checksum);
}

void sjdb_file_add(SjdbFile *file, uint32_t kind, const uint64_t *items, gsize count)
{
    struct sjdb_bits bits;
    uint64_t all = 1; /* items have at least 1 bit, since the format refuses items of 0 bits */
    sjdb_bits_init(&bits, file);
    for (gsize i = 0; i < count; i++) {
        all |= items[i];
    }
    for (gsize i = 0; i < count; i++) {
        sjdb_bits_append(&bits, items[i], sjdb_bits_for(all));
    }
    sjdb_file_add_bits(file, kind, &bits, sjdb_bits_for(all), count);
    sjdb_bits_clear(&bits);
}

void sjdb_file_add_array(SjdbFile *file, uint32_t kind, const GArray *items)
{
    sjdb_file_add(file, kind, (const uint64_t *)(const void *)items->data, items->len);
}

void sjdb_file_add_bytes(SjdbFile *file, uint32_t kind, const void *bytes, gsize count)
{
    struct section section = {.kind = kind, .width = 8, .count = count, .bytes = count};
    section.start = keep(file, bytes, count);
    add_section(file, &section, (const guint8 *)bytes + (count - count % SJDB_ALIGN_BYTES),
                sjdb_checksum_words(bytes, count, SJDB_CHECK_SEED));
}

/* Reads a section's next bytes from the spool; the zeros follow behind the last ones. Returns how
 * many bytes were read. */
static gsize read_chunk(const struct section *section, uint64_t done, guint8 *room, GError **error)
{
    gsize items = MIN(section->bytes - done, CHUNK_BYTES);
    if (!spool_read(section->spool, section->start + (goffset)done, room, items, error)) {
        return 0;
    }
    gsize padding = done + items < section->bytes ? 0 : (gsize)(section->length - section->bytes);
    memcpy(room + items, zeros, padding);
    return items + padding;
}

bool sjdb_file_add_spooled(SjdbFile *file, uint32_t kind, const Spool *spool, goffset start,
                           gsize count, GError **error)
{
    g_autofree guint8 *room = g_malloc(CHUNK_BYTES + sizeof zeros);
    struct section section = {
        .kind = kind, .width = 8, .count = count, .spool = spool, .bytes = count};
    uint64_t hash = SJDB_CHECK_SEED;
    section.start = start;
    section.length = count + padding_of(count);
    for (uint64_t done = 0; done < section.length;) {
        gsize bytes = read_chunk(&section, done, room, error);
        if (bytes == 0) {
            return false;
        }
        hash = sjdb_checksum_words(room, bytes, hash);
        done += bytes;
    }
    section.checksum = sjdb_checksum("", 0, hash);
    g_array_append_val(file->sections, section);
    return true;
}

static void append_number(GByteArray *bytes, uint64_t value, guint size)
{
    uint64_t little = GUINT64_TO_LE(value);
    g_byte_array_append(bytes, (const guint8 *)&little, size);
}

/* Returns the file's header and table of sections. Offsets in them count from the beginning of the
 * file. */
static GByteArray *make_head(const SjdbFile *file)
{
    GByteArray *head = g_byte_array_new();
    g_autoptr(GByteArray) table = g_byte_array_new();
    uint64_t offset = SJDB_HEADER_BYTES + (uint64_t)file->sections->len * SJDB_SECTION_BYTES;
    for (guint i = 0; i < file->sections->len; i++) {
        const struct section *section = &g_array_index(file->sections, struct section, i);
        append_number(table, section->kind, 4);
        append_number(table, section->width, 4);
        append_number(table, offset, 8);
        append_number(table, section->count, 8);
        append_number(table, section->length, 8);
        append_number(table, section->checksum, 8);
        offset += section->length;
    }
    g_byte_array_append(head, (const guint8 *)SJDB_MAGIC, SJDB_MAGIC_BYTES);
    append_number(head, SJDB_MAJOR, 2);
    append_number(head, SJDB_MINOR, 2);
    append_number(head, file->sections->len, 4);
    append_number(head, offset, 8);
    uint64_t checksum = sjdb_checksum(head->data, head->len, SJDB_CHECK_SEED);
    append_number(head, sjdb_checksum(table->data, table->len, checksum), 8);
    g_byte_array_append(head, table->data, table->len);
    return head;
}

static bool failed(const char *path, int reason, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot write '%s': %s", path,
                g_strerror(reason));
    return false;
}

static bool put(FILE *to, const char *path, const void *bytes, gsize count, GError **error)
{
    return fwrite(bytes, 1, count, to) == count || failed(path, errno, error);
}

static bool put_section(FILE *to, const char *path, const struct section *section, GError **error)
{
    g_autofree guint8 *room = g_malloc(CHUNK_BYTES + sizeof zeros);
    for (uint64_t done = 0; done < section->length;) {
        gsize bytes = read_chunk(section, done, room, error);
        if (bytes == 0 || !put(to, path, room, bytes, error)) {
            return false;
        }
        done += bytes;
    }
    return true;
}

static bool put_all(FILE *to, const char *path, const SjdbFile *file, GError **error)
{
    g_autoptr(GByteArray) head = make_head(file);
    bool done = put(to, path, head->data, head->len, error);
    for (guint i = 0; done && i < file->sections->len; i++) {
        done = put_section(to, path, &g_array_index(file->sections, struct section, i), error);
    }
    /* The bytes are on disk before the file gets its name, so a crash cannot leave a name without
     * the bytes. */
    return done && ((fflush(to) == 0 && fsync(fileno(to)) == 0) || failed(path, errno, error));
}

bool sjdb_file_write(const SjdbFile *file, GError **error)
{
    const char *path = file->path;
    if (file->error != NULL) {
        g_propagate_error(error, g_error_copy(file->error));
        return false;
    }
    g_autofree char *beside = g_strdup_printf("%s.XXXXXX", path);
    int fd = g_mkstemp_full(beside, O_WRONLY | O_CLOEXEC, 0666);
    FILE *to = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (to == NULL) {
        return failed(path, errno, error);
    }
    bool done = put_all(to, path, file, error);
    done = (fclose(to) == 0 || !done || failed(path, errno, error)) && done;
    done = done && (g_rename(beside, path) == 0 || failed(path, errno, error));
    if (!done) {
        g_unlink(beside);
    }
    return done;
}
