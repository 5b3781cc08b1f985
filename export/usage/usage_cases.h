/*
 * The cases that questions of usage go through: each problem of each network at each place, with
 * the times of its solvers there. Internal to the folder.
 */
#ifndef EXPORT_USAGE_USAGE_CASES_H
#define EXPORT_USAGE_USAGE_CASES_H

#include "export/usage/usage.h"

/* A solver's best time for a problem at a place. */
struct usage_time {
    const char *solver;            /* interned: equal names are equal pointers within one Usage */
    double time_ms;                /* INFINITY for an entry without a time over 0 */
    int64_t solver_id, problem_id; /* of the database, see struct usage_entry */
    int revision, place, origin, dynamic;
};

struct usage_case {
    int network, place;
    /* the first case of this problem at this place: questions that are not about networks count
     * these cases alone */
    bool is_first;
    const struct problem *problem;
    int64_t multiplicity;
    double weight; /* multiplicity x runs of the network */
    /* The timed entries, the fastest first, times[0] the winner's; `untimed` others follow. */
    const struct usage_time *times;
    int count, untimed;
};
/* GArray of struct usage_case, by network and place, which belongs to `usage`; valid until something is added. */
const GArray *usage_cases(Usage *usage);

struct usage_place {
    const char *target, *source;
};
const struct usage_place *usage_place_at(const Usage *usage, int place);

/* Whether there are several targets, or several sources: tables for people then name them. */
bool usage_targets_differ(const Usage *usage);
bool usage_sources_differ(const Usage *usage);

/* JSON's copy of a text whose bytes may not be UTF-8. */
json_t *usage_json_text(const char *text);

#endif
