#include "solvers/driver/driver_flags.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER(letter, name, index, initial)                                                       \
    {                                                                                              \
        letter, name, FLAG_NUMBER, index, initial                                                  \
    }
#define TEXT(letter, name, index)                                                                  \
    {                                                                                              \
        letter, name, FLAG_TEXT, index, 0                                                          \
    }
#define REAL(letter, name, index, initial)                                                         \
    {                                                                                              \
        letter, name, FLAG_REAL, index, initial                                                    \
    }
#define IGNORED(letter, name)                                                                      \
    {                                                                                              \
        letter, name, FLAG_IGNORED, 0, 0                                                           \
    }

static const struct driver_flag flags[] = {
    NUMBER('n', "batchsize", NUMBER_BATCH, 100),
    NUMBER('c', "in_channels", NUMBER_IN_CHANNELS, 3),
    NUMBER('k', "out_channels", NUMBER_OUT_CHANNELS, 32),
    NUMBER('!', "in_d", NUMBER_IN_D, 32),
    NUMBER('H', "in_h", NUMBER_IN_H, 32),
    NUMBER('W', "in_w", NUMBER_IN_W, 32),
    NUMBER('@', "fil_d", NUMBER_FIL_D, 3),
    NUMBER('y', "fil_h", NUMBER_FIL_H, 3),
    NUMBER('x', "fil_w", NUMBER_FIL_W, 3),
    NUMBER('$', "pad_d", NUMBER_PAD_D, 0),
    NUMBER('p', "pad_h", NUMBER_PAD_H, 0),
    NUMBER('q', "pad_w", NUMBER_PAD_W, 0),
    NUMBER('#', "conv_stride_d", NUMBER_STRIDE_D, 1),
    NUMBER('u', "conv_stride_h", NUMBER_STRIDE_H, 1),
    NUMBER('v', "conv_stride_w", NUMBER_STRIDE_W, 1),
    NUMBER('^', "dilation_d", NUMBER_DILATION_D, 1),
    NUMBER('l', "dilation_h", NUMBER_DILATION_H, 1),
    NUMBER('j', "dilation_w", NUMBER_DILATION_W, 1),
    NUMBER('%', "trans_output_pad_d", NUMBER_OUTPUT_PAD_D, 0),
    NUMBER('Y', "trans_output_pad_h", NUMBER_OUTPUT_PAD_H, 0),
    NUMBER('X', "trans_output_pad_w", NUMBER_OUTPUT_PAD_W, 0),
    NUMBER('g', "group_count", NUMBER_GROUPS, 1),
    NUMBER('F', "forw", NUMBER_FORW, 0),
    NUMBER('_', "spatial_dim", NUMBER_SPATIAL_DIM, 2),
    NUMBER('b', "bias", NUMBER_BIAS, 0),
    NUMBER('Z', "tensor_vect", NUMBER_TENSOR_VECT, 0),
    NUMBER('L', "vector_length", NUMBER_VECTOR_LENGTH, 1),
    TEXT('m', "mode", TEXT_MODE),
    TEXT('z', "pad_mode", TEXT_PAD_MODE),
    TEXT('I', "in_layout", TEXT_IN_LAYOUT),
    TEXT('f', "fil_layout", TEXT_FIL_LAYOUT),
    TEXT('O', "out_layout", TEXT_OUT_LAYOUT),
    TEXT('U', "in_cast_type", TEXT_IN_CAST),
    TEXT('R', "wei_cast_type", TEXT_WEI_CAST),
    TEXT('T', "out_cast_type", TEXT_OUT_CAST),
    TEXT('t', "time", TEXT_TIME),
    /* rocMLIR's flags */
    TEXT(0, "operation", TEXT_OPERATION),
    NUMBER(0, "padding_h", NUMBER_PAD_H, 0),
    NUMBER(0, "padding_w", NUMBER_PAD_W, 0),
    NUMBER(0, "groupsize", NUMBER_GROUPS, 1),
    IGNORED('i', "iter"),
    IGNORED('V', "verify"),
    IGNORED('C', "verification_cache"),
    IGNORED('w', "wall"),
    IGNORED('s', "search"),
    IGNORED('P', "printconv"),
    IGNORED('o', "dump_output"),
    IGNORED('d', "in_data"),
    IGNORED('e', "weights"),
    IGNORED('a', "in_bias"),
    IGNORED('D', "dout_data"),
    IGNORED('S', "solution"),
    IGNORED('G', "gpualloc"),
    IGNORED('r', "pad_val"),
    IGNORED(0, "workspace_size"),
    IGNORED(0, "gpu_reference"),
    IGNORED(0, "perf_priority"),
    IGNORED(0, "perf_config"),
    IGNORED(0, "arch"),
    IGNORED(0, "num_cu"),
    IGNORED(0, "num_chiplets"),
};

/* The flags of CBAInfer that the convolution's command lacks or gives another meaning. */
static const struct driver_flag fused_flags[] = {
    NUMBER('n', "batchsize", NUMBER_BATCH, 32),
    NUMBER('F', "fusion_mode", NUMBER_FUSION_MODE, 0),
    NUMBER('m', "activMode", NUMBER_ACTIVATION_MODE, 3),
    NUMBER('M', "bnMode", NUMBER_NORM_MODE, 0),
    REAL('A', "alpha", REAL_ALPHA, 1),
    REAL('B', "beta", REAL_BETA, 0),
    REAL('G', "gamma", REAL_GAMMA, 1),
    IGNORED('t', "time"),
    IGNORED('D', "dot_graph"),
};

static void set_initial(struct driver_values *values, const struct driver_flag *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (all[i].kind == FLAG_NUMBER) {
            values->numbers[all[i].index] = all[i].initial;
        } else if (all[i].kind == FLAG_REAL) {
            values->reals[all[i].index] = (double)all[i].initial;
        }
    }
}

void driver_values_init(struct driver_values *values, bool fused)
{
    memset(values, 0, sizeof *values);
    values->fused = fused;
    set_initial(values, flags, G_N_ELEMENTS(flags));
    if (fused) {
        set_initial(values, fused_flags, G_N_ELEMENTS(fused_flags));
    }
}

/* Finds a flag by its word. A long name may follow one dash, as in rocMLIR's "-perf_priority". */
static const struct driver_flag *find_in(const struct driver_flag *all, size_t count,
                                         const char *word, size_t length)
{
    if (length < 2 || word[0] != '-') {
        return NULL;
    }
    size_t dashes = word[1] == '-' ? 2 : 1;
    const char *name = word + dashes;
    size_t rest = length - dashes;
    for (size_t i = 0; i < count; i++) {
        bool is_letter = dashes == 1 && rest == 1 && name[0] == all[i].letter;
        if (is_letter ||
            (rest > 1 && strlen(all[i].name) == rest && memcmp(all[i].name, name, rest) == 0)) {
            return &all[i];
        }
    }
    return NULL;
}

const struct driver_flag *driver_flag_find(const char *word, size_t length, bool fused)
{
    const struct driver_flag *flag =
        fused ? find_in(fused_flags, G_N_ELEMENTS(fused_flags), word, length) : NULL;
    return flag != NULL ? flag : find_in(flags, G_N_ELEMENTS(flags), word, length);
}

const char *driver_number_name(enum driver_number number)
{
    for (size_t i = 0; i < G_N_ELEMENTS(flags); i++) {
        if (flags[i].kind == FLAG_NUMBER && flags[i].index == (int)number) {
            return flags[i].name;
        }
    }
    g_assert_not_reached();
}

bool driver_values_set(struct driver_values *values, const struct driver_flag *flag,
                       const char *word, size_t length)
{
    char text[TEXT_SIZE] = "";
    memcpy(text, word, MIN(sizeof text - 1, length));
    if (flag->kind == FLAG_TEXT) {
        memcpy(values->texts[flag->index], text, sizeof text);
        return true;
    }
    char *end = NULL;
    if (flag->kind == FLAG_REAL) {
        double real = g_ascii_strtod(text, &end);
        values->reals[flag->index] = real;
        return end != text && isfinite(real);
    }
    g_assert(flag->kind == FLAG_NUMBER);
    /* strtoll() gives the nearest 64-bit number for a number out of range */
    int64_t number = strtoll(text, &end, 10);
    values->numbers[flag->index] = CLAMP(number, INT32_MIN, (int64_t)INT32_MAX + 1);
    values->has_forw = values->has_forw || flag->index == NUMBER_FORW;
    return end != text;
}
