/*
 * The server's time for idle nodes, and the delay until they work. Nodes are
 * simulated: their own statements at their own intervals, over a few
 * connections instead of two each.
 */
#ifndef TESTS_SUPPORT_BENCH_IDLE_H
#define TESTS_SUPPORT_BENCH_IDLE_H

#include "schema/store/store.h"

/* Prints queries a second and processor time of the server while so many nodes find nothing, then how
 * long until parts of them hold jobs of a campaign that appears. */
void bench_idle(Store *store, int nodes);

#endif
