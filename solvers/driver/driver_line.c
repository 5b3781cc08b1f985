#include "solvers/driver/driver_line.h"

#include "solvers/driver/driver_flags.h"
#include "solvers/problem/text_cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Characters between words. Quotes count as such, since lines are copied from scripts. */
#define SPACES " \t\r\n\v\f\"'`"

static const char driver_path[] = "./bin/MIOpenDriver";

/* A word of the line; length 0 means the end of the line. */
struct word {
    const char *text;
    size_t length;
};

static const struct {
    const char *word;
    enum data_type type;
    int directions; /* directions as bits that the word itself names; 0 where flags name them */
    bool fused;     /* a convolution with what follows it */
} commands[] = {
    {"conv", TYPE_FP32, 0, false},
    {"convfp16", TYPE_FP16, 0, false},
    {"convbfp16", TYPE_BF16, 0, false},
    {"convint8", TYPE_INT8, 0, false},
    {"convfp8", TYPE_FP8, 0, false},
    {"convbfp8", TYPE_BF8, 0, false},
    {"convfp64", TYPE_FP64, 0, false},
    {"conv_bwd_data", TYPE_FP32, 2, false}, /* rocMLIR names the direction in the command */
    {"conv_bwd_weight", TYPE_FP32, 4, false},
    {"CBAInfer", TYPE_FP32, 1, true},
    {"CBAInferfp16", TYPE_FP16, 1, true},
    {"CBAInferbfp16", TYPE_BF16, 1, true},
};

/* Commands of other primitives in the same logs; a data type's suffix may follow. */
static const char *const others[] = {
    "CatTensor",
    "Cat",
    "Dropout",
    "GEMM",
    "activ",
    "addlayernorm",
    "adam",
    "ampadam",
    "adamw",
    "ampadamw",
    "argmax",
    "bnorm",
    "cat",
    "ctc",
    "dropout",
    "embed",
    "fused",
    "gemm",
    "getitem",
    "glu",
    "groupnorm",
    "kthvalue",
    "layernorm",
    "logsoftmax",
    "lrn",
    "mha",
    "multimarginloss",
    "nllloss",
    "op",
    "pool",
    "prelu",
    "reduce",
    "reduceextreme",
    "reducecalculation",
    "rnn",
    "rnn_seq",
    "rope",
    "sigmoidfocalloss",
    "softmarginloss",
    "softmax",
    "sum",
    "t5layernorm",
    "tensorop",
    "transformersadamw",
};

static const char *const type_suffixes[] = {"", "fp16", "bfp16", "int8", "fp8", "bfp8", "fp64"};

static struct word next_word(const char **at)
{
    *at += strspn(*at, SPACES);
    struct word word = {*at, strcspn(*at, SPACES)};
    if (word.length > 0 && word.text[0] == '#') {
        /* the rest of the line is a comment; a word such as "-#" is a flag, since it begins with a dash */
        word.length = 0;
        return word;
    }
    *at += word.length;
    return word;
}

static bool word_is(struct word word, const char *text)
{
    return strlen(text) == word.length && memcmp(text, word.text, word.length) == 0;
}

/* Whether the word is a separator that scripts put between commands. */
static bool is_separator(struct word word)
{
    return strspn(word.text, ",;\\") >= word.length;
}

static bool word_contains(struct word word, const char *text)
{
    return g_strstr_len(word.text, (gssize)word.length, text) != NULL;
}

G_GNUC_PRINTF(3, 4)
static void give_up(struct driver_line *out, enum driver_line_kind kind, const char *format, ...)
{
    va_list arguments;
    out->kind = kind;
    out->problem_count = 0;
    va_start(arguments, format);
    g_autofree char *reason = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *valid = g_utf8_make_valid(reason, -1);
    g_strlcpy(out->reason, valid, sizeof out->reason);
    const char *end;
    if (!g_utf8_validate(out->reason, -1, &end)) {
        out->reason[end - out->reason] = '\0'; /* shortens the text to whole characters of UTF-8 */
    }
}

/* How much of a word messages show: binary files may hold very long words. */
static int shown(struct word word)
{
    return (int)MIN(word.length, 40u);
}

/* Whether the word is a driver's name, alone or at the end of a path. */
static bool is_driver(struct word word)
{
    static const char *const names[] = {"MIOpenDriver", "MIOpenDriver.exe", "rocmlir-gen"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        size_t length = strlen(names[i]);
        if (word.length >= length &&
            memcmp(word.text + word.length - length, names[i], length) == 0 &&
            (word.length == length || strchr("/\\", word.text[word.length - length - 1]) != NULL)) {
            return true;
        }
    }
    return false;
}

/* Whether the word is the end of a driver's path ("OpenDriver", "r"), in a line whose start was cut off. */
static bool is_torn_driver(struct word word)
{
    return word.length < sizeof driver_path &&
           word_is(word, driver_path + sizeof driver_path - 1 - word.length);
}

static int function_directions(struct word word)
{
    static const struct {
        const char *name;
        int mask;
    } functions[] = {{"ConvolutionForward", 1},
                     {"ConvolutionBackwardData", 2},
                     {"ConvolutionBackwardWeights", 4}};
    for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
        if (word_contains(word, functions[i].name)) {
            return functions[i].mask;
        }
    }
    return 0;
}

static int find_command(struct word word)
{
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        if (word_is(word, commands[i].word)) {
            return (int)i;
        }
    }
    return -1;
}

static bool is_other(struct word word)
{
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        size_t length = strlen(others[i]);
        if (word.length < length || memcmp(word.text, others[i], length) != 0) {
            continue;
        }
        for (size_t s = 0; s < G_N_ELEMENTS(type_suffixes); s++) {
            if (word_is((struct word){word.text + length, word.length - length},
                        type_suffixes[s])) {
                return true;
            }
        }
    }
    return false;
}

/* The length of a flag's name. Its word may hold the value, as in "--batchsize=8". */
static size_t flag_length(struct word word)
{
    const char *end = word.length > 0 ? memchr(word.text, '=', word.length) : NULL;
    return end != NULL ? (size_t)(end - word.text) : word.length;
}

static const struct driver_flag *find_flag(struct word word, bool fused)
{
    return driver_flag_find(word.text, flag_length(word), fused);
}

/* Whether the line, whose start was cut off, begins with the end of a driver's path and a command. */
static bool is_torn_opening(struct word word, const char *behind)
{
    struct word second = next_word(&behind);
    return is_torn_driver(word) && !is_driver(word) &&
           (find_command(second) >= 0 || is_other(second));
}

/* The part of a line before its flags: the driver's command, whose name gives the data type, and in MIOpen's logs the
 * name of the API function before it (miopenConvolutionForward:), which gives the direction. */
struct opening {
    enum data_type type;
    int directions; /* directions as bits from a function's name, 0 without one */
    bool tf32;      /* an assignment in front of the driver lets it compute FP32 in TF32 */
    bool fused;     /* the command is CBAInfer */
};

/* The environment variable that makes MIOpen's driver compute in TF32: the driver has no flag for
 * it. */
static const char tf32_variable[] = "MIOPEN_TF32_OVERRIDE=";

/* If the word is a shell's assignment of that variable, sets *tf32 to whether MIOpen takes the value for true. */
static void read_assignment(struct word word, bool *tf32)
{
    static const char *const truths[] = {"1", "on", "yes", "true", "enable", "enabled"};
    size_t length = sizeof tf32_variable - 1;
    if (word.length < length || memcmp(word.text, tf32_variable, length) != 0) {
        return;
    }
    g_autofree char *value = g_strndup(word.text + length, word.length - length);
    value[strcspn(value, ";")] = '\0';
    *tf32 = false;
    for (size_t i = 0; i < G_N_ELEMENTS(truths); i++) {
        *tf32 = *tf32 || g_ascii_strcasecmp(value, truths[i]) == 0;
    }
}

/* Skips the prefix of a logger or launcher ("srun -n 1"): everything before a driver's name, and a function's name
 * with its colon. */
static struct word skip_prefix(const char **at, struct opening *opening, bool *driver)
{
    const char *scan = *at;
    struct word word = next_word(&scan), first = word;
    bool prefixed = find_flag(first, false) == NULL && find_command(first) < 0 &&
                    !is_other(first) && !is_torn_opening(first, scan);
    int directions = 0;
    *driver = false;
    for (; prefixed && word.length > 0; word = next_word(&scan)) {
        directions |= function_directions(word);
        read_assignment(word, &opening->tf32);
        if (is_driver(word)) {
            *driver = true;
            opening->directions = directions;
            *at = scan;
            return next_word(at);
        }
    }
    next_word(at);
    if (first.length > 0 && first.text[first.length - 1] == ':' &&
        function_directions(first) != 0) {
        opening->directions = function_directions(first);
        return next_word(at);
    }
    return first;
}

/* Reads the part of a line before its flags and sets *at to the first flag. False for a line without usable flags;
 * out's kind and reason then say why. */
static bool read_opening(const char **at, struct opening *opening, struct driver_line *out)
{
    bool driver;
    struct word word = skip_prefix(at, opening, &driver);
    if (!driver && is_torn_opening(word, *at)) {
        word = next_word(at);
    }
    int command = find_command(word);
    if (word.length == 0) {
        give_up(out, DRIVER_LINE_BROKEN, "nothing follows the driver's name");
    } else if (command >= 0) {
        opening->type = commands[command].type;
        opening->fused = commands[command].fused;
        if (commands[command].directions != 0) {
            opening->directions = commands[command].directions;
        }
        return true;
    } else if (word.text[0] == '-') {
        *at = word.text;
        return true;
    } else if (is_other(word)) {
        give_up(out, DRIVER_LINE_OTHER, "'%.*s' is another primitive than convolution", shown(word),
                word.text);
    } else if (driver) {
        give_up(out, DRIVER_LINE_BROKEN, "unknown driver command '%.*s'", shown(word), word.text);
    } else {
        give_up(
            out, DRIVER_LINE_BROKEN,
            "it begins with '%.*s', neither a driver command nor a flag (is its start cut off?)",
            shown(word), word.text);
    }
    return false;
}

static bool looks_like_flag(struct word word, bool fused)
{
    return word.length >= 2 && word.text[0] == '-' && !g_ascii_isdigit(word.text[1]) &&
           find_flag(word, fused) != NULL;
}

/* Takes the value of a flag: the text after '=' in its own word, else the next word. Length 0 where there is no
 * value. */
static struct word take_value(struct word name, const char **at, bool fused)
{
    size_t length = flag_length(name);
    if (length < name.length) {
        return (struct word){name.text + length + 1, name.length - length - 1};
    }
    const char *scan = *at;
    struct word value = next_word(&scan);
    if (looks_like_flag(value, fused)) {
        value.length = 0;
    } else if (value.length > 0) {
        *at = scan;
    }
    return value;
}

/* Reads one flag with its value. False for a flag that cannot be used; the reason is then set. */
static bool read_flag(struct word name, const char **at, struct driver_values *values,
                      struct driver_line *out)
{
    const struct driver_flag *flag = find_flag(name, values->fused);
    if (flag == NULL) {
        bool dashed = name.text[0] == '-' && name.length > 1;
        give_up(out, DRIVER_LINE_BROKEN,
                dashed ? "unknown flag '%.*s'" : "'%.*s' stands where a flag belongs", shown(name),
                name.text);
        return false;
    }
    struct word value = take_value(name, at, values->fused);
    if (value.length == 0) {
        if (flag->kind == FLAG_IGNORED || (flag->kind == FLAG_TEXT && flag->index == TEXT_TIME)) {
            return true; /* flags that say how to run, not what to compute, are ignored */
        }
        give_up(out, DRIVER_LINE_BROKEN, "flag %.*s needs a value", shown(name), name.text);
        return false;
    }
    if (flag->kind != FLAG_IGNORED && !driver_values_set(values, flag, value.text, value.length)) {
        give_up(out, DRIVER_LINE_BROKEN, "flag %.*s needs a number, not '%.*s'", shown(name),
                name.text, shown(value), value.text);
        return false;
    }
    return true;
}

/* Whether the word is a shell's operator, behind which the line is no longer the driver's. */
static bool ends_command(struct word word)
{
    size_t digits = strspn(word.text, "12") == 1 && word.length > 1;
    return word.length > 0 && strchr(digits > 0 ? "><" : "|&><", word.text[digits]) != NULL;
}

/* Reads all flags up to the line's end or a shell's operator. */
static bool read_flags(const char *at, struct driver_values *values, struct driver_line *out)
{
    struct word word;
    while ((word = next_word(&at)).length > 0 && !ends_command(word)) {
        if (!is_separator(word) && !read_flag(word, &at, values, out)) {
            return false;
        }
    }
    while ((word = next_word(&at)).length > 0) {
        if (is_driver(word)) {
            give_up(out, DRIVER_LINE_BROKEN, "a second command follows, give each its own line");
            return false;
        }
    }
    return true;
}

/* Whether the variable concerns the problem: it changes nothing for other types, nor for FP32 that is cast before. */
static bool heeds_tf32(const struct problem *p)
{
    bool heeds = true;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        heeds = heeds && p->type[t] == TYPE_FP32 && p->cast[t] == TYPE_NONE;
    }
    return heeds;
}

void driver_line_parse(const char *line, struct driver_line *out)
{
    g_autoptr(GError) error = NULL;
    struct opening opening = {.type = TYPE_FP32};
    struct driver_values values;
    const char *at = line;
    memset(out, 0, sizeof *out);
    if (next_word(&at).length == 0) {
        out->kind = DRIVER_LINE_BLANK;
        return;
    }
    at = line;
    if (!read_opening(&at, &opening, out)) {
        return;
    }
    driver_values_init(&values, opening.fused);
    if (!read_flags(at, &values, out)) {
        return;
    }
    bool only_norm = false;
    char epilogue[EPILOGUE_MAX] = "";
    if (opening.fused && !driver_values_epilogue(&values, epilogue, &only_norm, &error)) {
        give_up(out, DRIVER_LINE_BROKEN, "%s", error->message);
        return;
    }
    if (only_norm) {
        give_up(out, DRIVER_LINE_OTHER, "fusion_mode 2 is a batch norm without a convolution");
        return;
    }
    out->problem_count =
        driver_values_problems(&values, opening.type, opening.directions, out->problems, &error);
    if (out->problem_count == 0) {
        give_up(out, DRIVER_LINE_BROKEN, "%s", error->message);
        return;
    }
    for (int i = 0; i < out->problem_count; i++) {
        struct problem *p = &out->problems[i];
        g_strlcpy(p->epilogue, epilogue, EPILOGUE_MAX);
        if (opening.tf32 && heeds_tf32(p)) {
            g_strlcpy(p->mode, OP_MODE_TF32, sizeof p->mode);
        }
        if (!problem_validate(&out->problems[i], &error)) {
            give_up(out, DRIVER_LINE_BROKEN, "%s", error->message);
            return;
        }
    }
    out->kind = DRIVER_LINE_CONV;
}

/* The command word for the problem's types, NULL where the driver has none. */
static const char *command_word(const struct problem *p)
{
    for (size_t i = 0; i < G_N_ELEMENTS(commands) && !commands[i].fused; i++) {
        enum data_type type = commands[i].type;
        if (p->type[TENSOR_X] == type && p->type[TENSOR_W] == type &&
            p->type[TENSOR_Y] == (type == TYPE_INT8 ? TYPE_INT32 : type)) {
            return type == TYPE_INT8 && p->direction != DIRECTION_F ? NULL : commands[i].word;
        }
    }
    return NULL;
}

static void write_numbers(struct text_writer *writer, const struct problem *p)
{
    const struct {
        enum driver_number first;
        const int64_t *sizes;
    } axes[] = {{NUMBER_IN_D, p->in},
                {NUMBER_FIL_D, p->fil},
                {NUMBER_PAD_D, p->pad},
                {NUMBER_STRIDE_D, p->stride},
                {NUMBER_DILATION_D, p->dilation}};
    text_write(writer, " --spatial_dim %d --batchsize %" PRId64, p->spatial_dim, p->n);
    text_write(writer, " --in_channels %" PRId64 " --out_channels %" PRId64, p->c, p->k);
    for (size_t i = 0; i < G_N_ELEMENTS(axes); i++) {
        for (int a = p->spatial_dim == 2 ? AXIS_H : AXIS_D; a < AXIS_COUNT; a++) {
            const char *name = driver_number_name((enum driver_number)((int)axes[i].first + a));
            text_write(writer, " --%s %" PRId64, name, axes[i].sizes[a]);
        }
    }
    text_write(writer, " --group_count %" PRId64 " --bias %d", p->groups, p->bias);
}

/* Writes the layouts' names without the channel block ("NCHW" for NCHWc4): the driver takes the block as one flag for
 * all tensors. */
static bool write_layouts(struct text_writer *writer, const struct problem *p)
{
    static const char *const names[TENSOR_COUNT] = {"in_layout", "fil_layout", "out_layout"};
    int block = problem_layout_block(p->layout[TENSOR_X]);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        const char *layout = layout_name(p->layout[t]);
        if (problem_layout_block(p->layout[t]) != block) {
            return false;
        }
        text_write(writer, " --%s %.*s", names[t], (int)strcspn(layout, "c"), layout);
    }
    if (block > 1) {
        text_write(writer, " --tensor_vect 1 --vector_length %d", block);
    }
    return true;
}

static void write_casts(struct text_writer *writer, const struct problem *p)
{
    static const char *const names[TENSOR_COUNT] = {"in_cast_type", "wei_cast_type",
                                                    "out_cast_type"};
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->cast[t] != TYPE_NONE) {
            g_autofree char *type = g_ascii_strdown(data_type_name(p->cast[t]), -1);
            text_write(writer, " --%s %s", names[t], type);
        }
    }
}

char *driver_line_format(const struct problem *p)
{
    char buffer[2048];
    struct text_writer writer;
    const char *command = command_word(p);
    if (command == NULL) {
        return NULL;
    }
    text_writer_init(&writer, buffer, sizeof buffer);
    text_write(&writer, "%s%s%s %s", problem_is_tf32(p) ? tf32_variable : "",
               problem_is_tf32(p) ? "1 " : "", driver_path, command);
    write_numbers(&writer, p);
    if (!write_layouts(&writer, p)) {
        return NULL;
    }
    write_casts(&writer, p);
    text_write(&writer, " --mode conv --pad_mode default -F %d", 1 << p->direction);
    return g_strdup(buffer);
}
