/*
 * The build child: reads compile requests from stdin, compiles them one after
 * another with kernels/toolchains/toolchain.h, answers on stdout (protocol.h). A compiler
 * may write to standard output, crash or hang: the first is led to stderr, the
 * others are for the agent to notice.
 */
#ifndef WORKER_BUILD_CHILD_H
#define WORKER_BUILD_CHILD_H

/* Serves until stdin ends. Returns the process's exit status. */
int build_child_main(void);

#endif
