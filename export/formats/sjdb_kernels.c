#include "export/formats/sjdb_kernels.h"

#include "export/reader/layout.h"

#include <string.h>
#include <zstd.h>

/* A release is compressed once and read for years; higher levels only widen a window that is as wide as
 * a group already. */
#define LEVEL 19

struct kernel {
    char *name, *args;
    GBytes *code;
    uint64_t hash;
};

static void kernel_free(void *data)
{
    struct kernel *kernel = data;
    g_free(kernel->name);
    g_free(kernel->args);
    g_bytes_unref(kernel->code);
    g_free(kernel);
}

static guint kernel_hash(gconstpointer data)
{
    return (guint)((const struct kernel *)data)->hash;
}

static int compare_kernels(const struct kernel *one, const struct kernel *other)
{
    int order = strcmp(one->name, other->name);
    return order != 0 ? order : strcmp(one->args, other->args);
}

static gboolean kernel_equal(gconstpointer a, gconstpointer b)
{
    return compare_kernels(a, b) == 0;
}

void sjdb_kernels_init(struct sjdb_kernels *kernels)
{
    kernels->by_identity = g_hash_table_new_full(kernel_hash, kernel_equal, kernel_free, NULL);
}

void sjdb_kernels_clear(struct sjdb_kernels *kernels)
{
    g_clear_pointer(&kernels->by_identity, g_hash_table_unref);
}

bool sjdb_kernels_add(struct sjdb_kernels *kernels, const char *name, const char *args,
                      GBytes *code, GError **error)
{
    struct kernel asked = {(char *)name, (char *)args, code, sjdb_kernel_hash(name, args)};
    const struct kernel *held = g_hash_table_lookup(kernels->by_identity, &asked);
    if (held != NULL && !g_bytes_equal(held->code, code)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "two code objects are called '%s' with '%s'", name, args);
        return false;
    }
    if (held == NULL) {
        struct kernel *kernel = g_new0(struct kernel, 1);
        *kernel = (struct kernel){g_strdup(name), g_strdup(args), g_bytes_ref(code), asked.hash};
        g_hash_table_add(kernels->by_identity, kernel);
    }
    return true;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
    return compare_kernels(*(const struct kernel *const *)a, *(const struct kernel *const *)b);
}

/* What is written of kernels and groups, column by column. */
struct columns {
    GArray *groups, *starts, *text_bytes, *code_bytes, *checks, *group_starts; /* uint64_t */
    GByteArray *content, *frames;
};

static GArray *numbers_new(void)
{
    return g_array_new(FALSE, FALSE, sizeof(uint64_t));
}

static void append(GArray *numbers, uint64_t number)
{
    g_array_append_val(numbers, number);
}

static void end_group(struct columns *columns)
{
    size_t room = ZSTD_compressBound(columns->content->len);
    g_autofree void *frame = g_malloc(room);
    size_t bytes = ZSTD_compress(frame, room, columns->content->data, columns->content->len, LEVEL);
    g_assert(!ZSTD_isError(bytes)); /* there is room for the worst case */
    g_byte_array_append(columns->frames, frame, (guint)bytes);
    append(columns->group_starts, columns->frames->len);
    g_byte_array_set_size(columns->content, 0);
}

static void append_kernel(struct columns *columns, const struct kernel *kernel)
{
    gsize code_bytes = 0, name_bytes = strlen(kernel->name) + 1;
    gsize args_bytes = strlen(kernel->args) + 1;
    const void *code = g_bytes_get_data(kernel->code, &code_bytes);
    append(columns->groups, columns->group_starts->len - 1);
    append(columns->starts, columns->content->len);
    append(columns->text_bytes, name_bytes + args_bytes);
    append(columns->code_bytes, code_bytes);
    append(columns->checks, sjdb_checksum(code, code_bytes, SJDB_CHECK_SEED));
    g_byte_array_append(columns->content, (const guint8 *)kernel->name, (guint)name_bytes);
    g_byte_array_append(columns->content, (const guint8 *)kernel->args, (guint)args_bytes);
    g_byte_array_append(columns->content, code, (guint)code_bytes);
    if (columns->content->len >= SJDB_GROUP_BYTES) {
        end_group(columns);
    }
}

struct hashed {
    uint64_t hash, number;
};

static gint by_hash(gconstpointer a, gconstpointer b)
{
    const struct hashed *one = a, *other = b;
    if (one->hash != other->hash) {
        return one->hash < other->hash ? -1 : 1;
    }
    return (one->number > other->number) - (one->number < other->number);
}

static void write_hashes(const GPtrArray *ordered, SjdbFile *file)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct hashed));
    g_autoptr(GArray) hashes = numbers_new();
    g_autoptr(GArray) numbers = numbers_new();
    for (guint i = 0; i < ordered->len; i++) {
        struct hashed hashed = {((const struct kernel *)ordered->pdata[i])->hash, i};
        g_array_append_val(all, hashed);
    }
    g_array_sort(all, by_hash);
    for (guint i = 0; i < all->len; i++) {
        append(hashes, g_array_index(all, struct hashed, i).hash);
        append(numbers, g_array_index(all, struct hashed, i).number);
    }
    sjdb_file_add_array(file, SJDB_KERNEL_HASHES, hashes);
    sjdb_file_add_array(file, SJDB_KERNEL_NUMBERS, numbers);
}

static void write_columns(const struct columns *columns, SjdbFile *file)
{
    sjdb_file_add_array(file, SJDB_KERNEL_GROUPS, columns->groups);
    sjdb_file_add_array(file, SJDB_KERNEL_STARTS, columns->starts);
    sjdb_file_add_array(file, SJDB_KERNEL_TEXT_BYTES, columns->text_bytes);
    sjdb_file_add_array(file, SJDB_KERNEL_CODE_BYTES, columns->code_bytes);
    sjdb_file_add_array(file, SJDB_KERNEL_CHECKS, columns->checks);
    sjdb_file_add_array(file, SJDB_GROUP_STARTS, columns->group_starts);
    sjdb_file_add_bytes(file, SJDB_GROUPS, columns->frames->data, columns->frames->len);
}

/* Variants of one source lie together: what they share is kept once. */
static GPtrArray *in_order(const struct sjdb_kernels *kernels)
{
    GPtrArray *ordered = g_ptr_array_new();
    GHashTableIter iter;
    gpointer kernel;
    g_hash_table_iter_init(&iter, kernels->by_identity);
    while (g_hash_table_iter_next(&iter, &kernel, NULL)) {
        g_ptr_array_add(ordered, kernel);
    }
    g_ptr_array_sort(ordered, by_name);
    return ordered;
}

void sjdb_kernels_write(const struct sjdb_kernels *kernels, SjdbFile *file)
{
    g_autoptr(GPtrArray) ordered = in_order(kernels);
    struct columns columns = {numbers_new(), numbers_new(), numbers_new(),      numbers_new(),
                              numbers_new(), numbers_new(), g_byte_array_new(), g_byte_array_new()};
    GArray *const arrays[] = {columns.groups,     columns.starts, columns.text_bytes,
                              columns.code_bytes, columns.checks, columns.group_starts};
    append(columns.group_starts, 0);
    for (guint i = 0; i < ordered->len; i++) {
        append_kernel(&columns, ordered->pdata[i]);
    }
    if (columns.content->len > 0) {
        end_group(&columns);
    }
    if (ordered->len > 0) {
        write_hashes(ordered, file);
        write_columns(&columns, file);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(arrays); i++) {
        g_array_unref(arrays[i]);
    }
    g_byte_array_unref(columns.content);
    g_byte_array_unref(columns.frames);
}
