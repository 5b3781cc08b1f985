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
    char *stack;  /* toolchain and runtime of the device; "" where no device was asked */
    char *device; /* the device's own name; "" where none was asked */
};
void machine_clear(struct machine *machine);

/* This machine's device, as `skipjack worker --probe` tells it. */
bool machine_probe(struct machine *machine, GError **error);
/* A target's id as a user types it: what the name alone says. COORDINATOR_ERROR_USAGE. */
bool machine_parse_target(const char *name, struct target *target, GError **error);
/* The target of that name: this machine's for "local", else as the database knows it, else
 * what the name alone says. */
bool machine_find(Store *store, const char *name, struct machine *machine, GError **error);

#endif
