/*
 * How this library sees a mapped file: arrays of packed numbers, none of which is read past its
 * end. A number asked for beyond an array's end is 0 and marks the look as damaged, so that callers
 * ask once, at their end. Internal to the library.
 */
#ifndef EXPORT_READER_VIEW_H
#define EXPORT_READER_VIEW_H

#include "export/sjdb/reader/layout.h"

#include <endian.h>
#include <string.h>

struct sjdb_array {
    const uint8_t *bytes; /* SJDB_PAD_BYTES follow the items; never NULL */
    uint64_t count, mask; /* mask: the bits of an item; of rows none */
    uint32_t width;       /* bits of an item: up to 64, but for rows */
};

struct sjdb_column {
    uint32_t offset; /* bits, from the row's begin */
    uint32_t width;
    uint64_t mask;
    uint64_t first, count; /* its dictionary; count 0: the number itself is the value */
};

/* A column as rows are compared by it: what lookups spend most of their time on. */
struct sjdb_comparison {
    uint64_t mask;
    uint64_t dictionary; /* its first bit among the values */
    uint64_t count;      /* as the column's */
    uint32_t offset, field;
};

struct sjdb_table {
    struct sjdb_array rows, values;
    struct sjdb_column column[SJDB_SHAPE_COLUMNS];
    /* Columns of one value need no reading: those of more, and what the others are. */
    int varying_count, constant_count;
    bool narrow; /* no number of the table has more than SJDB_NARROW bits */
    struct sjdb_comparison varying[SJDB_SHAPE_FIELDS];
    uint8_t constant[SJDB_SHAPE_FIELDS];
    uint64_t constant_value[SJDB_SHAPE_FIELDS]; /* as constant[] lists them */
};

/* A choice with all that its numbers lead to. */
struct sjdb_choice {
    const char *solver, *algorithm, *library;
    uint64_t first, count; /* its dictionary of values; count 0: the code is the value */
    uint32_t revision, flags;
    uint32_t width; /* of a value's code */
    bool whole;     /* otherwise one of the numbers is wrong */
};
/* So many are made ready when a file is opened; it takes a bounded time, and files have fewer. */
#define SJDB_READY_CHOICES 128

/* One of the sets of problems. */
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
    bool mapped; /* by this library */
    uint32_t section_count;
    struct sjdb_array single[SJDB_SINGLES]; /* by enum sjdb_kind */
    struct sjdb_set find, perf, solved;
    struct sjdb_time_range times[SJDB_TIME_RANGES_MAX];
    uint32_t time_range_count;
    uint64_t first_rare; /* codes from here on are numbers of rare times */
};

/* One question to a database. */
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

#define SJDB_NARROW 57 /* bits that eight bytes hold from any bit of their first on */

/* Bits up to SJDB_NARROW that begin at a bit; 8 bytes from there on must be readable. */
static inline uint64_t sjdb_few_bits(const uint8_t *bytes, uint64_t bit, uint64_t mask)
{
    return sjdb_le64(bytes + (bit >> 3)) >> (bit & 7) & mask;
}

/* width bits (up to 64) that begin at a bit; 9 bytes from there on must be readable. */
static inline uint64_t sjdb_bits(const uint8_t *bytes, uint64_t bit, uint32_t width, uint64_t mask)
{
    uint64_t value = sjdb_few_bits(bytes, bit, UINT64_MAX);
    if (width > SJDB_NARROW) { /* only then it may reach into a ninth byte */
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

/* A column of a row; the row's index must be below the rows' count. */
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
        &table->values; /* dictionaries lie in them: opening saw to it */
    return sjdb_bits(values->bytes, (column->first + cell) * values->width, values->width,
                     values->mask);
}

/* A text by number; "" marks damage. */
const char *sjdb_text(struct sjdb_look *look, uint64_t number);
/* The number of a text, or -1. */
int64_t sjdb_text_number(struct sjdb_look *look, const char *text);

/* A problem's place in a set. */
int sjdb_set_find(const struct skipjackdb *db, const struct sjdb_set *set,
                  const struct skipjackdb_problem *problem, uint64_t *number);
int sjdb_set_problem(const struct skipjackdb *db, const struct sjdb_set *set, uint64_t number,
                     struct skipjackdb_problem *problem);

/* Reads a problem's payload item by item: choice by choice of its list. */
struct sjdb_items {
    const struct sjdb_set *set;
    uint64_t bit;       /* of the payload */
    uint64_t next, end; /* list items */
};
struct sjdb_item {
    uint64_t choice;
    uint64_t time_code; /* 0 in sets without times */
    uint64_t value;
};
void sjdb_items_init(struct sjdb_look *look, const struct sjdb_set *set, uint64_t number,
                     struct sjdb_items *items);
/* False at the end, and where the look is damaged. */
bool sjdb_items_next(struct sjdb_look *look, struct sjdb_items *items, struct sjdb_item *item);

/* Where a problem's entries go, and how one is made of an item. A caller may be compiled with a later
 * header and have larger ones: what is behind ours becomes 0. */
struct sjdb_entries {
    void *entries;
    size_t made_size, entry_size, room;
    void (*fill)(struct sjdb_look *look, const struct sjdb_item *item, void *entry);
};
int sjdb_set_entries(const struct skipjackdb *db, const struct sjdb_set *set, uint64_t number,
                     const struct sjdb_entries *into, size_t *count);

/* Into *choice; what is wrong marks the look as damaged. */
void sjdb_choice_read(struct sjdb_look *look, const struct sjdb_set *set, uint64_t number,
                      struct sjdb_choice *choice);
/* The choice made ready, or read into *spare. */
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

/* Copies a struct to a caller, who may be compiled with a later header and have a larger one: what is
 * behind ours becomes 0. */
static inline void sjdb_hand_out(const void *made, size_t size, void *room, size_t room_size)
{
    memcpy(room, made, size);
    memset((char *)room + size, 0, room_size - size);
}

/* Params, workspace and launches of a recipe; the solver's fields stay. */
void sjdb_recipe_read(struct sjdb_look *look, uint64_t number,
                      struct skipjackdb_solution *solution);

/* Goes through all records. */
int sjdb_verify_records(const struct skipjackdb *db);
int sjdb_verify_kernels(const struct skipjackdb *db);
int sjdb_verify_solutions(const struct skipjackdb *db);
/* Whether these are where each part of the items begins, and the end of the last. */
bool sjdb_starts_hold(struct sjdb_look *look, const struct sjdb_array *starts,
                      const struct sjdb_array *items);

/* Whether a struct that a caller hands in reaches as far as this library's first version had it. */
#define SJDB_SIZED(pointer) ((pointer) != NULL && (pointer)->size >= sizeof *(pointer))

#endif
