/*
 * The machine and target that a campaign is made for.
 */
#ifndef COORDINATOR_PROCESS_MACHINE_H
#define COORDINATOR_PROCESS_MACHINE_H

#include "schema/store/store.h"
#include "solvers/framework/target.h"

/* The target of a campaign, and the device behind it. */
struct machine {
    struct target target;
    char *stack;  /* toolchain and runtime of the device; "" if no device was opened */
    char *device; /* the device's own name; "" if no device was opened */
};
void machine_clear(struct machine *machine);

/* Reads this machine's device from `skipjack worker --probe`. */
bool machine_probe(struct machine *machine, GError **error);
/* Parses a target's id as a user types it; its limits are those of the architecture. Sets
 * COORDINATOR_ERROR_USAGE. */
bool machine_parse_target(const char *name, struct target *target, GError **error);
/* Whether `wanted` (NULL for nothing said, "local", or a target's id) is this machine, for a command that works on
 * its own machine only. COORDINATOR_ERROR_USAGE says what this machine is. */
bool machine_check_target(const struct machine *machine, const char *wanted, const char *command,
                          GError **error);
/* Finds the target of that name: this machine's for "local", else the one stored in the database,
 * else machine_parse_target(). */
bool machine_find(Store *store, const char *name, struct machine *machine, GError **error);

/* Returns the id of the target that a user names: this machine's for "local". NULL with COORDINATOR_ERROR_USAGE if no
 * target can have the name. Free with g_free(). */
char *machine_target_id(Store *store, const char *name, GError **error);

#endif
