/*
 * A user's request for a campaign, read from options or from a JSON description.
 */
#ifndef COORDINATOR_CAMPAIGNS_REQUEST_H
#define COORDINATOR_CAMPAIGNS_REQUEST_H

#include "coordinator/import/import.h"
#include "coordinator/plan/plan.h"
#include "solvers/framework/strategy.h"

#include <jansson.h>

#define REQUEST_DEFAULT_CONFIGS  32 /* configs a job evaluates at most */
#define REQUEST_DEFAULT_STRATEGY STRATEGY_PRIOR
#define REQUEST_ROUND_CONFIGS    4 /* configs in a round: small, to reach every job soon */
#define REQUEST_TEXT_MAX                                                                           \
    1000 /* characters of a name, a stack or a pool: the database takes no more */

/* Fields as GOption fills them; strings are owned. */
struct request {
    char *name, *target, *tag, *strategy, *solvers;
    char **files; /* NULL-terminated, or NULL */
    struct import_words
        list; /* what the files leave out; without files its network is the source */
    char **
        networks; /* the versions of networks that the problems are from ("NAME@NUMBER"), or NULL */
    gint64 seed;
    int configs;
    double budget_seconds;
    char *deadline;        /* as the user wrote it, NULL for none */
    int64_t deadline_unix; /* what it means, since request_check(); 0 for none */
    gboolean build_only;
    gboolean all_solvers;
    char *workspace_limit; /* bytes, as byte_count_parse() reads them; NULL for no limit */
    gboolean dynamic_only, deterministic, tunable_only;
    char *trust; /* logins joined by commas, NULL for none */
    char *pool;  /* NULL for any worker */
    char *stack; /* constraints, NULL for the target's own */
    int priority;
    double share;
    /* Asked with the campaign's name before anything of it is made or changed: false with *error set where
     * that name does not suit. NULL: every name does. Not an option. */
    bool (*admits)(void *data, const char *campaign, GError **error);
    void *admits_data;
};
/* Sets all fields to their defaults; each command has its own default budget. */
void request_init(struct request *request, double budget_seconds);
void request_clear(struct request *request);

/* The logins of a --trust, "" and NULL for none. NULL-terminated; free with g_strfreev(). */
char **request_logins(const char *trust);

/* Returns true if the option's text is not too long, or NULL. */
bool request_check_text(const char *option, const char *text, GError **error);

/* The options that tune and `campaign create` share: --target --configs --strategy --seed --budget --deadline
 * --solvers --all-solvers --workspace-limit --dynamic-only --deterministic --tunable-only --name. They point
 * into request. Free with g_free(). */
GOptionEntry *request_options(struct request *request);

/* Reads the limits under which solvers are asked. COORDINATOR_ERROR_USAGE where the workspace is no number of bytes. */
bool request_limits(const struct request *request, struct context_limits *limits, GError **error);
/* Reads the limits from the options of a command that makes no campaign; errors as above. */
bool request_read_limits(const char *workspace, struct context_limits *limits, GError **error);
/* The solvers and limits that a campaign was made with, as members of an object; "workspace_limit" is null
 * for no limit. A new reference. */
json_t *request_limits_json(const struct campaign *campaign);
/* Appends the options that set these limits to words (char *), for messages that repeat the
 * command line. */
void request_add_limits(const struct request *request, GPtrArray *words);

/* COORDINATOR_ERROR_USAGE for unknown strategies, negative numbers, an empty name or list of solvers, words about
 * a list that do not fit each other, a deadline that cannot be read or has passed. Sets deadline_unix. */
bool request_check(struct request *request, GError **error);
/* Checks that `campaign set` makes, too. Each sets COORDINATOR_ERROR_USAGE. */
bool request_check_name(const char *name, GError **error);
bool request_check_budget(double budget_seconds, GError **error);
bool request_check_share(double share, GError **error);
/* NULL is no deadline: *deadline_unix is 0. */
bool request_read_deadline(const char *deadline, int64_t *deadline_unix, GError **error);

/* Reads a description over the defaults: an object with the options' names without dashes,
 * where "problems" is a file or a list of files, "solvers" a list of names, "batch" a number or a list of
 * them, "dtype" a word or a list, and the words of a name are joined by "_". A relative file is sought beside the description. Unknown fields are refused by name
 * (COORDINATOR_ERROR_USAGE). */
bool request_from_file(const char *path, struct request *request, GError **error);

/* Entries of a table of options for the limits; fields: has dynamic_only, deterministic, tunable_only. */
#define REQUEST_LIMIT_OPTIONS(workspace, fields)                                                   \
    {"workspace-limit",                                                                            \
     0,                                                                                            \
     0,                                                                                            \
     G_OPTION_ARG_STRING,                                                                          \
     workspace,                                                                                    \
     "no solver or config that needs more workspace: 0, 4096, 64MiB, 1.5GB",                       \
     "BYTES"},                                                                                     \
        {"dynamic-only",                                                                           \
         0,                                                                                        \
         0,                                                                                        \
         G_OPTION_ARG_NONE,                                                                        \
         &(fields)->dynamic_only,                                                                  \
         "only solvers whose binaries each serve all sizes",                                       \
         NULL},                                                                                    \
        {"deterministic",                                                                          \
         0,                                                                                        \
         0,                                                                                        \
         G_OPTION_ARG_NONE,                                                                        \
         &(fields)->deterministic,                                                                 \
         "only solvers whose results are equal from run to run",                                   \
         NULL},                                                                                    \
    {                                                                                              \
        "tunable-only", 0, 0, G_OPTION_ARG_NONE, &(fields)->tunable_only,                          \
            "only solvers with perf configs to choose among", NULL                                 \
    }

/* Returns true when the request plans solvers whatever their estimates: it asks for all, or names
 * them. */
bool request_takes_unpromising(const struct request *request);

/* The number of configs in a round: a few, so that every job is reached soon. A build-only
 * campaign has one round with all configs. */
int request_round_configs(const struct request *request);

/* The solvers asked for, by their names or by algorithm families ("winograd", also as
 * "miopenConvolutionAlgoWinograd"), in the table's order; all of them when none is named.
 * GPtrArray of const struct solver *. Sets COORDINATOR_ERROR_USAGE, naming an unknown one. */
GPtrArray *request_solvers(const struct request *request, GError **error);

#endif
