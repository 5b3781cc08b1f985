/*
 * The eval child: opens one device, says hello, then serves evaluate requests
 * (protocol.h) from stdin one after another. It is the only process that
 * launches kernels; a kernel may take it down, and what was in flight is told
 * by the last "begin". After a device fault it ends by itself, with the faulty
 * config's outcome told and EVAL_CHILD_BROKEN as its status; where a problem finds too little memory, but
 * others would find some, with EVAL_CHILD_SHORT.
 */
#ifndef WORKER_EVAL_CHILD_H
#define WORKER_EVAL_CHILD_H

#define EVAL_CHILD_BROKEN 3
#define EVAL_CHILD_SHORT  4

/* device: as device_find() takes it; NULL is "". Serves until stdin ends. Returns the process's exit
 * status. PoCL's files go below SKIPJACK_SCRATCH, which must be set. */
int eval_child_main(const char *device);
/* The same for one that is asked for nothing but its hello: it disturbs nobody who measures there. */
int eval_child_tell(const char *device);

#endif
