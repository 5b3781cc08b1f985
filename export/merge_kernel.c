/*
 * Kernels are told apart by name and arguments and compared by hash. Code
 * objects stay where they are until they are written: an architecture's file
 * has hundreds of megabytes.
 */
#include "export/merge_parts.h"

#include <string.h>

struct merge_kernels {
    GPtrArray *dbs; /* KernelDb * */
    GArray *items;  /* struct kernel_item, in the order they were read */
};

static void item_clear(void *data)
{
    struct kernel_item *item = data;
    g_free(item->name);
    g_free(item->args);
    g_free(item->hash);
}

static void db_close(void *db)
{
    kernel_db_close(db);
}

struct merge_kernels *merge_kernels_new(void)
{
    struct merge_kernels *kernels = g_new0(struct merge_kernels, 1);
    kernels->dbs = g_ptr_array_new_with_free_func(db_close);
    kernels->items = g_array_new(FALSE, FALSE, sizeof(struct kernel_item));
    g_array_set_clear_func(kernels->items, item_clear);
    return kernels;
}

void merge_kernels_free(struct merge_kernels *kernels)
{
    g_ptr_array_unref(kernels->dbs);
    g_array_unref(kernels->items);
    g_free(kernels);
}

int64_t merge_kernels_count(const struct merge *merge)
{
    return merge->kernels->items->len;
}

static void add_item(struct merge *merge, guint input, const struct kernel_entry *entry)
{
    char md5[33];
    g_autoptr(GError) error = NULL;
    if (!kernel_entry_digest(entry, md5, NULL, &error)) {
        merge_left_out(merge, input, "kern_db", entry->id, "%s", error->message);
        return;
    }
    if (g_ascii_strcasecmp(md5, entry->hash) != 0) {
        merge_left_out(merge, input, "kern_db", entry->id,
                       "the code object's MD5 is %s, not %s as the row says", md5, entry->hash);
        return;
    }
    struct kernel_item item = {g_strdup(entry->name),
                               g_strdup(entry->args),
                               g_strdup(entry->hash),
                               merge->kernels->dbs->len - 1,
                               input,
                               entry->id};
    g_array_append_val(merge->kernels->items, item);
    merge_input(merge, input)->keys++;
    merge_input(merge, input)->entries++;
}

bool merge_kernels_read(struct merge *merge, guint input, GError **error)
{
    struct kernel_entry entry = {0};
    enum read_step step = READ_ROW;
    KernelDb *db = kernel_db_open(merge_input(merge, input)->path, error);
    if (db == NULL) {
        return false;
    }
    g_ptr_array_add(merge->kernels->dbs, db);
    while (step != READ_END && step != READ_FAILED) {
        g_autoptr(GError) wrong = NULL;
        step = kernel_db_next(db, &entry, &wrong);
        if (step == READ_ROW) {
            add_item(merge, input, &entry);
        } else if (step != READ_END) {
            merge_left_out(merge, input, "kern_db", entry.id, "%s", wrong->message);
        }
    }
    return true;
}

int kernel_item_compare(const struct kernel_item *a, const struct kernel_item *b)
{
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : strcmp(a->args, b->args);
}

static int compare_items(const void *a, const void *b)
{
    const struct kernel_item *left = *(struct kernel_item *const *)a;
    const struct kernel_item *right = *(struct kernel_item *const *)b;
    int order = kernel_item_compare(left, right);
    return order != 0 ? order : (left > right) - (left < right);
}

static struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

static struct merge_side side_of(const struct kernel_item *item)
{
    return (struct merge_side){item->input, "kern_db", item->id, span_of(item->hash)};
}

/* A key's items, `count` of them in the order they were read. */
static const struct kernel_item *choose(struct merge *merge, struct kernel_item **items,
                                        guint count)
{
    const struct kernel_item *kept = items[merge->options->prefer == MERGE_NEWEST ? count - 1 : 0];
    for (guint i = 0; i < count; i++) {
        if (g_ascii_strcasecmp(items[i]->hash, kept->hash) != 0) {
            struct merge_side stays = side_of(kept), goes = side_of(items[i]);
            merge_conflict(merge, span_of(kept->name), span_of(kept->args), &stays, &goes);
        }
    }
    return kept;
}

GPtrArray *merge_kernels_sorted(const struct merge *merge)
{
    GArray *all = merge->kernels->items;
    GPtrArray *order = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++) {
        g_ptr_array_add(order, &g_array_index(all, struct kernel_item, i));
    }
    g_ptr_array_sort(order, compare_items);
    return order;
}

static GPtrArray *choose_all(struct merge *merge)
{
    GPtrArray *chosen = g_ptr_array_new();
    g_autoptr(GPtrArray) order = merge_kernels_sorted(merge);
    struct kernel_item **items = (struct kernel_item **)order->pdata;
    for (guint first = 0, end = 0; first < order->len; first = end) {
        for (end = first + 1;
             end < order->len && kernel_item_compare(items[first], items[end]) == 0;) {
            end++;
        }
        g_ptr_array_add(chosen, (void *)choose(merge, items + first, end - first));
    }
    merge->report->keys = merge->report->entries = chosen->len;
    return chosen;
}

static bool write_all(const struct merge *merge, const GPtrArray *chosen, const char *path,
                      GError **error)
{
    g_autoptr(KernelDbWriter) writer = kernel_db_create(path, error);
    for (guint i = 0; writer != NULL && i < chosen->len; i++) {
        const struct kernel_item *item = chosen->pdata[i];
        struct kernel_entry entry;
        enum read_step step =
            kernel_db_at(merge->kernels->dbs->pdata[item->source], item->id, &entry, error);
        if (step == READ_END) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "'%s' was changed meanwhile",
                        merge_input(merge, item->input)->path);
        }
        if (step != READ_ROW || !kernel_db_add_entry(writer, &entry, error)) {
            return false;
        }
    }
    return writer != NULL && kernel_db_finish(writer, error);
}

static bool same_kernel(const struct kernel_item *item, const struct kernel_entry *entry,
                        GError **error)
{
    char md5[33];
    return strcmp(item->name, entry->name) == 0 && strcmp(item->args, entry->args) == 0 &&
           kernel_entry_digest(entry, md5, NULL, error) && g_ascii_strcasecmp(md5, item->hash) == 0;
}

static bool read_back(const GPtrArray *chosen, const char *path, GError **error)
{
    struct kernel_entry entry;
    guint row = 0;
    g_autoptr(KernelDb) db = kernel_db_open(path, error);
    if (db == NULL) {
        return false;
    }
    enum read_step step = kernel_db_next(db, &entry, error);
    while (step == READ_ROW && row < chosen->len &&
           same_kernel(chosen->pdata[row], &entry, error)) {
        row++;
        step = kernel_db_next(db, &entry, error);
    }
    if (step != READ_END || row != chosen->len) {
        g_clear_error(error);
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                    "what was written does not read back: kernel %u differs; is the disk sound?",
                    row + 1);
        return false;
    }
    return true;
}

bool merge_kernels_write(struct merge *merge, const char *path, GError **error)
{
    g_autoptr(GPtrArray) chosen = choose_all(merge);
    return write_all(merge, chosen, path, error) && read_back(chosen, path, error);
}
