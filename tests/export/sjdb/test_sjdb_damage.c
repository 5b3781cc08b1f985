#include "export/sjdb/reader/layout.h"
#include "tests/support/export/sjdb_bytes.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_effort.h"

#include <string.h>
#include <sys/stat.h>

static void put_number(guint8 *at, uint64_t value, gsize size)
{
    uint64_t little = GUINT64_TO_LE(value);
    memcpy(at, &little, size);
}

static GByteArray *copy_of(const GByteArray *bytes)
{
    GByteArray *copy = g_byte_array_new();
    g_byte_array_append(copy, bytes->data, bytes->len);
    return copy;
}

/* Returns the library's code of opening the file, or if it opens, of verifying it. */
static int judged(const GByteArray *bytes)
{
    int opened = 0, verified = 0;
    return sjdb_bytes_ask(bytes->data, bytes->len, &opened, &verified) ? verified : opened;
}

static void whole_file_is_in_order(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    g_assert_cmpint(judged(bytes), ==, SKIPJACKDB_OK);
}

static void file_cut_off_anywhere_does_not_open(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    for (gsize length = 0; length < bytes->len; length++) {
        int opened = 0, verified = 0;
        /* A copy of exactly this length, so that AddressSanitizer finds a read behind its end. */
        g_autofree guint8 *part = g_memdup2(bytes->data, MAX(length, 1));
        g_assert_false(sjdb_bytes_ask(part, length, &opened, &verified));
        g_assert_cmpint(opened, ==,
                        length < SJDB_MAGIC_BYTES ? SKIPJACKDB_FORMAT : SKIPJACKDB_TRUNCATED);
    }
}

static void byte_more_does_not_open(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    g_byte_array_append(bytes, (const guint8 *)"\n", 1);
    g_assert_cmpint(judged(bytes), ==, SKIPJACKDB_TRUNCATED);
}

static void flipped_bit_of_header_or_table_does_not_open(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    gsize end = SJDB_HEADER_BYTES + (gsize)sjdb_bytes_sections(bytes->data) * SJDB_SECTION_BYTES;
    for (gsize bit = 0; bit < 8 * end; bit++) {
        skipjackdb *db = NULL;
        bytes->data[bit / 8] ^= (guint8)(1 << bit % 8);
        g_assert_cmpint(skipjackdb_open_bytes(bytes->data, bytes->len, &db), !=, SKIPJACKDB_OK);
        bytes->data[bit / 8] ^= (guint8)(1 << bit % 8);
    }
}

static void verify_finds_a_flipped_byte_of_a_section(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    gsize begin = SJDB_HEADER_BYTES + (gsize)sjdb_bytes_sections(bytes->data) * SJDB_SECTION_BYTES;
    for (gsize at = begin; at < bytes->len; at++) {
        if (!test_is_case((int)at))
            continue;
        bytes->data[at] ^= 0x5a;
        g_assert_cmpint(judged(bytes), ==, SKIPJACKDB_DAMAGED);
        bytes->data[at] ^= 0x5a;
    }
}

static void text_tools_damage_shows_in_the_magic(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    memmove(bytes->data + 5, bytes->data + 6, bytes->len - 6); /* CR LF became LF */
    g_assert_cmpint(judged(bytes), ==, SKIPJACKDB_FORMAT);
}

static void newer_versions_are_refused_or_read(void)
{
    static const struct {
        uint64_t major, minor;
        int code;
    } cases[] = {
        {SJDB_MAJOR, 0, SKIPJACKDB_OK},      {SJDB_MAJOR, SJDB_MINOR + 1, SKIPJACKDB_OK},
        {SJDB_MAJOR, 0xffff, SKIPJACKDB_OK}, {SJDB_MAJOR + 1, 0, SKIPJACKDB_VERSION},
        {0, 0, SKIPJACKDB_VERSION},
    };
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        put_number(bytes->data + 8, cases[i].major, 2);
        put_number(bytes->data + 10, cases[i].minor, 2);
        sjdb_bytes_seal(bytes->data, bytes->len);
        g_assert_cmpint(judged(bytes), ==, cases[i].code);
    }
}

static void unknown_section_is_left_alone(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    struct sjdb_place place;
    sjdb_bytes_find(bytes, SJDB_META, &place);
    put_number(place.row, 0x7fffff01, 4);
    sjdb_bytes_seal(bytes->data, bytes->len);
    g_assert_cmpint(judged(bytes), ==, SKIPJACKDB_OK);
}

/* Each row overwrites one number (`size` bytes at offset `at`) of the section table's row; the
 * checksums are made right again. */
static void section_that_cannot_be_does_not_open(void)
{
    static const struct {
        const char *what;
        gsize at, size;
        uint64_t value;
    } cases[] = {
        {"offset at the end", 8, 8, 1 << 20},
        {"offset far beyond", 8, 8, UINT64_MAX},
        {"offset that wraps around", 8, 8, UINT64_MAX - 100},
        {"length beyond the file", 24, 8, 1 << 20},
        {"length that wraps around", 24, 8, UINT64_MAX},
        {"length without padding", 24, 8, 15},
        {"more items than bits", 16, 8, 1 << 20},
        {"bits that wrap around", 16, 8, UINT64_MAX / 2},
        {"width over 64", 4, 4, 65},
        {"items of no bits", 4, 4, 0},
        {"a kind that is there", 0, 4, SJDB_STRINGS},
    };
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GByteArray) spoilt = copy_of(bytes);
        struct sjdb_place place;
        int opened = 0, verified = 0;
        sjdb_bytes_find(spoilt, SJDB_FIND + SJDB_PROBLEM_LISTS, &place);
        put_number(place.row + cases[i].at, cases[i].value, cases[i].size);
        sjdb_bytes_seal(spoilt->data, spoilt->len);
        bool open = sjdb_bytes_ask(spoilt->data, spoilt->len, &opened, &verified);
        if (open || opened != SKIPJACKDB_DAMAGED) {
            g_test_message("%s: %s", cases[i].what, skipjackdb_error_text(opened));
            g_test_fail();
        }
    }
}

static void too_many_sections_do_not_open(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    put_number(bytes->data + 12, SJDB_SECTIONS_MAX + 1, 4);
    sjdb_bytes_seal(bytes->data, bytes->len);
    g_assert_cmpint(judged(bytes), ==, SKIPJACKDB_DAMAGED);
    put_number(bytes->data + 12, UINT32_MAX, 4);
    sjdb_bytes_seal(bytes->data, bytes->len);
    g_assert_cmpint(judged(bytes), ==, SKIPJACKDB_DAMAGED);
}

/* Sections in which every value is valid, so that no damage can be found: an interval may end anywhere above
 * its time. The perf rows' sections of this small file have no index that can be out of range. */
static bool may_be_anything(uint32_t kind)
{
    return kind == SJDB_INTERVAL_HIGHS || kind == SJDB_SOLVER_REVISIONS ||
           kind == SJDB_SOLVER_FLAGS || kind == SJDB_RARE_TIMES ||
           kind == SJDB_FIND + SJDB_CHOICE_VALUES || kind == SJDB_FIND + SJDB_PAYLOAD ||
           kind >= SJDB_PERF;
}

static void indexes_out_of_range_are_found_despite_right_checksums(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    for (guint i = 0; i < sjdb_bytes_sections(bytes->data); i++) {
        g_autoptr(GByteArray) spoilt = copy_of(bytes);
        struct sjdb_place place;
        sjdb_bytes_section(spoilt->data, i, &place);
        memset(spoilt->data + place.offset, 0xff, place.length - SJDB_PAD_BYTES);
        sjdb_bytes_seal(spoilt->data, spoilt->len);
        int code = judged(spoilt);
        if (place.count > 0 && !may_be_anything(place.kind) && code != SKIPJACKDB_DAMAGED) {
            g_test_message("%s: %s", sjdb_kind_name(place.kind), skipjackdb_error_text(code));
            g_test_fail();
        }
    }
}

/* Each row sets the first item of a section of intervals, cut to the item's width, or the section's number of
 * items. The codes of times ascend with the times: code 0 is the least one. */
static void intervals_that_cannot_be_are_found(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    struct sjdb_place entries;
    sjdb_bytes_find(bytes, SJDB_INTERVAL_ENTRIES, &entries);
    const struct {
        const char *what;
        uint32_t kind;
        bool is_count;
        guint64 value;
    } cases[] = {
        {"an entry that its problem lacks", SJDB_INTERVAL_ENTRIES, false, 2},
        {"entries out of order", SJDB_INTERVAL_ENTRIES, false, UINT64_MAX},
        {"a low end above the time", SJDB_INTERVAL_LOWS, false, UINT64_MAX},
        {"a high end below the time", SJDB_INTERVAL_HIGHS, false, 0},
        {"entries without ends", SJDB_INTERVAL_ENTRIES, true, entries.count - 1},
        {"a low end too few", SJDB_INTERVAL_LOWS, true, entries.count - 1},
        {"no high end", SJDB_INTERVAL_HIGHS, true, 0},
    };
    g_assert_cmpuint(entries.count, >, 1);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GByteArray) spoilt = copy_of(bytes);
        struct sjdb_place place;
        sjdb_bytes_find(spoilt, cases[i].kind, &place);
        if (cases[i].is_count) {
            put_number(place.row + 16, cases[i].value, 8);
        } else {
            guint64 word = 0, mask = (UINT64_C(1) << place.width) - 1;
            memcpy(&word, spoilt->data + place.offset, 8);
            put_number(spoilt->data + place.offset, (word & ~mask) | (cases[i].value & mask), 8);
        }
        sjdb_bytes_seal(spoilt->data, spoilt->len);
        int code = judged(spoilt);
        if (code != SKIPJACKDB_DAMAGED) {
            g_test_message("%s: %s", cases[i].what, skipjackdb_error_text(code));
            g_test_fail();
        }
    }
}

static void emptied_sections_crash_no_lookup(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    for (guint i = 0; i < sjdb_bytes_sections(bytes->data); i++) {
        g_autoptr(GByteArray) spoilt = copy_of(bytes);
        struct sjdb_place place;
        sjdb_bytes_section(spoilt->data, i, &place);
        put_number(place.row + 16, 0, 8);
        sjdb_bytes_seal(spoilt->data, spoilt->len);
        judged(spoilt);
        /* turns the section into one of an unknown kind, as if the file lacked it */
        put_number(place.row, 0x7fffff01, 4);
        sjdb_bytes_seal(spoilt->data, spoilt->len);
        judged(spoilt);
    }
}

static void random_damage_with_right_checksums_crashes_no_lookup(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    g_autoptr(GRand) random = g_rand_new_with_seed(test_seed());
    for (int i = 0; i < test_effort(10000); i++) {
        g_autoptr(GByteArray) spoilt = copy_of(bytes);
        for (int d = g_rand_int_range(random, 1, 4); d > 0; d--) {
            gsize at = (gsize)g_rand_int_range(random, 12, (gint32)bytes->len);
            spoilt->data[at] = (guint8)g_rand_int(random);
        }
        sjdb_bytes_seal(spoilt->data, spoilt->len);
        judged(spoilt);
    }
}

static void other_files_are_refused_with_their_code(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *pipe = temp_folder_path(folder, "pipe");
    const struct {
        const char *path;
        int code;
    } cases[] = {
        {temp_folder_path(folder, "none"), SKIPJACKDB_IO},
        {temp_folder_path(folder, ""), SKIPJACKDB_FORMAT},
        {temp_folder_write(folder, "empty", "", 0), SKIPJACKDB_FORMAT},
        {temp_folder_write(folder, "text", "not a database\n", -1), SKIPJACKDB_FORMAT},
        {pipe, SKIPJACKDB_FORMAT},
    };
    g_assert_cmpint(mkfifo(pipe, 0600), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        skipjackdb *db = NULL;
        g_assert_cmpint(skipjackdb_open(cases[i].path, &db), ==, cases[i].code);
        g_assert_null(db);
    }
}

static void wrong_arguments_are_refused(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    struct skipjackdb_problem unsized = {.size = 0};
    struct skipjackdb_problem problem = {.size = sizeof problem};
    struct skipjackdb_entry entry;
    char key[8];
    skipjackdb *db = NULL;
    uint64_t number = 0;
    size_t count = 0;
    g_assert_cmpint(skipjackdb_open(NULL, &db), ==, SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_open_bytes(bytes->data, bytes->len, &db), ==, SKIPJACKDB_OK);
    skipjackdb_problem_init(&problem);
    g_assert_cmpint(skipjackdb_find(db, &unsized, &number), ==, SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_find(NULL, &problem, &number), ==, SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_entries(db, 0, &entry, 8, 1, &count), ==, SKIPJACKDB_USAGE);
    g_assert_cmpint(skipjackdb_entries(db, 1000, &entry, sizeof entry, 1, &count), ==,
                    SKIPJACKDB_NOT_FOUND);
    g_assert_cmpint(skipjackdb_problem_key(&problem, key, sizeof key), ==, SKIPJACKDB_SPACE);
    g_assert_cmpint(skipjackdb_find_key(db, "no key", &number), ==, SKIPJACKDB_SYNTAX);
    memset(problem.epilogue, 'x', sizeof problem.epilogue);
    g_assert_cmpint(skipjackdb_find(db, &problem, &number), ==, SKIPJACKDB_USAGE);
    g_assert_cmpstr(skipjackdb_error_text(-1), ==, "an unknown error");
    skipjackdb_close(db);
    skipjackdb_close(NULL);
}

/* A caller compiled with a later header passes a larger struct: fields that this library does not
 * know are set to 0. */
static void larger_structs_of_later_callers_are_zeroed(void)
{
    g_autoptr(GByteArray) bytes = sjdb_bytes_make();
    struct {
        struct skipjackdb_entry entry;
        uint64_t later;
    } entries[2];
    skipjackdb *db = NULL;
    size_t count = 0;
    memset(entries, 0xff, sizeof entries);
    g_assert_cmpint(skipjackdb_open_bytes(bytes->data, bytes->len, &db), ==, SKIPJACKDB_OK);
    for (uint64_t i = 0; i < skipjackdb_problem_count(db) && count < 2; i++) {
        g_assert_cmpint(skipjackdb_entries(db, i, &entries[0].entry, sizeof entries[0], 2, &count),
                        ==, SKIPJACKDB_OK);
    }
    g_assert_cmpuint(count, ==, 2);
    g_assert_cmpuint(entries[0].later, ==, 0);
    g_assert_cmpuint(entries[1].later, ==, 0);
    g_assert_nonnull(entries[1].entry.solver);
    skipjackdb_close(db);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/sjdb_damage/whole_file_is_in_order", whole_file_is_in_order);
    g_test_add_func("/sjdb_damage/file_cut_off_anywhere_does_not_open",
                    file_cut_off_anywhere_does_not_open);
    g_test_add_func("/sjdb_damage/byte_more_does_not_open", byte_more_does_not_open);
    g_test_add_func("/sjdb_damage/flipped_bit_of_header_or_table_does_not_open",
                    flipped_bit_of_header_or_table_does_not_open);
    g_test_add_func("/sjdb_damage/verify_finds_a_flipped_byte_of_a_section",
                    verify_finds_a_flipped_byte_of_a_section);
    g_test_add_func("/sjdb_damage/text_tools_damage_shows_in_the_magic",
                    text_tools_damage_shows_in_the_magic);
    g_test_add_func("/sjdb_damage/newer_versions_are_refused_or_read",
                    newer_versions_are_refused_or_read);
    g_test_add_func("/sjdb_damage/unknown_section_is_left_alone", unknown_section_is_left_alone);
    g_test_add_func("/sjdb_damage/section_that_cannot_be_does_not_open",
                    section_that_cannot_be_does_not_open);
    g_test_add_func("/sjdb_damage/too_many_sections_do_not_open", too_many_sections_do_not_open);
    g_test_add_func("/sjdb_damage/indexes_out_of_range_are_found_despite_right_checksums",
                    indexes_out_of_range_are_found_despite_right_checksums);
    g_test_add_func("/sjdb_damage/intervals_that_cannot_be_are_found",
                    intervals_that_cannot_be_are_found);
    g_test_add_func("/sjdb_damage/emptied_sections_crash_no_lookup",
                    emptied_sections_crash_no_lookup);
    g_test_add_func("/sjdb_damage/random_damage_with_right_checksums_crashes_no_lookup",
                    random_damage_with_right_checksums_crashes_no_lookup);
    g_test_add_func("/sjdb_damage/other_files_are_refused_with_their_code",
                    other_files_are_refused_with_their_code);
    g_test_add_func("/sjdb_damage/wrong_arguments_are_refused", wrong_arguments_are_refused);
    g_test_add_func("/sjdb_damage/larger_structs_of_later_callers_are_zeroed",
                    larger_structs_of_later_callers_are_zeroed);
    return g_test_run();
}
