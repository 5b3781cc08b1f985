/*
 * The topological order of a graph's nodes: a list with numbers that grow along it, so that two nodes are compared in
 * constant time. An insertion costs O(log n) amortised.
 */
#ifndef COORDINATOR_NETWORK_ORDER_H
#define COORDINATOR_NETWORK_ORDER_H

#include "coordinator/network/graph.h"

/* Links the node in front of `before`; NULL: at the end. */
void order_insert(struct node *node, struct node *before);
/* Takes the node out. Its `next` stays, so that a loop can go on from the node. */
void order_remove(struct node *node);

/* Moves `node`, and the nodes behind `first` that it needs, in front of `first`, which is the first of its users. All
 * its users have the mark `user_mark`. Returns false, without a move, if node depends on one of them. Looks only at
 * nodes from `first` on. */
bool order_before_users(struct node *node, struct node *first, uint64_t user_mark);

#endif
