/*
 * The questions of `usage` beside its summary: what the networks lose without a solver, the
 * smallest set of solvers, solvers that are never used, and so on. Each question is a row of one
 * table: its name in JSON, its title, and the function that answers it.
 */
#ifndef EXPORT_USAGE_USAGE_QUESTIONS_H
#define EXPORT_USAGE_USAGE_QUESTIONS_H

#include "coordinator/cli/table.h"
#include "export/usage/usage.h"

/* What was asked. Members that are NULL, false or negative ask nothing. Shares are parts (0.05). */
struct usage_ask {
    char **by; /* names of dimensions, see usage_dimensions() */
    char **
        without; /* names of solvers; * and ? stand for any letters; "each" alone: every solver by itself */
    double
        smallest; /* the smallest set of solvers within this share of the best, negative for none */
    bool unused, naive, narrow, convert;
    double
        within; /* of narrow: a solver is near the best if it takes at most this share longer (0.05) */
    int least; /* of narrow: a class has at least so many problems (3) */
    double
        rare; /* of convert: a solver is rarely best with at most this share of the wins (0.02) */
    double gain;    /* of convert: the next solver takes at least so many times as long (1.5) */
    int64_t effort; /* of smallest: comparisons of the exact search */
};
/* Sets the thresholds of USAGE.md, and asks nothing. */
void usage_ask_init(struct usage_ask *ask);

/* "direction, type, ...": what usage_ask.by may name. */
const char *usage_dimensions(void);

/* Answers all questions. With json, each answer becomes a member of the object: {"rows", "explained", ...}; else
 * tables are printed to `out`. EXPORT_ERROR_USAGE for an unknown dimension or a solver that neither the entries nor
 * this program know. */
bool usage_answer(Usage *usage, const struct usage_ask *ask, json_t *json, FILE *out,
                  GError **error);

/* Prints or stores one answer; what usage_answer() does for each of its own. `table` and `more` (more members of the
 * JSON object, may be NULL) are released. */
struct usage_answer {
    const char *key, *title;
    char *head; /* a sentence above the table, or NULL; released */
    const char *explained;
    Table *table;
    json_t *more;
};
void usage_show_answer(struct usage_answer *answer, json_t *json, FILE *out);

#endif
