#include "worker/verify/random.h"

#include <math.h>

#include "solvers/problem/epilogue.h"
#include "worker/verify/parallel.h"
#include "worker/verify/reference_kinds.h"

/* The largest integer of x and w, and of an integer operand that is not summed. */
#define SUMMED_RANGE   8
#define ALONE_RANGE    64
/* The typical size of random values: the root of the mean square, of floats and of integers by their range. */
#define FLOAT_SIZE     0.66
#define RANGE_SIZE     0.6
/* The typical size that a requantisation gives its results: INT8's range of 128 is met and left. */
#define INT8_SIZE      90.0
/* The typical size that scales give the sums of INT8 problems with a floating output. */
#define REAL_SIZE      16.0
/* A clip's bound above this is never met, and no reason for a larger bias. */
#define BOUND_MOST     1024.0
/* The largest inputs of an LRN, which FP16 holds with room for larger ones. */
#define LRN_SCALE_MOST 4096.0

/* ---- how values are spread ---- */

static bool is_integer(enum data_type type)
{
    return type == TYPE_INT8 || type == TYPE_INT32;
}

static double power_near(double size)
{
    return exp2(round(log2(size)));
}

static int64_t range_of(const struct problem *p)
{
    return p->kind == OP_CONV ? SUMMED_RANGE : ALONE_RANGE;
}

static double typical_size(const struct problem *p, enum tensor_role role)
{
    return is_integer(p->type[role]) ? RANGE_SIZE * (double)range_of(p) : FLOAT_SIZE;
}

/* The factor of an LRN's inputs with which the sum of squares counts as much as the bias beside it. Smaller inputs
 * would show nothing of the sum: with an alpha of 1e-4 the result is x within 1e-4, less than a place of FP16. */
static double lrn_scale(const struct problem *p)
{
    struct lrn_mode lrn = lrn_mode_of(p);
    double squares = lrn.alpha / lrn.size * fmin(lrn.size, (double)p->c) * FLOAT_SIZE * FLOAT_SIZE;
    double scale = squares > 0 ? sqrt(fabs(lrn.bias) / squares) : 1;

    return power_near(fmin(fmax(scale, 1), LRN_SCALE_MOST));
}

static double data_scale(const struct problem *p, enum tensor_role role)
{
    return p->kind == OP_LRN && role == TENSOR_X ? lrn_scale(p) : 1;
}

/* The typical size of the operator's results: random products of a sum mostly cancel. */
static double result_size(const struct problem *p)
{
    enum tensor_role data = p->direction == DIRECTION_B ? TENSOR_Y : TENSOR_X;
    double size = typical_size(p, data), length = 1;

    if (p->kind == OP_LRN)
        size *= lrn_scale(p) / pow(fmax(2 * fabs(lrn_mode_of(p).bias), 1e-3), lrn_mode_of(p).beta);
    if (p->kind != OP_CONV)
        return size > 0 && isfinite(size) ? size : FLOAT_SIZE;
    length = (double)(p->direction == DIRECTION_B ? p->k : p->c) / (double)p->groups;
    for (int a = 0; a < AXIS_COUNT; a++)
        length *= (double)p->fil[a];
    return size * typical_size(p, TENSOR_W) * sqrt(length);
}

/* The state of a walk through an epilogue's steps. */
struct walk {
    const struct problem *p;
    double size;         /* the typical size of v at this step */
    double bound;        /* the largest bound of a later step that v meets in its present unit */
    double bias, second; /* the typical sizes of bias and residual */
    double scale;
};

static double bound_of(const struct epilogue_step *step)
{
    double bound = 0;

    switch (step->op) {
    case EPILOGUE_CLIP: bound = fmax(fabs(step->a), fabs(step->b)); break;
    case EPILOGUE_HARDSWISH: bound = 4; break;
    case EPILOGUE_HARDSIGMOID: bound = (1 + fabs(step->b)) / fabs(step->a); break;
    default: break;
    }
    return bound <= BOUND_MOST ? bound : 0;
}

static bool changes_unit(enum epilogue_op op)
{
    return op == EPILOGUE_SCALE || op == EPILOGUE_REQUANT || op == EPILOGUE_AFFINE ||
           op == EPILOGUE_MUL || op == EPILOGUE_DIV;
}

static double largest_bound(const struct epilogue *epilogue, int from)
{
    double bound = 0;

    for (int i = from; i < epilogue->count && !changes_unit(epilogue->steps[i].op); i++)
        bound = fmax(bound, bound_of(&epilogue->steps[i]));
    return bound;
}

/* The typical size of v behind the problem's scale or requant. */
static double scaled_size(const struct walk *walk)
{
    const struct problem *p = walk->p;

    if (p->type[problem_output_role(p)] == TYPE_INT8)
        return INT8_SIZE;
    return is_integer(p->type[TENSOR_X]) ? REAL_SIZE : walk->size;
}

static void walk_step(struct walk *walk, const struct epilogue_step *step)
{
    switch (step->op) {
    case EPILOGUE_BIAS:
        walk->bias = fmax(walk->size, walk->bound);
        walk->size = fmax(walk->size, walk->bias);
        break;
    case EPILOGUE_SCALE:
    case EPILOGUE_REQUANT:
        walk->scale = scaled_size(walk) / walk->size;
        walk->size = scaled_size(walk);
        break;
    case EPILOGUE_ADD:
    case EPILOGUE_SUB:
    case EPILOGUE_GREATER:
    case EPILOGUE_SMALLER:
        walk->second = fmax(walk->size, walk->bound);
        walk->size = walk->second;
        break;
    case EPILOGUE_MUL:
    case EPILOGUE_DIV:
    case EPILOGUE_PRELU: break;
    case EPILOGUE_CLIP: walk->size = fmin(walk->size, fmax(fabs(step->a), fabs(step->b))); break;
    case EPILOGUE_AFFINE: walk->size = fabs(step->a) * walk->size + fabs(step->b); break;
    case EPILOGUE_HARDSIGMOID:
    case EPILOGUE_SIGMOID:
    case EPILOGUE_TANH:
    case EPILOGUE_ERF: walk->size = 1; break;
    default: break;
    }
}

static void walk_epilogue(struct walk *walk, const struct problem *p)
{
    struct epilogue epilogue;

    *walk = (struct walk){
        .p = p, .size = result_size(p), .bias = FLOAT_SIZE, .second = FLOAT_SIZE, .scale = 1};
    if (!epilogue_parse(p->epilogue, &epilogue, NULL))
        return;
    for (int i = 0; i < epilogue.count; i++) {
        walk->bound = largest_bound(&epilogue, i);
        walk_step(walk, &epilogue.steps[i]);
        if (!(walk->size > 0) || !isfinite(walk->size))
            walk->size = 1;
    }
}

void random_spread_init(struct random_spread *spread, const struct problem *p,
                        enum tensor_role role)
{
    struct walk walk;

    *spread = (struct random_spread){.scale = data_scale(p, role), .range = range_of(p), .last = 1};
    if (role < TENSOR_COUNT)
        return;
    walk_epilogue(&walk, p);
    switch (role) {
    case TENSOR_BIAS:
        spread->scale = power_near(walk.bias / FLOAT_SIZE);
        spread->range = (int64_t)fmax(SUMMED_RANGE, power_near(walk.bias / RANGE_SIZE));
        break;
    case TENSOR_RESIDUAL:
        spread->scale = power_near(walk.second / FLOAT_SIZE);
        spread->range = ALONE_RANGE;
        break;
    case TENSOR_SCALES:
        spread->positive = true;
        spread->scale = power_near(walk.scale / FLOAT_SIZE);
        /* One step of an integer residual is so large that its values are as large as v. */
        spread->last =
            power_near(walk.second / (FLOAT_SIZE * RANGE_SIZE * ALONE_RANGE)) / spread->scale;
        break;
    default: break;
    }
}

/* ---- kinds of inputs ---- */

/* The largest whole number of a floating x or w. */
#define WHOLE_RANGE     8
/* By how much more or less than usual large and small inputs are, as powers of two: of all floating types but FP16;
 * of operators whose steps are not linear, where values beyond the usual leave the range in which functions differ. */
#define WIDE_EXPONENT   20
#define GENTLE_EXPONENT 1
/* FP16: typical results near 2^7 leave room for a transform's growth (100) below 65504; results near 2^-8, whose
 * inputs are 2^-4, stay above the subnormal numbers. */
#define HALF_RESULT     7
#define HALF_EXPONENT   4
/* FP8 and BF8: typical results near 2^5 stay within 240, the least of the two types' ranges; inputs from 2^-4 on keep all
 * their fraction bits. */
#define FLOAT8_RESULT   5
#define FLOAT8_LARGE    4
#define FLOAT8_SMALL    2
#define KIND_SHIFT      56 /* of the kind in a seed */

const char *input_kind_name(enum input_kind kind)
{
    static const char *const names[] = {
#define X(name, text) text,
        INPUT_KINDS(X)
#undef X
    };

    return names[kind];
}

uint64_t random_seed(uint64_t seed, enum input_kind kind)
{
    return (seed & ((1ull << KIND_SHIFT) - 1)) | (uint64_t)kind << KIND_SHIFT;
}

enum input_kind random_kind(uint64_t seed)
{
    uint64_t kind = seed >> KIND_SHIFT;

    return kind < INPUT_KIND_COUNT ? (enum input_kind)kind : INPUT_RANDOM;
}

/* Products in the longest sum of a convolution. */
static double sum_length(const struct problem *p)
{
    double length = (double)(p->direction == DIRECTION_B ? p->k : p->c) / (double)p->groups;

    if (p->direction == DIRECTION_W)
        return (double)p->n * (double)p->out[AXIS_D] * (double)p->out[AXIS_H] *
               (double)p->out[AXIS_W];
    for (int a = 0; a < AXIS_COUNT; a++)
        length *= (double)p->fil[a];
    return length;
}

static bool sums_in_double(const struct problem *p)
{
    return p->type[TENSOR_X] == TYPE_FP64;
}

/* The largest range whose sums are exact: sums of L products of two numbers up to the range stay within the
 * mantissa. */
static int64_t whole_range(const struct problem *p)
{
    double most = sqrt((sums_in_double(p) ? 0x1p53 : 0x1p24) / fmax(sum_length(p), 1));

    return (int64_t)fmin(fmax(floor(most), 1), WHOLE_RANGE);
}

bool random_whole_is_exact(const struct problem *p)
{
    double range = (double)whole_range(p);

    return p->kind == OP_CONV &&
           range * range * sum_length(p) <= (sums_in_double(p) ? 0x1p53 : 0x1p24);
}

static bool has_type(const struct problem *p, enum data_type type)
{
    return p->type[TENSOR_X] == type || p->type[TENSOR_W] == type || p->type[TENSOR_Y] == type;
}

static bool has_float8(const struct problem *p)
{
    bool any = has_type(p, TYPE_FP8) || has_type(p, TYPE_BF8);

    for (int t = 0; t < TENSOR_COUNT; t++)
        any = any || p->cast[t] == TYPE_FP8 || p->cast[t] == TYPE_BF8;
    return any;
}

static double large_results(const struct problem *p, double result, double most)
{
    return fmin(fmax(floor((result - log2(result_size(p))) / 2), 0), most);
}

/* The exponent by which each of the two inputs is made larger. */
static double large_exponent(const struct problem *p)
{
    if (p->kind != OP_CONV || p->epilogue[0])
        return GENTLE_EXPONENT;
    if (has_float8(p))
        return large_results(p, FLOAT8_RESULT, FLOAT8_LARGE);
    if (has_type(p, TYPE_FP16))
        return large_results(p, HALF_RESULT, HALF_EXPONENT);
    return WIDE_EXPONENT;
}

static double small_exponent(const struct problem *p)
{
    if (p->kind != OP_CONV || p->epilogue[0])
        return -GENTLE_EXPONENT;
    if (has_float8(p))
        return -FLOAT8_SMALL;
    return has_type(p, TYPE_FP16) ? -HALF_EXPONENT : -WIDE_EXPONENT;
}

void random_spread_for(struct random_spread *spread, const struct problem *p, enum tensor_role role,
                       enum input_kind kind)
{
    enum tensor_role data = p->direction == DIRECTION_B ? TENSOR_Y : TENSOR_X;

    if (role >= TENSOR_COUNT)
        return;
    switch (kind) {
    case INPUT_WHOLE:
        spread->whole = true;
        if (!is_integer(p->type[role]))
            spread->range = whole_range(p);
        return;
    case INPUT_LARGE: spread->scale *= exp2(large_exponent(p)); return;
    case INPUT_SMALL: spread->scale *= exp2(small_exponent(p)); return;
    case INPUT_ZERO:
        if (role == data)
            spread->range = 0;
        return;
    default: return;
    }
}

/* The lowest bit is the sign. The high half of the bits, which is independent of it, gives the
 * absolute value. */
double random_value(enum data_type type, const struct random_spread *spread, uint64_t bits)
{
    double sign = (bits & 1) && !spread->positive ? -1 : 1;

    if (spread->range == 0)
        return 0;
    if (is_integer(type) || spread->whole)
        return sign * (double)(1 + (int64_t)(bits >> 32) % spread->range);
    return tensor_round(type,
                        sign * (0.25 + 0.75 * ((double)(bits >> 32) * 0x1p-32)) * spread->scale);
}

/* ---- elements ---- */

uint64_t random_seed_of(enum tensor_role role, uint64_t seed)
{
    return random_bits(seed, (uint64_t)role);
}

void random_source_init(struct random_source *source, const struct problem *p,
                        const struct tensor *tensor, enum tensor_role role, uint64_t seed)
{
    struct tensor distinct;

    tensor_without_repeats(tensor, &distinct);
    *source = (struct random_source){
        .tensor = *tensor, .seed = random_seed_of(role, seed), .length = tensor_count(&distinct)};
    source->repeats = source->length != tensor_count(tensor);
    random_spread_init(&source->spread, p, role);
    random_spread_for(&source->spread, p, role, random_kind(seed));
}

double random_element(const struct random_source *source, int64_t index)
{
    int64_t at = source->repeats ? tensor_distinct_index(&source->tensor, index) : index;
    double value =
        random_value(source->tensor.type, &source->spread, random_bits(source->seed, (uint64_t)at));

    return at == source->length - 1 ? value * source->spread.last : value;
}

struct making {
    struct random_source source;
    double *dense;
    int64_t count;
};

static void make_piece(void *data, int64_t piece)
{
    const struct making *making = data;
    int64_t end = parallel_piece_end(piece, making->count);

    for (int64_t i = piece * PARALLEL_PIECE; i < end; i++)
        making->dense[i] = random_element(&making->source, i);
}

double *random_dense(const struct problem *p, const struct tensor *tensor, enum tensor_role role,
                     uint64_t seed)
{
    int64_t count = tensor_count(tensor);
    double *dense = g_new(double, count);
    struct making making = {.dense = dense, .count = count};

    random_source_init(&making.source, p, tensor, role, seed);
    parallel_parts(parallel_threads(), parallel_pieces(count), make_piece, &making);
    return dense;
}
