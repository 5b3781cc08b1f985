/* Damaged recipes (how to run a solution), and callers that pass wrong arguments. */
#include "export/sjdb/reader/layout.h"
#include "tests/support/export/sjdb_bytes.h"
#include "tests/support/export/sjdb_small.h"
#include "tests/support/temp_folder.h"

static GByteArray *small_file(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *path = temp_folder_path(folder, "a.sjdb");
    g_autoptr(SjdbWriter) writer = sjdb_writer_new(path);
    struct problem problem;
    struct skipjackdb_problem read;
    struct solution solution;
    sjdb_small_parse(SJDB_SMALL_KEY, &problem, &read);
    sjdb_small_solution(&solution);
    sjdb_small_add_kernel(writer);
    g_assert_true(
        sjdb_writer_add_solution(writer, &problem, "A", "1", &solution, &sjdb_small_kernel, NULL));
    skipjackdb_close(sjdb_small_finish(writer, path));
    return g_bytes_unref_to_array(temp_folder_read(path));
}

/* Reads the solution, its launch and its arguments; returns the library's code of the first
 * failure. */
static int ask(const GByteArray *bytes)
{
    struct problem problem;
    struct skipjackdb_problem read;
    struct skipjackdb_solution solution;
    struct skipjackdb_launch launch = {.size = sizeof launch};
    struct skipjackdb_arg args[128]; /* the most arguments that a count below 0x80 can state */
    skipjackdb *db = NULL;
    sjdb_small_parse(SJDB_SMALL_KEY, &problem, &read);
    int code = skipjackdb_open_bytes(bytes->data, bytes->len, &db);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_solution(db, &read, "A", &solution, sizeof solution);
    }
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_launch_at(db, &solution, 0, &launch);
    }
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_args(db, &launch, &read, args, sizeof *args, G_N_ELEMENTS(args));
    }
    if (code == SKIPJACKDB_OK) {
        g_assert_cmpint(args[2].value, ==, -3);
        g_assert_cmpint(args[5].value, ==, 18);
    }
    skipjackdb_close(db);
    return code;
}

static int verified(const GByteArray *bytes)
{
    skipjackdb *db = NULL;
    int code = skipjackdb_open_bytes(bytes->data, bytes->len, &db);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_verify(db);
    }
    skipjackdb_close(db);
    return code;
}

static void damaged_field_of_a_recipe_is_found(void)
{
    static const struct {
        const char *what;
        uint32_t kind;
        gsize at;
        guint8 byte;
    } cases[] = {
        {"params beyond the texts", SJDB_RECIPES, 0, 0x7f},
        {"params that go on", SJDB_RECIPES, 0, 0x80},
        {"a launch beyond them", SJDB_RECIPES, 2, 1},
        {"a launch that does not end", SJDB_RECIPES, 2, 0x80},
        {"a kernel beyond them", SJDB_LAUNCHES, 0, 1},
        {"a form beyond them", SJDB_LAUNCHES, 1, 1},
        {"no groups", SJDB_LAUNCHES, 2, 0},
        {"no groups deep", SJDB_LAUNCHES, 4, 0},
        {"a value that goes on", SJDB_LAUNCHES, 5, 0xc0},
        {"a last value that does not end", SJDB_LAUNCHES, 8, 0x80},
        {"an entry beyond the texts", SJDB_FORMS, 0, 0x7f},
        {"an empty block", SJDB_FORMS, 1, 0},
        {"an argument less", SJDB_FORMS, 5, 5},
        {"an argument more", SJDB_FORMS, 5, 7},
        {"far more arguments", SJDB_FORMS, 5, 0x7f},
        {"a tensor beyond them", SJDB_FORMS, 7, 3},
        {"a kind beyond them", SJDB_FORMS, 8, 6},
        {"a kind without a value", SJDB_FORMS, 8, SKIPJACKDB_ARG_TENSOR},
        {"a stride's tensor", SJDB_FORMS, 13, 3},
        {"a stride's axis", SJDB_FORMS, 14, 5},
        {"a factor that does not end", SJDB_FORMS, 15, 0x80},
        {"a record that begins late", SJDB_RECIPE_STARTS, 0, 0xff},
        {"launches that begin late", SJDB_LAUNCH_STARTS, 0, 0xff},
        {"forms that begin late", SJDB_FORM_STARTS, 0, 0xff},
    };
    g_autoptr(GByteArray) bytes = small_file();
    g_assert_cmpint(ask(bytes), ==, SKIPJACKDB_OK);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct sjdb_place place;
        sjdb_bytes_find(bytes, cases[i].kind, &place);
        guint8 *at = bytes->data + place.offset + cases[i].at;
        guint8 was = *at;
        *at = cases[i].byte;
        sjdb_bytes_seal(bytes->data, bytes->len);
        int code = ask(bytes), whole = verified(bytes);
        if (code != SKIPJACKDB_DAMAGED || whole != SKIPJACKDB_DAMAGED) {
            g_test_message("%s: %s; verify: %s", cases[i].what, skipjackdb_error_text(code),
                           skipjackdb_error_text(whole));
            g_test_fail();
        }
        *at = was;
    }
}

/* A launch's workspace slice beyond the workspace is found by skipjackdb_verify(): reading the
 * launch alone does not know the workspace's size. */
static void verify_finds_a_slice_beyond_the_workspace(void)
{
    g_autoptr(GByteArray) bytes = small_file();
    struct sjdb_place place;
    sjdb_bytes_find(bytes, SJDB_RECIPES, &place);
    bytes->data[place.offset + 1] = 64;
    sjdb_bytes_seal(bytes->data, bytes->len);
    g_assert_cmpint(verified(bytes), ==, SKIPJACKDB_DAMAGED);
    bytes->data[place.offset + 1] = 65;
    sjdb_bytes_seal(bytes->data, bytes->len);
    g_assert_cmpint(verified(bytes), ==, SKIPJACKDB_OK);
}

/* Every byte of the recipes' sections takes every value: each lookup gives an answer or reports
 * damage. */
static void any_byte_in_a_recipe_crashes_no_lookup(void)
{
    g_autoptr(GByteArray) bytes = small_file();
    for (uint32_t kind = SJDB_RECIPE_STARTS; kind <= SJDB_FORMS; kind++) {
        struct sjdb_place place;
        sjdb_bytes_find(bytes, kind, &place);
        for (gsize i = 0; i < place.length - SJDB_PAD_BYTES; i++) {
            guint8 *at = bytes->data + place.offset + i, was = *at;
            for (guint value = 0; value < 256; value++) {
                int opened = 0, whole = 0;
                *at = (guint8)value;
                sjdb_bytes_seal(bytes->data, bytes->len);
                sjdb_bytes_ask(bytes->data, bytes->len, &opened, &whole);
            }
            *at = was;
        }
    }
}

static void wrong_arguments_are_refused(void)
{
    g_autoptr(GByteArray) bytes = small_file();
    struct problem problem;
    struct skipjackdb_problem read;
    struct skipjackdb_solution solution;
    struct skipjackdb_launch launch = {.size = sizeof launch}, unsized = {.size = 0};
    struct skipjackdb_arg args[6];
    skipjackdb *db = NULL;
    uint64_t number = 0;
    int64_t strides[5];
    sjdb_small_parse(SJDB_SMALL_KEY, &problem, &read);
    g_assert_cmpint(skipjackdb_open_bytes(bytes->data, bytes->len, &db), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_solution(db, &read, "A", &solution, 8), ==, SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_solution(db, &read, "B", &solution, sizeof solution), ==,
                    SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_solution(db, &read, "A", &solution, sizeof solution), ==,
                    SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_launch_at(db, &solution, 1, &launch), ==, SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_launch_at(db, &solution, 0, &unsized), ==, SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_launch_at(db, &solution, 0, &launch), ==, SKIPJACKDB_OK);
    g_assert_cmpint(skipjackdb_args(db, &launch, NULL, args, sizeof *args, 5), ==,
                    SKIPJACKDB_SPACE);
    g_assert_cmpint(skipjackdb_args(db, &launch, NULL, args, 8, 6), ==, SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_args(db, &launch, NULL, args, sizeof *args, 6), ==, SKIPJACKDB_OK);
    g_assert_cmpint(args[5].value, ==, 0);
    g_assert_cmpint(args[5].factor, ==, 2);
    read.layout[0] = 99;
    g_assert_cmpint(skipjackdb_args(db, &launch, &read, args, sizeof *args, 6), ==,
                    SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_strides(&read, 0, strides, NULL), ==, SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_strides(&read, 3, strides, NULL), ==, SKIPJACKDB_USAGE);
    read.size = 0;
    g_assert_cmpint(skipjackdb_solved_find(db, &read, &number), ==, SKIPJACKDB_USAGE);
    skipjackdb_close(db);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/sjdb_solutions/damaged_field_of_a_recipe_is_found",
                    damaged_field_of_a_recipe_is_found);
    g_test_add_func("/sjdb_solutions/verify_finds_a_slice_beyond_the_workspace",
                    verify_finds_a_slice_beyond_the_workspace);
    g_test_add_func("/sjdb_solutions/any_byte_in_a_recipe_crashes_no_lookup",
                    any_byte_in_a_recipe_crashes_no_lookup);
    g_test_add_func("/sjdb_solutions/wrong_arguments_are_refused", wrong_arguments_are_refused);
    return g_test_run();
}
