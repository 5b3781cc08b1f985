/*
 * The GPUs of this node. The drivers are asked by a child, since who supervises
 * children opens no driver itself.
 */
#ifndef WORKER_DEVICE_LIST_H
#define WORKER_DEVICE_LIST_H

#include <glib.h>

/* What --eval names: "none", "all" (every GPU; the first device of this machine where there is none), or
 * by commas "local", numbers and UUIDs. As an eval child takes them, NULL-terminated, free with
 * g_strfreev(); NULL where the list is wrong, names a device twice, or the child failed. */
char **device_list_parse(const char *list, GError **error);

/* The child: prints a line a GPU, its UUID or else its number. Returns the exit status. */
int device_list_child(void);

#endif
