#include "coordinator/network/host/host_array.h"

#include <math.h>
#include <string.h>

struct host_array *host_array_new(const struct shape *shape)
{
    struct host_array *array = g_new0(struct host_array, 1);
    bool is_set = shape_set_packed(&array->shape, shape->type, shape->rank, shape->dim, NULL);
    g_assert(is_set);
    array->references = 1;
    array->count = shape_elements(&array->shape);
    array->data = g_new(double, MAX(array->count, 1));
    return array;
}

struct host_array *host_array_of(const struct tensor *tensor)
{
    struct host_array *array = host_array_new(&tensor->shape);
    const void *data = tensor_data(tensor);
    if (tensor->shape.type == ELEMENT_FLOAT32) {
        const float *floats = data;
        for (int64_t i = 0; i < array->count; i++) {
            array->data[i] = floats[i];
        }
        return array;
    }
    for (int64_t i = 0; i < array->count; i++) {
        array->data[i] = element_read(data, tensor->shape.type, i);
    }
    return array;
}

struct host_array *host_array_ref(struct host_array *array)
{
    array->references++;
    return array;
}

void host_array_unref(struct host_array *array)
{
    if (array != NULL && --array->references == 0) {
        g_free(array->data);
        g_free(array);
    }
}

struct tensor *host_array_tensor(const struct host_array *array)
{
    void *data = g_malloc0((gsize)MAX(shape_bytes(&array->shape), 1));
    for (int64_t i = 0; i < array->count; i++) {
        element_write(data, array->shape.type, i, array->data[i]);
    }
    return tensor_take(&array->shape, data);
}

static void round_piece(void *context, int64_t first, int64_t last)
{
    struct host_array *array = context;
    enum element_type type = array->shape.type;
    if (type == ELEMENT_FLOAT32) {
        for (int64_t i = first; i < last; i++) {
            array->data[i] = (float)array->data[i];
        }
        return;
    }
    for (int64_t i = first; i < last; i++) {
        guint64 element = 0;
        double value = element_type_is_float(type) || type == ELEMENT_BOOL ? array->data[i]
                                                                           : rint(array->data[i]);
        element_write(&element, type, 0, value);
        array->data[i] = element_read(&element, type, 0);
    }
}

void host_array_round(struct host_array *array, int threads)
{
    if (array->shape.type != ELEMENT_FLOAT64) {
        host_parallel_pieces(array->count, threads, round_piece, array);
    }
}

struct walk {
    const struct shape *shape;
    double *packed, *strided;
    int64_t offset;
    const int64_t *strides;
    bool is_gather;
    int64_t length; /* of a row, which is the last axis */
};

/* Moves packed elements [first, last) in parts of rows. Calls of index arithmetic are one for each row. */
static void walk_piece(void *context, int64_t first, int64_t last)
{
    const struct walk *w = context;
    int64_t index[SHAPE_MAX_RANK] = {0}, row = first / w->length, column = first % w->length;
    int64_t offset = w->offset;
    int inner = w->shape->rank - 1;
    int64_t step = inner >= 0 ? w->strides[inner] : 0;
    for (int a = inner - 1; a >= 0; a--) {
        index[a] = row % w->shape->dim[a];
        offset += index[a] * w->strides[a];
        row /= w->shape->dim[a];
    }
    for (int64_t i = first, count; i < last; i += count) {
        double *packed = w->packed + i, *strided = w->strided + offset + column * step;
        count = MIN(w->length - column, last - i);
        if (w->is_gather) {
            for (int64_t j = 0; j < count; j++) {
                packed[j] = strided[j * step];
            }
        } else {
            for (int64_t j = 0; j < count; j++) {
                strided[j * step] = packed[j];
            }
        }
        column = 0;
        for (int a = inner - 1; a >= 0; a--) {
            offset += w->strides[a];
            if (++index[a] < w->shape->dim[a]) {
                break;
            }
            offset -= w->strides[a] * w->shape->dim[a];
            index[a] = 0;
        }
    }
}

static void walk(const struct shape *shape, double *packed, double *strided, int64_t offset,
                 const int64_t *strides, bool is_gather, int threads)
{
    struct walk w = {shape, packed, strided, offset, strides, is_gather, 1};
    if (shape->rank > 0) {
        w.length = shape->dim[shape->rank - 1];
    }
    host_parallel_pieces(shape_elements(shape), threads, walk_piece, &w);
}

void host_gather(struct host_array *to, const double *from, int64_t offset, const int64_t *strides,
                 int threads)
{
    walk(&to->shape, to->data, (double *)from, offset, strides, true, threads);
}

void host_scatter(double *to, int64_t offset, const int64_t *strides, const struct host_array *from,
                  int threads)
{
    walk(&from->shape, from->data, to, offset, strides, false, threads);
}

struct host_array *host_array_through(const struct host_array *array, const struct view *view,
                                      int threads)
{
    /* The atoms of a view are axes with one step each; a view has at most SHAPE_MAX_RANK of them. */
    struct shape shape, atoms;
    int64_t dims[SHAPE_MAX_RANK] = {0}, steps[SHAPE_MAX_RANK] = {0};
    shape_set_packed(&shape, view->type, view->rank, view->dim, NULL);
    struct host_array *result = host_array_new(&shape);
    for (int i = 0; i < view->atom_count; i++) {
        dims[i] = view->atoms[i].size;
        steps[i] = view->atoms[i].step;
    }
    if (result->count == 0) {
        return result;
    }
    shape_set_packed(&atoms, view->type, view->atom_count, dims, NULL);
    walk(&atoms, result->data, array->data, 0, steps, true, threads);
    if (view->type != array->shape.type) {
        host_array_round(result, threads);
    }
    return result;
}

/* ---- threads ---- */

struct crew {
    void (*work)(void *context, int64_t index);
    void *context;
    int64_t count;
    gint64 next;
};

static gpointer take_work(gpointer data)
{
    struct crew *crew = data;
    for (;;) {
        int64_t index = __atomic_fetch_add(&crew->next, 1, __ATOMIC_RELAXED);
        if (index >= crew->count) {
            return NULL;
        }
        crew->work(crew->context, index);
    }
}

void host_parallel(int64_t count, int threads, void (*work)(void *context, int64_t index),
                   void *context)
{
    struct crew crew = {work, context, count, 0};
    GThread *helpers[64];
    int wanted = (int)CLAMP(MIN((int64_t)threads, count) - 1, 0, 63), helper_count = 0;
    while (helper_count < wanted &&
           (helpers[helper_count] = g_thread_try_new("host", take_work, &crew, NULL)) != NULL) {
        helper_count++;
    }
    take_work(&crew);
    for (int i = 0; i < helper_count; i++) {
        g_thread_join(helpers[i]);
    }
}

/* Elements of a piece: 512 KiB, which a core's cache holds. Threads take turns seldom, and small arrays have one piece. */
#define PIECE_ELEMENTS 65536

struct pieces {
    int64_t row_count, rows; /* rows: of a piece */
    void (*work)(void *context, int64_t first, int64_t last);
    void *context;
};

static void work_on_piece(void *context, int64_t index)
{
    const struct pieces *pieces = context;
    int64_t first = index * pieces->rows;
    pieces->work(pieces->context, first, MIN(first + pieces->rows, pieces->row_count));
}

void host_parallel_rows(int64_t row_count, int64_t length, int threads,
                        void (*work)(void *context, int64_t first, int64_t last), void *context)
{
    int64_t rows = MAX(PIECE_ELEMENTS / MAX(length, 1), 1);
    struct pieces pieces = {row_count, rows, work, context};
    host_parallel((row_count + rows - 1) / rows, threads, work_on_piece, &pieces);
}

void host_parallel_pieces(int64_t count, int threads,
                          void (*work)(void *context, int64_t first, int64_t last), void *context)
{
    host_parallel_rows(count, 1, threads, work, context);
}
