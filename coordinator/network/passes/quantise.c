#include "coordinator/network/passes/quantise.h"

#include "coordinator/network/host/host_eval.h"
#include "coordinator/network/passes/kernel_op.h"
#include "coordinator/network/passes/pass.h"
#include "coordinator/network/samples.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define LEVELS 127  /* of INT8 on each side of 0 */
#define BINS   2048 /* of a histogram of absolute values */

static const char *const names[CALIBRATION_COUNT] = {"min_max", "percentile", "least_error"};

const char *calibration_name(enum calibration calibration)
{
    return names[calibration];
}

bool calibration_parse(const char *name, enum calibration *calibration)
{
    for (int i = 0; i < CALIBRATION_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *calibration = (enum calibration)i;
            return true;
        }
    }
    return false;
}

void quantise_options_init(struct quantise_options *options)
{
    *options = (struct quantise_options){
        .sample_count = 4, .seed = 1, .calibration = CALIBRATION_MIN_MAX, .percentile = 99.99};
}

/* The range of one value. */
struct range {
    double largest;   /* absolute value, of the values tied to it */
    double *bins;     /* BINS counts up to `largest`, NULL without */
    int tied_to;      /* id of a value with the same scale, its own for the first of them */
    bool wanted;      /* somebody reads it as INT8 */
    bool is_reshaped; /* a view with the same elements in the same order */
};

struct quantiser {
    struct graph *graph;
    const struct quantise_options *options;
    struct range *ranges; /* by the id that values have before the graph is changed */
    int range_count;
    GHashTable *integers; /* struct value * -> the INT8 value with the same contents */
    GHashTable *scales;   /* struct value * (FP32) -> double * */
    bool is_second_run;
};

/* ---- ties ---- */

static int first_tied(struct quantiser *q, int id)
{
    while (q->ranges[id].tied_to != id) {
        id = q->ranges[id].tied_to = q->ranges[q->ranges[id].tied_to].tied_to;
    }
    return id;
}

static void tie(struct quantiser *q, const struct value *a, const struct value *b)
{
    q->ranges[first_tied(q, a->id)].tied_to = first_tied(q, b->id);
}

/* Whether the node gives the same INT8 elements that it reads. */
static bool carries_integers(const struct node *node)
{
    struct kernel kernel;
    if (node->op == &op_join || node->op == &op_part ||
        (node->op == &op_border && attributes_float(node->attributes, "value", 0) == 0)) {
        return true;
    }
    if (!node_is_kernel_of(node, OP_POOL) && !node_is_kernel_of(node, OP_RESIZE)) {
        return false;
    }
    kernel_read(node, &kernel);
    return kernel.epilogue.count == 0 &&
           (strcmp(kernel.mode, "max") == 0 || g_str_has_prefix(kernel.mode, "nearest"));
}

/* ---- which convolutions ---- */

static bool reads_input(const struct node *node)
{
    return value_base(node->inputs[KERNEL_X], NULL)->kind == VALUE_INPUT;
}

/* Whether a path without another convolution leads from the node to an output of the graph. */
static bool gives_output(const struct value *value)
{
    if (value_is_graph_output(value)) {
        return true;
    }
    for (int i = 0; i < value->use_count; i++) {
        const struct node *user = value->uses[i].node;
        if (user != NULL && !node_is_kernel_of(user, OP_CONV)) {
            for (int o = 0; o < user->output_count; o++) {
                if (gives_output(user->outputs[o])) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bool is_quantisable(const struct quantiser *q, const struct node *node)
{
    struct kernel kernel;
    if (!node_is_kernel_of(node, OP_CONV) || !value_is_constant(node->inputs[KERNEL_W]) ||
        node->inputs[KERNEL_X]->shape.type != ELEMENT_FLOAT32 ||
        node_output(node)->shape.type != ELEMENT_FLOAT32 || node->inputs[KERNEL_SCALES] != NULL) {
        return false;
    }
    kernel_read(node, &kernel);
    bool bias_is_first = !epilogue_reads(&kernel.epilogue, TENSOR_BIAS) ||
                         kernel.epilogue.steps[0].op == EPILOGUE_BIAS;
    /* Two steps more: from the sum's unit, and to the output's. */
    return bias_is_first && !kernel.is_transposed &&
           kernel.epilogue.count + 2 <= EPILOGUE_STEPS_MAX &&
           !(q->options->first_in_fp32 && reads_input(node)) &&
           !(q->options->last_in_fp32 && gives_output(node_output(node)));
}

static bool is_plain(const struct value *value)
{
    return value->view == NULL && value->shape.type == ELEMENT_FLOAT32;
}

/* Marks a value that is read as INT8, and what it is a reshaped view of. */
static void want(struct quantiser *q, struct value *value)
{
    struct view view;
    struct value *base = value_base(value, &view);
    q->ranges[value->id].wanted = true;
    if (base != value && view_is_reshape(&view, &base->shape)) {
        q->ranges[value->id].is_reshaped = true;
        q->ranges[base->id].wanted = true;
        tie(q, value, base);
    }
}

/* Marks values that are read as INT8, from the outputs to the inputs. */
static void find_wanted(struct quantiser *q)
{
    for (struct node *node = q->graph->last; node != NULL; node = node->previous) {
        if (is_quantisable(q, node)) {
            want(q, node->inputs[KERNEL_X]);
        } else if (!node->removed && carries_integers(node) &&
                   q->ranges[node_output(node)->id].wanted) {
            for (int i = 0; i < node->input_count; i++) {
                if (node->inputs[i] != NULL) {
                    want(q, node->inputs[i]);
                    tie(q, node->inputs[i], node_output(node));
                }
            }
        }
    }
}

/* ---- ranges ---- */

#define PIECE 65536 /* elements that a thread looks at before it takes more */

struct largest {
    const struct host_array *array;
    double *of_piece;
};

static void find_largest(void *context, int64_t piece)
{
    const struct largest *largest = context;
    const double *data = largest->array->data;
    double most = 0;
    for (int64_t i = piece * PIECE; i < MIN((piece + 1) * PIECE, largest->array->count); i++) {
        double size = fabs(data[i]);
        most = size > most && isfinite(size) ? size : most;
    }
    largest->of_piece[piece] = most;
}

/* The largest finite absolute value of an array, by several threads: a network's arrays hold gigabytes. */
static double largest_of(const struct quantiser *q, const struct host_array *array)
{
    int64_t pieces = (array->count + PIECE - 1) / PIECE;
    int threads = q->options->threads > 0 ? q->options->threads : (int)g_get_num_processors();
    g_autofree double *of_piece = g_new0(double, pieces + 1);
    struct largest largest = {array, of_piece};
    double most = 0;
    host_parallel(pieces, threads, find_largest, &largest);
    for (int64_t i = 0; i < pieces; i++) {
        most = MAX(most, of_piece[i]);
    }
    return most;
}

static void observe(void *context, struct value *value, const struct host_array *array)
{
    struct quantiser *q = context;
    if (value->id >= q->range_count || !element_type_is_float(array->shape.type)) {
        return;
    }
    struct range *range = &q->ranges[first_tied(q, value->id)];
    if (!q->is_second_run) {
        range->largest = MAX(range->largest, largest_of(q, array));
        return;
    }
    if (range->bins == NULL) {
        range->bins = g_new0(double, BINS);
    }
    for (int64_t i = 0; i < array->count && range->largest > 0; i++) {
        double size = MIN(fabs(array->data[i]), range->largest);
        range->bins[MIN((int)(size / range->largest * BINS), BINS - 1)]++;
    }
}

static bool run_samples(struct quantiser *q, const float *samples, int64_t each, GError **error)
{
    const struct host_options host = {
        .threads = q->options->threads, .observe = observe, .context = q};
    for (int i = 0; i < q->options->sample_count; i++) {
        g_autofree float *outputs = NULL;
        int64_t count;
        if (!host_evaluate_samples(q->graph, samples + i * each, each, &host, &outputs, &count,
                                   error)) {
            return false;
        }
    }
    return true;
}

static bool calibrate(struct quantiser *q, GError **error)
{
    int64_t each = 0;
    for (guint i = 0; i < q->graph->inputs->len; i++) {
        const struct value *value = q->graph->inputs->pdata[i];
        each += shape_elements(&value->shape);
    }
    g_autofree float *drawn =
        q->options->samples == NULL
            ? samples_random(q->options->seed, each * q->options->sample_count)
            : NULL;
    const float *samples = drawn != NULL ? drawn : q->options->samples;
    if (!run_samples(q, samples, each, error)) {
        return false;
    }
    q->is_second_run = true;
    return q->options->calibration == CALIBRATION_MIN_MAX || run_samples(q, samples, each, error);
}

/* The number of bins from 0 on that hold so many percent. */
static int percentile_bins(const double *bins, double percent)
{
    double total = 0, sum = 0;
    int i = 0;
    for (int b = 0; b < BINS; b++) {
        total += bins[b];
    }
    while (i < BINS - 1 && sum + bins[i] < total * percent / 100) {
        sum += bins[i++];
    }
    return i + 1;
}

/* The limit, in bins, with the least expected square of the error: of elements beyond it, which are cut off, and of
 * rounding, a twelfth of a step's square. */
static int least_error_bins(const double *bins)
{
    int best = BINS;
    double least = INFINITY;
    for (int limit = BINS / 64; limit <= BINS; limit += BINS / 256) {
        double step = (double)limit / LEVELS, loss = 0;
        for (int b = 0; b < BINS; b++) {
            double beyond = MAX(b + 0.5 - limit, 0);
            loss += bins[b] * (beyond > 0 ? beyond * beyond : step * step / 12);
        }
        if (loss < least) {
            least = loss;
            best = limit;
        }
    }
    return best;
}

/* The scale of a value of the graph as it was calibrated. */
static double find_scale(struct quantiser *q, int id)
{
    const struct range *range = &q->ranges[first_tied(q, id)];
    double limit = range->largest;
    if (range->bins != NULL && limit > 0) {
        int bins = q->options->calibration == CALIBRATION_LEAST_ERROR
                       ? least_error_bins(range->bins)
                       : percentile_bins(range->bins, q->options->percentile);
        limit *= (double)bins / BINS;
    }
    return limit > 0 ? (float)(limit / LEVELS) : 1;
}

static double scale_of(struct quantiser *q, struct value *value)
{
    double *known = g_hash_table_lookup(q->scales, value);
    if (known == NULL) {
        known = g_new(double, 1);
        *known = value->id < q->range_count ? find_scale(q, value->id) : 1;
        g_hash_table_insert(q->scales, value, known);
    }
    return *known;
}

/* ---- the change ---- */

static struct value *scaled(struct quantiser *q, struct value *value, const char *part,
                            double factor, enum element_type type, struct node *before)
{
    struct kernel kernel;
    const char *nodes[] = {NULL};
    struct value *inputs[KERNEL_INPUTS] = {value};
    g_autofree char *name = g_strdup_printf("%s.%s", value_name(value), part);
    kernel_init(&kernel, OP_POINTWISE);
    kernel.type = type;
    epilogue_add(&kernel.epilogue, EPILOGUE_AFFINE, factor, 0, false);
    return kernel_add(q->graph, name, &kernel, nodes, inputs, before);
}

/* The value as INT8. */
static struct value *integer_of(struct quantiser *q, struct value *value, struct node *before)
{
    struct value *integer = g_hash_table_lookup(q->integers, value), *root = value;
    while (value->id < q->range_count && q->ranges[value->id].is_reshaped &&
           root->producer != NULL && root->producer->op->view != NULL) {
        root = root->producer->inputs[0];
    }
    if (integer == NULL && root != value && g_hash_table_contains(q->integers, root)) {
        integer = graph_reshape(g_hash_table_lookup(q->integers, root), value->shape.rank,
                                value->shape.dim);
        g_hash_table_insert(q->integers, value, integer);
    }
    if (integer == NULL) {
        integer = scaled(q, value, "quantised", 1 / scale_of(q, value), ELEMENT_INT8, before);
        g_hash_table_insert(q->integers, value, integer);
    }
    return integer;
}

/* The node's output is INT8 from now on; users of FP32 get it multiplied by its scale. */
static void give_integers(struct quantiser *q, struct node *node)
{
    struct value *y = node_output(node);
    double scale = scale_of(q, y);
    struct value *real = scaled(q, y, "dequantised", scale, ELEMENT_FLOAT32, node_next(node));
    double *known = g_new(double, 1);
    *known = scale;
    bool is_replaced = graph_replace_value(y, real, NULL);
    g_assert(is_replaced);
    g_hash_table_insert(q->integers, real, y);
    g_hash_table_insert(q->scales, real, known);
}

/* The filter as INT8, and the scale of each output channel. */
static struct value *quantise_filter(struct quantiser *q, struct node *node, double *scales)
{
    g_autoptr(Tensor) w = value_contents(node->inputs[KERNEL_W]);
    int64_t count = shape_elements(&w->shape), channels = w->shape.dim[0];
    int64_t row = count / channels;
    double whole = 0;
    struct shape shape;
    gint8 *data = g_new(gint8, MAX(count, 1));
    shape_set_packed(&shape, ELEMENT_INT8, w->shape.rank, w->shape.dim, NULL);
    for (int64_t k = 0; k < channels; k++) {
        scales[k] = 0;
        for (int64_t i = k * row; i < (k + 1) * row; i++) {
            scales[k] = MAX(scales[k], fabs(tensor_double(w, i)));
        }
        whole = MAX(whole, scales[k]);
    }
    for (int64_t k = 0; k < channels; k++) {
        double largest = q->options->per_tensor ? whole : scales[k];
        scales[k] = largest > 0 ? largest / LEVELS : 1;
        for (int64_t i = k * row; i < (k + 1) * row; i++) {
            data[i] = (gint8)CLAMP(rint(tensor_double(w, i) / scales[k]), -LEVELS, LEVELS);
        }
    }
    g_autoptr(Tensor) tensor = tensor_take(&shape, data);
    return graph_add_constant(q->graph, NULL, tensor);
}

/* Whether a step gives s times its result for s times its operands, if its numbers are changed by s as well. */
static bool is_homogeneous(const struct epilogue_step *step, bool residual_is_integer)
{
    switch (step->op) {
    case EPILOGUE_RELU:
    case EPILOGUE_CLIP:
    case EPILOGUE_LEAKY:
    case EPILOGUE_ABS: return true;
    case EPILOGUE_ADD:
    case EPILOGUE_SUB:
    case EPILOGUE_GREATER:
    case EPILOGUE_SMALLER: return residual_is_integer;
    default: return false;
    }
}

/* The epilogue in INT8. The scales become those of each channel and the residual's behind them. */
static void set_steps(struct kernel *kernel, bool gives_integers, bool residual_is_integer,
                      bool per_channel, double y_scale, double *scales, int64_t count)
{
    struct epilogue old = kernel->epilogue;
    bool requantises = gives_integers;
    int first = old.count > 0 && old.steps[0].op == EPILOGUE_BIAS ? 1 : 0;
    for (int i = first; i < old.count; i++) {
        requantises = requantises && is_homogeneous(&old.steps[i], residual_is_integer);
    }
    kernel->epilogue.count = 0;
    if (first == 1) {
        epilogue_add(&kernel->epilogue, EPILOGUE_BIAS, 0, 0, false);
    }
    epilogue_add(&kernel->epilogue, requantises ? EPILOGUE_REQUANT : EPILOGUE_SCALE, 0, 0,
                 per_channel);
    for (int i = first; i < old.count; i++) {
        struct epilogue_step step = old.steps[i];
        if (requantises && step.op == EPILOGUE_CLIP) {
            step.a /= y_scale;
            step.b /= y_scale;
        }
        kernel->epilogue.steps[kernel->epilogue.count++] = step;
    }
    for (int64_t i = 0; i < count && requantises; i++) {
        scales[i] /= y_scale;
    }
    if (gives_integers && !requantises) {
        epilogue_add(&kernel->epilogue, EPILOGUE_AFFINE, 1 / y_scale, 0, false);
    }
}

static void quantise_conv(struct quantiser *q, struct node *node)
{
    struct kernel kernel;
    struct value *y = node_output(node), *residual = node->inputs[KERNEL_RESIDUAL];
    int64_t channels = y->shape.dim[1], bias_count = 0;
    bool gives_integers = q->ranges[y->id].wanted && is_plain(y);
    struct value *inputs[KERNEL_INPUTS] = {NULL};
    g_autofree double *scales = g_new0(double, channels + 1);
    double x_scale = scale_of(q, node->inputs[KERNEL_X]);
    kernel_read(node, &kernel);
    inputs[KERNEL_X] = integer_of(q, node->inputs[KERNEL_X], node);
    inputs[KERNEL_W] = quantise_filter(q, node, scales);
    for (int64_t k = 0; k < channels; k++) {
        scales[k] *= x_scale;
    }
    if (node->inputs[KERNEL_BIAS] != NULL) {
        g_autofree double *bias = value_numbers(node->inputs[KERNEL_BIAS], &bias_count);
        g_autofree char *name = g_strconcat(node_name(node), ".bias", NULL);
        for (int64_t k = 0; k < bias_count; k++) {
            bias[k] = rint(bias[k] / scales[k]);
        }
        inputs[KERNEL_BIAS] = add_int32s(q->graph, name, bias, bias_count);
    }
    struct value *integer = residual != NULL ? g_hash_table_lookup(q->integers, residual) : NULL;
    int64_t count = q->options->per_tensor ? 1 : channels;
    inputs[KERNEL_RESIDUAL] = integer != NULL ? integer : residual;
    scales[count] = integer != NULL ? scale_of(q, residual) : 1;
    set_steps(&kernel, gives_integers, integer != NULL, !q->options->per_tensor, scale_of(q, y),
              scales, count + 1);
    g_autofree char *name = g_strconcat(node_name(node), ".scales", NULL);
    inputs[KERNEL_SCALES] = add_float32s(q->graph, name, scales, count + 1);
    kernel.type = gives_integers ? ELEMENT_INT8 : ELEMENT_FLOAT32;
    bool is_set = graph_set_inputs(node, inputs, KERNEL_INPUTS, NULL);
    g_assert(is_set);
    kernel_write(node, &kernel, NULL);
    if (gives_integers) {
        give_integers(q, node);
    }
}

static void carry(struct quantiser *q, struct node *node)
{
    g_autofree struct value **inputs = g_new0(struct value *, node->input_count);
    for (int i = 0; i < node->input_count; i++) {
        inputs[i] = node->inputs[i] != NULL ? integer_of(q, node->inputs[i], node) : NULL;
    }
    bool is_set = graph_set_inputs(node, inputs, node->input_count, NULL);
    g_assert(is_set);
    if (node_is_kernel(node)) {
        struct kernel kernel;
        kernel_read(node, &kernel);
        kernel.type = ELEMENT_INT8;
        kernel_write(node, &kernel, NULL);
    }
    give_integers(q, node);
}

static void change(struct quantiser *q, struct quantise_result *result)
{
    g_autoptr(GPtrArray) nodes = g_ptr_array_new();
    for (struct node *node = graph_first(q->graph); node != NULL; node = node_next(node)) {
        bool carries = carries_integers(node) && q->ranges[node_output(node)->id].wanted;
        result->kept += node_is_kernel_of(node, OP_CONV) && !is_quantisable(q, node);
        if (carries || is_quantisable(q, node)) {
            g_ptr_array_add(nodes, node);
        }
    }
    for (guint i = 0; i < nodes->len; i++) {
        struct node *node = nodes->pdata[i];
        if (node_is_kernel_of(node, OP_CONV)) {
            quantise_conv(q, node);
            result->quantised++;
        } else {
            carry(q, node);
        }
    }
}

bool network_quantise(struct graph *graph, const struct quantise_options *options,
                      struct quantise_result *result, GError **error)
{
    struct quantise_result counts = {.samples_are_random = options->samples == NULL};
    if (!graph_resolve(graph, error)) {
        return false;
    }
    struct quantiser q = {.graph = graph,
                          .options = options,
                          .range_count = (int)graph->values->len,
                          .ranges = g_new0(struct range, graph->values->len + 1),
                          .integers = g_hash_table_new(NULL, NULL),
                          .scales = g_hash_table_new_full(NULL, NULL, NULL, g_free)};
    for (int i = 0; i < q.range_count; i++) {
        q.ranges[i].tied_to = i;
    }
    find_wanted(&q);
    bool done = calibrate(&q, error);
    if (done) {
        change(&q, &counts);
        graph_remove_dead(graph);
        done = graph_resolve(graph, error);
    }
    for (int i = 0; i < q.range_count; i++) {
        g_free(q.ranges[i].bins);
    }
    g_free(q.ranges);
    g_hash_table_unref(q.integers);
    g_hash_table_unref(q.scales);
    if (result != NULL) {
        *result = counts;
    }
    return done;
}
