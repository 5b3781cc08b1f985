#include "coordinator/network/attributes.h"

static struct attributes *make(void)
{
    static const char *const words[] = {"a", "b", NULL};
    struct attributes *attributes = attributes_new();
    g_autoptr(Tensor) tensor = tensor_new_int64(5);
    attributes_set_int(attributes, "axis", -1);
    attributes_set_ints(attributes, "pads", (int64_t[]){1, 2}, 2);
    attributes_set_float(attributes, "alpha", 0.25);
    attributes_set_floats(attributes, "scales", (double[]){1, 2, 4}, 3);
    attributes_set_string(attributes, "mode", "linear");
    attributes_set_strings(attributes, "words", words, 2);
    attributes_set_tensor(attributes, "value", tensor);
    return attributes;
}

static void test_values_are_found_by_name_and_kind(void)
{
    g_autoptr(Attributes) attributes = make();
    int count;
    g_assert_cmpint(attributes_int(attributes, "axis", 7), ==, -1);
    g_assert_cmpint(attributes_int(attributes, "pads", 7), ==, 7); /* ints are no int */
    g_assert_cmpint(attributes_int(NULL, "axis", 7), ==, 7);
    g_assert_cmpint(attributes_ints(attributes, "pads", &count)[1], ==, 2);
    g_assert_cmpint(count, ==, 2);
    g_assert_null(attributes_ints(attributes, "axis", &count));
    g_assert_cmpint(count, ==, 0);
    g_assert_cmpfloat(attributes_float(attributes, "alpha", 1), ==, 0.25);
    g_assert_cmpfloat(attributes_floats(attributes, "scales", &count)[2], ==, 4);
    g_assert_cmpstr(attributes_string(attributes, "mode", "x"), ==, "linear");
    g_assert_cmpstr(attributes_find(attributes, "words")->strings[1], ==, "b");
    g_assert_cmpint(tensor_int64(attributes_tensor(attributes, "value"), 0), ==, 5);
    g_assert_null(attributes_tensor(attributes, "mode"));
    attributes_set_ints(attributes, "none", NULL, 0);
    g_assert_nonnull(attributes_ints(attributes, "none", &count)); /* empty, but there */
    g_assert_cmpint(count, ==, 0);
}

static void test_setting_again_replaces(void)
{
    g_autoptr(Attributes) attributes = make();
    int count = attributes->count;
    attributes_set_string(attributes, "axis", "now a text");
    g_assert_cmpint(attributes->count, ==, count);
    g_assert_cmpint(attributes_int(attributes, "axis", 7), ==, 7);
    attributes_remove(attributes, "pads");
    attributes_remove(attributes, "pads");
    g_assert_cmpint(attributes->count, ==, count - 1);
    g_assert_cmpstr(attributes_string(attributes, "mode", "x"), ==, "linear");
}

static void test_copies_are_equal_until_they_change(void)
{
    g_autoptr(Attributes) attributes = make();
    g_autoptr(Attributes) copy = attributes_copy(attributes);
    g_autoptr(Attributes) empty = attributes_copy(NULL);
    g_assert_true(attributes_equal(attributes, copy));
    g_assert_true(attributes_equal(empty, NULL));
    g_assert_false(attributes_equal(attributes, NULL));
    struct attributes *others[] = {attributes_copy(copy), attributes_copy(copy),
                                   attributes_copy(copy)};
    attributes_set_int(others[0], "axis", 1);
    attributes_set_floats(others[1], "scales", (double[]){1, 2, 5}, 3);
    attributes_set_string(others[2], "mode", "cubic");
    for (int i = 0; i < 3; i++) {
        g_assert_false(attributes_equal(attributes, others[i]));
        g_assert_false(attributes_equal(others[i], attributes));
    }
    for (int i = 0; i < 3; i++)
        attributes_unref(others[i]);
}

/* Interned names stay for as long as the program runs: a file could fill the memory with them. */
static void names_are_not_interned(void)
{
    g_autoptr(Attributes) attributes = attributes_new();
    attributes_set_int(attributes, "a name that one file has", 1);
    attributes_set_int(attributes, "a name that one file has", 2);
    g_assert_cmpint(attributes_int(attributes, "a name that one file has", 0), ==, 2);
    g_assert_cmpuint(g_quark_try_string("a name that one file has"), ==, 0);
    attributes_remove(attributes, "a name that one file has");
    g_assert_cmpint(attributes->count, ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/attributes/values_are_found_by_name_and_kind",
                    test_values_are_found_by_name_and_kind);
    g_test_add_func("/attributes/setting_again_replaces", test_setting_again_replaces);
    g_test_add_func("/attributes/copies_are_equal_until_they_change",
                    test_copies_are_equal_until_they_change);
    g_test_add_func("/attributes/names_are_not_interned", names_are_not_interned);
    return g_test_run();
}
