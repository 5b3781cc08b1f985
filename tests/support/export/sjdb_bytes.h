/* The bytes of a small .sjdb, for tests that damage them and then correct the checksums, so that
 * only checks beyond the checksums can notice; and a function that calls every function of the
 * reader's interface. */
#ifndef TESTS_SUPPORT_EXPORT_SJDB_BYTES_H
#define TESTS_SUPPORT_EXPORT_SJDB_BYTES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Makes a file of twelve problems, three of them of a form that no key of MIOpen names, with both forms of
 * entries (some with rare times), two perf rows, three kernels, two problems with solutions, of
 * which one packs its filter, and two with solutions that were never measured. */
GByteArray *sjdb_bytes_make(void);

/* A section's offset and length, and its row in the section table. */
struct sjdb_place {
    guint8 *row; /* in the table */
    uint32_t kind, width;
    uint64_t offset, count, length;
};
guint sjdb_bytes_sections(const guint8 *bytes);
/* Reads the row of section `index` from the table, which may be damaged. */
void sjdb_bytes_section(guint8 *bytes, guint index, struct sjdb_place *place);
/* Finds the section of that kind, which must exist. */
void sjdb_bytes_find(GByteArray *bytes, uint32_t kind, struct sjdb_place *place);

/* Corrects the header's length and checksums, and the checksums of all sections that are within the
 * file. */
void sjdb_bytes_seal(guint8 *bytes, gsize length);

/* Opens the bytes and calls every function of the reader; returns false if they do not open.
 * *opened: the code of opening; *verified: that of skipjackdb_verify(). */
bool sjdb_bytes_ask(const guint8 *bytes, gsize length, int *opened, int *verified);

#endif
