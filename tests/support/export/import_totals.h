/* Compares the totals of an import with the expected ones. */
#ifndef TESTS_SUPPORT_EXPORT_IMPORT_TOTALS_H
#define TESTS_SUPPORT_EXPORT_IMPORT_TOTALS_H

#include "coordinator/import/import.h"

void import_has_totals(const Import *import, int64_t lines, int64_t convolutions, int shapes,
                       int problems, guint skipped);
/* Asserts multiplicity and key of the import's problem at `index`. */
void import_has_entry(const Import *import, int index, int64_t multiplicity, const char *key);

#endif
