#include "export/sjdb/sjdb_kernels.h"

#include "export/sjdb/reader/layout.h"

#include <string.h>
#include <zstd.h>

/* zstd's compression level. A high one, since a release is compressed once and read for years. The
 * levels above it only use a wider window, and this level's window already covers a whole group. */
#define LEVEL 19

struct kernel {
    char *name, *args;
    uint64_t hash;
    guint32 id;
    bool held; /* true once the kernel's code object was added */
    goffset start;
    gsize code_bytes;
    uint64_t check;
};

static void kernel_free(void *data)
{
    struct kernel *kernel = data;
    g_free(kernel->name);
    g_free(kernel->args);
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

void sjdb_kernels_init(struct sjdb_kernels *kernels, const char *path)
{
    kernels->by_identity = g_hash_table_new(kernel_hash, kernel_equal);
    kernels->by_id = g_ptr_array_new_with_free_func(kernel_free);
    kernels->spool = spool_new(path);
}

void sjdb_kernels_clear(struct sjdb_kernels *kernels)
{
    g_clear_pointer(&kernels->by_identity, g_hash_table_unref);
    g_clear_pointer(&kernels->by_id, g_ptr_array_unref);
    g_clear_pointer(&kernels->spool, spool_free);
}

static struct kernel *kernel_of(struct sjdb_kernels *kernels, const char *name, const char *args)
{
    const struct kernel asked = {
        .name = (char *)name, .args = (char *)args, .hash = sjdb_kernel_hash(name, args)};
    struct kernel *kernel = g_hash_table_lookup(kernels->by_identity, &asked);
    if (kernel == NULL) {
        kernel = g_new0(struct kernel, 1);
        kernel->name = g_strdup(name);
        kernel->args = g_strdup(args);
        kernel->hash = asked.hash;
        kernel->id = kernels->by_id->len;
        g_ptr_array_add(kernels->by_id, kernel);
        g_hash_table_add(kernels->by_identity, kernel);
    }
    return kernel;
}

guint32 sjdb_kernels_id(struct sjdb_kernels *kernels, const char *name, const char *args)
{
    return kernel_of(kernels, name, args)->id;
}

/* Sets *same to whether the stored code object equals the given one. Returns false with an error if
 * the spool cannot be read. */
static bool is_same(const struct sjdb_kernels *kernels, const struct kernel *kernel,
                    const void *code, gsize bytes, bool *same, GError **error)
{
    *same =
        kernel->code_bytes == bytes && kernel->check == sjdb_checksum(code, bytes, SJDB_CHECK_SEED);
    if (!*same || bytes == 0) {
        return true;
    }
    g_autofree void *held = g_malloc(bytes);
    if (!spool_read(kernels->spool, kernel->start, held, bytes, error)) {
        return false;
    }
    *same = memcmp(held, code, bytes) == 0;
    return true;
}

bool sjdb_kernels_add(struct sjdb_kernels *kernels, const char *name, const char *args,
                      GBytes *code, GError **error)
{
    gsize bytes = 0;
    bool same = false;
    const void *data = g_bytes_get_data(code, &bytes);
    struct kernel *kernel = kernel_of(kernels, name, args);
    if (kernel->held) {
        if (is_same(kernels, kernel, data, bytes, &same, error) && !same) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                        "two code objects are called '%s' with '%s'", name, args);
        }
        return same;
    }
    kernel->code_bytes = bytes;
    kernel->check = sjdb_checksum(bytes > 0 ? data : "", bytes, SJDB_CHECK_SEED);
    kernel->held = spool_append(kernels->spool, data, bytes, &kernel->start, error);
    return kernel->held;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
    return compare_kernels(*(const struct kernel *const *)a, *(const struct kernel *const *)b);
}

/* Sorts kernels so that those of one source file are neighbours: they have much in common, which
 * compresses well. */
static GPtrArray *in_order(const struct sjdb_kernels *kernels)
{
    GPtrArray *ordered = g_ptr_array_copy(kernels->by_id, NULL, NULL);
    g_ptr_array_set_free_func(ordered, NULL);
    g_ptr_array_sort(ordered, by_name);
    return ordered;
}

GArray *sjdb_kernels_ranks(const struct sjdb_kernels *kernels, GError **error)
{
    g_autoptr(GPtrArray) ordered = in_order(kernels);
    g_autoptr(GArray) ranks = g_array_new(FALSE, TRUE, sizeof(guint32));
    g_array_set_size(ranks, ordered->len);
    for (guint i = 0; i < ordered->len; i++) {
        const struct kernel *kernel = ordered->pdata[i];
        if (!kernel->held) {
            g_set_error(
                error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                "a solution launches the kernel '%s' with '%s', whose code object was not added",
                kernel->name, kernel->args);
            return NULL;
        }
        g_array_index(ranks, guint32, kernel->id) = i;
    }
    return g_steal_pointer(&ranks);
}

/* The numbers about kernels and groups that become sections of the file. */
struct columns {
    Spool *spool;
    goffset frames; /* offset of the first group's frame in the spool; the other frames follow it */
    GArray *groups, *starts, *text_bytes, *code_bytes, *checks, *group_starts; /* uint64_t */
    GByteArray *content;
};

static GArray *numbers_new(void)
{
    return g_array_new(FALSE, FALSE, sizeof(uint64_t));
}

static void append(GArray *numbers, uint64_t number)
{
    g_array_append_val(numbers, number);
}

static bool end_group(struct columns *columns, GError **error)
{
    size_t room = ZSTD_compressBound(columns->content->len);
    g_autofree void *frame = g_malloc(room);
    goffset start = 0;
    size_t bytes = ZSTD_compress(frame, room, columns->content->data, columns->content->len, LEVEL);
    /* the buffer is as large as ZSTD_compressBound() asks, so compressing cannot fail */
    g_assert(!ZSTD_isError(bytes));
    if (!spool_append(columns->spool, frame, bytes, &start, error)) {
        return false;
    }
    if (columns->group_starts->len == 1) {
        columns->frames = start;
    }
    append(columns->group_starts, (uint64_t)(start - columns->frames) + bytes);
    g_byte_array_set_size(columns->content, 0);
    return true;
}

static bool append_kernel(struct columns *columns, const struct kernel *kernel, GError **error)
{
    gsize name_bytes = strlen(kernel->name) + 1, args_bytes = strlen(kernel->args) + 1;
    append(columns->groups, columns->group_starts->len - 1);
    append(columns->starts, columns->content->len);
    append(columns->text_bytes, name_bytes + args_bytes);
    append(columns->code_bytes, kernel->code_bytes);
    append(columns->checks, kernel->check);
    g_byte_array_append(columns->content, (const guint8 *)kernel->name, (guint)name_bytes);
    g_byte_array_append(columns->content, (const guint8 *)kernel->args, (guint)args_bytes);
    guint begin = columns->content->len;
    g_byte_array_set_size(columns->content, begin + (guint)kernel->code_bytes);
    return spool_read(columns->spool, kernel->start, columns->content->data + begin,
                      kernel->code_bytes, error) &&
           (columns->content->len < SJDB_GROUP_BYTES || end_group(columns, error));
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

static bool write_columns(const struct columns *columns, SjdbFile *file, GError **error)
{
    const GArray *ends = columns->group_starts;
    sjdb_file_add_array(file, SJDB_KERNEL_GROUPS, columns->groups);
    sjdb_file_add_array(file, SJDB_KERNEL_STARTS, columns->starts);
    sjdb_file_add_array(file, SJDB_KERNEL_TEXT_BYTES, columns->text_bytes);
    sjdb_file_add_array(file, SJDB_KERNEL_CODE_BYTES, columns->code_bytes);
    sjdb_file_add_array(file, SJDB_KERNEL_CHECKS, columns->checks);
    sjdb_file_add_array(file, SJDB_GROUP_STARTS, ends);
    return sjdb_file_add_spooled(file, SJDB_GROUPS, columns->spool, columns->frames,
                                 g_array_index(ends, uint64_t, ends->len - 1), error);
}

bool sjdb_kernels_write(const struct sjdb_kernels *kernels, SjdbFile *file, GError **error)
{
    g_autoptr(GPtrArray) ordered = in_order(kernels);
    struct columns columns = {kernels->spool,    0,
                              numbers_new(),     numbers_new(),
                              numbers_new(),     numbers_new(),
                              numbers_new(),     numbers_new(),
                              g_byte_array_new()};
    GArray *const arrays[] = {columns.groups,     columns.starts, columns.text_bytes,
                              columns.code_bytes, columns.checks, columns.group_starts};
    bool done = true;
    append(columns.group_starts, 0);
    for (guint i = 0; done && i < ordered->len; i++) {
        done = append_kernel(&columns, ordered->pdata[i], error);
    }
    if (done && columns.content->len > 0) {
        done = end_group(&columns, error);
    }
    if (done && ordered->len > 0) {
        write_hashes(ordered, file);
        done = write_columns(&columns, file, error);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(arrays); i++) {
        g_array_unref(arrays[i]);
    }
    g_byte_array_unref(columns.content);
    return done;
}
