#include "export/formats/find_scan.h"

#include <math.h>
#include <string.h>

/* a number of up to 15 digits is below 2^53, so the number and its power of ten are exact
 * doubles */
#define TIME_DIGITS_EXACT 15

bool span_equal(struct span a, struct span b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

int span_compare(struct span a, struct span b)
{
    int order = memcmp(a.at, b.at, MIN(a.length, b.length));
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

/* Tests eight bytes at a time: subtracting 0x20 from each byte sets the high bit for bytes below
 * 0x20, adding 1 sets it for 0x7f. A carry into the next byte occurs only after such a byte, when
 * the answer is already no. */
bool span_printable(struct span text)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t bytes, odd = 0;
    size_t i = 0;
    for (; i + sizeof bytes <= text.length; i += sizeof bytes) {
        memcpy(&bytes, text.at + i, sizeof bytes);
        odd |= bytes | (bytes - each * 0x20) | (bytes + each);
    }
    if ((odd & each * 0x80) != 0) {
        return false;
    }
    while (i < text.length && g_ascii_isprint(text.at[i])) {
        i++;
    }
    return i >= text.length;
}

#define WORD(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

bool find_family_known(struct span family)
{
    static const struct span families[] = {WORD("GEMM"), WORD("Direct"), WORD("FFT"),
                                           WORD("Winograd"), WORD("ImplicitGEMM")};
    for (size_t f = 0; f < G_N_ELEMENTS(families); f++) {
        if (span_equal(family, families[f])) {
            return true;
        }
    }
    return false;
}

bool find_algorithm_known(struct span algorithm)
{
    static const struct span starts[] = {WORD("miopenConvolutionFwdAlgo"),
                                         WORD("miopenConvolutionBwdDataAlgo"),
                                         WORD("miopenConvolutionBwdWeightsAlgo")};
    for (size_t s = 0; s < G_N_ELEMENTS(starts); s++) {
        size_t length = starts[s].length;
        if (algorithm.length <= length || memcmp(algorithm.at, starts[s].at, length) != 0) {
            continue;
        }
        if (find_family_known((struct span){algorithm.at + length, algorithm.length - length})) {
            return true;
        }
    }
    return false;
}

/* Takes the text in front of the first `stop` off *rest. Returns false and changes nothing without
 * one. */
static bool take_until(struct span *rest, char stop, struct span *taken)
{
    const char *found = memchr(rest->at, stop, rest->length);
    if (found == NULL) {
        return false;
    }
    *taken = (struct span){rest->at, (size_t)(found - rest->at)};
    rest->at = found + 1;
    rest->length -= taken->length + 1;
    return true;
}

static bool any_time(struct span text, double *time_ms)
{
    char *end = NULL;
    g_autofree char *copy = g_strndup(text.at, text.length);
    if (copy[strspn(copy, "0123456789.eE+-")] != '\0') {
        return false;
    }
    *time_ms = g_ascii_strtod(copy, &end);
    return end != copy && *end == '\0' && isfinite(*time_ms);
}

/* Fast path: up to 15 digits with at most one point are an exact integer divided by an exact power
 * of ten, which rounds once, as strtod() does. Anything else goes to strtod(). */
static bool take_time(struct span text, double *time_ms)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    uint64_t number = 0;
    size_t digits = 0, fraction = 0;
    bool point = false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] == '.' && !point) {
            point = true;
        } else if (g_ascii_isdigit(text.at[i]) && digits < TIME_DIGITS_EXACT) {
            number = number * 10 + (uint64_t)(text.at[i] - '0');
            digits++;
            fraction += point;
        } else {
            return any_time(text, time_ms);
        }
    }
    *time_ms = (double)number / powers[fraction];
    return digits > 0;
}

static const char *take_workspace(struct span text, uint64_t *bytes)
{
    bool large = false;
    *bytes = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (!g_ascii_isdigit(text.at[i])) {
            return "the workspace is not a number of bytes";
        }
        large = large || __builtin_mul_overflow(*bytes, 10, bytes) ||
                __builtin_add_overflow(*bytes, (uint64_t)(text.at[i] - '0'), bytes);
    }
    if (text.length == 0) {
        return "the workspace is not a number of bytes";
    }
    return large ? "the workspace is larger than any memory" : NULL;
}

/* Takes the fields of an entry: "SOLVER:time,workspace,algorithm", or in the older form
 * "ALGORITHM:solver,time,workspace,library,cache key". `name` is the text in front of the ':',
 * `rest` the text behind it. Returns NULL, or what is wrong. */
static const char *take_fields(struct span name, struct span rest, struct find_part *part)
{
    struct span fields[4];
    int count = 0;
    while (count < 4 && take_until(&rest, ',', &fields[count])) {
        count++;
    }
    if (count != 2 && count != 4) {
        return "expected solver:time,workspace,algorithm "
               "or algorithm:solver,time,workspace,library,key";
    }
    part->older = count == 4;
    part->solver = part->older ? fields[0] : name;
    part->time = fields[part->older ? 1 : 0];
    part->workspace = fields[part->older ? 2 : 1];
    part->algorithm = part->older ? name : rest;
    part->library = part->older ? fields[3] : (struct span){0};
    part->cache_key = part->older ? rest : (struct span){0};
    if (part->solver.length == 0 || part->algorithm.length == 0) {
        return "the solver or the algorithm has no name";
    }
    if (!take_time(part->time, &part->time_ms)) {
        return "the time is not a number";
    }
    return take_workspace(part->workspace, &part->workspace_bytes);
}

const char *find_key_scan(struct span *rest, struct span *key)
{
    return take_until(rest, '=', key) && key->length > 0 ? NULL : "expected a key and '='";
}

const char *find_part_scan(struct span *rest, struct find_part *part)
{
    struct span name, fields;
    if (!take_until(rest, ';', &part->entry)) {
        part->entry = *rest;
        *rest = (struct span){NULL, 0};
    }
    fields = part->entry;
    if (!take_until(&fields, ':', &name)) {
        return "expected a ':' behind the first name";
    }
    return take_fields(name, fields, part);
}
