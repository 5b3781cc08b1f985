/*
 * The problems that a request names, whichever way: files, a tag, a network.
 */
#ifndef COORDINATOR_PROBLEMS_OF_H
#define COORDINATOR_PROBLEMS_OF_H

#include "coordinator/import/import.h"
#include "coordinator/request.h"

/* Reads a command's words on its lists; COORDINATOR_ERROR_USAGE names the one that is wrong. */
bool list_options(const struct import_words *words, struct import_options *options, GError **error);

/* Reads files (NULL-terminated) through the importers. Lines that cannot be used are named on stderr.
 * NULL when a file as a whole cannot be read. */
Import *problems_import(char *const *files, const struct import_words *words, GError **error);

/* Says on stderr in how many lines the options replaced what the line says itself, where any did. */
void problems_say_replaced(const Import *import);
/* Says on stderr which networks have the layers of several files: files of one name in two folders are one
 * network. */
void problems_say_joined(const Import *import);
/* Says on stderr how many problems have a bias in their keys, where any have: MIOpen looks up no such key for
 * a layer of PyTorch or Keras. */
void problems_say_biased(const Import *import);

/* The import's problems with their multiplicities: GArray of struct plan_problem. */
GArray *problems_of_import(const Import *import);

/* Those of a network's layers, likewise; NULL and STORE_ERROR_NOT_FOUND where
 * there is no such network, or it has no layers. */
GArray *problems_of_network(Store *store, const char *network, GError **error);

/* The problems of the request's one source; of a network the request remembers which version was read.
 * GArray of struct plan_problem; NULL and
 * COORDINATOR_ERROR_USAGE when the request names none or several sources,
 * COORDINATOR_ERROR_EMPTY when the source holds none. */
GArray *problems_of_request(Store *store, struct request *request, GError **error);

#endif
