#include "solvers/problem/epilogue.h"

#include "solvers/problem/text_cursor.h"

#include <math.h>
#include <string.h>

#define ARGUMENTS_MAX 2

enum argument_kind { ARGUMENT_NUMBER, ARGUMENT_TYPE, ARGUMENT_LAYOUT, ARGUMENT_SCOPE };

/* The kinds of steps of an epilogue, with their arguments. */
static const struct step {
    const char *name;
    int count;
    enum argument_kind arguments[ARGUMENTS_MAX];
} steps[] = {
    {"bias", 0, {0}},
    {"relu", 0, {0}},
    {"sigmoid", 0, {0}},
    {"tanh", 0, {0}},
    {"clip", 2, {ARGUMENT_NUMBER, ARGUMENT_NUMBER}},
    {"leaky", 1, {ARGUMENT_NUMBER}},
    {"add", 2, {ARGUMENT_TYPE, ARGUMENT_LAYOUT}},
    {"requant", 2, {ARGUMENT_TYPE, ARGUMENT_SCOPE}},
};

static const char *canonical_number(const char *word, char *out, size_t size)
{
    char *end = NULL;
    double value = g_ascii_strtod(word, &end);
    if (strspn(word, "0123456789.eE+-") != strlen(word) || end == word || *end != '\0' ||
        !isfinite(value)) {
        return "expected a finite number";
    }
    g_ascii_formatd(out, (int)size, "%.9g", value == 0.0 ? 0.0 : value); /* no "-0" */
    return NULL;
}

/* Writes the canonical form of one argument to `out`. Returns NULL, or the words for what was expected instead. */
static const char *canonical_argument(enum argument_kind kind, const char *word, char *out,
                                      size_t size)
{
    enum data_type type;
    enum layout layout;
    g_strlcpy(out, word, size);
    switch (kind) {
    case ARGUMENT_NUMBER: return canonical_number(word, out, size);
    case ARGUMENT_TYPE: return data_type_parse(word, &type) ? NULL : "expected a data type";
    case ARGUMENT_LAYOUT: return layout_parse(word, &layout) ? NULL : "expected a layout";
    case ARGUMENT_SCOPE:
        return strcmp(word, "channel") == 0 || strcmp(word, "tensor") == 0
                   ? NULL
                   : "expected 'channel' or 'tensor'";
    }
    g_assert_not_reached();
}

static const struct step *find_step(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        if (strcmp(name, steps[i].name) == 0) {
            return &steps[i];
        }
    }
    return NULL;
}

static bool take_arguments(struct text_cursor *cursor, const struct step *step,
                           struct text_writer *writer, GError **error)
{
    char words[ARGUMENTS_MAX][32];
    for (int i = 0; i < step->count; i++) {
        char word[32];
        if (!text_take_char(cursor, i == 0 ? '(' : ',') ||
            !text_take_word(cursor, ",()", word, sizeof word)) {
            return text_fail(cursor, "the step needs more arguments", error);
        }
        const char *wrong = canonical_argument(step->arguments[i], word, words[i], sizeof words[i]);
        if (wrong != NULL) {
            return text_fail(cursor, wrong, error);
        }
        text_write(writer, "%c%s", i == 0 ? '(' : ',', words[i]);
    }
    if (step->count > 0) {
        if (!text_take_char(cursor, ')')) {
            return text_fail(cursor, "expected ')'", error);
        }
        text_write(writer, ")");
    }
    if (strcmp(step->name, "clip") == 0 &&
        g_ascii_strtod(words[0], NULL) > g_ascii_strtod(words[1], NULL)) {
        return text_fail(cursor, "the lower bound of clip is over the upper", error);
    }
    return true;
}

static bool take_step(struct text_cursor *cursor, struct text_writer *writer, GError **error)
{
    char name[16];
    if (!text_take_char(cursor, '+')) {
        return text_fail(cursor, "a step of an epilogue begins with '+'", error);
    }
    const struct step *step =
        text_take_word(cursor, "+(,)", name, sizeof name) ? find_step(name) : NULL;
    if (step == NULL) {
        return text_fail(
            cursor, "the steps are bias, relu, sigmoid, tanh, clip, leaky, add and requant", error);
    }
    text_write(writer, "+%s", name);
    return take_arguments(cursor, step, writer, error);
}

bool epilogue_canonical(const char *text, char out[EPILOGUE_MAX], GError **error)
{
    struct text_cursor cursor = {text, text};
    struct text_writer writer;
    char whole[2 * EPILOGUE_MAX];
    text_writer_init(&writer, whole, sizeof whole);
    while (*cursor.at != '\0') {
        if (!take_step(&cursor, &writer, error)) {
            return false;
        }
    }
    if (writer.length >= EPILOGUE_MAX) {
        return text_fail(&cursor, "the epilogue is too long (95 bytes at most)", error);
    }
    memcpy(out, whole, writer.length + 1);
    return true;
}
