/*
 * Errors of graphs of networks.
 */
#ifndef COORDINATOR_NETWORK_NETWORK_ERROR_H
#define COORDINATOR_NETWORK_NETWORK_ERROR_H

#include <glib.h>

#define NETWORK_ERROR (network_error_quark())
GQuark network_error_quark(void);

enum network_error {
    NETWORK_ERROR_INVALID,     /* A shape, an attribute or an edit breaks a rule. */
    NETWORK_ERROR_UNSUPPORTED, /* An operator, or a use of one, that this program does not know. */
    NETWORK_ERROR_CYCLE,       /* An edit would let a node depend on itself. */
    NETWORK_ERROR_PENDING,     /* A graph that must be resolved first is not. */
};

#endif
