#include "worker/verify/verify.h"

#include <math.h>
#include <string.h>

#include "worker/verify/parallel.h"

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

/* The comparison of an output with its reference, and what it found. */
struct comparison {
    const struct tensor *tensor;
    const struct reference *reference;
    const struct tolerance *tolerance;
    const void *data;
    uint8_t poison;
    bool poison_is_nan;
    struct found {
        struct worst worst;
        int64_t wrong;
        /* Elements that a partial reference does not have, how many one-byte integers of them equal the poison, and
         * the last of these. */
        int64_t unknown, poisoned, last_poisoned;
    } * found; /* in each piece of the elements */
};

/* One byte in 256 is a right result by chance. Elements of one byte that the reference does not have are taken as not
 * written only if more than this part of them equal the poison. */
#define POISONED_PART 8

/* An element that a partial reference does not have must be written and finite. One-byte integers that equal the
 * poison are counted, for judge_poisoned(). */
static double judge_unknown(const struct comparison *c, int64_t i, const struct worst *now,
                            struct found *found)
{
    found->unknown++;
    if (data_type_bytes(c->tensor->type) > 1 || c->poison_is_nan)
        return now->unwritten || !isfinite(now->got) ? INFINITY : 0;
    if (now->unwritten) {
        found->poisoned++;
        found->last_poisoned = i;
    }
    return 0;
}

/* Finds one-byte integers wrong that were not written. */
static void judge_poisoned(struct found *all)
{
    int64_t by_chance = POISONED_PART + all->unknown / POISONED_PART;

    if (all->poisoned <= by_chance)
        return;
    all->wrong += all->poisoned - by_chance;
    all->worst = (struct worst){
        .index = all->last_poisoned, .expected = NAN, .ratio = INFINITY, .unwritten = true};
}

/* Compares element i, which is at this offset; *now gets what the verdict's detail says of it. */
static double judge(const struct comparison *c, int64_t i, int64_t offset, struct worst *now,
                    struct found *found)
{
    enum data_type type = c->tensor->type;
    int bytes = data_type_bytes(type);
    struct expected expected = expected_at(c->reference, i);

    now->got = tensor_load(type, c->data, offset);
    now->expected = expected.value;
    now->unwritten = is_poison((const uint8_t *)c->data + offset * bytes, bytes, c->poison);
    if (isnan(expected.magnitude)) /* a partial reference does not have this element */
        return judge_unknown(c, i, now, found);
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

static void compare_piece(void *data, int64_t piece)
{
    const struct comparison *c = data;
    struct found *found = &c->found[piece];
    int64_t end = parallel_piece_end(piece, c->reference->count);
    struct tensor_walk walk;

    found->worst.index = -1;
    tensor_walk_init(&walk, c->tensor);
    tensor_walk_seek(&walk, piece * PARALLEL_PIECE);
    for (int64_t i = piece * PARALLEL_PIECE; i < end; i++, tensor_walk_next(&walk)) {
        struct worst now = {.index = i};
        now.ratio = judge(c, i, walk.offset, &now, found);
        found->wrong += is_wrong(now.ratio, c->tolerance);
        if (now.ratio > found->worst.ratio)
            found->worst = now;
    }
}

static void add_found(struct found *all, const struct found *piece)
{
    all->wrong += piece->wrong;
    all->unknown += piece->unknown;
    all->poisoned += piece->poisoned;
    if (piece->poisoned > 0)
        all->last_poisoned = piece->last_poisoned;
    if (piece->worst.ratio > all->worst.ratio)
        all->worst = piece->worst;
}

void verify_output(const struct tensor *tensor, const void *data, uint8_t poison,
                   const struct reference *reference, const struct tolerance *tolerance,
                   struct verdict *verdict)
{
    int64_t pieces = parallel_pieces(reference->count);
    g_autofree struct found *found = g_new0(struct found, pieces);
    struct comparison comparison = {
        .tensor = tensor,
        .reference = reference,
        .tolerance = tolerance,
        .data = data,
        .poison = poison,
        .poison_is_nan = is_nan_in(tensor->type, poison),
        .found = found,
    };
    struct found all = {.worst.index = -1};

    g_assert(tensor_count(tensor) == reference->count);
    *verdict = (struct verdict){0};
    parallel_parts(parallel_threads(), pieces, compare_piece, &comparison);
    for (int64_t i = 0; i < pieces; i++)
        add_found(&all, &found[i]);
    judge_poisoned(&all);
    verdict->error = all.worst.ratio;
    if (all.wrong == 0)
        return;
    verdict->failure = FAILURE_WRONG_RESULT;
    describe(tensor, &all.worst, all.wrong, verdict);
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
