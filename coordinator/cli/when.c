#include "coordinator/cli/when.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the next moment when the local clock shows "07:00" or "07:00:30"; NULL for any other
 * text. */
static GDateTime *next_time(const char *text, GDateTime *now)
{
    if (!g_regex_match_simple("^([01]?[0-9]|2[0-3])(:[0-5][0-9]){1,2}$", text, 0, 0))
        return NULL;
    g_auto(GStrv) parts = g_strsplit(text, ":", -1);
    int hour = atoi(parts[0]), minute = atoi(parts[1]), second = parts[2] ? atoi(parts[2]) : 0;
    GDateTime *today =
        g_date_time_new_local(g_date_time_get_year(now), g_date_time_get_month(now),
                              g_date_time_get_day_of_month(now), hour, minute, second);
    if (g_date_time_compare(today, now) > 0)
        return today;
    GDateTime *tomorrow = g_date_time_add_days(today, 1);
    g_date_time_unref(today);
    return tomorrow;
}

/* Returns the moment that is "1h30m" after now; NULL for any other text. */
static GDateTime *after_duration(const char *text, GDateTime *now)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
    double seconds = 0;
    if (!g_regex_match_simple("^([0-9]{1,9}(\\.[0-9]{1,9})?[dhms])+$", text, 0, 0))
        return NULL;
    while (*text) {
        char *end;
        double count = g_ascii_strtod(text, &end);
        for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
            seconds += units[i].unit == *end ? count * units[i].seconds : 0;
        text = end + 1;
    }
    return g_date_time_add_seconds(now, seconds);
}

/* Returns the moment that "2026-01-31T07:00" names, with seconds or without, and with T or a blank
 * in the middle; NULL for any other text. */
static GDateTime *date_and_time(const char *text, GDateTime *now)
{
    g_autoptr(GMatchInfo) match = NULL;
    g_autoptr(GRegex) form = g_regex_new("^(\\d{4}-\\d{2}-\\d{2})[T ](\\d{2}:\\d{2})(:\\d{2})?"
                                         "(Z|[+-]\\d{2}:?\\d{2})?$",
                                         G_REGEX_RAW, 0, NULL);
    if (!g_regex_match(form, text, 0, &match))
        return NULL;
    g_autofree char *date = g_match_info_fetch(match, 1);
    g_autofree char *minutes = g_match_info_fetch(match, 2);
    g_autofree char *seconds = g_match_info_fetch(match, 3);
    g_autofree char *zone = g_match_info_fetch(match, 4);
    g_autofree char *whole =
        g_strconcat(date, "T", minutes, seconds && *seconds ? seconds : ":00", zone, NULL);
    return g_date_time_new_from_iso8601(whole, g_date_time_get_timezone(now));
}

bool when_parse(const char *text, int64_t *unix_seconds)
{
    static GDateTime *(*const forms[])(const char *, GDateTime *) = {next_time, after_duration,
                                                                     date_and_time};
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autoptr(GDateTime) found = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(forms) && !found; i++)
        found = forms[i](text, now);
    if (!found || g_date_time_compare(found, now) <= 0)
        return false;
    /* Rounded up to a whole second, so that a duration is never shortened. */
    *unix_seconds = g_date_time_to_unix(found) + (g_date_time_get_microsecond(found) > 0);
    return true;
}

char *when_format(int64_t unix_seconds)
{
    g_autoptr(GDateTime) when = g_date_time_new_from_unix_local(unix_seconds);
    return when ? g_date_time_format(when, "%Y-%m-%dT%H:%M:%S") : g_strdup("");
}

char *when_text(int64_t unix_seconds)
{
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(unix_seconds);
    return time ? g_date_time_format(time, "%Y-%m-%d %H:%M:%S") : g_strdup("-");
}

char *when_duration(double seconds)
{
    if (!isfinite(seconds))
        return g_strdup("an unknown time");
    long whole = lround(MAX(seconds, 0));
    if (whole < 60)
        return g_strdup_printf("%ld s", whole);
    if (whole < 600 && whole % 60 != 0)
        return g_strdup_printf("%ld min %ld s", whole / 60, whole % 60);
    if (whole < 7200)
        return g_strdup_printf("%ld min", (whole + 30) / 60);
    return g_strdup_printf("%ld h %ld min", whole / 3600, whole % 3600 / 60);
}
