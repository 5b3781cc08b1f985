/*
 * Problems from the files that a command names, with notices on standard error about what was read.
 */
#ifndef COORDINATOR_IMPORT_PROBLEMS_IMPORT_H
#define COORDINATOR_IMPORT_PROBLEMS_IMPORT_H

#include "coordinator/import/import.h"

/* Parses the options on lists (--batch, --dtype, --layout, ...). Sets COORDINATOR_ERROR_USAGE,
 * naming the wrong one. */
bool list_options(const struct import_words *words, struct import_options *options, GError **error);

/* Reads files (NULL-terminated) through the importers. The first lines that cannot be used are named on
 * stderr, the others counted. Returns NULL if an option is wrong, or a file as a whole cannot be read. */
Import *problems_import(char *const *files, const struct import_words *words, GError **error);
/* The same for bytes that came from elsewhere; messages call them `name`. */
Import *problems_import_bytes(const char *name, GBytes *bytes, const struct import_words *words,
                              GError **error);

/* Prints notices on stderr: how many lines had a value that an option replaced; networks with the layers of several
 * files (files of one name in two folders are one network); and how many problems have a bias in their keys, since
 * MIOpen looks up no such key for a layer of PyTorch or Keras. */
void problems_say_notes(const Import *import);

#endif
