#include "export/formats/sjdb_recipes.h"

#include "export/reader/layout.h"

#include <string.h>

_Static_assert((int)ARG_TENSOR == SKIPJACKDB_ARG_TENSOR && (int)ARG_STRIDE == SKIPJACKDB_ARG_STRIDE,
               "kinds of arguments");
_Static_assert((int)TENSOR_X == SKIPJACKDB_TENSOR_X && (int)TENSOR_Y == SKIPJACKDB_TENSOR_Y,
               "tensors");
_Static_assert(SOLUTION_LAUNCHES_MAX <= SKIPJACKDB_LAUNCHES_MAX &&
                   LAUNCH_ARGS_MAX <= SKIPJACKDB_ARGS_MAX,
               "what a reader takes");

/* ---- records ---- */

#define LENGTH_BYTES 2
#define RECORD_MAX   UINT16_MAX
#define CHUNK_BYTES  (64 * 1024)
_Static_assert((LAUNCH_ARGS_MAX + 8) * 40 <= RECORD_MAX, "4 numbers of 10 bytes an argument");

static gsize record_length(const void *record)
{
    const guint8 *bytes = record;
    return bytes[0] | (gsize)bytes[1] << 8;
}

static const guint8 *record_bytes(const void *record)
{
    return (const guint8 *)record + LENGTH_BYTES;
}

static guint record_hash(gconstpointer record)
{
    return (guint)sjdb_checksum(record, LENGTH_BYTES + record_length(record), SJDB_CHECK_SEED);
}

/* Shorter ones first where one begins with the other. */
static int compare_records(const void *a, const void *b)
{
    gsize one = record_length(a), other = record_length(b);
    int order = memcmp(record_bytes(a), record_bytes(b), MIN(one, other));
    return order != 0 ? order : (one > other) - (one < other);
}

static gboolean record_equal(gconstpointer a, gconstpointer b)
{
    return compare_records(a, b) == 0;
}

static void records_init(struct sjdb_records *records)
{
    records->bytes = g_string_chunk_new(CHUNK_BYTES);
    records->ids = g_hash_table_new(record_hash, record_equal);
    records->by_id = g_ptr_array_new();
}

static void records_clear(struct sjdb_records *records)
{
    g_clear_pointer(&records->bytes, g_string_chunk_free);
    g_clear_pointer(&records->ids, g_hash_table_unref);
    g_clear_pointer(&records->by_id, g_ptr_array_unref);
}

static GByteArray *record_new(void)
{
    static const guint8 length[LENGTH_BYTES];
    return g_byte_array_append(g_byte_array_new(), length, LENGTH_BYTES);
}

static void append(GByteArray *record, uint64_t number)
{
    do {
        guint8 byte = (guint8)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        g_byte_array_append(record, &byte, 1);
        number >>= 7;
    } while (number > 0);
}

static void append_signed(GByteArray *record, int64_t number)
{
    append(record, sjdb_zigzag((uint64_t)number));
}

/* The next number of a record that append() made. */
static uint64_t take(const guint8 **at)
{
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        guint8 byte = *(*at)++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return number;
        }
    }
}

static void set_length(GByteArray *record)
{
    gsize length = record->len - LENGTH_BYTES;
    g_assert(length <= RECORD_MAX);
    record->data[0] = (guint8)(length & 0xff);
    record->data[1] = (guint8)(length >> 8);
}

static const char *keep(struct sjdb_records *records, GByteArray *record)
{
    set_length(record);
    return g_string_chunk_insert_len(records->bytes, (const char *)record->data, record->len);
}

static guint32 records_add(struct sjdb_records *records, GByteArray *record)
{
    gpointer known = NULL;
    set_length(record);
    if (g_hash_table_lookup_extended(records->ids, record->data, NULL, &known)) {
        return GPOINTER_TO_UINT(known);
    }
    guint32 id = records->by_id->len;
    g_ptr_array_add(records->by_id, (void *)keep(records, record));
    g_hash_table_insert(records->ids, records->by_id->pdata[id], GUINT_TO_POINTER(id));
    return id;
}

void sjdb_recipes_init(struct sjdb_recipes *recipes)
{
    records_init(&recipes->forms);
    records_init(&recipes->launches);
    records_init(&recipes->recipes);
}

void sjdb_recipes_clear(struct sjdb_recipes *recipes)
{
    records_clear(&recipes->forms);
    records_clear(&recipes->launches);
    records_clear(&recipes->recipes);
}

/* ---- adding ---- */

bool sjdb_recipes_check(const struct solution *solution, GError **error)
{
    /* Of no target: what a workgroup may be is asked where the solution is made. */
    static const struct target any;
    if (!solution_validate(solution, &any, error)) {
        return false;
    }
    for (int i = 0; i < solution->launch_count; i++) {
        if (solution->launches[i].entry == NULL || solution->launches[i].entry[0] == '\0') {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                        "launch %d of a solution names no kernel", i);
            return false;
        }
    }
    return true;
}

static guint32 add_form(struct sjdb_records *forms, const struct launch *launch, uint64_t entry)
{
    g_autoptr(GByteArray) numbers = record_new();
    append(numbers, entry);
    for (int i = 0; i < 3; i++) {
        append(numbers, (uint64_t)launch->block[i]);
    }
    append(numbers, (uint64_t)launch->local_bytes);
    append(numbers, (uint64_t)launch->arg_count);
    for (int i = 0; i < launch->arg_count; i++) {
        const struct launch_arg *arg = &launch->args[i];
        append(numbers, arg->kind);
        if (arg->kind == ARG_TENSOR || arg->kind == ARG_STRIDE) {
            append(numbers, arg->tensor);
        }
        if (arg->kind == ARG_STRIDE) {
            append(numbers, (uint64_t)arg->value);
            append_signed(numbers, arg->factor);
        }
    }
    return records_add(forms, numbers);
}

/* What the form leaves open. */
static void append_value(GByteArray *numbers, const struct launch_arg *arg)
{
    float real = (float)arg->real;
    uint32_t bits = 0;
    switch (arg->kind) {
    case ARG_TENSOR:
    case ARG_STRIDE: return;
    case ARG_WORKSPACE: append(numbers, (uint64_t)arg->value); return;
    case ARG_INT32:
    case ARG_INT64: append_signed(numbers, arg->value); return;
    case ARG_FLOAT32:
        memcpy(&bits, &real, sizeof bits);
        append(numbers, bits);
        return;
    }
}

static guint32 add_launch(struct sjdb_recipes *recipes, const struct launch *launch, uint64_t entry,
                          uint64_t kernel)
{
    g_autoptr(GByteArray) numbers = record_new();
    append(numbers, kernel);
    append(numbers, add_form(&recipes->forms, launch, entry));
    for (int i = 0; i < 3; i++) {
        append(numbers, (uint64_t)(launch->grid[i] / launch->block[i]));
    }
    for (int i = 0; i < launch->arg_count; i++) {
        append_value(numbers, &launch->args[i]);
    }
    return records_add(&recipes->launches, numbers);
}

guint32 sjdb_recipes_add(struct sjdb_recipes *recipes, const struct solution *solution,
                         uint64_t params, const uint64_t *entries, const uint64_t *kernels)
{
    g_autoptr(GByteArray) numbers = record_new();
    append(numbers, params);
    append(numbers, solution->workspace_bytes);
    for (int i = 0; i < solution->launch_count; i++) {
        append(numbers, add_launch(recipes, &solution->launches[i], entries[i], kernels[i]));
    }
    return records_add(&recipes->recipes, numbers);
}

/* ---- writing ---- */

/* What the ids of a sort of records become: none of them where all numbers stay. */
struct renaming {
    /* Of the number at that place; behind the last place, as there. 0 is none in params. */
    const GArray *ranks[3];
    bool none_is_0;
};

static void rename_number(const struct renaming *renaming, int place, uint64_t number,
                          GByteArray *renamed)
{
    const GArray *ranks = renaming->ranks[MIN(place, 2)];
    bool optional = place == 0 && renaming->none_is_0;
    if (ranks == NULL || (optional && number == 0)) {
        append(renamed, number);
    } else if (optional) {
        append(renamed, 1 + (uint64_t)g_array_index(ranks, guint32, number - 1));
    } else {
        append(renamed, g_array_index(ranks, guint32, number));
    }
}

static void rename_all(struct sjdb_records *records, const struct renaming *renaming)
{
    struct sjdb_records renamed;
    records_init(&renamed);
    for (guint i = 0; i < records->by_id->len; i++) {
        const guint8 *at = record_bytes(records->by_id->pdata[i]);
        const guint8 *end = at + record_length(records->by_id->pdata[i]);
        g_autoptr(GByteArray) record = record_new();
        for (int place = 0; at < end; place++) {
            rename_number(renaming, place, take(&at), record);
        }
        g_ptr_array_add(renamed.by_id, (void *)keep(&renamed, record));
    }
    records_clear(records);
    *records = renamed;
}

static gint by_bytes(gconstpointer a, gconstpointer b, gpointer data)
{
    const GPtrArray *by_id = data;
    return compare_records(by_id->pdata[*(const guint32 *)a], by_id->pdata[*(const guint32 *)b]);
}

/* Writes records in byte order, and gives back where each stands. */
static GArray *write_records(struct sjdb_records *records, const struct renaming *renaming,
                             enum sjdb_kind starts_kind, SjdbFile *file)
{
    g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    uint64_t start = 0;
    rename_all(records, renaming);
    for (guint32 i = 0; i < records->by_id->len; i++) {
        g_array_append_val(order, i);
    }
    g_array_sort_with_data(order, by_bytes, records->by_id);
    g_array_append_val(starts, start);
    for (guint i = 0; i < order->len; i++) {
        const void *record = records->by_id->pdata[g_array_index(order, guint32, i)];
        g_byte_array_append(bytes, record_bytes(record), (guint)record_length(record));
        start = bytes->len;
        g_array_append_val(starts, start);
    }
    sjdb_file_add_array(file, starts_kind, starts);
    sjdb_file_add_bytes(file, starts_kind + 1, bytes->data, bytes->len);
    return sjdb_rank_of(order);
}

GArray *sjdb_recipes_write(struct sjdb_recipes *recipes, const GArray *text_ranks,
                           const GArray *kernel_ranks, SjdbFile *file)
{
    if (recipes->recipes.by_id->len == 0) {
        return g_array_new(FALSE, FALSE, sizeof(guint32));
    }
    const struct renaming of_forms = {{text_ranks, NULL, NULL}, false};
    g_autoptr(GArray) forms = write_records(&recipes->forms, &of_forms, SJDB_FORM_STARTS, file);
    const struct renaming of_launches = {{kernel_ranks, forms, NULL}, false};
    g_autoptr(GArray) launches =
        write_records(&recipes->launches, &of_launches, SJDB_LAUNCH_STARTS, file);
    const struct renaming of_recipes = {{text_ranks, NULL, launches}, true};
    return write_records(&recipes->recipes, &of_recipes, SJDB_RECIPE_STARTS, file);
}
