#include "export/merge/merge_kernel.h"
#include "export/formats/code_target.h"

#include <string.h>

struct merge_kernels {
    GPtrArray *dbs;   /* KernelDb * */
    GPtrArray *sjdbs; /* skipjackdb * */
    GArray *items;    /* struct kernel_item, in the order of reading */
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

static void sjdb_close(void *db)
{
    skipjackdb_close(db);
}

static void kernels_init(struct merge *merge)
{
    struct merge_kernels *kernels = g_new0(struct merge_kernels, 1);
    kernels->dbs = g_ptr_array_new_with_free_func(db_close);
    kernels->sjdbs = g_ptr_array_new_with_free_func(sjdb_close);
    kernels->items = g_array_new(FALSE, FALSE, sizeof(struct kernel_item));
    g_array_set_clear_func(kernels->items, item_clear);
    merge->kernels = kernels;
}

static void kernels_clear(struct merge *merge)
{
    struct merge_kernels *kernels = merge->kernels;
    g_ptr_array_unref(kernels->dbs);
    g_ptr_array_unref(kernels->sjdbs);
    g_array_unref(kernels->items);
    g_free(kernels);
}

static int64_t kernels_count(const struct merge *merge)
{
    return merge->kernels->items->len;
}

const struct merge_part merge_kernel_part = {LOSS_KERNELS, kernels_init, kernels_clear,
                                             kernels_count};

static void note_target(struct merge *merge, const struct kernel_item *item, const void *code,
                        size_t length)
{
    const struct merge_input *input = merge_input(merge, item->input);
    const char *noun = item->from_sjdb ? "kernel" : "kern_db";
    struct file_target said = kernel_args_target(item->args);
    if (!merge_content_target(merge, item->input, &said, noun, item->id)) {
        return;
    }
    const struct file_target *wanted =
        input->named.known != TARGET_UNKNOWN ? &input->named : &input->content;
    g_autofree char *other =
        wanted->known != TARGET_UNKNOWN ? code_other_target(code, length, &wanted->target) : NULL;
    if (other != NULL) {
        merge_other_target(merge, item->input, noun, item->id, other);
    }
}

static void add_item(struct merge *merge, guint input, const struct kernel_entry *entry)
{
    char md5[33];
    g_autoptr(GError) error = NULL;
    g_autoptr(GByteArray) head = g_byte_array_new();
    if (!kernel_entry_digest_head(entry, md5, NULL, head, &error)) {
        merge_left_out(merge, input, "kern_db", entry->id, "%s", error->message);
        return;
    }
    if (g_ascii_strcasecmp(md5, entry->hash) != 0) {
        merge_left_out(merge, input, "kern_db", entry->id,
                       "the code object's MD5 is %s, not %s as the row says", md5, entry->hash);
        return;
    }
    const struct kernel_item item = {.name = g_strdup(entry->name),
                                     .args = g_strdup(entry->args),
                                     .hash = g_strdup(entry->hash),
                                     .source = merge->kernels->dbs->len - 1,
                                     .input = input,
                                     .id = entry->id};
    g_array_append_val(merge->kernels->items, item);
    merge_input(merge, input)->keys++;
    merge_input(merge, input)->entries++;
    note_target(merge, &item, head->data, head->len);
}

static bool kernels_read(struct merge *merge, guint input, GError **error)
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

/* Adds a kernel of a .sjdb. `text` holds its name and its arguments, each with its NUL. */
static void add_sjdb_item(struct merge *merge, guint input, const char *text, uint64_t number,
                          const char *code, size_t length, bool unmeasured)
{
    char *md5 = g_compute_checksum_for_data(G_CHECKSUM_MD5, (const guchar *)code, length);
    const struct kernel_item item = {.name = g_strdup(text),
                                     .args = g_strdup(text + strlen(text) + 1),
                                     .hash = md5,
                                     .from_sjdb = true,
                                     .source = merge->kernels->sjdbs->len - 1,
                                     .input = input,
                                     .id = (int64_t)number,
                                     .unmeasured = unmeasured};
    g_array_append_val(merge->kernels->items, item);
    merge_input(merge, input)->keys++;
    merge_input(merge, input)->entries++;
    note_target(merge, &item, code, length);
}

/* Reads a kernel of a .sjdb. *code and *text (if not NULL) are set; free both with g_free(). */
static int read_sjdb_kernel(const skipjackdb *db, uint64_t number, char **text, char **code,
                            size_t *length)
{
    struct skipjackdb_kernel kernel = {.size = sizeof kernel};
    int status = skipjackdb_kernel_at(db, number, &kernel);
    if (status != SKIPJACKDB_OK || kernel.code_bytes > (uint64_t)KERNEL_BYTES_MAX) {
        return status != SKIPJACKDB_OK ? status : SKIPJACKDB_DAMAGED;
    }
    *length = kernel.code_bytes;
    *code = g_malloc(kernel.code_bytes + 1); /* g_malloc(0) is NULL, which reads as failure */
    if (text != NULL) {
        *text = g_malloc0(kernel.text_bytes + 2);
    }
    return skipjackdb_kernel_read(db, number, text != NULL ? *text : NULL, kernel.text_bytes, *code,
                                  kernel.code_bytes);
}

int merge_kernels_add(struct merge *merge, guint input, skipjackdb *db, const bool *unmeasured)
{
    int status = SKIPJACKDB_OK;
    uint64_t count = skipjackdb_kernel_count(db);
    g_ptr_array_add(merge->kernels->sjdbs, db);
    for (uint64_t number = 0; status == SKIPJACKDB_OK && number < count; number++) {
        size_t length = 0;
        g_autofree char *text = NULL;
        g_autofree char *code = NULL;
        status = read_sjdb_kernel(db, number, &text, &code, &length);
        if (status == SKIPJACKDB_OK) {
            add_sjdb_item(merge, input, text, number, code, length,
                          unmeasured != NULL && unmeasured[number]);
        }
    }
    return status;
}

static bool changed(const struct merge *merge, const struct kernel_item *item, GError **error)
{
    g_clear_error(error);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "'%s' was changed meanwhile: merge again",
                merge_input(merge, item->input)->path);
    return false;
}

GBytes *merge_kernel_code(const struct merge *merge, const struct kernel_item *item, GError **error)
{
    struct kernel_entry entry;
    size_t length = 0;
    char *code = NULL;
    if (!item->from_sjdb) {
        KernelDb *db = merge->kernels->dbs->pdata[item->source];
        if (kernel_db_at(db, item->id, &entry, error) == READ_ROW) {
            return kernel_entry_unpack(&entry, error);
        }
    } else if (read_sjdb_kernel(merge->kernels->sjdbs->pdata[item->source], (uint64_t)item->id,
                                NULL, &code, &length) == SKIPJACKDB_OK) {
        return g_bytes_new_take(code, length);
    }
    g_free(code);
    changed(merge, item, error);
    return NULL;
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
    return (struct merge_side){item->input, item->from_sjdb ? "kernel" : "kern_db", item->id,
                               span_of(item->hash)};
}

/* Returns the kernel that the policy keeps among `count` kernels with the same name and arguments,
 * which are in the order of reading: of those that measured solutions may launch, if there are any. */
static const struct kernel_item *kept_of(const struct merge *merge, struct kernel_item **items,
                                         guint count)
{
    const struct kernel_item *kept = NULL;
    for (guint i = 0; i < count; i++) {
        const struct kernel_item *item = items[i];
        bool same = kept != NULL && kept->unmeasured == item->unmeasured;
        if (kept == NULL || (kept->unmeasured && !item->unmeasured) ||
            (same && merge->options->prefer == MERGE_NEWEST)) {
            kept = item;
        }
    }
    return kept;
}

static bool is_other_code(const struct kernel_item *a, const struct kernel_item *b)
{
    return g_ascii_strcasecmp(a->hash, b->hash) != 0;
}

static const struct kernel_item *choose(struct merge *merge, struct kernel_item **items,
                                        guint count)
{
    const struct kernel_item *kept = kept_of(merge, items, count);
    for (guint i = 0; i < count; i++) {
        if (is_other_code(items[i], kept)) {
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

/* Returns the index behind the last item that has the same name and arguments as item `first`. */
static guint end_of_key(const GPtrArray *order, guint first)
{
    guint end = first + 1;
    while (end < order->len && kernel_item_compare(order->pdata[first], order->pdata[end]) == 0) {
        end++;
    }
    return end;
}

void merge_kernels_settle(const struct merge *merge)
{
    g_autoptr(GPtrArray) order = merge_kernels_sorted(merge);
    struct kernel_item **items = (struct kernel_item **)order->pdata;
    for (guint first = 0, end = 0; first < order->len; first = end) {
        end = end_of_key(order, first);
        const struct kernel_item *kept = kept_of(merge, items + first, end - first);
        for (guint i = first; i < end; i++) {
            items[i]->gives_way = is_other_code(items[i], kept);
        }
    }
}

GPtrArray *merge_kernels_choose(struct merge *merge)
{
    GPtrArray *chosen = g_ptr_array_new();
    g_autoptr(GPtrArray) order = merge_kernels_sorted(merge);
    struct kernel_item **items = (struct kernel_item **)order->pdata;
    for (guint first = 0, end = 0; first < order->len; first = end) {
        end = end_of_key(order, first);
        g_ptr_array_add(chosen, (void *)choose(merge, items + first, end - first));
    }
    return chosen;
}

/* Writes a kernel. The blob of a kernel-db is copied as it is, without unpacking. */
static bool write_kernel(const struct merge *merge, const struct kernel_item *item,
                         KernelDbWriter *writer, GError **error)
{
    struct kernel_entry entry;
    if (item->from_sjdb) {
        g_autoptr(GBytes) code = merge_kernel_code(merge, item, error);
        return code != NULL && kernel_db_add(writer, item->name, item->args, code, error);
    }
    KernelDb *db = merge->kernels->dbs->pdata[item->source];
    return (kernel_db_at(db, item->id, &entry, error) == READ_ROW || changed(merge, item, error)) &&
           kernel_db_add_entry(writer, &entry, error);
}

static bool write_all(const struct merge *merge, const GPtrArray *chosen, const char *path,
                      GError **error)
{
    g_autoptr(KernelDbWriter) writer = kernel_db_create(path, error);
    for (guint i = 0; writer != NULL && i < chosen->len; i++) {
        if (!write_kernel(merge, chosen->pdata[i], writer, error)) {
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

static bool kernels_write(struct merge *merge, const char *path, GError **error)
{
    g_autoptr(GPtrArray) chosen = merge_kernels_choose(merge);
    merge->report->keys = merge->report->entries = chosen->len;
    return write_all(merge, chosen, path, error) && read_back(chosen, path, error);
}

const struct merge_format merge_kernel_format = {FILE_KERNEL_DB, 1 << LOSS_KERNELS, kernels_read,
                                                 kernels_write};
