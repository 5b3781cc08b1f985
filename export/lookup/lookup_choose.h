/*
 * `skipjack lookup --choose`: the answer that a library gets for a problem, and how it was found.
 */
#ifndef EXPORT_LOOKUP_CHOOSE_H
#define EXPORT_LOOKUP_CHOOSE_H

#include "coordinator/import/problem_list.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct lookup_question {
    char **paths; /* of databases, the target's own first, or of one folder */
    guint path_count;
    const char *key; /* the problem, or NULL: */
    const ProblemList
        *problems;      /* all of these, a line each and how many were found in which way */
    const char *target; /* NULL: the one that the first is named after, if it is */
    uint64_t workspace_bytes;
    int mode; /* enum skipjackdb_mode */
    bool json;
};

/* Prints the answer. With a target, files are asked in the order of their nearness to it. Our own solvers
 * say whether they are applicable, and their estimates, where the target is known. *found is false where
 * there is no answer (for one of the problems); a file of a folder that cannot be opened is named on stderr, and *whole is false
 * then. False with an error where nothing can be asked. */
bool lookup_choose(const struct lookup_question *question, bool *found, bool *whole,
                   GError **error);

#endif
