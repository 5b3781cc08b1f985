#include "coordinator/network/samples.h"

#include "coordinator/network/tensor.h"

#include <math.h>
#include <string.h>

static const char npy_magic[] = "\x93NUMPY";
#define NPY_MAGIC_LENGTH 6

static bool refuse(const char *path, const char *what, GError **error)
{
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "cannot read '%s': %s", path, what);
    return false;
}

/* ---- .npy ---- */

/* The text behind "'name':" in a header, NULL if it has no such key. */
static const char *find_key(const char *header, const char *name)
{
    g_autofree char *quoted = g_strdup_printf("'%s'", name);
    const char *at = strstr(header, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    if (*at != ':')
        return NULL;
    return at + 1 + strspn(at + 1, " ");
}

static enum element_type npy_type(const char *descr)
{
    static const struct {
        const char *word;
        enum element_type type;
    } rows[] = {
        {"'<f4'", ELEMENT_FLOAT32}, {"'<f8'", ELEMENT_FLOAT64}, {"'<f2'", ELEMENT_FLOAT16},
        {"'|i1'", ELEMENT_INT8},    {"'|u1'", ELEMENT_UINT8},   {"'<i2'", ELEMENT_INT16},
        {"'<u2'", ELEMENT_UINT16},  {"'<i4'", ELEMENT_INT32},   {"'<u4'", ELEMENT_UINT32},
        {"'<i8'", ELEMENT_INT64},   {"'<u8'", ELEMENT_UINT64},  {"'|b1'", ELEMENT_BOOL},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (g_str_has_prefix(descr, rows[i].word))
            return rows[i].type;
    }
    return ELEMENT_NONE;
}

/* Parses "(1, 3, 224, 224)". */
static bool take_shape(const char *at, struct samples *samples)
{
    samples->rank = 0;
    samples->count = 1;
    if (*at++ != '(')
        return false;
    for (;;) {
        char *end;
        at += strspn(at, " ,");
        if (*at == ')')
            return true;
        int64_t size = g_ascii_strtoll(at, &end, 10);
        if (end == at || size < 0 || samples->rank == SHAPE_MAX_RANK ||
            __builtin_mul_overflow(samples->count, size, &samples->count))
            return false;
        samples->dims[samples->rank++] = size;
        at = end;
    }
}

static bool read_npy(struct samples *samples, const char *path, const char *data, gsize length,
                     GError **error)
{
    const guint8 *bytes = (const guint8 *)data;
    if (length < 12)
        return refuse(path, "it ends within its header", error);
    bool is_long = bytes[6] >= 2;
    gsize begin = is_long ? 12 : 10;
    gsize header_length = (gsize)bytes[8] | (gsize)bytes[9] << 8;
    if (is_long)
        header_length |= (gsize)bytes[10] << 16 | (gsize)bytes[11] << 24;
    if (header_length > length - begin)
        return refuse(path, "it ends within its header", error);
    g_autofree char *header = g_strndup(data + begin, header_length);
    const char *descr = find_key(header, "descr"), *shape = find_key(header, "shape");
    const char *order = find_key(header, "fortran_order");
    if (!descr || !shape || !order || !take_shape(shape, samples))
        return refuse(path, "its header lacks descr, shape or fortran_order", error);
    if (!g_str_has_prefix(order, "False"))
        return refuse(path, "its elements are in Fortran's order; save them with order='C'", error);
    enum element_type type = npy_type(descr);
    if (type == ELEMENT_NONE)
        return refuse(path, "its elements are no real numbers in little-endian order", error);
    gsize left = length - begin - header_length;
    if ((gsize)samples->count != left / (gsize)element_type_bytes(type) ||
        left % (gsize)element_type_bytes(type) != 0)
        return refuse(path, "it has more or fewer elements than its header says", error);
    samples->values = g_new(float, (gsize)samples->count + 1);
    g_autofree char *aligned = g_memdup2(data + begin + header_length, left);
    for (int64_t i = 0; i < samples->count; i++)
        samples->values[i] = (float)element_read(aligned, type, i);
    return true;
}

/* ---- files ---- */

/* Takes *data over. */
static bool read_raw(struct samples *samples, const char *path, char **data, gsize length,
                     GError **error)
{
    if (length % sizeof(float) != 0)
        return refuse(path, "it is no .npy file, and its size is no multiple of 4 bytes (FP32)",
                      error);
    samples->count = (int64_t)(length / sizeof(float));
    samples->values = (float *)(void *)g_steal_pointer(data);
    return true;
}

static bool check_finite(const struct samples *samples, const char *path, GError **error)
{
    for (int64_t i = 0; i < samples->count; i++) {
        if (!isfinite(samples->values[i])) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "cannot read '%s': element %" G_GINT64_FORMAT " is no finite number", path,
                        i);
            return false;
        }
    }
    return true;
}

bool samples_read(struct samples *samples, const char *path, GError **error)
{
    g_autofree char *data = NULL;
    gsize length = 0;
    *samples = (struct samples){.rank = -1};
    if (!g_file_get_contents(path, &data, &length, error))
        return false;
    bool is_npy = length >= NPY_MAGIC_LENGTH && memcmp(data, npy_magic, NPY_MAGIC_LENGTH) == 0;
    if ((is_npy ? read_npy(samples, path, data, length, error)
                : read_raw(samples, path, &data, length, error)) &&
        check_finite(samples, path, error))
        return true;
    samples_clear(samples);
    return false;
}

void samples_clear(struct samples *samples)
{
    g_free(samples->values);
    *samples = (struct samples){.rank = -1};
}

/* The axes longer than 1, in order; returns how many. */
static int long_axes(const int64_t *dims, int rank, int64_t *long_dims)
{
    int count = 0;
    for (int i = 0; i < rank; i++) {
        if (dims[i] != 1)
            long_dims[count++] = dims[i];
    }
    return count;
}

static bool fits_input(const struct samples *samples, const struct shape *input)
{
    int64_t ours[SHAPE_MAX_RANK], theirs[SHAPE_MAX_RANK];
    if (samples->count != shape_elements(input))
        return false;
    if (samples->rank < 0)
        return true;
    int count = long_axes(samples->dims, samples->rank, ours);
    return count <= 1 || (count == long_axes(input->dim, input->rank, theirs) &&
                          memcmp(ours, theirs, (gsize)count * sizeof *ours) == 0);
}

/* "3 x 224 x 224 elements" */
static char *size_text(const struct samples *samples)
{
    GString *text = g_string_new(NULL);
    for (int i = 0; i < samples->rank; i++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i > 0 ? " x " : "", samples->dims[i]);
    if (samples->rank <= 0)
        g_string_append_printf(text, "%" G_GINT64_FORMAT, samples->count);
    g_string_append(text, " elements");
    return g_string_free(text, FALSE);
}

float *samples_join(char *const *paths, const struct shape *inputs, int input_count, int64_t *count,
                    GError **error)
{
    int files = 0;
    *count = 0;
    while (paths[files])
        files++;
    if (files != input_count) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "the network has %d inputs, and %d files are given; give one for each input",
                    input_count, files);
        return NULL;
    }
    for (int i = 0; i < input_count; i++)
        *count += shape_elements(&inputs[i]);
    g_autofree float *joined = g_new(float, (gsize)*count + 1);
    float *at = joined;
    for (int i = 0; i < input_count; i++) {
        struct samples samples;
        int64_t wanted = shape_elements(&inputs[i]);
        if (!samples_read(&samples, paths[i], error))
            return NULL;
        if (!fits_input(&samples, &inputs[i])) {
            g_autofree char *text = shape_text(&inputs[i]), *size = size_text(&samples);
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "'%s' has %s; input %d is %s, %" G_GINT64_FORMAT, paths[i], size, i + 1,
                        text, wanted);
            samples_clear(&samples);
            return NULL;
        }
        memcpy(at, samples.values, (gsize)wanted * sizeof(float));
        at += wanted;
        samples_clear(&samples);
    }
    return g_steal_pointer(&joined);
}

float *samples_random(uint64_t seed, int64_t count)
{
    float *values = g_new(float, (gsize)count + 1);
    guint32 words[] = {(guint32)seed, (guint32)(seed >> 32)};
    GRand *random = g_rand_new_with_seed_array(words, G_N_ELEMENTS(words));
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)g_rand_double_range(random, -1, 1);
    g_rand_free(random);
    return values;
}

/* ---- comparing ---- */

static int64_t largest_place(const float *row, int64_t count)
{
    int64_t place = 0;
    for (int64_t i = 1; i < count; i++)
        place = row[i] > row[place] ? i : place;
    return place;
}

static double top1(const float *got, const float *right, int64_t count, int64_t rows)
{
    int64_t row = rows > 0 ? count / rows : 0, same = 0;
    if (row == 0)
        return 1;
    for (int64_t i = 0; i < rows; i++)
        same += largest_place(got + i * row, row) == largest_place(right + i * row, row);
    return (double)same / (double)rows;
}

void samples_compare(const float *got, const float *right, int64_t count, int64_t rows,
                     struct samples_distance *distance)
{
    double largest = 0, most = 0, sum = 0, dot = 0, left_square = 0, right_square = 0;
    *distance = (struct samples_distance){.is_finite = true};
    for (int64_t i = 0; i < count; i++) {
        double a = (double)got[i], b = (double)right[i], difference = fabs(a - b);
        if (!isfinite(a) && isfinite(b))
            distance->is_finite = false;
        if (!isfinite(a) || !isfinite(b))
            continue;
        largest = MAX(largest, fabs(b));
        most = MAX(most, difference);
        sum += difference;
        dot += a * b;
        left_square += a * a;
        right_square += b * b;
    }
    double scale = largest > 0 ? largest : 1;
    distance->max_error = most / scale;
    distance->mean_error = count > 0 ? sum / (double)count / scale : 0;
    distance->cosine = left_square > 0 && right_square > 0
                           ? dot / (sqrt(left_square) * sqrt(right_square))
                           : (left_square == right_square ? 1 : 0);
    distance->top1 = top1(got, right, count, rows);
}
