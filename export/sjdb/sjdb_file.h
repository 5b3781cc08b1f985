/*
 * A .sjdb file in the making: sections of packed numbers, put behind each other with a table and
 * checksums (export/sjdb/reader/FORMAT.md). Sections wait in a temporary file beside it. Internal to the writer.
 */
#ifndef EXPORT_SJDB_FILE_H
#define EXPORT_SJDB_FILE_H

#include "export/formats/spool.h"

typedef struct sjdb_file SjdbFile;
/* Of the file that is to be at the path. What cannot be spooled on the way is an error of
 * sjdb_file_write(). */
SjdbFile *sjdb_file_new(const char *path);
void sjdb_file_free(SjdbFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SjdbFile, sjdb_file_free)

/* Numbers of given widths, one behind the other, least bits first, on their way into a section. Between
 * the first number and sjdb_bits_end() no other section is filled: what is spooled lies in a row. */
struct sjdb_bits {
    SjdbFile *file;
    GArray *words;  /* uint64_t: those that are not spooled */
    uint64_t count; /* bits */
    goffset start;  /* of the spooled ones */
    uint64_t spooled_bytes, checksum;
    guint8 rest[8]; /* the bytes behind the last whole word, once it has ended */
    bool is_ended;
};
void sjdb_bits_init(struct sjdb_bits *bits, SjdbFile *file);
void sjdb_bits_clear(struct sjdb_bits *bits);
/* Appends the width (0 to 64) low bits of value, which has no others. */
void sjdb_bits_append(struct sjdb_bits *bits, uint64_t value, unsigned width);
/* No more numbers follow. */
void sjdb_bits_end(struct sjdb_bits *bits);
/* Bits that hold numbers up to max; 0 for 0. */
unsigned sjdb_bits_for(uint64_t max);

/* A section of items as wide as the largest of them needs. */
void sjdb_file_add(SjdbFile *file, uint32_t kind, const uint64_t *items, gsize count);
/* The same from a GArray of uint64_t. */
void sjdb_file_add_array(SjdbFile *file, uint32_t kind, const GArray *items);
/* A section of count items of width bits that are packed already, which it ends. */
void sjdb_file_add_bits(SjdbFile *file, uint32_t kind, struct sjdb_bits *bits, unsigned width,
                        uint64_t count);
void sjdb_file_add_bytes(SjdbFile *file, uint32_t kind, const void *bytes, gsize count);
/* Bytes of a spool, which must live until the file is written. */
bool sjdb_file_add_spooled(SjdbFile *file, uint32_t kind, const Spool *spool, goffset start,
                           gsize count, GError **error);

/* Written beside and renamed: nobody sees half a file, and who has the old one mapped keeps it. */
bool sjdb_file_write(const SjdbFile *file, GError **error);

#endif
