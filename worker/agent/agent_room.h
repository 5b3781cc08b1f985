/* Room on the disk of the scratch folder, where compilers and drivers write. Internal. */
#ifndef WORKER_AGENT_ROOM_H
#define WORKER_AGENT_ROOM_H

#include "worker/agent/agent_state.h"

/* Whether there is room. While the disk is full, errors of compilers and drivers prove nothing about a kernel: callers
 * wait, and the scheduler runs again soon. The log has a line when the room is lost and when it is back. */
bool agent_has_room(struct agent *agent);
/* Empties a child's folder, where a full disk may have left half of a file. The child must be down. */
void agent_clear_scratch(const struct agent *agent, const char *name);

#endif
