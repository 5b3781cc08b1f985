/* Members of a report (night_report.h), for what is made of it. Members that are missing or null read as "" and 0. */
#ifndef COORDINATOR_NIGHTS_REPORT_REPORT_MEMBERS_H
#define COORDINATOR_NIGHTS_REPORT_REPORT_MEMBERS_H

#include <glib.h>
#include <jansson.h>

#include <string.h>

static inline const char *report_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static inline double report_number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static inline gint64 report_int(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static inline gboolean report_is(const json_t *object, const char *name, const char *text)
{
    return strcmp(report_text(object, name), text) == 0;
}

/* The sections of a target's findings in a report, in their order, and the findings that each shows. */
struct report_section {
    const char *title, *kind, *state; /* kind NULL: any */
};
static const struct report_section report_sections[] = {
    {"Failures", "failed", "confirmed"},    {"Slower", "slower", "confirmed"},
    {"Faster", "faster", "confirmed"},      {"Slow on one node only", NULL, "node"},
    {"Not confirmed", NULL, "unconfirmed"}, {"Not measured again yet", NULL, "suspect"},
};

static inline gboolean report_belongs(const struct report_section *section, const json_t *finding)
{
    return (section->kind == NULL || report_is(finding, "kind", section->kind)) &&
           report_is(finding, "state", section->state);
}

#endif
