/*
 * The verbs of `skipjack campaign` outside campaign.c: list, show and remeasure.
 */
#ifndef COORDINATOR_CAMPAIGNS_CAMPAIGN_VERBS_H
#define COORDINATOR_CAMPAIGNS_CAMPAIGN_VERBS_H

int campaign_verb_list(int argc, char **argv);
int campaign_verb_show(int argc, char **argv);
int campaign_verb_remeasure(int argc, char **argv);

/* Creates the campaign that a JSON file describes, and watches it: `run` of such a file. Returns the exit status. */
int campaign_run_file(const char *path);

#endif
