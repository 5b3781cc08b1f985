/*
 * The API as openapi.json describes it: its operations, and the check of each
 * request against the description. The file is the only place that says which
 * paths, parameters, bodies and roles there are.
 */
#ifndef COORDINATOR_SERVE_DESCRIPTION_H
#define COORDINATOR_SERVE_DESCRIPTION_H

#include "schema/monitor/http_target.h"
#include "schema/store/store_tokens.h"

#include <jansson.h>

#define API_BASE "/api/v1"

struct operation {
    const char *id;           /* operationId */
    char *method, *path;      /* "GET", "/api/v1/campaigns/{id}" */
    enum token_role role;     /* least role that it needs; TOKEN_NONE: it only reads */
    const json_t *parameters; /* array of parameter objects, without references */
    const json_t *body;       /* the schema of its body, NULL for none */
};

typedef struct description Description;

/* The embedded file. A mistake in it ends the program: tests read it. */
Description *description_load(void);
void description_free(Description *description);
const struct operation *description_operations(const Description *description, int *count);
/* The parameters of a request as a JSON object by their names, with defaults, in the types of their schemas; a member
 * is missing where the request has no value and the schema no default. With a body, its members are added. NULL and
 * *why (free with g_free()) if the request does not fit; *why says what is wrong with what. */
json_t *description_read(const Description *description, const struct operation *operation,
                         const struct http_target *target, const char *body, size_t body_length,
                         char **why);

#endif
