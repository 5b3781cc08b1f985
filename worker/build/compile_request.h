/*
 * A "compile" request (protocol.h) as a struct. Reading it checks everything that the agent sent.
 */
#ifndef WORKER_COMPILE_REQUEST_H
#define WORKER_COMPILE_REQUEST_H

#include <jansson.h>

#include "kernels/program.h"

struct compile_request {
    json_int_t id;
    const char *toolchain, *version; /* owned by the request's JSON, like the program's texts */
    struct program program;
    struct target target;
};

/* WORKER_ERROR_FRAME for a request that breaks the protocol, for instance by options other than -DNAME=VALUE. The
 * request is valid as long as head. */
bool compile_request_read(json_t *head, struct compile_request *request, GError **error);

#endif
