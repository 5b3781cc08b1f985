/*
 * The frame around the kinds of operators (reference_kinds.h): what all of them support, the epilogue on their results,
 * and the cache.
 */
#include "worker/verify/reference.h"

#include <math.h>
#include <string.h>

#include "worker/protocol/frames.h"
#include "worker/verify/epilogue_bound.h"
#include "worker/verify/parallel.h"
#include "worker/verify/reference_kinds.h"
#include "worker/verify/tensor.h"

static const struct reference_kind *const kinds[OP_KIND_COUNT] = {
    [OP_CONV] = &reference_conv,           [OP_POOL] = &reference_pool,
    [OP_POINTWISE] = &reference_pointwise, [OP_SOFTMAX] = &reference_softmax,
    [OP_RESIZE] = &reference_resize,       [OP_LRN] = &reference_lrn,
};

double reference_length(const struct problem *p)
{
    return kinds[p->kind]->length(p);
}

/* Returns the reason why the host cannot compute the problem's reference, as the end of "a problem
 * with ..."; NULL if it can. */
static const char *find_obstacle(const struct problem *p)
{
    if (p->kind >= OP_KIND_COUNT || !kinds[p->kind])
        return p->kind < OP_KIND_COUNT ? op_kind_name(p->kind) : "an unknown operator";
    for (int t = 0; t < OPERAND_COUNT; t++) {
        struct tensor tensor;
        tensor_init(&tensor, p, (enum tensor_role)t);
        if (tensor_exists(&tensor) && !tensor_type_supported(tensor.type))
            return data_type_name(tensor.type);
        if (tensor_exists(&tensor) && tensor_overlaps(&tensor))
            return "a tensor whose elements overlap";
    }
    return NULL;
}

bool reference_supports(const struct problem *p, GError **error)
{
    const char *what = find_obstacle(p);

    if (!what)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_INVALID,
                "cannot compute a reference for a problem with %s", what);
    return false;
}

static struct reference *reference_new(const struct problem *p)
{
    struct reference *reference = g_new0(struct reference, 1);
    struct tensor tensor;

    reference->role = problem_output_role(p);
    tensor_init(&tensor, p, reference->role);
    reference->count = tensor_count(&tensor);
    reference->length = reference_length(p);
    reference->value = g_new(double, reference->count);
    reference->magnitude = g_new(float, reference->count);
    for (int64_t i = 0; i < reference->count; i++) {
        reference->value[i] = NAN;
        reference->magnitude[i] = NAN;
    }
    reference->uses = 1;
    return reference;
}

static struct epilogue_inputs inputs_at(const struct epilogue_bound *bound,
                                        const double *const dense[OPERAND_COUNT], int64_t index)
{
    int64_t channel = epilogue_bound_channel(bound, index);
    struct epilogue_inputs inputs = {.residual_scale = 1};

    if (dense[TENSOR_BIAS])
        inputs.bias = dense[TENSOR_BIAS][channel];
    if (dense[TENSOR_RESIDUAL])
        inputs.residual = dense[TENSOR_RESIDUAL][index];
    if (dense[TENSOR_SCALES]) {
        inputs.scale = dense[TENSOR_SCALES][bound->scales > 2 ? channel : 0];
        inputs.residual_scale = dense[TENSOR_SCALES][bound->scales - 1];
    }
    return inputs;
}

struct finishing {
    struct epilogue_bound bound;
    const double *const *dense;
    struct reference *out;
};

static void finish_piece(void *data, int64_t piece)
{
    const struct finishing *f = data;
    struct reference *out = f->out;
    int64_t end = parallel_piece_end(piece, out->count);

    for (int64_t i = piece * PARALLEL_PIECE; i < end; i++) {
        struct bounded at = {NAN, NAN, NAN};
        struct epilogue_inputs inputs = inputs_at(&f->bound, f->dense, i);
        if (!isnan(out->magnitude[i]))
            epilogue_bound_at(&f->bound, out->value[i], (double)out->magnitude[i], &inputs, &at);
        out->value[i] = at.value;
        out->gain[i] = (float)at.gain;
        out->slack[i] = (float)at.slack;
    }
}

/* Does the epilogue on the computed elements. */
static void finish(const struct problem *p, const double *const dense[OPERAND_COUNT], int threads,
                   struct reference *out)
{
    struct finishing finishing = {.dense = dense, .out = out};

    epilogue_bound_init(&finishing.bound, p);
    out->gain = g_new(float, out->count);
    out->slack = g_new(float, out->count);
    parallel_parts(threads, parallel_pieces(out->count), finish_piece, &finishing);
}

/* The input after its cast: a copy, which *copy owns, or the input itself where it is not cast. */
static const double *cast_input(const struct problem *p, enum tensor_role role, const double *dense,
                                double **copy)
{
    enum data_type cast = problem_cast_type(p, role);
    struct tensor tensor;

    if (cast == TYPE_NONE)
        return dense;
    tensor_init(&tensor, p, role);
    int64_t count = tensor_count(&tensor);
    *copy = g_new(double, count);
    for (int64_t i = 0; i < count; i++)
        (*copy)[i] = tensor_round(cast, dense[i]);
    return *copy;
}

struct reference *reference_compute(const struct problem *p,
                                    const double *const dense[OPERAND_COUNT], int threads,
                                    double work_limit, GError **error)
{
    const double *inputs[OPERAND_COUNT];
    double *copies[TENSOR_COUNT] = {NULL};
    struct reference *out;

    if (!reference_supports(p, error))
        return NULL;
    out = reference_new(p);
    memcpy(inputs, dense, sizeof(inputs));
    for (int t = 0; t < TENSOR_COUNT; t++)
        inputs[t] = cast_input(p, (enum tensor_role)t, dense[t], &copies[t]);
    kinds[p->kind]->compute(p, inputs, MAX(threads, 1), work_limit, out);
    for (int t = 0; t < TENSOR_COUNT; t++)
        g_free(copies[t]);
    int64_t known = 0;
    for (int64_t i = 0; i < out->count; i++) {
        out->largest = fmax(out->largest, (double)out->magnitude[i]);
        known += !isnan(out->magnitude[i]);
    }
    out->share = (double)known / (double)out->count;
    if (p->epilogue[0]) {
        finish(p, dense, threads, out);
        return out;
    }
    for (int64_t i = 0; i < out->count; i++)
        out->value[i] = tensor_clamp(problem_operand_type(p, out->role), out->value[i]);
    return out;
}

static struct reference *reference_ref(struct reference *reference)
{
    reference->uses++;
    return reference;
}

void reference_unref(struct reference *reference)
{
    if (!reference || --reference->uses > 0)
        return;
    g_free(reference->value);
    g_free(reference->magnitude);
    g_free(reference->gain);
    g_free(reference->slack);
    g_free(reference);
}

int64_t reference_bytes(const struct reference *reference)
{
    int floats = reference->gain ? 3 : 1;

    return reference->count * (int64_t)(sizeof(double) + (size_t)floats * sizeof(float));
}

/* ---- the cache of references ---- */

struct entry {
    struct problem problem;
    uint64_t seed;
    struct reference *reference;
};

struct reference_cache {
    GQueue entries; /* struct entry, most recently used first */
    int64_t bytes, bytes_limit;
};

struct reference_cache *reference_cache_new(int64_t bytes_limit)
{
    struct reference_cache *cache = g_new0(struct reference_cache, 1);

    g_queue_init(&cache->entries);
    cache->bytes_limit = bytes_limit;
    return cache;
}

static void drop_last(struct reference_cache *cache)
{
    struct entry *entry = g_queue_pop_tail(&cache->entries);

    cache->bytes -= reference_bytes(entry->reference);
    reference_unref(entry->reference);
    g_free(entry);
}

void reference_cache_free(struct reference_cache *cache)
{
    while (cache && !g_queue_is_empty(&cache->entries))
        drop_last(cache);
    g_free(cache);
}

struct reference *reference_cache_find(struct reference_cache *cache, const struct problem *p,
                                       uint64_t seed)
{
    for (GList *link = cache->entries.head; link; link = link->next) {
        struct entry *entry = link->data;
        if (entry->seed == seed && problem_equal(&entry->problem, p)) {
            g_queue_unlink(&cache->entries, link);
            g_queue_push_head_link(&cache->entries, link);
            return reference_ref(entry->reference);
        }
    }
    return NULL;
}

void reference_cache_add(struct reference_cache *cache, const struct problem *p, uint64_t seed,
                         struct reference *reference)
{
    struct entry *entry = g_new(struct entry, 1);

    *entry = (struct entry){*p, seed, reference_ref(reference)};
    g_queue_push_head(&cache->entries, entry);
    cache->bytes += reference_bytes(reference);
    while (cache->bytes > cache->bytes_limit && cache->entries.length > 1)
        drop_last(cache);
}
