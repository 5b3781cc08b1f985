/*
 * Distinct strings of bytes, each with an id in the order of its coming, in little more memory than their
 * bytes take: a dozen bytes each. Internal to the writer of .sjdb.
 */
#ifndef EXPORT_SJDB_DICTIONARY_H
#define EXPORT_SJDB_DICTIONARY_H

#include <glib.h>
#include <stdint.h>

struct sjdb_dictionary {
    GByteArray *bytes; /* one string behind the other */
    GArray *starts;    /* guint32: where each begins, and the end of the last */
    guint32 *slots;    /* 1 and an id, or 0; a string is in the first free one from its hash on */
    guint32 slot_count;
};
void sjdb_dictionary_init(struct sjdb_dictionary *dictionary);
void sjdb_dictionary_clear(struct sjdb_dictionary *dictionary);
/* The id of the string, which is added unless it is there. */
guint32 sjdb_dictionary_add(struct sjdb_dictionary *dictionary, const void *bytes, gsize count);
guint32 sjdb_dictionary_count(const struct sjdb_dictionary *dictionary);
/* Valid until the next one is added. */
const guint8 *sjdb_dictionary_get(const struct sjdb_dictionary *dictionary, guint32 id,
                                  gsize *count);

/* Numbers as the file's records have them: 7 bits a byte, from the least ones on, the high bit where more
 * follow. */
#define SJDB_NUMBER_BYTES 10
/* Into room for SJDB_NUMBER_BYTES; returns what is behind it. */
guint8 *sjdb_number_put(guint8 *at, uint64_t number);
/* *at moves behind the number, which sjdb_number_put() made. */
uint64_t sjdb_number_take(const guint8 **at);

#endif
