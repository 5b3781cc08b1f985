/*
 * The message to the user when a network's layers are stored.
 */
#ifndef COORDINATOR_NETWORKS_COMMAND_H
#define COORDINATOR_NETWORKS_COMMAND_H

#include "schema/store/store.h"

/* Says on standard error that the network's name means another version now; nothing where it is new
 * or as it was. */
void network_say_change(const char *name, const struct network_change *change);

#endif
