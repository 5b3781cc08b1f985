/*
 * The commands of this room, as main.c's table calls them: argv[0] is the
 * command's name; the exit status is 0 done, 1 failed, 2 wrong usage.
 */
#ifndef SCHEMA_COMMANDS_COMMANDS_H
#define SCHEMA_COMMANDS_COMMANDS_H

/* skipjack db start|stop|status|migrate|url|blobs|psql */
int command_db(int argc, char **argv);

#endif
