#include "solvers/problem.h"

#include <string.h>

G_DEFINE_QUARK(skipjack - solvers - error, solvers_error)

static const struct {
    const char *name;
    int bytes;
} type_table[DATA_TYPE_COUNT] = {
    [TYPE_NONE] = {"", 0},     [TYPE_FP32] = {"FP32", 4}, [TYPE_FP16] = {"FP16", 2},
    [TYPE_BF16] = {"BF16", 2}, [TYPE_INT8] = {"INT8", 1}, [TYPE_INT32] = {"INT32", 4},
    [TYPE_FP64] = {"FP64", 8}, [TYPE_FP8] = {"FP8", 1},   [TYPE_BF8] = {"BF8", 1},
};

static const char *const layout_table[LAYOUT_COUNT] = {
    [LAYOUT_NCHW] = "NCHW",     [LAYOUT_NHWC] = "NHWC",     [LAYOUT_CHWN] = "CHWN",
    [LAYOUT_NCHWC4] = "NCHWc4", [LAYOUT_NCHWC8] = "NCHWc8", [LAYOUT_CHWNC4] = "CHWNc4",
    [LAYOUT_CHWNC8] = "CHWNc8", [LAYOUT_NCDHW] = "NCDHW",   [LAYOUT_NDHWC] = "NDHWC",
};

static const char direction_letters[DIRECTION_COUNT] = {'F', 'B', 'W'};

const char *data_type_name(enum data_type type)
{
    g_assert(type < DATA_TYPE_COUNT);
    return type_table[type].name;
}

bool data_type_parse(const char *name, enum data_type *type)
{
    for (int i = TYPE_NONE + 1; i < DATA_TYPE_COUNT; i++) {
        if (strcmp(name, type_table[i].name) == 0) {
            *type = (enum data_type)i;
            return true;
        }
    }
    return false;
}

int data_type_bytes(enum data_type type)
{
    g_assert(type < DATA_TYPE_COUNT);
    return type_table[type].bytes;
}

const char *layout_name(enum layout layout)
{
    g_assert(layout < LAYOUT_COUNT);
    return layout_table[layout];
}

bool layout_parse(const char *name, enum layout *layout)
{
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        if (strcmp(name, layout_table[i]) == 0) {
            *layout = (enum layout)i;
            return true;
        }
    }
    return false;
}

char direction_letter(enum direction direction)
{
    g_assert(direction < DIRECTION_COUNT);
    return direction_letters[direction];
}

bool direction_parse(char letter, enum direction *direction)
{
    for (int i = 0; i < DIRECTION_COUNT; i++) {
        if (letter == direction_letters[i]) {
            *direction = (enum direction)i;
            return true;
        }
    }
    return false;
}
