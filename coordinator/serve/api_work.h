/*
 * How the API's questions are answered on threads: one row for each operation of
 * openapi.json that needs the database, a file or a process.
 */
#ifndef COORDINATOR_SERVE_API_WORK_H
#define COORDINATOR_SERVE_API_WORK_H

#include "coordinator/serve/ask.h"
#include "coordinator/serve/exports.h"

#include <jansson.h>

struct api_query {
    const struct api_row *row;
    json_t *asked;     /* the request's values, as description_read() gives them */
    json_t *forecasts; /* forecasts_to_json(), or NULL */
    Exports *exports;  /* NULL: nothing is exported */
    /* Of changes: the token, and where it came from. */
    char *bearer, *address;
};
void api_query_free(gpointer query);

struct api_row {
    const char *id; /* the operation's id */
    void (*answer)(Store *store, const struct api_query *query, struct reply *reply);
    int what;             /* for answer(): a page, or a verb's index */
    double fresh_seconds; /* how long the answer may be shared; negative: it is nobody else's */
    bool needs_store;
    bool is_slow; /* question.is_slow */
};
/* NULL for an operation that the loop answers itself. */
const struct api_row *api_row_find(const char *id);

/* The work of a question: data is a struct api_query *. For changes it checks the token first. */
void api_work(Store *store, void *data, struct reply *reply);
/* The work of checking a token: data is its text. The reply's data is {"role", "name", "expires_unix"}. */
void api_check_token(Store *store, void *data, struct reply *reply);

#endif
