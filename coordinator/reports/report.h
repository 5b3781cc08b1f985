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

/* One problem of the campaign. Times are in ms, and NAN if they were not measured. */
struct report_row {
    struct problem problem;
    int multiplicity;
    /* false if no config of any solver was verified, so the problem has no winner */
    bool won;
    char *solver, *config; /* the winner's solver and config; "" without a winner */
    double time_ms,
        spread; /* the winner's median time; its interquartile range, divided by the median */
    /* the winner won the problem's second measurement (schema/QUEUE.md); the interval of its median, in ms, 0 if it was
     * not measured a second time */
    bool second;
    double low_ms, high_ms;
    /* the winner's time of packing the filter once, and the packed filter's size; 0 if it packs none */
    double pack_ms;
    uint64_t packed_bytes;
    double own_default_ms; /* time of the default config of the winning solver */
    /* time of the best choice without tuning: default_solver with its default config */
    double default_ms;
    /* the solver with the highest estimate among those tried; NULL if this program has none of
     * them, or none applies under the campaign's limits */
    const char *default_solver;
    double naive_ms;
    double gflops; /* the problem's own operations divided by the winner's time */
    bool tuned;    /* true if the winner is not the default config of its solver */
    int64_t job;   /* id of the job that measured the winner */
    /* time of the default config at the end of the winner's round, divided by its time at the beginning; 0 if unknown
     * (schema/store/drift.h) */
    double drift;
    enum caches caches;          /* of that round */
    double verified_share;       /* of the winner, as in struct result */
    int proof_runs, proof_kinds; /* the same */
    int drifted_results;         /* number of kept results, of any solver, whose round drifted */
    struct device_use use; /* GPU time that all of the problem's jobs used; zeros if unknown */
    /* clocks and temperatures of the device during the winner's job; without samples if unknown */
    struct conditions conditions;
    GPtrArray *missing; /* struct missing_time *: filled in by report_explain(), NULL before */
};

/* A time that a row with a winner lacks: the default config of which solver it would be, and why it
 * is missing. */
struct missing_time {
    const char *solver;
    /* text of that default config; NULL if this program does not know it, or the solver has no
     * configs */
    char *config;
    char *reason;
};

struct report_totals {
    int problems, layers; /* number of distinct problems; of layers, which count multiplicity */
    int without_winner;
    /* number of problems that have all the times which the totals compare */
    int compared;
    /* sums over the compared problems, in ms, weighted by multiplicity; naive_ms may be NAN */
    double naive_ms, default_ms, tuned_ms;
    /* number of winners whose spread exceeds REPORT_WIDE_SPREAD */
    int wide;
    int second; /* number of winners of a second measurement */
    /* winners that pack their filter, once for each layer: their number, the time, and the bytes they keep */
    int packed;
    double pack_ms, packed_bytes;
    /* number of winners measured with one of the reasons for throttling in THROTTLE_MARKED */
    int throttled;
    int drifted;          /* number of winners whose round drifted */
    int verified_in_part; /* number of winners of whose results a part was compared */
    int briefly_proved;   /* number of winners that were proved by fewer than RESULT_PROOF_RUNS */
    /* number of kept results, of any solver, whose round drifted */
    int drifted_results;
    struct device_use use; /* GPU time that all jobs used */
    int used;              /* number of problems whose GPU time is known */
};

/* A spread (interquartile range divided by the median) above this hints at other work on the
 * device. */
#define REPORT_WIDE_SPREAD 0.1

/* Whether only a part of the winner's result was compared when it was verified. */
bool report_is_partial(const struct report_row *row);
/* Whether fewer runs of the winner were compared than a proof should. */
bool report_is_briefly_proved(const struct report_row *row);

struct report {
    struct campaign *campaign;
    /* struct report_row: problems without a winner come first, then those whose winners take most of the network's
     * time (time_ms times multiplicity) */
    GArray *rows;
    struct report_totals totals;
    int64_t outcomes[FAILURE_COUNT];
    struct progress progress;
    int reused;                 /* number of jobs that took over an earlier campaign's results */
    struct job_origins origins; /* why its jobs had to be tuned, and what they took over */
    struct enter_notes notes;
    Table *missing;             /* the table that report_missing() makes */
    struct report_built *built; /* the kernels of a build-only campaign; NULL for other campaigns */
    /* struct job_conditions: clocks and temperatures of each device, by report_add_devices() */
    GArray *devices;
};

/* The number of jobs whose results report_new() has in memory at a time: 10,000, with a few results and rejections each
 * about 40 MB. Tests make it small. */
extern int report_part_jobs;

/* Reads a campaign's results, some problems at a time, so memory grows with the number of rows, not
 * of jobs and results. STORE_ERROR_NOT_FOUND if there is no such campaign. */
struct report *report_new(Store *store, int64_t campaign, GError **error);
void report_free(struct report *report);

/* The rows from jobs (struct job_row *) and results (struct result *) alone: what report_new()
 * does with what it read. The campaign's target and limits say which solver is chosen untuned. GArray of
 * struct report_row. */
GArray *report_rows(const GPtrArray *jobs, const GPtrArray *results,
                    const struct campaign *campaign);
struct report_totals report_sum(const GArray *rows);

/* Finds the naive and default times that rows with a winner lack, and why: fills in `missing`.
 * rejections: struct config_outcome *. Solvers that the campaign did not try are left out. Does
 * nothing if this program does not know the campaign's target. */
void report_explain(GArray *rows, const GPtrArray *jobs, const GPtrArray *rejections,
                    const struct campaign *campaign);
/* Returns a table of the missing times that report_explain() found. Free with table_free(). */
Table *report_missing(const GArray *rows);

/* Sets the conditions of the rows that have a winner, from those of the winner's job (struct
 * job_conditions *). */
void report_take_conditions(GArray *rows, const GPtrArray *conditions);
/* Adds the conditions of jobs to those of their devices: `devices` is a GArray of struct
 * job_conditions, in the order of each device's first job. A device keeps its locked_mhz only if
 * all its jobs were measured at this clock. */
void report_add_devices(GArray *devices, const GPtrArray *conditions);
/* Prints clocks and temperatures of each device that reports them, and the winners that were
 * measured on a throttled device. */
void report_print_conditions(const struct report *report, FILE *out);
/* Returns an array with an object for each device. A new reference. */
json_t *report_conditions_json(const struct report *report);

/* Adds what jobs (struct job_row *) used of GPUs (struct job_device_use *) to their problems' rows. */
void report_take_use(GArray *rows, const GPtrArray *jobs, const GPtrArray *uses);
/* Prints the GPU time of all problems, the share of their evaluation in which the GPU had work, and the problem that
 * took most; nothing if no device reports it. */
void report_print_use(const struct report *report, FILE *out);
/* Returns the GPU times as JSON, or null. A new reference. */
json_t *report_use_json(const struct report *report);

/* Prints the whole report as text, at most table_width() columns wide. */
void report_print(const struct report *report, FILE *out);
/* Returns the report as a JSON object: campaign, problems, totals, outcomes, work. A new
 * reference. */
json_t *report_json(const struct report *report);

#endif
