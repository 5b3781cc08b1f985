#include "export/sjdb/sjdb_set.h"

#include <string.h>

struct answer {
    guint32 choice, value;
    guint32 next; /* of the problem, and 1; 0 for none */
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

/* The problem, which has nothing yet where it is new. */
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
