#include "export/check/check.h"
#include "export/commands.h"

#include "export/formats/kernel_db.h"
#include "export/formats/perf_db.h"
#include "tests/support/export/real_data.h"
#include "tests/support/temp_folder.h"

#include <sqlite3.h>
#include <string.h>

#define KEY    "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define BEFORE "32-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F" /* sorts before it */
#define ALGO   "miopenConvolutionFwdAlgo"

/* The findings that check reports for one file. expect() compares the count of `finding`, or -1
 * where `unreadable` or `changed` differ from the row. */
struct expectation {
    const char *name, *text;
    int64_t keys, entries, unreadable, changed;
    enum finding finding; /* FINDING_COUNT: no finding */
    const char *reason;   /* a part of the reason reported for the first unreadable line */
};

static void expect(const struct check_report *report, const struct expectation *wanted)
{
    g_test_message("%s", wanted->name);
    g_assert_cmpint(report->keys, ==, wanted->keys);
    g_assert_cmpint(report->entries, ==, wanted->entries);
    g_assert_cmpint(report->unreadable_count, ==, wanted->unreadable);
    g_assert_cmpint(report->changed, ==, wanted->changed);
    if (wanted->finding < FINDING_COUNT) {
        g_assert_cmpint(report->findings[wanted->finding], ==, 1);
    }
    if (wanted->reason != NULL && report->unreadable->len > 0) {
        const struct unreadable *place = report->unreadable->pdata[0];
        if (strstr(place->reason, wanted->reason) == NULL) {
            g_test_message("%s: %s", place->where, place->reason);
            g_test_fail();
        }
    }
}

static void find_db_damages_are_named(void)
{
    static const struct expectation cases[] = {
        {"clean", KEY "=A:0.5,0," ALGO "GEMM\n", 1, 1, 0, 0, FINDING_COUNT, NULL},
        {"zero wins", KEY "=A:0.0,0," ALGO "GEMM;B:1,0," ALGO "GEMM\n", 1, 2, 0, 0,
         FINDING_ZERO_TIME_WINS, NULL},
        {"zero time", KEY "=A:0,0," ALGO "GEMM\n", 1, 1, 0, 0, FINDING_ZERO_TIME, NULL},
        {"negative", KEY "=A:-1,0," ALGO "GEMM\n", 1, 1, 0, 0, FINDING_NEGATIVE_TIME, NULL},
        {"unsorted", KEY "=A:2,0," ALGO "GEMM;B:1,0," ALGO "GEMM\n", 1, 2, 0, 0,
         FINDING_UNSORTED_ENTRIES, NULL},
        {"twice", KEY "=A:1,0," ALGO "GEMM;A:2,0," ALGO "GEMM\n", 1, 2, 0, 0,
         FINDING_DUPLICATE_SOLVER, NULL},
        {"five",
         KEY "=A:1,0," ALGO "GEMM;B:1,0," ALGO "GEMM;C:1,0," ALGO "GEMM;D:1,0," ALGO
             "GEMM;E:1,0," ALGO "GEMM\n",
         1, 5, 0, 0, FINDING_TOO_MANY_ENTRIES, NULL},
        {"duplicate", KEY "=A:1,0," ALGO "GEMM\n" KEY "=A:1,0," ALGO "GEMM\n", 2, 2, 0, 0,
         FINDING_DUPLICATE_KEY, NULL},
        {"duplicate behind one out of order",
         KEY "=A:1,0," ALGO "GEMM\n" BEFORE "=A:1,0," ALGO "GEMM\n" KEY "=A:1,0," ALGO "GEMM\n", 3,
         3, 0, 0, FINDING_DUPLICATE_KEY, NULL},
        {"unknown algorithm before one out of order",
         KEY "=A:1,0,GEMM\n" BEFORE "=A:1,0," ALGO "GEMM\n", 2, 2, 0, 0, FINDING_UNKNOWN_ALGORITHM,
         NULL},
        {"algorithm", KEY "=A:1,0,GEMM\n", 1, 1, 0, 0, FINDING_UNKNOWN_ALGORITHM, NULL},
        {"unknown", KEY "=NoSuchSolver:1,0," ALGO "GEMM\n", 1, 1, 0, 0, FINDING_UNKNOWN_SOLVER,
         NULL},
        {"no newline", KEY "=A:1,0," ALGO "GEMM", 1, 1, 0, 0, FINDING_NO_FINAL_NEWLINE, NULL},
        {"carriage return", KEY "=A:1,0," ALGO "GEMM\r\n", 1, 1, 0, 0, FINDING_CARRIAGE_RETURN,
         NULL},
        {"flipped bit in a name", KEY "=Conv\x41\xc1:1,0," ALGO "GEMM\n", 1, 1, 0, 0,
         FINDING_UNPRINTABLE_BYTE, NULL},
        {"byte order mark", "\xef\xbb\xbf" KEY "=A:1,0," ALGO "GEMM\n", 1, 1, 0, 0,
         FINDING_UNPRINTABLE_BYTE, NULL},
        {"ceil formula", "64-55-55-3x3-64-28-28-16-0x0-2x2-1x1-0-NCHW-FP32-F=A:1,0," ALGO "GEMM\n",
         1, 1, 0, 0, FINDING_OUTPUT_OFF_FORMULA, NULL},
        {"3D with pads of two",
         "4-8-8-8-3x3x3-4-8-8-8-2-1x1-1x1x1-1x1x1-0-NCDHW-FP32-F=A:1,0," ALGO "GEMM\n", 0, 0, 1, 0,
         FINDING_MALFORMED_3D_KEY, "expected"},
        {"3D with layout NCHW",
         "4-8-8-8-3x3x3-4-8-8-8-2-1x1x1-1x1x1-1x1x1-0-NCHW-FP32-F=A:1,0," ALGO "GEMM\n", 0, 0, 1, 0,
         FINDING_MALFORMED_3D_KEY, "layout"},
        {"leading zero in the workspace", KEY "=A:1,007," ALGO "GEMM\n", 1, 1, 0, 1, FINDING_COUNT,
         NULL},
        {"torn entry", KEY "=A:1,0," ALGO "GEMM;B:1\n", 0, 0, 1, 0, FINDING_COUNT, "entry 2"},
        {"unknown type", "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP33-F=A:1,0,x\n", 0, 0, 1, 0,
         FINDING_COUNT, "FP33"},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *path = temp_folder_write(folder, "x.fdb.txt", cases[i].text, -1);
        g_autoptr(CheckReport) report = check_file(path);
        g_assert_cmpstr(report->format, ==, "find-db");
        expect(report, &cases[i]);
    }
}

#define ROW        "2x64x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"
#define ROW_BEFORE "2x32x56x56x1x3x3x1x64x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"

static void perf_text_damages_are_named(void)
{
    static const struct expectation cases[] = {
        {"clean", ROW "=A:1,2;B:x<1, 2>\n", 1, 2, 0, 0, FINDING_COUNT, NULL},
        {"no params", ROW "=A:\n", 1, 1, 0, 0, FINDING_PARAMS_MISSING, NULL},
        {"twice", ROW "=A:1;A:2\n", 1, 2, 0, 0, FINDING_DUPLICATE_SOLVER, NULL},
        {"duplicate", ROW "=A:1\n" ROW "=A:1\n", 2, 2, 0, 0, FINDING_DUPLICATE_KEY, NULL},
        {"duplicate behind one out of order", ROW "=A:1\n" ROW_BEFORE "=A:1\n" ROW "=A:1\n", 3, 3,
         0, 0, FINDING_DUPLICATE_KEY, NULL},
        {"control byte", ROW "=A:1\x01\n", 1, 1, 0, 0, FINDING_UNPRINTABLE_BYTE, NULL},
        {"byte order mark", "\xef\xbb\xbf" ROW "=A:1\n", 1, 1, 0, 0, FINDING_UNPRINTABLE_BYTE,
         NULL},
        {"torn off", ROW "=A:1", 1, 1, 0, 0, FINDING_NO_FINAL_NEWLINE, NULL},
        {"no entry", ROW "=\n", 0, 0, 1, 0, FINDING_COUNT, "entry 1"},
        {"short key", "2x3xNCHW=A:1\n", 0, 0, 1, 0, FINDING_COUNT, NULL},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *path = temp_folder_write(folder, "x.db.txt", cases[i].text, -1);
        g_autoptr(CheckReport) report = check_file(path);
        g_assert_cmpstr(report->format, ==, "perf-db text");
        expect(report, &cases[i]);
    }
}

static void each_repeated_solver_counts_once(void)
{
    static const char *const texts[] = {KEY "=A:1,0," ALGO "GEMM;B:1,0," ALGO "GEMM;A:2,0," ALGO
                                            "GEMM;A:3,0," ALGO "GEMM\n",
                                        ROW "=A:1;B:1;A:2;A:3\n"};
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(CheckReport) report = check_file(temp_folder_write(folder, "x", texts[i], -1));
        g_assert_cmpint(report->entries, ==, 4);
        g_assert_cmpint(report->findings[FINDING_DUPLICATE_SOLVER], ==, 2);
    }
}

/* Params that an older revision of our solver wrote are named as stale; params of other libraries'
 * solvers are not judged. */
static void params_of_an_older_revision_are_stale(void)
{
    static const struct {
        /* a part of the first finding's text; NULL: nothing is stale */
        const char *entries, *first;
    } cases[] = {
        {"ConvCpuGemm:8,1,8,256,64", NULL},
        {"ConvAsm1x1U:1,2,3;ConvCpuGemm:16,2,6,512,256", NULL},
        {"ConvCpuGemm:8,1,8,256", "line 1 (ConvCpuGemm: perf config '8,1,8,256' is not 5"},
        {"ConvCpuGemm:8,1,8,256,64,1", "line 1 (ConvCpuGemm: perf config"},
        {"ConvCpuGemm:8,1,7,256,64",
         "line 1 (ConvCpuGemm: perf config '8,1,7,256,64' has a value that TILE_K does not take)"},
        {"ConvDirectNaive:1", "line 1 (ConvDirectNaive: "},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup_printf(ROW "=%s\n", cases[i].entries);
        const char *path = temp_folder_write(folder, "mine.db.txt", text, -1);
        g_autoptr(CheckReport) report = check_file(path);
        g_assert_cmpint(report->findings[FINDING_STALE_PARAMS], ==, cases[i].first != NULL);
        g_assert_true(check_report_clean(report) == (cases[i].first == NULL));
        if (cases[i].first != NULL && report->first[FINDING_STALE_PARAMS] != NULL) {
            g_assert_true(g_str_has_prefix(report->first[FINDING_STALE_PARAMS], cases[i].first));
        }
    }
}

/* ---- SQLite: whole samples, then changed by statements ---- */

static const char *write_perf(TempFolder *folder)
{
    const char *path = temp_folder_path(folder, "x.db");
    g_autofree char *key = g_strdup(ROW);
    struct perf_row row;
    g_assert_true(perf_row_key_parse(key, &row, NULL));
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    g_ptr_array_add(records, perf_record_new(&row, "A", "1,2"));
    g_ptr_array_add(records, perf_record_new(&row, "B", "3"));
    g_assert_true(perf_db_write(path, PERF_LIST(records), NULL));
    for (guint i = 0; i < records->len; i++) {
        perf_record_free(records->pdata[i]);
    }
    return path;
}

static const char *write_kernels(TempFolder *folder)
{
    const char *path = temp_folder_path(folder, "x.kdb");
    g_autofree char *zeros = g_malloc0(100000);
    g_autoptr(GBytes) code = g_bytes_new(zeros, 100000);
    g_autoptr(KernelDbWriter) writer = kernel_db_create(path, NULL);
    g_assert_true(kernel_db_add(writer, "a.cl.o", "-DX=1 -mcpu=gfx90a", code, NULL));
    g_assert_true(kernel_db_add(writer, "a.cl.o", "-DX=2 -mcpu=gfx90a", code, NULL));
    g_assert_true(kernel_db_finish(writer, NULL));
    return path;
}

static void change(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        g_test_message("%s: %s", sql, sqlite3_errmsg(db));
        g_test_fail();
    }
    sqlite3_close(db);
}

#define LOOSE_CONFIG                                                                               \
    "CREATE TABLE t AS SELECT * FROM config; DROP TABLE config; ALTER TABLE t RENAME TO config;"
#define LOOSE_PERF                                                                                 \
    "CREATE TABLE t AS SELECT * FROM perf_db; DROP TABLE perf_db; ALTER TABLE t RENAME TO perf_db;"
#define LOOSE_KERN                                                                                 \
    "CREATE TABLE t AS SELECT * FROM kern_db; DROP TABLE kern_db; ALTER TABLE t RENAME TO kern_db;"

static void perf_db_damages_are_named(void)
{
    static const struct expectation cases[] = {
        {"clean", "SELECT 1", 1, 2, 0, 0, FINDING_COUNT, NULL},
        {"no params", "UPDATE perf_db SET params = '' WHERE id = 1", 1, 2, 0, 0,
         FINDING_PARAMS_MISSING, NULL},
        {"control byte", "UPDATE perf_db SET params = '1' || char(7) WHERE id = 1", 1, 2, 0, 0,
         FINDING_UNPRINTABLE_BYTE, NULL},
        {"stale params", "UPDATE perf_db SET solver = 'ConvCpuGemm' WHERE id = 1", 1, 2, 0, 0,
         FINDING_STALE_PARAMS, NULL},
        {"config gone", "DELETE FROM perf_db WHERE id = 2; UPDATE perf_db SET config = 9", 1, 1, 0,
         0, FINDING_CONFIG_MISSING, NULL},
        {"unused", "DELETE FROM perf_db", 1, 0, 0, 0, FINDING_UNUSED_CONFIG, NULL},
        {"no index", "DROP INDEX idx_config", 1, 2, 0, 0, FINDING_INDEX_MISSING, NULL},
        {"twice", LOOSE_PERF "INSERT INTO perf_db VALUES(3,'A',1,'1')", 1, 3, 0, 0,
         FINDING_DUPLICATE_SOLVER, NULL},
        {"duplicate", LOOSE_CONFIG "INSERT INTO config SELECT * FROM config", 2, 2, 0, 0,
         FINDING_DUPLICATE_KEY, NULL},
        {"negative size", "UPDATE config SET in_h = -5", 0, 2, 1, 0, FINDING_COUNT, "in_h"},
        {"unknown layout", "UPDATE config SET layout = 'NCHX'", 0, 2, 1, 0, FINDING_COUNT, "NCHX"},
        {"text for a number", LOOSE_CONFIG "UPDATE config SET pad_h = 'x'", 0, 2, 1, 0,
         FINDING_COUNT, "pad_h is a text"},
        {"NULL", LOOSE_CONFIG "UPDATE config SET layout = NULL", 0, 2, 1, 0, FINDING_COUNT,
         "layout is NULL"},
        {"long text", "UPDATE config SET data_type = printf('%.*c', 9999, 'x')", 0, 2, 1, 0,
         FINDING_COUNT, "data_type is longer"},
        {"NUL in a text", "UPDATE perf_db SET params = CAST(x'310032' AS TEXT) WHERE id = 1", 1, 1,
         1, 0, FINDING_COUNT, "params holds a NUL"},
        {"NULL solver", LOOSE_PERF "UPDATE perf_db SET solver = NULL WHERE id = 1", 1, 1, 1, 0,
         FINDING_COUNT, "solver is NULL"},
        {"table missing", "DROP TABLE perf_db", 0, 0, 1, 0, FINDING_COUNT,
         "no such table: perf_db"},
        {"column missing", LOOSE_CONFIG "ALTER TABLE config DROP COLUMN bias", 0, 0, 1, 0,
         FINDING_COUNT, "bias"},
        {"a view for a table",
         "ALTER TABLE perf_db RENAME TO p; CREATE VIEW perf_db AS SELECT * FROM p", 0, 0, 1, 0,
         FINDING_COUNT, "prohibited"},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *path = write_perf(folder);
        change(path, cases[i].text);
        g_autoptr(CheckReport) report = check_file(path);
        g_assert_cmpstr(report->format, ==, "perf-db");
        expect(report, &cases[i]);
    }
}

static void kernel_db_damages_are_named(void)
{
    static const struct expectation cases[] = {
        {"clean", "SELECT 1", 2, 2, 0, 0, FINDING_COUNT, NULL},
        {"md5", "UPDATE kern_db SET kernel_hash = 'abc' WHERE id = 1", 2, 2, 0, 0,
         FINDING_MD5_MISMATCH, NULL},
        {"name", "UPDATE kern_db SET kernel_name = 'a.cl' WHERE id = 1", 2, 2, 0, 0,
         FINDING_UNEXPECTED_NAME, NULL},
        {"no arch", "UPDATE kern_db SET kernel_args = '-DX' WHERE id = 1", 2, 2, 0, 0,
         FINDING_UNEXPECTED_NAME, NULL},
        {"no index", "DROP INDEX idx_kern_db", 2, 2, 0, 0, FINDING_INDEX_MISSING, NULL},
        {"duplicate", "DROP INDEX idx_kern_db; UPDATE kern_db SET kernel_args = 'x -mcpu=a'", 2, 2,
         0, 0, FINDING_DUPLICATE_KEY, NULL},
        {"size lies", "UPDATE kern_db SET uncompressed_size = 99999999999 WHERE id = 1", 1, 1, 1, 0,
         FINDING_COUNT, "less than uncompressed_size"},
        {"size negative", "UPDATE kern_db SET uncompressed_size = -1 WHERE id = 1", 1, 1, 1, 0,
         FINDING_COUNT, "more than uncompressed_size"},
        {"blob spoilt", "UPDATE kern_db SET kernel_blob = x'425a6839ffff' WHERE id = 1", 1, 1, 1, 0,
         FINDING_COUNT, "bzip2"},
        {"blob empty", "UPDATE kern_db SET kernel_blob = x'' WHERE id = 1", 1, 1, 1, 0,
         FINDING_COUNT, "cut off"},
        {"blob a text", "UPDATE kern_db SET kernel_blob = 'x' WHERE id = 1", 1, 1, 1, 0,
         FINDING_COUNT, "not a blob"},
        {"hash NULL", LOOSE_KERN "UPDATE kern_db SET kernel_hash = NULL WHERE id = 1", 1, 1, 1, 0,
         FINDING_COUNT, "kernel_hash is NULL"},
        {"size a text", "UPDATE kern_db SET uncompressed_size = 'x' WHERE id = 1", 1, 1, 1, 0,
         FINDING_COUNT, "uncompressed_size is a text"},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *path = write_kernels(folder);
        change(path, cases[i].text);
        g_autoptr(CheckReport) report = check_file(path);
        g_assert_cmpstr(report->format, ==, "kernel-db");
        expect(report, &cases[i]);
    }
}

/* check returns a report for any truncation and any flipped bit, and never calls the damaged file
 * clean. */
static void any_damage_to_a_file_is_survived(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *const paths[] = {write_perf(folder), write_kernels(folder)};
    for (size_t p = 0; p < G_N_ELEMENTS(paths); p++) {
        g_autoptr(GBytes) whole = temp_folder_read(paths[p]);
        gsize size = g_bytes_get_size(whole);
        for (gsize keep = 0; keep < size; keep += 509) {
            const char *cut =
                temp_folder_write(folder, "cut.kdb", g_bytes_get_data(whole, NULL), (gssize)keep);
            g_autoptr(CheckReport) report = check_file(cut);
            g_assert_false(check_report_clean(report));
        }
        for (gsize flip = 0; flip < size; flip += 61) {
            g_autofree char *bytes = g_memdup2(g_bytes_get_data(whole, NULL), size);
            bytes[flip] = (char)~bytes[flip];
            const char *path = temp_folder_write(folder, "flipped.db", bytes, (gssize)size);
            check_report_free(check_file(path));
        }
    }
}

static void content_decides_a_files_format(void)
{
    static const struct {
        const char *name, *bytes;
        gssize length;
        const char *format;
    } cases[] = {
        {"x", "", 0, NULL},
        {"x", "\x7f\x45LF\0\1\2", 7, NULL},
        {"x", "hello\n", -1, NULL},
        {"x.fdb.txt", "\0\1\2\3", 4, NULL},
        {"x", "SQLite format 3\0and then nothing", 32, NULL},
        {"x", "BZh9 not really", -1, NULL},
        {"x.db", KEY "=A:1,0," ALGO "GEMM\n", -1, "find-db"},
        {"x.fdb.txt", ROW "=A:1\n", -1, "perf-db text"},
        {"x", "torn off line\n" KEY "=A:1,0," ALGO "GEMM\n", -1, "find-db"},
        {"x.HIP.fdb.txt", "", 0, "find-db"},
        {"x", "\xef\xbb\xbf" KEY "=A:1,0," ALGO "GEMM\n", -1, "find-db"},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *path =
            temp_folder_write(folder, cases[i].name, cases[i].bytes, cases[i].length);
        g_autoptr(CheckReport) report = check_file(path);
        g_assert_cmpstr(report->format, ==, cases[i].format);
        g_assert_cmpint(report->unreadable_count > 0, ==, cases[i].format == NULL || i == 8);
    }
}

static void compressed_files_are_checked_too(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GBytes) whole = temp_folder_read(write_perf(folder));
    const char *packed = temp_folder_write_bzip2(folder, "x.db.bz2", g_bytes_get_data(whole, NULL),
                                                 g_bytes_get_size(whole));
    g_autoptr(CheckReport) report = check_file(packed);
    g_assert_cmpstr(report->format, ==, "perf-db");
    g_assert_true(check_report_clean(report));
    g_autoptr(GBytes) bytes = temp_folder_read(packed);
    const char *cut = temp_folder_write(folder, "cut.db.bz2", g_bytes_get_data(bytes, NULL),
                                        (gssize)g_bytes_get_size(bytes) / 2);
    g_autoptr(CheckReport) damaged = check_file(cut);
    g_assert_cmpint(damaged->unreadable_count, ==, 1);
}

static void folder_lists_files_of_known_names_in_order(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    static const char *const names[] = {"b.kdb", "README", "a.db", "a.HIP.fdb.txt.bz2", "a.db.txt"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        temp_folder_write(folder, names[i], "", 0);
    }
    g_assert_true(check_list_files(temp_folder_path(folder, ""), files, NULL));
    static const char *const expected[] = {"a.HIP.fdb.txt.bz2", "a.db", "a.db.txt", "b.kdb"};
    g_assert_cmpuint(files->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < MIN(files->len, G_N_ELEMENTS(expected)); i++) {
        g_autofree char *name = g_path_get_basename(files->pdata[i]);
        g_assert_cmpstr(name, ==, expected[i]);
    }
}

/* The name of a find-db or perf-db is the only statement of its target. Solvers or times in the
 * file may contradict that target: the file is then unfit. */
static void content_that_contradicts_the_target_is_unfit(void)
{
    static const struct {
        const char *name, *text;
        enum finding finding; /* FINDING_COUNT: none */
        const char *target;
    } cases[] = {
        {"gfx1030_36.HIP.fdb.txt", KEY "=S:5,0," ALGO "GEMM\n", FINDING_COUNT, "gfx1030_36"},
        {"gfx1030_36.HIP.fdb.txt", KEY "=S:0.0001,0," ALGO "GEMM\n", FINDING_IMPOSSIBLE_TIME,
         "gfx1030_36"},
        {"gfx1030_36.HIP.fdb.txt", KEY "=S:0.0001,0," ALGO "Winograd\n", FINDING_COUNT,
         "gfx1030_36"},
        {"gfx942130.HIP.fdb.txt", KEY "=S:0.01,0," ALGO "GEMM\n", FINDING_COUNT, "gfx942130"},
        {"gfx1030_36.HIP.fdb.txt", KEY "=S<Xdlops>:5,0," ALGO "GEMM\n", FINDING_OTHER_SOLVER,
         "gfx1030_36"},
        {"gfx90a68.HIP.fdb.txt", KEY "=ConvCpuGemm:5,0," ALGO "GEMM\n", FINDING_OTHER_SOLVER,
         "gfx90a68"},
        {"gfx90a68.db.txt", ROW "=ConvCpuGemm:8,1,8,256,64\n", FINDING_OTHER_SOLVER, "gfx90a68"},
        {"gfx1030_36.db.txt", ROW "=S<Xdlops>:1\n", FINDING_OTHER_SOLVER, "gfx1030_36"},
        {"gfx90a_104.db.txt", ROW "=S<Xdlops>:1\n", FINDING_COUNT, "gfx90a68"},
        {"mine.fdb.txt", KEY "=S<Xdlops>:0.0001,0," ALGO "GEMM\n", FINDING_COUNT, "unknown"},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(CheckReport) report =
            check_file(temp_folder_write(folder, cases[i].name, cases[i].text, -1));
        g_test_message("%s: %s", cases[i].name, cases[i].text);
        g_assert_cmpstr(file_target_text(&report->named), ==, cases[i].target);
        g_assert_true(check_report_clean(report) == (cases[i].finding == FINDING_COUNT));
        if (cases[i].finding != FINDING_COUNT) {
            g_assert_cmpint(report->findings[cases[i].finding], ==, 1);
        }
    }
}

/* The solvers of a SQLite perf-db are judged by the file's target, too. Its findings name a row by
 * the row's id. */
static void solvers_of_another_target_are_found_in_sqlite(void)
{
    struct perf_row row;
    char gemm[] = "ConvCpuGemm", params[] = "8,1,8,256,64";
    g_autoptr(GError) error = NULL;
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_assert_true(perf_row_key_parse(ROW, &row, &error));
    struct perf_record record = {row, gemm, params};
    g_autoptr(GPtrArray) records = g_ptr_array_new();
    g_ptr_array_add(records, &record);
    static const struct {
        const char *name;
        int64_t found;
    } cases[] = {{"gfx90a68.db", 1}, {"cpu-znver4_2.db", 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *path = temp_folder_path(folder, cases[i].name);
        g_assert_true(perf_db_write(path, PERF_LIST(records), &error));
        g_autoptr(CheckReport) report = check_file(path);
        g_assert_cmpint(report->findings[FINDING_OTHER_SOLVER], ==, cases[i].found);
    }
}

/* The arguments and code objects of a kernel-db name their architecture: check finds those that
 * differ from the file's target. */
static void kernels_of_another_target_are_unfit(void)
{
    static const struct {
        const char *name, *arch, *code;
        bool fits;
    } cases[] = {
        {"gfx90a68.kdb", "gfx90a", "code", true},        {"gfx90a68.kdb", "gfx942", "code", false},
        {"gfx90a68.kdb", "gfx90a", "poclbin", false},    {"gfx90a.kdb", "gfx90a", "code", true},
        {"cpu-znver4_2.kdb", "znver4", "poclbin", true}, {"mine.kdb", "gfx90a", "poclbin", false},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        const char *path = temp_folder_path(folder, cases[i].name);
        g_autofree char *args = kernel_db_args("-O3", cases[i].arch);
        g_autoptr(GBytes) code = g_bytes_new(cases[i].code, strlen(cases[i].code) + 1);
        g_autoptr(KernelDbWriter) writer = kernel_db_create(path, &error);
        g_assert_true(kernel_db_add(writer, "a.o", args, code, &error));
        g_assert_true(kernel_db_finish(writer, &error));
        g_autoptr(CheckReport) report = check_file(path);
        g_test_message("%s, %s, %s", cases[i].name, cases[i].arch, cases[i].code);
        g_assert_cmpint(report->findings[FINDING_OTHER_TARGET], ==, !cases[i].fits);
        g_assert_true(check_report_clean(report) == cases[i].fits);
    }
}

static void exit_status_reports_findings(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *clean = temp_folder_write(folder, "clean", KEY "=A:1,0," ALGO "GEMM\n", -1);
    const char *zero = temp_folder_write(folder, "zero", KEY "=A:0,0," ALGO "GEMM\n", -1);
    const struct {
        const char *arguments[3];
        int status;
    } cases[] = {
        {{clean, NULL, NULL}, 0},        {{"--json", clean, NULL}, 0},
        {{clean, zero, NULL}, 1},        {{NULL, NULL, NULL}, 2},
        {{"--no-such", clean, NULL}, 2}, {{"/no/such/file", NULL, NULL}, 1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *argv[5] = {(char *)"check"};
        int argc = 1;
        for (int a = 0; a < 3 && cases[i].arguments[a] != NULL; a++) {
            argv[argc++] = (char *)cases[i].arguments[a];
        }
        g_assert_cmpint(command_check(argc, argv), ==, cases[i].status);
    }
}

static void shipped_files_give_the_counts_known(void)
{
    static const struct {
        const char *name;
        int64_t keys, entries, unreadable, zero_wins;
    } files[] = {
        {"gfx1030_36.HIP.fdb.txt.bz2", 106105, 328662, 0, 582},
        {"gfx942130.HIP.fdb.txt.bz2", 9600, 37792, 0, 0},
        {"gfx900_56.OpenCL.fdb.txt.bz2", 1711, 4608, 0, 0},
        {"gfx942130.db.bz2", 9393, 21058, 0, 0},
        {"gfx1030_36.db.bz2", 5214, 9872, 3, 0},
    };
    g_autofree char *folder = real_data("miopen");
    if (folder == NULL) {
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = g_build_filename(folder, files[i].name, NULL);
        g_autoptr(CheckReport) report = check_file(path);
        g_assert_cmpint(report->keys, ==, files[i].keys);
        g_assert_cmpint(report->entries, ==, files[i].entries);
        g_assert_cmpint(report->unreadable_count, ==, files[i].unreadable);
        g_assert_cmpint(report->changed, ==, 0);
        g_assert_cmpint(report->findings[FINDING_ZERO_TIME_WINS], ==, files[i].zero_wins);
        g_assert_cmpint(report->findings[FINDING_IMPOSSIBLE_TIME], ==, 0);
        g_assert_cmpint(report->findings[FINDING_OTHER_SOLVER], ==, 0);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/check/find_db_damages_are_named", find_db_damages_are_named);
    g_test_add_func("/check/perf_text_damages_are_named", perf_text_damages_are_named);
    g_test_add_func("/check/each_repeated_solver_counts_once", each_repeated_solver_counts_once);
    g_test_add_func("/check/perf_text/params_of_an_older_revision_are_stale",
                    params_of_an_older_revision_are_stale);
    g_test_add_func("/check/perf_db_damages_are_named", perf_db_damages_are_named);
    g_test_add_func("/check/kernel_db_damages_are_named", kernel_db_damages_are_named);
    g_test_add_func("/check/any_damage_to_a_file_is_survived", any_damage_to_a_file_is_survived);
    g_test_add_func("/check/content_decides_a_files_format", content_decides_a_files_format);
    g_test_add_func("/check/compressed_files_are_checked_too", compressed_files_are_checked_too);
    g_test_add_func("/check/folder_lists_files_of_known_names_in_order",
                    folder_lists_files_of_known_names_in_order);
    g_test_add_func("/check/content_that_contradicts_the_target_is_unfit",
                    content_that_contradicts_the_target_is_unfit);
    g_test_add_func("/check/solvers_of_another_target_are_found_in_sqlite",
                    solvers_of_another_target_are_found_in_sqlite);
    g_test_add_func("/check/kernels_of_another_target_are_unfit",
                    kernels_of_another_target_are_unfit);
    g_test_add_func("/check/exit_status_reports_findings", exit_status_reports_findings);
    g_test_add_func("/check/shipped_files_give_the_counts_known",
                    shipped_files_give_the_counts_known);
    return g_test_run();
}
