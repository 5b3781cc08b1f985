#include "export/sjdb/sjdb_write.h"

#include "export/formats/find_db.h"
#include "export/sjdb/reader/skipjackdb.h"
#include "tests/support/export/real_data.h"
#include "tests/support/random_problem.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_effort.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define KEY      "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"
#define ENTRIES  8 /* most entries of a problem in these tests */
#define PROBLEMS 2000

static struct problem problem_of(const char *key)
{
    struct problem problem;
    g_assert_true(problem_key_parse(key, &problem, NULL));
    return problem;
}

static skipjackdb *open_db(const char *path)
{
    skipjackdb *db = NULL;
    g_assert_cmpint(skipjackdb_open(path, &db), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_verify(db), ==, SKIPJACKDB_OK);
    return db;
}

static void finish(SjdbWriter *writer)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(sjdb_writer_finish(writer, &error));
    g_assert_no_error(error);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void assert_entry(const struct skipjackdb_entry *read, const struct sjdb_find_entry *wrote)
{
    g_assert_cmpstr(read->solver, ==, wrote->solver);
    g_assert_cmpstr(read->algorithm, ==, wrote->algorithm);
    g_assert_cmpstr(read->library, ==, wrote->library != NULL ? wrote->library : "");
    g_assert_cmpuint(bits_of(read->time_ms), ==, bits_of(wrote->time_ms));
    g_assert_cmpuint(read->workspace_bytes, ==, wrote->workspace_bytes);
    g_assert_cmpuint(bits_of(read->low_ms), ==, bits_of(wrote->low_ms));
    g_assert_cmpuint(bits_of(read->high_ms), ==, bits_of(wrote->high_ms));
}

static void assert_entries(const skipjackdb *db, const char *key,
                           const struct sjdb_find_entry *wrote, gsize count)
{
    struct skipjackdb_entry read[ENTRIES];
    uint64_t number = 0;
    size_t found = 0;
    int code = skipjackdb_find_key(db, key, &number);
    if (code != SKIPJACKDB_OK) {
        g_test_message("'%s': %s", key, skipjackdb_error_text(code));
        g_test_fail();
        return;
    }
    g_assert_cmpint(skipjackdb_entries(db, number, read, sizeof read[0], ENTRIES, &found), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpuint(found, ==, count);
    for (gsize i = 0; i < count && i < found; i++) {
        assert_entry(&read[i], &wrote[i]);
    }
}

/* ---- keys ---- */

static void assert_same_key(const char *key)
{
    struct skipjackdb_problem read = {.size = sizeof read};
    char written[SKIPJACKDB_KEY_MAX];
    struct problem problem;
    bool ours = problem_key_parse(key, &problem, NULL);
    int code = skipjackdb_problem_parse(key, &read);
    if (ours != (code == SKIPJACKDB_OK)) {
        g_test_message("'%s' is %s by the library: %s", key, ours ? "refused" : "taken",
                       skipjackdb_error_text(code));
        g_test_fail();
    }
    if (ours && code == SKIPJACKDB_OK) {
        g_assert_cmpint(skipjackdb_problem_key(&read, written, sizeof written), ==, SKIPJACKDB_OK);
        g_assert_cmpstr(written, ==, key);
        g_assert_cmpint(read.c, ==, problem.c);
        g_assert_cmpint(read.layout[0], ==, (int)problem.layout[TENSOR_X]);
        g_assert_cmpint(read.type[2], ==, (int)problem.type[TENSOR_Y]);
    }
}

static void random_wide(GRand *random, struct problem *problem)
{
    struct random_limits limits;
    random_limits_wide(&limits);
    random_problem(random, &limits, problem);
}

/* Replaces, inserts or deletes one random character. */
static void spoil(GRand *random, char *key, gsize room)
{
    static const char alphabet[] = "0123456789x--__gcswioFBWNHPINTyrpol()+";
    gsize length = strlen(key), at = (gsize)g_rand_int_range(random, 0, (gint32)length);
    char c = alphabet[g_rand_int_range(random, 0, (gint32)sizeof alphabet - 1)];
    switch (g_rand_int_range(random, 0, 3)) {
    case 0: key[at] = c; break;
    case 1: memmove(key + at, key + at + 1, length - at); break;
    default:
        if (length + 2 < room) {
            memmove(key + at + 1, key + at, length - at + 1);
            key[at] = c;
        }
    }
}

static void library_and_program_agree_on_keys(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    for (int i = 0; i < test_effort(PROBLEMS); i++) {
        struct problem problem;
        char key[PROBLEM_KEY_MAX];
        random_wide(random, &problem);
        problem_key(&problem, key);
        assert_same_key(key);
        /* The library does not parse the steps of an epilogue, so the epilogue is not spoilt. */
        key[strcspn(key, "+")] = '\0';
        for (int s = 0; s < 10; s++) {
            char spoilt[PROBLEM_KEY_MAX];
            g_strlcpy(spoilt, key, sizeof spoilt);
            spoil(random, spoilt, sizeof spoilt);
            if (strchr(spoilt, '+') == NULL) {
                assert_same_key(spoilt);
            }
        }
    }
}

static void output_formula_is_the_same(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(6);
    for (int i = 0; i < PROBLEMS; i++) {
        struct problem problem;
        char key[PROBLEM_KEY_MAX], written[SKIPJACKDB_KEY_MAX];
        struct skipjackdb_problem read = {.size = sizeof read};
        random_wide(random, &problem);
        problem_key(&problem, key);
        g_assert_cmpint(skipjackdb_problem_parse(key, &read), ==, SKIPJACKDB_OK);
        problem_set_output(&problem);
        skipjackdb_problem_set_output(&read);
        problem_key(&problem, key);
        skipjackdb_problem_key(&read, written, sizeof written);
        g_assert_cmpstr(written, ==, key);
    }
}

/* ---- find entries ---- */

static double random_time(GRand *random)
{
    static const double odd[] = {0.0, -0.0, -1.5, 5e-324, 1.7976931348623157e308, 0.1 + 0.2};
    char text[FIND_TIME_MAX];
    double time = exp(g_rand_double_range(random, -12, 12));
    switch (g_rand_int_range(random, 0, 8)) {
    case 0: return odd[g_rand_int_range(random, 0, G_N_ELEMENTS(odd))];
    case 1: return time;
    default: return g_ascii_strtod(find_time_text(time, text), NULL);
    }
}

static void random_entry(GRand *random, struct sjdb_find_entry *entry)
{
    static const char *const solvers[] = {"ConvA", "ConvB<2>", "GemmC", "ConvD"};
    static const char *const libraries[] = {NULL, NULL, "MIOpenGEMM"};
    static const uint64_t workspaces[] = {0, 0, 1024, 1 << 20, UINT64_MAX};
    entry->solver = solvers[g_rand_int_range(random, 0, G_N_ELEMENTS(solvers))];
    entry->algorithm = g_rand_boolean(random) ? "miopenConvolutionFwdAlgoGEMM" : "other";
    entry->library = libraries[g_rand_int_range(random, 0, G_N_ELEMENTS(libraries))];
    entry->time_ms = random_time(random);
    entry->workspace_bytes = workspaces[g_rand_int_range(random, 0, G_N_ELEMENTS(workspaces))];
    entry->low_ms = entry->high_ms = 0;
    if (entry->time_ms > 1e-9 && entry->time_ms < 1e9 && g_rand_int_range(random, 0, 3) == 0) {
        entry->low_ms = entry->time_ms * g_rand_double_range(random, 0.9, 1);
        entry->high_ms = entry->time_ms * g_rand_double_range(random, 1, 1.1);
    }
}

struct sample {
    char key[PROBLEM_KEY_MAX];
    struct problem problem;
    struct sjdb_find_entry entries[ENTRIES];
    gsize count;
};

/* Random problems without duplicates; each shape comes with a few batch sizes and directions. */
static GPtrArray *random_samples(GRand *random, int count)
{
    GPtrArray *samples = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) keys = g_hash_table_new(g_str_hash, g_str_equal);
    struct problem problem;
    for (int i = 0; i < count; i++) {
        struct sample *sample = g_new0(struct sample, 1);
        if (i % 4 == 0) {
            random_wide(random, &problem);
        }
        sample->problem = problem;
        sample->problem.n += i % 4;
        sample->problem.out[AXIS_W] += i % 16 == 0; /* off the formula */
        sample->count = (gsize)g_rand_int_range(random, 1, ENTRIES + 1);
        for (gsize e = 0; e < sample->count; e++) {
            random_entry(random, &sample->entries[e]);
        }
        problem_key(&sample->problem, sample->key);
        if (g_hash_table_add(keys, sample->key)) {
            g_ptr_array_add(samples, sample);
        } else {
            g_free(sample);
        }
    }
    return samples;
}

static void add_sample(SjdbWriter *writer, const struct sample *sample)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(
        sjdb_writer_add_find(writer, &sample->problem, sample->entries, sample->count, &error));
    g_assert_no_error(error);
}

static void random_problems_read_back(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    const char *path = temp_folder_path(folder, "a.sjdb");
    int sizes[] = {0, 1, 2, 17, test_effort(PROBLEMS)};
    for (gsize s = 0; s < G_N_ELEMENTS(sizes); s++) {
        g_autoptr(GPtrArray) samples = random_samples(random, sizes[s]);
        g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
        for (guint i = 0; i < samples->len; i++) {
            add_sample(writer, samples->pdata[i]);
        }
        finish(writer);
        skipjackdb *db = open_db(path);
        g_assert_cmpuint(skipjackdb_problem_count(db), ==, samples->len);
        for (guint i = 0; i < samples->len; i++) {
            const struct sample *sample = samples->pdata[i];
            assert_entries(db, sample->key, sample->entries, sample->count);
        }
        skipjackdb_close(db);
    }
}

static void problems_that_are_not_held_are_not_found(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GRand) random = g_rand_new_with_seed(8);
    g_autoptr(GPtrArray) samples = random_samples(random, PROBLEMS);
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    for (guint i = 0; i < samples->len; i += 2) {
        add_sample(writer, samples->pdata[i]);
    }
    finish(writer);
    skipjackdb *db = open_db(path);
    for (guint i = 1; i < samples->len; i += 2) {
        uint64_t number = 0;
        const struct sample *sample = samples->pdata[i];
        g_assert_cmpint(skipjackdb_find_key(db, sample->key, &number), ==, SKIPJACKDB_NOT_FOUND);
    }
    skipjackdb_close(db);
}

static void order_of_adding_does_not_change_the_bytes(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GRand) random = g_rand_new_with_seed(9);
    g_autoptr(GPtrArray) samples = random_samples(random, PROBLEMS);
    GBytes *written[2] = {NULL, NULL};
    for (int w = 0; w < 2; w++) {
        const char *path = temp_folder_path(folder, w == 0 ? "a.sjdb" : "b.sjdb");
        g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
        for (guint i = 0; i < samples->len; i++) {
            add_sample(writer, samples->pdata[w == 0 ? i : samples->len - 1 - i]);
        }
        finish(writer);
        written[w] = temp_folder_read(path);
    }
    g_assert_true(g_bytes_equal(written[0], written[1]));
    g_bytes_unref(written[0]);
    g_bytes_unref(written[1]);
}

static void problem_that_comes_twice_is_refused(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    g_autoptr(GError) error = NULL;
    struct problem problem = problem_of(KEY);
    const struct sjdb_find_entry entry = {"A", "x", NULL, 1, 0, 0, 0};
    for (int i = 0; i < 2; i++) {
        g_assert_true(sjdb_writer_add_find(writer, &problem, &entry, 1, NULL));
    }
    g_assert_false(sjdb_writer_finish(writer, &error));
    g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX);
    g_assert_nonnull(strstr(error->message, KEY));
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

/* An entry has the interval of its second measurement wherever the library gives the entry. */
static void intervals_go_with_their_entries(void)
{
    static const char fused[] = KEY "+relu";
    static const struct sjdb_find_entry entries[] = {{"Once", "x", NULL, 3, 0, 0, 0},
                                                     {"Twice", "x", NULL, 1, 0, 0.99, 1.25},
                                                     {"Again", "x", NULL, 2, 0, 2, 2}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct problem plain = problem_of(KEY), other = problem_of(fused);
    struct skipjackdb_problem near = {.size = sizeof near};
    struct skipjackdb_choice choice = {.size = sizeof choice};
    struct skipjackdb_entry best;
    g_assert_true(sjdb_writer_add_find(writer, &plain, entries, 2, NULL));
    g_assert_true(sjdb_writer_add_find(writer, &other, entries, 3, NULL));
    finish(writer);
    skipjackdb *db = open_db(path);
    assert_entries(db, KEY, entries, 2);
    assert_entries(db, fused, entries, 3);
    g_assert_cmpint(skipjackdb_best(db, 1, NULL, &best, sizeof best), ==, SKIPJACKDB_OK);
    assert_entry(&best, &entries[1]);
    g_assert_cmpint(skipjackdb_problem_parse(KEY, &near), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_choose(&db, 1, &near, NULL, &choice, NULL), ==, SKIPJACKDB_OK);
    g_assert_cmpfloat(choice.low_ms, ==, 0.99);
    g_assert_cmpfloat(choice.high_ms, ==, 1.25);
    near.n *= 2; /* its time is scaled, so that no interval is known */
    g_assert_cmpint(skipjackdb_choose(&db, 1, &near, NULL, &choice, NULL), ==, SKIPJACKDB_OK);
    g_assert_cmpstr(choice.solver, ==, "Twice");
    g_assert_cmpfloat(choice.low_ms, ==, 0);
    g_assert_cmpfloat(choice.high_ms, ==, 0);
    skipjackdb_close(db);
}

static void interval_that_does_not_hold_its_time_is_refused(void)
{
    static const double intervals[][2] = {{1.1, 1.2}, {0.8, 0.9}, {0, 1.1},        {0.9, 0},
                                          {-1, 1},    {1.1, 0.9}, {0.9, INFINITY}, {NAN, NAN}};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(temp_folder_path(folder, "a.sjdb"));
    struct problem problem = problem_of(KEY);
    for (gsize i = 0; i < G_N_ELEMENTS(intervals); i++) {
        const struct sjdb_find_entry entry = {
            "A", "x", NULL, 1, 0, intervals[i][0], intervals[i][1]};
        g_autoptr(GError) error = NULL;
        g_assert_false(sjdb_writer_add_find(writer, &problem, &entry, 1, &error));
        g_assert_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX);
    }
}

/* Programs that were compiled before structs had intervals get what they know, and no byte more. */
static void programs_from_before_intervals_get_their_fields(void)
{
    static const struct sjdb_find_entry entries[] = {{"A", "x", NULL, 1, 64, 0.5, 2},
                                                     {"B", "x", NULL, 3, 0, 2.5, 4}};
    gsize old = offsetof(struct skipjackdb_entry, low_ms);
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct problem problem = problem_of(KEY);
    struct skipjackdb_problem asked = {.size = sizeof asked};
    struct skipjackdb_choice choice = {.size = offsetof(struct skipjackdb_choice, low_ms),
                                       .low_ms = -1};
    struct skipjackdb_entry read[2], best = {.low_ms = -1};
    size_t count = 0;
    g_assert_true(sjdb_writer_add_find(writer, &problem, entries, 2, NULL));
    finish(writer);
    skipjackdb *db = open_db(path);
    memset(read, 0xff, sizeof read);
    g_assert_cmpint(skipjackdb_entries(db, 0, read, old, 2, &count), ==, SKIPJACKDB_OK);
    g_assert_cmpuint(count, ==, 2);
    g_assert_cmpstr(read[0].solver, ==, "A");
    const struct skipjackdb_entry *second = (const void *)((const char *)read + old);
    const guint8 *behind = (const guint8 *)read + 2 * old;
    g_assert_cmpstr(second->solver, ==, "B");
    g_assert_cmpfloat(second->time_ms, ==, 3);
    g_assert_cmpint(behind[0], ==, 0xff);
    g_assert_cmpint(skipjackdb_best(db, 0, NULL, &best, old), ==, SKIPJACKDB_OK);
    g_assert_cmpstr(best.solver, ==, "A");
    g_assert_cmpfloat(best.low_ms, ==, -1);
    g_assert_cmpint(skipjackdb_problem_parse(KEY, &asked), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_choose(&db, 1, &asked, NULL, &choice, NULL), ==, SKIPJACKDB_OK);
    g_assert_cmpstr(choice.solver, ==, "A");
    g_assert_cmpfloat(choice.low_ms, ==, -1);
    g_assert_cmpint(skipjackdb_entries(db, 0, read, old - 1, 2, &count), ==, SKIPJACKDB_USAGE);
    skipjackdb_close(db);
}

static void best_entry_keeps_the_limits(void)
{
    static const struct sjdb_find_entry entries[] = {
        {"Zero", "x", NULL, 0, 0, 0, 0},        {"Slow", "x", NULL, 4, 0, 0, 0},
        {"Fast", "x", NULL, 1, 1 << 20, 0, 0},  {"Dynamic", "x", NULL, 3, 4096, 0, 0},
        {"Unknown", "x", NULL, 2, 65536, 0, 0},
    };
    static const struct {
        uint64_t workspace_bytes;
        uint32_t flags;
        const char *solver; /* NULL: none */
    } cases[] = {
        {UINT64_MAX, 0, "Fast"},
        {1 << 20, 0, "Fast"},
        {(1 << 20) - 1, 0, "Unknown"},
        {4096, 0, "Dynamic"},
        {4095, 0, "Slow"},
        {UINT64_MAX, SKIPJACKDB_DYNAMIC, "Dynamic"},
        {0, SKIPJACKDB_DYNAMIC, NULL},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct problem problem = problem_of(KEY);
    sjdb_writer_set_solver(writer, "Dynamic", 7, sjdb_known_flags(true, false));
    g_assert_true(sjdb_writer_add_find(writer, &problem, entries, G_N_ELEMENTS(entries), NULL));
    finish(writer);
    skipjackdb *db = open_db(path);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct skipjackdb_limits limits = {sizeof limits, cases[i].workspace_bytes, cases[i].flags};
        struct skipjackdb_entry entry = {0};
        int code = skipjackdb_best(db, 0, &limits, &entry, sizeof entry);
        g_assert_cmpint(code, ==, cases[i].solver != NULL ? SKIPJACKDB_OK : SKIPJACKDB_NOT_FOUND);
        g_assert_cmpstr(entry.solver, ==, cases[i].solver);
        if (g_strcmp0(cases[i].solver, "Dynamic") == 0) {
            g_assert_cmpuint(entry.revision, ==, 7);
        }
    }
    skipjackdb_close(db);
}

static void meta_is_kept(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    sjdb_writer_set_meta(writer, "{\"target\": \"gfx90a68\"}");
    finish(writer);
    skipjackdb *db = open_db(path);
    g_assert_cmpstr(skipjackdb_meta(db), ==, "{\"target\": \"gfx90a68\"}");
    skipjackdb_close(db);
}

/* ---- shipped find-dbs ---- */

static gsize entries_of(const struct find_line *line, struct sjdb_find_entry *entries)
{
    for (guint i = 0; i < line->entries->len; i++) {
        const struct find_entry *entry = &g_array_index(line->entries, struct find_entry, i);
        entries[i] = (struct sjdb_find_entry){entry->solver,
                                              entry->algorithm,
                                              entry->library,
                                              entry->time_ms,
                                              entry->workspace_bytes,
                                              0,
                                              0};
    }
    return line->entries->len;
}

/* Reads the file's lines: adds them to the writer, or compares them with db. Returns the number of
 * lines whose key is a problem. */
static int each_line(const char *path, SjdbWriter *writer, const skipjackdb *db)
{
    struct find_line line;
    struct line at;
    int count = 0;
    enum read_step step = READ_ROW;
    g_autoptr(FindDb) find_db = find_db_open(path, NULL);
    g_assert_nonnull(find_db);
    find_line_init(&line);
    while ((step = find_db_next(find_db, &line, &at, NULL)) == READ_ROW || step == READ_BAD) {
        struct sjdb_find_entry entries[ENTRIES];
        struct problem problem;
        if (step == READ_BAD || line.entries->len > ENTRIES ||
            !problem_key_parse(line.key, &problem, NULL)) {
            continue;
        }
        gsize entry_count = entries_of(&line, entries);
        count++;
        if (writer != NULL) {
            sjdb_writer_add_find(writer, &problem, entries, entry_count, NULL);
        } else {
            assert_entries(db, line.key, entries, entry_count);
        }
    }
    find_line_clear(&line);
    return count;
}

static void shipped_find_db_reads_back_and_is_smaller_than_its_bzip2(void)
{
    static const char *const names[] = {"gfx1030_36.HIP.fdb.txt.bz2", "gfx942130.HIP.fdb.txt.bz2",
                                        "gfx900_56.OpenCL.fdb.txt.bz2"};
    g_autofree char *data = real_data("miopen");
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    for (gsize i = 0; data != NULL && i < G_N_ELEMENTS(names); i++) {
        GStatBuf packed, written;
        g_autofree char *source = g_build_filename(data, names[i], NULL);
        g_assert_cmpint(g_stat(source, &packed), ==, 0);
        g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
        int count = each_line(source, writer, NULL);
        finish(writer);
        skipjackdb *db = open_db(path);
        g_assert_cmpuint(skipjackdb_problem_count(db), ==, count);
        g_assert_cmpint(each_line(source, NULL, db), ==, count);
        skipjackdb_close(db);
        g_assert_cmpint(g_stat(path, &written), ==, 0);
        g_test_message("%s: %d keys, %ld bytes, %.2f times the bzip2", names[i], count,
                       (long)written.st_size, (double)written.st_size / (double)packed.st_size);
        g_assert_cmpint(written.st_size, <=, packed.st_size);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/sjdb/library_and_program_agree_on_keys", library_and_program_agree_on_keys);
    g_test_add_func("/sjdb/output_formula_is_the_same", output_formula_is_the_same);
    g_test_add_func("/sjdb/random_problems_read_back", random_problems_read_back);
    g_test_add_func("/sjdb/problems_that_are_not_held_are_not_found",
                    problems_that_are_not_held_are_not_found);
    g_test_add_func("/sjdb/order_of_adding_does_not_change_the_bytes",
                    order_of_adding_does_not_change_the_bytes);
    g_test_add_func("/sjdb/problem_that_comes_twice_is_refused",
                    problem_that_comes_twice_is_refused);
    g_test_add_func("/sjdb/intervals_go_with_their_entries", intervals_go_with_their_entries);
    g_test_add_func("/sjdb/interval_that_does_not_hold_its_time_is_refused",
                    interval_that_does_not_hold_its_time_is_refused);
    g_test_add_func("/sjdb/programs_from_before_intervals_get_their_fields",
                    programs_from_before_intervals_get_their_fields);
    g_test_add_func("/sjdb/best_entry_keeps_the_limits", best_entry_keeps_the_limits);
    g_test_add_func("/sjdb/meta_is_kept", meta_is_kept);
    g_test_add_func("/sjdb/shipped_find_db_reads_back_and_is_smaller_than_its_bzip2",
                    shipped_find_db_reads_back_and_is_smaller_than_its_bzip2);
    return g_test_run();
}
