/*
 * Builds a .sjdb file: sections of packed numbers, a table of them, and checksums
 * (export/sjdb/reader/FORMAT.md). Sections wait in a spool beside the path. Internal to the writer.
 */
#ifndef EXPORT_SJDB_FILE_H
#define EXPORT_SJDB_FILE_H

#include "export/formats/spool.h"

typedef struct sjdb_file SjdbFile;
/* `path` is where the file will be. Errors of the spool are reported by sjdb_file_write(). */
SjdbFile *sjdb_file_new(const char *path);
void sjdb_file_free(SjdbFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SjdbFile, sjdb_file_free)

/* Packs numbers of given bit widths, least significant bits first, into a section. No other section
 * may be filled between the first number and sjdb_bits_end(), since the spooled bytes must be
 * contiguous. */
struct sjdb_bits {
    SjdbFile *file;
    GArray *words;  /* uint64_t: words that are not spooled yet */
    uint64_t count; /* bits */
    goffset start;  /* offset of the spooled bytes */
    uint64_t spooled_bytes, checksum;
    guint8 rest[8]; /* bytes after the last whole word, set by sjdb_bits_end() */
    bool is_ended;
};
void sjdb_bits_init(struct sjdb_bits *bits, SjdbFile *file);
void sjdb_bits_clear(struct sjdb_bits *bits);
/* Appends `width` bits (0 to 64); value must fit in them. */
void sjdb_bits_append(struct sjdb_bits *bits, uint64_t value, unsigned width);
/* To be called after the last number. */
void sjdb_bits_end(struct sjdb_bits *bits);
/* Returns the bits that numbers up to max need; 0 for 0. */
unsigned sjdb_bits_for(uint64_t max);

/* Adds a section of numbers, each as wide as the largest needs. */
void sjdb_file_add(SjdbFile *file, uint32_t kind, const uint64_t *items, gsize count);
/* The same for a GArray of uint64_t. */
void sjdb_file_add_array(SjdbFile *file, uint32_t kind, const GArray *items);
/* Ends `bits` and adds them as a section of `count` items of `width` bits. */
void sjdb_file_add_bits(SjdbFile *file, uint32_t kind, struct sjdb_bits *bits, unsigned width,
                        uint64_t count);
void sjdb_file_add_bytes(SjdbFile *file, uint32_t kind, const void *bytes, gsize count);
/* Adds bytes of a spool, which must live until the file is written. */
bool sjdb_file_add_spooled(SjdbFile *file, uint32_t kind, const Spool *spool, goffset start,
                           gsize count, GError **error);

/* Writes a temporary file and renames it: nobody sees half a file, and processes that have the old
 * one mapped keep it. */
bool sjdb_file_write(const SjdbFile *file, GError **error);

#endif
