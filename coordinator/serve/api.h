/*
 * The HTTP API of serve, as openapi.json describes it, and the dashboard's files.
 * The loop answers at once from what it holds; all other requests are answered by threads (ask.h).
 *
 * Reading takes no token, or a reader's where reads_need_token is set. Changes
 * take a coordinator's. Tokens are sent as "Authorization: Bearer TOKEN"; beyond
 * this machine they are refused without TLS unless allow_plain is set. Wrong
 * tokens are logged with the address, and an address may try a few only.
 */
#ifndef COORDINATOR_SERVE_API_H
#define COORDINATOR_SERVE_API_H

#include "coordinator/serve/ask.h"
#include "coordinator/serve/exports.h"
#include "coordinator/serve/live.h"
#include "coordinator/serve/watch.h"
#include "schema/monitor/http_server.h"

struct api_options {
    bool reads_need_token, allow_plain;
    Exports *exports; /* or NULL */
};

typedef struct api Api;

/* Everything is borrowed and outlives the API. */
Api *api_new(Ask *asking, Live *live, Watch *watch, const struct api_options *options);
void api_free(Api *api);

/* Adds the API's routes and those of the page to the list (struct http_route). The server's data is a struct that
 * begins with an Api *. */
void api_add_routes(const Api *api, GArray *routes);
/* Whether clients reach the server over this machine's loopback alone. */
void api_set_loopback(Api *api, bool is_loopback);

struct api_counts {
    uint64_t tokens_refused, changes;
};
void api_counts(const Api *api, struct api_counts *counts);

#endif
