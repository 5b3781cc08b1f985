#include "solvers/framework/occupancy.h"

#include <glib.h>

/* The expected figures for AMD are those that clang 19 reports for kernels with these registers
 * (-Rpass-analysis=kernel-resource-usage). */
static void registers_limit_the_waves(void)
{
    static const struct {
        const char *arch;
        int vector, accumulation, scalar, waves;
    } cases[] = {
        {"gfx900", 20, 0, 12, 10},   {"gfx900", 62, 0, 11, 4},     {"gfx900", 96, 0, 14, 2},
        {"gfx908", 62, 0, 11, 4},    {"gfx908", 20, 64, 11, 4},    {"gfx908", 20, 0, 102, 7},
        {"gfx90a", 25, 0, 10, 8},    {"gfx90a", 62, 0, 10, 8},     {"gfx90a", 96, 0, 14, 5},
        {"gfx90a", 512, 256, 14, 1}, {"gfx942", 94, 0, 15, 5},     {"gfx1030", 26, -1, 8, 16},
        {"gfx1030", 76, -1, 8, 12},  {"gfx1030", 124, -1, 106, 8}, {"gfx1100", 116, -1, 7, 12},
        {"gfx1102", 119, -1, 7, 8},  {"gfx1201", 92, -1, 4, 16},   {"sm_90", 255, -1, -1, 2},
        {"sm_90a", 32, -1, -1, 16},  {"sm_86", 33, -1, -1, 12},    {"sm_120", 128, -1, -1, 4},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int waves =
            occupancy_waves(cases[i].arch, cases[i].vector, cases[i].accumulation, cases[i].scalar);
        if (waves != cases[i].waves) {
            g_test_message("%s, %d registers: %d", cases[i].arch, cases[i].vector, waves);
        }
        g_assert_cmpint(waves, ==, cases[i].waves);
    }
}

static void unknown_registers_give_no_waves(void)
{
    g_assert_cmpint(occupancy_waves("gfx90a", -1, -1, -1), ==, 0);
    g_assert_cmpint(occupancy_waves("znver4", 10, -1, -1), ==, 0);
    g_assert_cmpint(occupancy_waves("gfx900", 300, 0, 10), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/occupancy/registers_limit_the_waves", registers_limit_the_waves);
    g_test_add_func("/occupancy/unknown_registers_give_no_waves", unknown_registers_give_no_waves);
    return g_test_run();
}
