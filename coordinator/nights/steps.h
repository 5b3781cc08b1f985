/*
 * The work of a night's states. Each step may be done again after it was interrupted anywhere: it finds what is there
 * by the night's rows.
 */
#ifndef COORDINATOR_NIGHTS_STEPS_H
#define COORDINATOR_NIGHTS_STEPS_H

#include "coordinator/nights/night.h"

enum night_outcome night_step_plan(struct night_run *run, GString *detail, GError **error);
enum night_outcome night_step_tune(struct night_run *run, GString *detail, GError **error);
enum night_outcome night_step_gather(struct night_run *run, GString *detail, GError **error);
enum night_outcome night_step_judge(struct night_run *run, GString *detail, GError **error);
enum night_outcome night_step_confirm(struct night_run *run, GString *detail, GError **error);
enum night_outcome night_step_settle(struct night_run *run, GString *detail, GError **error);
enum night_outcome night_step_propose(struct night_run *run, GString *detail, GError **error);
enum night_outcome night_step_export(struct night_run *run, GString *detail, GError **error);
enum night_outcome night_step_report(struct night_run *run, GString *detail, GError **error);
enum night_outcome night_step_tell(struct night_run *run, GString *detail, GError **error);

/* Sets run->night->findings: confirmed slow-downs and failures, and steps that were given up. */
bool night_count_findings(struct night_run *run, GError **error);

/* The longest wait, in seconds, for a worker of a certain node to measure a suspect again; any worker may after it.
 * A config takes seconds: this bounds the wait for a node that is busy with other jobs, or goes down meanwhile. */
#define NIGHT_NODE_WAIT_SECONDS 900

#endif
