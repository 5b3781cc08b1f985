/* The tables of `skipjack status`. Each is freed with table_free(). */
#ifndef COORDINATOR_REPORTS_FARM_TABLES_H
#define COORDINATOR_REPORTS_FARM_TABLES_H

#include "coordinator/cli/table.h"
#include "schema/farm/farm.h"

Table *
farm_campaigns(const struct farm_state *farm);   /* active and paused ones, with their forecast */
Table *farm_jobs(const struct farm_state *farm); /* their jobs by state */
Table *
farm_failures(const struct farm_state *farm); /* jobs of these, and configs of running workers */
Table *farm_workers(const struct farm_state *farm);
Table *farm_devices(const struct farm_state *farm);
Table *farm_refusals(const struct farm_state *farm);
Table *farm_rates(const struct farm_state *farm);
/* Quarantined configs, workers that failed or are lost, trouble with stores of code. */
Table *farm_out_of_service(const struct farm_state *farm);
/* Database sessions that block others, and how to end them. */
Table *farm_blockers(const struct farm_state *farm);
Table *farm_database(const struct farm_state *farm);

/* The longest of the campaigns' forecasts; NAN when no campaign has a forecast. */
double farm_eta(const struct farm_state *farm);

#endif
