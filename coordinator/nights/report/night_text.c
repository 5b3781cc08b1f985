/* The report of a night as text, for terminals and logs. */
#include "coordinator/cli/when.h"
#include "coordinator/nights/report/night_report.h"
#include "coordinator/nights/report/report_members.h"

/* Findings of a section that the text shows; the JSON has all. */
#define FINDINGS_SHOWN 40
#define NETWORKS_SHOWN 3

/* Texts come from devices, files and servers: what a terminal would obey becomes a blank. */
static void add_plain(GString *text, const char *words)
{
    for (const char *at = words; *at != '\0'; at++)
        g_string_append_c(text, g_ascii_iscntrl(*at) ? ' ' : *at);
}

static void add_networks(GString *text, const json_t *finding)
{
    const json_t *networks = json_object_get(finding, "networks");
    size_t i, count = json_array_size(networks);
    json_t *effect;
    if (count == 0)
        return;
    g_string_append(text, "      networks: ");
    json_array_foreach (networks, i, effect) {
        if (i == NETWORKS_SHOWN)
            break;
        g_string_append(text, i > 0 ? "; " : "");
        add_plain(text, report_text(effect, "network"));
        if (json_is_true(json_object_get(effect, "lost")))
            g_string_append(text, " has no solver left for it");
        else
            g_string_append_printf(text, " %+.4g ms (%+.2f %%)", report_number(effect, "ms"),
                                   report_number(effect, "percent"));
    }
    if (count > NETWORKS_SHOWN)
        g_string_append_printf(text, "; and %zu more", count - NETWORKS_SHOWN);
    g_string_append_c(text, '\n');
}

static void add_causes(GString *text, const json_t *finding)
{
    size_t i;
    json_t *cause;
    g_string_append(text, "      cause: ");
    json_array_foreach (json_object_get(finding, "causes"), i, cause) {
        g_string_append_printf(text, "%s%s: ", i > 0 ? "; " : "", report_text(cause, "cause"));
        add_plain(text, report_text(cause, "evidence"));
    }
    g_string_append_c(text, '\n');
}

static void add_again(GString *text, const json_t *finding)
{
    const json_t *again = json_object_get(finding, "again");
    size_t i;
    json_t *point;
    if (json_array_size(again) == 0)
        return;
    g_string_append(text, "      measured again: ");
    json_array_foreach (again, i, point) {
        g_string_append(text, i > 0 ? "; " : "");
        if (json_is_string(json_object_get(point, "failure")))
            g_string_append(text, report_text(point, "failure"));
        else
            g_string_append_printf(text, "%.4g ms", report_number(point, "median_ms"));
        g_string_append(text, " on ");
        add_plain(text, report_text(point, "node"));
    }
    g_string_append_c(text, '\n');
}

static void add_finding(GString *text, const json_t *finding)
{
    const json_t *now = json_object_get(finding, "now"), *then = json_object_get(finding, "then");
    g_string_append(text, "    ");
    add_plain(text, report_text(finding, "key"));
    g_string_append_c(text, ' ');
    add_plain(text, report_text(finding, "solver"));
    if (json_is_string(json_object_get(now, "failure"))) {
        g_string_append_printf(text, ": %s", report_text(now, "failure"));
        if (*report_text(now, "detail") != '\0') {
            g_string_append(text, ", ");
            add_plain(text, report_text(now, "detail"));
        }
    } else {
        g_string_append_printf(text, ": %+.1f %% (%+.1f to %+.1f), %.4g ms now",
                               report_number(finding, "percent"), report_number(finding, "low"),
                               report_number(finding, "high"), report_number(now, "median_ms"));
    }
    g_string_append_printf(text, ", %.4g ms ", report_number(finding, "then_ms"));
    add_plain(text, report_text(then, "night"));
    g_string_append_c(text, '\n');
    add_networks(text, finding);
    add_causes(text, finding);
    add_again(text, finding);
}

static void add_section(GString *text, const struct report_section *section, const json_t *findings)
{
    size_t i;
    json_t *finding;
    int count = 0;
    json_array_foreach (findings, i, finding) {
        if (!report_belongs(section, finding))
            continue;
        if (count == 0)
            g_string_append_printf(text, "  %s:\n", section->title);
        if (count++ < FINDINGS_SHOWN)
            add_finding(text, finding);
    }
    if (count > FINDINGS_SHOWN)
        g_string_append_printf(text, "    and %d more, in report.json\n", count - FINDINGS_SHOWN);
}

static void add_nodes(GString *text, const json_t *judged)
{
    size_t i;
    json_t *node;
    json_array_foreach (json_object_get(judged, "nodes"), i, node)
        if (json_is_true(json_object_get(node, "is_slow"))) {
            g_string_append(text, "  node ");
            add_plain(text, report_text(node, "node"));
            g_string_append_printf(
                text, " is slow: its %" G_GINT64_FORMAT " unchanged results by %.1f %%\n",
                report_int(node, "results"), report_number(node, "percent"));
        }
}

static void add_jobs(GString *text, const json_t *target)
{
    const json_t *counts = json_object_get(target, "counts");
    size_t i;
    json_t *reason;
    g_string_append_printf(
        text,
        "  %" G_GINT64_FORMAT " jobs: %" G_GINT64_FORMAT " done, %" G_GINT64_FORMAT
        " failed, %" G_GINT64_FORMAT " unfinished, %" G_GINT64_FORMAT " open\n",
        report_int(counts, "jobs"), report_int(counts, "done"), report_int(counts, "failed"),
        report_int(counts, "unfinished"), report_int(counts, "open"));
    json_array_foreach (json_object_get(target, "reasons"), i, reason)
        g_string_append_printf(text, "    %-18s %6" G_GINT64_FORMAT "\n",
                               report_text(reason, "reason"), report_int(reason, "jobs"));
}

static void add_outcome(GString *text, const json_t *target)
{
    const json_t *golden = json_object_get(target, "golden"),
                 *export = json_object_get(target, "export");
    size_t i;
    json_t *file;
    if (report_int(golden, "version") > 0)
        g_string_append_printf(text, "  golden: version %" G_GINT64_FORMAT " %s\n",
                               report_int(golden, "version"),
                               json_is_true(json_object_get(golden, "approved"))
                                   ? "approved"
                                   : "proposed; golden approve releases it");
    if (*report_text(golden, "words") != '\0') {
        g_string_append(text, "  golden: ");
        add_plain(text, report_text(golden, "words"));
        g_string_append_c(text, '\n');
    }
    if (*report_text(export, "words") != '\0') {
        g_string_append(text, "  export failed: ");
        add_plain(text, report_text(export, "words"));
        g_string_append_c(text, '\n');
    }
    if (*report_text(export, "folder") == '\0')
        return;
    g_string_append(text, "  export: ");
    add_plain(text, report_text(export, "folder"));
    g_string_append_c(text, '\n');
    json_array_foreach (json_object_get(export, "files"), i, file) {
        g_string_append_printf(text, "    %s  ", report_text(file, "sha256"));
        add_plain(text, report_text(file, "name"));
        g_string_append_c(text, '\n');
    }
}

static void add_devices(GString *text, const json_t *target)
{
    size_t i;
    json_t *device;
    json_array_foreach (json_object_get(target, "devices"), i, device) {
        g_string_append(text, "  device ");
        add_plain(text, report_text(device, "device"));
        if (report_int(device, "sm_mhz_max") > 0)
            g_string_append_printf(
                text, ", SM clock %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " MHz",
                report_int(device, "sm_mhz_min"), report_int(device, "sm_mhz_max"));
        if (report_int(device, "temperature_c") > 0)
            g_string_append_printf(text, ", up to %" G_GINT64_FORMAT " °C",
                                   report_int(device, "temperature_c"));
        if (*report_text(device, "throttle") != '\0')
            g_string_append_printf(text, ", throttled: %s", report_text(device, "throttle"));
        g_string_append_c(text, '\n');
    }
}

static void add_target(GString *text, const json_t *target)
{
    const json_t *judged = json_object_get(target, "judged");
    g_string_append_c(text, '\n');
    add_plain(text, report_text(target, "target"));
    if (report_int(target, "baseline") > 0)
        g_string_append_printf(text, ", compared with golden version %" G_GINT64_FORMAT,
                               report_int(target, "baseline"));
    g_string_append_c(text, '\n');
    add_jobs(text, target);
    for (size_t s = 0; s < G_N_ELEMENTS(report_sections); s++)
        add_section(text, &report_sections[s], json_object_get(judged, "findings"));
    add_nodes(text, judged);
    add_outcome(text, target);
    add_devices(text, target);
}

char *night_report_text(const json_t *report)
{
    const json_t *night = json_object_get(report, "night"),
                 *found = json_object_get(report, "found");
    GString *text = g_string_new("Night ");
    size_t i;
    json_t *item;
    g_autofree char *took =
        when_duration((double)(report_int(night, "ended_unix") - report_int(night, "begun_unix")));
    add_plain(text, report_text(night, "name"));
    g_string_append_printf(text, ", %s, in %s\n", report_text(night, "date"), took);
    g_string_append_printf(
        text,
        "%" G_GINT64_FORMAT " slower, %" G_GINT64_FORMAT " failed, %" G_GINT64_FORMAT
        " faster; %" G_GINT64_FORMAT " on one node only, %" G_GINT64_FORMAT
        " not confirmed, %" G_GINT64_FORMAT " were noise\n",
        report_int(found, "slower"), report_int(found, "failed"), report_int(found, "faster"),
        report_int(found, "node"), report_int(found, "unconfirmed") + report_int(found, "suspect"),
        report_int(found, "gone"));
    json_array_foreach (json_object_get(report, "steps"), i, item)
        if (json_is_true(json_object_get(item, "failed"))) {
            g_string_append_printf(text, "%s failed: ", report_text(item, "step"));
            add_plain(text, report_text(item, "detail"));
            g_string_append_c(text, '\n');
        }
    json_array_foreach (json_object_get(report, "targets"), i, item)
        add_target(text, item);
    return g_string_free(text, FALSE);
}
