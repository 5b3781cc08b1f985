/* Reads packed files: each way to pack, each damage, and the limits that stop a few packed bytes
 * from filling the memory or the disk. */
#include "export/formats/byte_source.h"
#include "export/formats/find_table.h"
#include "export/formats/line_reader.h"
#include "tests/support/temp_folder.h"

#include <bzlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static GBytes *pack_bzip2(const void *bytes, size_t length)
{
    unsigned packed = (unsigned)(length + length / 100 + 1000);
    char *out = g_malloc(packed);
    g_assert_cmpint(
        BZ2_bzBuffToBuffCompress(out, &packed, (char *)bytes, (unsigned)length, 9, 0, 0), ==,
        BZ_OK);
    return g_bytes_new_take(out, packed);
}

static GBytes *pack_gzip(const void *bytes, size_t length)
{
    z_stream stream = {0};
    g_assert_cmpint(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), ==,
                    Z_OK);
    size_t room = deflateBound(&stream, length);
    guchar *out = g_malloc(room);
    stream.next_in = (Bytef *)bytes;
    stream.avail_in = (unsigned)length;
    stream.next_out = out;
    stream.avail_out = (unsigned)room;
    g_assert_cmpint(deflate(&stream, Z_FINISH), ==, Z_STREAM_END);
    room -= stream.avail_out;
    deflateEnd(&stream);
    return g_bytes_new_take(out, room);
}

static GBytes *pack_zstd(const void *bytes, size_t length)
{
    size_t room = ZSTD_compressBound(length);
    char *out = g_malloc(room);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    room = ZSTD_compress2(context, out, room, bytes, length);
    ZSTD_freeCCtx(context);
    g_assert_false(ZSTD_isError(room));
    return g_bytes_new_take(out, room);
}

static const struct {
    const char *name;
    GBytes *(*pack)(const void *bytes, size_t length);
} packings[] = {{"x.bz2", pack_bzip2}, {"x.gz", pack_gzip}, {"x.zst", pack_zstd}};

/* Text that compresses to about its own size, so that a packed file of it is long. */
static char *varied_text(size_t length)
{
    GRand *random = g_rand_new_with_seed(7);
    char *text = g_malloc(length + 1);
    for (size_t i = 0; i < length; i++) {
        text[i] = "0123456789abcdef\n-=:,xyz"[g_rand_int_range(random, 0, 24)];
    }
    text[length] = '\0';
    g_rand_free(random);
    return text;
}

/* Reads until the end or the first failure; returns all bytes read before it. */
static GString *read_all(const void *bytes, size_t length, GError **error)
{
    char piece[1000];
    size_t got = 0;
    GString *text = g_string_new(NULL);
    g_autoptr(ByteSource) source = byte_source_open_memory("packed", bytes, length, error);
    g_assert_nonnull(source);
    while (byte_source_read(source, piece, sizeof piece, &got, error) && got > 0) {
        g_string_append_len(text, piece, (gssize)got);
    }
    g_assert_cmpuint(byte_source_verified(source), <=, text->len);
    return text;
}

static GString *read_bytes(GBytes *bytes, GError **error)
{
    gsize length;
    const void *data = g_bytes_get_data(bytes, &length);
    return read_all(data, length, error);
}

static void each_packing_gives_the_bytes_that_were_packed(void)
{
    g_autofree char *text = varied_text(300000);
    for (size_t i = 0; i < G_N_ELEMENTS(packings); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) packed = packings[i].pack(text, 300000);
        GString *read = read_bytes(packed, &error);
        g_assert_no_error(error);
        g_assert_cmpmem(read->str, read->len, text, 300000);
        g_string_free(read, TRUE);
    }
}

static void two_streams_read_as_one(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(packings); i++) {
        g_autoptr(GError) error = NULL;
        gsize length;
        g_autoptr(GBytes) one = packings[i].pack("one ", 4);
        g_autoptr(GBytes) two = packings[i].pack("two", 3);
        g_autoptr(GByteArray) both = g_byte_array_new();
        const void *data = g_bytes_get_data(one, &length);
        g_byte_array_append(both, data, (guint)length);
        data = g_bytes_get_data(two, &length);
        g_byte_array_append(both, data, (guint)length);
        GString *read = read_all(both->data, both->len, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(read->str, ==, "one two");
        g_string_free(read, TRUE);
    }
}

static void cut_off_data_and_foreign_tails_are_damage(void)
{
    g_autofree char *text = varied_text(20000);
    for (size_t i = 0; i < G_N_ELEMENTS(packings); i++) {
        gsize length;
        g_autoptr(GBytes) packed = packings[i].pack(text, 20000);
        const void *data = g_bytes_get_data(packed, &length);
        g_autofree char *longer = g_malloc(length + 1);
        memcpy(longer, data, length);
        longer[length] = 'x';
        const gsize kept[] = {length / 2, length - 1, length + 1};
        for (size_t k = 0; k < G_N_ELEMENTS(kept); k++) {
            g_autoptr(GError) error = NULL;
            g_string_free(read_all(longer, kept[k], &error), TRUE);
            g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
            g_assert_nonnull(strstr(error->message, "packed"));
        }
    }
}

static void a_flipped_byte_is_damage(void)
{
    g_autofree char *text = varied_text(20000);
    for (size_t i = 0; i < G_N_ELEMENTS(packings); i++) {
        g_autoptr(GError) error = NULL;
        gsize length;
        g_autoptr(GBytes) packed = packings[i].pack(text, 20000);
        const void *data = g_bytes_get_data(packed, &length);
        g_autofree char *flipped = g_memdup2(data, length);
        flipped[length / 2] ^= 0x55;
        GString *read = read_all(flipped, length, &error);
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
        g_string_free(read, TRUE);
    }
}

/* 200 MB of newlines, packed into 2 to 200 kB. */
static GBytes *bomb(GBytes *(*pack)(const void *bytes, size_t length))
{
    size_t length = 200 * 1000 * 1000;
    g_autofree char *lines = g_malloc(length);
    memset(lines, '\n', length);
    return pack(lines, length);
}

static void few_bytes_that_unfold_to_very_many_are_refused(void)
{
    g_autoptr(GBytes) packed = bomb(pack_zstd);
    gsize length;
    const void *data = g_bytes_get_data(packed, &length);
    g_autoptr(GError) error = NULL;
    g_autoptr(ByteSource) source = byte_source_open_memory("bomb", data, length, &error);
    g_assert_null(byte_source_unpack(source, G_MAXUINT64, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
    g_assert_nonnull(strstr(error->message, "unpack it first"));
}

static void note_bad(void *data, int64_t number, const char *reason)
{
    g_string_append_printf(data, "%" G_GINT64_FORMAT ": %s\n", number, reason);
}

static void a_find_db_that_unfolds_to_very_much_is_refused(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GString) bad = g_string_new(NULL);
    g_autoptr(GBytes) packed = bomb(pack_zstd);
    gsize length;
    const void *data = g_bytes_get_data(packed, &length);
    const char *path = temp_folder_write(folder, "x.fdb.txt.zst", data, (gssize)length);
    g_autoptr(GError) error = NULL;
    g_assert_null(find_table_read(path, note_bad, bad, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED);
    g_assert_nonnull(strstr(error->message, "unpack it first"));
}

/* /dev/zero never ends and holds no newline: reading stops at the limit of a line's length. */
static void a_line_without_end_ends_reading(void)
{
    struct line line;
    g_autoptr(GError) error = NULL;
    g_autoptr(LineReader) reader = line_reader_open("/dev/zero", &error);
    g_assert_no_error(error);
    g_assert_cmpint(line_reader_next(reader, &line, &error), ==, READ_FAILED);
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND);
    g_assert_nonnull(strstr(error->message, "line 1 is longer than 64 MiB"));
    g_clear_error(&error);

    g_autoptr(GString) bad = g_string_new(NULL);
    g_autoptr(FindTable) table = find_table_read("/dev/zero", note_bad, bad, &error);
    g_assert_cmpuint(table->rows->len, ==, 0);
    g_assert_nonnull(strstr(bad->str, "line longer than 64 MiB"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/byte_source/each_packing_gives_the_bytes_that_were_packed",
                    each_packing_gives_the_bytes_that_were_packed);
    g_test_add_func("/byte_source/two_streams_read_as_one", two_streams_read_as_one);
    g_test_add_func("/byte_source/cut_off_data_and_foreign_tails_are_damage",
                    cut_off_data_and_foreign_tails_are_damage);
    g_test_add_func("/byte_source/a_flipped_byte_is_damage", a_flipped_byte_is_damage);
    g_test_add_func("/byte_source/few_bytes_that_unfold_to_very_many_are_refused",
                    few_bytes_that_unfold_to_very_many_are_refused);
    g_test_add_func("/byte_source/a_find_db_that_unfolds_to_very_much_is_refused",
                    a_find_db_that_unfolds_to_very_much_is_refused);
    g_test_add_func("/byte_source/a_line_without_end_ends_reading",
                    a_line_without_end_ends_reading);
    return g_test_run();
}
