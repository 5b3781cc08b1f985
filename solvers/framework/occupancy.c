#include "solvers/framework/occupancy.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

/* The register files of a SIMD. AMD's are LLVM's (AMDGPUBaseInfo.cpp) for the wave width of target_limits.c.
 * NVIDIA's are a quarter of a multiprocessor's 65,536 registers of 32 lanes, by compute capability. A row
 * matches architectures whose names begin with its name; the first match counts. */
static const struct file {
    const char *arch;
    int registers; /* registers of one lane that all waves of a SIMD share */
    int granule;   /* a wave's registers are assigned in multiples of this */
    int waves;     /* the most waves */
    bool shared;   /* whether accumulation registers are in the same file as vector registers */
    int scalar; /* scalar registers of all waves together, assigned in multiples of 16; 0 where they are no limit */
} files[] = {
    {"gfx90a", 512, 8, 8, true, 800},   {"gfx94", 512, 8, 8, true, 800},
    {"gfx95", 512, 8, 8, true, 800},    {"gfx803", 256, 4, 10, false, 800},
    {"gfx90", 256, 4, 10, false, 800},  {"gfx1100", 1536, 24, 16, true, 0},
    {"gfx1101", 1536, 24, 16, true, 0}, {"gfx1151", 1536, 24, 16, true, 0},
    {"gfx12", 1536, 24, 16, true, 0},   {"gfx103", 1024, 16, 16, true, 0},
    {"gfx11", 1024, 16, 16, true, 0},   {"gfx101", 1024, 8, 20, true, 0},
    {"sm_75", 512, 8, 8, true, 0},      {"sm_86", 512, 8, 12, true, 0},
    {"sm_87", 512, 8, 12, true, 0},     {"sm_89", 512, 8, 12, true, 0},
    {"sm_12", 512, 8, 12, true, 0},     {"sm_60", 1024, 8, 32, true, 0},
    {"sm_6", 512, 8, 16, true, 0},      {"sm_7", 512, 8, 16, true, 0},
    {"sm_8", 512, 8, 16, true, 0},      {"sm_9", 512, 8, 16, true, 0},
    {"sm_10", 512, 8, 16, true, 0},
};

#define SCALAR_GRANULE 16

static int given_out(int registers, int granule)
{
    return (MAX(registers, 1) + granule - 1) / granule * granule;
}

int occupancy_waves(const char *arch, int vector, int accumulation, int scalar)
{
    for (size_t i = 0; vector >= 0 && i < G_N_ELEMENTS(files); i++) {
        const struct file *file = &files[i];
        if (!g_str_has_prefix(arch, file->arch)) {
            continue;
        }
        int most = file->shared ? vector : MAX(vector, accumulation);
        int waves = MIN(file->waves, file->registers / given_out(most, file->granule));
        if (file->scalar > 0) {
            waves = MIN(waves, file->scalar / given_out(scalar, SCALAR_GRANULE));
        }
        return waves;
    }
    return 0;
}
