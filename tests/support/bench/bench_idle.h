/* The processor time that idle nodes cost the server, and the delay until they get jobs. Nodes are
 * simulated: they send an agent's statements at an agent's intervals, but share a few connections
 * instead of having two each. */
#ifndef TESTS_SUPPORT_BENCH_BENCH_IDLE_H
#define TESTS_SUPPORT_BENCH_BENCH_IDLE_H

#include "schema/store/store.h"

/* Prints the queries a second and the server's processor time while `nodes` nodes find no job; then
 * a campaign is created, and the delays until 1, 10, 100, ... nodes hold jobs are printed. */
void bench_idle(Store *store, int nodes);

#endif
