/* The report of a night: what it shows, that the page is well formed, and that nothing in it is markup. */
#include "coordinator/nights/judge/regressions.h"
#include "coordinator/nights/report/night_html.h"
#include "coordinator/nights/report/night_report.h"
#include "coordinator/tell/tell.h"
#include "schema/results/store_nights.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/temp_folder.h"

#include <string.h>

/* A text that would be markup, in HTML, in an attribute, in Slack and on a terminal. */
#define HOSTILE "<script>alert('x')</script>\"&amp;\x1b[31m`<!channel>"

static json_t *point_json(const char *night, const char *node, double median_ms)
{
    return json_pack("{ss sI ss ss si ss ss ss si sf sf}", "night", night, "campaign",
                     (json_int_t)7, "solver", HOSTILE, "config", HOSTILE, "revision", 1, "hash",
                     HOSTILE, "stack", HOSTILE, "node", node, "n", 25, "median_ms", median_ms,
                     "spread", 0.01);
}

static json_t *finding_json(const char *kind, const char *state, const char *key)
{
    return json_pack(
        "{sI ss ss sf sf sf sf sf sf si ss ss ss ss so so s[o] s[{ss sf sf sf sb}] s[{ss ss}]}",
        "problem_id", (json_int_t)1, "key", key, "solver", HOSTILE, "percent", 20.0, "low", 18.0,
        "high", 22.0, "p", 1e-9, "q", 1e-7, "then_ms", 1.0, "then_nights", 5, "against", "golden",
        "scope", "entry", "kind", kind, "state", state, "now",
        point_json("2026-11-23", HOSTILE, 1.2), "then", point_json("golden 4", "n1", 1.0), "again",
        point_json("job 1 round 2", HOSTILE, 1.21), "networks", "network", HOSTILE, "runs", 1.0,
        "ms", 0.6, "percent", 2.5, "lost", 0, "causes", "cause", "driver", "evidence", HOSTILE);
}

static json_t *report_json(void)
{
    return json_pack(
        "{si s{ss ss ss sI sI sI sb ss} s{si si si si si si si} sb"
        " s[{ss si si sb ss}]"
        " s[{ss si s{si si si si si} s[{ss si si si si si}] s[] s[{ss ss ss ss}]"
        "    s{si s[ooo] s[{ss sf si sb}] s{sf si sf sf}}"
        "    s{si sb ss} s{ss sn s[{ss sI ss}]} s[{ss si si si sf ss si}]}]}",
        "version", 1, "night", "name", HOSTILE, "date", "2026-11-23", "state", "reporting",
        "begun_unix", (json_int_t)1795500000, "ended_unix", (json_int_t)1795503600, "deadline_unix",
        (json_int_t)0, "empty", 0, "by", HOSTILE, "found", "failed", 0, "slower", 1, "faster", 1,
        "node", 1, "unconfirmed", 0, "suspect", 0, "gone", 3, "bad", 1, "steps", "step",
        "exporting", "tries", 2, "seconds", 3, "failed", 1, "detail", HOSTILE, "targets", "target",
        HOSTILE, "baseline", 4, "counts", "jobs", 3, "done", 2, "failed", 0, "unfinished", 1,
        "open", 0, "reasons", "reason", "driver", "jobs", 3, "done", 2, "failed", 0, "unfinished",
        1, "open", 0, "failed_jobs", "unfinished_jobs", "key", HOSTILE, "solver", HOSTILE, "reason",
        "driver", "detail", HOSTILE, "judged", "version", 1, "findings",
        finding_json("slower", "confirmed", "the slow one " HOSTILE),
        finding_json("faster", "confirmed", "the fast one"),
        finding_json("slower", "node", "the node's one"), "nodes", "node", HOSTILE, "percent", 8.0,
        "results", 12, "is_slow", 1, "noise", "night_error", 0.01, "pairs", 200, "scale", 1.0,
        "freedom", 20.0, "golden", "version", 5, "approved", 0, "words", HOSTILE, "export",
        "folder", HOSTILE, "words", "files", "name", HOSTILE, "bytes", (json_int_t)7, "sha256",
        "ab", "devices", "device", HOSTILE, "sm_mhz_min", 1410, "sm_mhz_max", 1980, "temperature_c",
        80, "power_w", 300.0, "throttle", "heat", "samples", 9);
}

/* Checks as XML what is left after void elements are closed; the page has no other element without an end. */
static void assert_well_formed(const char *page)
{
    g_autoptr(GRegex) voids = g_regex_new("<(meta|br)([^>]*)>", 0, 0, NULL);
    const char *begin = strstr(page, "<html");
    g_autoptr(GError) error = NULL;
    g_autofree char *xml = g_regex_replace(voids, begin, -1, 0, "<\\1\\2/>", 0, &error);
    static const GMarkupParser parser = {0};
    g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&parser, 0, NULL, NULL);
    g_assert_no_error(error);
    g_markup_parse_context_parse(context, xml, -1, &error);
    g_assert_no_error(error);
    g_markup_parse_context_end_parse(context, &error);
    g_assert_no_error(error);
}

static void test_page_is_well_formed_and_escaped(void)
{
    json_t *report = report_json();
    g_assert_nonnull(report);
    g_autofree char *page = night_html(report);
    assert_well_formed(page);
    g_assert_null(strstr(page, "<script"));
    g_assert_null(strstr(page, "<!channel"));
    g_assert_null(strchr(page, '\x1b'));
    g_assert_nonnull(strstr(page, "&lt;script&gt;"));
    g_assert_nonnull(strstr(page, "&amp;amp;"));
    g_assert_true(g_str_has_prefix(page, "<!DOCTYPE html>\n<html lang=\"en\">"));
    json_decref(report);
}

static void test_page_needs_nothing_from_outside(void)
{
    static const char *const outside[] = {"http:",   "https:", "src=",    "href=", "url(",
                                          "@import", "<link",  "<script", "onload"};
    json_t *report = report_json();
    g_autofree char *page = night_html(report);
    for (size_t i = 0; i < G_N_ELEMENTS(outside); i++)
        g_assert_null(strstr(page, outside[i]));
    g_assert_nonnull(strstr(page, "default-src 'none'"));
    g_assert_nonnull(strstr(page, "width=device-width"));
    g_assert_nonnull(strstr(page, "prefers-color-scheme:dark"));
    json_decref(report);
}

static void test_page_of_an_empty_night(void)
{
    json_t *report = json_pack("{s{ss ss} s[] s[]}", "night", "name", "gfx", "date", "2026-11-23",
                               "steps", "targets");
    g_autofree char *page = night_html(report);
    g_autofree char *text = night_report_text(report);
    assert_well_formed(page);
    g_assert_nonnull(strstr(text, "Night gfx, 2026-11-23"));
    g_assert_false(night_report_is_bad(report));
    json_decref(report);
}

static void test_text_says_what_counts(void)
{
    static const char *const words[] = {
        "1 slower, 0 failed, 1 faster; 1 on one node only, 0 not confirmed, 3 were noise",
        "exporting failed: ",
        "compared with golden version 4",
        "3 jobs: 2 done, 0 failed, 1 unfinished, 0 open",
        "  Slower:\n    the slow one ",
        "+20.0 % (+18.0 to +22.0), 1.2 ms now, 1 ms golden 4",
        "+0.6 ms (+2.50 %)",
        "cause: driver: ",
        "measured again: 1.21 ms on ",
        "  Slow on one node only:\n    the node's one ",
        "golden: version 5 proposed",
        "throttled: heat",
    };
    json_t *report = report_json();
    g_autofree char *text = night_report_text(report);
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (strstr(text, words[i]) == NULL)
            g_error("no '%s' in:\n%s", words[i], text);
    g_assert_null(strchr(text, '\x1b'));
    g_assert_true(night_report_is_bad(report));
    json_decref(report);
}

static void test_message_fits_slack(void)
{
    json_t *report = report_json();
    json_t *body = tell_night_body(report);
    json_t *blocks = json_object_get(body, "blocks");
    size_t i;
    json_t *block;
    g_assert_nonnull(body);
    g_assert_nonnull(strstr(json_string_value(json_object_get(body, "text")),
                            "2026-11-23: 1 slower, 0 failed, 1 faster; exporting failed"));
    g_assert_cmpint(json_array_size(blocks), ==, 2);
    json_array_foreach (blocks, i, block) {
        const char *text =
            json_string_value(json_object_get(json_object_get(block, "text"), "text"));
        g_assert_cmpstr(json_string_value(json_object_get(block, "type")), ==, "section");
        g_assert_cmpuint(strlen(text), <=, 3000);
        g_assert_null(strchr(text, '<'));
    }
    json_t *own = json_object_get(body, "skipjack");
    g_assert_cmpint(json_integer_value(json_object_get(own, "version")), ==, 1);
    /* The finding of a node is nobody's regression: it is not told. */
    g_assert_cmpint(json_array_size(json_object_get(own, "findings")), ==, 2);
    json_decref(body);
    json_decref(report);
}

static void test_many_findings_are_cut(void)
{
    json_t *report = report_json();
    json_t *findings = json_object_get(
        json_object_get(json_array_get(json_object_get(report, "targets"), 0), "judged"),
        "findings");
    for (int i = 0; i < 400; i++)
        json_array_append_new(findings, finding_json("slower", "confirmed", "one of many"));
    g_autofree char *page = night_html(report);
    g_autofree char *text = night_report_text(report);
    json_t *body = tell_night_body(report);
    char *bytes = json_dumps(body, 0);
    assert_well_formed(page);
    g_assert_nonnull(strstr(page, "and 101 more, in report.json"));
    g_assert_nonnull(strstr(text, "and 361 more, in report.json"));
    g_assert_cmpuint(strlen(bytes), <, 100000);
    free(bytes);
    json_decref(body);
    json_decref(report);
}

static void test_files_are_written_whole_and_again(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    json_t *report = report_json();
    json_object_set_new(json_object_get(report, "night"), "name", json_string("gfx"));
    for (int i = 0; i < 2; i++) {
        g_autofree char *written = NULL;
        g_assert_true(
            night_report_write(report, temp_folder_path(folder, "reports"), &written, &error));
        g_assert_no_error(error);
        g_assert_true(g_str_has_suffix(written, "/reports/gfx-2026-11-23"));
    }
    const char *path = temp_folder_path(folder, "reports/gfx-2026-11-23/report.json");
    json_t *read = json_load_file(path, 0, NULL);
    g_assert_true(json_equal(read, report));
    json_decref(read);
    g_autoptr(GBytes) page =
        temp_folder_read(temp_folder_path(folder, "reports/gfx-2026-11-23/report.html"));
    g_assert_cmpuint(g_bytes_get_size(page), >, 1000);
    g_autoptr(GBytes) text =
        temp_folder_read(temp_folder_path(folder, "reports/gfx-2026-11-23/report.txt"));
    g_assert_cmpuint(g_bytes_get_size(text), >, 100);
    json_decref(report);
}

static void test_report_is_read_from_the_night(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    json_t *description = json_object(), *plan = json_object();
    struct night *night =
        store_begin_night(store, "gfx", "2026-11-23", description, 0, NULL, &error);
    g_assert_no_error(error);
    bool taken = false;
    g_assert_true(store_take_night(store, night->id, "one process 7", &taken, &error));
    struct night_target target = {.target = (char *)"cpu-x_8", .stack = (char *)"", .plan = plan};
    g_assert_true(store_put_night_target(store, night->id, &target, &error));
    temp_folder_write(folder, "x.txt", "abc", -1);
    const struct night_report_target outcome = {.target = "cpu-x_8",
                                                .golden_version = 3,
                                                .golden_approved = true,
                                                .export_folder = temp_folder_path(folder, NULL)};
    json_t *report = night_report_read(store, night->id, &outcome, 1, &error);
    g_assert_no_error(error);
    json_t *first = json_array_get(json_object_get(report, "targets"), 0);
    json_t *file = json_array_get(json_object_get(json_object_get(first, "export"), "files"), 0);
    g_assert_cmpstr(json_string_value(json_object_get(file, "name")), ==, "x.txt");
    g_assert_cmpint(json_integer_value(json_object_get(file, "bytes")), ==, 3);
    /* SHA-256 of "abc": FIPS 180-2, appendix B.1. */
    g_assert_cmpstr(json_string_value(json_object_get(file, "sha256")), ==,
                    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    g_assert_true(json_is_null(json_object_get(first, "judged")));
    g_assert_false(night_report_is_bad(report));
    json_decref(report);
    json_decref(description);
    json_decref(plan);
    night_free(night);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/night_report/page_is_well_formed_and_escaped",
                    test_page_is_well_formed_and_escaped);
    g_test_add_func("/night_report/page_needs_nothing_from_outside",
                    test_page_needs_nothing_from_outside);
    g_test_add_func("/night_report/page_of_an_empty_night", test_page_of_an_empty_night);
    g_test_add_func("/night_report/text_says_what_counts", test_text_says_what_counts);
    g_test_add_func("/night_report/message_fits_slack", test_message_fits_slack);
    g_test_add_func("/night_report/many_findings_are_cut", test_many_findings_are_cut);
    g_test_add_func("/night_report/files_are_written_whole_and_again",
                    test_files_are_written_whole_and_again);
    g_test_add_func("/night_report/report_is_read_from_the_night",
                    test_report_is_read_from_the_night);
    return g_test_run();
}
