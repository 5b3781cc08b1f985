/* Every form of a MessagePack value: complete, cut off, and read as a value of another kind. */
#include "kernels/objects/msgpack.h"

#include <glib.h>
#include <string.h>

enum kind { INT, TEXT, MAP, ARRAY, OTHER };

static const struct form {
    const char *bytes;
    size_t length;
    enum kind kind;
    int64_t number; /* the number, the element count, or the text's length */
} forms[] = {
#define FORM(bytes, kind, number)                                                                  \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, kind, number                                                     \
    }
    FORM("\x00", INT, 0),
    FORM("\x7f", INT, 127),
    FORM("\xff", INT, -1),
    FORM("\xe0", INT, -32),
    FORM("\xcc\xff", INT, 255),
    FORM("\xcd\x04\x00", INT, 1024),
    FORM("\xce\xff\xff\xff\xff", INT, 4294967295),
    FORM("\xcf\x00\x00\x00\x01\x00\x00\x00\x00", INT, 4294967296),
    FORM("\xd0\x80", INT, -128),
    FORM("\xd1\xff\x00", INT, -256),
    FORM("\xd2\xff\xff\xff\xff", INT, -1),
    FORM("\xd3\x80\x00\x00\x00\x00\x00\x00\x00", INT, INT64_MIN),
    FORM("\xa0", TEXT, 0),
    FORM("\xa3"
         "abc",
         TEXT, 3),
    FORM("\xd9\x02"
         "ab",
         TEXT, 2),
    FORM("\xda\x00\x01"
         "a",
         TEXT, 1),
    FORM("\xdb\x00\x00\x00\x01"
         "a",
         TEXT, 1),
    FORM("\x81\xa1k\x05", MAP, 1),
    FORM("\xde\x00\x01\xa1k\x05", MAP, 1),
    FORM("\xdf\x00\x00\x00\x01\xa1k\x05", MAP, 1),
    FORM("\x92\x01\x90", ARRAY, 2),
    FORM("\xdc\x00\x02\x01\xc0", ARRAY, 2),
    FORM("\xdd\x00\x00\x00\x01\xc3", ARRAY, 1),
    FORM("\xc0", OTHER, 0),
    FORM("\xc2", OTHER, 0),
    FORM("\xc3", OTHER, 0),
    FORM("\xc4\x02\x00\x00", OTHER, 0),
    FORM("\xc5\x00\x01\x00", OTHER, 0),
    FORM("\xc6\x00\x00\x00\x01\x00", OTHER, 0),
    FORM("\xc7\x01\x09\x00", OTHER, 0),
    FORM("\xca\x00\x00\x00\x00", OTHER, 0),
    FORM("\xcb\x00\x00\x00\x00\x00\x00\x00\x00", OTHER, 0),
    FORM("\xd4\x01\x00", OTHER, 0),
    FORM("\xd8\x01"
         "0123456789abcdef",
         OTHER, 0),
#undef FORM
};

static struct msgpack cursor_over(const char *bytes, size_t length)
{
    const uint8_t *at = (const uint8_t *)bytes;
    return (struct msgpack){at, length > 0 ? at + length : at};
}

/* Returns the kind of the function that reads the value, or OTHER if none does. A function that
 * refuses a value must not move the cursor. */
static enum kind kind_of(const char *bytes, size_t length, int64_t *number)
{
    struct msgpack cursor = cursor_over(bytes, length);
    struct msgpack_text text;
    uint32_t count = 0;
    enum kind kind = OTHER;
    *number = 0;
    if (msgpack_take_int(&cursor, number))
        return INT;
    if (msgpack_take_text(&cursor, &text)) {
        *number = (int64_t)text.length;
        return TEXT;
    }
    if (msgpack_take_map(&cursor, &count))
        kind = MAP;
    else if (msgpack_take_array(&cursor, &count))
        kind = ARRAY;
    *number = count;
    g_assert_true(kind != OTHER || cursor.at == (const uint8_t *)bytes);
    return kind;
}

static void test_each_form_is_taken_and_passed_over(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        const struct form *form = &forms[i];
        struct msgpack cursor = cursor_over(form->bytes, form->length);
        int64_t number;
        g_assert_cmpint(kind_of(form->bytes, form->length, &number), ==, form->kind);
        g_assert_cmpint(number, ==, form->number);
        g_assert_true(msgpack_skip(&cursor));
        g_assert_true(cursor.at == cursor.end);
    }
}

static void test_what_is_cut_off_is_refused(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        for (size_t length = 0; length < forms[i].length; length++) {
            /* A copy of exactly this size, so that AddressSanitizer finds a read behind its end. */
            g_autofree char *part = g_memdup2(forms[i].bytes, length);
            struct msgpack cursor = cursor_over(part, length);
            g_assert_false(msgpack_skip(&cursor));
            g_assert_true(cursor.at == (const uint8_t *)part);
        }
    }
}

static void test_what_never_comes_is_refused(void)
{
    struct msgpack cursor = cursor_over("\xc1", 1);
    g_assert_false(msgpack_skip(&cursor));
}

static void test_deep_nesting_is_refused(void)
{
    char deep[64];
    struct msgpack cursor = cursor_over(deep, sizeof(deep));
    memset(deep, '\x91', sizeof(deep));
    deep[sizeof(deep) - 1] = '\x01';
    g_assert_false(msgpack_skip(&cursor));
    cursor.at += sizeof(deep) - 20;
    g_assert_true(msgpack_skip(&cursor));
}

/* Six bytes can claim four billion elements: reading stops at the end of the bytes and allocates
 * nothing for the claim. */
static void test_a_lying_count_ends_with_the_bytes(void)
{
    struct msgpack cursor = cursor_over("\xdd\xff\xff\xff\xff\x01", 6);
    g_assert_false(msgpack_skip(&cursor));
    cursor = cursor_over("\xdb\xff\xff\xff\xff"
                         "a",
                         6);
    g_assert_false(msgpack_skip(&cursor));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/msgpack/each_form_is_taken_and_passed_over",
                    test_each_form_is_taken_and_passed_over);
    g_test_add_func("/msgpack/cut_off_values_are_refused", test_what_is_cut_off_is_refused);
    g_test_add_func("/msgpack/unused_first_bytes_are_refused", test_what_never_comes_is_refused);
    g_test_add_func("/msgpack/deep_nesting_is_refused", test_deep_nesting_is_refused);
    g_test_add_func("/msgpack/a_false_count_ends_with_the_bytes",
                    test_a_lying_count_ends_with_the_bytes);
    return g_test_run();
}
