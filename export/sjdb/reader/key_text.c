/* Parses and prints the key of a problem: MIOpen's find-db key, with an operator in front of it, and
 * strides and an epilogue behind it. */
#include "export/sjdb/reader/forms.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The fields of the tensor that a key has in front of the filter, or of the one behind the
 * filter. */
struct side {
    int64_t channels, size[3];
    int32_t layout, type, cast;
};

static const struct word {
    const char *text;
    size_t length;
} type_words[] = {{"", 0},      {"FP32", 4}, {"FP16", 4}, {"BF16", 4}, {"INT8", 4},
                  {"INT32", 5}, {"FP64", 4}, {"FP8", 3},  {"BF8", 3}},
  layout_words[] = {{"NCHW", 4},   {"NHWC", 4},   {"CHWN", 4},  {"NCHWc4", 6}, {"NCHWc8", 6},
                    {"CHWNc4", 6}, {"CHWNc8", 6}, {"NCDHW", 5}, {"NDHWC", 5}};
#define TYPES   ((int32_t)(sizeof type_words / sizeof type_words[0]))
#define LAYOUTS ((int32_t)(sizeof layout_words / sizeof layout_words[0]))

static inline uint64_t digit_value(char c)
{
    return (unsigned char)(c - '0');
}

/* Returns whether a number of 19 or more digits fits into int64_t. Slow, but real keys have no such
 * number. */
static bool fits(const char *digit, const char *end)
{
    uint64_t number = 0;
    for (; digit < end; digit++) {
        if (number > (INT64_MAX - digit_value(*digit)) / 10) {
            return false;
        }
        number = number * 10 + digit_value(*digit);
    }
    return true;
}

/* Takes a number without leading zeros, up to INT64_MAX. */
static inline bool take_number(const char **at, int64_t *value)
{
    const char *digit = *at;
    uint64_t number = digit_value(*digit), next;
    if (number > 9) {
        return false;
    }
    while ((next = digit_value(*++digit)) <= 9) {
        if (number == 0) {
            return false;
        }
        number = number * 10 + next;
    }
    if (digit - *at > 18 && !fits(*at, digit)) {
        return false;
    }
    *at = digit;
    *value = (int64_t)number;
    return true;
}

/* Returns true if the text begins with the word. A loop is faster than a library call for words
 * this short. */
static inline bool begins_with(const char *at, const struct word *word)
{
    size_t i = 0;
    while (i < word->length && at[i] == word->text[i]) {
        i++;
    }
    return i == word->length;
}

static bool take_char(const char **at, char c)
{
    bool taken = **at == c;
    *at += taken;
    return taken;
}

static bool take_count(const char **at, int64_t *value)
{
    return take_number(at, value) && take_char(at, '-');
}

/* Takes the sizes of the axes from first_axis on, separated by `separator`; the last one is
 * followed by '-'. */
static bool take_sizes(const char **at, int first_axis, char separator, int64_t *sizes)
{
    for (int a = first_axis; a < 3; a++) {
        if (!take_number(at, &sizes[a]) || !take_char(at, a == 2 ? '-' : separator)) {
            return false;
        }
    }
    return true;
}

/* Takes the channels and sizes in front of the filter. The first number that 'x' follows is the
 * filter's: three numbers before it mean a 2D problem, four a 3D problem. */
static bool take_front(const char **at, struct skipjackdb_problem *p, struct side *front)
{
    int64_t numbers[5];
    int count = 0;
    do {
        if (count == 5 || !take_number(at, &numbers[count++])) {
            return false;
        }
    } while (take_char(at, '-'));
    if (count < 4 || !take_char(at, 'x')) {
        return false;
    }
    int first_axis = count == 5 ? 0 : 1;
    p->spatial_dim = 3 - first_axis;
    front->channels = numbers[0];
    for (int a = first_axis; a < 3; a++) {
        front->size[a] = numbers[1 + a - first_axis];
    }
    p->fil[first_axis] = numbers[count - 1];
    return take_sizes(at, first_axis + 1, 'x', p->fil);
}

static bool take_numbers(const char **at, struct skipjackdb_problem *p, struct side *front,
                         struct side *back)
{
    int64_t bias = 0;
    if (!take_front(at, p, front)) {
        return false;
    }
    int first_axis = 3 - p->spatial_dim;
    if (!take_count(at, &back->channels) || !take_sizes(at, first_axis, '-', back->size) ||
        !take_count(at, &p->n) || !take_sizes(at, first_axis, 'x', p->pad) ||
        !take_sizes(at, first_axis, 'x', p->stride) ||
        !take_sizes(at, first_axis, 'x', p->dilation) || !take_count(at, &bias) || bias > 1) {
        return false;
    }
    p->bias = (int32_t)bias;
    return true;
}

static bool take_layout(const char **at, int32_t *layout)
{
    size_t length = 0;
    if (**at != 'N' && **at != 'C') {
        return false;
    }
    while (length < 7 && (*at)[length] != '-' && (*at)[length] != '\0') {
        length++;
    }
    for (int32_t i = 0; (*at)[length] == '-' && i < LAYOUTS; i++) {
        if (length == layout_words[i].length && begins_with(*at, &layout_words[i])) {
            *layout = i;
            *at += length + 1;
            return true;
        }
    }
    return false;
}

static bool all_are(const int32_t *three, int32_t one)
{
    return three[0] == one && three[1] == one && three[2] == one;
}

static int32_t default_layout(const struct skipjackdb_problem *p)
{
    return p->spatial_dim == 3 ? SKIPJACKDB_NCDHW : SKIPJACKDB_NCHW;
}

/* Takes the layouts: one word if all three tensors have the default layout (NCHW, in 3D NCDHW),
 * else three words, even if these are equal. */
static bool take_layouts(const char **at, struct skipjackdb_problem *p, struct side *front,
                         struct side *back)
{
    if (!take_layout(at, &front->layout)) {
        return false;
    }
    bool three = take_layout(at, &p->layout[1]);
    if (!three) {
        p->layout[1] = back->layout = front->layout;
    } else if (!take_layout(at, &back->layout)) {
        return false;
    }
    const int32_t layouts[] = {front->layout, p->layout[1], back->layout};
    return three != all_are(layouts, default_layout(p));
}

/* Takes a data type. No type's name begins with another type's name, so the first match is
 * right. */
static bool take_type(const char **at, int32_t *type)
{
    if (**at != 'F' && **at != 'B' && **at != 'I') {
        return false;
    }
    for (int32_t i = 1; i < TYPES; i++) {
        if (begins_with(*at, &type_words[i])) {
            *at += type_words[i].length;
            *type = i;
            return true;
        }
    }
    return false;
}

/* Takes the data types: one word if all three tensors have the same, else three words in a row. */
static bool take_types(const char **at, struct skipjackdb_problem *p, struct side *front,
                       struct side *back)
{
    if (!take_type(at, &front->type)) {
        return false;
    }
    bool three = take_type(at, &p->type[1]);
    if (!three) {
        p->type[1] = back->type = front->type;
        return true;
    }
    const int32_t rest[] = {p->type[1], front->type, front->type};
    return take_type(at, &back->type) && !(all_are(rest, front->type) && back->type == front->type);
}

static bool take_direction(const char **at, int32_t *direction)
{
    static const char letters[] = {'F', 'B', 'W'};
    for (int32_t i = 0; **at == '-' && i < 3; i++) {
        if ((*at)[1] == letters[i]) {
            *at += 2;
            *direction = i;
            return true;
        }
    }
    return false;
}

static bool take_cast(const char **at, char letter, int32_t *cast)
{
    if ((*at)[0] != '_' || (*at)[1] != 'c' || (*at)[2] != letter) {
        return true;
    }
    *at += 3;
    return take_type(at, cast) && (**at == '_' || **at == '+' || **at == '\0');
}

/* Takes the type in which a convolution may be computed ("_cxTF32"). */
static bool take_computing(const char **at, struct skipjackdb_problem *p)
{
    static const struct word computing = {"_cx" SJDB_TF32, sizeof "_cx" SJDB_TF32 - 1};
    if ((*at)[0] != '_' || (*at)[1] != 'c') {
        return true;
    }
    if (p->kind != SKIPJACKDB_CONV || !begins_with(*at, &computing)) {
        return false;
    }
    *at += computing.length;
    memcpy(p->mode, SJDB_TF32, sizeof SJDB_TF32);
    return **at == '_' || **at == '+' || **at == '\0';
}

static bool take_options(const char **at, struct skipjackdb_problem *p, struct side *front,
                         struct side *back)
{
    if ((*at)[0] == '_' && (*at)[1] == 'g') {
        *at += 2;
        if (!take_number(at, &p->groups) || p->groups == 1) {
            return false;
        }
    }
    return take_cast(at, 'i', &front->cast) && take_cast(at, 'w', &p->cast[1]) &&
           take_cast(at, 'o', &back->cast) && take_computing(at, p);
}

/* Takes the operator in front of a key that begins with a letter. */
static bool take_kind(const char **at, struct skipjackdb_problem *p)
{
    if (digit_value(**at) <= 9) {
        return true;
    }
    return sjdb_kind_read(at, p) && p->kind != SKIPJACKDB_CONV && take_char(at, '-');
}

static bool named(const struct word *words, int32_t first, int32_t count, const char *name,
                  int32_t *number)
{
    for (int32_t i = first; i < count; i++) {
        if (strcmp(words[i].text, name) == 0) {
            *number = i;
            return true;
        }
    }
    return false;
}

bool sjdb_type_named(const char *name, int32_t *type)
{
    return named(type_words, 1, TYPES, name, type);
}

bool sjdb_layout_named(const char *name, int32_t *layout)
{
    return named(layout_words, 0, LAYOUTS, name, layout);
}

static void put_side(struct skipjackdb_problem *p, const struct side *side, int tensor)
{
    int64_t *size = tensor == 0 ? p->in : p->out;
    *(tensor == 0 ? &p->c : &p->k) = side->channels;
    memcpy(size, side->size, sizeof side->size);
    p->layout[tensor] = side->layout;
    p->type[tensor] = side->type;
    p->cast[tensor] = side->cast;
}

int skipjackdb_problem_init(struct skipjackdb_problem *p)
{
    if (!sjdb_problem_sized(p)) {
        return SKIPJACKDB_USAGE;
    }
    size_t size = p->size;
    memset(p, 0, size < sizeof *p ? SJDB_PROBLEM_1_1 : sizeof *p);
    p->size = size;
    p->n = p->c = p->k = p->groups = 1;
    p->spatial_dim = 2;
    for (int i = 0; i < 3; i++) {
        p->in[i] = p->fil[i] = p->out[i] = p->stride[i] = p->dilation[i] = 1;
        p->type[i] = SKIPJACKDB_FP32;
    }
    return SKIPJACKDB_OK;
}

int skipjackdb_problem_set_output(struct skipjackdb_problem *p)
{
    if (!sjdb_problem_sized(p)) {
        return SKIPJACKDB_USAGE;
    }
    bool windows = p->size < sizeof *p || p->kind == SKIPJACKDB_CONV || p->kind == SKIPJACKDB_POOL;
    for (int a = 0; a < 3; a++) {
        p->out[a] = windows ? sjdb_formula_output(p, a) : p->in[a];
    }
    return SKIPJACKDB_OK;
}

/* In keys of directions B and W the tensor in front of the filter is y, in those of F it is x. */
static bool parse(const char *key, struct skipjackdb_problem *p)
{
    struct side front = {.size = {1, 1, 1}}, back = {.size = {1, 1, 1}};
    const char *at = key;
    if (!take_kind(&at, p) || !take_numbers(&at, p, &front, &back) ||
        !take_layouts(&at, p, &front, &back) || !take_types(&at, p, &front, &back) ||
        !take_direction(&at, &p->direction) || !take_options(&at, p, &front, &back) ||
        !sjdb_strides_read(&at, p) || !sjdb_epilogue_read(at, p)) {
        return false;
    }
    int front_tensor = p->direction == SKIPJACKDB_F ? 0 : 2;
    put_side(p, &front, front_tensor);
    put_side(p, &back, 2 - front_tensor);
    return true;
}

int skipjackdb_problem_parse(const char *key, struct skipjackdb_problem *problem)
{
    struct skipjackdb_problem own = {.size = sizeof own};
    if (key == NULL || !sjdb_problem_sized(problem)) {
        return SKIPJACKDB_USAGE;
    }
    skipjackdb_problem_init(&own);
    return parse(key, &own) && sjdb_problem_give(&own, problem) == SKIPJACKDB_OK
               ? SKIPJACKDB_OK
               : SKIPJACKDB_SYNTAX;
}

struct writer {
    char *buffer;
    /* bytes of the buffer; bytes that the whole text needs, counted as snprintf() does */
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format,
                                                      ...)
{
    bool room = writer->length < writer->size;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(room ? writer->buffer + writer->length : NULL,
                           room ? writer->size - writer->length : 0, format, arguments);
    va_end(arguments);
    writer->length += length > 0 ? (size_t)length : 0;
}

static void put_sizes(struct writer *writer, const struct skipjackdb_problem *p,
                      const int64_t *sizes, char separator)
{
    for (int a = 3 - p->spatial_dim; a < 3; a++) {
        put(writer, "%" PRId64 "%c", sizes[a], a == 2 ? '-' : separator);
    }
}

static void put_numbers(struct writer *writer, const struct skipjackdb_problem *p, int front)
{
    put(writer, "%" PRId64 "-", front == 0 ? p->c : p->k);
    put_sizes(writer, p, front == 0 ? p->in : p->out, '-');
    put_sizes(writer, p, p->fil, 'x');
    put(writer, "%" PRId64 "-", front == 0 ? p->k : p->c);
    put_sizes(writer, p, front == 0 ? p->out : p->in, '-');
    put(writer, "%" PRId64 "-", p->n);
    put_sizes(writer, p, p->pad, 'x');
    put_sizes(writer, p, p->stride, 'x');
    put_sizes(writer, p, p->dilation, 'x');
    put(writer, "%d-", p->bias);
}

static void put_words(struct writer *writer, const struct skipjackdb_problem *p, int front)
{
    static const char cast_letters[] = {'i', 'w', 'o'};
    const int order[] = {front, 1, 2 - front};
    bool one_layout = all_are(p->layout, default_layout(p));
    bool one_type = all_are(p->type, p->type[0]);
    for (int i = 0; i < (one_layout ? 1 : 3); i++) {
        put(writer, "%s-", layout_words[p->layout[order[i]]].text);
    }
    for (int i = 0; i < (one_type ? 1 : 3); i++) {
        put(writer, "%s", type_words[p->type[order[i]]].text);
    }
    put(writer, "-%c", "FBW"[p->direction]);
    if (p->groups != 1) {
        put(writer, "_g%" PRId64, p->groups);
    }
    for (int i = 0; i < 3; i++) {
        if (p->cast[order[i]] != SKIPJACKDB_NO_TYPE) {
            put(writer, "_c%c%s", cast_letters[i], type_words[p->cast[order[i]]].text);
        }
    }
    if (sjdb_is_tf32(p)) {
        put(writer, "_cx" SJDB_TF32);
    }
}

/* Writes the operator in front of the key; nothing for a convolution. */
static void put_kind(struct writer *writer, const struct skipjackdb_problem *p)
{
    char text[SKIPJACKDB_MODE_MAX + 16];
    if (p->kind != SKIPJACKDB_CONV) {
        sjdb_kind_write(p, text, sizeof text);
        put(writer, "%s-", text);
    }
}

static void put_rest(struct writer *writer, const struct skipjackdb_problem *p)
{
    char strides[SJDB_FORM_MAX] = "";
    sjdb_strides_write(p, strides, sizeof strides);
    put(writer, "%s%s", strides, p->epilogue);
}

static bool names_known(const struct skipjackdb_problem *p)
{
    bool known = p->direction >= 0 && p->direction <= SKIPJACKDB_W &&
                 (p->spatial_dim == 2 || p->spatial_dim == 3);
    for (int i = 0; i < 3; i++) {
        known = known && p->type[i] > 0 && p->type[i] < TYPES && p->cast[i] >= 0 &&
                p->cast[i] < TYPES && p->layout[i] >= 0 && p->layout[i] < LAYOUTS;
    }
    return known;
}

int skipjackdb_problem_key(const struct skipjackdb_problem *problem, char *buffer, size_t size)
{
    struct writer writer = {buffer, size, 0};
    struct skipjackdb_problem own, *p = &own;
    if (!sjdb_problem_sized(problem) || buffer == NULL || !sjdb_problem_take(problem, &own) ||
        !names_known(p)) {
        return SKIPJACKDB_USAGE;
    }
    int front = p->direction == SKIPJACKDB_F ? 0 : 2;
    put_kind(&writer, p);
    put_numbers(&writer, p, front);
    put_words(&writer, p, front);
    put_rest(&writer, p);
    return writer.length < size ? SKIPJACKDB_OK : SKIPJACKDB_SPACE;
}
