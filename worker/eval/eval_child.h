/*
 * The eval child: opens one device, says hello, then serves requests (protocol.h) from stdin one after another. It
 * is the only process that launches kernels. A kernel may take it down: the last "begin" that it sent names the
 * config in flight.
 */
#ifndef WORKER_EVAL_CHILD_H
#define WORKER_EVAL_CHILD_H

/* Exit statuses. BROKEN: the device faulted; the outcome of the config that broke it was sent. SHORT: this problem
 * found too little device memory, but smaller problems would find enough. */
#define EVAL_CHILD_BROKEN 3
#define EVAL_CHILD_SHORT  4

/* Serves until stdin ends. device: a name for device_find(); NULL is "". PoCL's files go below the folder
 * SKIPJACK_SCRATCH, which must be set. Returns the process's exit status. */
int eval_child_main(const char *device);
/* The same for a child that only says hello. It takes no lock, measures nothing, and so does not disturb another
 * process that measures on the device. */
int eval_child_hello(const char *device);

#endif
