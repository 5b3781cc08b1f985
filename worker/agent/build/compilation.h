/*
 * The build pool's kernels. A kernel that the database lacks is compiled by one build child, once, however many
 * configs wait for it; then it is stored, before the rounds that name it. Internal.
 */
#ifndef WORKER_COMPILATION_H
#define WORKER_COMPILATION_H

#include "worker/agent/build/agent_build_child.h"
#include "worker/agent/build/build_job.h"

/* A config that waits for a kernel. */
struct waiting_config {
    struct build_job *job;
    int index;           /* of the config in the job's open round */
    int64_t local_bytes; /* of a workgroup, that the config's launch of the kernel asks for */
};

struct compilation {
    Builder *builder;
    struct kernel_row row;
    char program_hash[PROGRAM_HASH_LENGTH + 1];
    struct target target;
    GArray *waiting; /* struct waiting_config */
    int deaths;      /* of build children, or of compilers, over this kernel */
    bool over;       /* its result is known and being stored */
};

/* Queues a kernel of the job for the build children. The builder owns it. */
struct compilation *compilation_new(struct build_job *job, const struct launch *launch,
                                    const char *program_hash, const char *key);
void compilation_free(gpointer compilation);
/* The job waits for no kernel any more; kernels that no other job waits for are not begun. */
void compilations_withdraw(struct build_job *job);

/* The config's kernel is there, or failed. seconds: compile time that is added to the config's. */
void waiting_config_receive(struct waiting_config *config, const struct kernel_row *row,
                            double seconds);

/* Fills a row with what is known of a kernel before it is compiled; each text is a copy. */
void kernel_row_plan(struct kernel_row *row, const char *key, const struct launch *launch,
                     const struct target *target, const struct toolchain *toolchain,
                     const char *version);
/* Copies a compiled kernel's code and the compiler's figures from a build child's answer; not the seconds. */
void kernel_row_fill(struct kernel_row *row, const struct frame *frame);
/* Frees what a row that was planned owns; not the row. */
void kernel_row_clear(struct kernel_row *row);

/* ---- for the build child's machine ---- */

/* Asks for the first kernel in the queue. */
void compilation_ask(struct build_child *child);
void compilation_answered(struct build_child *child, const struct frame *frame);
void compilation_died(struct build_child *child, const struct child_death *death);

#endif
