/*
 * The commands of this room, as main.c's table calls them. Each parses its own
 * arguments (argv[0] is the command's name) and returns an exit status: 0 done,
 * 1 failed or findings, 2 wrong usage.
 */
#ifndef COORDINATOR_COMMANDS_H
#define COORDINATOR_COMMANDS_H

int command_autotune(int argc, char **argv);
int command_run_network(int argc, char **argv);
int command_tune(int argc, char **argv);
int command_import(int argc, char **argv);
int command_campaign(int argc, char **argv);
int command_run(int argc, char **argv);
int command_history(int argc, char **argv);
int command_nights(int argc, char **argv);
int command_report(int argc, char **argv);
int command_replay(int argc, char **argv);
int command_status(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_problems(int argc, char **argv);
int command_networks(int argc, char **argv);
int command_targets(int argc, char **argv);
int command_solvers(int argc, char **argv);
int command_quarantine(int argc, char **argv);
int command_tell(int argc, char **argv);
int command_pages(int argc, char **argv);
int command_complete(int argc, char **argv);

#endif
