/* The manifest of a campaign's export (formats/manifest.h). Internal to release and golden. */
#ifndef EXPORT_RELEASE_EXPORT_MANIFEST_H
#define EXPORT_RELEASE_EXPORT_MANIFEST_H

#include "export/release/export.h"
#include "export/release/export_spool.h"

/* Adds the members complete, jobs, jobs_ended, jobs_untried and without_winner to `object`; if `named`, also
 * problems_without_winner, the keys. */
void export_add_completeness(json_t *object, const struct completeness *completeness, bool named);
/* Returns the member "part", a new reference: the options of the wish that say which results were
 * asked for. */
json_t *export_part_json(const struct export_wish *wish);
/* Writes the manifest TARGET.export.json to `path`. results: the checksum of export_spool_sum(). summary: how complete
 * the campaign was, what was verified in part, and
 * by how many runs results were proved.
 * Takes over the reference to `files`, the member of that name. */
bool export_manifest_write(const struct target *target, const char *campaign, const char *results,
                           const struct export_wish *wish, const struct export_summary *summary,
                           json_t *files, const char *path, GError **error);
/* Adds the member "second_measurements" to the manifest at `path`, the last one: an array of the chosen winners of
 * second measurements, with problem, solver, config, time_ms, low_ms and high_ms. There may be many, so they are
 * written one by one. */
bool export_manifest_add_finals(const char *path, struct export_spool *spool, GError **error);

#endif
