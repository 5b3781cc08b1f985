/*
 * The bytes of a .sjdb file (FORMAT.md), as both its writer and its reader see them: section kinds,
 * columns, hashes. Internal to the project, no part of the library's interface.
 */
#ifndef EXPORT_READER_LAYOUT_H
#define EXPORT_READER_LAYOUT_H

#include "export/sjdb/reader/skipjackdb.h"

#include <stdbool.h>

#define SJDB_MAGIC         "\x89SJDB\r\n\x1a"
#define SJDB_MAGIC_BYTES   8
#define SJDB_MAJOR         1
#define SJDB_MINOR         1
#define SJDB_HEADER_BYTES  32
#define SJDB_SECTION_BYTES 40
#define SJDB_SECTIONS_MAX  1024
/* Zeros behind each section's items: readers load whole words that may reach past the last item. */
#define SJDB_PAD_BYTES     16
#define SJDB_ALIGN_BYTES   8

/* Kinds of sections: arrays of the whole file. */
enum sjdb_kind {
    SJDB_META = 1,
    SJDB_STRINGS,       /* bytes: NUL-terminated texts in byte order */
    SJDB_STRING_STARTS, /* start of each text */
    SJDB_SOLVER_NAMES,  /* texts, ascending */
    SJDB_SOLVER_REVISIONS,
    SJDB_SOLVER_FLAGS,
    /* Three numbers for each range: first code, first mantissa, digits behind the point; at the end
     * the first code of the rare times. */
    SJDB_TIME_RANGES,
    SJDB_RARE_TIMES,     /* doubles */
    SJDB_KERNEL_HASHES,  /* hashes of names and args, ascending */
    SJDB_KERNEL_NUMBERS, /* kernel numbers, in the order of the hashes */
    SJDB_KERNEL_GROUPS,  /* group of each kernel, ascending */
    SJDB_KERNEL_STARTS,  /* its start in the group's content, ascending in a group */
    SJDB_KERNEL_TEXT_BYTES,
    SJDB_KERNEL_CODE_BYTES,
    SJDB_KERNEL_CHECKS, /* checksums of the code objects */
    SJDB_GROUP_STARTS,  /* start of each group's frame, and the end of the last */
    SJDB_GROUPS,        /* bytes: zstd frames */
    SJDB_RECIPE_STARTS, /* start of each recipe, and the end of the last; the same for launches and forms */
    SJDB_RECIPES, /* bytes: how a solver computes a problem */
    SJDB_LAUNCH_STARTS,
    SJDB_LAUNCHES, /* bytes: a launch of a recipe, or of many */
    SJDB_FORM_STARTS,
    SJDB_FORMS, /* bytes: the part that launches of different sizes share */
    SJDB_SINGLE_END,
    SJDB_FIND = 0x100,   /* the problems with find entries: + enum sjdb_part */
    SJDB_PERF = 0x200,   /* the perf-db rows, as problems in their normal form: + enum sjdb_part */
    SJDB_SOLVED = 0x300, /* the problems with recipes: + enum sjdb_part */
};
#define SJDB_SET_KINDS 0x100
#define SJDB_SET_COUNT 3

/* Kinds of sections of a set of problems, added to the set's first kind. */
enum sjdb_part {
    SJDB_BUCKETS,      /* first shape of each bucket, and the number of shapes */
    SJDB_FINGERPRINTS, /* 16 bits of each shape's hash */
    SJDB_SHAPES,       /* rows */
    SJDB_SHAPE_WIDTHS, /* bits of each column */
    SJDB_SHAPE_STARTS, /* start of each column's dictionary in the values */
    SJDB_SHAPE_VALUES,
    SJDB_VARIANTS,
    SJDB_VARIANT_WIDTHS,
    SJDB_VARIANT_STARTS,
    SJDB_VARIANT_VALUES,
    SJDB_VARIANT_SLOTS, /* open-addressed: variant number + 1, or 0 */
    SJDB_SET_STARTS,
    SJDB_SET_ITEMS, /* variants, ascending */
    SJDB_LIST_STARTS,
    SJDB_LIST_ITEMS, /* choices */
    SJDB_LIST_BITS,  /* payload bits of a problem with this list */
    SJDB_PROBLEM_LISTS,
    SJDB_PAYLOAD_STARTS, /* start of every SJDB_PAYLOAD_STEP-th problem */
    SJDB_PAYLOAD,        /* bits */
    SJDB_CHOICE_SOLVERS,
    SJDB_CHOICE_ALGORITHMS, /* text number + 1, or 0 */
    SJDB_CHOICE_LIBRARIES,  /* text number + 1, or 0 */
    SJDB_CHOICE_WIDTHS,     /* bits of the choice's value in the payload */
    SJDB_CHOICE_STARTS,     /* start of each choice's dictionary in the values */
    SJDB_CHOICE_VALUES,
    SJDB_PART_COUNT,
};
#define SJDB_PAYLOAD_STEP 8

/* Limits that bound the time of a lookup even in a damaged file: shapes in a bucket, slots tried
 * for a variant, entries of a problem. Writers keep them, readers rely on them. */
#define SJDB_BUCKET_MAX 255
#define SJDB_PROBES_MAX 1024
#define SJDB_LIST_MAX   1024

/* A group is closed at this size: reading one kernel unpacks at most about that much. */
#define SJDB_GROUP_BYTES     (512 * 1024)
/* The largest offset in a group's content that a kernel may reach. */
#define SJDB_GROUP_BYTES_MAX (UINT64_C(1) << 30)

/* The name of a section's kind, NULL for an unknown one. Static. */
const char *sjdb_kind_name(uint32_t kind);

/* ---- checksums and hashes ---- */

#define SJDB_CHECK_SEED 0x736b69706a61636bu
/* A 64-bit checksum. To continue over more bytes, pass the last result as seed. */
uint64_t sjdb_checksum(const void *bytes, size_t size, uint64_t seed);
/* The checksum's state after all whole words: the seed for continuing with the bytes that follow.
 * */
uint64_t sjdb_checksum_words(const void *bytes, size_t size, uint64_t seed);

/* ---- problems as rows of numbers ---- */

#define SJDB_SHAPE_FIELDS   22
#define SJDB_VARIANT_FIELDS 11
/* A shape's row has two more columns: its variant set, and the number of its first problem. */
#define SJDB_SHAPE_SET      SJDB_SHAPE_FIELDS
#define SJDB_SHAPE_BASE     (SJDB_SHAPE_FIELDS + 1)
#define SJDB_SHAPE_COLUMNS  (SJDB_SHAPE_FIELDS + 2)

/* The output size on an axis by the formula; 1 if the fields are outside its range. */
int64_t sjdb_formula_output(const struct skipjackdb_problem *problem, int axis);
void sjdb_shape_fields(const struct skipjackdb_problem *problem, uint64_t *fields);
void sjdb_shape_from_fields(const uint64_t *fields, struct skipjackdb_problem *problem);
/* epilogue: text number + 1, or 0 for none. */
void sjdb_variant_fields(const struct skipjackdb_problem *problem, uint64_t epilogue,
                         uint64_t *fields);
/* Sets all fields but the epilogue's text. False if a number is outside its enum. */
bool sjdb_variant_from_fields(const uint64_t *fields, struct skipjackdb_problem *problem);
#define SJDB_VARIANT_EPILOGUE (SJDB_VARIANT_FIELDS - 1)
uint64_t sjdb_fields_hash(const uint64_t *fields, int count);
uint64_t sjdb_kernel_hash(const char *name, const char *args);

/* Maps signed to unsigned: 0, -1, 1, -2 ... become 0, 1, 2, 3 ... */
uint64_t sjdb_zigzag(uint64_t difference);
uint64_t sjdb_unzigzag(uint64_t number);

/* 1, 10, 100 ... exactly. */
#define SJDB_DIGITS_MAX      15
#define SJDB_TIME_RANGES_MAX (SJDB_DIGITS_MAX + 1)
extern const double sjdb_power_of_ten[SJDB_DIGITS_MAX + 1];

#endif
