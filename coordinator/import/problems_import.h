/*
 * Problems from the files that a command names, with notices on standard error about what was read.
 */
#ifndef COORDINATOR_IMPORT_PROBLEMS_IMPORT_H
#define COORDINATOR_IMPORT_PROBLEMS_IMPORT_H

#include "coordinator/import/import.h"

/* Parses the options on lists (--batch, --dtype, --layout, ...). Sets COORDINATOR_ERROR_USAGE,
 * naming the wrong one. */
bool list_options(const struct import_words *words, struct import_options *options, GError **error);

/* Reads files (NULL-terminated) through the importers. Lines that cannot be used are named on stderr.
 * NULL when a file as a whole cannot be read. */
Import *problems_import(char *const *files, const struct import_words *words, GError **error);

/* Prints on stderr in how many lines an option replaced the line's own value; prints nothing for
 * 0. */
void problems_say_replaced(const Import *import);
/* Says on stderr which networks have the layers of several files: files of one name in two folders are one
 * network. */
void problems_say_joined(const Import *import);
/* Prints on stderr how many problems have a bias in their keys, if any: MIOpen looks up no such
 * key for a layer of PyTorch or Keras. */
void problems_say_biased(const Import *import);

#endif
