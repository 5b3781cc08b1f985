/*
 * Stores byte strings, each distinct one once, with ids 0, 1, 2... in the order in which they are
 * added. Takes the memory of the bytes, and about a dozen bytes more for each string. Internal to
 * the writer of .sjdb.
 */
#ifndef EXPORT_SJDB_SJDB_DICTIONARY_H
#define EXPORT_SJDB_SJDB_DICTIONARY_H

#include <glib.h>
#include <stdint.h>

struct sjdb_dictionary {
    GByteArray *bytes; /* the strings, concatenated */
    GArray *starts;    /* guint32: offset of each string in `bytes`, and the end of the last one */
    /* hash table: a string's id + 1, or 0 for a free slot. The search for a string begins at the
     * slot of its hash, goes on slot by slot, and ends at a free slot. */
    guint32 *slots;
    guint32 slot_count;
};
void sjdb_dictionary_init(struct sjdb_dictionary *dictionary);
void sjdb_dictionary_clear(struct sjdb_dictionary *dictionary);
/* Returns the string's id. A string that is new gets the next id. */
guint32 sjdb_dictionary_add(struct sjdb_dictionary *dictionary, const void *bytes, gsize count);
guint32 sjdb_dictionary_count(const struct sjdb_dictionary *dictionary);
/* Returns a string's bytes, valid until the next string is added. */
const guint8 *sjdb_dictionary_get(const struct sjdb_dictionary *dictionary, guint32 id,
                                  gsize *count);

/* Numbers are written as LEB128: 7 bits in a byte, the least significant first; a set high bit
 * means that more bytes follow. A number takes at most SJDB_NUMBER_BYTES. */
#define SJDB_NUMBER_BYTES 10
/* Writes a number to `at`, which has room for SJDB_NUMBER_BYTES, and returns the address behind
 * it. */
guint8 *sjdb_number_put(guint8 *at, uint64_t number);
/* Reads a number that sjdb_number_put() wrote, and moves *at behind it. */
uint64_t sjdb_number_take(const guint8 **at);

#endif
