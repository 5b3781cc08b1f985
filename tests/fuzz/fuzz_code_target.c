/* Any bytes as a code object: if it is reported to be for another device, that device's name is
 * text and differs from the target. */
#include "export/formats/code_target.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const ids[] = {"gfx90a68", "gfx1030_36", "sm_90_132_80g", "cpu-znver4_2"};
    /* A copy of exactly this size, so that AddressSanitizer finds a read behind its end. */
    g_autofree void *code = g_memdup2(data, size);
    for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
        struct target target;
        g_assert_true(target_parse(ids[i], &target, NULL));
        g_autofree char *other = code_other_target(code, size, &target);
        g_assert_true(other == NULL || (other[0] != '\0' && strcmp(other, target.arch) != 0));
    }
    return 0;
}
