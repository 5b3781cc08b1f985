/*
 * Reads the problems of a request: from files, a tag or a network.
 */
#ifndef COORDINATOR_CAMPAIGNS_PROBLEMS_OF_H
#define COORDINATOR_CAMPAIGNS_PROBLEMS_OF_H

#include "coordinator/campaigns/request.h"
#include "coordinator/import/import.h"

/* Returns the imported problems with their multiplicities: GArray of struct plan_problem. */
GArray *problems_of_import(const Import *import);

/* Returns a network's problems with their multiplicities: GArray of struct plan_problem. NULL with
 * STORE_ERROR_NOT_FOUND if there is no such network, or it has no layers. */
GArray *problems_of_network(Store *store, const char *network, GError **error);

/* The problems of the request's one source. For a network, request->networks is set to the
 * version that was read. GArray of struct plan_problem; NULL and COORDINATOR_ERROR_USAGE when the
 * request names none or several sources, COORDINATOR_ERROR_EMPTY when the source holds none. */
GArray *problems_of_request(Store *store, struct request *request, GError **error);

#endif
