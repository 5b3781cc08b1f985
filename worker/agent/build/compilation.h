/*
 * The build pool's kernels. A kernel that the database lacks is compiled by one build child, once, however many
 * configs wait for it; then it is stored, before the rounds that name it. Internal.
 */
#ifndef WORKER_AGENT_BUILD_COMPILATION_H
#define WORKER_AGENT_BUILD_COMPILATION_H

#include "worker/agent/build/agent_build_child.h"
#include "worker/agent/build/build_job.h"

/* A config that waits for a kernel. */
struct waiting_config {
    struct build_job *job;
    int index; /* the config's index in the job's open round */
    /* Bytes of local memory that the config's launch asks for, in addition to the kernel's own. */
    int64_t local_bytes;
};

struct compilation {
    Builder *builder;
    struct kernel_row row;
    char program_hash[PROGRAM_HASH_LENGTH + 1];
    struct target target;
    GArray *waiting; /* struct waiting_config: the configs that need the kernel */
    /* Deaths of build children, or crashes of compilers, while they compiled this kernel. */
    int deaths;
    bool over; /* the result is known, and the kernel is being stored */
};

/* Queues a kernel of the job for the build children. The builder owns the compilation. */
struct compilation *compilation_new(struct build_job *job, const struct launch *launch,
                                    const char *program_hash, const char *key);
void compilation_free(gpointer compilation);
/* Removes the job's configs from all compilations. A kernel that no other job waits for is not
 * compiled any more. */
void compilations_withdraw(struct build_job *job);

/* Tells a config that a kernel it waited for was compiled or failed. seconds: compile time,
 * which is added to the config's. */
void waiting_config_receive(struct waiting_config *config, const struct kernel_row *row,
                            double seconds);

/* Fills a row with everything that is known of a kernel before it is compiled. Its texts are
 * copies. */
void kernel_row_plan(struct kernel_row *row, const char *key, const struct launch *launch,
                     const struct target *target, const struct toolchain *toolchain,
                     const char *version);
/* Copies a kernel's code and the compiler's figures from a build child's answer into the row,
 * but not the compile time. */
void kernel_row_fill(struct kernel_row *row, const struct frame *frame);
/* Frees the texts and the code of a row that kernel_row_plan() filled, not the row itself. */
void kernel_row_clear(struct kernel_row *row);

/* ---- for the build child's state machine ---- */

/* Sends the first waiting kernel to the child. */
void compilation_ask(struct build_child *child);
void compilation_answered(struct build_child *child, const struct frame *frame);
void compilation_died(struct build_child *child, const struct child_death *death);

#endif
