/*
 * A worker's identity: its node's stable name, and a text that tells its process
 * from every other that ever ran there, so that a restarted agent knows which
 * of the node's workers are dead without waiting for their leases. Also the
 * process's scratch folder, whose name begins with the same text.
 */
#ifndef WORKER_IDENTITY_H
#define WORKER_IDENTITY_H

#include <glib.h>
#include <stdbool.h>

/* SKIPJACK_NODE, or the host's name. Free with g_free(). */
char *identity_node(void);

/* "boot_id:namespace:pid:starttime" of this process; the namespace of process numbers is 0 where it is
 * unknown. Free with g_free(). */
char *identity_process(void);

/* Whether a process of this node with that text can be no more. Those of another namespace, which
 * cannot be seen from here, and texts of another form count as alive: nobody's leases are taken on a
 * guess. */
bool identity_is_dead(const char *process);

/* Makes a folder of mode 0700 under the temporary one, with a name that nobody can know before; folders of
 * dead workers are removed. Where the temporary folder's mount forbids code (noexec) it is made in /var/tmp.
 * NULL with an error when it cannot be made, when both mounts forbid code, or when a limit of this process (ulimit -f) keeps compilers from
 * writing their files. Free with g_free() after identity_remove_scratch(). */
char *identity_make_scratch(GError **error);
void identity_remove_scratch(const char *folder);

#endif
