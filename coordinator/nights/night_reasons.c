#include "coordinator/nights/night_reasons.h"

#include <glib.h>

#define BACKFILL true
#define AT_ONCE  false

static const struct night_reason_row rows[] = {
    [NIGHT_REASON_NEW_PROBLEM] = {"the target was never tuned for the problem", NIGHT_ACTION_TUNE,
                                  AT_ONCE},
    [NIGHT_REASON_NEW_SOLVER] = {"the solver never worked on the problem, others did",
                                 NIGHT_ACTION_TUNE, BACKFILL},
    [NIGHT_REASON_NEW_TARGET] = {"nothing was ever tuned for the target; other targets were",
                                 NIGHT_ACTION_TUNE, BACKFILL},
    [NIGHT_REASON_SOLVER_REVISION] = {"the solver has another revision than the one measured",
                                      NIGHT_ACTION_TUNE, AT_ONCE},
    [NIGHT_REASON_KERNEL_SOURCE] = {"the solver's device code changed within one revision",
                                    NIGHT_ACTION_TUNE, AT_ONCE},
    [NIGHT_REASON_TOOLCHAIN] = {"no worker has the compiler that built the measured kernel",
                                NIGHT_ACTION_FRESH, AT_ONCE},
    [NIGHT_REASON_RUNTIME] = {"no worker has the runtime that the time was measured under",
                              NIGHT_ACTION_FRESH, AT_ONCE},
    [NIGHT_REASON_DRIVER] = {"no worker has the driver that the time was measured under",
                             NIGHT_ACTION_FRESH, AT_ONCE},
    [NIGHT_REASON_FAILED] = {"the last attempt failed for a reason that may pass",
                             NIGHT_ACTION_TUNE, AT_ONCE},
    [NIGHT_REASON_UNFINISHED] = {"the deadline or the budget ended the last attempt",
                                 NIGHT_ACTION_TUNE, AT_ONCE},
    [NIGHT_REASON_SUSPECT] = {"the last night found the time doubtful", NIGHT_ACTION_AGAIN,
                              AT_ONCE},
    [NIGHT_REASON_NOISY] = {"the last measurement scattered, or its device drifted",
                            NIGHT_ACTION_AGAIN, AT_ONCE},
    [NIGHT_REASON_TOO_OLD] = {"the time is older than the description allows", NIGHT_ACTION_AGAIN,
                              AT_ONCE},
    [NIGHT_REASON_SAMPLE] = {"nothing changed, and the night's lot drew it: that shows drift",
                             NIGHT_ACTION_AGAIN, AT_ONCE},
    [NIGHT_REASON_UNCHANGED] = {"nothing changed", NIGHT_ACTION_NONE, AT_ONCE},
    [NIGHT_REASON_FAILED_FOR_GOOD] = {"it failed, and would again until the solver's revision, its "
                                      "device code or the software changes",
                                      NIGHT_ACTION_NONE, AT_ONCE},
    [NIGHT_REASON_LEFT_OUT] = {"the solver's estimate is far below the best one's",
                               NIGHT_ACTION_NONE, AT_ONCE},
    [NIGHT_REASON_NOT_APPLICABLE] = {"the solver does not serve the problem on the target",
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
