/* Finds processes that the test did not start itself, in /proc. */
#ifndef TESTS_SUPPORT_FARM_PROCESSES_H
#define TESTS_SUPPORT_FARM_PROCESSES_H

#include <glib.h>
#include <sys/types.h>

/* The ids (pid_t) of the parent's children whose command line contains these words. */
GArray *process_children(pid_t parent, const char *words);

#endif
