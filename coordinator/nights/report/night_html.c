/*
 * The page of a report. Every value goes through add_text(), which escapes it; markup is in literals alone. A policy in
 * the page forbids scripts and whatever is not in the file.
 */
#include "coordinator/nights/report/night_html.h"

#include "coordinator/cli/when.h"
#include "coordinator/nights/report/report_members.h"

#include <stdbool.h>

/* Rows of a table; the JSON has all. */
#define ROWS_SHOWN 300

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<style>\n"
    ":root{--fg:#1b1f24;--bg:#fff;--soft:#57606a;--line:#d0d7de;--bad:#a40e26;--good:#116329;--warn:#7d4e00;"
    "--card:#f6f8fa}\n"
    "@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;--soft:#9ea7b3;--line:#30363d;"
    "--bad:#ff8f8a;--good:#56d364;--warn:#e3b341;--card:#161b22}}\n"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg);margin:0 auto;max-width:75rem;"
    "padding:1rem}\n"
    "h1{font-size:1.5rem}h2{font-size:1.25rem;border-bottom:1px solid var(--line);margin-top:2rem;"
    "overflow-wrap:anywhere}h3{font-size:1.05rem}\n"
    ".soft{color:var(--soft)}.bad{color:var(--bad)}.good{color:var(--good)}.warn{color:var(--warn)}\n"
    "ul.cards{display:flex;flex-wrap:wrap;gap:.5rem;padding:0;list-style:none}\n"
    "ul.cards li{background:var(--card);border:1px solid var(--line);border-radius:.4rem;padding:.4rem .8rem}\n"
    "ul.cards b{font-size:1.3rem;display:block}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}\n"
    "caption{text-align:left;color:var(--soft)}\n"
    "th,td{text-align:left;vertical-align:top;padding:.25rem .6rem;border-bottom:1px solid var(--line)}\n"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "td.k,code{font-family:ui-monospace,monospace;font-size:.85em;overflow-wrap:anywhere}\n"
    "td.k{min-width:14rem}\n"
    "@media print{body{max-width:none}.wide{overflow:visible}}\n"
    "</style>\n";

/* Adds words as text of the page: bytes that are not UTF-8 and control characters are replaced. */
static void add_text(GString *html, const char *words)
{
    g_autofree char *valid = g_utf8_make_valid(words, -1);
    g_autofree char *plain = g_strdup(valid);
    for (char *at = plain; *at != '\0'; at++)
        if (g_ascii_iscntrl(*at) && *at != '\n' && *at != '\t')
            *at = ' ';
    g_autofree char *escaped = g_markup_escape_text(plain, -1);
    g_string_append(html, escaped);
}

G_GNUC_PRINTF(2, 3)
static void add_format(GString *html, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *words = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    add_text(html, words);
}

/* ---- tables ---- */

struct column {
    const char *title;
    bool is_number;
};

static void open_table(GString *html, const char *caption, const struct column *columns,
                       size_t count)
{
    g_string_append(html, "<div class=\"wide\" tabindex=\"0\"><table><caption>");
    add_text(html, caption);
    g_string_append(html, "</caption><thead><tr>");
    for (size_t i = 0; i < count; i++) {
        g_string_append(html, columns[i].is_number ? "<th scope=\"col\" class=\"n\">"
                                                   : "<th scope=\"col\">");
        add_text(html, columns[i].title);
        g_string_append(html, "</th>");
    }
    g_string_append(html, "</tr></thead><tbody>\n");
}

static void close_table(GString *html, size_t left_out)
{
    g_string_append(html, "</tbody></table></div>\n");
    if (left_out > 0) {
        g_string_append(html, "<p class=\"soft\">");
        add_format(html, "and %zu more, in report.json", left_out);
        g_string_append(html, "</p>\n");
    }
}

#define OPEN_TABLE(html, caption, columns) open_table(html, caption, columns, G_N_ELEMENTS(columns))

static void add_cell(GString *html, const char *class_name, const char *words)
{
    g_string_append_printf(html, "<td class=\"%s\">", class_name);
    add_text(html, words);
    g_string_append(html, "</td>");
}

G_GNUC_PRINTF(2, 3)
static void add_number(GString *html, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *words = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    add_cell(html, "n", words);
}

/* ---- findings ---- */

static void add_change(GString *html, const json_t *finding)
{
    const json_t *now = json_object_get(finding, "now");
    if (json_is_string(json_object_get(now, "failure"))) {
        g_string_append(html, "<td class=\"bad\">");
        add_text(html, report_text(now, "failure"));
        if (*report_text(now, "detail") != '\0')
            add_format(html, ": %.300s", report_text(now, "detail"));
        g_string_append(html, "</td>");
        add_cell(html, "n", "-");
    } else {
        g_string_append(html, report_is(finding, "kind", "faster") ? "<td class=\"n good\">"
                                                                   : "<td class=\"n bad\">");
        add_format(html, "%+.1f %% (%+.1f to %+.1f)", report_number(finding, "percent"),
                   report_number(finding, "low"), report_number(finding, "high"));
        g_string_append(html, "</td>");
        add_number(html, "%.4g", report_number(now, "median_ms"));
    }
    add_number(html, "%.4g", report_number(finding, "then_ms"));
    add_cell(html, "", report_text(json_object_get(finding, "then"), "night"));
}

static void add_networks(GString *html, const json_t *finding)
{
    size_t i;
    json_t *effect;
    g_string_append(html, "<td>");
    json_array_foreach (json_object_get(finding, "networks"), i, effect) {
        g_string_append(html, i > 0 ? "<br>" : "");
        add_text(html, report_text(effect, "network"));
        if (json_is_true(json_object_get(effect, "lost")))
            add_text(html, ": no solver is left");
        else
            add_format(html, " %+.4g ms (%+.2f %%)", report_number(effect, "ms"),
                       report_number(effect, "percent"));
    }
    g_string_append(html, "</td>");
}

static void add_causes(GString *html, const json_t *finding)
{
    size_t i;
    json_t *cause;
    g_string_append(html, "<td>");
    json_array_foreach (json_object_get(finding, "causes"), i, cause) {
        g_string_append(html, i > 0 ? "<br><b>" : "<b>");
        add_text(html, report_text(cause, "cause"));
        g_string_append(html, "</b>: ");
        add_text(html, report_text(cause, "evidence"));
    }
    g_string_append(html, "</td><td>");
    json_array_foreach (json_object_get(finding, "again"), i, cause) {
        g_string_append(html, i > 0 ? "<br>" : "");
        if (json_is_string(json_object_get(cause, "failure")))
            add_text(html, report_text(cause, "failure"));
        else
            add_format(html, "%.4g ms", report_number(cause, "median_ms"));
        add_format(html, " on %s", report_text(cause, "node"));
    }
    g_string_append(html, "</td>");
}

static void add_section(GString *html, const struct report_section *section, const json_t *findings)
{
    static const struct column columns[] = {
        {"problem", false},  {"solver", false},    {"change", true},
        {"now, ms", true},   {"before, ms", true}, {"of", false},
        {"networks", false}, {"cause", false},     {"measured again", false},
    };
    size_t i, count = 0;
    json_t *finding;
    json_array_foreach (findings, i, finding) {
        if (!report_belongs(section, finding) || ++count > ROWS_SHOWN)
            continue;
        if (count == 1) {
            g_string_append(html, "<h3>");
            add_text(html, section->title);
            g_string_append(html, "</h3>\n");
            OPEN_TABLE(html, "those first that cost networks most", columns);
        }
        g_string_append(html, "<tr>");
        add_cell(html, "k", report_text(finding, "key"));
        add_cell(html, "", report_text(finding, "solver"));
        add_change(html, finding);
        add_networks(html, finding);
        add_causes(html, finding);
        g_string_append(html, "</tr>\n");
    }
    if (count > 0)
        close_table(html, count > ROWS_SHOWN ? count - ROWS_SHOWN : 0);
}

/* ---- a target ---- */

static void add_reasons(GString *html, const json_t *target)
{
    static const struct column columns[] = {{"reason", false},    {"jobs", true},
                                            {"done", true},       {"failed", true},
                                            {"unfinished", true}, {"open", true}};
    const json_t *reasons = json_object_get(target, "reasons");
    size_t i;
    json_t *reason;
    if (json_array_size(reasons) == 0) {
        g_string_append(html, "<p>Nothing had to be worked on.</p>\n");
        return;
    }
    OPEN_TABLE(html, "jobs of the night, by reason", columns);
    json_array_foreach (reasons, i, reason) {
        g_string_append(html, "<tr>");
        add_cell(html, "", report_text(reason, "reason"));
        for (size_t c = 1; c < G_N_ELEMENTS(columns); c++)
            add_number(html, "%" G_GINT64_FORMAT, report_int(reason, columns[c].title));
        g_string_append(html, "</tr>\n");
    }
    close_table(html, 0);
}

static void add_job_list(GString *html, const json_t *jobs, const char *title, gint64 all)
{
    static const struct column columns[] = {
        {"problem", false}, {"solver", false}, {"reason", false}, {"detail", false}};
    size_t i;
    json_t *job;
    if (json_array_size(jobs) == 0)
        return;
    g_string_append(html, "<details><summary>");
    add_format(html, "%s: %" G_GINT64_FORMAT " jobs", title, all);
    g_string_append(html, "</summary>\n");
    OPEN_TABLE(html, title, columns);
    json_array_foreach (jobs, i, job) {
        g_string_append(html, "<tr>");
        add_cell(html, "k", report_text(job, "key"));
        add_cell(html, "", report_text(job, "solver"));
        add_cell(html, "", report_text(job, "reason"));
        add_cell(html, "", report_text(job, "detail"));
        g_string_append(html, "</tr>\n");
    }
    close_table(html, (size_t)MAX(all - (gint64)json_array_size(jobs), 0));
    g_string_append(html, "</details>\n");
}

static void add_nodes(GString *html, const json_t *judged)
{
    size_t i;
    json_t *node;
    json_array_foreach (json_object_get(judged, "nodes"), i, node) {
        if (!json_is_true(json_object_get(node, "is_slow")))
            continue;
        g_string_append(html, "<p class=\"warn\">Node ");
        add_format(html, "%s is slow: its %" G_GINT64_FORMAT " unchanged results by %.1f %%.",
                   report_text(node, "node"), report_int(node, "results"),
                   report_number(node, "percent"));
        g_string_append(html, "</p>\n");
    }
}

static void add_golden(GString *html, const json_t *golden)
{
    if (!json_is_object(golden))
        return;
    g_string_append(html, "<h3>Golden</h3>\n<p>");
    if (report_int(golden, "version") > 0)
        add_format(html, "Version %" G_GINT64_FORMAT " %s. ", report_int(golden, "version"),
                   json_is_true(json_object_get(golden, "approved"))
                       ? "is approved"
                       : "is proposed and waits for approval");
    add_text(html, report_text(golden, "words"));
    g_string_append(html, "</p>\n");
}

static void add_export(GString *html, const json_t *export)
{
    static const struct column columns[] = {{"file", false}, {"bytes", true}, {"SHA-256", false}};
    size_t i;
    json_t *file;
    if (!json_is_object(export))
        return;
    g_string_append(html, "<h3>Export</h3>\n");
    if (*report_text(export, "words") != '\0') {
        g_string_append(html, "<p class=\"bad\">");
        add_format(html, "failed: %s", report_text(export, "words"));
        g_string_append(html, "</p>\n");
    }
    if (*report_text(export, "folder") == '\0')
        return;
    OPEN_TABLE(html, report_text(export, "folder"), columns);
    json_array_foreach (json_object_get(export, "files"), i, file) {
        g_string_append(html, "<tr>");
        add_cell(html, "", report_text(file, "name"));
        add_number(html, "%" G_GINT64_FORMAT, report_int(file, "bytes"));
        add_cell(html, "k", report_text(file, "sha256"));
        g_string_append(html, "</tr>\n");
    }
    close_table(html, 0);
}

static void add_conditions(GString *html, const json_t *target)
{
    static const struct column columns[] = {{"device", false},    {"SM clock, MHz", true},
                                            {"heat, °C", true},   {"power, W", true},
                                            {"throttled", false}, {"samples", true}};
    const json_t *devices = json_object_get(target, "devices"),
                 *noise = json_object_get(json_object_get(target, "judged"), "noise");
    size_t i;
    json_t *device;
    if (json_array_size(devices) > 0) {
        g_string_append(html, "<h3>Conditions</h3>\n");
        OPEN_TABLE(html, "devices while they measured", columns);
        json_array_foreach (devices, i, device) {
            g_string_append(html, "<tr>");
            add_cell(html, "k", report_text(device, "device"));
            add_number(html, "%" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                       report_int(device, "sm_mhz_min"), report_int(device, "sm_mhz_max"));
            add_number(html, "%" G_GINT64_FORMAT, report_int(device, "temperature_c"));
            add_number(html, "%.0f", report_number(device, "power_w"));
            add_cell(html, "", report_text(device, "throttle"));
            add_number(html, "%" G_GINT64_FORMAT, report_int(device, "samples"));
            g_string_append(html, "</tr>\n");
        }
        close_table(html, 0);
    }
    if (json_is_object(noise)) {
        g_string_append(html, "<p class=\"soft\">");
        add_format(html,
                   "Noise between nights in which nothing changed: %.2f %%, from %" G_GINT64_FORMAT
                   " pairs of nights; tails as Student's t with %.1f degrees of freedom.",
                   100 * report_number(noise, "night_error"), report_int(noise, "pairs"),
                   report_number(noise, "freedom"));
        g_string_append(html, "</p>\n");
    }
}

static void add_target(GString *html, const json_t *target)
{
    const json_t *judged = json_object_get(target, "judged"),
                 *counts = json_object_get(target, "counts");
    g_string_append(html, "<h2>");
    add_text(html, report_text(target, "target"));
    g_string_append(html, "</h2>\n");
    if (report_int(target, "baseline") > 0) {
        g_string_append(html, "<p>");
        add_format(html, "Compared with golden version %" G_GINT64_FORMAT " and the last night.",
                   report_int(target, "baseline"));
        g_string_append(html, "</p>\n");
    }
    for (size_t s = 0; s < G_N_ELEMENTS(report_sections); s++)
        add_section(html, &report_sections[s], json_object_get(judged, "findings"));
    add_nodes(html, judged);
    g_string_append(html, "<h3>Jobs</h3>\n");
    add_reasons(html, target);
    add_job_list(html, json_object_get(target, "failed_jobs"), "failed",
                 report_int(counts, "failed"));
    add_job_list(html, json_object_get(target, "unfinished_jobs"), "unfinished",
                 report_int(counts, "unfinished"));
    add_golden(html, json_object_get(target, "golden"));
    add_export(html, json_object_get(target, "export"));
    add_conditions(html, target);
}

/* ---- the page ---- */

static void add_cards(GString *html, const json_t *found)
{
    static const struct {
        const char *member, *title, *class_name;
    } cards[] = {{"slower", "slower", "bad"},
                 {"failed", "failed", "bad"},
                 {"faster", "faster", "good"},
                 {"node", "on one node only", "warn"},
                 {"unconfirmed", "not confirmed", "warn"},
                 {"gone", "were noise", "soft"}};
    g_string_append(html, "<ul class=\"cards\">\n");
    for (size_t i = 0; i < G_N_ELEMENTS(cards); i++) {
        gint64 count = report_int(found, cards[i].member);
        g_string_append_printf(html, "<li><b class=\"%s\">%" G_GINT64_FORMAT "</b> %s</li>\n",
                               count > 0 ? cards[i].class_name : "soft", count, cards[i].title);
    }
    g_string_append(html, "</ul>\n");
}

static void add_steps(GString *html, const json_t *steps)
{
    static const struct column columns[] = {
        {"step", false}, {"seconds", true}, {"tries", true}, {"", false}};
    size_t i;
    json_t *step;
    g_string_append(html, "<h2>Steps</h2>\n");
    OPEN_TABLE(html, "what the night did", columns);
    json_array_foreach (steps, i, step) {
        bool failed = json_is_true(json_object_get(step, "failed"));
        g_string_append(html, "<tr>");
        add_cell(html, failed ? "bad" : "", report_text(step, "step"));
        add_number(html, "%" G_GINT64_FORMAT, report_int(step, "seconds"));
        add_number(html, "%" G_GINT64_FORMAT, report_int(step, "tries"));
        g_string_append(html, failed ? "<td class=\"bad\">failed: " : "<td>");
        add_text(html, report_text(step, "detail"));
        g_string_append(html, "</td></tr>\n");
    }
    close_table(html, 0);
}

char *night_html(const json_t *report)
{
    const json_t *night = json_object_get(report, "night");
    GString *html = g_string_new(head);
    g_autofree char *begun = when_text(report_int(night, "begun_unix"));
    g_autofree char *took =
        when_duration((double)(report_int(night, "ended_unix") - report_int(night, "begun_unix")));
    size_t i;
    json_t *target;
    g_string_append(html, "<title>Night ");
    add_format(html, "%s, %s", report_text(night, "name"), report_text(night, "date"));
    g_string_append(html, "</title>\n</head>\n<body>\n<main>\n<h1>Night ");
    add_format(html, "%s, %s", report_text(night, "name"), report_text(night, "date"));
    g_string_append(html, "</h1>\n<p class=\"soft\">");
    add_format(html, "Begun %s, %s; by %s.", begun, took, report_text(night, "by"));
    g_string_append(html, "</p>\n");
    add_cards(html, json_object_get(report, "found"));
    json_array_foreach (json_object_get(report, "targets"), i, target)
        add_target(html, target);
    add_steps(html, json_object_get(report, "steps"));
    g_string_append(html, "</main>\n</body>\n</html>\n");
    return g_string_free(html, FALSE);
}
