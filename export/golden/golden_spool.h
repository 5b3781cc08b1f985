/*
 * The two sides of a proposal in a scratch database: the entries of the base and of the campaign,
 * each with the gate's verdict on its best config, its kernels, and all configs that were kept.
 * Internal to the folder.
 */
#ifndef EXPORT_GOLDEN_SPOOL_H
#define EXPORT_GOLDEN_SPOOL_H

#include "export/golden/golden.h"
#include "export/release/code_names.h"

enum golden_side { GOLDEN_BASE, GOLDEN_FRESH };
#define GOLDEN_SIDES 2

struct golden_spool {
    sqlite3 *db;
    struct code_names names[GOLDEN_SIDES];
    sqlite3_stmt *held, *add, *replace, *keep, *misfit, *judge, *refuse;
};

bool golden_spool_open(struct golden_spool *spool, const char *path, GError **error);
void golden_spool_close(struct golden_spool *spool);

/* The results of one job for one entry; `best` has the lowest rank. */
struct golden_job {
    const char *key; /* the entry's: a problem with a solver */
    const struct result *best;
    const GPtrArray *results; /* struct result * */
    bool fits;                /* all were measured under the wanted stack */
    bool
        confirmed; /* measuring again has chosen `best`, which becomes the first whatever its rank */
};
/* Adds a job to its entry. If the entry had nothing better, the gate judges the job's best result.
 * */
bool golden_spool_add(struct golden_spool *spool, enum golden_side side, struct gate *gate,
                      const struct golden_job *job, GError **error);
/* To be called when all jobs of a side are added. Where several entries have code objects of one
 * name, the first one, by problem and time, passes. */
bool golden_spool_settle(struct golden_spool *spool, enum golden_side side, GError **error);

/* One side of an entry. */
struct golden_entry {
    bool passes, fits, confirmed;
    enum refusal why; /* if it does not pass */
    double median_ms, spread;
};
struct golden_pair {
    int64_t id;      /* the campaign's entry */
    const char *key; /* of both sides */
    struct golden_entry fresh, base;
    bool has_base, has_problem; /* the base has the entry; has the problem, with any solver */
};
/* Calls `judge` for each entry of the campaign, by problem and time, and stores the finding that it
 * returns. */
bool golden_spool_judge(struct golden_spool *spool,
                        enum golden_finding (*judge)(void *data, const struct golden_pair *pair),
                        void *data, GError **error);
/* Calls `refuse` for each entry of the campaign that does not pass, until it returns false. */
bool golden_spool_list_refused(struct golden_spool *spool,
                               bool (*refuse)(void *data, const struct export_refusal *refusal,
                                              GError **error),
                               void *data, GError **error);
/* Makes an entry of the campaign unconfirmed if it would take its problem from the base's winner,
 * being faster beyond the noise, and one of the two was not measured again. */
bool golden_spool_doubt_winners(struct golden_spool *spool, double noise, double gain,
                                GError **error);
/* Calls `dispute` with up to `piece` entries at a time that have to be measured again, until it
 * returns false. *count becomes the number of all. */
bool golden_spool_list_disputes(struct golden_spool *spool, int piece,
                                bool (*dispute)(void *data, const struct golden_dispute *disputes,
                                                int count, GError **error),
                                void *data, int *count, GError **error);
/* Also takes the entries whose base has a code object with the name of one that is taken. */
bool golden_spool_follow_names(struct golden_spool *spool, GError **error);
/* Counts the entries by finding into counts[GOLDEN_FINDING_COUNT]. */
bool golden_spool_count(struct golden_spool *spool, int *counts, GError **error);

/* Calls `take` with up to `piece` taken entries at a time, in the order of jobs, until it returns
 * false. */
bool golden_spool_list_takes(struct golden_spool *spool, int piece,
                             bool (*take)(void *data, const struct golden_take *takes, int count,
                                          GError **error),
                             void *data, GError **error);

#endif
