#include "export/formats/spool.h"

#include "tests/support/temp_folder.h"

#include <string.h>

/* Lengths of the appended pieces. The spool collects small pieces in a buffer of 64 KiB and writes
 * large ones at once; some lengths fill the buffer exactly. */
static const gsize pieces[] = {1,     100,   64 * 1024, 0, 64 * 1024 - 1, 1, 200 * 1024, 7, 40000,
                               30000, 65537, 3,         5};

static guint8 byte_at(goffset at)
{
    return (guint8)(at % 251);
}

/* Appends all pieces. Returns their sum in bytes; starts[i] is the offset at which piece i
 * begins. */
static goffset append_pieces(Spool *spool, goffset *starts)
{
    goffset end = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(pieces); i++) {
        g_autofree guint8 *bytes = g_malloc(pieces[i] + 1);
        for (gsize b = 0; b < pieces[i]; b++) {
            bytes[b] = byte_at(end + (goffset)b);
        }
        g_assert_true(spool_append(spool, bytes, pieces[i], &starts[i], NULL));
        g_assert_cmpint(starts[i], ==, end);
        end += (goffset)pieces[i];
    }
    return end;
}

static void pieces_are_stored_one_behind_the_other(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(Spool) spool = spool_new(temp_folder_path(folder, "f"));
    goffset starts[G_N_ELEMENTS(pieces)];
    goffset end = append_pieces(spool, starts);
    g_autofree guint8 *room = g_malloc((gsize)end);
    /* Reads from the begin of every piece to the end of every later one, so across bytes in the
     * file and bytes that are still buffered. */
    for (gsize i = 0; i < G_N_ELEMENTS(pieces); i++) {
        for (gsize j = i; j < G_N_ELEMENTS(pieces); j++) {
            gsize count = (gsize)(starts[j] - starts[i]) + pieces[j];
            memset(room, 0xff, count);
            g_assert_true(spool_read(spool, starts[i], room, count, NULL));
            for (gsize b = 0; b < count; b++) {
                g_assert_cmpuint(room[b], ==, byte_at(starts[i] + (goffset)b));
            }
        }
    }
}

static void a_reader_reads_the_whole_spool(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(Spool) spool = spool_new(temp_folder_path(folder, "f"));
    goffset starts[G_N_ELEMENTS(pieces)];
    struct spool_reader reader;
    append_pieces(spool, starts);
    spool_reader_init(&reader, spool);
    for (gsize i = 0; i < G_N_ELEMENTS(pieces); i++) {
        g_assert_false(spool_reader_at_end(&reader));
        const guint8 *bytes = spool_reader_take(&reader, pieces[i], NULL);
        g_assert_nonnull(bytes);
        for (gsize b = 0; b < pieces[i]; b++) {
            g_assert_cmpuint(bytes[b], ==, byte_at(starts[i] + (goffset)b));
        }
    }
    g_assert_true(spool_reader_at_end(&reader));
    spool_reader_clear(&reader);
}

static void an_empty_one_makes_no_file(void)
{
    struct spool_reader reader;
    g_autoptr(Spool) spool = spool_new("/nowhere/at/all/f");
    spool_reader_init(&reader, spool);
    g_assert_true(spool_reader_at_end(&reader));
    spool_reader_clear(&reader);
}

static void a_folder_that_is_away_is_an_error(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Spool) spool = spool_new("/nowhere/at/all/f");
    g_autofree guint8 *bytes = g_malloc0(1024 * 1024);
    goffset start = 0;
    g_assert_false(spool_append(spool, bytes, 1024 * 1024, &start, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_IO);
    g_assert_nonnull(strstr(error->message, "beside '/nowhere/at/all/f'"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/spool/pieces_are_stored_one_behind_the_other",
                    pieces_are_stored_one_behind_the_other);
    g_test_add_func("/spool/a_reader_reads_the_whole_spool", a_reader_reads_the_whole_spool);
    g_test_add_func("/spool/an_empty_one_makes_no_file", an_empty_one_makes_no_file);
    g_test_add_func("/spool/a_folder_that_is_away_is_an_error", a_folder_that_is_away_is_an_error);
    return g_test_run();
}
