#include "worker/verify/fingerprint.h"

#include <glib.h>
#include <string.h>

#include "worker/verify/random.h"

uint64_t fingerprint(const void *data, int64_t bytes)
{
    const uint8_t *from = data;
    uint64_t print = 0;

    for (int64_t at = 0; at < bytes; at += 8) {
        uint64_t word = 0;
        memcpy(&word, from + at, (size_t)(bytes - at < 8 ? bytes - at : 8));
        print += random_bits(GUINT64_FROM_LE(word), (uint64_t)at / 8);
    }
    return print;
}
