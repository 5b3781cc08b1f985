/*
 * `skipjack lookup --choose`: the solver that a library would choose for a problem, and how it was
 * found.
 */
#ifndef EXPORT_LOOKUP_LOOKUP_CHOOSE_H
#define EXPORT_LOOKUP_LOOKUP_CHOOSE_H

#include "coordinator/import/problem_list.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct lookup_question {
    char **paths; /* paths of databases, the target's own first; or of a single folder */
    guint path_count;
    const char *key; /* the problem's key; NULL if `problems` is set */
    /* problems to choose for, if `key` is NULL: prints a line for each, and a count for each way
     * of answering */
    const ProblemList *problems;
    /* the target's id; NULL means the target in the first file's name, if it states one */
    const char *target;
    uint64_t workspace_bytes;
    int mode; /* enum skipjackdb_mode */
    bool
        unmeasured; /* true: also what was built and never measured, where nothing measured is an answer */
    bool json;
};

/* Prints the answers. With question->target, files are asked in the order of their nearness to it,
 * otherwise in the order of `paths`. If the target is known, from there or from the first file's
 * name, our own solvers are asked whether they are applicable and what they estimate. *found
 * becomes false if a problem has no answer; *whole becomes false if a file of a folder cannot be
 * opened, which is named on stderr. Returns false with an error if nothing can be asked. */
bool lookup_choose(const struct lookup_question *question, bool *found, bool *whole,
                   GError **error);

#endif
