/* Any text as a perf config: refused, or written back unchanged. The first byte is the number of
 * values. */
#include "solvers/framework/solver.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct perf_config config;
    char written[CONFIG_TEXT_MAX];
    if (size == 0) {
        return 0;
    }
    g_autofree char *text = g_strndup((const char *)data + 1, size - 1);
    for (int i = 0; i < solver_table_count; i++) {
        g_autoptr(GError) error = NULL;
        bool possible = solver_config_possible(solver_table[i], text, &error);
        g_assert_true(possible == (error == NULL));
    }
    if (perf_config_parse(text, data[0] % (CONFIG_MAX + 1), &config, NULL)) {
        g_assert_cmpstr(perf_config_format(&config, written), ==, text);
    }
    return 0;
}
