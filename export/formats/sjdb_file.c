#include "export/formats/sjdb_file.h"

#include "export/reader/layout.h"

#include <string.h>

struct section {
    uint32_t kind, width;
    uint64_t count;
    gsize offset, length;
};

struct sjdb_file {
    GArray *sections; /* struct section */
    GByteArray *body; /* what stands behind the table; offsets count from its begin */
};

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

SjdbFile *sjdb_file_new(void)
{
    SjdbFile *file = g_new0(SjdbFile, 1);
    file->sections = g_array_new(FALSE, FALSE, sizeof(struct section));
    file->body = g_byte_array_new();
    return file;
}

void sjdb_file_free(SjdbFile *file)
{
    g_array_unref(file->sections);
    g_byte_array_unref(file->body);
    g_free(file);
}

static void add_section(SjdbFile *file, uint32_t kind, unsigned width, uint64_t count,
                        const void *bytes, gsize length)
{
    static const uint8_t zeros[SJDB_PAD_BYTES + SJDB_ALIGN_BYTES];
    gsize padding = SJDB_PAD_BYTES + (SJDB_ALIGN_BYTES - length % SJDB_ALIGN_BYTES);
    struct section section = {kind, width, count, file->body->len, length + padding};
    g_byte_array_append(file->body, bytes, (guint)length);
    g_byte_array_append(file->body, zeros, (guint)padding);
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

static void append_number(GByteArray *bytes, uint64_t value, guint size)
{
    uint64_t little = GUINT64_TO_LE(value);
    g_byte_array_append(bytes, (const guint8 *)&little, size);
}

static void append_table(const SjdbFile *file, GByteArray *table)
{
    gsize begin = SJDB_HEADER_BYTES + (gsize)file->sections->len * SJDB_SECTION_BYTES;
    for (guint i = 0; i < file->sections->len; i++) {
        const struct section *section = &g_array_index(file->sections, struct section, i);
        append_number(table, section->kind, 4);
        append_number(table, section->width, 4);
        append_number(table, begin + section->offset, 8);
        append_number(table, section->count, 8);
        append_number(table, section->length, 8);
        append_number(
            table,
            sjdb_checksum(file->body->data + section->offset, section->length, SJDB_CHECK_SEED), 8);
    }
}

bool sjdb_file_write(const SjdbFile *file, const char *path, GError **error)
{
    GByteArray *whole = g_byte_array_new();
    GByteArray *table = g_byte_array_new();
    append_table(file, table);
    g_byte_array_append(whole, (const guint8 *)SJDB_MAGIC, SJDB_MAGIC_BYTES);
    append_number(whole, SJDB_MAJOR, 2);
    append_number(whole, SJDB_MINOR, 2);
    append_number(whole, file->sections->len, 4);
    append_number(whole, SJDB_HEADER_BYTES + (uint64_t)table->len + file->body->len, 8);
    uint64_t checksum = sjdb_checksum(whole->data, whole->len, SJDB_CHECK_SEED);
    append_number(whole, sjdb_checksum(table->data, table->len, checksum), 8);
    g_byte_array_append(whole, table->data, table->len);
    g_byte_array_append(whole, file->body->data, file->body->len);
    g_autoptr(GError) reason = NULL;
    bool written =
        g_file_set_contents(path, (const char *)whole->data, (gssize)whole->len, &reason);
    g_byte_array_unref(whole);
    g_byte_array_unref(table);
    if (!written) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot write '%s': %s", path,
                    reason->message);
    }
    return written;
}
