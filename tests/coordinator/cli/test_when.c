/* Parses points of time as users write them: durations from now, times of day and dates. */
#include "coordinator/cli/when.h"

static void forms_mean_what_they_say(void)
{
    static const struct {
        const char *text;
        int64_t from_now; /* seconds from now; -1: the text is refused */
    } cases[] = {
        {"90s", 90},
        {"45m", 2700},
        {"2h", 7200},
        {"1d", 86400},
        {"1h30m", 5400},
        {"1.5h", 5400},
        {"0s", -1},
        {"", -1},
        {"7", -1},
        {"h", -1},
        {"2 h", -1},
        {"-2h", -1},
        {"24:00", -1},
        {"7:60", -1},
        {"soon", -1},
        {"2h ", -1},
        {"1e3s", -1},
        {"999999999d", -1},
        {"2020-01-01", -1},
        {"2020-01-01T00:00", -1},
        {"2999-13-01T00:00", -1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int64_t before = g_get_real_time() / G_USEC_PER_SEC, when = 0;
        bool taken = when_parse(cases[i].text, &when);
        int64_t after = g_get_real_time() / G_USEC_PER_SEC;
        g_test_message("'%s'", cases[i].text);
        g_assert_cmpint(taken, ==, cases[i].from_now >= 0);
        if (taken)
            g_assert_true(when >= before + cases[i].from_now &&
                          when <= after + cases[i].from_now + 1);
    }
}

/* The next time of day is at most 25 hours away: 24, and one more on the day when clocks are put
 * back. */
static void time_of_day_is_the_next_one(void)
{
    static const char *const texts[] = {"0:00", "07:00", "12:34:56", "23:59"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        int64_t now = g_get_real_time() / G_USEC_PER_SEC, when = 0;
        g_assert_true(when_parse(texts[i], &when));
        g_assert_cmpint(when, >, now);
        g_assert_cmpint(when, <=, now + 25 * 3600 + 1);
        g_autofree char *formatted = when_format(when);
        g_assert_nonnull(
            g_strrstr(formatted, texts[i][0] == '0' && texts[i][1] == ':' ? "00:00" : texts[i]));
    }
}

static void dates_have_a_zone_or_are_local(void)
{
    int64_t utc = 0, offset = 0, local = 0, again = 0;
    g_assert_true(when_parse("2999-01-31T07:00Z", &utc));
    g_assert_true(when_parse("2999-01-31 08:00:00+01:00", &offset));
    g_assert_cmpint(utc, ==, 32474761200);
    g_assert_cmpint(offset, ==, utc);
    g_assert_true(when_parse("2999-01-31T07:00", &local));
    g_autofree char *text = when_format(local);
    g_assert_cmpstr(text, ==, "2999-01-31T07:00:00");
    g_assert_true(when_parse(text, &again));
    g_assert_cmpint(again, ==, local);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/when/forms_mean_what_they_say", forms_mean_what_they_say);
    g_test_add_func("/when/time_of_day_is_the_next_one", time_of_day_is_the_next_one);
    g_test_add_func("/when/dates_have_a_zone_or_are_local", dates_have_a_zone_or_are_local);
    return g_test_run();
}
