/*
 * A claimed job in the build pool: a round is proposed, the round's configs become kernels, and when all of them
 * are there the round is stored. Internal.
 */
#ifndef WORKER_BUILD_JOB_H
#define WORKER_BUILD_JOB_H

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
    struct build_target *build_target; /* NULL where the work is refused */
    int missing;                       /* kernels that are not there yet, counted for each config */
    double seconds;                    /* compile time */
};

/* Takes the first of the claimed jobs. It is planned, waits for its toolchain, or ends at once. Owned by the builder
 * until its claim has ended. */
void build_job_take(Builder *builder, struct claimed *claimed);

/* detail: a table of kernels with BUILD_JOB_LOOKED_UP, an error or NULL with BUILD_JOB_REFUSED and BUILD_JOB_ENDED,
 * else NULL. */
void build_job_move(struct build_job *job, enum build_job_event event, const void *detail);
/* Proposes the next round of a waiting job whose target has a toolchain's version. */
void build_job_plan(struct build_job *job);
/* A kernel that one of its configs waited for is there; the round is stored with the last one. */
void build_job_count_kernel(struct build_job *job);
/* Its claim ends; nothing but an answer of the database follows. */
bool build_job_is_ending(const struct build_job *job);
/* Gives it back to the queue, unless its claim ends already. */
void build_job_release(struct build_job *job);

#endif
