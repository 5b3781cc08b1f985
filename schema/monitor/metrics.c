/* Metrics in Prometheus' text format. */
#include "schema/monitor/metrics.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

const double histogram_bounds[HISTOGRAM_BOUNDS] = {0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300};

void histogram_add(struct histogram *histogram, double seconds)
{
    int i = 0;
    while (i < HISTOGRAM_BOUNDS && seconds > histogram_bounds[i])
        i++;
    histogram->counts[i]++;
    histogram->sum_seconds += seconds;
}

void metric_begin(GString *out, const struct metric *metric)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    g_assert(metric->kind != METRIC_COUNTER || g_str_has_suffix(metric->name, "_total"));
    g_string_append_printf(out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
                           metric->name, kinds[metric->kind]);
}

static void append_label(GString *out, const char *name, const char *value)
{
    g_autofree char *valid = g_utf8_make_valid(value ? value : "", -1);
    g_string_append_printf(out, "%c%s=\"", out->str[out->len - 1] == '"' ? ',' : '{', name);
    for (const char *at = valid; *at; at++) {
        if (*at == '\n')
            g_string_append(out, "\\n");
        else if (*at == '"' || *at == '\\')
            g_string_append_printf(out, "\\%c", *at);
        else
            g_string_append_c(out, *at);
    }
    g_string_append_c(out, '"');
}

/* Whole numbers are written without exponent: counters are readable, and exact up to 2^53. */
static void append_value(GString *out, double value)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    if (out->str[out->len - 1] == '"')
        g_string_append_c(out, '}');
    if (isnan(value) || isinf(value))
        g_string_append(out, isnan(value) ? " NaN\n" : value > 0 ? " +Inf\n" : " -Inf\n");
    else if (value == trunc(value) && fabs(value) < 9007199254740992.0)
        g_string_append_printf(out, " %.0f\n", value);
    else
        g_string_append_printf(out, " %s\n",
                               g_ascii_formatd(digits, sizeof digits, "%.12g", value));
}

void metric_sample(GString *out, const struct metric *metric, double value, ...)
{
    va_list labels;
    g_string_append(out, metric->name);
    va_start(labels, value);
    for (const char *name; (name = va_arg(labels, const char *));)
        append_label(out, name, va_arg(labels, const char *));
    va_end(labels);
    append_value(out, value);
}

void metric_histogram(GString *out, const struct metric *metric, const struct histogram *histogram,
                      const char *label, const char *label_value)
{
    uint64_t count = 0;
    for (int i = 0; i <= HISTOGRAM_BOUNDS; i++) {
        char bound[G_ASCII_DTOSTR_BUF_SIZE] = "+Inf";
        if (i < HISTOGRAM_BOUNDS)
            g_ascii_formatd(bound, sizeof bound, "%g", histogram_bounds[i]);
        count += histogram->counts[i];
        g_string_append_printf(out, "%s_bucket", metric->name);
        append_label(out, label, label_value);
        append_label(out, "le", bound);
        append_value(out, (double)count);
    }
    g_string_append_printf(out, "%s_sum", metric->name);
    append_label(out, label, label_value);
    append_value(out, histogram->sum_seconds);
    g_string_append_printf(out, "%s_count", metric->name);
    append_label(out, label, label_value);
    append_value(out, (double)count);
}
