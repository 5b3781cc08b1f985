/*
 * A "compile" request (protocol.h) as a struct, checked: nothing in it was
 * believed before.
 */
#ifndef WORKER_COMPILE_REQUEST_H
#define WORKER_COMPILE_REQUEST_H

#include <jansson.h>

#include "kernels/program.h"

struct compile_request {
    json_int_t id;
    const char *toolchain, *version; /* in the request's JSON, as the program's texts are */
    struct program program;
    struct target target;
};

/* WORKER_ERROR_FRAME for what breaks the protocol, options other than -DNAME=VALUE among it. The request
 * is valid as long as head. */
bool compile_request_read(json_t *head, struct compile_request *request, GError **error);

#endif
