#include "solvers/driver/driver_flags.h"

#include <stdio.h>
#include <string.h>

/* Translates a letter of rocMLIR's layouts: digits are spatial axes (0 is the outermost), Z Y X axes of
 * filters, K the output's channels and the filter's N, G the group. Returns our letter, 0 for an unknown one. */
static char plain_letter(char letter, enum tensor_role role, int spatial_dim)
{
    static const char spatial[] = "DHW";
    static const char filter_axes[] = "ZYX";
    if (letter >= '0' && letter < '0' + spatial_dim) {
        return spatial[3 - spatial_dim + letter - '0'];
    }
    if (role == TENSOR_W && letter != '\0' && strchr(filter_axes, letter) != NULL) {
        return spatial[strchr(filter_axes, letter) - filter_axes];
    }
    if (letter == 'K') {
        return role == TENSOR_W ? 'N' : role == TENSOR_Y ? 'C' : 0;
    }
    return letter != '\0' && strchr("NCDHW", letter) != NULL ? letter : 0;
}

/* Whether a layout with a group axis G describes the same memory as the layout without it: G must stand directly
 * before the axis that it divides: the channels of x and y, the K of a filter. */
static bool group_is_transparent(const char *text, enum tensor_role role, int spatial_dim)
{
    const char *group = strchr(text, 'G');
    return group == NULL ||
           plain_letter(group[1], role, spatial_dim) == (role == TENSOR_W ? 'N' : 'C');
}

static bool fail(const char *text, const char *why, GError **error)
{
    g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID, "layout '%s' %s", text, why);
    return false;
}

/* Converts a layout to capital letters, because rocMLIR also writes small ones. The c of a block ("NCHWc4") stays
 * small. */
static void to_capitals(const char *text, char out[TEXT_SIZE])
{
    bool small = strpbrk(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == NULL;
    size_t length = strlen(text);
    bool blocked = length > 2 && text[length - 2] == 'c' && strchr("48", text[length - 1]) != NULL;
    g_strlcpy(out, text, TEXT_SIZE);
    for (size_t i = 0; small && i < length - (blocked ? 2 : 0); i++) {
        out[i] = g_ascii_toupper(out[i]);
    }
}

bool driver_layout_parse(const char *given, enum tensor_role role, int spatial_dim, int64_t groups,
                         int vector_length, enum layout *layout, GError **error)
{
    char text[TEXT_SIZE], plain[TEXT_SIZE + 8];
    size_t length = 0;
    const char *at = text;
    to_capitals(given, text);
    for (; *at != '\0' && *at != 'c'; at++) {
        char letter = plain_letter(*at, role, spatial_dim);
        if (*at == 'G' && strchr(text, 'G') == at) {
            continue;
        }
        if (letter == 0) {
            return fail(given, "is none that is known", error);
        }
        plain[length++] = letter;
    }
    snprintf(plain + length, sizeof plain - length, "%s", at);
    if (vector_length > 1 && strchr(plain, 'c') == NULL) {
        snprintf(plain + length, sizeof plain - length, "c%d", vector_length);
    }
    if (!layout_parse(plain, layout)) {
        return fail(given, "is none that is known", error);
    }
    if (vector_length > 1 && problem_layout_block(*layout) != vector_length) {
        return fail(given, "contradicts vector_length", error);
    }
    if (groups > 1 && !group_is_transparent(text, role, spatial_dim)) {
        return fail(given, "puts the group where no layout without it has the same memory order",
                    error);
    }
    return true;
}
