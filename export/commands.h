/*
 * This room's commands, for the command table. argv[0] is the command's name;
 * they return the exit status: 0 done, 1 failed or findings, 2 wrong usage.
 */
#ifndef EXPORT_COMMANDS_H
#define EXPORT_COMMANDS_H

int command_export(int argc, char **argv);
int command_check(int argc, char **argv);
int command_usage(int argc, char **argv);
int command_golden(int argc, char **argv);
int command_merge(int argc, char **argv);
int command_lookup(int argc, char **argv);
int command_diff(int argc, char **argv);

#endif
