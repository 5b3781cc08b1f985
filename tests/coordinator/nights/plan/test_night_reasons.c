/* Reasons of a night: a state of the history, and the reason that follows from it. */
#include "coordinator/nights/plan/night_reasons.h"

#include "schema/results/conditions.h"

#include <locale.h>
#include <string.h>

#define NOW         "nvrtc NVRTC 12.4; cuda 12.4; driver 550.2"
#define NIGHT       "2026-11-23"
#define POINTS_MOST 5

/* A point of the pair; revision 0 ends the list. */
struct past {
    const char *night;
    int revision;
    const char *hash, *stack;
    enum failure failure;
    double spread, drift;
    unsigned throttle;
    bool older;
};
#define GOOD(night)                                                                                \
    {                                                                                              \
        night, 3, "abc", NOW, FAILURE_NONE, 0.01, 1, 0, false                                      \
    }
#define FAILED(night, why)                                                                         \
    {                                                                                              \
        night, 3, "abc", NOW, why, 0, 0, 0, false                                                  \
    }
#define NOISY(night)                                                                               \
    {                                                                                              \
        night, 3, "abc", NOW, FAILURE_NONE, 0.4, 1, 0, false                                       \
    }
#define HOT(night)                                                                                 \
    {                                                                                              \
        night, 3, "abc", NOW, FAILURE_NONE, 0.01, 1, THROTTLE_HEAT, false                          \
    }

struct row {
    const char *what;
    struct past past[POINTS_MOST];
    bool problem_known, is_new_target;
    const char *nearest;
    enum night_reason left_reason;
    const char *suspect;
    double lot;
    enum night_reason reason;
    const char *detail;
};

static const struct row rows[] = {
    /* never measured */
    {"the first night of a farm", .lot = 0.5, .reason = NIGHT_REASON_NEW_PROBLEM},
    {"a problem that came in", .nearest = "here", .lot = 0.5, .reason = NIGHT_REASON_NEW_PROBLEM},
    {"a solver that came in", .problem_known = true, .nearest = "here", .lot = 0.5,
     .reason = NIGHT_REASON_NEW_SOLVER},
    {"a target that came in", .is_new_target = true, .nearest = "gfx90a68", .lot = 0.5,
     .reason = NIGHT_REASON_NEW_TARGET, .detail = "begins with the winners of gfx90a68"},
    {"the second night of a target that came in", .nearest = "here",
     .left_reason = NIGHT_REASON_NEW_TARGET, .lot = 0.5, .reason = NIGHT_REASON_NEW_TARGET,
     .detail = "left by the night 2026-11-22 (new target)"},
    {"a problem that the deadline cut", .left_reason = NIGHT_REASON_NEW_PROBLEM, .nearest = "here",
     .lot = 0.5, .reason = NIGHT_REASON_NEW_PROBLEM,
     .detail = "left by the night 2026-11-22 (new problem)"},
    {"a job that the deadline cut, of a problem with other times", .problem_known = true,
     .nearest = "here", .left_reason = NIGHT_REASON_NEW_PROBLEM, .lot = 0.5,
     .reason = NIGHT_REASON_UNFINISHED, .detail = "left by the night 2026-11-22 (new problem)"},
    {"a backfill that goes on", .problem_known = true, .nearest = "here",
     .left_reason = NIGHT_REASON_NEW_SOLVER, .lot = 0.5, .reason = NIGHT_REASON_NEW_SOLVER,
     .detail = "left by the night 2026-11-22 (new solver)"},
    /* unchanged */
    {"nothing changed", {GOOD("2026-11-22")}, .lot = 0.5, .reason = NIGHT_REASON_UNCHANGED},
    {"nothing changed, and the lot drew it",
     {GOOD("2026-11-22")},
     .lot = 0.005,
     .reason = NIGHT_REASON_SAMPLE},
    {"the lot draws nothing that has another reason",
     {GOOD("2026-07-22")},
     .lot = 0.005,
     .reason = NIGHT_REASON_TOO_OLD,
     .detail = "124 days old"},
    /* code */
    {"another revision",
     {{"2026-11-22", 2, "old", NOW, FAILURE_NONE, 0.01, 1, 0, false}},
     .lot = 0.5,
     .reason = NIGHT_REASON_SOLVER_REVISION,
     .detail = "revision 2 -> 3"},
    {"other device code",
     {{"2026-11-22", 3, "1234567890", NOW, FAILURE_NONE, 0.01, 1, 0, false}},
     .lot = 0.5,
     .reason = NIGHT_REASON_KERNEL_SOURCE,
     .detail = "source 12345678 -> abc"},
    {"another revision after a wrong result",
     {{"2026-11-22", 2, "old", NOW, FAILURE_WRONG_RESULT, 0, 0, 0, false}},
     .lot = 0.5,
     .reason = NIGHT_REASON_SOLVER_REVISION,
     .detail = "revision 2 -> 3; wrong result in the night 2026-11-22"},
    /* software */
    {"another compiler",
     {{"2026-11-22", 3, "abc", "nvrtc NVRTC 12.1; cuda 12.4; driver 550.2", FAILURE_NONE, 0.01, 1,
       0, false}},
     .lot = 0.5,
     .reason = NIGHT_REASON_TOOLCHAIN,
     .detail = "nvrtc NVRTC 12.1 -> NVRTC 12.4"},
    {"another runtime",
     {{"2026-11-22", 3, "abc", "nvrtc NVRTC 12.4; cuda 12.1; driver 550.2", FAILURE_NONE, 0.01, 1,
       0, false}},
     .lot = 0.5,
     .reason = NIGHT_REASON_RUNTIME,
     .detail = "cuda 12.1 -> 12.4"},
    {"another driver",
     {{"2026-11-22", 3, "abc", "nvrtc NVRTC 12.4; cuda 12.4; driver 535.1", FAILURE_NONE, 0.01, 1,
       0, false}},
     .lot = 0.5,
     .reason = NIGHT_REASON_DRIVER,
     .detail = "driver 535.1 -> 550.2"},
    {"another revision and another driver",
     {{"2026-11-22", 2, "abc", "nvrtc NVRTC 12.4; cuda 12.4; driver 535.1", FAILURE_NONE, 0.01, 1,
       0, false}},
     .lot = 0.5,
     .reason = NIGHT_REASON_SOLVER_REVISION,
     .detail = "revision 2 -> 3; driver 535.1 -> 550.2"},
    {"another driver after an out-of-bounds write",
     {{"2026-11-22", 3, "abc", "nvrtc NVRTC 12.4; cuda 12.4; driver 535.1", FAILURE_OUT_OF_BOUNDS,
       0, 0, 0, false}},
     .lot = 0.5,
     .reason = NIGHT_REASON_DRIVER,
     .detail = "driver 535.1 -> 550.2; wrote out of bounds in the night 2026-11-22"},
    {"a measurement without a stack",
     {{"2026-11-22", 3, "abc", "", FAILURE_NONE, 0.01, 1, 0, false}},
     .lot = 0.5,
     .reason = NIGHT_REASON_UNCHANGED},
    /* failures */
    {"a compile error",
     {FAILED("2026-11-22", FAILURE_COMPILE_ERROR)},
     .lot = 0.5,
     .reason = NIGHT_REASON_FAILED_FOR_GOOD,
     .detail = "compile error in the night 2026-11-22"},
    {"a compile error that the lot draws",
     {FAILED("2026-11-22", FAILURE_COMPILE_ERROR)},
     .lot = 0,
     .reason = NIGHT_REASON_FAILED_FOR_GOOD,
     .detail = "compile error in the night 2026-11-22"},
    {"a lost worker",
     {FAILED("2026-11-22", FAILURE_WORKER_LOST)},
     .lot = 0.5,
     .reason = NIGHT_REASON_FAILED,
     .detail = "worker lost in the night 2026-11-22"},
    {"a lost worker, twice",
     {FAILED("2026-11-22", FAILURE_WORKER_LOST), FAILED("2026-11-21", FAILURE_DEVICE_FAULT)},
     .lot = 0.5,
     .reason = NIGHT_REASON_FAILED,
     .detail = "worker lost in the night 2026-11-22"},
    {"a lost worker, three times",
     {FAILED("2026-11-22", FAILURE_WORKER_LOST), FAILED("2026-11-21", FAILURE_DEVICE_FAULT),
      FAILED("2026-11-20", FAILURE_WORKER_LOST)},
     .lot = 0.5,
     .reason = NIGHT_REASON_FAILED_FOR_GOOD,
     .detail = "worker lost; it failed in 3 nights in a row"},
    {"failures before a good night do not count",
     {FAILED("2026-11-22", FAILURE_WORKER_LOST), GOOD("2026-11-21"),
      FAILED("2026-11-20", FAILURE_WORKER_LOST), FAILED("2026-11-19", FAILURE_WORKER_LOST)},
     .lot = 0.5,
     .reason = NIGHT_REASON_FAILED,
     .detail = "worker lost in the night 2026-11-22"},
    /* doubtful times */
    {"noise",
     {NOISY("2026-11-22")},
     .lot = 0.5,
     .reason = NIGHT_REASON_NOISY,
     .detail = "spread 40.0 %"},
    {"drift",
     {{"2026-11-22", 3, "abc", NOW, FAILURE_NONE, 0.01, 1.3, 0, false}},
     .lot = 0.5,
     .reason = NIGHT_REASON_NOISY,
     .detail = "drift 1.30"},
    {"noise that does not pass",
     {NOISY("2026-11-22"), NOISY("2026-11-21"), NOISY("2026-11-20")},
     .lot = 0.5,
     .reason = NIGHT_REASON_UNCHANGED},
    {"heat",
     {HOT("2026-11-22")},
     .lot = 0.5,
     .reason = NIGHT_REASON_SUSPECT,
     .detail = "its device was throttled: heat"},
    {"a power cap is usual",
     {{"2026-11-22", 3, "abc", NOW, FAILURE_NONE, 0.01, 1, THROTTLE_POWER_CAP, false}},
     .lot = 0.5,
     .reason = NIGHT_REASON_UNCHANGED},
    {"a suspect of last night",
     {NOISY("2026-11-22")},
     .suspect = "+7.0 %",
     .lot = 0.5,
     .reason = NIGHT_REASON_SUSPECT,
     .detail = "+7.0 %; spread 40.0 %"},
    /* age */
    {"a hundred days", {GOOD("2026-08-15")}, .lot = 0.5, .reason = NIGHT_REASON_UNCHANGED},
    {"a hundred and one days",
     {GOOD("2026-08-14")},
     .lot = 0.5,
     .reason = NIGHT_REASON_TOO_OLD,
     .detail = "101 days old"},
    {"a time that was only taken over since",
     {{"2026-11-22", 3, "abc", NOW, FAILURE_NONE, 0.01, 1, 0, true}, GOOD("2026-08-01")},
     .lot = 0.5,
     .reason = NIGHT_REASON_TOO_OLD,
     .detail = "114 days old"},
    /* left by the last night */
    {"a tuning that the deadline cut",
     {GOOD("2026-11-20")},
     .left_reason = NIGHT_REASON_DRIVER,
     .lot = 0.5,
     .reason = NIGHT_REASON_UNFINISHED,
     .detail = "left by the night 2026-11-22 (driver)"},
    {"a sample that the deadline cut",
     {GOOD("2026-11-20")},
     .left_reason = NIGHT_REASON_SAMPLE,
     .lot = 0.5,
     .reason = NIGHT_REASON_UNCHANGED},
};

static guint make_points(const struct row *row, struct history_point *points,
                         struct history_point **list)
{
    guint count = 0;
    for (; count < POINTS_MOST && row->past[count].revision > 0; count++) {
        const struct past *past = &row->past[count];
        points[count] = (struct history_point){
            .revision = past->revision,
            .hash = (char *)past->hash,
            .stack = (char *)past->stack,
            .failure = past->failure,
            .spread = past->spread,
            .drift = past->drift,
            .throttle = past->throttle,
            .older = past->older,
        };
        g_strlcpy(points[count].night, past->night, sizeof points[count].night);
        list[count] = &points[count];
    }
    return count;
}

static void a_state_has_one_reason(void)
{
    static char builder[] = NOW;
    static const struct night_again again = {
        .older_than_days = 100, .sample = 0.01, .noisy_spread = 0.1, .retries = 2};
    struct stacks_today today = {g_ptr_array_new(), g_ptr_array_new()};
    g_ptr_array_add(today.builders, builder);
    g_ptr_array_add(today.devices, builder);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        const struct row *row = &rows[i];
        struct history_point points[POINTS_MOST], *list[POINTS_MOST];
        struct night_verdict verdict;
        struct night_facts facts = {
            .night = NIGHT,
            .solver = "ConvX",
            .revision = 3,
            .hash = "abc",
            .vendor = VENDOR_NVIDIA,
            .points = list,
            .problem_known = row->problem_known,
            .nearest = row->nearest,
            .is_new_target = row->is_new_target,
            .today = &today,
            .left_reason = row->left_reason,
            .left_night = "2026-11-22",
            .suspect = row->suspect,
            .again = &again,
            .lot = row->lot,
        };
        facts.point_count = make_points(row, points, list);
        night_judge(&facts, &verdict);
        g_test_message("%s", row->what);
        g_assert_cmpstr(night_reason_name(verdict.reason), ==, night_reason_name(row->reason));
        g_assert_cmpstr(verdict.detail, ==, row->detail);
        g_free(verdict.detail);
    }
    g_ptr_array_unref(today.builders);
    g_ptr_array_unref(today.devices);
}

static void every_reason_has_a_row(void)
{
    for (int r = 1; r <= NIGHT_REASON_COUNT; r++) {
        const struct night_reason_row *row = night_reason_row((enum night_reason)r);
        g_assert_nonnull(row->sentence);
        g_assert_nonnull(night_reason_name((enum night_reason)r));
        for (int other = 1; other < r; other++) /* two with work never weigh the same */
            g_assert_true(row->priority == 0 ||
                          night_reason_row((enum night_reason)other)->priority != row->priority);
    }
}

static void software_alone_makes_a_job_fresh(void)
{
    for (int r = 1; r <= NIGHT_REASON_COUNT; r++) {
        bool software =
            r == NIGHT_REASON_TOOLCHAIN || r == NIGHT_REASON_RUNTIME || r == NIGHT_REASON_DRIVER;
        g_assert_cmpint(night_reason_row((enum night_reason)r)->action == NIGHT_ACTION_FRESH, ==,
                        software);
    }
}

static void every_failure_is_final_or_may_pass(void)
{
    g_assert_true(night_failure_is_final(FAILURE_WRONG_RESULT));
    g_assert_true(night_failure_is_final(FAILURE_COMPILE_ERROR));
    g_assert_false(night_failure_is_final(FAILURE_WORKER_LOST));
    g_assert_false(night_failure_is_final(FAILURE_COMPILE_TIMEOUT));
    g_assert_false(night_failure_is_final(FAILURE_DEVICE_FAULT));
    g_assert_false(night_failure_is_final(FAILURE_UNSTABLE));
}

static void lots_are_even_and_the_same_in_one_night(void)
{
    int drawn = 0, again = 0, pairs = 20000;
    for (int i = 0; i < pairs; i++) {
        g_autofree char *key = g_strdup_printf("key %d", i);
        double lot = night_lot(NIGHT, "t", key, "ConvX");
        g_assert_true(lot >= 0 && lot < 1);
        g_assert_cmpfloat(lot, ==, night_lot(NIGHT, "t", key, "ConvX"));
        drawn += lot < 0.05;
        again += lot < 0.05 && night_lot("2026-11-24", "t", key, "ConvX") < 0.05;
    }
    /* 1,000 and 50 are expected; 5 standard deviations are 154 and 35. */
    g_assert_cmpint(ABS(drawn - 1000), <, 160);
    g_assert_cmpint(ABS(again - 50), <, 36);
}

static void days_are_counted_over_months_and_leap_years(void)
{
    g_assert_cmpint(night_days_between("2026-11-22", "2026-11-23"), ==, 1);
    g_assert_cmpint(night_days_between("2026-02-28", "2026-03-01"), ==, 1);
    g_assert_cmpint(night_days_between("2028-02-28", "2028-03-01"), ==, 2);
    g_assert_cmpint(night_days_between("2026-11-23", "2026-11-22"), ==, -1);
    g_assert_cmpint(night_days_between("-infinity", "2026-11-22"), ==, 0);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/night_reasons/a_state_has_one_reason", a_state_has_one_reason);
    g_test_add_func("/night_reasons/every_reason_has_a_row", every_reason_has_a_row);
    g_test_add_func("/night_reasons/software_alone_makes_a_job_fresh",
                    software_alone_makes_a_job_fresh);
    g_test_add_func("/night_reasons/every_failure_is_final_or_may_pass",
                    every_failure_is_final_or_may_pass);
    g_test_add_func("/night_reasons/lots_are_even_and_the_same_in_one_night",
                    lots_are_even_and_the_same_in_one_night);
    g_test_add_func("/night_reasons/days_are_counted_over_months_and_leap_years",
                    days_are_counted_over_months_and_leap_years);
    return g_test_run();
}
