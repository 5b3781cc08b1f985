#include "export/formats/sjdb_file.h"

#include "export/reader/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the table says of a section, and where its bytes are until they are written. */
struct section {
    uint32_t kind, width;
    uint64_t count, length, checksum; /* the length with the zeros behind the items */
    GBytes *bytes;                    /* all of that length; NULL where they are spooled */
    const Spool *spool;
    goffset start;
};

struct sjdb_file {
    GArray *sections; /* struct section */
};

/* Of spooled bytes so many are in memory at a time; whole words, so that checksums can go on. */
#define CHUNK_BYTES (256 * 1024)
static const uint8_t zeros[SJDB_PAD_BYTES + SJDB_ALIGN_BYTES];

void sjdb_bits_init(struct sjdb_bits *bits)
{
    bits->words = g_array_new(FALSE, TRUE, sizeof(uint64_t));
    bits->count = 0;
}

void sjdb_bits_clear(struct sjdb_bits *bits)
{
    g_clear_pointer(&bits->words, g_array_unref);
    bits->count = 0;
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

static void section_clear(void *data)
{
    g_clear_pointer(&((struct section *)data)->bytes, g_bytes_unref);
}

SjdbFile *sjdb_file_new(void)
{
    SjdbFile *file = g_new0(SjdbFile, 1);
    file->sections = g_array_new(FALSE, FALSE, sizeof(struct section));
    g_array_set_clear_func(file->sections, section_clear);
    return file;
}

void sjdb_file_free(SjdbFile *file)
{
    g_array_unref(file->sections);
    g_free(file);
}

/* Items end with zeros that may be read, and the next section begins at a whole word. */
static gsize padding_of(gsize length)
{
    return SJDB_PAD_BYTES + (SJDB_ALIGN_BYTES - length % SJDB_ALIGN_BYTES);
}

static void add_section(SjdbFile *file, uint32_t kind, unsigned width, uint64_t count,
                        const void *bytes, gsize length)
{
    gsize padded = length + padding_of(length);
    guint8 *content = g_malloc0(padded);
    if (length > 0) {
        memcpy(content, bytes, length);
    }
    struct section section = {
        .kind = kind,
        .width = width,
        .count = count,
        .length = padded,
        .checksum = sjdb_checksum(content, padded, SJDB_CHECK_SEED),
        .bytes = g_bytes_new_take(content, padded),
    };
    g_array_append_val(file->sections, section);
}

void sjdb_file_add_bits(SjdbFile *file, uint32_t kind, const struct sjdb_bits *bits, unsigned width,
                        uint64_t count)
{
    g_autofree uint64_t *words = g_new0(uint64_t, bits->words->len + 1);
    for (guint i = 0; i < bits->words->len; i++) {
        words[i] = GUINT64_TO_LE(g_array_index(bits->words, uint64_t, i));
    }
    add_section(file, kind, width, count, words, (gsize)((bits->count + 7) / 8));
}

void sjdb_file_add(SjdbFile *file, uint32_t kind, const uint64_t *items, gsize count)
{
    struct sjdb_bits bits;
    uint64_t all = 1; /* items of no bits are not allowed */
    sjdb_bits_init(&bits);
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
    add_section(file, kind, 8, count, bytes, count);
}

/* The next chunk of a spooled section, the last one with the zeros behind it. Returns its size. */
static gsize read_chunk(const struct section *section, uint64_t done, guint8 *room, GError **error)
{
    gsize items = MIN(section->count - done, CHUNK_BYTES);
    if (!spool_read(section->spool, section->start + (goffset)done, room, items, error)) {
        return 0;
    }
    gsize padding = done + items < section->count ? 0 : (gsize)(section->length - section->count);
    memcpy(room + items, zeros, padding);
    return items + padding;
}

bool sjdb_file_add_spooled(SjdbFile *file, uint32_t kind, const Spool *spool, goffset start,
                           gsize count, GError **error)
{
    g_autofree guint8 *room = g_malloc(CHUNK_BYTES + sizeof zeros);
    struct section section = {.kind = kind, .width = 8, .count = count, .spool = spool};
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

/* Header and table; offsets count from the file's begin. */
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
    if (section->bytes != NULL) {
        return put(to, path, g_bytes_get_data(section->bytes, NULL), section->length, error);
    }
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
    /* Its name must not outlive its bytes. */
    return done && ((fflush(to) == 0 && fsync(fileno(to)) == 0) || failed(path, errno, error));
}

bool sjdb_file_write(const SjdbFile *file, const char *path, GError **error)
{
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
