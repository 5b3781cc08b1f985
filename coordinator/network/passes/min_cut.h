/*
 * The smallest cut between a source and a sink: which of two labels each of many nodes gets, where labels and
 * disagreements cost. Dinic's algorithm ("Algorithm for solution of a problem of maximum flow in networks with power
 * estimation", 1970).
 */
#ifndef COORDINATOR_NETWORK_PASSES_MIN_CUT_H
#define COORDINATOR_NETWORK_PASSES_MIN_CUT_H

#include <stdbool.h>

/* A capacity that no cut can pay. */
#define MIN_CUT_NEVER 1e30

struct min_cut;
struct min_cut *min_cut_new(int nodes); /* nodes are numbered from 0 */
void min_cut_free(struct min_cut *cut);
int min_cut_add_node(struct min_cut *cut); /* another node's number */
/* Adds the cost of labelling a node 0, and of labelling it 1. */
void min_cut_labels(struct min_cut *cut, int node, double cost_of_0, double cost_of_1);
/* Adds a cost that is paid if a is labelled 0 and b is labelled 1. */
void min_cut_edge(struct min_cut *cut, int a, int b, double cost);
/* Solves; returns the cost. Labels are read with min_cut_label(). A node that may have either gets 0. */
double min_cut_solve(struct min_cut *cut);
bool min_cut_label(const struct min_cut *cut, int node);

#endif
