/* Free space on the disk of the scratch folder, where compilers and drivers write. Internal. */
#ifndef WORKER_AGENT_AGENT_ROOM_H
#define WORKER_AGENT_AGENT_ROOM_H

#include "worker/agent/agent_state.h"

/* Whether the disk has enough free space. While it has not, errors of compilers and drivers
 * prove nothing about a kernel, so callers wait, and the scheduler runs again soon. A line is
 * logged when the disk becomes full and when it has space again. */
bool agent_has_room(struct agent *agent);
/* Removes the files in a child's folder, where a full disk may have left an incomplete file. The
 * child must be down. */
void agent_clear_scratch(const struct agent *agent, const char *name);

#endif
