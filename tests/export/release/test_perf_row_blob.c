/* Perf rows packed into bytes: unpacking gives the same row, and the bytes sort as rows do in a
 * perf-db. */
#include "export/release/perf_row_blob.h"

#include "export/formats/perf_db.h"

#include <string.h>

static const char *const texts[] = {"", "F", "FP16", "FP32", "FP32FP16", "NCHW", "NHWC"};

/* A random row of few different values, so that many rows have long common prefixes; some values
 * fit no problem. */
static void make_row(GRand *random, struct perf_row *row)
{
    static const int64_t values[] = {INT64_MIN, -1, 0, 1, 2, 255, 256, INT64_MAX};
    memset(row, 0, sizeof *row);
    for (int i = 0; i < PERF_ROW_INTS; i++) {
        row->values[i] = g_rand_int_range(random, 0, 4) > 0
                             ? 7
                             : values[g_rand_int_range(random, 0, G_N_ELEMENTS(values))];
    }
    g_strlcpy(row->layout, texts[g_rand_int_range(random, 0, G_N_ELEMENTS(texts))],
              sizeof row->layout);
    g_strlcpy(row->data_type, texts[g_rand_int_range(random, 0, G_N_ELEMENTS(texts))],
              sizeof row->data_type);
    g_strlcpy(row->direction, g_rand_boolean(random) ? "F" : "B", sizeof row->direction);
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

/* Compares two blobs as SQLite does: by their bytes, then by length. */
static int compare_blobs(const guint8 *a, size_t a_bytes, const guint8 *b, size_t b_bytes)
{
    int order = memcmp(a, b, MIN(a_bytes, b_bytes));
    return order != 0 ? sign(order) : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static void bytes_sort_as_rows_do_and_come_back(void)
{
    char none[] = "";
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (int i = 0; i < 20000; i++) {
        struct perf_record rows[2];
        struct perf_row again;
        guint8 blobs[2][PERF_ROW_BLOB_MAX];
        size_t bytes[2];
        for (int side = 0; side < 2; side++) {
            make_row(random, &rows[side].row);
            rows[side].solver = none;
            bytes[side] = perf_row_to_blob(&rows[side].row, blobs[side]);
            perf_row_from_blob(&again, blobs[side]);
            g_assert_true(perf_row_equal(&again, &rows[side].row));
        }
        g_assert_cmpint(compare_blobs(blobs[0], bytes[0], blobs[1], bytes[1]), ==,
                        sign(perf_record_compare(&rows[0], &rows[1])));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/perf_row_blob/bytes_sort_as_rows_do_and_come_back",
                    bytes_sort_as_rows_do_and_come_back);
    return g_test_run();
}
