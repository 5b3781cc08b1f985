/*
 * A mapped file as arrays of packed numbers. No read goes past an array's end: a number asked for
 * beyond it is 0 and marks the look as damaged, so callers check once, at their end. Internal to
 * the library.
 */
#ifndef EXPORT_READER_VIEW_H
#define EXPORT_READER_VIEW_H

#include "export/sjdb/reader/layout.h"

#include <endian.h>
#include <string.h>

struct sjdb_array {
    const uint8_t *bytes; /* SJDB_PAD_BYTES follow the items; never NULL */
    uint64_t count, mask; /* mask: the bits of an item; unused for rows */
    uint32_t width;       /* bits of an item, up to 64; more for rows of tables */
};

struct sjdb_column {
    uint32_t offset; /* in bits, from the row's beginning */
    uint32_t width;
    uint64_t mask;
    uint64_t first, count; /* its dictionary; count 0 if the number itself is the value */
};

/* A column prepared for comparing rows, on which lookups spend most of their time. */
struct sjdb_comparison {
    uint64_t mask;
    uint64_t dictionary; /* first bit of its dictionary in the values */
    uint64_t count;      /* size of its dictionary */
    uint32_t offset, field;
};

struct sjdb_table {
    struct sjdb_array rows, values;
    struct sjdb_column column[SJDB_SHAPE_COLUMNS];
    /* Columns with a single value need not be read: varying_count columns are read, constant_count
     * are not. */
    int varying_count, constant_count;
    bool narrow; /* no number of the table is wider than SJDB_NARROW bits */
    struct sjdb_comparison varying[SJDB_SHAPE_FIELDS];
    uint8_t constant[SJDB_SHAPE_FIELDS];
    uint64_t constant_value[SJDB_SHAPE_FIELDS]; /* in the order of constant[] */
};

/* A choice with its numbers resolved. */
struct sjdb_choice {
    const char *solver, *algorithm, *library;
    uint64_t first, count; /* its dictionary of values; count 0 if the code is the value */
    uint32_t revision, flags;
    uint32_t width; /* bits of a value's code */
    bool whole;     /* false if one of its numbers is invalid */
};
/* Choices resolved when a file is opened. The limit bounds the time of opening; real files have
 * fewer. */
#define SJDB_READY_CHOICES 128

/* A set of problems: with find entries, perf rows, or solutions. */
struct sjdb_set {
    struct sjdb_array part[SJDB_PART_COUNT];
    struct sjdb_table shapes, variants;
    uint32_t bucket_bits;
    uint32_t time_width; /* bits of an entry's time in the payload */
    uint64_t slot_mask;
    uint64_t ready_count;
    struct sjdb_choice ready[SJDB_READY_CHOICES];
};

/* Times whose codes begin at first_code: (first_mantissa + code - first_code) / scale. */
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
    struct sjdb_array single[SJDB_SINGLES]; /* by enum sjdb_kind */
    struct sjdb_set find, perf, solved;
    struct sjdb_time_range times[SJDB_TIME_RANGES_MAX];
    uint32_t time_range_count;
    uint64_t first_rare; /* codes from here on index the rare times */
};

/* The state of one query. */
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

#define SJDB_NARROW 57 /* bits that eight bytes hold at any bit offset */

/* Reads up to SJDB_NARROW bits at a bit offset; 8 bytes from there must be readable. */
static inline uint64_t sjdb_few_bits(const uint8_t *bytes, uint64_t bit, uint64_t mask)
{
    return sjdb_le64(bytes + (bit >> 3)) >> (bit & 7) & mask;
}

/* Reads `width` bits (up to 64) at a bit offset; 9 bytes from there must be readable. */
static inline uint64_t sjdb_bits(const uint8_t *bytes, uint64_t bit, uint32_t width, uint64_t mask)
{
    uint64_t value = sjdb_few_bits(bytes, bit, UINT64_MAX);
    if (width > SJDB_NARROW) { /* wider numbers may reach into a ninth byte */
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

/* Reads a column of a row; the row's index must be valid. */
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
    const struct sjdb_array *values =
        &table->values; /* opening checked that dictionaries are within the values */
    return sjdb_bits(values->bytes, (column->first + cell) * values->width, values->width,
                     values->mask);
}

/* Returns a text by its number; "" for an invalid one, which marks damage. */
const char *sjdb_text(struct sjdb_look *look, uint64_t number);
/* Returns the number of a text, or -1. */
int64_t sjdb_text_number(struct sjdb_look *look, const char *text);

/* Finds a problem's number in a set, and the reverse. */
int sjdb_set_find(const struct skipjackdb *db, const struct sjdb_set *set,
                  const struct skipjackdb_problem *problem, uint64_t *number);
int sjdb_set_problem(const struct skipjackdb *db, const struct sjdb_set *set, uint64_t number,
                     struct skipjackdb_problem *problem);

/* Reads a problem's payload, an item for each choice of its list. */
struct sjdb_items {
    const struct sjdb_set *set;
    uint64_t bit;       /* position in the payload */
    uint64_t next, end; /* list items */
};
struct sjdb_item {
    uint64_t choice;
    uint64_t time_code; /* 0 in sets without times */
    uint64_t value;
};
void sjdb_items_init(struct sjdb_look *look, const struct sjdb_set *set, uint64_t number,
                     struct sjdb_items *items);
/* Returns false at the end, and if the look is damaged. */
bool sjdb_items_next(struct sjdb_look *look, struct sjdb_items *items, struct sjdb_item *item);

/* Where entries are written, and how one is made of an item. entry_size is the caller's size of the
 * struct, which may be larger than ours if a later header was used; the rest is zeroed. */
struct sjdb_entries {
    void *entries;
    size_t made_size, entry_size, room;
    void (*fill)(struct sjdb_look *look, const struct sjdb_item *item, void *entry);
};
int sjdb_set_entries(const struct skipjackdb *db, const struct sjdb_set *set, uint64_t number,
                     const struct sjdb_entries *into, size_t *count);

/* Resolves a choice; an invalid number marks the look as damaged. */
void sjdb_choice_read(struct sjdb_look *look, const struct sjdb_set *set, uint64_t number,
                      struct sjdb_choice *choice);
/* Returns the resolved choice, or resolves it into *spare. */
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

/* Copies a struct to the caller's, which may be larger if a later header was used; the rest is
 * zeroed. */
static inline void sjdb_hand_out(const void *made, size_t size, void *room, size_t room_size)
{
    memcpy(room, made, size);
    memset((char *)room + size, 0, room_size - size);
}

/* Reads params, workspace and launches of a recipe; the solver's fields are not changed. */
void sjdb_recipe_read(struct sjdb_look *look, uint64_t number,
                      struct skipjackdb_solution *solution);

/* Check all records of their kind. */
int sjdb_verify_records(const struct skipjackdb *db);
int sjdb_verify_kernels(const struct skipjackdb *db);
int sjdb_verify_solutions(const struct skipjackdb *db);
/* Checks that starts are ascending and within the items; they have one more for the end. */
bool sjdb_starts_hold(struct sjdb_look *look, const struct sjdb_array *starts,
                      const struct sjdb_array *items);

/* Checks that the caller's struct is at least as large as in this library's first version. */
#define SJDB_SIZED(pointer) ((pointer) != NULL && (pointer)->size >= sizeof *(pointer))

#endif
