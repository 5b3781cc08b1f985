/*
 * Interns byte strings: each distinct one gets an id in the order of adding. Memory: the bytes and
 * about a dozen for each string. Internal to the writer of .sjdb.
 */
#ifndef EXPORT_SJDB_DICTIONARY_H
#define EXPORT_SJDB_DICTIONARY_H

#include <glib.h>
#include <stdint.h>

struct sjdb_dictionary {
    GByteArray *bytes; /* the strings, concatenated */
    GArray *starts;    /* guint32: start of each string, and the end of the last */
    guint32 *
        slots; /* hash table: id + 1, or 0 for free; a string is in the first matching slot from its hash on */
    guint32 slot_count;
};
void sjdb_dictionary_init(struct sjdb_dictionary *dictionary);
void sjdb_dictionary_clear(struct sjdb_dictionary *dictionary);
/* Returns the string's id, adding it if it is new. */
guint32 sjdb_dictionary_add(struct sjdb_dictionary *dictionary, const void *bytes, gsize count);
guint32 sjdb_dictionary_count(const struct sjdb_dictionary *dictionary);
/* Returns a string's bytes, valid until the next string is added. */
const guint8 *sjdb_dictionary_get(const struct sjdb_dictionary *dictionary, guint32 id,
                                  gsize *count);

/* Numbers as LEB128: 7 bits a byte, least significant first, the high bit set if more follow. */
#define SJDB_NUMBER_BYTES 10
/* Writes a number into room for SJDB_NUMBER_BYTES and returns the address behind it. */
guint8 *sjdb_number_put(guint8 *at, uint64_t number);
/* Reads a number that sjdb_number_put() wrote and advances *at. */
uint64_t sjdb_number_take(const guint8 **at);

#endif
