/*
 * The build child: reads compile requests from stdin, compiles them one after another
 * (kernels/toolchains/toolchain.h), answers on stdout (protocol.h). A compiler's standard output goes to stderr. The
 * agent handles compilers that crash or hang.
 */
#ifndef WORKER_BUILD_BUILD_CHILD_H
#define WORKER_BUILD_BUILD_CHILD_H

/* Serves until stdin ends. Returns the process's exit status. */
int build_child_main(void);

#endif
