/*
 * The bytes of a small .sjdb, for tests that damage them and renew the checksums, so that only the checks behind the
 * checksums can notice; and a function that asks a database every question of the reader's interface.
 */
#ifndef TESTS_SUPPORT_SJDB_BYTES_H
#define TESTS_SUPPORT_SJDB_BYTES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Ten problems with entries of both forms, rare times among them, two perf rows, three kernels, and two
 * problems with solutions. */
GByteArray *sjdb_bytes_make(void);

/* A section of the file, as its table states it. */
struct sjdb_place {
    guint8 *row; /* in the table */
    uint32_t kind, width;
    uint64_t offset, count, length;
};
guint sjdb_bytes_sections(const guint8 *bytes);
/* The section's place as the table states it, right or wrong. */
void sjdb_bytes_section(guint8 *bytes, guint index, struct sjdb_place *place);
/* The section of that kind, which must be there. */
void sjdb_bytes_find(GByteArray *bytes, uint32_t kind, struct sjdb_place *place);

/* Makes length and checksums of the header right, and of sections that lie in the file. */
void sjdb_bytes_seal(guint8 *bytes, gsize length);

/* Opens the bytes and asks for everything there is; false where they cannot be opened. *verified is
 * what skipjackdb_verify() said. */
bool sjdb_bytes_ask(const guint8 *bytes, gsize length, int *opened, int *verified);

#endif
