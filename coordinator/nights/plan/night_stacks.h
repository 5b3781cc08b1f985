/*
 * Finds what changed between the software of a measurement and that of today's workers.
 *
 * A stack is a text as workers report it, items joined by ";": "clang 15.0.6 Debian; hip 6.2; driver 6.10.5". An
 * item's first word names it (stack_names() of schema/sql/functions/stacks.sql). Only items that matter for the target
 * are compared: on a node with an NVIDIA GPU another clang changes nothing.
 */
#ifndef COORDINATOR_NIGHTS_PLAN_NIGHT_STACKS_H
#define COORDINATOR_NIGHTS_PLAN_NIGHT_STACKS_H

#include "solvers/framework/target.h"

#include <glib.h>

/* Parts of a stack, in the order of importance. */
enum stack_part { STACK_TOOLCHAIN, STACK_RUNTIME, STACK_DRIVER, STACK_PART_COUNT };

/* Today's software for a target: texts, each of one worker or device. */
struct stacks_today {
    GPtrArray *builders; /* const char *: of workers that build */
    GPtrArray *devices;  /* const char *: of devices that measure */
};

/* The changes of each part: "driver 535.1 -> 550.2"; NULL for a part that some worker still has. */
struct stack_changes {
    char *texts[STACK_PART_COUNT];
};
void stack_changes_clear(struct stack_changes *changes);

/* Compares the stack of a measurement with today's. A part is unchanged if any worker has it as it was; so it is if
 * the measurement's stack does not name it, and if no worker is known. */
void stack_changes_find(const char *stack, enum vendor vendor, const struct stacks_today *today,
                        struct stack_changes *changes);

/* The toolchains that compile for a vendor's targets, NULL-terminated: "clang", "hiprtc" for AMD. */
const char *const *stack_toolchains(enum vendor vendor);

#endif
