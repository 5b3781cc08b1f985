/*
 * The GPUs of this node. A child process asks the drivers, since the agent, which supervises children, must never
 * open a driver itself.
 */
#ifndef WORKER_DEVICE_DEVICE_LIST_H
#define WORKER_DEVICE_DEVICE_LIST_H

#include <glib.h>

/* Parses --eval: "none"; "all" (every GPU; on a machine without GPUs the first device); or
 * "local", numbers and UUIDs joined by commas. Returns the names for eval children,
 * NULL-terminated, free with g_strfreev(). NULL with WORKER_ERROR_CHILD if the child failed, or
 * with another error if the list is wrong or names a device twice. */
char **device_list_parse(const char *list, GError **error);

/* The child's main function: prints the UUID of each GPU, or its number if it has none, one a
 * line. Returns the exit status. */
int device_list_child(void);

#endif
