/*
 * A mapped file as arrays of packed numbers. Reading never goes past an array's end: a number
 * behind the end reads as 0 and marks the lookup (struct sjdb_look) as damaged, so functions check
 * for damage once, at their end. Internal to the library.
 */
#ifndef EXPORT_SJDB_READER_VIEW_H
#define EXPORT_SJDB_READER_VIEW_H

#include "export/sjdb/reader/layout.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

struct sjdb_array {
    const uint8_t *bytes; /* the packed items, followed by SJDB_PAD_BYTES; never NULL */
    /* number of items; mask with the bits of one item, unused for rows of tables */
    uint64_t count, mask;
    uint32_t width; /* bits of one item, up to 64; for rows of tables any number */
};

struct sjdb_column {
    uint32_t offset; /* where the column begins in a row, in bits */
    uint32_t width;
    uint64_t mask;
    /* the column's dictionary in the table's values: index and size; size 0 if the column stores
     * values themselves */
    uint64_t first, count;
};

/* A column's values for comparing rows, computed when the file is opened: lookups spend most of
 * their time here. */
struct sjdb_comparison {
    uint64_t mask;
    uint64_t dictionary; /* where the column's dictionary begins in the values, in bits */
    uint64_t count;      /* number of items in the column's dictionary */
    uint32_t offset, field;
};

struct sjdb_table {
    struct sjdb_array rows, values;
    struct sjdb_column column[SJDB_SHAPE_COLUMNS];
    /* A column that has the same value in all rows is not read: varying_count columns are read, the
     * values of constant_count columns are known. */
    int varying_count, constant_count;
    bool narrow; /* true if no number of the table is wider than SJDB_NARROW bits */
    struct sjdb_comparison varying[SJDB_SHAPE_FIELDS];
    uint8_t constant[SJDB_SHAPE_FIELDS];
    uint64_t constant_value[SJDB_SHAPE_FIELDS]; /* the values of the columns in constant[] */
};

/* A choice (solver, algorithm, library) of an entry, with the texts and flags that its numbers
 * stand for. */
struct sjdb_choice {
    const char *solver, *algorithm, *library;
    /* the choice's dictionary of values: index and size; size 0 if the payload has the values
     * themselves */
    uint64_t first, count;
    uint32_t revision, flags;
    uint32_t width; /* bits that a value takes in the payload */
    bool whole;     /* false if one of the file's numbers for it is out of range */
};
/* How many choices are looked up when a file is opened; real files have fewer. The limit bounds the
 * time of opening. */
#define SJDB_READY_CHOICES 128

/* A set of problems: with find entries, perf rows, or solutions. */
struct sjdb_set {
    struct sjdb_array part[SJDB_PART_COUNT];
    struct sjdb_table shapes, variants;
    uint32_t bucket_bits;
    uint32_t time_width; /* bits that an entry's time takes in the payload */
    uint64_t slot_mask;
    uint64_t ready_count;
    struct sjdb_choice ready[SJDB_READY_CHOICES];
};

/* A range of time codes. A code means (first_mantissa + code - first_code) / scale. */
struct sjdb_time_range {
    uint64_t first_code, first_mantissa;
    double scale;
};

#define SJDB_SINGLES SJDB_SINGLE_END

struct skipjackdb {
    const uint8_t *bytes;
    size_t length;
    bool mapped; /* mapped by this library, which unmaps it */
    uint32_t section_count;
    /* the sections that a file has once, by enum sjdb_kind */
    struct sjdb_array single[SJDB_SINGLES];
    struct sjdb_set find, perf, solved;
    /* problems of other forms than packed convolutions without epilogue; their numbers follow those
     * of `find` and `solved` */
    struct sjdb_set other_find, other_solved;
    struct sjdb_set unmeasured; /* problems of any form with solutions that were never measured */
    struct sjdb_time_range times[SJDB_TIME_RANGES_MAX];
    uint32_t time_range_count;
    uint64_t first_rare; /* codes from this one on are indices into the rare times */
};

/* The state of one lookup. */
struct sjdb_look {
    const struct skipjackdb *db;
    bool damaged;
};

static inline uint32_t sjdb_le32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return le32toh(value);
}

static inline uint64_t sjdb_le64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return le64toh(value);
}

static inline uint64_t sjdb_mask(uint32_t width)
{
    return width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

/* an item of up to this many bits, at any bit offset, lies within eight bytes */
#define SJDB_NARROW 57

/* Reads up to SJDB_NARROW bits at a bit offset; 8 bytes from there must be readable. */
static inline uint64_t sjdb_few_bits(const uint8_t *bytes, uint64_t bit, uint64_t mask)
{
    return sjdb_le64(bytes + (bit >> 3)) >> (bit & 7) & mask;
}

/* Reads `width` bits (up to 64) at a bit offset; 9 bytes from there must be readable. */
static inline uint64_t sjdb_bits(const uint8_t *bytes, uint64_t bit, uint32_t width, uint64_t mask)
{
    uint64_t value = sjdb_few_bits(bytes, bit, UINT64_MAX);
    if (width > SJDB_NARROW) { /* only a number this wide may reach into a ninth byte */
        value |= (uint64_t)bytes[(bit >> 3) + 8] << 1 << (63 - (bit & 7));
    }
    return value & mask;
}

static inline uint64_t sjdb_get(struct sjdb_look *look, const struct sjdb_array *array,
                                uint64_t index)
{
    if (index >= array->count) {
        look->damaged = true;
        return 0;
    }
    return sjdb_bits(array->bytes, index * array->width, array->width, array->mask);
}

/* Reads a column's value in a row of a table. The caller has checked the row's index. */
static inline uint64_t sjdb_cell(struct sjdb_look *look, const struct sjdb_table *table,
                                 uint64_t row, int which)
{
    const struct sjdb_column *column = &table->column[which];
    uint64_t bit = row * table->rows.width + column->offset;
    uint64_t cell = sjdb_bits(table->rows.bytes, bit, column->width, column->mask);
    if (column->count == 0) {
        return cell;
    }
    if (cell >= column->count) {
        look->damaged = true;
        return 0;
    }
    /* when the file was opened, all dictionaries were found to be within these values */
    const struct sjdb_array *values = &table->values;
    return sjdb_bits(values->bytes, (column->first + cell) * values->width, values->width,
                     values->mask);
}

/* Returns the text with this number. An invalid number marks damage and gives "". */
const char *sjdb_text(struct sjdb_look *look, uint64_t number);
/* Returns the number of a text, or -1 if the file does not have it. */
int64_t sjdb_text_number(struct sjdb_look *look, const char *text);

/* The size of struct skipjackdb_problem before 1.2. */
#define SJDB_PROBLEM_1_1  offsetof(struct skipjackdb_problem, kind)
/* The size of struct skipjackdb_solution before 1.2. */
#define SJDB_SOLUTION_1_1 offsetof(struct skipjackdb_solution, packed_bytes)
/* The sizes of struct skipjackdb_entry and struct skipjackdb_choice before 1.4. */
#define SJDB_ENTRY_1_3    offsetof(struct skipjackdb_entry, low_ms)
#define SJDB_CHOICE_1_3   offsetof(struct skipjackdb_choice, low_ms)
/* The size of struct skipjackdb_rules before 1.5. */
#define SJDB_RULES_1_4    offsetof(struct skipjackdb_rules, unmeasured)

/* Checks the size of a caller's problem, which may be that of 1.1. */
static inline bool sjdb_problem_sized(const struct skipjackdb_problem *problem)
{
    return problem != NULL && problem->size >= SJDB_PROBLEM_1_1;
}
/* Copies a caller's problem, which may be of 1.1, and checks that its texts end. */
bool sjdb_problem_take(const struct skipjackdb_problem *problem, struct skipjackdb_problem *own);
/* Copies *own to the caller's struct. SKIPJACKDB_SPACE if the caller's struct lacks fields for it. */
int sjdb_problem_give(const struct skipjackdb_problem *own, struct skipjackdb_problem *problem);

/* sjdb_set_find() finds the number in a set of a problem with this form (sjdb_form_write());
 * sjdb_set_problem() does the reverse. */
int sjdb_set_find(const struct skipjackdb *db, const struct sjdb_set *set,
                  const struct skipjackdb_problem *problem, const char *form, uint64_t *number);
int sjdb_set_problem(const struct skipjackdb *db, const struct sjdb_set *set, uint64_t number,
                     struct skipjackdb_problem *problem);

/* Finds a problem's number in two sets: packed convolutions without epilogue in the first one, all
 * others in the second one; files of 1.1 have epilogues in the first one, too. Solutions that pack the
 * filter are in the second one. */
int sjdb_sets_find(const struct skipjackdb *db, const struct sjdb_set *set,
                   const struct sjdb_set *others, const struct skipjackdb_problem *problem,
                   uint64_t *number);

static inline uint64_t sjdb_set_count(const struct sjdb_set *set)
{
    return set->part[SJDB_PROBLEM_LISTS].count;
}
/* Returns the one of two sets that holds the problem with this number, and makes *number the number
 * within it. */
static inline const struct sjdb_set *sjdb_set_of(const struct sjdb_set *set,
                                                 const struct sjdb_set *others, uint64_t *number)
{
    if (*number < sjdb_set_count(set)) {
        return set;
    }
    *number -= sjdb_set_count(set);
    return others;
}

/* Reads the payload of a problem: one item for each choice in its list. */
struct sjdb_items {
    const struct sjdb_set *set;
    uint64_t bit;       /* position in the payload, in bits */
    uint64_t next, end; /* list items */
    uint64_t entry;     /* the next item's number in SJDB_INTERVAL_ENTRIES; only of find entries */
};
struct sjdb_item {
    const struct sjdb_set *set;
    uint64_t choice;
    uint64_t time_code; /* the code of its time; 0 in sets without times */
    uint64_t value;
    uint64_t entry; /* its number in SJDB_INTERVAL_ENTRIES; only of find entries */
};
void sjdb_items_init(struct sjdb_look *look, const struct sjdb_set *set, uint64_t number,
                     struct sjdb_items *items);
/* Reads the next item. Returns false at the end, and if the file is damaged. */
bool sjdb_items_next(struct sjdb_look *look, struct sjdb_items *items, struct sjdb_item *item);

/* The array to which a query writes entries, and the function that makes an entry of an item.
 * entry_size is the caller's size of an entry: it may exceed made_size if the caller was compiled
 * with a later header, and the excess is zeroed. */
struct sjdb_entries {
    void *entries;
    size_t made_size, entry_size, room;
    void (*fill)(struct sjdb_look *look, const struct sjdb_item *item, void *entry);
};
int sjdb_set_entries(const struct skipjackdb *db, const struct sjdb_set *set, uint64_t number,
                     const struct sjdb_entries *into, size_t *count);

/* Looks up what a choice's numbers stand for. An invalid number marks damage. */
void sjdb_choice_read(struct sjdb_look *look, const struct sjdb_set *set, uint64_t number,
                      struct sjdb_choice *choice);
/* Returns the solver, algorithm and the like that choice `number` of an entry names: as looked up when the file was
 * opened, or else looked up now into *spare. */
static inline const struct sjdb_choice *sjdb_choice_of(struct sjdb_look *look,
                                                       const struct sjdb_set *set, uint64_t number,
                                                       struct sjdb_choice *spare)
{
    if (number < set->ready_count) {
        look->damaged = look->damaged || !set->ready[number].whole;
        return &set->ready[number];
    }
    sjdb_choice_read(look, set, number, spare);
    return spare;
}

/* Copies a struct to the caller. The caller's struct may be larger if it was compiled with a later
 * header: the excess is zeroed. It may be smaller if an earlier header had fewer fields: it gets those. */
static inline void sjdb_hand_out(const void *made, size_t size, void *room, size_t room_size)
{
    size_t given = size < room_size ? size : room_size;
    memcpy(room, made, given);
    memset((char *)room + given, 0, room_size - given);
}

/* Decodes a time, in milliseconds. */
double sjdb_time_of(struct sjdb_look *look, uint64_t code);
/* Sets the interval of an entry's time; both ends 0 if it has none. `entry` is the number of struct
 * sjdb_item. */
void sjdb_interval_of(struct sjdb_look *look, uint64_t entry, double *low_ms, double *high_ms);

/* Reads a recipe: sets the solution's params, workspace, packing and launch count, and leaves its
 * solver's fields as they are. Recipes of SJDB_OTHER_RECIPES are numbered behind the others. */
void sjdb_recipe_read(struct sjdb_look *look, uint64_t number,
                      struct skipjackdb_solution *solution);

/* Check all records of their kind, for skipjackdb_verify(). */
int sjdb_verify_records(const struct skipjackdb *db);
int sjdb_verify_kernels(const struct skipjackdb *db);
int sjdb_verify_solutions(const struct skipjackdb *db);
/* Checks that offsets ascend and are within the items. `starts` has one number more than records:
 * the end of the last one. */
bool sjdb_starts_hold(struct sjdb_look *look, const struct sjdb_array *starts,
                      const struct sjdb_array *items);

/* Returns the number of a solution's recipe. */
uint64_t sjdb_recipe_of(const struct skipjackdb *db, const struct sjdb_item *item);
/* Returns true if launches read other operands than x, w and y, or pack the filter. */
bool sjdb_recipe_is_other(const struct skipjackdb *db, uint64_t number);

/* Checks that the size that a caller set in a struct is at least its size in this library. */
#define SJDB_SIZED(pointer) ((pointer) != NULL && (pointer)->size >= sizeof *(pointer))

#endif
