/* Looks into exported files the way MIOpen does, with SQLite, libbz2 and MD5 and none of this
 * project's readers: shows what a library that ships the files finds in them. */
#include "export/formats/kernel_db.h"
#include "export/formats/perf_db.h"
#include "tests/support/temp_folder.h"

#include <bzlib.h>
#include <sqlite3.h>
#include <string.h>

#define KEY "64-56-56-3x3-128-28-28-16-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-F_g2"

/* MIOpen's SELECT, which compares every column of the table `config`. */
#define LOOKUP                                                                                     \
    "SELECT solver, params FROM perf_db INNER JOIN (SELECT * FROM config WHERE "                   \
    "(layout = 'NHWC') AND (data_type = 'FP16') AND (direction = 'F') AND (spatial_dim = 2) AND "  \
    "(in_channels = 64) AND (in_h = 56) AND (in_w = 56) AND (in_d = 1) AND (fil_h = 3) AND "       \
    "(fil_w = 3) AND (fil_d = 1) AND (out_channels = 128) AND (batchsize = 16) AND "               \
    "(pad_h = 1) AND (pad_w = 1) AND (pad_d = 0) AND (conv_stride_h = 2) AND "                     \
    "(conv_stride_w = 2) AND (conv_stride_d = 0) AND (dilation_h = 1) AND (dilation_w = 1) AND "   \
    "(dilation_d = 0) AND (bias = 0) AND (group_count = 2)) AS cfg ON perf_db.config = cfg.id "    \
    "ORDER BY solver"

static sqlite3 *open_read_only(const char *path)
{
    sqlite3 *db = NULL;
    g_assert_cmpint(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), ==, SQLITE_OK);
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    g_assert_cmpint(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), ==, SQLITE_OK);
    return statement;
}

static const char *text(sqlite3_stmt *statement, int column)
{
    return (const char *)sqlite3_column_text(statement, column);
}

/* Writes a perf-db with the problem that is looked up and `others` further problems, which differ
 * from it in their batch alone. Returns its path. */
static const char *write_perf_db(TempFolder *folder, int others)
{
    struct problem problem;
    struct perf_row row;
    const char *path = temp_folder_path(folder, "gfx90a68.db");
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    g_assert_true(problem_key_parse(KEY, &problem, NULL));
    for (int i = 0; i <= others; i++) {
        problem.n = 16 + i;
        perf_row_from_problem(&problem, &row);
        g_ptr_array_add(records, perf_record_new(&row, "ConvA", i == 0 ? "64,8,1" : "other"));
        g_ptr_array_add(records, perf_record_new(&row, "ConvB<16>", i == 0 ? "3" : "other"));
    }
    g_assert_true(perf_db_write(path, PERF_LIST(records), NULL));
    for (guint i = 0; i < records->len; i++) {
        perf_record_free(records->pdata[i]);
    }
    return path;
}

static void join_of_config_and_perf_db_finds_the_params(void)
{
    static const char *const expected[][2] = {{"ConvA", "64,8,1"}, {"ConvB<16>", "3"}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    sqlite3 *db = open_read_only(write_perf_db(folder, 50));
    sqlite3_stmt *lookup = prepare(db, LOOKUP);
    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        g_assert_cmpint(sqlite3_step(lookup), ==, SQLITE_ROW);
        g_assert_cmpstr(text(lookup, 0), ==, expected[i][0]);
        g_assert_cmpstr(text(lookup, 1), ==, expected[i][1]);
    }
    g_assert_cmpint(sqlite3_step(lookup), ==, SQLITE_DONE);
    sqlite3_finalize(lookup);
    sqlite3_close(db);
}

/* The schema's SQL, as read back from the file, equals that of the files that MIOpen ships, with
 * its quotes and spaces. */
static void tables_and_indices_are_miopens_word_for_word(void)
{
    static const char *const wanted[][2] = {
        {"config",
         "CREATE TABLE `config` (`id` INTEGER PRIMARY KEY ASC,`layout` TEXT NOT NULL,`data_type` "
         "TEXT NOT NULL,`direction` TEXT NOT NULL,`spatial_dim` INT NOT NULL,`in_channels` INT NOT "
         "NULL,`in_h` INT NOT NULL,`in_w` INT NOT NULL,`in_d` INT NOT NULL,`fil_h` INT NOT "
         "NULL,`fil_w` INT NOT NULL,`fil_d` INT NOT NULL,`out_channels` INT NOT NULL, `batchsize` "
         "INT NOT NULL,`pad_h` INT NOT NULL,`pad_w` INT NOT NULL,`pad_d` INT NOT "
         "NULL,`conv_stride_h` INT NOT NULL,`conv_stride_w` INT NOT NULL,`conv_stride_d` INT NOT "
         "NULL,`dilation_h` INT NOT NULL,`dilation_w` INT NOT NULL,`dilation_d` INT NOT "
         "NULL,`bias` INT NOT NULL,`group_count` INT NOT NULL)"},
        {"perf_db",
         "CREATE TABLE `perf_db` (`id` INTEGER PRIMARY KEY ASC,`solver` TEXT NOT NULL,`config` "
         "INTEGER NOT NULL, `params` TEXT NOT NULL)"},
        {"idx_config",
         "CREATE UNIQUE INDEX `idx_config` ON config( "
         "layout,data_type,direction,spatial_dim,in_channels,in_h,in_w,in_d,fil_h,fil_w,fil_d,out_"
         "channels,batchsize,pad_h,pad_w,pad_d,conv_stride_h,conv_stride_w,conv_stride_d,dilation_"
         "h,dilation_w,dilation_d,bias,group_count )"},
        {"idx_perf_db", "CREATE UNIQUE INDEX `idx_perf_db` ON perf_db(solver, config)"},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    sqlite3 *db = open_read_only(write_perf_db(folder, 0));
    sqlite3_stmt *lookup = prepare(db, "SELECT sql FROM sqlite_master WHERE name = ?");
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        sqlite3_reset(lookup);
        sqlite3_bind_text(lookup, 1, wanted[i][0], -1, SQLITE_STATIC);
        g_assert_cmpint(sqlite3_step(lookup), ==, SQLITE_ROW);
        g_assert_cmpstr(text(lookup, 0), ==, wanted[i][1]);
    }
    sqlite3_finalize(lookup);
    sqlite3_close(db);
}

static void lookup_reads_no_table_from_end_to_end(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    sqlite3 *db = open_read_only(write_perf_db(folder, 50));
    sqlite3_stmt *plan = prepare(db, "EXPLAIN QUERY PLAN " LOOKUP);
    while (sqlite3_step(plan) == SQLITE_ROW) {
        g_test_message("%s", text(plan, 3));
        g_assert_false(g_str_has_prefix(text(plan, 3), "SCAN"));
    }
    sqlite3_finalize(plan);
    sqlite3_close(db);
}

static GBytes *code_of(unsigned seed, gsize length)
{
    char *bytes = g_malloc(length);
    for (gsize i = 0; i < length; i++) {
        bytes[i] = (char)(seed > 0 ? (seed = seed * 1664525 + 1013904223) >> 24 : i % 100);
    }
    return g_bytes_new_take(bytes, length);
}

static const char *write_kernel_db(TempFolder *folder, GBytes *one, GBytes *other)
{
    const char *path = temp_folder_path(folder, "gfx90a68.kdb");
    g_autoptr(KernelDbWriter) writer = kernel_db_create(path, NULL);
    g_assert_true(kernel_db_add(writer, "conv.cl.o", "-DX=1 -mcpu=gfx90a", one, NULL));
    g_assert_true(kernel_db_add(writer, "conv.cl.o", "-DX=2 -mcpu=gfx90a", other, NULL));
    g_assert_true(kernel_db_finish(writer, NULL));
    return path;
}

/* Decompresses the code object in the row as MIOpen does: a size of 0 says that the blob is not
 * compressed, another size is that of the decompressed bytes. */
static GBytes *unpack(sqlite3_stmt *row)
{
    const void *blob = sqlite3_column_blob(row, 0);
    int blob_bytes = sqlite3_column_bytes(row, 0);
    unsigned size = (unsigned)sqlite3_column_int(row, 2);
    if (size == 0) {
        return g_bytes_new(blob, (gsize)blob_bytes);
    }
    unsigned made = size;
    char *bytes = g_malloc(size);
    g_assert_cmpint(
        BZ2_bzBuffToBuffDecompress(bytes, &made, (char *)blob, (unsigned)blob_bytes, 0, 0), ==,
        BZ_OK);
    g_assert_cmpuint(made, ==, size);
    return g_bytes_new_take(bytes, size);
}

static void kernel_is_found_by_name_and_args(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GBytes) one = code_of(0, 200000);
    g_autoptr(GBytes) other = code_of(1, 2000);
    GBytes *const codes[] = {one, other};
    static const char *const args[] = {"-DX=1 -mcpu=gfx90a", "-DX=2 -mcpu=gfx90a"};
    sqlite3 *db = open_read_only(write_kernel_db(folder, one, other));
    sqlite3_stmt *lookup = prepare(db, "SELECT kernel_blob, kernel_hash, uncompressed_size FROM "
                                       "kern_db WHERE (kernel_name = 'conv.cl.o') AND "
                                       "(kernel_args = ?)");
    for (int i = 0; i < 2; i++) {
        sqlite3_reset(lookup);
        sqlite3_bind_text(lookup, 1, args[i], -1, SQLITE_STATIC);
        g_assert_cmpint(sqlite3_step(lookup), ==, SQLITE_ROW);
        g_autoptr(GBytes) code = unpack(lookup);
        g_autofree char *md5 = g_compute_checksum_for_bytes(G_CHECKSUM_MD5, code);
        g_assert_cmpstr(md5, ==, text(lookup, 1));
        g_assert_true(g_bytes_equal(code, codes[i]));
        g_assert_cmpint(sqlite3_column_int(lookup, 2), ==, i == 0 ? 200000 : 0);
    }
    sqlite3_finalize(lookup);
    sqlite3_close(db);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/miopen_lookup/join_of_config_and_perf_db_finds_the_params",
                    join_of_config_and_perf_db_finds_the_params);
    g_test_add_func("/miopen_lookup/tables_and_indices_are_miopens_word_for_word",
                    tables_and_indices_are_miopens_word_for_word);
    g_test_add_func("/miopen_lookup/lookup_reads_no_table_from_end_to_end",
                    lookup_reads_no_table_from_end_to_end);
    g_test_add_func("/miopen_lookup/kernel_is_found_by_name_and_args",
                    kernel_is_found_by_name_and_args);
    return g_test_run();
}
