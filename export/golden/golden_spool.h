/*
 * The entries of the base version and of the campaign in a scratch database: each entry with the
 * gate's verdict on its best config, its kernels, and all its kept configs. Internal to the folder.
 */
#ifndef EXPORT_GOLDEN_GOLDEN_SPOOL_H
#define EXPORT_GOLDEN_GOLDEN_SPOOL_H

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

/* The results of one job, which all belong to one entry. `best` is the result of the lowest
 * rank. */
struct golden_job {
    const char *key; /* key of the entry, golden_entry_key(): problem and solver */
    const struct result *best;
    const GPtrArray *results; /* struct result * */
    /* true if all results were measured under the software stack that the campaign asks for */
    bool fits;
    /* true if measuring again has chosen `best`: it then becomes the first config, whatever its
     * rank */
    bool confirmed;
};
/* Adds a job's results to its entry. If they are better than what the entry had, the gate judges
 * the job's best result. */
bool golden_spool_add(struct golden_spool *spool, enum golden_side side, struct gate *gate,
                      const struct golden_job *job, GError **error);
/* Called once all jobs of a side are added. Where entries have different code objects of one name,
 * the first entry, ordered by problem and time, keeps it; the others no longer pass. */
bool golden_spool_settle(struct golden_spool *spool, enum golden_side side, GError **error);

/* An entry as one side has it. */
struct golden_entry {
    bool passes, fits, confirmed;
    enum refusal why; /* the reason if `passes` is false */
    double median_ms, spread;
};
struct golden_pair {
    int64_t id;      /* row number of the campaign's entry */
    const char *key; /* of both sides */
    struct golden_entry fresh, base;
    /* true if the base has this entry; if the base has any entry of this problem */
    bool has_base, has_problem;
};
/* Calls `judge` for each entry of the campaign, ordered by problem and time, and stores the finding
 * that `judge` returns. */
bool golden_spool_judge(struct golden_spool *spool,
                        enum golden_finding (*judge)(void *data, const struct golden_pair *pair),
                        void *data, GError **error);
/* Calls `refuse` for each entry of the campaign that the gate refused, until `refuse` returns
 * false. */
bool golden_spool_list_refused(struct golden_spool *spool,
                               bool (*refuse)(void *data, const struct export_refusal *refusal,
                                              GError **error),
                               void *data, GError **error);
/* Makes an entry of the campaign GOLDEN_UNCONFIRMED if it is faster, beyond the noise, than the
 * base's winner of its problem, which another solver has, unless both were already measured again.
 * Also adds the unconfirmed entries, and these winners, to the entries that have to be measured
 * again. */
bool golden_spool_doubt_winners(struct golden_spool *spool, double noise, double gain,
                                GError **error);
/* Passes all entries that have to be measured again to `dispute`, at most `piece` in a call, until
 * it returns false. *count becomes their number. */
bool golden_spool_list_disputes(struct golden_spool *spool, int piece,
                                bool (*dispute)(void *data, const struct golden_dispute *disputes,
                                                int count, GError **error),
                                void *data, int *count, GError **error);
/* Also takes the campaign's entries whose counterpart in the base loses its code object: an entry
 * that is taken has another code object of the same name. */
bool golden_spool_follow_names(struct golden_spool *spool, GError **error);
/* Adds the number of entries with each finding to counts[GOLDEN_FINDING_COUNT]. */
bool golden_spool_count(struct golden_spool *spool, int *counts, GError **error);

/* Passes all entries that are taken to `take`, ordered by job, at most `piece` in a call, until it
 * returns false. */
bool golden_spool_list_takes(struct golden_spool *spool, int piece,
                             bool (*take)(void *data, const struct golden_take *takes, int count,
                                          GError **error),
                             void *data, GError **error);

#endif
