/*
 * The eval child: opens one device, says hello, then serves requests (protocol.h)
 * from stdin one after another. It is the only process that launches kernels. If a
 * kernel kills it, the last "begin" that it sent names the config in flight.
 */
#ifndef WORKER_EVAL_EVAL_CHILD_H
#define WORKER_EVAL_EVAL_CHILD_H

/* Exit statuses. BROKEN: the device faulted, and the outcome of the config that broke it was
 * sent. SHORT: the device had too little free memory for this problem, but has enough for
 * smaller ones. */
#define EVAL_CHILD_BROKEN 3
#define EVAL_CHILD_SHORT  4

/* The eval child's main function; serves until stdin ends. device: a name for device_find();
 * NULL is "". PoCL writes its files below the folder SKIPJACK_SCRATCH, which must be set.
 * Returns the process's exit status. */
int eval_child_main(const char *device);
/* The same for a child that only says hello. It takes no lock and measures nothing, so it does
 * not disturb another process that measures on the device. */
int eval_child_hello(const char *device);

#endif
