#include "export/sjdb/sjdb_time.h"

#include "export/sjdb/sjdb_rows.h"

#include <math.h>
#include <string.h>

/* Digits behind the point with which find-dbs print times under a millisecond, down to nanoseconds.
 * Each digit in front of the point leaves one less. */
#define USUAL_DIGITS 6

/* How many times outside the ranges are collected before duplicates are removed. */
#define RARE_WAIT 1024

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int usual_digits(double value)
{
    int digits = USUAL_DIGITS;
    for (double bound = 1; value >= bound && digits > 0; bound *= 10) {
        digits--;
    }
    return digits;
}

/* Writes the value as mantissa / 10^digits, exactly, with the fewest digits from usual_digits() on.
 * Returns false if no number of digits up to SJDB_DIGITS_MAX is exact. */
static bool as_decimal(double value, int *digits, uint64_t *mantissa)
{
    if (!isfinite(value) || signbit(value)) {
        return false;
    }
    for (int d = usual_digits(value); d <= SJDB_DIGITS_MAX; d++) {
        double whole = nearbyint(value * sjdb_power_of_ten[d]);
        if (whole >= 0x1p53) {
            return false;
        }
        if (whole / sjdb_power_of_ten[d] == value) {
            *digits = d;
            *mantissa = (uint64_t)whole;
            return true;
        }
    }
    return false;
}

static gint by_count(gconstpointer a, gconstpointer b, gpointer unused)
{
    const struct sjdb_tally *one = a, *other = b;
    (void)unused;
    if (one->count != other->count) {
        return one->count > other->count ? -1 : 1;
    }
    return one->digits - other->digits;
}

void sjdb_times_init(struct sjdb_times *times)
{
    memset(times, 0, sizeof *times);
    times->rare = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    times->rare_limit = RARE_WAIT;
    for (int d = 0; d <= SJDB_DIGITS_MAX; d++) {
        times->tallies[d] = (struct sjdb_tally){d, 0, UINT64_MAX, 0};
    }
}

void sjdb_times_count(struct sjdb_times *times, double value)
{
    int digits = 0;
    uint64_t mantissa = 0;
    times->counted++;
    if (as_decimal(value, &digits, &mantissa)) {
        struct sjdb_tally *tally = &times->tallies[digits];
        tally->count++;
        tally->first = MIN(tally->first, mantissa);
        tally->last = MAX(tally->last, mantissa);
    }
}

/* Returns how many ranges to have. Each range may make every code wider, and saves a double for
 * each of its times. */
static int best_count(const struct sjdb_tally *tallies, uint64_t count)
{
    uint64_t codes = 0, rare = count;
    double least = INFINITY;
    int best = 0;
    for (int i = 0; i <= SJDB_DIGITS_MAX + 1; i++) {
        double bits = (double)count * sjdb_bits_for(codes + rare) + 64.0 * (double)rare;
        if (bits < least) {
            least = bits;
            best = i;
        }
        if (i > SJDB_DIGITS_MAX || tallies[i].count == 0) {
            break;
        }
        codes += tallies[i].last - tallies[i].first + 1;
        rare -= tallies[i].count;
    }
    return best;
}

/* Sets *code if the time is in a range. Returns false for a time that must be stored as a
 * double. */
static bool range_code(const struct sjdb_times *times, double value, uint64_t *code)
{
    int digits = 0;
    uint64_t mantissa = 0;
    if (!as_decimal(value, &digits, &mantissa)) {
        return false;
    }
    for (int i = 0; i < times->count; i++) {
        if (times->ranges[i].digits == digits) {
            *code = times->ranges[i].first_code + (mantissa - times->ranges[i].first);
            return true;
        }
    }
    return false;
}

static gint by_bits(gconstpointer a, gconstpointer b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

void sjdb_times_choose(struct sjdb_times *times)
{
    struct sjdb_tally *tallies = times->tallies;
    g_qsort_with_data(tallies, SJDB_DIGITS_MAX + 1, sizeof *tallies, by_count, NULL);
    times->count = best_count(tallies, times->counted);
    for (int i = 0; i < times->count; i++) {
        times->ranges[i].digits = tallies[i].digits;
        times->ranges[i].first = tallies[i].first;
        times->ranges[i].last = tallies[i].last;
        times->ranges[i].first_code = times->first_rare;
        times->first_rare += tallies[i].last - tallies[i].first + 1;
    }
}

void sjdb_times_keep(struct sjdb_times *times, double value)
{
    uint64_t code = 0, bits = bits_of(value);
    if (range_code(times, value, &code)) {
        return;
    }
    g_array_append_val(times->rare, bits);
    if (times->rare->len >= times->rare_limit) {
        sjdb_make_distinct(times->rare);
        times->rare_limit = MAX(RARE_WAIT, 2 * times->rare->len);
    }
}

void sjdb_times_end(struct sjdb_times *times)
{
    sjdb_make_distinct(times->rare);
    uint64_t codes = times->first_rare + times->rare->len;
    times->width = sjdb_bits_for(codes > 0 ? codes - 1 : 0);
}

void sjdb_times_clear(struct sjdb_times *times)
{
    g_clear_pointer(&times->rare, g_array_unref);
}

uint64_t sjdb_times_code(const struct sjdb_times *times, double value)
{
    uint64_t code = 0, bits = bits_of(value);
    guint at = 0;
    if (range_code(times, value, &code)) {
        return code;
    }
    bool found = g_array_binary_search(times->rare, &bits, by_bits, &at);
    g_assert(found);
    return times->first_rare + at;
}

void sjdb_times_write(const struct sjdb_times *times, SjdbFile *file)
{
    g_autoptr(GArray) table = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (int i = 0; i < times->count; i++) {
        uint64_t range[] = {times->ranges[i].first_code, times->ranges[i].first,
                            (uint64_t)times->ranges[i].digits};
        g_array_append_vals(table, range, G_N_ELEMENTS(range));
    }
    g_array_append_val(table, times->first_rare);
    sjdb_file_add_array(file, SJDB_TIME_RANGES, table);
    sjdb_file_add_array(file, SJDB_RARE_TIMES, times->rare);
}

void sjdb_intervals_init(struct sjdb_intervals *intervals, const struct sjdb_times *times)
{
    *intervals = (struct sjdb_intervals){
        .times = times,
        .entries = g_array_new(FALSE, FALSE, sizeof(uint64_t)),
        .lows = g_array_new(FALSE, FALSE, sizeof(uint64_t)),
        .highs = g_array_new(FALSE, FALSE, sizeof(uint64_t)),
    };
}

void sjdb_intervals_add(struct sjdb_intervals *intervals, guint place, double low_ms,
                        double high_ms)
{
    uint64_t entry = intervals->problems * SJDB_LIST_MAX + place;
    uint64_t low = sjdb_times_code(intervals->times, low_ms);
    uint64_t high = sjdb_times_code(intervals->times, high_ms);
    g_array_append_val(intervals->entries, entry);
    g_array_append_val(intervals->lows, low);
    g_array_append_val(intervals->highs, high);
}

void sjdb_intervals_write(const struct sjdb_intervals *intervals, SjdbFile *file)
{
    if (intervals->entries->len > 0) {
        sjdb_file_add_array(file, SJDB_INTERVAL_ENTRIES, intervals->entries);
        sjdb_file_add_array(file, SJDB_INTERVAL_LOWS, intervals->lows);
        sjdb_file_add_array(file, SJDB_INTERVAL_HIGHS, intervals->highs);
    }
}

void sjdb_intervals_clear(struct sjdb_intervals *intervals)
{
    g_clear_pointer(&intervals->entries, g_array_unref);
    g_clear_pointer(&intervals->lows, g_array_unref);
    g_clear_pointer(&intervals->highs, g_array_unref);
}
