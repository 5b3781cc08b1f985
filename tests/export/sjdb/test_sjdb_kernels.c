#include "export/sjdb/sjdb_write.h"

#include "export/sjdb/reader/layout.h"
#include "tests/support/temp_folder.h"

#include <glib/gstdio.h>
#include <string.h>

#define KERNELS 40

struct sample {
    char name[32], args[64];
    GBytes *code;
};

static void sample_free(void *data)
{
    struct sample *sample = data;
    g_bytes_unref(sample->code);
    g_free(sample);
}

/* Code objects that mostly repeat the bytes of a few sources, as real ones of one source do. One is
 * empty, ten are large enough to fill several groups. */
static GPtrArray *make_samples(void)
{
    GPtrArray *samples = g_ptr_array_new_with_free_func(sample_free);
    g_autoptr(GRand) random = g_rand_new_with_seed(12);
    g_autoptr(GByteArray) source = g_byte_array_new();
    for (int i = 0; i < KERNELS; i++) {
        struct sample *sample = g_new0(struct sample, 1);
        if (i % 10 == 0) {
            gsize bytes = i == 30 ? SJDB_GROUP_BYTES / 3 : 9000 + (gsize)i * 100;
            g_byte_array_set_size(source, (guint)bytes);
            for (gsize b = 0; b < bytes; b++) {
                source->data[b] = (guint8)g_rand_int(random);
            }
        }
        g_snprintf(sample->name, sizeof sample->name, "conv_%d.cl.o", i / 10);
        g_snprintf(sample->args, sizeof sample->args, "-DTILE=%d -mcpu=gfx90a", i);
        source->data[(gsize)g_rand_int(random) % source->len] ^= 1;
        sample->code = g_bytes_new(source->data, i == 7 ? 0 : source->len);
        g_ptr_array_add(samples, sample);
    }
    return samples;
}

static skipjackdb *write_and_open(const GPtrArray *samples, const char *path)
{
    skipjackdb *db = NULL;
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    for (guint i = 0; i < samples->len; i++) {
        const struct sample *sample = samples->pdata[i];
        g_assert_true(
            sjdb_writer_add_kernel(writer, sample->name, sample->args, sample->code, NULL));
    }
    g_assert_true(sjdb_writer_finish(writer, NULL));
    g_assert_cmpint(skipjackdb_open(path, &db), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_verify(db), ==, SKIPJACKDB_OK);
    return db;
}

static void assert_code(const struct sample *sample, const void *code, gsize bytes)
{
    g_assert_cmpmem(code, bytes, g_bytes_get_data(sample->code, NULL),
                    g_bytes_get_size(sample->code));
}

static void code_objects_are_found_by_name_and_args(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GPtrArray) samples = make_samples();
    skipjackdb *db = write_and_open(samples, temp_folder_path(folder, "a.sjdb"));
    for (guint i = 0; i < samples->len; i++) {
        const struct sample *sample = samples->pdata[i];
        size_t bytes = 0, again = 0;
        g_assert_cmpint(skipjackdb_kernel(db, sample->name, sample->args, NULL, 0, &bytes), ==,
                        SKIPJACKDB_SPACE);
        g_autofree char *code = g_malloc(bytes + 1);
        g_assert_cmpint(skipjackdb_kernel(db, sample->name, sample->args, code, bytes, &again), ==,
                        SKIPJACKDB_OK);
        assert_code(sample, code, again);
        g_assert_cmpint(skipjackdb_kernel(db, sample->args, sample->name, code, bytes, &again), ==,
                        SKIPJACKDB_NOT_FOUND);
    }
    skipjackdb_close(db);
}

static void all_are_read_by_number_with_their_texts(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GPtrArray) samples = make_samples();
    skipjackdb *db = write_and_open(samples, temp_folder_path(folder, "a.sjdb"));
    g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
    g_assert_cmpuint(skipjackdb_kernel_count(db), ==, samples->len);
    for (uint64_t n = 0; n < skipjackdb_kernel_count(db); n++) {
        struct skipjackdb_kernel kernel = {.size = sizeof kernel};
        g_assert_cmpint(skipjackdb_kernel_at(db, n, &kernel), ==, SKIPJACKDB_OK);
        g_autofree char *text = g_malloc(kernel.text_bytes);
        g_autofree char *code = g_malloc(kernel.code_bytes + 1);
        g_assert_cmpint(
            skipjackdb_kernel_read(db, n, text, kernel.text_bytes, code, kernel.code_bytes), ==,
            SKIPJACKDB_OK);
        g_assert_cmpint(skipjackdb_kernel_read(db, n, text, kernel.text_bytes - 1, NULL, 0), ==,
                        SKIPJACKDB_SPACE);
        for (guint i = 0; i < samples->len; i++) {
            struct sample *sample = samples->pdata[i];
            if (strcmp(sample->name, text) == 0 &&
                strcmp(sample->args, text + strlen(text) + 1) == 0) {
                assert_code(sample, code, kernel.code_bytes);
                g_hash_table_add(seen, sample);
            }
        }
    }
    g_assert_cmpuint(g_hash_table_size(seen), ==, samples->len);
    skipjackdb_close(db);
}

static void variants_of_a_source_compress_together(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GPtrArray) samples = make_samples();
    const char *path = temp_folder_path(folder, "a.sjdb");
    GStatBuf status;
    gsize bytes = 0;
    skipjackdb_close(write_and_open(samples, path));
    for (guint i = 0; i < samples->len; i++) {
        bytes += g_bytes_get_size(((const struct sample *)samples->pdata[i])->code);
    }
    g_assert_cmpint(g_stat(path, &status), ==, 0);
    /* random bytes do not compress: the file is smaller only because equal parts are shared */
    g_assert_cmpuint((gsize)status.st_size, <, bytes);
}

static void second_code_of_one_identity_is_refused(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(temp_folder_path(folder, "a.sjdb"));
    g_autoptr(GBytes) one = g_bytes_new_static("one", 3);
    g_autoptr(GBytes) other = g_bytes_new_static("two", 3);
    g_autoptr(GError) error = NULL;
    g_assert_true(sjdb_writer_add_kernel(writer, "a.o", "-x", one, NULL));
    g_assert_true(sjdb_writer_add_kernel(writer, "a.o", "-x", one, NULL));
    g_assert_false(sjdb_writer_add_kernel(writer, "a.o", "-x", other, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX);
    g_assert_nonnull(strstr(error->message, "a.o"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/sjdb_kernels/code_objects_are_found_by_name_and_args",
                    code_objects_are_found_by_name_and_args);
    g_test_add_func("/sjdb_kernels/all_are_read_by_number_with_their_texts",
                    all_are_read_by_number_with_their_texts);
    g_test_add_func("/sjdb_kernels/variants_of_a_source_compress_together",
                    variants_of_a_source_compress_together);
    g_test_add_func("/sjdb_kernels/second_code_of_one_identity_is_refused",
                    second_code_of_one_identity_is_refused);
    return g_test_run();
}
