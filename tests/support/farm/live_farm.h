/* A farm of one node: campaigns and workers are run by the program itself, as users run them, on
 * the test's scratch database. Call scratch_store() first. Every failure aborts the test. */
#ifndef TESTS_SUPPORT_FARM_LIVE_FARM_H
#define TESTS_SUPPORT_FARM_LIVE_FARM_H

#include "schema/store/store.h"

#include <sys/types.h>

/* Creates a campaign on this machine over problems (keys, one a line), with more arguments of
 * `campaign create` (NULL-terminated). The default strategy is random, which chooses configs
 * independently of times. program: the path of skipjack. Returns the campaign's id. */
int64_t live_campaign(const char *program, const char *problems, const char *const *arguments);

/* Starts `worker --embedded --until-empty` with more arguments (may be NULL), and returns its
 * process id. Its output goes to stderr. */
pid_t live_worker(const char *program, const char *const *arguments);
/* live_worker() without --until-empty: it runs until SIGTERM. */
pid_t live_agent(const char *program, const char *const *arguments);
/* Starts `tune` over problems (keys, one a line) with more arguments and `folder` as its output
 * folder; returns its process id. */
pid_t live_tune(const char *program, const char *problems, const char *folder,
                const char *const *arguments);
/* Waits for the process to end and returns its wait status. After PATIENCE_SECONDS it sends
 * SIGTERM and aborts the test. */
int live_wait(pid_t worker);

/* Waits until the parent has a child whose command line contains these words ("child eval", "child
 * build", "worker --until-empty"), and returns its process id. */
pid_t live_child(pid_t parent, const char *words);
/* Waits until the parent has no child with these words. */
void live_child_ends(pid_t parent, const char *words);

/* Asserts that the campaign is done with `jobs` jobs, each done. Also allowed is a job all of whose
 * configs were unstable for the machine's noise. Returns how many are done. */
int live_assert_done(Store *store, int64_t campaign, int jobs);

/* The outcomes of a campaign's configs, a line each, sorted: the reason if the config was rejected, else "verified"
 * (whether such a config is the best, slow, unstable or impossibly fast depends on the machine's noise). Free with
 * g_free(). */
char *live_outcomes(Store *store, int64_t campaign);

#endif
