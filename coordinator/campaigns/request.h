/*
 * A user's request for a campaign, read from options or from a JSON description.
 */
#ifndef COORDINATOR_CAMPAIGNS_REQUEST_H
#define COORDINATOR_CAMPAIGNS_REQUEST_H

#include "coordinator/import/import.h"
#include "coordinator/plan/plan.h"
#include "solvers/framework/strategy.h"

#include <jansson.h>

#define REQUEST_DEFAULT_CONFIGS  32 /* default of --configs: most configs that a job evaluates */
/* The same, for a job whose best time is close to its problem's; the default of --close-configs with that of --configs */
#define REQUEST_DEFAULT_CLOSE    96
#define REQUEST_DEFAULT_STRATEGY STRATEGY_PRIOR
/* configs of a round: few, so that the first rounds of all jobs are soon done */
#define REQUEST_ROUND_CONFIGS    4
/* Default of --final-seconds. */
#define REQUEST_FINAL_SECONDS    1
#define REQUEST_FINAL_MOST       1e6
#define REQUEST_SEARCH_MOST      1e9 /* largest --search-seconds, as in the database */
#define REQUEST_TEXT_MAX         1000 /* most characters of a name, a stack or a pool, as in the database */

/* A request as the command line's options (GOption) fill it in; strings are owned. */
struct request {
    char *name, *target, *tag, *strategy, *solvers;
    char **files; /* lists of problems, NULL-terminated; NULL without files */
    /* values that the files leave out (--batch and others); without files, list.network is the
     * source of problems */
    struct import_words list;
    /* NULL-terminated: the versions of networks that the problems come from ("NAME@NUMBER"); or
     * NULL */
    char **networks;
    gint64 seed;
    int configs;
    int close_configs; /* --close-configs; 0: by default (request_close_configs()) */
    double budget_seconds;
    /* when the search of a job ends beside `configs`: after so much device time, and when it expects to gain less than so
     * many per cent; 0 for no limit */
    double search_seconds, min_gain;
    double final_seconds; /* device time for a problem's second measurement; 0 for none */
    char *deadline;       /* the deadline as the user wrote it; NULL for none */
    /* the deadline in seconds since 1970, set by request_check(); 0 for none */
    int64_t deadline_unix;
    gboolean build_only;
    gboolean all_solvers;
    /* limit in bytes, as byte_count_parse() reads it ("512M"); NULL for no limit */
    char *workspace_limit;
    gboolean dynamic_only, deterministic, tunable_only;
    char *
        trust; /* logins whose code other logins' CPU workers run, joined by commas; NULL for none */
    char *pool; /* pool whose workers may take part; NULL for all */
    /* constraints on the software of workers; NULL for those of the target's own stack */
    char *stack;
    int priority;
    double share;
    /* Asked for the campaign's name before the campaign is made or changed. Returns false with
     * *error if the name does not suit the caller. NULL accepts every name. Not an option of the
     * command line. */
    bool (*admits)(void *data, const char *campaign, GError **error);
    void *admits_data;
};
/* Sets all fields to their defaults. The budget is a parameter, since each command has its own
 * default. */
void request_init(struct request *request, double budget_seconds);
void request_clear(struct request *request);

/* The logins of a --trust, "" and NULL for none. NULL-terminated; free with g_strfreev(). */
char **request_logins(const char *trust);

/* Returns true if the value of a text option is NULL, or short enough for the database. */
bool request_check_text(const char *option, const char *text, GError **error);

/* The options that tune and `campaign create` share: --target --configs --close-configs --search-seconds --min-gain
 * --strategy --seed --budget --final-seconds --deadline --solvers --all-solvers --workspace-limit --dynamic-only
 * --deterministic --tunable-only --name. They point into request. Free with g_free(). */
GOptionEntry *request_options(struct request *request);

/* Reads the limits under which solvers are asked. COORDINATOR_ERROR_USAGE where the workspace is no number of bytes. */
bool request_limits(const struct request *request, struct context_limits *limits, GError **error);
/* Sets the workspace limit alone, from the value of --workspace-limit (NULL for no limit), for commands that make no
 * campaign, too. Sets COORDINATOR_ERROR_USAGE like request_limits(). */
bool request_read_limits(const char *workspace, struct context_limits *limits, GError **error);
/* Returns an object with the solvers and limits that a campaign was made with, and with what ends the search of a job;
 * "workspace_limit" is null if it has none. A new reference. */
json_t *request_limits_json(const struct campaign *campaign);
/* Returns what follows the number of configs of any job: ", or 96 within 10 % of the problem's best"; "" where close jobs
 * try as many (0). Free with g_free(). */
char *request_close_text(int close_configs);
/* Returns what ends the search of a job beside its configs: ", or 96 within 10 % of the problem's best, 30 s of its
 * device, a gain below 1 %"; "" for nothing. Free
 * with g_free(). */
char *request_search_ends_text(const struct campaign *campaign);
/* Appends the options that set the request's limits to `words` (char *), for messages that suggest
 * a command line. */
void request_add_limits(const struct request *request, GPtrArray *words);

/* Checks the request, and sets deadline_unix. Returns false with COORDINATOR_ERROR_USAGE for unknown strategies and
 * solvers, negative numbers, an empty name, pool or list of solvers, texts that are too long, options on lists that do
 * not fit each other, and a deadline that cannot be read or has passed. */
bool request_check(struct request *request, GError **error);
/* Check one option each, for `campaign set` too. They set COORDINATOR_ERROR_USAGE. */
bool request_check_name(const char *name, GError **error);
bool request_check_budget(double budget_seconds, GError **error);
bool request_check_final(double final_seconds, GError **error);
/* word: the option or field that the message names. */
bool request_check_close(const char *word, int64_t configs, int64_t close_configs, GError **error);
bool request_check_share(double share, GError **error);
/* Reads a deadline as the user wrote it; NULL means none, and *deadline_unix becomes 0. */
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

/* Returns true if the request plans solvers whatever their estimates: it has --all-solvers, or
 * names the solvers. */
bool request_takes_unpromising(const struct request *request);

/* Most configs of a job whose best time is close to its problem's, as in struct campaign: asked for, or by default. */
int request_close_configs(const struct request *request);
/* The same of a description with these numbers; close_configs 0: by default. */
int request_close_of(int configs, int close_configs);

/* Returns how many configs a round has: few, so that every job is soon reached. A build-only
 * campaign has one round with all its configs, at most ROUND_CONFIGS_MAX. */
int request_round_configs(const struct request *request);

/* Returns the solvers that the request names, in the table's order (GPtrArray of const struct
 * solver *); all solvers if it names none. A name may be an algorithm family ("winograd", also
 * as "miopenConvolutionAlgoWinograd"). Sets COORDINATOR_ERROR_USAGE for an unknown name. */
GPtrArray *request_solvers(const struct request *request, GError **error);

#endif
