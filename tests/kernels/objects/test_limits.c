#include "kernels/objects/limits.h"

#include <string.h>

static void what_exceeds_a_target_is_told(void)
{
    static const struct {
        const char *target;
        int64_t scratch_bytes, local_bytes;
        const char *words; /* part of the message; NULL: within the limits */
    } cases[] = {
        {"gfx90a68", 0, 65536, NULL},
        {"gfx90a68", 4, 0, "4 bytes of scratch memory, more than 0"},
        {"gfx90a68", 0, 65537, "65537 bytes of local memory, and gfx90a68 has 65536"},
        {"gfx90a68", -1, -1, NULL},
        {"sm_90_132_80g", LIMITS_CUDA_SCRATCH_BYTES, 0, NULL},
        {"sm_90_132_80g", LIMITS_CUDA_SCRATCH_BYTES + 1, 0, "97 bytes of scratch memory"},
        {"sm_90_132_80g", 0, 1 << 20, "of local memory, and sm_90_132_80g has"},
        {"cpu-znver3_16", 1 << 20, 1 << 30, NULL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct target target;
        g_assert_true(target_parse(cases[i].target, &target, NULL));
        g_autofree char *said =
            limits_excess(&target, cases[i].scratch_bytes, cases[i].local_bytes);
        if (!cases[i].words)
            g_assert_null(said);
        else
            g_assert_true(said && strstr(said, cases[i].words));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/limits/excess_over_a_target_is_named", what_exceeds_a_target_is_told);
    return g_test_run();
}
