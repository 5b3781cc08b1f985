/*
 * A campaign's results, problem by problem and for the whole network.
 *
 * Three times, all measured in this campaign, are compared:
 *   naive      PLAN_NAIVE_SOLVER's;
 *   default    the best choice without tuning: the solver with the highest
 *              estimate() of those that the campaign tried, with its default
 *              config; unknown where that config was rejected;
 *   tuned      the fastest verified config of any solver.
 * The speed-up of a row and of the totals is that of tuned over default. A row
 * also has the time of the winning solver's own default config, which may be
 * another solver's than the default: the JSON calls it own_default_ms. Totals are weighted by multiplicity and
 * run over the problems that have all three times, so that they compare; where
 * the campaign has no naive time at all, over those that have the other two.
 * A missing time is never replaced by another one: the report names it with the reason.
 */
#ifndef COORDINATOR_REPORTS_REPORT_H
#define COORDINATOR_REPORTS_REPORT_H

#include "coordinator/campaigns/enter.h"
#include "coordinator/cli/table.h"
#include "coordinator/reports/report_built.h"
#include "schema/results/conditions.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"

/* Times are NAN where they were not measured. */
struct report_row {
    struct problem problem;
    int multiplicity;
    bool won;              /* false: no config of any solver was verified */
    char *solver, *config; /* the winner's; "" without one */
    double time_ms, spread;
    double own_default_ms;      /* the winning solver's default config */
    double default_ms;          /* the best choice without tuning ... */
    const char *default_solver; /* ... by that solver; NULL when this program carries none */
    double naive_ms;
    double gflops;         /* the problem's own operations over the winner's time */
    bool tuned;            /* the winner is not its solver's default config */
    int64_t job;           /* the winner's */
    double drift;          /* of the round that measured the winner (schema/store/drift.h) */
    int drifted_results;   /* kept results of any solver whose round drifted */
    struct device_use use; /* of GPUs, by all of the problem's jobs; zeros where none is known */
    struct conditions
        conditions;     /* of its device over that job's rounds; without samples where none
                                     are known */
    GPtrArray *missing; /* struct missing_time *, as report_explain() found them; NULL before */
};

/* A missing time of a row that has a winner: the solver whose default config it would be, and the
 * reason. */
struct missing_time {
    const char *solver;
    char *config; /* NULL where it is not known here, or has no values */
    char *reason;
};

struct report_totals {
    int problems, layers; /* distinct, and with multiplicity */
    int without_winner;
    int compared;                          /* problems that have all the times */
    double naive_ms, default_ms, tuned_ms; /* over those, weighted by multiplicity; naive may be
                                              NAN */
    int wide;                              /* winners whose spread exceeds REPORT_WIDE_SPREAD */
    int throttled;                         /* winners with one of THROTTLE_MARKED */
    int drifted;                           /* winners whose round drifted ... */
    int drifted_results;                   /* ... and kept results of any solver */
    struct device_use use;                 /* of GPUs, by all jobs ... */
    int used;                              /* ... of so many problems */
};

/* An interquartile range of more than this part of the median: other work ran beside it. */
#define REPORT_WIDE_SPREAD 0.1

struct report {
    struct campaign *campaign;
    GArray *rows; /* struct report_row, by the weight of their time in the network */
    struct report_totals totals;
    int64_t outcomes[FAILURE_COUNT];
    struct progress progress;
    int reused;                 /* jobs whose results are an earlier campaign's */
    struct job_origins origins; /* what its jobs took over */
    struct enter_notes notes;
    Table *missing;             /* as report_missing() gives it */
    struct report_built *built; /* of a build-only campaign, else NULL */
    GArray *devices;            /* as report_add_devices() gives it */
};

/* Reads a campaign's results, by parts of its problems: what it takes of memory grows with the rows, not with
 * the jobs and results behind them. STORE_ERROR_NOT_FOUND when there is no such campaign. */
struct report *report_new(Store *store, int64_t campaign, GError **error);
void report_free(struct report *report);

/* The rows from jobs (struct job_row *) and results (struct result *) alone: what report_new()
 * does with what it read. The campaign's target and limits say which solver is chosen untuned. GArray of
 * struct report_row. */
GArray *report_rows(const GPtrArray *jobs, const GPtrArray *results,
                    const struct campaign *campaign);
struct report_totals report_sum(const GArray *rows);

/* Says of the won rows which naive and default times they lack: solver, its default config, and why.
 * rejections: struct config_outcome *. Solvers that the campaign did not try are left out. */
void report_explain(GArray *rows, const GPtrArray *jobs, const GPtrArray *rejections,
                    const struct campaign *campaign);
/* The missing times that report_explain() found, one row each. Free with table_free(). */
Table *report_missing(const GArray *rows);

/* Gives the won rows the conditions of their winners' jobs (struct job_conditions *). */
void report_take_conditions(GArray *rows, const GPtrArray *conditions);
/* Adds jobs' conditions to those of their devices: struct job_conditions, in the order of the first job on each.
 * Its locked_mhz stays where all was measured so. */
void report_add_devices(GArray *devices, const GPtrArray *conditions);
/* Prints clocks and temperatures of each device that reports them, and the winners that were
 * measured on a throttled device. */
void report_print_conditions(const struct report *report, FILE *out);
/* An array with an object a device. A new reference. */
json_t *report_conditions_json(const struct report *report);

/* Adds what jobs (struct job_row *) used of GPUs (struct job_device_use *) to their problems' rows. */
void report_take_use(GArray *rows, const GPtrArray *jobs, const GPtrArray *uses);
/* Prints the GPU time of each problem, and the share of its evaluation in which the GPU had work;
 * nothing where devices do not report it. */
void report_print_use(const struct report *report, FILE *out);
/* The same, or null. A new reference. */
json_t *report_use_json(const struct report *report);

/* All of it, for people; fits table_width(). */
void report_print(const struct report *report, FILE *out);
/* The same as an object: campaign, problems, totals, outcomes, work. A new reference. */
json_t *report_json(const struct report *report);

#endif
