/* Any JSON as a request to a build child: refused, or accepted with options that only define
 * macros, a source file of this program (which need not exist), and a valid target. */
#include "worker/build/compile_request.h"
#include "worker/protocol/frames.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_program(const struct compile_request *request)
{
    char hash[PROGRAM_HASH_LENGTH + 1];
    g_autoptr(GError) error = NULL;
    bool found = program_hash(request->program.file, &request->target, hash, &error);
    g_assert_true(found == (error == NULL));
    g_assert_true(!found || strlen(hash) == PROGRAM_HASH_LENGTH);
}

static void check_options(const char *options)
{
    g_auto(GStrv) words = g_strsplit(options, " ", -1);
    for (int i = 0; words[i] != NULL; i++) {
        g_assert_true(g_str_has_prefix(words[i], "-D"));
        g_assert_null(strpbrk(words[i], "\n\t\"'$`;|&<>(){}*?/\\"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct compile_request request = {0};
    /* no ready code object is looked up under a name that the fuzzer made up */
    g_unsetenv("SKIPJACK_OBJECTS");
    g_autoptr(GError) error = NULL;
    json_t *head = json_loadb((const char *)data, size, 0, NULL);
    if (head != NULL && compile_request_read(head, &request, &error)) {
        g_assert_true(target_validate(&request.target, NULL));
        check_options(request.program.options);
        check_program(&request);
    } else if (head != NULL) {
        g_assert_error(error, WORKER_ERROR, WORKER_ERROR_FRAME);
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
    }
    json_decref(head);
    return 0;
}
