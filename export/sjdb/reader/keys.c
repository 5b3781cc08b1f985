/* Finds a problem's number. A problem is a shape (sizes) and a variant (batch, direction, types,
 * layouts, form): first the shape is looked up by its hash, then the variant in the list of the shape's
 * variants. */
#include "export/sjdb/reader/forms.h"

static uint64_t bucket_number(const struct sjdb_set *set, uint64_t hash)
{
    return set->bucket_bits > 0 ? hash >> (64 - set->bucket_bits) : 0;
}

/* Sets the range of shapes in the bucket that the first bits of the hash name. */
static void bucket_of(struct sjdb_look *look, const struct sjdb_set *set, uint64_t hash,
                      uint64_t *first, uint64_t *end)
{
    uint64_t bucket = bucket_number(set, hash);
    *first = sjdb_get(look, &set->part[SJDB_BUCKETS], bucket);
    *end = sjdb_get(look, &set->part[SJDB_BUCKETS], bucket + 1);
    if (*end > set->part[SJDB_SHAPES].count || *first > *end || *end - *first > SJDB_BUCKET_MAX) {
        look->damaged = true;
        *first = *end = 0;
    }
}

/* Compares a row with the wanted fields, in a table that has numbers wider than SJDB_NARROW
 * bits. */
static bool wide_row_is(struct sjdb_look *look, const struct sjdb_table *table, uint64_t row,
                        const uint64_t *fields)
{
    uint64_t different = 0;
    for (int i = 0; i < table->varying_count; i++) {
        int field = (int)table->varying[i].field;
        different |= sjdb_cell(look, table, row, field) ^ fields[field];
    }
    return different == 0;
}

/* Compares a row with the wanted fields in all columns, without stopping at the first difference:
 * nearly every row compared is the wanted one, since fingerprints and slots have ruled out the
 * others. */
static bool row_is(struct sjdb_look *look, const struct sjdb_table *table, uint64_t row,
                   const uint64_t *fields)
{
    const struct sjdb_comparison *end = table->varying + table->varying_count;
    const uint8_t *rows = table->rows.bytes, *values = table->values.bytes;
    const uint64_t width = table->values.width, mask = table->values.mask;
    uint64_t different = 0, begin = row * table->rows.width;
    if (!table->narrow) {
        return wide_row_is(look, table, row, fields);
    }
    for (const struct sjdb_comparison *column = table->varying; column < end; column++) {
        uint64_t cell = sjdb_few_bits(rows, begin + column->offset, column->mask);
        if (column->count > 0) {
            if (cell >= column->count) {
                look->damaged = true;
                return false;
            }
            cell = sjdb_few_bits(values, column->dictionary + cell * width, mask);
        }
        different |= cell ^ fields[column->field];
    }
    return different == 0;
}

static bool constants_are(const struct sjdb_table *table, const uint64_t *fields)
{
    uint64_t different = 0;
    for (int i = 0; i < table->constant_count; i++) {
        different |= table->constant_value[i] ^ fields[table->constant[i]];
    }
    return different == 0;
}

static bool find_shape(struct sjdb_look *look, const struct sjdb_set *set, const uint64_t *fields,
                       uint64_t hash, uint64_t *shape)
{
    uint64_t first, end;
    bucket_of(look, set, hash, &first, &end);
    for (uint64_t i = first; i < end; i++) {
        if (sjdb_get(look, &set->part[SJDB_FINGERPRINTS], i) == (hash & 0xffff) &&
            row_is(look, &set->shapes, i, fields)) {
            *shape = i;
            return true;
        }
    }
    return false;
}

/* Finds a variant's number in the hash table of variants, where an empty slot ends the search. */
static bool find_variant(struct sjdb_look *look, const struct sjdb_set *set, const uint64_t *fields,
                         uint64_t slot, uint64_t *variant)
{
    const struct sjdb_array *slots = &set->part[SJDB_VARIANT_SLOTS];
    for (int i = 0; i < SJDB_PROBES_MAX && slots->count > 0; i++, slot++) {
        uint64_t held = sjdb_get(look, slots, slot & set->slot_mask);
        if (held == 0) {
            return false;
        }
        if (held > set->variants.rows.count) {
            look->damaged = true;
            return false;
        }
        if (row_is(look, &set->variants, held - 1, fields)) {
            *variant = held - 1;
            return true;
        }
    }
    return false;
}

/* Finds the variant's position in the ascending list of the shape's variants. The binary search has
 * no branch, since no processor can predict which half comes next. */
static bool find_rank(struct sjdb_look *look, const struct sjdb_set *set, uint64_t which,
                      uint64_t variant, uint64_t *rank)
{
    const struct sjdb_array *items = &set->part[SJDB_SET_ITEMS];
    uint64_t first = sjdb_get(look, &set->part[SJDB_SET_STARTS], which);
    uint64_t end = sjdb_get(look, &set->part[SJDB_SET_STARTS], which + 1);
    uint64_t low = first;
    if (first >= end || end > items->count) {
        look->damaged = true;
        return false;
    }
    for (uint64_t count = end - first; count > 1; count -= count / 2) {
        uint64_t middle = low + count / 2;
        uint64_t held = sjdb_bits(items->bytes, middle * items->width, items->width, items->mask);
        low = held <= variant ? middle : low;
    }
    *rank = low - first;
    return sjdb_get(look, items, low) == variant;
}

/* Prefetches an item: waiting for memory takes longer than all computations here. */
static void fetch(const struct sjdb_array *array, uint64_t index)
{
    if (index < array->count) {
        __builtin_prefetch(array->bytes + (index * array->width >> 3));
    }
}

/* Sets the number by which variants state the form: 0 for none, else the text's number + 1. Returns
 * false if the file has no problem with this form. */
static bool form_number(struct sjdb_look *look, const char *form, uint64_t *number)
{
    *number = 0;
    if (form[0] != '\0') {
        *number = (uint64_t)(sjdb_text_number(look, form) + 1);
        return *number != 0;
    }
    return true;
}

int sjdb_set_find(const struct skipjackdb *db, const struct sjdb_set *set,
                  const struct skipjackdb_problem *problem, const char *form, uint64_t *number)
{
    struct sjdb_look look = {db, false};
    uint64_t shape_fields[SJDB_SHAPE_FIELDS], variant_fields[SJDB_VARIANT_FIELDS];
    uint64_t shape = 0, variant = 0, rank = 0, text = 0;
    if (set->part[SJDB_SHAPES].count == 0) {
        return SKIPJACKDB_NOT_FOUND;
    }
    if (!form_number(&look, form, &text)) {
        return look.damaged ? SKIPJACKDB_DAMAGED : SKIPJACKDB_NOT_FOUND;
    }
    sjdb_shape_fields(problem, shape_fields);
    sjdb_variant_fields(problem, text, variant_fields);
    uint64_t shape_hash = sjdb_fields_hash(shape_fields, SJDB_SHAPE_FIELDS);
    fetch(&set->part[SJDB_BUCKETS], bucket_number(set, shape_hash));
    uint64_t variant_hash = sjdb_fields_hash(variant_fields, SJDB_VARIANT_FIELDS);
    fetch(&set->part[SJDB_VARIANT_SLOTS], variant_hash & set->slot_mask);
    bool found = constants_are(&set->shapes, shape_fields) &&
                 constants_are(&set->variants, variant_fields) &&
                 find_shape(&look, set, shape_fields, shape_hash, &shape);
    if (found) {
        found = find_variant(&look, set, variant_fields, variant_hash, &variant) &&
                find_rank(&look, set, sjdb_cell(&look, &set->shapes, shape, SJDB_SHAPE_SET),
                          variant, &rank);
    }
    if (found) {
        *number = sjdb_cell(&look, &set->shapes, shape, SJDB_SHAPE_BASE) + rank;
        look.damaged = look.damaged || *number >= set->part[SJDB_PROBLEM_LISTS].count;
        fetch(&set->part[SJDB_PROBLEM_LISTS], *number);
        fetch(&set->part[SJDB_PAYLOAD_STARTS], *number / SJDB_PAYLOAD_STEP);
    }
    return look.damaged ? SKIPJACKDB_DAMAGED : found ? SKIPJACKDB_OK : SKIPJACKDB_NOT_FOUND;
}

/* Returns the shape of the problem with this number: the last shape whose first problem has no
 * greater number. */
static uint64_t shape_of(struct sjdb_look *look, const struct sjdb_set *set, uint64_t number)
{
    uint64_t low = 0, high = set->part[SJDB_SHAPES].count;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (sjdb_cell(look, &set->shapes, middle, SJDB_SHAPE_BASE) <= number) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Returns the variant at this position of the shape's list; -1 behind its end. */
static int64_t variant_of(struct sjdb_look *look, const struct sjdb_set *set, uint64_t which,
                          uint64_t rank)
{
    uint64_t first = sjdb_get(look, &set->part[SJDB_SET_STARTS], which);
    uint64_t end = sjdb_get(look, &set->part[SJDB_SET_STARTS], which + 1);
    if (end < first || rank >= end - first) {
        return -1;
    }
    uint64_t variant = sjdb_get(look, &set->part[SJDB_SET_ITEMS], first + rank);
    return variant < set->part[SJDB_VARIANTS].count ? (int64_t)variant : -1;
}

static bool read_variant(struct sjdb_look *look, const struct sjdb_set *set, uint64_t variant,
                         struct skipjackdb_problem *problem)
{
    uint64_t fields[SJDB_VARIANT_FIELDS];
    const char *form = "";
    for (int i = 0; i < SJDB_VARIANT_FIELDS; i++) {
        fields[i] = sjdb_cell(look, &set->variants, variant, i);
    }
    if (fields[SJDB_VARIANT_EPILOGUE] > 0) {
        form = sjdb_text(look, fields[SJDB_VARIANT_EPILOGUE] - 1);
    }
    if (!sjdb_variant_from_fields(fields, problem)) {
        return false;
    }
    bool any = set == &look->db->other_find || set == &look->db->other_solved ||
               set == &look->db->unmeasured;
    return any ? sjdb_form_read(form, problem) : sjdb_epilogue_read(form, problem);
}

int sjdb_set_problem(const struct skipjackdb *db, const struct sjdb_set *set, uint64_t number,
                     struct skipjackdb_problem *problem)
{
    struct sjdb_look look = {db, false};
    uint64_t fields[SJDB_SHAPE_COLUMNS];
    if (number >= set->part[SJDB_PROBLEM_LISTS].count) {
        return SKIPJACKDB_NOT_FOUND;
    }
    if (set->part[SJDB_SHAPES].count == 0) {
        return SKIPJACKDB_DAMAGED;
    }
    uint64_t shape = shape_of(&look, set, number);
    for (int i = 0; i < SJDB_SHAPE_COLUMNS; i++) {
        fields[i] = sjdb_cell(&look, &set->shapes, shape, i);
    }
    int64_t variant =
        variant_of(&look, set, fields[SJDB_SHAPE_SET], number - fields[SJDB_SHAPE_BASE]);
    if (variant < 0 || !read_variant(&look, set, (uint64_t)variant, problem) || look.damaged) {
        return SKIPJACKDB_DAMAGED;
    }
    sjdb_shape_from_fields(fields, problem);
    return SKIPJACKDB_OK;
}

int sjdb_sets_find(const struct skipjackdb *db, const struct sjdb_set *set,
                   const struct sjdb_set *others, const struct skipjackdb_problem *problem,
                   uint64_t *number)
{
    char form[SJDB_FORM_MAX];
    int code = SKIPJACKDB_NOT_FOUND;
    if (!sjdb_form_write(problem, form)) {
        return SKIPJACKDB_NOT_FOUND;
    }
    if (form[0] == '\0' || form[0] == '+') {
        code = sjdb_set_find(db, set, problem, form, number);
    }
    if (code == SKIPJACKDB_NOT_FOUND) {
        code = sjdb_set_find(db, others, problem, form, number);
        *number += sjdb_set_count(set);
    }
    return code;
}

uint64_t skipjackdb_problems(const skipjackdb *db, size_t problem_size)
{
    if (db == NULL) {
        return 0;
    }
    bool all = problem_size >= sizeof(struct skipjackdb_problem);
    return sjdb_set_count(&db->find) + (all ? sjdb_set_count(&db->other_find) : 0);
}

uint64_t(skipjackdb_problem_count)(const skipjackdb *db)
{
    return skipjackdb_problems(db, SJDB_PROBLEM_1_1);
}

int skipjackdb_problem_at(const skipjackdb *db, uint64_t number, struct skipjackdb_problem *problem)
{
    struct skipjackdb_problem own = {.size = sizeof own};
    if (db == NULL || !sjdb_problem_sized(problem)) {
        return SKIPJACKDB_USAGE;
    }
    const struct sjdb_set *set = sjdb_set_of(&db->find, &db->other_find, &number);
    int code = sjdb_set_problem(db, set, number, &own);
    return code == SKIPJACKDB_OK ? sjdb_problem_give(&own, problem) : code;
}

int skipjackdb_find(const skipjackdb *db, const struct skipjackdb_problem *problem,
                    uint64_t *number)
{
    struct skipjackdb_problem own;
    if (db == NULL || !sjdb_problem_sized(problem) || number == NULL ||
        !sjdb_problem_take(problem, &own)) {
        return SKIPJACKDB_USAGE;
    }
    return sjdb_sets_find(db, &db->find, &db->other_find, &own, number);
}

int skipjackdb_find_key(const skipjackdb *db, const char *key, uint64_t *number)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    int code = skipjackdb_problem_parse(key, &problem);
    return code == SKIPJACKDB_OK ? skipjackdb_find(db, &problem, number) : code;
}
