/*
 * The plan of a network as its two files say it: coordinator/network/plan/PLAN.md describes their form and the rules,
 * all of which are checked here.
 */
#ifndef WORKER_PIPELINE_PIPELINE_PLAN_H
#define WORKER_PIPELINE_PIPELINE_PLAN_H

#include <glib.h>

#include "solvers/problem/problem.h"

#define PIPELINE_RANK_MAX 8
#define PIPELINE_ALIGNMENT                                                                         \
    256 /* buffers, and constants in the weights' file, begin at multiples of it */

enum pipeline_buffer_kind { BUFFER_INPUT, BUFFER_OUTPUT, BUFFER_WEIGHT, BUFFER_ACTIVATION };

struct pipeline_buffer {
    char *name;
    enum pipeline_buffer_kind kind;
    int64_t bytes;
    enum data_type type;
    int rank;
    int64_t dims[PIPELINE_RANK_MAX], strides[PIPELINE_RANK_MAX]; /* strides in elements */
    int first,
        last;     /* the steps that touch it, -1 and -1 for none; an alias has those of its own */
    int alias_of; /* the buffer that this one is a part of; -1 for none */
    int64_t alias_offset; /* bytes */
    int64_t offset;       /* of a weight: bytes from the begin of the weights' file */
};

struct pipeline_operand {
    int buffer; /* -1: the problem has no operand of this role */
    int64_t offset_bytes;
};

struct pipeline_step {
    char *name;
    struct problem problem;
    struct pipeline_operand operands[OPERAND_COUNT];
};

struct pipeline_plan {
    char *network;
    GArray *buffers;          /* struct pipeline_buffer */
    GArray *steps;            /* struct pipeline_step */
    GArray *inputs, *outputs; /* int: indexes of buffers in the model's order */
    GMappedFile *weights;     /* NULL for a network without constants */
};

/* Reads and checks NAME.json and its weights. WORKER_ERROR_INVALID names the file, the place in it and the rule; a
 * GFileError if it cannot be read. *plan is empty then. */
bool pipeline_plan_read(struct pipeline_plan *plan, const char *path, GError **error);
void pipeline_plan_clear(struct pipeline_plan *plan);

struct pipeline_buffer *pipeline_buffer_at(const struct pipeline_plan *plan, int index);
struct pipeline_step *pipeline_step_at(const struct pipeline_plan *plan, int index);
/* The buffer that has the memory: `index` itself, or what it is an alias of; adds the alias's place to *offset. */
int pipeline_buffer_home(const struct pipeline_plan *plan, int index, int64_t *offset);
/* The number of elements of an input or output: the product of its dims. */
int64_t pipeline_buffer_elements(const struct pipeline_buffer *buffer);

#endif
