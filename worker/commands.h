/*
 * This room's commands, for the table in coordinator/main.c. argv[0] is the
 * command's name; the return value is the process's exit status.
 */
#ifndef WORKER_COMMANDS_H
#define WORKER_COMMANDS_H

int command_worker(int argc, char **argv);

/* The hidden command `child ROLE ...`, which starts the agent's child processes. */
int command_child(int argc, char **argv);

#endif
