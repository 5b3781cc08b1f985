/*
 * What a user asks of a campaign, from options or from a JSON description.
 */
#ifndef COORDINATOR_REQUEST_H
#define COORDINATOR_REQUEST_H

#include "coordinator/plan.h"
#include "schema/store_winners.h"

#define REQUEST_DEFAULT_CONFIGS  32 /* configs a job evaluates at most */
#define REQUEST_DEFAULT_STRATEGY STRATEGY_PRIOR
#define REQUEST_ROUND_CONFIGS    4 /* configs in a round: small, to reach every job soon */

/* Fields as GOption fills them; strings are owned. */
struct request {
    char *name, *target, *tag, *network, *strategy, *solvers;
    char **files; /* NULL-terminated, or NULL */
    gint64 seed;
    int configs;
    double budget_seconds;
    gboolean build_only;
    gboolean all_solvers;
    char *pool;  /* NULL for any worker */
    char *stack; /* constraints, NULL for the target's own */
    int priority;
    double share;
};
/* Everything at its default; the budget is the command's own. */
void request_init(struct request *request, double budget_seconds);
void request_clear(struct request *request);

/* The options that tune and `campaign create` share: --target --configs --strategy --seed --budget
 * --solvers --all-solvers --name. They point into request. Free with g_free(). */
GOptionEntry *request_options(struct request *request);

/* COORDINATOR_ERROR_USAGE for unknown strategies, negative numbers, an empty name or list of solvers. */
bool request_check(const struct request *request, GError **error);

/* Reads a description over the defaults: an object with the options' names without dashes,
 * where "problems" is a file or a list of files, "solvers" a list of names, and the words of a name
 * are joined by "_". A relative file is sought beside the description. Unknown fields are refused by name
 * (COORDINATOR_ERROR_USAGE). */
bool request_from_file(const char *path, struct request *request, GError **error);

/* Solvers are planned whatever their estimates: all are asked for, or these by name. */
bool request_takes_unpromising(const struct request *request);

/* Configs in a round: a few, to reach every job soon; what is only built is built in one round. */
int request_round_configs(const struct request *request);

/* The solvers asked for, in the table's order; all of them when none is named. GPtrArray of
 * const struct solver *. COORDINATOR_ERROR_USAGE names the one that is unknown. */
GPtrArray *request_solvers(const struct request *request, GError **error);

#endif
