/*
 * The problems that a request names, whichever way: files, a tag, a network.
 */
#ifndef COORDINATOR_PROBLEMS_OF_H
#define COORDINATOR_PROBLEMS_OF_H

#include "coordinator/request.h"
#include "export/formats/import.h"

/* Reads files (NULL-terminated) through the importers. What cannot be used is named on stderr.
 * NULL when a file as a whole cannot be read. */
Import *problems_import(char *const *files, GError **error);

/* The import's problems with their multiplicities: GArray of struct plan_problem. */
GArray *problems_of_import(const Import *import);

/* Those of a network's layers, likewise; NULL and STORE_ERROR_NOT_FOUND where
 * there is no such network, or it has no layers. */
GArray *problems_of_network(Store *store, const char *network, GError **error);

/* The problems of the request's one source. GArray of struct plan_problem; NULL and
 * COORDINATOR_ERROR_USAGE when the request names none or several sources,
 * COORDINATOR_ERROR_EMPTY when the source holds none. */
GArray *problems_of_request(Store *store, const struct request *request, GError **error);

#endif
