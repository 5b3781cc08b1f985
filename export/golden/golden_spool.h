/*
 * What a proposal compares, in a scratch database: the entries of the base and of the campaign, each with what
 * the gate says of its best config, its kernels, and all configs that were kept of it. Internal to the room.
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

/* The results of one job that belong to one entry; best is of the lowest rank. */
struct golden_job {
    const char *key; /* of the entry: a problem with a solver */
    const struct result *best;
    const GPtrArray *results; /* struct result * */
    bool fits;                /* all of them have the stack that is wanted */
    bool
        confirmed; /* best is what measuring again has chosen, of whatever rank: it becomes the first */
};
/* Adds it to its entry; asks the gate for the best one where the entry has none that is better. */
bool golden_spool_add(struct golden_spool *spool, enum golden_side side, struct gate *gate,
                      const struct golden_job *job, GError **error);
/* When all of a side are added. Of entries whose code objects have one name the first one, by problem and
 * time, passes. */
bool golden_spool_settle(struct golden_spool *spool, enum golden_side side, GError **error);

/* One side's entry; of the other one, where it has that key too, the rest. */
struct golden_entry {
    bool passes, fits, confirmed;
    enum refusal why; /* where it does not pass */
    double median_ms, spread;
};
struct golden_pair {
    int64_t id;      /* of the campaign's entry */
    const char *key; /* of both */
    struct golden_entry fresh, base;
    bool has_base, has_problem; /* the base knows the entry; the problem, with any solver */
};
/* Calls back for each of the campaign's entries, by problem and time; what it returns is found of it. */
bool golden_spool_judge(struct golden_spool *spool,
                        enum golden_finding (*judge)(void *data, const struct golden_pair *pair),
                        void *data, GError **error);
/* Calls back for those of the campaign that do not pass, until it returns false. */
bool golden_spool_list_refused(struct golden_spool *spool,
                               bool (*refuse)(void *data, const struct export_refusal *refusal,
                                              GError **error),
                               void *data, GError **error);
/* Where an entry of the campaign would take the problem from the base's winner, being faster beyond the noise, and one
 * of both was not measured again: it is unconfirmed. */
bool golden_spool_doubt_winners(struct golden_spool *spool, double noise, double gain,
                                GError **error);
/* Calls back with pieces of the entries that have to be measured again, until it returns false. *count: of all. */
bool golden_spool_list_disputes(struct golden_spool *spool, int piece,
                                bool (*dispute)(void *data, const struct golden_dispute *disputes,
                                                int count, GError **error),
                                void *data, int *count, GError **error);
/* Takes also those whose entry in the base has a kernel of the name of another one that is taken. */
bool golden_spool_follow_names(struct golden_spool *spool, GError **error);
/* counts[GOLDEN_FINDING_COUNT]. */
bool golden_spool_count(struct golden_spool *spool, int *counts, GError **error);

/* Calls back with pieces of what is taken, in the order of jobs, until it returns false. */
bool golden_spool_list_takes(struct golden_spool *spool, int piece,
                             bool (*take)(void *data, const struct golden_take *takes, int count,
                                          GError **error),
                             void *data, GError **error);

#endif
