/* The message about a night. Slack shows "text" in notifications and "blocks" in the channel; programs read
 * "skipjack". */
#include "coordinator/tell/tell.h"

#include <string.h>

/* Slack refuses a section's text over 3,000 characters, and more than 50 blocks. */
#define LINES_MOST       10
#define SECTION_MOST     2900
#define FINDINGS_CARRIED 20

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

/* Slack's markup has three characters to escape; nothing else of a text is markup in a code span but a backtick. */
static void add_escaped(GString *text, const char *words)
{
    for (const char *at = words; *at != '\0'; at++) {
        if (*at == '&')
            g_string_append(text, "&amp;");
        else if (*at == '<')
            g_string_append(text, "&lt;");
        else if (*at == '>')
            g_string_append(text, "&gt;");
        else
            g_string_append_c(text, *at == '`' || g_ascii_iscntrl(*at) ? ' ' : *at);
    }
}

static bool is_told(const json_t *finding)
{
    return strcmp(text_of(finding, "state"), "confirmed") == 0;
}

static void add_line(GString *lines, const json_t *finding)
{
    const json_t *now = json_object_get(finding, "now");
    const json_t *effect = json_array_get(json_object_get(finding, "networks"), 0);
    const json_t *cause = json_array_get(json_object_get(finding, "causes"), 0);
    g_string_append(lines, "• `");
    add_escaped(lines, text_of(finding, "key"));
    g_string_append(lines, "` ");
    add_escaped(lines, text_of(finding, "solver"));
    if (json_is_string(json_object_get(now, "failure")))
        g_string_append_printf(lines, ": *%s*", text_of(now, "failure"));
    else
        g_string_append_printf(lines, ": *%+.1f %%*, against %s",
                               json_number_value(json_object_get(finding, "percent")),
                               text_of(finding, "against"));
    if (effect != NULL) {
        g_string_append(lines, ", ");
        add_escaped(lines, text_of(effect, "network"));
        g_string_append_printf(lines, " %+.3g ms (%+.2f %%)",
                               json_number_value(json_object_get(effect, "ms")),
                               json_number_value(json_object_get(effect, "percent")));
    }
    if (cause != NULL) {
        g_string_append_printf(lines, "; %s: ", text_of(cause, "cause"));
        add_escaped(lines, text_of(cause, "evidence"));
    }
    g_string_append_c(lines, '\n');
}

static json_t *section(const char *text)
{
    return json_pack("{ss s{ss ss}}", "type", "section", "text", "type", "mrkdwn", "text", text);
}

/* The findings of all targets as lines for people, and the first ones whole for programs. */
static char *list_findings(const json_t *report, json_t *carried)
{
    g_autoptr(GString) lines = g_string_new(NULL);
    size_t t, f, count = 0, left = 0;
    json_t *target, *finding;
    json_array_foreach (json_object_get(report, "targets"), t, target)
        json_array_foreach (json_object_get(json_object_get(target, "judged"), "findings"), f,
                            finding) {
            if (!is_told(finding))
                continue;
            if (json_array_size(carried) < FINDINGS_CARRIED) {
                json_t *copy = json_copy(finding);
                json_object_set(copy, "target", json_object_get(target, "target"));
                json_array_append_new(carried, copy);
            }
            gsize before = lines->len;
            if (count++ < LINES_MOST)
                add_line(lines, finding);
            if (lines->len > SECTION_MOST)
                g_string_truncate(lines, before);
            left += lines->len == before;
        }
    if (left > 0)
        g_string_append_printf(lines, "and %zu more", left);
    return g_strdup(lines->str);
}

static char *first_line(const json_t *report)
{
    const json_t *night = json_object_get(report, "night"),
                 *found = json_object_get(report, "found");
    g_autoptr(GString) text = g_string_new("Night ");
    size_t i;
    json_t *step;
    add_escaped(text, text_of(night, "name"));
    g_string_append_printf(text,
                           ", %s: %" JSON_INTEGER_FORMAT " slower, %" JSON_INTEGER_FORMAT
                           " failed, %" JSON_INTEGER_FORMAT " faster",
                           text_of(night, "date"),
                           json_integer_value(json_object_get(found, "slower")),
                           json_integer_value(json_object_get(found, "failed")),
                           json_integer_value(json_object_get(found, "faster")));
    json_array_foreach (json_object_get(report, "steps"), i, step)
        if (json_is_true(json_object_get(step, "failed")))
            g_string_append_printf(text, "; %s failed", text_of(step, "step"));
    return g_strdup(text->str);
}

json_t *tell_night_body(const json_t *report)
{
    json_t *carried = json_array();
    g_autofree char *text = first_line(report);
    g_autofree char *lines = list_findings(report, carried);
    json_t *night = json_object_get(report, "night"), *found = json_object_get(report, "found");
    json_t *blocks = json_array();
    json_array_append_new(blocks, section(text));
    if (*lines != '\0')
        json_array_append_new(blocks, section(lines));
    return json_pack("{ss so s{si sO? sO? sb so}}", "text", text, "blocks", blocks, "skipjack",
                     "version", 1, "night", night, "found", found, "bad",
                     json_is_true(json_object_get(report, "bad")), "findings", carried);
}
