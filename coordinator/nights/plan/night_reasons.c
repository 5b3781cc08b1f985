#include "coordinator/nights/plan/night_reasons.h"

#include "schema/results/conditions.h"
#include "schema/store/drift.h"

#include <stdio.h>

#define BACKFILL true
#define AT_ONCE  false

/* Priorities leave room for further reasons. A problem without any time comes first; what only gets more certain comes
 * last, before what fills gaps. */
static const struct night_reason_row rows[] = {
    [NIGHT_REASON_NEW_TARGET] = {200, "nothing was ever tuned for the target; other targets were",
                                 NIGHT_ACTION_TUNE, BACKFILL},
    [NIGHT_REASON_NEW_PROBLEM] = {190, "the target was never tuned for the problem",
                                  NIGHT_ACTION_TUNE, AT_ONCE},
    [NIGHT_REASON_SOLVER_REVISION] = {180, "the solver has another revision than the one measured",
                                      NIGHT_ACTION_TUNE, AT_ONCE},
    [NIGHT_REASON_KERNEL_SOURCE] = {170, "the solver's device code changed within one revision",
                                    NIGHT_ACTION_TUNE, AT_ONCE},
    [NIGHT_REASON_TOOLCHAIN] = {160, "no worker has the compiler that built the measured kernel",
                                NIGHT_ACTION_FRESH, AT_ONCE},
    [NIGHT_REASON_RUNTIME] = {150, "no worker has the runtime that the time was measured under",
                              NIGHT_ACTION_FRESH, AT_ONCE},
    [NIGHT_REASON_DRIVER] = {140, "no worker has the driver that the time was measured under",
                             NIGHT_ACTION_FRESH, AT_ONCE},
    [NIGHT_REASON_FAILED_FOR_GOOD] =
        {130, "it failed, and would again until solver, device code or software change",
         NIGHT_ACTION_NONE, AT_ONCE},
    [NIGHT_REASON_UNFINISHED] = {110, "the deadline or the budget ended the last attempt",
                                 NIGHT_ACTION_TUNE, AT_ONCE},
    [NIGHT_REASON_FAILED] = {120, "the last attempt failed for a reason that may pass",
                             NIGHT_ACTION_TUNE, AT_ONCE},
    [NIGHT_REASON_SUSPECT] =
        {100,
         "the last measurement is doubtful: its device was throttled, or the time left the expected range",
         NIGHT_ACTION_AGAIN, AT_ONCE},
    [NIGHT_REASON_NOISY] = {90, "the last measurement scattered, or its device drifted",
                            NIGHT_ACTION_AGAIN, AT_ONCE},
    [NIGHT_REASON_TOO_OLD] = {80, "the time is older than the description allows",
                              NIGHT_ACTION_AGAIN, AT_ONCE},
    [NIGHT_REASON_SAMPLE] = {70, "nothing changed; the night's lot drew it, to see drift",
                             NIGHT_ACTION_AGAIN, AT_ONCE},
    [NIGHT_REASON_NEW_SOLVER] = {60, "the solver never worked on the problem; others did",
                                 NIGHT_ACTION_TUNE, BACKFILL},
    [NIGHT_REASON_UNCHANGED] = {0, "nothing changed", NIGHT_ACTION_NONE, AT_ONCE},
    [NIGHT_REASON_LEFT_OUT] = {0, "the solver's estimate is far below the best one's",
                               NIGHT_ACTION_NONE, AT_ONCE},
    [NIGHT_REASON_NOT_APPLICABLE] = {0, "the solver does not serve the problem on the target",
                                     NIGHT_ACTION_NONE, AT_ONCE},
};

const struct night_reason_row *night_reason_row(enum night_reason reason)
{
    g_assert(reason >= 1 && reason <= NIGHT_REASON_COUNT);
    return &rows[reason];
}

const char *night_reason_name(enum night_reason reason)
{
    static const char *const names[] = {
#define X(name, number, text) [number] = text,
        NIGHT_REASON_NUMBERS(X)
#undef X
    };
    G_STATIC_ASSERT(G_N_ELEMENTS(names) == NIGHT_REASON_COUNT + 1);
    g_assert(reason >= 1 && reason <= NIGHT_REASON_COUNT);
    return names[reason];
}

const char *night_action_name(enum night_action action)
{
    static const char *const names[] = {"nothing", "tune", "tune fresh", "measure again"};
    return names[action];
}

/* ---- judging ---- */

bool night_failure_is_final(enum failure failure)
{
    switch (failure) {
    case FAILURE_NOT_APPLICABLE:
    case FAILURE_COMPILE_ERROR:
    case FAILURE_LOAD_ERROR:
    case FAILURE_WRONG_RESULT:
    case FAILURE_OUT_OF_BOUNDS:
    case FAILURE_REFUSED_BY_CHECK:
    case FAILURE_OVER_LIMITS: return true;
    default: /* a busy node, a device that fell out, a lost worker: another attempt may succeed */
        return false;
    }
}

double night_lot(const char *night, const char *target, const char *key, const char *solver)
{
    g_autofree char *text = g_strjoin("\n", night, target, key, solver, NULL);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
    sum[13] = '\0'; /* 52 bits, which a double holds exactly */
    return (double)g_ascii_strtoull(sum, NULL, 16) / 0x1p52;
}

static bool read_date(const char *night, GDate *date)
{
    int year, month, day;
    if (sscanf(night, "%5d-%2d-%2d", &year, &month, &day) != 3 ||
        !g_date_valid_dmy((GDateDay)day, (GDateMonth)month, (GDateYear)year))
        return false;
    g_date_clear(date, 1);
    g_date_set_dmy(date, (GDateDay)day, (GDateMonth)month, (GDateYear)year);
    return true;
}

int night_days_between(const char *first, const char *second)
{
    GDate from, to;
    return read_date(first, &from) && read_date(second, &to) ? g_date_days_between(&from, &to) : 0;
}

/* The reasons that hold so far. */
struct finding {
    enum night_reason reason;
    GPtrArray *details; /* char *, of all reasons */
};

/* Adds a reason that holds; the most important one stays. Takes `detail` over; it may be NULL. */
static void add(struct finding *finding, enum night_reason reason, char *detail)
{
    if (rows[reason].priority > rows[finding->reason].priority)
        finding->reason = reason;
    if (detail)
        g_ptr_array_add(finding->details, detail);
}

static const struct history_point *newest(const struct night_facts *facts)
{
    return facts->points[0];
}

/* "left by the night 2026-11-22 (driver)"; NULL if the last night left nothing. Free with g_free(). */
static char *left_text(const struct night_facts *facts)
{
    return facts->left_reason ? g_strdup_printf("left by the night %s (%s)", facts->left_night,
                                                night_reason_name(facts->left_reason))
                              : NULL;
}

/* Returns true if the last night was to tune the job. Jobs that are only measured again, or backfilled, have a reason
 * of their own in this night. */
static bool is_left_tuning(const struct night_facts *facts)
{
    const struct night_reason_row *row = facts->left_reason ? &rows[facts->left_reason] : NULL;
    return row && !row->backfill &&
           (row->action == NIGHT_ACTION_TUNE || row->action == NIGHT_ACTION_FRESH);
}

static void judge_unmeasured(const struct night_facts *facts, struct finding *finding)
{
    bool has_other = facts->nearest && facts->is_new_target;
    if (has_other || facts->left_reason == NIGHT_REASON_NEW_TARGET)
        add(finding, NIGHT_REASON_NEW_TARGET,
            has_other ? g_strdup_printf("begins with the winners of %s", facts->nearest) : NULL);
    else if (!facts->problem_known)
        add(finding, NIGHT_REASON_NEW_PROBLEM, NULL);
    else if (is_left_tuning(facts))
        add(finding, NIGHT_REASON_UNFINISHED, NULL);
    else
        add(finding, NIGHT_REASON_NEW_SOLVER, NULL);
    add(finding, finding->reason, left_text(facts));
}

static void judge_code(const struct night_facts *facts, struct finding *finding)
{
    const struct history_point *point = newest(facts);
    if (point->revision != facts->revision)
        add(finding, NIGHT_REASON_SOLVER_REVISION,
            g_strdup_printf("revision %d -> %d", point->revision, facts->revision));
    else if (g_strcmp0(point->hash, facts->hash) != 0)
        add(finding, NIGHT_REASON_KERNEL_SOURCE,
            g_strdup_printf("source %.8s -> %.8s", point->hash, facts->hash));
}

static void judge_stack(const struct night_facts *facts, struct finding *finding)
{
    static const enum night_reason reasons[STACK_PART_COUNT] = {
        [STACK_TOOLCHAIN] = NIGHT_REASON_TOOLCHAIN,
        [STACK_RUNTIME] = NIGHT_REASON_RUNTIME,
        [STACK_DRIVER] = NIGHT_REASON_DRIVER,
    };
    struct stack_changes changes;
    stack_changes_find(newest(facts)->stack, facts->vendor, facts->today, &changes);
    for (int part = 0; part < STACK_PART_COUNT; part++)
        if (changes.texts[part])
            add(finding, reasons[part], g_steal_pointer(&changes.texts[part]));
}

/* Counts the newest points for which the test holds. */
static guint count_in_a_row(const struct night_facts *facts,
                            bool (*holds)(const struct night_facts *, const struct history_point *))
{
    guint count = 0;
    while (count < facts->point_count && holds(facts, facts->points[count]))
        count++;
    return count;
}

static bool failed(const struct night_facts *facts, const struct history_point *point)
{
    return point->failure != FAILURE_NONE && point->revision == facts->revision;
}

static bool is_noisy(const struct night_facts *facts, const struct history_point *point)
{
    return point->failure == FAILURE_NONE &&
           (point->spread >= facts->again->noisy_spread || drift_is_large(point->drift));
}

static bool is_throttled(const struct night_facts *facts, const struct history_point *point)
{
    (void)facts;
    return point->failure == FAILURE_NONE && point->throttle & THROTTLE_MARKED;
}

/* A job whose code or software changed is tried afresh, whatever became of it before. */
static void judge_failure(const struct night_facts *facts, struct finding *finding)
{
    const struct history_point *point = newest(facts);
    const char *name = failure_name(point->failure);
    guint nights = count_in_a_row(facts, failed);
    if (night_failure_is_final(point->failure))
        add(finding, NIGHT_REASON_FAILED_FOR_GOOD,
            g_strdup_printf("%s in the night %s", name, point->night));
    else if ((gint64)nights > facts->again->retries)
        add(finding, NIGHT_REASON_FAILED_FOR_GOOD,
            g_strdup_printf("%s; it failed in %u nights in a row", name, nights));
    else
        add(finding, NIGHT_REASON_FAILED,
            g_strdup_printf("%s in the night %s", name, point->night));
}

/* The night in which the newest time was really measured. */
static const char *measured_in(const struct night_facts *facts)
{
    guint i = 0;
    while (i + 1 < facts->point_count && facts->points[i]->older)
        i++;
    return facts->points[i]->night;
}

static void judge_time(const struct night_facts *facts, struct finding *finding)
{
    const struct history_point *point = newest(facts);
    guint noisy = count_in_a_row(facts, is_noisy), hot = count_in_a_row(facts, is_throttled);
    gint64 most = facts->again->retries;
    int days = night_days_between(measured_in(facts), facts->night);
    if (facts->suspect)
        add(finding, NIGHT_REASON_SUSPECT, g_strdup(facts->suspect));
    if (hot > 0 && hot <= most) {
        g_autofree char *why = conditions_throttle_text(point->throttle & THROTTLE_MARKED);
        add(finding, NIGHT_REASON_SUSPECT, g_strdup_printf("its device was throttled: %s", why));
    }
    if (noisy > 0 && noisy <= most)
        add(finding, NIGHT_REASON_NOISY,
            drift_is_large(point->drift) ? g_strdup_printf("drift %.2f", point->drift)
                                         : g_strdup_printf("spread %.1f %%", point->spread * 100));
    if (facts->again->older_than_days > 0 && days > facts->again->older_than_days)
        add(finding, NIGHT_REASON_TOO_OLD, g_strdup_printf("%d days old", days));
}

void night_judge(const struct night_facts *facts, struct night_verdict *verdict)
{
    g_autoptr(GPtrArray) details = g_ptr_array_new_with_free_func(g_free);
    struct finding finding = {NIGHT_REASON_UNCHANGED, details};
    if (facts->point_count == 0)
        judge_unmeasured(facts, &finding);
    else {
        judge_code(facts, &finding);
        judge_stack(facts, &finding);
        if (newest(facts)->failure != FAILURE_NONE)
            judge_failure(facts, &finding);
        if (is_left_tuning(facts) && finding.reason != NIGHT_REASON_FAILED_FOR_GOOD)
            add(&finding, NIGHT_REASON_UNFINISHED, left_text(facts));
        if (newest(facts)->failure == FAILURE_NONE)
            judge_time(facts, &finding);
        if (finding.reason == NIGHT_REASON_UNCHANGED && facts->lot < facts->again->sample)
            add(&finding, NIGHT_REASON_SAMPLE, NULL);
    }
    g_ptr_array_add(details, NULL);
    verdict->reason = finding.reason;
    verdict->detail = details->len > 1 ? g_strjoinv("; ", (char **)details->pdata) : NULL;
}
