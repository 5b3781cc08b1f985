#include "worker/verify/verify.h"

#include <math.h>
#include <string.h>

/* The element with the largest error relative to its tolerance, which the verdict's detail
 * names. */
struct worst {
    int64_t index; /* the element's logical index, -1 for none */
    double got, expected, ratio;
    bool unwritten;
};

static bool is_poison(const uint8_t *bytes, int count, uint8_t poison)
{
    for (int i = 0; i < count; i++) {
        if (bytes[i] != poison)
            return false;
    }
    return true;
}

/* The error divided by the tolerance; infinite for a NaN that is not expected. If the tolerance
 * is 0 (integers), the error itself. */
static double error_ratio(double got, double expected, double allowed,
                          const struct tolerance *tolerance)
{
    double error = tolerance_error(tolerance, expected, got);

    if (isinf(allowed)) /* any result is right */
        return 0;
    if (allowed > 0)
        return error / allowed;
    return error; /* for integers the error is 0 or at least 1 */
}

static bool is_wrong(double ratio, const struct tolerance *tolerance)
{
    return tolerance->exact ? ratio != 0 : !(ratio <= 1);
}

static void describe(const struct tensor *tensor, const struct worst *worst, int64_t wrong,
                     struct verdict *verdict)
{
    int64_t at[TENSOR_AXES], rest = worst->index;

    for (int i = TENSOR_AXES - 1; i >= 0; i--) {
        at[i] = rest % tensor->extent[i];
        rest /= tensor->extent[i];
    }
    g_autofree char *got =
        worst->unwritten ? g_strdup("nothing written") : g_strdup_printf("got %.9g", worst->got);
    g_autofree char *expected = isnan(worst->expected) ? g_strdup("a finite number")
                                                       : g_strdup_printf("%.9g", worst->expected);
    g_snprintf(verdict->detail, sizeof(verdict->detail),
               "%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
               " elements are wrong, the worst at (%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
               ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
               "): %s, expected %s, %.3g times the tolerance",
               wrong, tensor_count(tensor), at[0], at[1], at[2], at[3], at[4], got, expected,
               worst->ratio);
}

static struct expected expected_at(const struct reference *reference, int64_t i)
{
    struct expected expected = {reference->value[i], (double)reference->magnitude[i], 1, 0};

    if (reference->gain) {
        expected.gain = (double)reference->gain[i];
        expected.slack = (double)reference->slack[i];
    }
    return expected;
}

/* What an output is compared with. */
struct comparison {
    const struct tensor *tensor;
    const struct reference *reference;
    const struct tolerance *tolerance;
    const void *data;
    uint8_t poison;
    bool poison_is_nan;
    /* Elements that a partial reference does not have, and how many one-byte integers of them equal the poison. */
    int64_t unknown, poisoned;
};

/* One byte in 256 is a right result by chance. Elements of one byte that the reference does not have are taken as not
 * written only if more than this part of them equal the poison. */
#define POISONED_PART 8

/* An element that a partial reference does not have must be written and finite. */
static double judge_unknown(struct comparison *c, const struct worst *now, int bytes)
{
    if (bytes > 1 || c->poison_is_nan)
        return now->unwritten || !isfinite(now->got) ? INFINITY : 0;
    c->poisoned += now->unwritten;
    return now->unwritten && c->poisoned > POISONED_PART + c->unknown / POISONED_PART ? INFINITY
                                                                                      : 0;
}

/* Compares element i, which is at this offset; *now gets what the verdict's detail says of it. */
static double judge(struct comparison *c, int64_t i, int64_t offset, struct worst *now)
{
    enum data_type type = c->tensor->type;
    int bytes = data_type_bytes(type);
    struct expected expected = expected_at(c->reference, i);

    now->got = tensor_load(type, c->data, offset);
    now->expected = expected.value;
    now->unwritten = is_poison((const uint8_t *)c->data + offset * bytes, bytes, c->poison);
    if (isnan(expected.magnitude)) /* a partial reference does not have this element */
        return judge_unknown(c, now, bytes);
    /* No kernel computes the poison's NaN, even where a NaN is the right result. */
    if (c->poison_is_nan && now->unwritten)
        return INFINITY;
    /* An unwritten element is found by its poison. A right integer may equal the poison by
     * chance, so it is called unwritten only if it is wrong, too. */
    double allowed = tolerance_at(c->tolerance, &expected, c->reference->largest);
    double ratio = error_ratio(now->got, expected.value, allowed, c->tolerance);
    now->unwritten = now->unwritten && ratio > 1;
    return ratio;
}

static bool is_nan_in(enum data_type type, uint8_t poison)
{
    uint8_t bytes[8];

    memset(bytes, poison, sizeof(bytes));
    return isnan(tensor_load(type, bytes, 0));
}

/* How many elements a partial reference does not have. */
static int64_t unknown_elements(const struct reference *reference)
{
    int64_t count = 0;

    for (int64_t i = 0; i < reference->count; i++)
        count += isnan(reference->magnitude[i]);
    return count;
}

void verify_output(const struct tensor *tensor, const void *data, uint8_t poison,
                   const struct reference *reference, const struct tolerance *tolerance,
                   struct verdict *verdict)
{
    struct comparison comparison = {
        .tensor = tensor,
        .reference = reference,
        .tolerance = tolerance,
        .data = data,
        .poison = poison,
        .poison_is_nan = is_nan_in(tensor->type, poison),
        .unknown = unknown_elements(reference),
    };
    struct worst worst = {.index = -1};
    struct tensor_walk walk;
    int64_t wrong = 0;

    g_assert(tensor_count(tensor) == reference->count);
    *verdict = (struct verdict){0};
    tensor_walk_init(&walk, tensor);
    for (int64_t i = 0; i < reference->count; i++, tensor_walk_next(&walk)) {
        struct worst now = {.index = i};
        now.ratio = judge(&comparison, i, walk.offset, &now);
        wrong += is_wrong(now.ratio, tolerance);
        if (now.ratio > worst.ratio)
            worst = now;
    }
    verdict->error = worst.ratio;
    if (wrong == 0)
        return;
    verdict->failure = FAILURE_WRONG_RESULT;
    describe(tensor, &worst, wrong, verdict);
}

/* An array with a byte for each place of the tensor: 1 if an element is stored there, or a blocked layout's padding
 * of channels, 0 for gaps. Free with g_free(). */
static uint8_t *mark_elements(const struct tensor *tensor)
{
    uint8_t *marks = g_malloc0((gsize)tensor_elements(tensor));
    struct tensor_walk walk;
    int64_t count = tensor_count(tensor);

    tensor_walk_init(&walk, tensor);
    for (int64_t i = 0; i < count; i++, tensor_walk_next(&walk)) {
        marks[walk.offset] = 1;
        if (walk.at[1] == tensor->extent[1] - 1) {
            for (int64_t c = walk.at[1] % tensor->block; c < tensor->block; c++)
                marks[walk.offset - walk.at[1] % tensor->block + c] = 1;
        }
    }
    return marks;
}

void verify_holes(const struct tensor *tensor, const void *data, uint8_t poison,
                  struct verdict *verdict)
{
    int bytes = data_type_bytes(tensor->type);

    *verdict = (struct verdict){0};
    if (tensor_is_packed(tensor))
        return;
    g_autofree uint8_t *marks = mark_elements(tensor);
    int64_t elements = tensor_elements(tensor);
    for (int64_t i = 0; i < elements; i++) {
        if (marks[i] || is_poison((const uint8_t *)data + i * bytes, bytes, poison))
            continue;
        verdict->failure = FAILURE_OUT_OF_BOUNDS;
        g_snprintf(
            verdict->detail, sizeof(verdict->detail),
            "wrote between the output's elements, %" G_GINT64_FORMAT " elements from its start", i);
        return;
    }
}
