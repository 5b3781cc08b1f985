/* Processes that a test did not start itself, found in /proc. */
#ifndef TESTS_SUPPORT_PROCESSES_H
#define TESTS_SUPPORT_PROCESSES_H

#include <glib.h>
#include <sys/types.h>

/* The ids (pid_t) of the process's children whose command line holds the words. */
GArray *process_children(pid_t parent, const char *words);

#endif
