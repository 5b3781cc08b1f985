/*
 * The verbs of `skipjack campaign` outside campaign.c: list, show and remeasure.
 */
#ifndef COORDINATOR_CAMPAIGNS_CAMPAIGN_VERBS_H
#define COORDINATOR_CAMPAIGNS_CAMPAIGN_VERBS_H

int campaign_verb_list(int argc, char **argv);
int campaign_verb_show(int argc, char **argv);
int campaign_verb_remeasure(int argc, char **argv);

#endif
