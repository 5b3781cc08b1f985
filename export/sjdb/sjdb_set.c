#include "export/sjdb/sjdb_set.h"

#include <string.h>

struct answer {
    guint32 choice, value;
    /* number of the problem's answer that was added before this one, + 1; 0 for the first */
    guint32 next;
};

void sjdb_set_builder_init(struct sjdb_set_builder *builder, const char *path)
{
    memset(builder, 0, sizeof *builder);
    sjdb_rows_init(&builder->shapes, SJDB_SHAPE_FIELDS);
    sjdb_rows_init(&builder->variants, SJDB_VARIANT_FIELDS);
    sjdb_rows_init(&builder->choices, CHOICE_FIELDS);
    sjdb_rows_init(&builder->problems, 2);
    builder->extents = g_array_new(FALSE, TRUE, sizeof(struct sjdb_set_extent));
    builder->items = spool_new(path);
    builder->answers = g_array_new(FALSE, FALSE, sizeof(struct answer));
}

void sjdb_set_builder_clear(struct sjdb_set_builder *builder)
{
    sjdb_rows_clear(&builder->shapes);
    sjdb_rows_clear(&builder->variants);
    sjdb_rows_clear(&builder->choices);
    sjdb_rows_clear(&builder->problems);
    g_clear_pointer(&builder->extents, g_array_unref);
    g_clear_pointer(&builder->items, spool_free);
    g_clear_error(&builder->error);
    g_clear_pointer(&builder->answers, g_array_unref);
}

/* Returns the problem's id. A problem that is new is added without items. */
static guint32 add_problem(struct sjdb_set_builder *builder,
                           const struct skipjackdb_problem *problem, uint64_t epilogue)
{
    uint64_t shape[SJDB_SHAPE_FIELDS], variant[SJDB_VARIANT_FIELDS];
    sjdb_shape_fields(problem, shape);
    sjdb_variant_fields(problem, epilogue, variant);
    const uint64_t both[] = {sjdb_rows_add(&builder->shapes, shape),
                             sjdb_rows_add(&builder->variants, variant)};
    guint32 id = sjdb_rows_add(&builder->problems, both);
    if (id >= builder->extents->len) {
        g_array_set_size(builder->extents, id + 1);
    }
    return id;
}

void sjdb_set_add(struct sjdb_set_builder *builder, const struct skipjackdb_problem *problem,
                  uint64_t epilogue, const struct sjdb_set_item *items, gsize count)
{
    guint32 id = add_problem(builder, problem, epilogue);
    struct sjdb_set_extent *extent = &g_array_index(builder->extents, struct sjdb_set_extent, id);
    if (extent->count > 0 && !builder->twice) {
        builder->twice = true;
        builder->first_twice = id;
    }
    goffset start = 0;
    *extent = (struct sjdb_set_extent){builder->item_count, (guint32)count};
    builder->item_count += (guint32)count;
    if (builder->error == NULL) {
        (void)spool_append(builder->items, items, count * sizeof *items, &start, &builder->error);
    }
}

bool sjdb_set_find_place(struct sjdb_set_builder *builder, const struct skipjackdb_problem *problem,
                         uint64_t epilogue, guint32 solver, struct sjdb_set_place *place)
{
    const uint64_t choice[CHOICE_FIELDS] = {[CHOICE_SOLVER] = solver};
    place->problem = add_problem(builder, problem, epilogue);
    const struct sjdb_set_extent *extent =
        &g_array_index(builder->extents, struct sjdb_set_extent, place->problem);
    if (extent->count >= SJDB_LIST_MAX) {
        return false;
    }
    place->choice = sjdb_rows_add(&builder->choices, choice);
    for (guint32 at = extent->first; at > 0;) {
        const struct answer *answer = &g_array_index(builder->answers, struct answer, at - 1);
        if (answer->choice == place->choice) {
            return false;
        }
        at = answer->next;
    }
    return true;
}

void sjdb_set_answer(struct sjdb_set_builder *builder, const struct sjdb_set_place *place,
                     guint32 value)
{
    struct sjdb_set_extent *extent =
        &g_array_index(builder->extents, struct sjdb_set_extent, place->problem);
    const struct answer answer = {place->choice, value, extent->first};
    g_array_append_val(builder->answers, answer);
    extent->first = builder->answers->len;
    extent->count++;
}

static struct sjdb_set_item item_of(const struct answer *answer)
{
    return (struct sjdb_set_item){.choice = answer->choice, .value = answer->value};
}

static bool has_failed(const struct sjdb_set_builder *builder, GError **error)
{
    if (builder->error != NULL) {
        g_propagate_error(error, g_error_copy(builder->error));
    }
    return builder->error != NULL;
}

bool sjdb_set_each(const struct sjdb_set_builder *builder,
                   void (*take)(void *data, const struct sjdb_set_item *item), void *data,
                   GError **error)
{
    struct spool_reader reader;
    struct sjdb_set_item item;
    bool done = !has_failed(builder, error);
    for (guint i = 0; i < builder->answers->len; i++) {
        item = item_of(&g_array_index(builder->answers, struct answer, i));
        take(data, &item);
    }
    spool_reader_init(&reader, builder->items);
    while (done && !spool_reader_at_end(&reader)) {
        const guint8 *at = spool_reader_take(&reader, sizeof item, error);
        done = at != NULL;
        if (done) {
            memcpy(&item, at, sizeof item);
            take(data, &item);
        }
    }
    spool_reader_clear(&reader);
    return done;
}

bool sjdb_set_items(const struct sjdb_set_builder *builder, guint32 problem, GArray *items,
                    GError **error)
{
    const struct sjdb_set_extent *extent =
        &g_array_index(builder->extents, struct sjdb_set_extent, problem);
    if (builder->answers->len == 0) {
        g_array_set_size(items, extent->count);
        return !has_failed(builder, error) &&
               spool_read(builder->items,
                          (goffset)extent->first * (goffset)sizeof(struct sjdb_set_item),
                          items->data, extent->count * sizeof(struct sjdb_set_item), error);
    }
    g_array_set_size(items, 0);
    for (guint32 at = extent->first; at > 0;) {
        const struct answer *answer = &g_array_index(builder->answers, struct answer, at - 1);
        struct sjdb_set_item item = item_of(answer);
        g_array_append_val(items, item);
        at = answer->next;
    }
    return true;
}

/* A problem in the order in which problems are written. */
struct record {
    guint32 shape, variant; /* ranks */
    guint32 problem;
};

/* State of writing a set of problems. */
struct writing {
    const struct sjdb_set_builder *builder;
    struct sjdb_intervals *intervals; /* with the times; NULL for a set without */
    /* ranks by id of what an item's value names (params or recipes); NULL if values are plain
     * numbers */
    const GArray *values;
    uint32_t base;
    SjdbFile *file;
    GArray *shape_order, *variant_order, *choice_order; /* ids, guint32 */
    GArray *choice_rank;                                /* by id */
    GArray *records;                                    /* struct record */
};

/* ---- replacing ids by ranks, their numbers in the file ---- */

static struct sjdb_set_item renamed(const struct writing *writing, struct sjdb_set_item item)
{
    item.choice = g_array_index(writing->choice_rank, guint32, item.choice);
    if (writing->values != NULL) {
        item.value = g_array_index(writing->values, guint32, item.value);
    }
    return item;
}

static gint compare_choices(gconstpointer a, gconstpointer b)
{
    guint32 one = ((const struct sjdb_set_item *)a)->choice;
    guint32 other = ((const struct sjdb_set_item *)b)->choice;
    return (one > other) - (one < other);
}

/* Reads a problem's items with ranks in place of ids. Answers, whose choices differ in the solver
 * alone, are sorted by solver. */
static bool take_items(const struct writing *writing, guint32 problem, GArray *items,
                       GError **error)
{
    if (!sjdb_set_items(writing->builder, problem, items, error)) {
        return false;
    }
    for (guint i = 0; i < items->len; i++) {
        struct sjdb_set_item *item = &g_array_index(items, struct sjdb_set_item, i);
        *item = renamed(writing, *item);
    }
    if (writing->builder->answers->len > 0) {
        g_array_sort(items, compare_choices);
    }
    return true;
}

/* ---- order ---- */

static void rename_all(struct sjdb_set_builder *builder, const struct sjdb_renaming *renaming)
{
    sjdb_rows_rename(&builder->variants, SJDB_VARIANT_EPILOGUE, renaming->texts, true);
    sjdb_rows_rename(&builder->choices, CHOICE_SOLVER, renaming->solvers, false);
    sjdb_rows_rename(&builder->choices, CHOICE_ALGORITHM, renaming->texts, true);
    sjdb_rows_rename(&builder->choices, CHOICE_LIBRARY, renaming->texts, true);
}

static gint compare_records(gconstpointer a, gconstpointer b)
{
    const struct record *one = a, *other = b;
    if (one->shape != other->shape) {
        return one->shape < other->shape ? -1 : 1;
    }
    return (one->variant > other->variant) - (one->variant < other->variant);
}

static void fail_twice(const struct sjdb_set_builder *builder, GError **error)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    char key[SKIPJACKDB_KEY_MAX] = "";
    uint64_t both[2], shape[SJDB_SHAPE_FIELDS], variant[SJDB_VARIANT_FIELDS];
    sjdb_rows_get(&builder->problems, builder->first_twice, both);
    sjdb_rows_get(&builder->shapes, (guint32)both[0], shape);
    sjdb_rows_get(&builder->variants, (guint32)both[1], variant);
    sjdb_shape_from_fields(shape, &problem);
    sjdb_variant_from_fields(variant, &problem);
    skipjackdb_problem_key(&problem, key, sizeof key);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                "the problem '%s' comes twice: merge its entries first", key);
}

/* Puts shapes, variants, choices and problems into the order in which the file numbers them. */
static void put_in_order(struct writing *writing)
{
    const struct sjdb_set_builder *builder = writing->builder;
    writing->shape_order = sjdb_rows_order(&builder->shapes, true);
    writing->variant_order = sjdb_rows_order(&builder->variants, false);
    writing->choice_order = sjdb_rows_order(&builder->choices, false);
    writing->choice_rank = sjdb_rank_of(writing->choice_order);
    writing->records = g_array_new(FALSE, FALSE, sizeof(struct record));
    g_autoptr(GArray) shape_rank = sjdb_rank_of(writing->shape_order);
    g_autoptr(GArray) variant_rank = sjdb_rank_of(writing->variant_order);
    for (guint32 i = 0; i < sjdb_rows_count(&builder->problems); i++) {
        uint64_t both[2];
        sjdb_rows_get(&builder->problems, i, both);
        const struct record record = {g_array_index(shape_rank, guint32, both[0]),
                                      g_array_index(variant_rank, guint32, both[1]), i};
        g_array_append_val(writing->records, record);
    }
    g_array_sort(writing->records, compare_records);
}

/* ---- writing sections ---- */

static void get_shape(const struct writing *writing, guint rank, uint64_t *fields)
{
    sjdb_rows_get(&writing->builder->shapes, g_array_index(writing->shape_order, guint32, rank),
                  fields);
}

static void get_variant(const void *data, gsize rank, uint64_t *fields)
{
    const struct writing *writing = data;
    sjdb_rows_get(&writing->builder->variants, g_array_index(writing->variant_order, guint32, rank),
                  fields);
}

static uint64_t shape_hash(const struct writing *writing, guint rank)
{
    uint64_t fields[SJDB_SHAPE_FIELDS];
    get_shape(writing, rank, fields);
    return sjdb_fields_hash(fields, SJDB_SHAPE_FIELDS);
}

/* Sets for each bucket of hashes the number of its first shape, and behind the last bucket the
 * number of shapes. Returns false if a bucket has more than SJDB_BUCKET_MAX shapes. */
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

/* Two columns that a shape's row has in addition to the shape's fields. */
struct shape_rows {
    const struct writing *writing;
    /* guint32, by the shape's number: its set of variants; the number of its first problem */
    GArray *sets, *bases;
};

static void get_shape_row(const void *data, gsize rank, uint64_t *cells)
{
    const struct shape_rows *rows = data;
    get_shape(rows->writing, (guint)rank, cells);
    cells[SJDB_SHAPE_SET] = g_array_index(rows->sets, guint32, rank);
    cells[SJDB_SHAPE_BASE] = g_array_index(rows->bases, guint32, rank);
}

static void write_shapes(const struct writing *writing, struct sjdb_lists *sets)
{
    const struct sjdb_table_kinds kinds = {
        writing->base + SJDB_SHAPES, writing->base + SJDB_SHAPE_WIDTHS,
        writing->base + SJDB_SHAPE_STARTS, writing->base + SJDB_SHAPE_VALUES};
    const GArray *records = writing->records;
    guint shapes = writing->shape_order->len;
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_autoptr(GArray) bases = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_autoptr(GArray) set = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (guint32 i = 0, at = 0; i < shapes; i++) {
        g_array_append_val(bases, at);
        g_array_set_size(set, 0);
        for (; at < records->len && g_array_index(records, struct record, at).shape == i; at++) {
            uint64_t variant = g_array_index(records, struct record, at).variant;
            g_array_append_val(set, variant);
        }
        guint32 number = sjdb_lists_add(sets, (const uint64_t *)(const void *)set->data, set->len);
        g_array_append_val(numbers, number);
    }
    const struct shape_rows rows = {writing, numbers, bases};
    const struct sjdb_table table = {get_shape_row, &rows, shapes, SJDB_SHAPE_COLUMNS};
    sjdb_table_write(&table, &kinds, writing->file);
}

/* Fills the hash table of variants, which has at least twice as many slots as there are variants.
 * Returns false if a variant would be SJDB_PROBES_MAX or more slots behind the slot of its hash:
 * the caller then tries again with a table twice as large. */
static bool fill_slots(const struct writing *writing, GArray *slots)
{
    memset(slots->data, 0, (gsize)slots->len * sizeof(uint64_t));
    for (guint i = 0; i < writing->variant_order->len; i++) {
        uint64_t fields[SJDB_VARIANT_FIELDS];
        get_variant(writing, i, fields);
        uint64_t slot = sjdb_fields_hash(fields, SJDB_VARIANT_FIELDS);
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
    const struct sjdb_table table = {get_variant, writing, writing->variant_order->len,
                                     SJDB_VARIANT_FIELDS};
    guint variants = writing->variant_order->len, slot_count = 2;
    g_autoptr(GArray) slots = g_array_new(FALSE, TRUE, sizeof(uint64_t));
    do {
        slot_count *= 2;
        g_array_set_size(slots, slot_count);
    } while (slot_count < 2 * variants || !fill_slots(writing, slots));
    sjdb_table_write(&table, &kinds, writing->file);
    sjdb_file_add_array(writing->file, writing->base + SJDB_VARIANT_SLOTS, slots);
}

static void write_lists(const struct writing *writing, const struct sjdb_lists *lists,
                        uint32_t starts)
{
    sjdb_file_add_array(writing->file, writing->base + starts, lists->starts);
    sjdb_file_add_array(writing->file, writing->base + starts + 1, lists->items);
}

/* For each choice the column that says how its values are stored. */
struct codings {
    const struct writing *writing;
    struct sjdb_column *columns; /* by rank */
};

static void add_to_coding(void *data, const struct sjdb_set_item *item)
{
    const struct codings *codings = data;
    struct sjdb_set_item added = renamed(codings->writing, *item);
    sjdb_column_add(&codings->columns[added.choice], added.value);
}

static bool make_codings(const struct writing *writing, struct sjdb_column *columns, GError **error)
{
    struct codings codings = {writing, columns};
    guint choices = writing->choice_order->len;
    for (guint i = 0; i < choices; i++) {
        sjdb_column_init(&columns[i]);
    }
    if (!sjdb_set_each(writing->builder, add_to_coding, &codings, error)) {
        return false;
    }
    for (guint i = 0; i < choices; i++) {
        sjdb_column_choose(&columns[i]);
    }
    return true;
}

static void free_codings(struct sjdb_column *codings, guint count)
{
    for (guint i = 0; i < count; i++) {
        sjdb_column_clear(&codings[i]);
    }
    g_free(codings);
}

static void write_codings(const struct writing *writing, const struct sjdb_column *codings)
{
    g_autoptr(GArray) widths = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    guint choices = writing->choice_order->len;
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
    for (guint field = 0; field < G_N_ELEMENTS(kinds); field++) {
        g_autoptr(GArray) column = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        for (guint i = 0; i < writing->choice_order->len; i++) {
            uint64_t fields[CHOICE_FIELDS];
            guint32 id = g_array_index(writing->choice_order, guint32, i);
            sjdb_rows_get(&writing->builder->choices, id, fields);
            g_array_append_val(column, fields[field]);
        }
        sjdb_file_add_array(writing->file, writing->base + kinds[field], column);
    }
}

/* Appends a problem's payload, the times and values of its items, and sets `choices` to the choices
 * of these items. */
static void append_payload(const struct writing *writing, const GArray *items,
                           const struct sjdb_column *codings, GArray *choices,
                           struct sjdb_bits *payload)
{
    g_array_set_size(choices, 0);
    for (guint i = 0; i < items->len; i++) {
        const struct sjdb_set_item *item = &g_array_index(items, struct sjdb_set_item, i);
        const struct sjdb_column *coding = &codings[item->choice];
        uint64_t choice = item->choice;
        g_array_append_val(choices, choice);
        if (writing->intervals != NULL) {
            const struct sjdb_times *times = writing->intervals->times;
            sjdb_bits_append(payload, sjdb_times_code(times, item->time_ms), times->width);
        }
        sjdb_bits_append(payload, sjdb_column_code(coding, item->value), coding->width);
    }
}

/* The sections about problems while they are filled, in the order of the file: starts has the first
 * payload bit of every SJDB_PAYLOAD_STEP-th problem, numbers each problem's list, list_bits the
 * payload bits of a problem by its list. */
struct problem_columns {
    struct sjdb_lists lists;
    struct sjdb_bits payload;
    GArray *starts, *numbers, *list_bits; /* uint64_t */
};

/* Adds the intervals of a problem's times. The next call is for the next problem. */
static void add_intervals(struct sjdb_intervals *intervals, const GArray *items)
{
    for (guint i = 0; i < items->len; i++) {
        const struct sjdb_set_item *item = &g_array_index(items, struct sjdb_set_item, i);
        if (item->low_ms > 0) {
            sjdb_intervals_add(intervals, i, item->low_ms, item->high_ms);
        }
    }
    intervals->problems++;
}

static bool add_problems(const struct writing *writing, const struct sjdb_column *codings,
                         struct problem_columns *columns, GError **error)
{
    g_autoptr(GArray) items = g_array_new(FALSE, FALSE, sizeof(struct sjdb_set_item));
    g_autoptr(GArray) choices = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (guint i = 0; i < writing->records->len; i++) {
        guint32 problem = g_array_index(writing->records, struct record, i).problem;
        uint64_t begin = columns->payload.count;
        if (!take_items(writing, problem, items, error)) {
            return false;
        }
        if (i % SJDB_PAYLOAD_STEP == 0) {
            g_array_append_val(columns->starts, begin);
        }
        append_payload(writing, items, codings, choices, &columns->payload);
        if (writing->intervals != NULL) {
            add_intervals(writing->intervals, items);
        }
        uint64_t list = sjdb_lists_add(&columns->lists,
                                       (const uint64_t *)(const void *)choices->data, choices->len);
        uint64_t bits = columns->payload.count - begin;
        g_array_append_val(columns->numbers, list);
        if (list == columns->list_bits->len) {
            g_array_append_val(columns->list_bits, bits);
        }
    }
    sjdb_bits_end(&columns->payload);
    return true;
}

static bool write_problems(const struct writing *writing, const struct sjdb_column *codings,
                           GError **error)
{
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GArray) list_bits = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    struct problem_columns columns = {.starts = starts, .numbers = numbers, .list_bits = list_bits};
    struct sjdb_bits *payload = &columns.payload;
    sjdb_lists_init(&columns.lists);
    sjdb_bits_init(payload, writing->file);
    bool done = add_problems(writing, codings, &columns, error);
    if (done) {
        write_lists(writing, &columns.lists, SJDB_LIST_STARTS);
        sjdb_file_add_array(writing->file, writing->base + SJDB_LIST_BITS, list_bits);
        sjdb_file_add_array(writing->file, writing->base + SJDB_PROBLEM_LISTS, numbers);
        sjdb_file_add_array(writing->file, writing->base + SJDB_PAYLOAD_STARTS, starts);
        sjdb_file_add_bits(writing->file, writing->base + SJDB_PAYLOAD, payload, 1, payload->count);
    }
    sjdb_bits_clear(payload);
    sjdb_lists_clear(&columns.lists);
    return done;
}

static bool write_sections(const struct writing *writing, GError **error)
{
    struct sjdb_lists sets;
    guint choices = writing->choice_order->len;
    struct sjdb_column *codings = g_new0(struct sjdb_column, choices + 1);
    bool done = make_codings(writing, codings, error);
    sjdb_lists_init(&sets);
    if (done) {
        write_buckets(writing);
        write_shapes(writing, &sets);
        write_variants(writing);
        write_lists(writing, &sets, SJDB_SET_STARTS);
        done = write_problems(writing, codings, error);
    }
    if (done) {
        write_choices(writing);
        write_codings(writing, codings);
    }
    sjdb_lists_clear(&sets);
    free_codings(codings, choices);
    return done;
}

bool sjdb_set_write(struct sjdb_set_builder *builder, const struct sjdb_renaming *renaming,
                    uint32_t base, struct sjdb_intervals *intervals, SjdbFile *file, GError **error)
{
    if (sjdb_rows_count(&builder->problems) == 0) {
        return true;
    }
    if (builder->twice) {
        fail_twice(builder, error);
        return false;
    }
    struct writing writing = {.builder = builder,
                              .intervals = intervals,
                              .values = renaming->values,
                              .base = base,
                              .file = file};
    rename_all(builder, renaming);
    put_in_order(&writing);
    bool done = write_sections(&writing, error);
    g_clear_pointer(&writing.shape_order, g_array_unref);
    g_clear_pointer(&writing.variant_order, g_array_unref);
    g_clear_pointer(&writing.choice_order, g_array_unref);
    g_clear_pointer(&writing.choice_rank, g_array_unref);
    g_clear_pointer(&writing.records, g_array_unref);
    return done;
}
