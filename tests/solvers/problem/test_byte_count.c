#include "solvers/problem/byte_count.h"

#include <string.h>

#include "solvers/problem/problem.h"

static void numbers_have_units(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
        const char *written;
    } cases[] = {
        {"0", 0, "0 bytes"},
        {"4097", 4097, "4097 bytes"},
        {"4096B", 4096, "4 KiB"},
        {"64k", 65536, "64 KiB"},
        {"64MiB", 67108864, "64 MiB"},
        {"64 mib", 67108864, "64 MiB"},
        {"64M", 67108864, "64 MiB"},
        {"1.5GiB", 1610612736, "1536 MiB"},
        {"2G", 2147483648, "2 GiB"},
        {"1TiB", 1099511627776, "1 TiB"},
        {"1MB", 1000000, "1000000 bytes"},
        {"0.5k", 512, "512 bytes"},
        {"0.3k", 307, "307 bytes"},
        {"2.0", 2, "2 bytes"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        uint64_t bytes = 1;
        g_assert_true(byte_count_parse(cases[i].text, &bytes, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(bytes, ==, cases[i].bytes);
        g_autofree char *written = byte_count_text(bytes);
        g_assert_cmpstr(written, ==, cases[i].written);
    }
}

static void other_texts_are_refused(void)
{
    static const char *const texts[] = {"",      "k",        "-1",    "+1",   " 1",   "1e9",
                                        "0x10",  "1 2",      "1KB/s", "1 PB", "1..5", "inf",
                                        "9.3EB", "9000000T", "1,5G",  "0.5",  "1.5B"};
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GError) error = NULL;
        uint64_t bytes = 7;
        g_assert_false(byte_count_parse(texts[i], &bytes, &error));
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_SYNTAX);
        g_assert_nonnull(strstr(error->message, "number of bytes"));
        g_assert_cmpuint(bytes, ==, 7);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/byte_count/numbers_have_units", numbers_have_units);
    g_test_add_func("/byte_count/other_texts_are_refused", other_texts_are_refused);
    return g_test_run();
}
