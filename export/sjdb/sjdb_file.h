/*
 * Builds a .sjdb file from sections of packed numbers: adds the table of sections and the checksums
 * (export/sjdb/reader/FORMAT.md). Until the file is written, sections wait in a spool in the same
 * folder. Internal to the writer.
 */
#ifndef EXPORT_SJDB_SJDB_FILE_H
#define EXPORT_SJDB_SJDB_FILE_H

#include "export/formats/spool.h"

typedef struct sjdb_file SjdbFile;
/* Begins a file that sjdb_file_write() will put at `path`. Errors of the spool are kept and
 * reported by sjdb_file_write(). */
SjdbFile *sjdb_file_new(const char *path);
void sjdb_file_free(SjdbFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SjdbFile, sjdb_file_free)

/* Packs numbers of given bit widths into a section, least significant bits first. From the first
 * number to sjdb_bits_end() no other section may be added, since the section's bytes follow each
 * other in the spool. */
struct sjdb_bits {
    SjdbFile *file;
    GArray
        *words; /* uint64_t: words that are not in the spool yet; the last one may be incomplete */
    uint64_t count; /* bits */
    goffset start;  /* offset of the section's bytes in the spool */
    uint64_t spooled_bytes, checksum;
    guint8 rest[8]; /* the bytes behind the last whole word; sjdb_bits_end() sets them */
    bool is_ended;
};
void sjdb_bits_init(struct sjdb_bits *bits, SjdbFile *file);
void sjdb_bits_clear(struct sjdb_bits *bits);
/* Appends the lowest `width` bits (0 to 64) of value; its other bits are 0. */
void sjdb_bits_append(struct sjdb_bits *bits, uint64_t value, unsigned width);
/* Called after the last number of the section. */
void sjdb_bits_end(struct sjdb_bits *bits);
/* Returns how many bits the numbers from 0 to max need; 0 if max is 0. */
unsigned sjdb_bits_for(uint64_t max);

/* Adds a section of numbers. Each takes as many bits as the largest one needs. */
void sjdb_file_add(SjdbFile *file, uint32_t kind, const uint64_t *items, gsize count);
/* Adds the same section from a GArray of uint64_t. */
void sjdb_file_add_array(SjdbFile *file, uint32_t kind, const GArray *items);
/* Ends `bits` and adds them as a section of `count` items of `width` bits. */
void sjdb_file_add_bits(SjdbFile *file, uint32_t kind, struct sjdb_bits *bits, unsigned width,
                        uint64_t count);
void sjdb_file_add_bytes(SjdbFile *file, uint32_t kind, const void *bytes, gsize count);
/* Adds a section of bytes that are in a spool, which must live until the file is written. */
bool sjdb_file_add_spooled(SjdbFile *file, uint32_t kind, const Spool *spool, goffset start,
                           gsize count, GError **error);

/* Writes a temporary file and renames it, so no process can open half a file, and a process that
 * has the old file mapped keeps it. */
bool sjdb_file_write(const SjdbFile *file, GError **error);

#endif
