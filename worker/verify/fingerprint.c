#include "worker/verify/fingerprint.h"

#include <glib.h>
#include <string.h>

#include "worker/verify/random.h"

uint64_t fingerprint(const void *data, int64_t bytes)
{
    const uint8_t *from = data;
    uint64_t print = 0, words = (uint64_t)bytes / 8, last = 0;
    size_t rest = (size_t)bytes % 8;

    /* A copy of constant size is one load: the loop takes a quarter of the time that it takes with the last word in
     * it. */
    for (uint64_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, from + 8 * i, sizeof(word));
        print += random_bits(GUINT64_FROM_LE(word), i);
    }
    if (rest == 0)
        return print;
    memcpy(&last, from + 8 * words, rest);
    return print + random_bits(GUINT64_FROM_LE(last), words);
}
