/* Any bytes as a code object of an NVIDIA GPU: instruction names with counts, or none. AMD's code
 * is not fuzzed, since LLVM decodes it; finding the code in the file is the same for both. */
#include "kernels/objects/instructions.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct target target;
    g_autoptr(GBytes) code = g_bytes_new(data, size);
    if (!target.id[0] && !target_parse("sm_90_132_80g", &target, NULL)) {
        g_assert_not_reached();
    }
    g_autofree char *counts = instructions_count(code, "conv", &target);
    if (counts != NULL) {
        const char *total = strstr(counts, "total ");
        g_assert(total != NULL);
        g_assert(g_ascii_strtoull(total + strlen("total "), NULL, 10) * 16 <= size);
    }
    return 0;
}
