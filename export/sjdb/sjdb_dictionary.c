#include "export/sjdb/sjdb_dictionary.h"

#include "export/sjdb/reader/layout.h"

#include <string.h>

#define SLOTS_LEAST 16

void sjdb_dictionary_init(struct sjdb_dictionary *dictionary)
{
    guint32 start = 0;
    dictionary->bytes = g_byte_array_new();
    dictionary->starts = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_array_append_val(dictionary->starts, start);
    dictionary->slot_count = SLOTS_LEAST;
    dictionary->slots = g_new0(guint32, dictionary->slot_count);
}

void sjdb_dictionary_clear(struct sjdb_dictionary *dictionary)
{
    g_clear_pointer(&dictionary->bytes, g_byte_array_unref);
    g_clear_pointer(&dictionary->starts, g_array_unref);
    g_clear_pointer(&dictionary->slots, g_free);
}

guint32 sjdb_dictionary_count(const struct sjdb_dictionary *dictionary)
{
    return dictionary->starts->len - 1;
}

const guint8 *sjdb_dictionary_get(const struct sjdb_dictionary *dictionary, guint32 id,
                                  gsize *count)
{
    guint32 start = g_array_index(dictionary->starts, guint32, id);
    *count = g_array_index(dictionary->starts, guint32, id + 1) - start;
    return dictionary->bytes->data + start;
}

/* Returns the string's slot in the hash table. If the table lacks the string, returns the free slot
 * where it belongs. */
static guint32 *slot_of(const struct sjdb_dictionary *dictionary, const void *bytes, gsize count)
{
    guint32 mask = dictionary->slot_count - 1;
    guint32 at = (guint32)sjdb_checksum(bytes, count, SJDB_CHECK_SEED) & mask;
    for (;; at = (at + 1) & mask) {
        gsize held_bytes = 0;
        guint32 held = dictionary->slots[at];
        if (held == 0) {
            return &dictionary->slots[at];
        }
        const guint8 *string = sjdb_dictionary_get(dictionary, held - 1, &held_bytes);
        if (held_bytes == count && memcmp(string, bytes, count) == 0) {
            return &dictionary->slots[at];
        }
    }
}

/* Doubles the hash table. Hashes are computed again, since storing one for each string would take
 * more memory than the time is worth. */
static void grow(struct sjdb_dictionary *dictionary)
{
    guint32 strings = sjdb_dictionary_count(dictionary);
    g_free(dictionary->slots);
    dictionary->slot_count *= 2;
    dictionary->slots = g_new0(guint32, dictionary->slot_count);
    for (guint32 id = 0; id < strings; id++) {
        gsize count = 0;
        const guint8 *bytes = sjdb_dictionary_get(dictionary, id, &count);
        *slot_of(dictionary, bytes, count) = id + 1;
    }
}

guint32 sjdb_dictionary_add(struct sjdb_dictionary *dictionary, const void *bytes, gsize count)
{
    guint32 *slot = slot_of(dictionary, bytes, count);
    if (*slot != 0) {
        return *slot - 1;
    }
    guint32 id = sjdb_dictionary_count(dictionary);
    *slot = id + 1;
    g_byte_array_append(dictionary->bytes, bytes, (guint)count);
    g_array_append_val(dictionary->starts, dictionary->bytes->len);
    if (id + 1 > dictionary->slot_count / 4 * 3) {
        grow(dictionary);
    }
    return id;
}

guint8 *sjdb_number_put(guint8 *at, uint64_t number)
{
    for (; number > 0x7f; number >>= 7) {
        *at++ = (guint8)(number | 0x80);
    }
    *at++ = (guint8)number;
    return at;
}

uint64_t sjdb_number_take(const guint8 **at)
{
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        guint8 byte = *(*at)++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return number;
        }
    }
}
