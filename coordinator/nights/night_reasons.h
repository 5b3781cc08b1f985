/*
 * Reasons of a night: why a problem is worked on with a solver on a target, or why not. One table has each reason's
 * sentence, what is done about it, and its weight; the numbers are stored (schema/sql/numbers.h).
 */
#ifndef COORDINATOR_NIGHTS_NIGHT_REASONS_H
#define COORDINATOR_NIGHTS_NIGHT_REASONS_H

#include "schema/sql/numbers.h"

#include <stdbool.h>

enum night_reason {
#define X(name, number, text) name = number,
    NIGHT_REASON_NUMBERS(X)
#undef X
};
#define NIGHT_REASON_COUNT 18 /* the largest number */

/* What a night does with a job. */
enum night_action {
    NIGHT_ACTION_NONE, /* nothing: the job is not planned */
    NIGHT_ACTION_TUNE, /* tuned; results of earlier campaigns that still hold are taken over */
    NIGHT_ACTION_FRESH, /* tuned, and nothing is taken over: what was measured belongs to another stack */
    NIGHT_ACTION_AGAIN, /* winner, runners-up and default config are measured again; tuned if no campaign has them */
};

struct night_reason_row {
    const char *sentence; /* what it means, for people */
    enum night_action action;
    bool backfill; /* jobs go into the campaign of low priority */
};
/* The rows' order is that of importance: the first reason that holds is the job's. */
const struct night_reason_row *night_reason_row(enum night_reason reason);
const char *night_reason_name(enum night_reason reason);
const char *night_action_name(enum night_action action);

#endif
