#include "solvers/problem/byte_count.h"

#include "solvers/problem/problem.h"

#include <math.h>
#include <string.h>

/* Units that can be read. The units at the end of the table, those of 1024, are also written: byte_count_text() tries
 * them from the last on. */
static const struct {
    const char *name;
    double bytes;
} units[] = {
    {"", 1},         {"b", 1},        {"k", 0x1p10},   {"m", 0x1p20},   {"g", 0x1p30},
    {"t", 0x1p40},   {"kb", 1e3},     {"mb", 1e6},     {"gb", 1e9},     {"tb", 1e12},
    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
};
/* the number of units at the end of the table that byte_count_text() writes */
#define WRITTEN_UNITS 4

static bool fail(const char *text, const char *why, GError **error)
{
    g_autofree char *shown = g_utf8_make_valid(text, (gssize)strnlen(text, 40));
    g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_SYNTAX,
                "cannot read '%s' as a number of bytes: %s", shown, why);
    return false;
}

bool byte_count_parse(const char *text, uint64_t *bytes, GError **error)
{
    char *end = NULL;
    double number = g_ascii_strtod(text, &end);
    /* Only digits and dots are allowed: strtod() alone would also read signs, "inf", "0x10", "1e9" and leading
     * blanks. */
    if (end == text || strspn(text, "0123456789.") != (size_t)(end - text))
        return fail(text, "write it like 1048576, 64MiB or 1.5GB", error);
    while (*end == ' ')
        end++;
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++) {
        if (g_ascii_strcasecmp(end, units[i].name) != 0)
            continue;
        if (!(number * units[i].bytes < (double)INT64_MAX))
            return fail(text, "it is larger than any memory", error);
        if (units[i].bytes == 1 && number != floor(number))
            return fail(text, "a byte has no fractions; write 0.5GiB, not 0.5", error);
        *bytes = (uint64_t)(number * units[i].bytes);
        return true;
    }
    return fail(text,
                "its unit is B, k, M, G or T (of 1024; MiB means the same), or kB, MB, GB, TB",
                error);
}

char *byte_count_text(uint64_t bytes)
{
    for (gsize i = G_N_ELEMENTS(units); bytes > 0 && i > G_N_ELEMENTS(units) - WRITTEN_UNITS; i--) {
        uint64_t unit = (uint64_t)units[i - 1].bytes;
        if (bytes % unit == 0)
            return g_strdup_printf("%" G_GUINT64_FORMAT " %s", bytes / unit, units[i - 1].name);
    }
    return g_strdup_printf("%" G_GUINT64_FORMAT " bytes", bytes);
}
