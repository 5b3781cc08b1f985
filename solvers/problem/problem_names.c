#include "solvers/problem/problem.h"

#include <string.h>

G_DEFINE_QUARK(skipjack - solvers - error, solvers_error)

static const struct {
    const char *name;
    int bytes;
} type_table[STORED_TYPE_COUNT] = {
    [TYPE_NONE] = {"", 0},
    [TYPE_FP32] = {"FP32", 4},
    [TYPE_FP16] = {"FP16", 2},
    [TYPE_BF16] = {"BF16", 2},
    [TYPE_INT8] = {"INT8", 1},
    [TYPE_INT32] = {"INT32", 4},
    [TYPE_FP64] = {"FP64", 8},
    [TYPE_FP8] = {"FP8", 1},
    [TYPE_BF8] = {"BF8", 1},
    [TYPE_FP8_FNUZ] = {"FP8_FNUZ", 1},
    [TYPE_BF8_FNUZ] = {"BF8_FNUZ", 1},
};

static const char *const layout_table[LAYOUT_COUNT] = {
    [LAYOUT_NCHW] = "NCHW",     [LAYOUT_NHWC] = "NHWC",     [LAYOUT_CHWN] = "CHWN",
    [LAYOUT_NCHWC4] = "NCHWc4", [LAYOUT_NCHWC8] = "NCHWc8", [LAYOUT_CHWNC4] = "CHWNc4",
    [LAYOUT_CHWNC8] = "CHWNc8", [LAYOUT_NCDHW] = "NCDHW",   [LAYOUT_NDHWC] = "NDHWC",
};

static const char *const kind_table[OP_KIND_COUNT] = {
    [OP_CONV] = "conv",       [OP_POOL] = "pool",     [OP_POINTWISE] = "pointwise",
    [OP_SOFTMAX] = "softmax", [OP_RESIZE] = "resize", [OP_LRN] = "lrn",
};

static const struct {
    const char *name, *words;
} lack_table[FIND_KEY_LACKS] = {
    [LACK_NONE] = {"", ""},
    [LACK_OPERATOR] = {"operator", "an operator other than a convolution"},
    [LACK_STRIDES] = {"strides", "strided tensors"},
    [LACK_EPILOGUE] = {"epilogue", "an epilogue"},
    [LACK_TF32] = {"tf32", "computing in TF32"},
};

static const char direction_letters[DIRECTION_COUNT] = {'F', 'B', 'W'};

const char *data_type_name(enum data_type type)
{
    g_assert(type < STORED_TYPE_COUNT);
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
    g_assert(type < STORED_TYPE_COUNT);
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

const char *op_kind_name(enum op_kind kind)
{
    g_assert(kind < OP_KIND_COUNT);
    return kind_table[kind];
}

bool op_kind_parse(const char *name, enum op_kind *kind)
{
    for (int i = 0; i < OP_KIND_COUNT; i++) {
        if (strcmp(name, kind_table[i]) == 0) {
            *kind = (enum op_kind)i;
            return true;
        }
    }
    return false;
}

const char *find_key_lack_words(enum find_key_lack lack)
{
    g_assert(lack < FIND_KEY_LACKS);
    return lack_table[lack].words;
}

const char *find_key_lack_name(enum find_key_lack lack)
{
    g_assert(lack < FIND_KEY_LACKS);
    return lack_table[lack].name;
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

/* ---- words of other programs ---- */

/* Words for data types. Keras names its mixed policies after the type in which they compute. */
static const struct {
    const char *word; /* the word, in small letters */
    enum data_type type;
} type_words[] = {
    {"f32", TYPE_FP32},           {"float", TYPE_FP32},
    {"float32", TYPE_FP32},       {"single", TYPE_FP32},
    {"f16", TYPE_FP16},           {"half", TYPE_FP16},
    {"float16", TYPE_FP16},       {"bfp16", TYPE_BF16},
    {"bfloat16", TYPE_BF16},      {"i8", TYPE_INT8},
    {"qint8", TYPE_INT8},         {"i32", TYPE_INT32},
    {"f64", TYPE_FP64},           {"double", TYPE_FP64},
    {"float64", TYPE_FP64},       {"bfp8", TYPE_BF8},
    {"float8_e4m3fn", TYPE_FP8},  {"float8_e4m3fnuz", TYPE_FP8},
    {"float8_e5m2", TYPE_BF8},    {"float8_e5m2fnuz", TYPE_BF8},
    {"mixed_float16", TYPE_FP16}, {"mixed_bfloat16", TYPE_BF16},
};

/* The name of a type without the module that printed it ("torch."). */
static const char *without_module(const char *word)
{
    static const char *const modules[] = {"torch.", "tf.", "np.", "numpy.", "jnp."};
    for (size_t i = 0; i < G_N_ELEMENTS(modules); i++) {
        if (g_ascii_strncasecmp(word, modules[i], strlen(modules[i])) == 0) {
            return word + strlen(modules[i]);
        }
    }
    return word;
}

bool data_type_from_word(const char *word, enum data_type *type)
{
    const char *bare = without_module(word);
    for (int i = TYPE_NONE + 1; i < DATA_TYPE_COUNT; i++) {
        if (g_ascii_strcasecmp(bare, type_table[i].name) == 0) {
            *type = (enum data_type)i;
            return true;
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(type_words); i++) {
        if (g_ascii_strcasecmp(bare, type_words[i].word) == 0) {
            *type = type_words[i].type;
            return true;
        }
    }
    return false;
}

bool word_is_tf32(const char *word)
{
    static const char *const words[] = {"tf32", "tfloat32", "tensorfloat32", "xf32", "xfloat32"};
    const char *bare = without_module(word);
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (g_ascii_strcasecmp(bare, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static const enum layout plain_layouts[][2] = {
    {LAYOUT_NCHW, LAYOUT_NCDHW},
    {LAYOUT_NHWC, LAYOUT_NDHWC},
};

bool layout_in_dims(enum layout layout, int spatial_dim, enum layout *same)
{
    for (size_t i = 0; i < G_N_ELEMENTS(plain_layouts); i++) {
        if (layout == plain_layouts[i][0] || layout == plain_layouts[i][1]) {
            *same = plain_layouts[i][spatial_dim == 3];
            return true;
        }
    }
    *same = layout;
    return spatial_dim == 2;
}

bool layout_from_word(const char *word, int spatial_dim, enum layout *layout)
{
    static const struct {
        const char *word;
        enum layout layout;
    } words[] = {
        {"channels_first", LAYOUT_NCHW},
        {"channels_last", LAYOUT_NHWC},
        {"channels_last_3d", LAYOUT_NDHWC},
        {"ncw", LAYOUT_NCHW},
        {"nwc", LAYOUT_NHWC},
    };
    const char *bare = without_module(word);
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        if (g_ascii_strcasecmp(bare, layout_table[i]) == 0) {
            return layout_in_dims((enum layout)i, spatial_dim, layout);
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (g_ascii_strcasecmp(bare, words[i].word) == 0) {
            return layout_in_dims(words[i].layout, spatial_dim, layout);
        }
    }
    return false;
}
