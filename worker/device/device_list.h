/*
 * The GPUs of this node. A child process asks the drivers, since the agent, which supervises children, must never
 * open a driver itself.
 */
#ifndef WORKER_DEVICE_LIST_H
#define WORKER_DEVICE_LIST_H

#include <glib.h>

/* Parses --eval: "none"; "all", every GPU, or the first device on a machine without GPUs; or "local", numbers and
 * UUIDs joined by commas. Returns names for eval children, NULL-terminated, free with g_strfreev(). NULL with
 * WORKER_ERROR_CHILD if the child failed, or another error if the list is wrong or names a device twice. */
char **device_list_parse(const char *list, GError **error);

/* The child: prints one line for each GPU, its UUID or else its number. Returns the exit status. */
int device_list_child(void);

#endif
