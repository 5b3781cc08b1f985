/* Any bytes in pieces as a child's standard error: the last part is kept, as valid UTF-8. Only some
 * inputs, chosen by their length, also write lines to the log, which keeps the log short. */
#include "worker/child/child_words.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct child_speaker speaker = {.role = "eval", .device = "0", .logged = size % 32 == 0};
    struct child_words words;
    child_words_init(&words);
    for (size_t at = 0; at < size;) {
        size_t piece = MIN((size_t)data[at] + 1, size - at);
        child_words_hear(&words, &speaker, (const char *)data + at, piece);
        at += piece;
    }
    child_words_end(&words, &speaker);
    g_autofree char *last = child_words_last(&words);
    g_assert_true(g_utf8_validate(last, -1, NULL));
    g_assert_cmpuint(words.last->len, <=, 4096);
    child_words_clear(&words);
    return 0;
}
