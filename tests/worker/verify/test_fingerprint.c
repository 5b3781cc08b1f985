#include "worker/verify/fingerprint.h"

#include <glib.h>
#include <string.h>

/* Each changed byte, each swap of two words and each byte more gives another fingerprint. */
static void test_changes(void)
{
    uint8_t bytes[61], other[61];
    for (int i = 0; i < 61; i++)
        bytes[i] = (uint8_t)(i * 37);
    uint64_t print = fingerprint(bytes, 61);
    g_assert_cmphex(fingerprint(bytes, 61), ==, print);
    g_assert_cmphex(fingerprint(bytes, 60), !=, print);
    for (int i = 0; i < 61; i++) {
        memcpy(other, bytes, 61);
        other[i] ^= 1;
        g_assert_cmphex(fingerprint(other, 61), !=, print);
    }
    for (int i = 8; i + 8 <= 61; i += 8) {
        memcpy(other, bytes, 61);
        memcpy(other, bytes + i, 8);
        memcpy(other + i, bytes, 8);
        g_assert_cmphex(fingerprint(other, 61), !=, print);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/fingerprint/every_change_shows", test_changes);
    return g_test_run();
}
