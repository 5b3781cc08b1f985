#include "coordinator/network/passes/passes.h"

#include "coordinator/network/host/host_array.h"

#include <math.h>
#include <string.h>

/* Number `index` of a sequence that follows from the seed alone: splitmix64 (Steele, Lea, Flood, "Fast splittable
 * pseudorandom number generators", 2014). */
static guint64 random_bits(guint64 seed, int64_t index)
{
    guint64 z = seed + ((guint64)index + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* From -1 to 1. */
static double random_number(guint64 seed, int64_t index)
{
    return (double)(random_bits(seed, index) >> 11) / (double)(G_GUINT64_CONSTANT(1) << 52) - 1;
}

enum role { ROLE_FILTER, ROLE_SCALE, ROLE_VARIANCE, ROLE_LIST };

/* The role of the constant in the first node that uses it. */
static enum role role_of(const struct value *value)
{
    const struct use *use = value->use_count > 0 ? &value->uses[0] : NULL;
    if (use == NULL || use->node == NULL) {
        return value->shape.rank >= 2 ? ROLE_FILTER : ROLE_LIST;
    }
    const char *name = use->node->op->name;
    if (strcmp(name, "BatchNormalization") == 0) {
        return use->input == 1 ? ROLE_SCALE : use->input == 4 ? ROLE_VARIANCE : ROLE_LIST;
    }
    if (strstr(name, "Normalization") != NULL && use->input == 1) {
        return ROLE_SCALE;
    }
    return value->shape.rank >= 2 ? ROLE_FILTER : ROLE_LIST;
}

/* The width of uniform numbers that keep the variance of what a filter reads, behind relu: sqrt(6 / fan-in) (He et al.,
 * "Delving deep into rectifiers", 2015). */
static double filter_width(const struct value *value)
{
    const struct use *use = value->use_count > 0 ? &value->uses[0] : NULL;
    const struct shape *shape = &value->shape;
    bool is_columns = use != NULL && use->node != NULL &&
                      (strcmp(use->node->op->name, "MatMul") == 0 ||
                       (strcmp(use->node->op->name, "Gemm") == 0 &&
                        attributes_int(use->node->attributes, "transB", 0) == 0));
    int64_t rows = is_columns ? shape->dim[shape->rank - 1] : shape->dim[0];
    return sqrt(6.0 / (double)MAX(shape_elements(shape) / MAX(rows, 1), 1));
}

struct filling {
    enum element_type type;
    guint64 seed;
    double centre, width;
    void *data;
};

static void fill_piece(void *context, int64_t first, int64_t last)
{
    const struct filling *f = context;
    bool is_float = element_type_is_float(f->type);
    for (int64_t i = first; i < last; i++) {
        double number = random_number(f->seed, i);
        element_write(f->data, f->type, i,
                      is_float ? f->centre + f->width * number : rint(127 * number));
    }
}

static void fill(struct value *value, guint64 seed)
{
    const struct shape *shape = &value->shape;
    enum role role = role_of(value);
    struct filling filling = {
        .type = shape->type,
        .seed = seed ^ ((guint64)value->id * 0xD1342543DE82EF95u),
        .centre = role == ROLE_SCALE || role == ROLE_VARIANCE ? 1 : 0,
        .width = role == ROLE_FILTER ? filter_width(value)
                 : role == ROLE_LIST ? 0.1
                                     : 0.5,
        .data = g_malloc0((gsize)MAX(shape_bytes(shape), 1)),
    };
    host_parallel_pieces(shape_elements(shape), (int)g_get_num_processors(), fill_piece, &filling);
    g_autoptr(Tensor) tensor = tensor_take(shape, filling.data);
    graph_set_constant(value, tensor);
}

/* Filters of at least so many elements are never all the same in a trained network. */
#define FILTER_LEAST 64

/* Whether the constant is a filter that a model for tests of speed has filled with one number. Networks of such
 * filters overflow, or give each class the same. */
static bool is_filled_with_one(const struct value *value)
{
    const struct shape *shape = &value->constant->shape;
    const struct use *use = value->use_count > 0 ? &value->uses[0] : NULL;
    if (use == NULL || use->node == NULL) {
        return false;
    }
    const char *name = use->node->op->name;
    bool is_filter = strcmp(name, "Conv") == 0 || strcmp(name, "ConvTranspose") == 0 ||
                     strcmp(name, "Gemm") == 0 || strcmp(name, "MatMul") == 0;
    int64_t count = shape_elements(shape);
    gsize bytes = (gsize)element_type_bytes(shape->type);
    if (!is_filter || use->input != 1 || shape->rank < 2 || count < FILTER_LEAST ||
        !element_type_is_float(shape->type)) {
        return false;
    }
    const guint8 *data = tensor_data(value->constant);
    return memcmp(data, data + bytes, bytes * (gsize)(count - 1)) == 0;
}

int network_fill_weights(struct graph *graph, guint64 seed)
{
    int filled = 0;
    for (guint i = 0; i < graph->values->len; i++) {
        struct value *value = graph->values->pdata[i];
        if (!value->removed && value->kind == VALUE_CONSTANT && value->constant != NULL &&
            (!tensor_has_data(value->constant) || is_filled_with_one(value))) {
            fill(value, seed);
            filled++;
        }
    }
    graph_propagate(graph);
    return filled;
}
