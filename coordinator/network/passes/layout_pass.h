/*
 * Chooses the order of axes in memory for each kernel of a lowered graph: channels in front of space (NCHW, NCDHW) or
 * last (NHWC, NDHWC). Where two neighbours differ a copy stands between them, one for all that read it. The sum of what
 * layers and copies cost is the least that any choice gives: a minimum cut of the graph.
 */
#ifndef COORDINATOR_NETWORK_PASSES_LAYOUT_PASS_H
#define COORDINATOR_NETWORK_PASSES_LAYOUT_PASS_H

#include "coordinator/network/graph.h"
#include "coordinator/network/passes/kernel_op.h"

struct layout_costs {
    /* Returns the time of a problem, also of a copy, in any unit; INFINITY if no solver serves it. NULL: layers cost
     * nothing in either layout and a copy costs its bytes, so that the graph has as few and small copies as it can. */
    double (*cost)(const struct problem *problem, void *context);
    void *context;
};

enum layout_wish { LAYOUT_WISH_FIRST, LAYOUT_WISH_LAST, LAYOUT_WISH_CHEAPEST };

/* Counts that the pass returns. */
struct layout_result {
    int first, last; /* kernels with channels in front, and last */
    int copies;      /* that it had to add */
};

/* Sets layouts and resolves the graph. LAYOUT_WISH_LAST has the graph's inputs channels last, too; otherwise they keep
 * the model's order. *result may be NULL. */
bool network_set_layout(struct graph *graph, enum layout_wish wish,
                        const struct layout_costs *costs, struct layout_result *result,
                        GError **error);

#endif
