/*
 * The bytes of a .sjdb file (FORMAT.md), as both its writer and its reader see them: section kinds,
 * columns, hashes. Internal to the project, no part of the library's interface.
 */
#ifndef EXPORT_SJDB_READER_LAYOUT_H
#define EXPORT_SJDB_READER_LAYOUT_H

#include "export/sjdb/reader/skipjackdb.h"

#include <stdbool.h>

#define SJDB_MAGIC         "\x89SJDB\r\n\x1a"
#define SJDB_MAGIC_BYTES   8
#define SJDB_MAJOR         1
#define SJDB_MINOR         5
#define SJDB_HEADER_BYTES  32
#define SJDB_SECTION_BYTES 40
#define SJDB_SECTIONS_MAX  1024
/* Zero bytes behind the items of each section: readers load whole words, which may reach past the
 * last item. */
#define SJDB_PAD_BYTES     16
#define SJDB_ALIGN_BYTES   8

/* Kinds of sections that a file has once. Sections of bytes hold texts, records or compressed
 * frames, all others packed numbers. */
enum sjdb_kind {
    SJDB_META = 1,
    SJDB_STRINGS,       /* bytes: NUL-terminated texts in byte order */
    SJDB_STRING_STARTS, /* offset of each text in SJDB_STRINGS */
    SJDB_SOLVER_NAMES,  /* number of each solver's name among the texts, ascending */
    SJDB_SOLVER_REVISIONS,
    SJDB_SOLVER_FLAGS,
    /* Three numbers for each range of times: its first code, its first mantissa, its digits behind
     * the point. Behind the last range: the first code of the rare times. */
    SJDB_TIME_RANGES,
    SJDB_RARE_TIMES,     /* doubles */
    SJDB_KERNEL_HASHES,  /* hashes of names and args, ascending */
    SJDB_KERNEL_NUMBERS, /* number of each kernel, in the order of SJDB_KERNEL_HASHES */
    SJDB_KERNEL_GROUPS,  /* for each kernel the group that holds it, ascending */
    /* for each kernel its offset in the group's unpacked content, ascending within a group */
    SJDB_KERNEL_STARTS,
    SJDB_KERNEL_TEXT_BYTES,
    SJDB_KERNEL_CODE_BYTES,
    SJDB_KERNEL_CHECKS, /* checksums of the code objects */
    /* offset of each group's frame in SJDB_GROUPS, and the end of the last frame */
    SJDB_GROUP_STARTS,
    SJDB_GROUPS, /* bytes: each group as a zstd frame */
    /* offset of each recipe in SJDB_RECIPES, and the end of the last; SJDB_LAUNCH_STARTS and
     * SJDB_FORM_STARTS are alike */
    SJDB_RECIPE_STARTS,
    SJDB_RECIPES, /* bytes: recipes, each says how a solver computes a problem */
    SJDB_LAUNCH_STARTS,
    SJDB_LAUNCHES, /* bytes: launches; recipes may share one */
    SJDB_FORM_STARTS,
    SJDB_FORMS, /* bytes: forms, the parts that launches of different sizes have in common */
    /* the same for solutions that a reader of 1.1 cannot run, in the same order */
    SJDB_OTHER_RECIPE_STARTS,
    SJDB_OTHER_RECIPES,
    SJDB_OTHER_LAUNCH_STARTS,
    SJDB_OTHER_LAUNCHES,
    SJDB_OTHER_FORM_STARTS,
    SJDB_OTHER_FORMS,
    /* The entries whose time has an interval, ascending: SJDB_LIST_MAX times the problem's number among
     * those with find entries, plus the entry's place among the problem's, from 0. */
    SJDB_INTERVAL_ENTRIES,
    SJDB_INTERVAL_LOWS,  /* for each of them the code of the interval's lower end, as of a time */
    SJDB_INTERVAL_HIGHS, /* likewise its upper end */
    SJDB_SINGLE_END,
    /* first kind of the sections on problems with find entries; enum sjdb_part is added to it */
    SJDB_FIND = 0x100,
    /* likewise for perf-db rows, each stored as the problem that represents it */
    SJDB_PERF = 0x200,
    SJDB_SOLVED = 0x300, /* likewise for problems with recipes */
    /* Likewise for problems with find entries that a reader of 1.1 cannot express or would take for
     * others: operators, strides, epilogues. A variant's text is its form (sjdb_form_write()). */
    SJDB_OTHER_FIND = 0x400,
    SJDB_OTHER_SOLVED = 0x500, /* likewise for problems with SJDB_OTHER_RECIPES */
    /* Likewise for problems with solutions that were built and never measured, of any form. Their recipes are
     * in SJDB_OTHER_RECIPES; a list's choices are in the order in which they should be tried, and a solver is
     * in it once for each config. */
    SJDB_UNMEASURED = 0x600,
};
#define SJDB_SET_KINDS 0x100
#define SJDB_SET_COUNT 6

/* Sections of a set of problems. A kind is the set's first kind (SJDB_FIND, SJDB_PERF or
 * SJDB_SOLVED) plus one of these. */
enum sjdb_part {
    /* number of the first shape in each bucket of hashes, and the number of all shapes */
    SJDB_BUCKETS,
    SJDB_FINGERPRINTS, /* 16 bits of each shape's hash */
    SJDB_SHAPES,       /* rows */
    SJDB_SHAPE_WIDTHS, /* bits of each column in a row of SJDB_SHAPES */
    SJDB_SHAPE_STARTS, /* where each column's dictionary begins in SJDB_SHAPE_VALUES */
    SJDB_SHAPE_VALUES,
    SJDB_VARIANTS,
    SJDB_VARIANT_WIDTHS,
    SJDB_VARIANT_STARTS,
    SJDB_VARIANT_VALUES,
    /* hash table with open addressing: a variant's number + 1, or 0 for a free slot */
    SJDB_VARIANT_SLOTS,
    SJDB_SET_STARTS,
    SJDB_SET_ITEMS, /* for each distinct set of variants: their numbers, ascending */
    SJDB_LIST_STARTS,
    SJDB_LIST_ITEMS, /* choices */
    SJDB_LIST_BITS,  /* for each list: how many payload bits a problem with this list has */
    SJDB_PROBLEM_LISTS,
    SJDB_PAYLOAD_STARTS, /* the first payload bit of every SJDB_PAYLOAD_STEP-th problem */
    SJDB_PAYLOAD,        /* bits */
    SJDB_CHOICE_SOLVERS,
    /* for each choice the number of the algorithm's text + 1, or 0 for none */
    SJDB_CHOICE_ALGORITHMS,
    /* for each choice the number of the library's text + 1, or 0 for none */
    SJDB_CHOICE_LIBRARIES,
    SJDB_CHOICE_WIDTHS, /* for each choice: how many payload bits its value has */
    SJDB_CHOICE_STARTS, /* where each choice's dictionary begins in SJDB_CHOICE_VALUES */
    SJDB_CHOICE_VALUES,
    SJDB_PART_COUNT,
};
#define SJDB_PAYLOAD_STEP 8

/* Limits on the time of a lookup, even in a damaged file: most shapes in a bucket, most slots that
 * the search for a variant visits, most entries of a problem. Writers keep to them, and readers
 * stop at them. */
#define SJDB_BUCKET_MAX 255
#define SJDB_PROBES_MAX 1024
#define SJDB_LIST_MAX   1024

/* A group of kernels is closed once its unpacked content has this many bytes: reading one kernel
 * unpacks hardly more. */
#define SJDB_GROUP_BYTES     (512 * 1024)
/* Readers refuse a kernel whose offset in its group's unpacked content, texts or code object exceed
 * this many bytes. */
#define SJDB_GROUP_BYTES_MAX (UINT64_C(1) << 30)

/* Returns the name of a section's kind, NULL for an unknown kind. Static. */
const char *sjdb_kind_name(uint32_t kind);

/* ---- checksums and hashes ---- */

#define SJDB_CHECK_SEED 0x736b69706a61636bu
/* A 64-bit checksum. To continue over more bytes, pass the last result as seed. */
uint64_t sjdb_checksum(const void *bytes, size_t size, uint64_t seed);
/* The same for whole words only. The result is the seed with which sjdb_checksum() continues over
 * the bytes that follow. */
uint64_t sjdb_checksum_words(const void *bytes, size_t size, uint64_t seed);

/* ---- problems as rows of numbers ---- */

#define SJDB_SHAPE_FIELDS   22
#define SJDB_VARIANT_FIELDS 11
/* Columns of a shape's row behind its fields: the number of its set of variants, and the number of
 * its first problem. */
#define SJDB_SHAPE_SET      SJDB_SHAPE_FIELDS
#define SJDB_SHAPE_BASE     (SJDB_SHAPE_FIELDS + 1)
#define SJDB_SHAPE_COLUMNS  (SJDB_SHAPE_FIELDS + 2)

/* Returns the output size that the formula of a convolution gives on an axis: at least 1, and 1 if
 * the fields are out of range. */
int64_t sjdb_formula_output(const struct skipjackdb_problem *problem, int axis);
void sjdb_shape_fields(const struct skipjackdb_problem *problem, uint64_t *fields);
void sjdb_shape_from_fields(const uint64_t *fields, struct skipjackdb_problem *problem);
/* Most bytes of a form, with its NUL: operator, four tensors' strides of five numbers, epilogue. */
#define SJDB_FORM_MAX 640
/* Writes what a problem is beside its shape and the other fields of its variant, in the words of its
 * key: operator, strides and epilogue ("pool(max)_sx300x64x0x8x1+relu"); "" for a convolution of
 * packed tensors without epilogue. Returns false if a number or a text is out of range. */
bool sjdb_form_write(const struct skipjackdb_problem *problem, char form[SJDB_FORM_MAX]);
/* Sets operator, mode, strides and epilogue from a form: the strict inverse. */
bool sjdb_form_read(const char *form, struct skipjackdb_problem *problem);
/* Sets the fields of a variant. epilogue: the number of the text of the form + 1, or 0 for none. */
void sjdb_variant_fields(const struct skipjackdb_problem *problem, uint64_t epilogue,
                         uint64_t *fields);
/* Sets the problem from the fields of its variant, all but the text of the epilogue. Returns false
 * if a number is outside its enum. */
bool sjdb_variant_from_fields(const uint64_t *fields, struct skipjackdb_problem *problem);
#define SJDB_VARIANT_EPILOGUE (SJDB_VARIANT_FIELDS - 1)
uint64_t sjdb_fields_hash(const uint64_t *fields, int count);
uint64_t sjdb_kernel_hash(const char *name, const char *args);

/* Maps signed numbers to unsigned ones, small ones to small ones: 0, -1, 1, -2 become 0, 1, 2,
 * 3. */
uint64_t sjdb_zigzag(uint64_t difference);
uint64_t sjdb_unzigzag(uint64_t number);

/* Powers of ten that are exact as doubles: 1, 10, 100, ... 10^SJDB_DIGITS_MAX. */
#define SJDB_DIGITS_MAX      15
#define SJDB_TIME_RANGES_MAX (SJDB_DIGITS_MAX + 1)
extern const double sjdb_power_of_ten[SJDB_DIGITS_MAX + 1];

#endif
