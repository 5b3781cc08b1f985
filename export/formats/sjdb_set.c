#include "export/formats/sjdb_set.h"

#include <string.h>

struct record {
    guint32 shape, variant; /* ids; ranks once they are known */
    guint32 first, count;   /* items */
};

/* What writing a set needs at hand. */
struct writing {
    struct sjdb_set_builder *builder;
    const struct sjdb_times *times;
    uint32_t base;
    SjdbFile *file;
    GArray *shape_order, *variant_order; /* ids, guint32 */
};

void sjdb_set_builder_init(struct sjdb_set_builder *builder)
{
    sjdb_rows_init(&builder->shapes, SJDB_SHAPE_FIELDS);
    sjdb_rows_init(&builder->variants, SJDB_VARIANT_FIELDS);
    sjdb_rows_init(&builder->choices, CHOICE_FIELDS);
    builder->records = g_array_new(FALSE, FALSE, sizeof(struct record));
    builder->items = g_array_new(FALSE, FALSE, sizeof(struct sjdb_set_item));
}

void sjdb_set_builder_clear(struct sjdb_set_builder *builder)
{
    sjdb_rows_clear(&builder->shapes);
    sjdb_rows_clear(&builder->variants);
    sjdb_rows_clear(&builder->choices);
    g_clear_pointer(&builder->records, g_array_unref);
    g_clear_pointer(&builder->items, g_array_unref);
}

void sjdb_set_add(struct sjdb_set_builder *builder, const struct skipjackdb_problem *problem,
                  uint64_t epilogue, const struct sjdb_set_item *items, gsize count)
{
    uint64_t shape[SJDB_SHAPE_FIELDS], variant[SJDB_VARIANT_FIELDS];
    sjdb_shape_fields(problem, shape);
    sjdb_variant_fields(problem, epilogue, variant);
    struct record record = {sjdb_rows_add(&builder->shapes, shape),
                            sjdb_rows_add(&builder->variants, variant), builder->items->len,
                            (guint32)count};
    g_array_append_val(builder->records, record);
    g_array_append_vals(builder->items, items, (guint)count);
}

/* Replaces the ids of texts in one field of all rows. The hash table is of no use afterwards. */
static void rename_field(struct sjdb_rows *rows, int field, const GArray *ranks, bool none_is_0)
{
    for (guint32 i = 0; i < rows->rows->len; i++) {
        uint64_t *value = (uint64_t *)rows->rows->pdata[i] + 1 + field;
        if (!none_is_0) {
            *value = g_array_index(ranks, guint32, *value);
        } else if (*value > 0) {
            *value = 1 + (uint64_t)g_array_index(ranks, guint32, *value - 1);
        }
    }
}

static void rename_all(struct sjdb_set_builder *builder, const struct sjdb_renaming *renaming)
{
    rename_field(&builder->variants, SJDB_VARIANT_EPILOGUE, renaming->texts, true);
    rename_field(&builder->choices, CHOICE_SOLVER, renaming->solvers, false);
    rename_field(&builder->choices, CHOICE_ALGORITHM, renaming->texts, true);
    rename_field(&builder->choices, CHOICE_LIBRARY, renaming->texts, true);
    for (guint i = 0; renaming->values != NULL && i < builder->items->len; i++) {
        struct sjdb_set_item *item = &g_array_index(builder->items, struct sjdb_set_item, i);
        item->value = g_array_index(renaming->values, guint32, item->value);
    }
}

static gint compare_records(gconstpointer a, gconstpointer b)
{
    const struct record *one = a, *other = b;
    if (one->shape != other->shape) {
        return one->shape < other->shape ? -1 : 1;
    }
    return (one->variant > other->variant) - (one->variant < other->variant);
}

static void fail_twice(const struct writing *writing, const struct record *record, GError **error)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    char key[SKIPJACKDB_KEY_MAX] = "";
    guint32 shape = g_array_index(writing->shape_order, guint32, record->shape);
    guint32 variant = g_array_index(writing->variant_order, guint32, record->variant);
    sjdb_shape_from_fields(sjdb_rows_get(&writing->builder->shapes, shape), &problem);
    sjdb_variant_from_fields(sjdb_rows_get(&writing->builder->variants, variant), &problem);
    skipjackdb_problem_key(&problem, key, sizeof key);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                "the problem '%s' comes twice: merge its entries first", key);
}

/* Brings shapes, variants, choices and problems into the order of the file. */
static bool put_in_order(struct writing *writing, GError **error)
{
    struct sjdb_set_builder *builder = writing->builder;
    writing->shape_order = sjdb_rows_order(&builder->shapes, true);
    writing->variant_order = sjdb_rows_order(&builder->variants, false);
    g_autoptr(GArray) shape_rank = sjdb_rank_of(writing->shape_order);
    g_autoptr(GArray) variant_rank = sjdb_rank_of(writing->variant_order);
    g_autoptr(GArray) choice_order = sjdb_rows_order(&builder->choices, false);
    g_autoptr(GArray) choice_rank = sjdb_rank_of(choice_order);
    for (guint i = 0; i < builder->records->len; i++) {
        struct record *record = &g_array_index(builder->records, struct record, i);
        record->shape = g_array_index(shape_rank, guint32, record->shape);
        record->variant = g_array_index(variant_rank, guint32, record->variant);
    }
    for (guint i = 0; i < builder->items->len; i++) {
        struct sjdb_set_item *item = &g_array_index(builder->items, struct sjdb_set_item, i);
        item->choice = g_array_index(choice_rank, guint32, item->choice);
    }
    g_array_sort(builder->records, compare_records);
    for (guint i = 1; i < builder->records->len; i++) {
        const struct record *record = &g_array_index(builder->records, struct record, i);
        if (compare_records(record - 1, record) == 0) {
            fail_twice(writing, record, error);
            return false;
        }
    }
    return true;
}

static uint64_t shape_hash(const struct writing *writing, guint rank)
{
    guint32 id = g_array_index(writing->shape_order, guint32, rank);
    return sjdb_fields_hash(sjdb_rows_get(&writing->builder->shapes, id), SJDB_SHAPE_FIELDS);
}

/* First shape of each bucket, and the number of shapes; false when a bucket is too full. */
static bool fill_buckets(const struct writing *writing, unsigned bits, GArray *buckets)
{
    guint shapes = writing->shape_order->len, at = 0;
    g_array_set_size(buckets, 0);
    for (uint64_t b = 0; b <= UINT64_C(1) << bits; b++) {
        uint64_t begin = at;
        g_array_append_val(buckets, begin);
        while (at < shapes && (bits == 0 || shape_hash(writing, at) >> (64 - bits) <= b)) {
            at++;
        }
        if (at - begin > SJDB_BUCKET_MAX) {
            return false;
        }
    }
    return true;
}

static void write_buckets(const struct writing *writing)
{
    guint shapes = writing->shape_order->len;
    g_autoptr(GArray) buckets = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) prints = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    unsigned bits = sjdb_bits_for(shapes / 4);
    while (!fill_buckets(writing, bits, buckets)) {
        bits++;
    }
    for (guint i = 0; i < shapes; i++) {
        uint64_t print = shape_hash(writing, i) & 0xffff;
        g_array_append_val(prints, print);
    }
    sjdb_file_add_array(writing->file, writing->base + SJDB_BUCKETS, buckets);
    sjdb_file_add_array(writing->file, writing->base + SJDB_FINGERPRINTS, prints);
}

/* The set of the shape's variants, and its problems' numbers: one row a shape. */
static void write_shapes(const struct writing *writing, struct sjdb_lists *sets)
{
    const struct sjdb_table_kinds kinds = {
        writing->base + SJDB_SHAPES, writing->base + SJDB_SHAPE_WIDTHS,
        writing->base + SJDB_SHAPE_STARTS, writing->base + SJDB_SHAPE_VALUES};
    const GArray *records = writing->builder->records;
    guint shapes = writing->shape_order->len, at = 0;
    g_autofree uint64_t *cells = g_new0(uint64_t, (gsize)shapes * SJDB_SHAPE_COLUMNS + 1);
    g_autoptr(GArray) set = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (guint i = 0; i < shapes; i++) {
        uint64_t *row = cells + (gsize)i * SJDB_SHAPE_COLUMNS;
        guint32 id = g_array_index(writing->shape_order, guint32, i);
        memcpy(row, sjdb_rows_get(&writing->builder->shapes, id), SJDB_SHAPE_FIELDS * sizeof *row);
        row[SJDB_SHAPE_BASE] = at;
        g_array_set_size(set, 0);
        for (; at < records->len && g_array_index(records, struct record, at).shape == i; at++) {
            uint64_t variant = g_array_index(records, struct record, at).variant;
            g_array_append_val(set, variant);
        }
        row[SJDB_SHAPE_SET] =
            sjdb_lists_add(sets, (const uint64_t *)(const void *)set->data, set->len);
    }
    sjdb_table_write(cells, shapes, SJDB_SHAPE_COLUMNS, &kinds, writing->file);
}

/* Slots at most half full; more of them when a variant would stand too far from its own. */
static bool fill_slots(const struct writing *writing, GArray *slots)
{
    memset(slots->data, 0, (gsize)slots->len * sizeof(uint64_t));
    for (guint i = 0; i < writing->variant_order->len; i++) {
        guint32 id = g_array_index(writing->variant_order, guint32, i);
        uint64_t slot =
            sjdb_fields_hash(sjdb_rows_get(&writing->builder->variants, id), SJDB_VARIANT_FIELDS);
        int probes = 0;
        while (g_array_index(slots, uint64_t, slot & (slots->len - 1)) != 0) {
            slot++;
            if (++probes >= SJDB_PROBES_MAX) {
                return false;
            }
        }
        g_array_index(slots, uint64_t, slot & (slots->len - 1)) = i + 1;
    }
    return true;
}

static void write_variants(const struct writing *writing)
{
    const struct sjdb_table_kinds kinds = {
        writing->base + SJDB_VARIANTS, writing->base + SJDB_VARIANT_WIDTHS,
        writing->base + SJDB_VARIANT_STARTS, writing->base + SJDB_VARIANT_VALUES};
    guint variants = writing->variant_order->len, slot_count = 2;
    g_autofree uint64_t *cells = g_new0(uint64_t, (gsize)variants * SJDB_VARIANT_FIELDS + 1);
    g_autoptr(GArray) slots = g_array_new(FALSE, TRUE, sizeof(uint64_t));
    for (guint i = 0; i < variants; i++) {
        guint32 id = g_array_index(writing->variant_order, guint32, i);
        memcpy(cells + (gsize)i * SJDB_VARIANT_FIELDS,
               sjdb_rows_get(&writing->builder->variants, id), SJDB_VARIANT_FIELDS * sizeof *cells);
    }
    do {
        slot_count *= 2;
        g_array_set_size(slots, slot_count);
    } while (slot_count < 2 * variants || !fill_slots(writing, slots));
    sjdb_table_write(cells, variants, SJDB_VARIANT_FIELDS, &kinds, writing->file);
    sjdb_file_add_array(writing->file, writing->base + SJDB_VARIANT_SLOTS, slots);
}

static void write_lists(const struct writing *writing, const struct sjdb_lists *lists,
                        uint32_t starts)
{
    sjdb_file_add_array(writing->file, writing->base + starts, lists->starts);
    sjdb_file_add_array(writing->file, writing->base + starts + 1, lists->items);
}

/* How a choice's values are kept: by a dictionary, or as they are. */
struct coding {
    GArray *distinct; /* uint64_t; NULL once they are known to be kept as they are */
    uint64_t count;
    unsigned width;
};

static void add_value(struct coding *coding, uint64_t value)
{
    coding->count++;
    g_array_append_val(coding->distinct, value);
    /* Thousands of equal values take turns: what repeats is dropped on the way. */
    if (coding->distinct->len >= 1024 &&
        (coding->distinct->len & (coding->distinct->len - 1)) == 0) {
        sjdb_make_distinct(coding->distinct);
    }
}

static void choose_coding(struct coding *coding)
{
    sjdb_make_distinct(coding->distinct);
    guint distinct = coding->distinct->len;
    unsigned plain =
        sjdb_bits_for(distinct > 0 ? g_array_index(coding->distinct, uint64_t, distinct - 1) : 0);
    unsigned packed = sjdb_bits_for(distinct > 0 ? distinct - 1 : 0);
    coding->width = packed;
    if ((double)plain * (double)coding->count <=
        (double)packed * (double)coding->count + (double)plain * distinct) {
        coding->width = plain;
        g_clear_pointer(&coding->distinct, g_array_unref);
    }
}

static struct coding *make_codings(const struct sjdb_set_builder *builder)
{
    guint choices = builder->choices.rows->len;
    struct coding *codings = g_new0(struct coding, choices + 1);
    for (guint i = 0; i < choices; i++) {
        codings[i].distinct = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    }
    for (guint i = 0; i < builder->items->len; i++) {
        const struct sjdb_set_item *item = &g_array_index(builder->items, struct sjdb_set_item, i);
        add_value(&codings[item->choice], item->value);
    }
    for (guint i = 0; i < choices; i++) {
        choose_coding(&codings[i]);
    }
    return codings;
}

static void free_codings(struct coding *codings, guint count)
{
    for (guint i = 0; i < count; i++) {
        g_clear_pointer(&codings[i].distinct, g_array_unref);
    }
    g_free(codings);
}

static void write_codings(const struct writing *writing, const struct coding *codings)
{
    g_autoptr(GArray) widths = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    guint choices = writing->builder->choices.rows->len;
    for (guint i = 0; i <= choices; i++) {
        uint64_t start = values->len, width = codings[i].width;
        g_array_append_val(starts, start);
        if (i < choices) {
            g_array_append_val(widths, width);
        }
        if (i < choices && codings[i].distinct != NULL) {
            g_array_append_vals(values, codings[i].distinct->data, codings[i].distinct->len);
        }
    }
    sjdb_file_add_array(writing->file, writing->base + SJDB_CHOICE_WIDTHS, widths);
    sjdb_file_add_array(writing->file, writing->base + SJDB_CHOICE_STARTS, starts);
    sjdb_file_add_array(writing->file, writing->base + SJDB_CHOICE_VALUES, values);
}

static void write_choices(const struct writing *writing)
{
    static const uint32_t kinds[] = {SJDB_CHOICE_SOLVERS, SJDB_CHOICE_ALGORITHMS,
                                     SJDB_CHOICE_LIBRARIES};
    g_autoptr(GArray) order = sjdb_rows_order(&writing->builder->choices, false);
    for (guint field = 0; field < G_N_ELEMENTS(kinds); field++) {
        g_autoptr(GArray) column = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        for (guint i = 0; i < order->len; i++) {
            guint32 id = g_array_index(order, guint32, i);
            g_array_append_val(column, sjdb_rows_get(&writing->builder->choices, id)[field]);
        }
        sjdb_file_add_array(writing->file, writing->base + kinds[field], column);
    }
}

/* Appends what the problem adds to its list; the list itself into choices. */
static void append_payload(const struct writing *writing, const struct record *record,
                           const struct coding *codings, GArray *choices, struct sjdb_bits *payload)
{
    g_array_set_size(choices, 0);
    for (guint32 i = 0; i < record->count; i++) {
        const struct sjdb_set_item *item =
            &g_array_index(writing->builder->items, struct sjdb_set_item, record->first + i);
        const struct coding *coding = &codings[item->choice];
        uint64_t choice = item->choice;
        g_array_append_val(choices, choice);
        if (writing->times != NULL) {
            sjdb_bits_append(payload, sjdb_times_code(writing->times, item->time_ms),
                             writing->times->width);
        }
        sjdb_bits_append(payload,
                         coding->distinct != NULL ? sjdb_index_of(coding->distinct, item->value)
                                                  : item->value,
                         coding->width);
    }
}

static void write_problems(const struct writing *writing, const struct coding *codings)
{
    struct sjdb_lists lists;
    struct sjdb_bits payload;
    g_autoptr(GArray) choices = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) list_bits = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    sjdb_lists_init(&lists);
    sjdb_bits_init(&payload, writing->file);
    for (guint i = 0; i < writing->builder->records->len; i++) {
        uint64_t begin = payload.count;
        if (i % SJDB_PAYLOAD_STEP == 0) {
            g_array_append_val(starts, begin);
        }
        append_payload(writing, &g_array_index(writing->builder->records, struct record, i),
                       codings, choices, &payload);
        uint64_t list =
            sjdb_lists_add(&lists, (const uint64_t *)(const void *)choices->data, choices->len);
        uint64_t bits = payload.count - begin;
        g_array_append_val(numbers, list);
        if (list == list_bits->len) {
            g_array_append_val(list_bits, bits);
        }
    }
    write_lists(writing, &lists, SJDB_LIST_STARTS);
    sjdb_file_add_array(writing->file, writing->base + SJDB_LIST_BITS, list_bits);
    sjdb_file_add_array(writing->file, writing->base + SJDB_PROBLEM_LISTS, numbers);
    sjdb_file_add_array(writing->file, writing->base + SJDB_PAYLOAD_STARTS, starts);
    sjdb_file_add_bits(writing->file, writing->base + SJDB_PAYLOAD, &payload, 1, payload.count);
    sjdb_bits_clear(&payload);
    sjdb_lists_clear(&lists);
}

static void write_sections(const struct writing *writing)
{
    struct sjdb_lists sets;
    guint choices = writing->builder->choices.rows->len;
    struct coding *codings = make_codings(writing->builder);
    sjdb_lists_init(&sets);
    write_buckets(writing);
    write_shapes(writing, &sets);
    write_variants(writing);
    write_lists(writing, &sets, SJDB_SET_STARTS);
    write_problems(writing, codings);
    write_choices(writing);
    write_codings(writing, codings);
    sjdb_lists_clear(&sets);
    free_codings(codings, choices);
}

bool sjdb_set_write(struct sjdb_set_builder *builder, const struct sjdb_renaming *renaming,
                    uint32_t base, const struct sjdb_times *times, SjdbFile *file, GError **error)
{
    struct writing writing = {builder, times, base, file, NULL, NULL};
    if (builder->records->len == 0) {
        return true;
    }
    rename_all(builder, renaming);
    bool ordered = put_in_order(&writing, error);
    if (ordered) {
        write_sections(&writing);
    }
    g_clear_pointer(&writing.shape_order, g_array_unref);
    g_clear_pointer(&writing.variant_order, g_array_unref);
    return ordered;
}
