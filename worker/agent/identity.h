/*
 * A worker's identity: its node's stable name, and a text that no other process of
 * the node ever had. By this text a restarted agent knows which of the node's
 * workers are dead, and need not wait for their leases to run out. The name of the
 * process's scratch folder begins with the same text.
 */
#ifndef WORKER_AGENT_IDENTITY_H
#define WORKER_AGENT_IDENTITY_H

#include <glib.h>
#include <stdbool.h>

/* The node's name: SKIPJACK_NODE, or the host's name. Free with g_free(). */
char *identity_node(void);

/* "boot_id:namespace:pid:starttime" of this process; the namespace of process numbers is 0 where it is
 * unknown. Free with g_free(). */
char *identity_process(void);

/* Whether the process of this node with that identity_process() text has certainly ended.
 * Processes of another namespace of process numbers, which are invisible from here, and texts of
 * another form count as alive, so that no lease is taken from a living worker. */
bool identity_is_dead(const char *process);

/* Makes a folder of mode 0700 in the temporary folder, with a name that nobody can predict, and
 * removes the folders of dead workers. If the temporary folder's mount forbids running code
 * (noexec), makes it in /var/tmp. NULL with an error if it cannot be made, if both mounts forbid
 * code, or if a limit of this process (ulimit -f) keeps compilers from writing their files. Free
 * with g_free() after identity_remove_scratch(). */
char *identity_make_scratch(GError **error);
void identity_remove_scratch(const char *folder);

#endif
