/* Prometheus' text format, byte by byte. */
#include <glib.h>
#include <math.h>

#include "schema/monitor/metrics.h"

static const struct metric gauge = {"a_gauge", METRIC_GAUGE, "Some help."};

static void test_labels_hold_any_bytes(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    metric_sample(text, &gauge, 1, "a", "x\"y\\z\nw", "b", "\xff", NULL);
    metric_sample(text, &gauge, 2, "a", NULL, NULL);
    g_assert_cmpstr(text->str, ==,
                    "a_gauge{a=\"x\\\"y\\\\z\\nw\",b=\"\xef\xbf\xbd\"} 1\na_gauge{a=\"\"} 2\n");
}

static void test_values_are_written_as_they_are(void)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "a_gauge 0\n"},
        {-3, "a_gauge -3\n"},
        {9007199254740991.0, "a_gauge 9007199254740991\n"},
        {0.25, "a_gauge 0.25\n"},
        {1795260460.74, "a_gauge 1795260460.74\n"},
        {1e300, "a_gauge 1e+300\n"},
        {NAN, "a_gauge NaN\n"},
        {INFINITY, "a_gauge +Inf\n"},
        {-INFINITY, "a_gauge -Inf\n"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        metric_sample(text, &gauge, cases[i].value, NULL);
        g_assert_cmpstr(text->str, ==, cases[i].text);
    }
}

static void test_a_metric_begins_with_help_and_type(void)
{
    static const struct metric counter = {"things_total", METRIC_COUNTER, "Things."};
    g_autoptr(GString) text = g_string_new(NULL);
    metric_begin(text, &counter);
    g_assert_cmpstr(text->str, ==, "# HELP things_total Things.\n# TYPE things_total counter\n");
}

static void test_a_histogram_adds_up(void)
{
    static const struct metric metric = {"h_seconds", METRIC_HISTOGRAM, "Calls."};
    struct histogram histogram = {0};
    histogram_add(&histogram, 0.001);
    histogram_add(&histogram, 0.25);
    histogram_add(&histogram, 1000);
    g_autoptr(GString) text = g_string_new(NULL);
    metric_histogram(text, &metric, &histogram, "lane", "data");
    g_assert_cmpstr(text->str, ==,
                    "h_seconds_bucket{lane=\"data\",le=\"0.001\"} 1\n"
                    "h_seconds_bucket{lane=\"data\",le=\"0.005\"} 1\n"
                    "h_seconds_bucket{lane=\"data\",le=\"0.02\"} 1\n"
                    "h_seconds_bucket{lane=\"data\",le=\"0.1\"} 1\n"
                    "h_seconds_bucket{lane=\"data\",le=\"0.5\"} 2\n"
                    "h_seconds_bucket{lane=\"data\",le=\"2\"} 2\n"
                    "h_seconds_bucket{lane=\"data\",le=\"10\"} 2\n"
                    "h_seconds_bucket{lane=\"data\",le=\"60\"} 2\n"
                    "h_seconds_bucket{lane=\"data\",le=\"300\"} 2\n"
                    "h_seconds_bucket{lane=\"data\",le=\"+Inf\"} 3\n"
                    "h_seconds_sum{lane=\"data\"} 1000.251\n"
                    "h_seconds_count{lane=\"data\"} 3\n");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/metrics/labels_hold_any_bytes", test_labels_hold_any_bytes);
    g_test_add_func("/metrics/values_are_written_as_they_are", test_values_are_written_as_they_are);
    g_test_add_func("/metrics/a_metric_begins_with_help_and_type",
                    test_a_metric_begins_with_help_and_type);
    g_test_add_func("/metrics/a_histogram_adds_up", test_a_histogram_adds_up);
    return g_test_run();
}
