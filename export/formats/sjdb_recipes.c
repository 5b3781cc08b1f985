#include "export/formats/sjdb_recipes.h"

#include "export/reader/layout.h"

#include <string.h>

/* Numbers of a list that stand for something else. */
enum { FORM_ENTRY = 0, LAUNCH_KERNEL = 0, LAUNCH_FORM = 1, RECIPE_PARAMS = 0, RECIPE_LAUNCHES = 2 };

_Static_assert((int)ARG_TENSOR == SKIPJACKDB_ARG_TENSOR && (int)ARG_STRIDE == SKIPJACKDB_ARG_STRIDE,
               "kinds of arguments");
_Static_assert((int)TENSOR_X == SKIPJACKDB_TENSOR_X && (int)TENSOR_Y == SKIPJACKDB_TENSOR_Y,
               "tensors");
_Static_assert(SOLUTION_LAUNCHES_MAX <= SKIPJACKDB_LAUNCHES_MAX &&
                   LAUNCH_ARGS_MAX <= SKIPJACKDB_ARGS_MAX,
               "what a reader takes");

void sjdb_recipes_init(struct sjdb_recipes *recipes)
{
    sjdb_lists_init(&recipes->forms);
    sjdb_lists_init(&recipes->launches);
    sjdb_lists_init(&recipes->recipes);
}

void sjdb_recipes_clear(struct sjdb_recipes *recipes)
{
    sjdb_lists_clear(&recipes->forms);
    sjdb_lists_clear(&recipes->launches);
    sjdb_lists_clear(&recipes->recipes);
}

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

static void append(GArray *numbers, uint64_t number)
{
    g_array_append_val(numbers, number);
}

static void append_signed(GArray *numbers, int64_t number)
{
    append(numbers, sjdb_zigzag((uint64_t)number));
}

static guint32 add_list(struct sjdb_lists *lists, const GArray *numbers)
{
    return sjdb_lists_add(lists, (const uint64_t *)(const void *)numbers->data, numbers->len);
}

static guint32 add_form(struct sjdb_lists *forms, const struct launch *launch, uint64_t entry)
{
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(uint64_t));
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
    return add_list(forms, numbers);
}

/* What the form leaves open. */
static void append_value(GArray *numbers, const struct launch_arg *arg)
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
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    append(numbers, kernel);
    append(numbers, add_form(&recipes->forms, launch, entry));
    for (int i = 0; i < 3; i++) {
        append(numbers, (uint64_t)(launch->grid[i] / launch->block[i]));
    }
    for (int i = 0; i < launch->arg_count; i++) {
        append_value(numbers, &launch->args[i]);
    }
    return add_list(&recipes->launches, numbers);
}

guint32 sjdb_recipes_add(struct sjdb_recipes *recipes, const struct solution *solution,
                         uint64_t params, const uint64_t *entries, const uint64_t *kernels)
{
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    append(numbers, params);
    append(numbers, solution->workspace_bytes);
    for (int i = 0; i < solution->launch_count; i++) {
        append(numbers, add_launch(recipes, &solution->launches[i], entries[i], kernels[i]));
    }
    return add_list(&recipes->recipes, numbers);
}

/* ---- writing ---- */

static uint64_t *list_at(const struct sjdb_lists *lists, guint32 id, guint *count)
{
    uint64_t start = g_array_index(lists->starts, uint64_t, id);
    *count = (guint)(g_array_index(lists->starts, uint64_t, id + 1) - start);
    return &g_array_index(lists->items, uint64_t, start);
}

static guint list_count(const struct sjdb_lists *lists)
{
    return lists->starts->len - 1;
}

static void rename_number(uint64_t *number, const GArray *ranks)
{
    *number = g_array_index(ranks, guint32, *number);
}

static gint compare_lists(gconstpointer a, gconstpointer b, gpointer data)
{
    guint count, other_count;
    const uint64_t *one = list_at(data, *(const guint32 *)a, &count);
    const uint64_t *other = list_at(data, *(const guint32 *)b, &other_count);
    for (guint i = 0; i < MIN(count, other_count); i++) {
        if (one[i] != other[i]) {
            return one[i] < other[i] ? -1 : 1;
        }
    }
    return (count > other_count) - (count < other_count);
}

static void append_varint(GByteArray *bytes, uint64_t number)
{
    do {
        guint8 byte = (guint8)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        g_byte_array_append(bytes, &byte, 1);
        number >>= 7;
    } while (number > 0);
}

/* Writes lists in the order of their numbers, and gives back where each stands. */
static GArray *write_lists(struct sjdb_lists *lists, enum sjdb_kind starts_kind, SjdbFile *file)
{
    g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    for (guint32 i = 0; i < list_count(lists); i++) {
        g_array_append_val(order, i);
    }
    g_array_sort_with_data(order, compare_lists, lists);
    append(starts, 0);
    for (guint i = 0; i < order->len; i++) {
        guint count;
        const uint64_t *numbers = list_at(lists, g_array_index(order, guint32, i), &count);
        for (guint n = 0; n < count; n++) {
            append_varint(bytes, numbers[n]);
        }
        append(starts, bytes->len);
    }
    sjdb_file_add_array(file, starts_kind, starts);
    sjdb_file_add_bytes(file, starts_kind + 1, bytes->data, bytes->len);
    return sjdb_rank_of(order);
}

GArray *sjdb_recipes_write(struct sjdb_recipes *recipes, const GArray *text_ranks,
                           const GArray *kernel_ranks, SjdbFile *file)
{
    guint count;
    if (list_count(&recipes->recipes) == 0) {
        return g_array_new(FALSE, FALSE, sizeof(guint32));
    }
    for (guint32 i = 0; i < list_count(&recipes->forms); i++) {
        rename_number(&list_at(&recipes->forms, i, &count)[FORM_ENTRY], text_ranks);
    }
    g_autoptr(GArray) forms = write_lists(&recipes->forms, SJDB_FORM_STARTS, file);
    for (guint32 i = 0; i < list_count(&recipes->launches); i++) {
        uint64_t *launch = list_at(&recipes->launches, i, &count);
        rename_number(&launch[LAUNCH_KERNEL], kernel_ranks);
        rename_number(&launch[LAUNCH_FORM], forms);
    }
    g_autoptr(GArray) launches = write_lists(&recipes->launches, SJDB_LAUNCH_STARTS, file);
    for (guint32 i = 0; i < list_count(&recipes->recipes); i++) {
        uint64_t *recipe = list_at(&recipes->recipes, i, &count);
        if (recipe[RECIPE_PARAMS] > 0) {
            recipe[RECIPE_PARAMS] =
                1 + (uint64_t)g_array_index(text_ranks, guint32, recipe[RECIPE_PARAMS] - 1);
        }
        for (guint n = RECIPE_LAUNCHES; n < count; n++) {
            rename_number(&recipe[n], launches);
        }
    }
    return write_lists(&recipes->recipes, SJDB_RECIPE_STARTS, file);
}
