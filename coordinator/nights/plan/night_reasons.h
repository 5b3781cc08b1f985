/*
 * Reasons of a night: why a problem is worked on with a solver on a target, or why not. One table has each reason's
 * sentence, what is done about it, and its weight; the numbers are stored (schema/sql/numbers.h).
 */
#ifndef COORDINATOR_NIGHTS_PLAN_NIGHT_REASONS_H
#define COORDINATOR_NIGHTS_PLAN_NIGHT_REASONS_H

#include "coordinator/nights/file/night_file.h"
#include "coordinator/nights/plan/night_stacks.h"
#include "schema/results/store_history.h"
#include "schema/sql/numbers.h"

enum night_reason {
#define X(name, number, text) name = number,
    NIGHT_REASON_NUMBERS(X)
#undef X
};
#define NIGHT_REASON_COUNT 18 /* the largest number */

/* The work that a night has with a job. */
enum night_action {
    NIGHT_ACTION_NONE, /* nothing: the job is not planned */
    NIGHT_ACTION_TUNE, /* tuned; results of earlier campaigns that still hold are taken over */
    NIGHT_ACTION_FRESH, /* tuned, and nothing is taken over: what was measured belongs to another stack */
    NIGHT_ACTION_AGAIN, /* winner, runners-up and default config are measured again; tuned if no campaign has them */
};

struct night_reason_row {
    int priority; /* of several reasons the one with the highest counts, and its jobs come first */
    const char *sentence; /* what it means, for people */
    enum night_action action;
    bool backfill; /* jobs go into the campaign of low priority */
};
const struct night_reason_row *night_reason_row(enum night_reason reason);
const char *night_reason_name(enum night_reason reason);
const char *night_action_name(enum night_action action);

/* All that is known about a problem with a solver on a target. Everything is borrowed. */
struct night_facts {
    const char *night; /* YYYY-MM-DD */
    const char *solver;
    int revision;       /* the program's */
    const char *hash;   /* of its sources */
    enum vendor vendor; /* the target's */
    /* The pair's newest points, the newest first; count 0 if it was never measured. */
    struct history_point *const *points;
    guint point_count;
    bool problem_known; /* some solver has a point of the problem on the target */
    const char *
        nearest; /* the target with a history nearest to this one: itself, another one, or NULL for none */
    bool is_new_target; /* the target has no history */
    const struct stacks_today *today;
    /* The last night planned the job and left it unfinished: for this reason, 0 if it did not. */
    enum night_reason left_reason;
    const char *left_night; /* that night's date */
    const char *suspect;    /* what the last night suspected, or NULL */
    const struct night_again *again;
    double lot; /* of the sample, 0 <= lot < 1: night_lot() */
};

struct night_verdict {
    enum night_reason reason;
    /* The changes behind all reasons that hold, for people, the most important first: "driver 535.1 -> 550.2; 40 days
     * old". NULL for none. */
    char *detail;
};

/* Finds the most important reason. Free verdict->detail with g_free(). */
void night_judge(const struct night_facts *facts, struct night_verdict *verdict);

/* The lot of a pair in a night: even between 0 and 1, and the same whenever it is drawn. */
double night_lot(const char *night, const char *target, const char *key, const char *solver);

/* Whether a job with this failure would fail again as long as solver, device code and software stay. */
bool night_failure_is_final(enum failure failure);

/* Days from one night to another; 0 if one of them is no date. */
int night_days_between(const char *first, const char *second);

#endif
