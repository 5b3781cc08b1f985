/*
 * `report --fusion`: what fusing gains, and what tuning fused problems as they will run gains beyond that. AutoTVM found
 * that a config tuned for an operator alone is not always the best one inside its fused subgraph; here both are run.
 */
#ifndef COORDINATOR_NETWORK_AUTOTUNE_FUSION_REPORT_H
#define COORDINATOR_NETWORK_AUTOTUNE_FUSION_REPORT_H

#include <glib.h>
#include <stdbool.h>

/*
 * Reports on each pair of data type and layout that the file of autotune has with fusion "none" and "all". Three
 * pipelines are run on this machine's device, in turns: unfused; fused, each step with the config that won for its
 * operator alone; and fused, with the config that won for the fused problem. Returns the exit status, and prints its own errors. path: the
 * file; seconds: device time for the readings of a pipeline.
 */
int fusion_report_run(const char *path, double seconds, bool as_json);

#endif
