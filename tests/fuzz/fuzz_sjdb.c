/* Any bytes as a .sjdb, unchanged and with corrected checksums: it is refused, or every function of
 * the reader is called. The bytes as a key: the library accepts the same keys as the program, and
 * writes them back. */
#include "export/sjdb/reader/layout.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/export/sjdb_bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_key(const uint8_t *data, size_t size)
{
    struct skipjackdb_problem read = {.size = sizeof read};
    struct problem problem;
    char written[SKIPJACKDB_KEY_MAX];
    g_autofree char *key = g_strndup((const char *)data, size);
    bool taken = skipjackdb_problem_parse(key, &read) == SKIPJACKDB_OK;
    bool ours = problem_key_parse(key, &problem, NULL);
    /* the library does not parse the steps of an epilogue */
    g_assert(taken == ours || (taken && strchr(key, '+') != NULL));
    if (taken && skipjackdb_problem_key(&read, written, sizeof written) == SKIPJACKDB_OK) {
        g_assert_cmpstr(written, ==, key);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int opened = 0, verified = 0;
    g_autofree guint8 *copy = g_memdup2(data, size > 0 ? size : 1);
    sjdb_bytes_ask(data, size, &opened, &verified);
    sjdb_bytes_seal(copy, size);
    sjdb_bytes_ask(copy, size, &opened, &verified);
    try_key(data, size);
    return 0;
}
