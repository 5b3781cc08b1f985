/*
 * A farm of one: campaigns and workers run through the program itself, as
 * users run them, on the test's scratch database. Call scratch_store() first.
 * Everything aborts the test on failure.
 */
#ifndef TESTS_SUPPORT_LIVE_FARM_H
#define TESTS_SUPPORT_LIVE_FARM_H

#include "schema/store/store.h"

#include <sys/types.h>

/* Creates a campaign on this machine over problems (keys, one a line) with more arguments of
 * `campaign create` (NULL-terminated). Its strategy is random where they name none: then what it tries
 * does not depend on times. program: the path of skipjack. */
int64_t live_campaign(const char *program, const char *problems, const char *const *arguments);

/* Starts `worker --embedded --until-empty` with more arguments (may be NULL). Its words go to stderr. */
pid_t live_worker(const char *program, const char *const *arguments);
/* The same without --until-empty: it stays until SIGTERM. */
pid_t live_agent(const char *program, const char *const *arguments);
/* Starts `tune` over problems (keys, one a line) with more arguments, writing into folder; likewise. */
pid_t live_tune(const char *program, const char *problems, const char *folder,
                const char *const *arguments);
/* Waits for it to end, at most for as long as tests are patient, then kills it and fails the test. Returns the wait status. */
int live_wait(pid_t worker);

/* The process id of the parent's child whose command line holds the words ("child eval", "child build",
 * "worker --until-empty"), waited for. */
pid_t live_child(pid_t parent, const char *words);
/* Waits until it has none. */
void live_child_ends(pid_t parent, const char *words);

/* Checks that the campaign is done with so many jobs, each done too. A job all of whose configs the
 * machine's noise made restless passes as well: it ran whole. Returns how many are done. */
int live_assert_done(Store *store, int64_t campaign, int jobs);

/* The outcomes of a campaign's configs, a line each, sorted: the reason if the config was rejected, else "verified"
 * (whether a verified config is fast, slow or unstable depends on the machine's noise). Free with g_free(). */
char *live_outcomes(Store *store, int64_t campaign);

#endif
