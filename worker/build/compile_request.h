/*
 * A "compile" request (protocol.h) as a struct. Reading it checks everything that the agent sent.
 */
#ifndef WORKER_BUILD_COMPILE_REQUEST_H
#define WORKER_BUILD_COMPILE_REQUEST_H

#include <jansson.h>

#include "kernels/program.h"

struct compile_request {
    json_int_t id;
    /* Owned by the request's JSON, as are the texts in `program`. */
    const char *toolchain, *version;
    struct program program;
    struct target target;
};

/* Reads a request from its JSON, which must live as long as the request. WORKER_ERROR_FRAME for
 * a request that breaks the protocol, for instance by options other than -DNAME=VALUE. */
bool compile_request_read(json_t *head, struct compile_request *request, GError **error);

#endif
