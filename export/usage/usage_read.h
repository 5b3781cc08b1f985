/* Where usage takes networks and times from: lists, databases that libraries ship, campaigns and golden versions. */
#ifndef EXPORT_USAGE_USAGE_READ_H
#define EXPORT_USAGE_USAGE_READ_H

#include "coordinator/import/import.h"
#include "export/usage/usage.h"
#include "schema/store/store.h"

/* Adds the problems of a list as networks. `options` supply the values that the list leaves out.
 * Lines that cannot be used are named on stderr, the first few of a file. Returns false only if the
 * file as a whole cannot be read or has no usable problem (EXPORT_ERROR_EMPTY). */
bool usage_read_list(Usage *usage, const char *path, const struct import_options *options,
                     GError **error);
/* Adds the times of a find-db or a .sjdb; the content, not the name, says which it is. Lines and
 * problems that cannot be used are named on stderr, the first few of a file. EXPORT_ERROR_KIND for
 * a file without times. */
bool usage_read_db(Usage *usage, const char *path, GError **error);
/* Adds the times of the campaign's kept results. as_network: the problems of its jobs also become a
 * network with the campaign's name. */
bool usage_read_campaign(Usage *usage, Store *store, int64_t campaign, bool as_network,
                         GError **error);
/* Adds the times of a target's golden version; 0 means the newest approved one. as_network: its
 * problems also become a network. EXPORT_ERROR_EMPTY if the target has no such version. */
bool usage_read_golden(Usage *usage, Store *store, const char *target, int version, bool as_network,
                       GError **error);

#endif
