#include "coordinator/import/layer_cells.h"

#include "coordinator/import/import.h"

#include <string.h>

G_GNUC_PRINTF(2, 3)
static bool wrong(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    GError *made = g_error_new_valist(EXPORT_ERROR, EXPORT_ERROR_SYNTAX, format, arguments);
    va_end(arguments);
    g_propagate_error(error, made);
    return false;
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (g_ascii_strcasecmp(text, *words) == 0) {
            return true;
        }
    }
    return false;
}

bool cell_is_empty(const char *text)
{
    static const char *const words[] = {"", "-", "nan", "none", "null", "n/a", "<na>", NULL};
    return is_one_of(text, words);
}

/* Takes a whole number; zeros behind a point are allowed. Moves *at behind it. */
static bool take_number(const char **at, int64_t *value)
{
    size_t digits = strspn(*at, "0123456789");
    g_autofree char *text = g_strndup(*at, digits);
    if (digits == 0 || !g_ascii_string_to_signed(text, 10, 0, INT32_MAX, value, NULL)) {
        return false;
    }
    *at += digits;
    if (**at == '.') {
        *at += 1 + strspn(*at + 1, "0");
    }
    return true;
}

bool cell_number(const char *text, int64_t *value, GError **error)
{
    const char *at = text;
    if (take_number(&at, value) && *at == '\0') {
        return true;
    }
    if (strchr(text, ',') != NULL) {
        return wrong(error, "'%.40s', a number with a comma: write a whole number without one",
                     text);
    }
    return wrong(error, "'%.40s', it must be a whole number from 0 to %d", text, INT32_MAX);
}

bool cell_flag(const char *text, int64_t *value)
{
    static const char *const yes[] = {"1", "1.0", "true", "yes", "y", "t", NULL};
    static const char *const no[] = {"0", "0.0", "false", "no", "n", "f", NULL};
    *value = is_one_of(text, yes);
    return *value == 1 || is_one_of(text, no);
}

/* ---- sizes ---- */

/* Skips the name of a type and opening brackets in front of the first number. */
static const char *skip_opening(const char *at)
{
    static const char *const types[] = {"torch.Size", "TensorShape", "tuple", "list"};
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
        if (g_str_has_prefix(at, types[i])) {
            at += strlen(types[i]);
            break;
        }
    }
    return at + strspn(at, "([{ ");
}

static bool take_size(const char **at, int64_t *value)
{
    static const char *const unknown[] = {"None", "-1", "?"};
    for (size_t i = 0; i < G_N_ELEMENTS(unknown); i++) {
        if (g_str_has_prefix(*at, unknown[i])) {
            *at += strlen(unknown[i]);
            *value = -1;
            return true;
        }
    }
    /* A size with leading zeros is refused: "1,024" is one number with a thousands separator, not two sizes. */
    bool padded = **at == '0' && g_ascii_isdigit((*at)[1]);
    return !padded && take_number(at, value);
}

/* Takes what separates two sizes, if a number follows: 'x', 'X', U+00D7, '*', a comma, a semicolon or blanks. A comma
 * behind the last size is allowed, as in "(3,)". */
static bool take_joint(const char **at)
{
    const char *next = *at + strspn(*at, " ");
    bool comma = *next == ',';
    if (strncmp(next, "\xc3\x97", 2) == 0) {
        next += 2;
    } else if (*next != '\0' && strchr("xX*,;", *next) != NULL) {
        next += 1;
    }
    next += strspn(next, " ");
    bool last = *next == '\0' || strchr(")]}", *next) != NULL;
    bool joined = next > *at;
    *at = !last || comma ? next : *at;
    return joined && !last;
}

bool cell_sizes(const char *text, struct cell_sizes *sizes, GError **error)
{
    const char *at = skip_opening(text);
    bool more = true, good = true;
    for (sizes->count = 0; good && more; more = take_joint(&at)) {
        good = sizes->count < CELL_SIZES_MAX && take_size(&at, &sizes->values[sizes->count++]);
    }
    if (good && at[strspn(at, ")]} ")] == '\0') {
        return true;
    }
    return wrong(error, "'%.40s', it must be a whole number, or one an axis as in 3x3 or (3, 3)",
                 text);
}

/* ---- directions ---- */

int cell_directions(const char *text)
{
    static const struct {
        const char *word;
        int mask;
    } words[] = {
        {"fwd", 1},
        {"forward", 1},
        {"fprop", 1},
        {"bwd", 2},
        {"bwd_data", 2},
        {"backward_data", 2},
        {"dgrad", 2},
        {"data_grad", 2},
        {"wrw", 4},
        {"bwd_weight", 4},
        {"bwd_weights", 4},
        {"backward_weight", 4},
        {"wgrad", 4},
        {"weight_grad", 4},
        {"backward_weights", 4},
        {"all", DIRECTIONS_ALL},
    };
    g_auto(GStrv) parts = g_strsplit_set(text, "+,;/| ", -1);
    int mask = 0;
    for (int i = 0; parts[i] != NULL; i++) {
        g_autofree char *letters = g_ascii_strup(parts[i], -1);
        int given = import_parse_directions(letters);
        for (size_t w = 0; w < G_N_ELEMENTS(words); w++) {
            given = g_ascii_strcasecmp(parts[i], words[w].word) == 0 ? words[w].mask : given;
        }
        if (given == 0 && parts[i][0] != '\0') {
            return 0;
        }
        mask |= given;
    }
    return mask;
}

/* ---- kinds of layers ---- */

static const struct {
    const char *word; /* name of a kind of layer, in small letters and without '_' */
    struct cell_operator op;
    const char *why_not; /* why no solver computes this kind; NULL if it is read */
} operators[] = {
    {"conv", {0}, NULL},
    {"convolution", {0}, NULL},
    {"conv1d", {.dimensions = 1}, NULL},
    {"conv2d", {.dimensions = 2}, NULL},
    {"conv3d", {.dimensions = 3}, NULL},
    {"convolution1d", {.dimensions = 1}, NULL},
    {"convolution2d", {.dimensions = 2}, NULL},
    {"convolution3d", {.dimensions = 3}, NULL},
    {"groupconv", {.grouped = true}, NULL},
    {"groupconv2d", {.grouped = true, .dimensions = 2}, NULL},
    {"groupedconv", {.grouped = true}, NULL},
    {"groupedconv2d", {.grouped = true, .dimensions = 2}, NULL},
    {"pointwiseconv", {.pointwise = true}, NULL},
    {"pointwiseconv2d", {.pointwise = true, .dimensions = 2}, NULL},
    {"trans", {.transposed = true}, NULL},
    {"transpose", {.transposed = true}, NULL},
    {"transposed", {.transposed = true}, NULL},
    {"deconv", {.transposed = true}, NULL},
    {"deconvolution", {.transposed = true}, NULL},
    {"deconv2d", {.transposed = true, .dimensions = 2}, NULL},
    {"convtranspose", {.transposed = true}, NULL},
    {"transposedconv", {.transposed = true}, NULL},
    {"transposeconv", {.transposed = true}, NULL},
    {"convtranspose1d", {.transposed = true, .dimensions = 1}, NULL},
    {"convtranspose2d", {.transposed = true, .dimensions = 2}, NULL},
    {"convtranspose3d", {.transposed = true, .dimensions = 3}, NULL},
    {"conv1dtranspose", {.transposed = true, .dimensions = 1}, NULL},
    {"conv2dtranspose", {.transposed = true, .dimensions = 2}, NULL},
    {"conv3dtranspose", {.transposed = true, .dimensions = 3}, NULL},
    {"depthwise", {.depthwise = true}, NULL},
    {"dwconv", {.depthwise = true}, NULL},
    {"depthwiseconv", {.depthwise = true}, NULL},
    {"depthwiseconv1d", {.depthwise = true, .dimensions = 1}, NULL},
    {"depthwiseconv2d", {.depthwise = true, .dimensions = 2}, NULL},
    {"depthwiseconv3d", {.depthwise = true, .dimensions = 3}, NULL},
    {"convbwddata", {.directions = 2}, NULL}, /* rocMLIR's */
    {"convbwdweight", {.directions = 4}, NULL},
    {"separableconv", {0}, "two convolutions: give the depthwise and the pointwise one a row each"},
    {"separableconv1d",
     {0},
     "two convolutions: give the depthwise and the pointwise one a row each"},
    {"separableconv2d",
     {0},
     "two convolutions: give the depthwise and the pointwise one a row each"},
};

/* Returns the name without the modules in front of it ("torch.nn.Conv2d", "aten::convolution").
 * Free with g_free(). */
static char *operator_word(const char *text)
{
    const char *last = text + strlen(text);
    while (last > text && last[-1] != '.' && last[-1] != ':') {
        last--;
    }
    GString *word = g_string_new(NULL);
    for (; *last != '\0'; last++) {
        if (strchr("_- ", *last) == NULL) {
            g_string_append_c(word, g_ascii_tolower(*last));
        }
    }
    return g_string_free(word, FALSE);
}

static int find_operator(const char *text)
{
    g_autofree char *word = operator_word(text);
    for (size_t i = 0; i < G_N_ELEMENTS(operators); i++) {
        if (strcmp(operators[i].word, word) == 0) {
            return (int)i;
        }
    }
    return -1;
}

bool cell_is_operator(const char *text)
{
    return find_operator(text) >= 0;
}

bool cell_operator(const char *text, struct cell_operator *op, GError **error)
{
    int found = find_operator(text);
    if (found < 0) {
        return wrong(error, "'%.40s', no convolution", text);
    }
    if (operators[found].why_not != NULL) {
        return wrong(error, "'%.40s', %s", text, operators[found].why_not);
    }
    *op = operators[found].op;
    return true;
}
