#include "export/formats/kernel_db.h"

#include "tests/support/temp_folder.h"

#include <string.h>

static GBytes *repetitive(gsize length)
{
    char *bytes = g_malloc(length);
    for (gsize i = 0; i < length; i++) {
        bytes[i] = (char)(i % 251);
    }
    return g_bytes_new_take(bytes, length);
}

/* Random bytes, which bzip2 cannot compress. */
static GBytes *noise(gsize length)
{
    char *bytes = g_malloc(length);
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    for (gsize i = 0; i < length; i++) {
        bytes[i] = (char)g_rand_int(random);
    }
    return g_bytes_new_take(bytes, length);
}

static const char *write_sample(TempFolder *folder, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) packed = repetitive(300000);
    g_autoptr(GBytes) raw = noise(1000);
    g_autoptr(GBytes) empty = g_bytes_new(NULL, 0);
    const char *path = temp_folder_path(folder, name);
    g_autoptr(KernelDbWriter) writer = kernel_db_create(path, &error);
    g_assert_no_error(error);
    g_assert_true(kernel_db_add(writer, "a.cl.o", "-DX=1 -mcpu=gfx90a", packed, &error));
    g_assert_true(kernel_db_add(writer, "a.cl.o", "-DX=2 -mcpu=gfx90a", raw, &error));
    g_assert_true(kernel_db_add(writer, "b.cl.o", " -mcpu=gfx90a", empty, &error));
    g_assert_true(kernel_db_finish(writer, &error));
    g_assert_no_error(error);
    return path;
}

static void code_objects_read_back(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(KernelDb) db = kernel_db_open(write_sample(folder, "a.kdb"), &error);
    g_assert_no_error(error);
    static const int64_t sizes[] = {300000, 0, 0};
    struct kernel_entry entry;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        char md5[33];
        g_assert_cmpint(kernel_db_next(db, &entry, &error), ==, READ_ROW);
        g_assert_cmpint(entry.id, ==, (gint64)i + 1);
        g_assert_cmpint(entry.uncompressed_bytes, ==, sizes[i]);
        g_assert_true(kernel_entry_digest(&entry, md5, NULL, &error));
        g_assert_no_error(error);
        g_assert_cmpstr(md5, ==, entry.hash);
    }
    g_assert_cmpint(kernel_db_next(db, &entry, &error), ==, READ_END);
    g_assert_true(kernel_db_has_index(db));
    g_assert_null(kernel_db_damage(db));
}

static void equal_kernels_give_equal_bytes(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GBytes) one = temp_folder_read(write_sample(folder, "one"));
    g_autoptr(GBytes) two = temp_folder_read(write_sample(folder, "two"));
    g_assert_true(g_bytes_equal(one, two));
}

static void one_name_cannot_be_added_twice(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) code = noise(10);
    g_autoptr(KernelDbWriter) writer = kernel_db_create(temp_folder_path(folder, "a"), NULL);
    g_assert_true(kernel_db_add(writer, "a.o", "x", code, NULL));
    g_assert_false(kernel_db_add(writer, "a.o", "x", code, &error));
    g_assert_nonnull(error);
}

static void wrong_sizes_of_a_blob_are_found(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(KernelDb) db = kernel_db_open(write_sample(folder, "a.kdb"), NULL);
    struct kernel_entry whole;
    g_assert_cmpint(kernel_db_next(db, &whole, NULL), ==, READ_ROW);
    static const struct {
        int64_t size_off, cut;
        const char *reason;
    } cases[] = {
        {-1, 0, "unfolds to more"},
        {1, 0, "unfolds to less"},
        {INT64_MAX - 300000, 0, "unfolds to less"},
        {-300001, 0, "unfolds to more"},
        {0, 10, "cut off"},
        {0, INT64_MAX, "cut off"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct kernel_entry entry = whole;
        entry.uncompressed_bytes += cases[i].size_off;
        entry.blob_bytes -= (size_t)MIN((int64_t)whole.blob_bytes, cases[i].cut);
        g_assert_false(kernel_entry_digest(&entry, NULL, NULL, &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
        g_assert_nonnull(strstr(error->message, cases[i].reason));
    }
}

static void names_are_what_miopen_asks_for(void)
{
    g_autofree char *name = kernel_db_name("conv_direct.cl");
    g_autofree char *args = kernel_db_args("-DA=1 -DB=2", "gfx90a");
    g_autofree char *bare = kernel_db_args("", "gfx90a");
    g_assert_cmpstr(name, ==, "conv_direct.cl.o");
    g_assert_cmpstr(args, ==, "-DA=1 -DB=2 -mcpu=gfx90a");
    g_assert_cmpstr(bare, ==, " -mcpu=gfx90a");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/kernel_db/code_objects_read_back", code_objects_read_back);
    g_test_add_func("/kernel_db/equal_kernels_give_equal_bytes", equal_kernels_give_equal_bytes);
    g_test_add_func("/kernel_db/one_name_cannot_be_added_twice", one_name_cannot_be_added_twice);
    g_test_add_func("/kernel_db/wrong_sizes_of_a_blob_are_found", wrong_sizes_of_a_blob_are_found);
    g_test_add_func("/kernel_db/names_are_what_miopen_asks_for", names_are_what_miopen_asks_for);
    return g_test_run();
}
