#include "export/sjdb/sjdb_recipes.h"

#include "export/sjdb/reader/layout.h"
#include "export/sjdb/sjdb_sort.h"

#include <string.h>

_Static_assert((int)ARG_TENSOR == SKIPJACKDB_ARG_TENSOR && (int)ARG_STRIDE == SKIPJACKDB_ARG_STRIDE,
               "kinds of arguments");
_Static_assert((int)TENSOR_X == SKIPJACKDB_TENSOR_X && (int)TENSOR_Y == SKIPJACKDB_TENSOR_Y &&
                   (int)TENSOR_RESIDUAL == SKIPJACKDB_TENSOR_RESIDUAL &&
                   (int)TENSOR_PACKED == SKIPJACKDB_TENSOR_PACKED,
               "tensors");
_Static_assert(SOLUTION_LAUNCHES_MAX <= SKIPJACKDB_LAUNCHES_MAX &&
                   LAUNCH_ARGS_MAX <= SKIPJACKDB_ARGS_MAX,
               "what a reader takes");

void sjdb_recipes_init(struct sjdb_recipes *recipes, const char *path, bool other)
{
    memset(recipes, 0, sizeof *recipes);
    recipes->other = other;
    recipes->path = g_strdup(path);
    recipes->solutions = spool_new(path);
    sjdb_dictionary_init(&recipes->forms);
}

void sjdb_recipes_clear(struct sjdb_recipes *recipes)
{
    sjdb_dictionary_clear(&recipes->forms);
    g_clear_pointer(&recipes->solutions, spool_free);
    g_clear_pointer(&recipes->path, g_free);
    g_clear_error(&recipes->error);
}

/* ---- adding solutions ---- */

bool sjdb_recipes_check(const struct solution *solution, GError **error)
{
    /* A zero target sets no limits on workgroups: those are checked where the solution is made. */
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

static void append(GByteArray *record, uint64_t number)
{
    guint8 packed[SJDB_NUMBER_BYTES];
    g_byte_array_append(record, packed, (guint)(sjdb_number_put(packed, number) - packed));
}

static void append_signed(GByteArray *record, int64_t number)
{
    append(record, sjdb_zigzag((uint64_t)number));
}

static guint32 add_form(struct sjdb_dictionary *forms, const struct launch *launch, uint64_t entry)
{
    g_autoptr(GByteArray) numbers = g_byte_array_new();
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
    return sjdb_dictionary_add(forms, numbers->data, numbers->len);
}

/* Appends the part of an argument that differs between launches of one form. */
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

/* Appends the length of a launch's record and the record, as in the file, but with ids in place of
 * the numbers that the file will have. */
static void append_launch(struct sjdb_recipes *recipes, const struct launch *launch, uint64_t entry,
                          uint64_t kernel, GByteArray *solution)
{
    g_autoptr(GByteArray) numbers = g_byte_array_new();
    append(numbers, kernel);
    append(numbers, add_form(&recipes->forms, launch, entry));
    for (int i = 0; i < 3; i++) {
        append(numbers, (uint64_t)(launch->grid[i] / launch->block[i]));
    }
    for (int i = 0; i < launch->arg_count; i++) {
        append_value(numbers, &launch->args[i]);
    }
    append(solution, numbers->len);
    g_byte_array_append(solution, numbers->data, numbers->len);
}

guint32 sjdb_recipes_add(struct sjdb_recipes *recipes, const struct solution *solution,
                         uint64_t params, const uint64_t *entries, const uint64_t *kernels)
{
    goffset start = 0;
    g_autoptr(GByteArray) numbers = g_byte_array_new();
    append(numbers, params);
    append(numbers, solution->workspace_bytes);
    append(numbers, (uint64_t)solution->pack_count);
    append(numbers, solution->packed_bytes);
    append(numbers, (uint64_t)solution->launch_count);
    for (int i = 0; i < solution->launch_count; i++) {
        append_launch(recipes, &solution->launches[i], entries[i], kernels[i], numbers);
    }
    guint32 length = numbers->len;
    if (recipes->error == NULL &&
        spool_append(recipes->solutions, &length, sizeof length, &start, &recipes->error)) {
        (void)spool_append(recipes->solutions, numbers->data, length, &start, &recipes->error);
    }
    recipes->launches += (guint32)solution->launch_count;
    return recipes->count++;
}

/* ---- writing sections ---- */

/* The file's numbers of forms, launches, texts and kernels, by id; NULL until they are known. */
struct ranks {
    const GArray *texts, *kernels;
    GArray *forms, *launches;
};

/* The kind of the section that these recipes are written to, given that of others. */
static enum sjdb_kind kind_of(const struct sjdb_recipes *recipes, enum sjdb_kind kind)
{
    return kind + (recipes->other ? SJDB_OTHER_RECIPE_STARTS - SJDB_RECIPE_STARTS : 0);
}

static uint64_t rank_of(const GArray *ranks, uint64_t id)
{
    return g_array_index(ranks, guint32, id);
}

/* Writes the sorter's strings as records, each distinct one once. Returns for each number below
 * `count` the record that its string became. */
static GArray *write_sorted(SjdbSorter *sorter, guint32 count, enum sjdb_kind starts_kind,
                            SjdbFile *file, GError **error)
{
    g_autoptr(GArray) ranks = g_array_sized_new(FALSE, TRUE, sizeof(guint32), count);
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GByteArray) last = g_byte_array_new();
    struct sjdb_bits written;
    const guint8 *bytes = NULL;
    gsize length = 0;
    guint32 number = 0;
    uint64_t start = 0;
    enum read_step step;
    g_array_set_size(ranks, count);
    g_array_append_val(starts, start);
    sjdb_bits_init(&written, file);
    while ((step = sjdb_sorter_next(sorter, &bytes, &length, &number, error)) == READ_ROW) {
        if (starts->len == 1 || length != last->len || memcmp(bytes, last->data, length) != 0) {
            g_byte_array_set_size(last, 0);
            g_byte_array_append(last, bytes, (guint)length);
            for (gsize i = 0; i < length; i++) {
                sjdb_bits_append(&written, bytes[i], 8);
            }
            start += length;
            g_array_append_val(starts, start);
        }
        g_array_index(ranks, guint32, number) = starts->len - 2;
    }
    sjdb_bits_end(&written);
    sjdb_file_add_array(file, starts_kind, starts);
    sjdb_file_add_bits(file, starts_kind + 1, &written, 8, start);
    sjdb_bits_clear(&written);
    return step == READ_END ? g_steal_pointer(&ranks) : NULL;
}

static GArray *write_forms(const struct sjdb_recipes *recipes, const struct ranks *ranks,
                           SjdbFile *file, GError **error)
{
    g_autoptr(GByteArray) record = g_byte_array_new();
    g_autoptr(SjdbSorter) sorter = sjdb_sorter_new(recipes->path, error);
    guint32 count = sjdb_dictionary_count(&recipes->forms);
    for (guint32 id = 0; sorter != NULL && id < count; id++) {
        gsize bytes = 0;
        const guint8 *at = sjdb_dictionary_get(&recipes->forms, id, &bytes), *end = at + bytes;
        g_byte_array_set_size(record, 0);
        append(record, rank_of(ranks->texts, sjdb_number_take(&at)));
        g_byte_array_append(record, at, (guint)(end - at));
        if (!sjdb_sorter_add(sorter, record->data, record->len, id, error)) {
            return NULL;
        }
    }
    return sorter != NULL
               ? write_sorted(sorter, count, kind_of(recipes, SJDB_FORM_STARTS), file, error)
               : NULL;
}

/* Progress of passing solutions to the sorter. `next` is the number that the next one gets. */
struct sorting {
    const struct ranks *ranks;
    SjdbSorter *sorter;
    GByteArray *record;
    guint32 next, launch;
    bool other;
};

static bool sort_launches(struct sorting *sorting, const guint8 *at, GError **error)
{
    GByteArray *record = sorting->record;
    sjdb_number_take(&at); /* params */
    sjdb_number_take(&at); /* workspace */
    sjdb_number_take(&at); /* packing launches */
    sjdb_number_take(&at); /* packed bytes */
    for (uint64_t left = sjdb_number_take(&at); left > 0; left--) {
        uint64_t length = sjdb_number_take(&at);
        const guint8 *end = at + length;
        g_byte_array_set_size(record, 0);
        append(record, rank_of(sorting->ranks->kernels, sjdb_number_take(&at)));
        append(record, rank_of(sorting->ranks->forms, sjdb_number_take(&at)));
        g_byte_array_append(record, at, (guint)(end - at));
        at = end;
        if (!sjdb_sorter_add(sorting->sorter, record->data, record->len, sorting->next++, error)) {
            return false;
        }
    }
    return true;
}

static bool sort_recipe(struct sorting *sorting, const guint8 *at, GError **error)
{
    GByteArray *record = sorting->record;
    uint64_t params = sjdb_number_take(&at);
    g_byte_array_set_size(record, 0);
    append(record, params > 0 ? 1 + rank_of(sorting->ranks->texts, params - 1) : 0);
    append(record, sjdb_number_take(&at));
    uint64_t pack_count = sjdb_number_take(&at), packed_bytes = sjdb_number_take(&at);
    if (sorting->other) {
        append(record, pack_count);
        append(record, packed_bytes);
    }
    for (uint64_t left = sjdb_number_take(&at); left > 0; left--) {
        append(record, rank_of(sorting->ranks->launches, sorting->launch++));
    }
    return sjdb_sorter_add(sorting->sorter, record->data, record->len, sorting->next++, error);
}

/* Passes every solution to the sorter, in the order in which they were added. */
static bool sort_solutions(const struct sjdb_recipes *recipes, struct sorting *sorting,
                           bool (*sort)(struct sorting *sorting, const guint8 *at, GError **error),
                           GError **error)
{
    struct spool_reader reader;
    bool done = true;
    spool_reader_init(&reader, recipes->solutions);
    while (done && !spool_reader_at_end(&reader)) {
        guint32 length = 0;
        const guint8 *at = spool_reader_take(&reader, sizeof length, error);
        if (at != NULL) {
            memcpy(&length, at, sizeof length);
            at = spool_reader_take(&reader, length, error);
        }
        done = at != NULL && sort(sorting, at, error);
    }
    spool_reader_clear(&reader);
    return done;
}

static GArray *write_launches(const struct sjdb_recipes *recipes, const struct ranks *ranks,
                              SjdbFile *file, GError **error)
{
    g_autoptr(GByteArray) record = g_byte_array_new();
    g_autoptr(SjdbSorter) sorter = sjdb_sorter_new(recipes->path, error);
    struct sorting sorting = {ranks, sorter, record, 0, 0, recipes->other};
    return sorter != NULL && sort_solutions(recipes, &sorting, sort_launches, error)
               ? write_sorted(sorter, recipes->launches, kind_of(recipes, SJDB_LAUNCH_STARTS), file,
                              error)
               : NULL;
}

static GArray *write_recipes(const struct sjdb_recipes *recipes, const struct ranks *ranks,
                             SjdbFile *file, GError **error)
{
    g_autoptr(GByteArray) record = g_byte_array_new();
    g_autoptr(SjdbSorter) sorter = sjdb_sorter_new(recipes->path, error);
    struct sorting sorting = {ranks, sorter, record, 0, 0, recipes->other};
    return sorter != NULL && sort_solutions(recipes, &sorting, sort_recipe, error)
               ? write_sorted(sorter, recipes->count, kind_of(recipes, SJDB_RECIPE_STARTS), file,
                              error)
               : NULL;
}

GArray *sjdb_recipes_write(struct sjdb_recipes *recipes, const GArray *text_ranks,
                           const GArray *kernel_ranks, SjdbFile *file, GError **error)
{
    struct ranks ranks = {text_ranks, kernel_ranks, NULL, NULL};
    GArray *written = NULL;
    if (recipes->error != NULL) {
        g_propagate_error(error, g_error_copy(recipes->error));
        return NULL;
    }
    if (recipes->count == 0) {
        return g_array_new(FALSE, FALSE, sizeof(guint32));
    }
    ranks.forms = write_forms(recipes, &ranks, file, error);
    if (ranks.forms != NULL) {
        ranks.launches = write_launches(recipes, &ranks, file, error);
    }
    if (ranks.launches != NULL) {
        written = write_recipes(recipes, &ranks, file, error);
    }
    g_clear_pointer(&ranks.forms, g_array_unref);
    g_clear_pointer(&ranks.launches, g_array_unref);
    return written;
}
