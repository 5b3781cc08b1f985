/*
 * A claimed job in the build pool. A round of configs is proposed, each config is
 * turned into kernels, and when every kernel is stored or has failed the round is
 * stored as built. Internal.
 */
#ifndef WORKER_AGENT_BUILD_BUILD_JOB_H
#define WORKER_AGENT_BUILD_BUILD_JOB_H

#include "worker/agent/agent_calls.h"
#include "worker/agent/state_machine.h"

#define BUILD_JOB_STATES(X)                                                                        \
    X(BUILD_JOB_WAITING, "waiting", "It waits for the version of its target's toolchain.")         \
    X(BUILD_JOB_LOOKING_UP, "looking up",                                                          \
      "Its round is proposed; the database is asked which of the kernels it has.")                 \
    X(BUILD_JOB_BUILDING, "building", "It waits for the kernels that the database lacks.")         \
    X(BUILD_JOB_ENDING, "ending", "The call that ends its claim is under way.")                    \
    X(BUILD_JOB_FAILING, "failing",                                                                \
      "The database refused that call; the job is failed with the database's words.")              \
    X(BUILD_JOB_RELEASING, "releasing", "It could not be failed either, and is released.")         \
    X(BUILD_JOB_GONE, "gone", "It is freed.")

#define BUILD_JOB_EVENTS(X)                                                                        \
    X(BUILD_JOB_PLAN, "plan", "The toolchain is known, and a round was proposed.")                 \
    X(BUILD_JOB_LOOKED_UP, "looked up", "The database said which kernels it has.")                 \
    X(BUILD_JOB_END, "end", "Its claim ends: stored, finished, failed or released.")               \
    X(BUILD_JOB_ENDED, "ended", "The call came back; a failure that matters was logged.")          \
    X(BUILD_JOB_REFUSED, "refused", "The database cannot store what was handed in.")

enum build_job_state { BUILD_JOB_STATES(MACHINE_ENUM) };
enum build_job_event { BUILD_JOB_EVENTS(MACHINE_ENUM) };
extern const struct state_machine build_job_machine;

struct build_job {
    struct work work;
    Builder *builder;
    enum build_job_state state;
    /* The job's target with its toolchain; NULL if the job can only be failed. */
    struct build_target *build_target;
    /* Kernels that configs still wait for; a kernel counts once for each config. */
    int missing;
    double seconds; /* compile time */
};

/* Takes the first of the claimed jobs out of the list. The job's round is planned, waits for its
 * target's toolchain, or the job ends at once. The builder owns the job until its claim has
 * ended. */
void build_job_take(Builder *builder, struct claimed *claimed);

/* Moves the job's state machine. detail: a table of the known kernels with BUILD_JOB_LOOKED_UP,
 * an error or NULL with BUILD_JOB_REFUSED and BUILD_JOB_ENDED, else NULL. */
void build_job_move(struct build_job *job, enum build_job_event event, const void *detail);
/* Proposes the next round of a waiting job. Call it when the toolchain of the job's target is
 * known. */
void build_job_plan(struct build_job *job);
/* Counts one kernel that a config waited for as done. The last one has the round stored. */
void build_job_count_kernel(struct build_job *job);
/* Whether the job's claim is ending: only the database's answer to the last call is awaited. */
bool build_job_is_ending(const struct build_job *job);
/* Releases the job to the queue, unless its claim is ending already. */
void build_job_release(struct build_job *job);

#endif
