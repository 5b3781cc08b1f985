/*
 * Regressions of a night: which results of a target are slower, or faster, than those of a golden version and of the
 * last night, by more than noise explains. REGRESSIONS.md has the statistics and their sources.
 *
 * The way of a night:
 *
 *     judged      regressions_judge(): every result measured tonight is tested; suspects are found
 *     measured    regressions_wishes() says what to measure again and where; the caller does it, and hands in each
 *     again       second measurement by regressions_add_again()
 *     judged      regressions_judge_again(): suspects are confirmed or dropped. Receivers get only these.
 *     again
 *
 * Between the steps the state is JSON (regressions_to_json()), which the caller stores: a process that was killed
 * goes on from it. These functions open no database.
 */
#ifndef COORDINATOR_NIGHTS_JUDGE_REGRESSIONS_H
#define COORDINATOR_NIGHTS_JUDGE_REGRESSIONS_H

#include "coordinator/nights/judge/causes.h"

#include <jansson.h>

/* ---- what is judged ---- */

/* A solver's best config for a problem, over nights. */
struct regression_entry {
    char *solver;
    /* struct regression_point, the newest first: the entry's earlier points, up to REGRESSION_NIGHTS of them. One is
     * enough for an entry that was not measured tonight. */
    GArray *earlier;
    struct regression_point now;    /* tonight's; valid if has_now */
    struct regression_point golden; /* row of the golden version; valid if has_golden */
    bool has_now, has_golden;
};
/* Points of an entry's past that are used. */
#define REGRESSION_NIGHTS 8

/* A network that has the problem. */
struct regression_use {
    char *network;    /* "resnet50@2" */
    int multiplicity; /* how often the problem occurs in it */
    double runs; /* how often the network is run, a weight; 1 if the night's file says nothing */
};

/* A problem with all its entries, also those that nobody measured tonight: a problem's time is that of its fastest
 * entry, and a network's time the sum of its problems'. */
struct regression_problem {
    int64_t id;
    char *key;       /* as lists show it */
    GArray *entries; /* struct regression_entry */
    GArray *uses;    /* struct regression_use */
};
struct regression_problem *regression_problem_new(int64_t id, const char *key);
void regression_problem_free(struct regression_problem *problem);
/* Adds an empty entry and returns it; valid until the next call. */
struct regression_entry *regression_problem_add(struct regression_problem *problem,
                                                const char *solver);
void regression_problem_use(struct regression_problem *problem, const char *network,
                            int multiplicity, double runs);

struct regression_limits {
    double percent; /* least effect: changes below it are not reported */
    double alpha;   /* share of false findings among those reported (false discovery rate) */
    int most;       /* most entries to measure again: those that cost networks most; 0 for all */
    int nodes;      /* nodes that measure a suspect again: 1 the same, 2 another one too, 0 none */
};
#define REGRESSION_LIMITS                                                                          \
    (struct regression_limits)                                                                     \
    {                                                                                              \
        .percent = 3, .alpha = 0.05, .most = 500, .nodes = 2                                       \
    }

/* ---- findings ---- */

enum regression_against { REGRESSION_GOLDEN, REGRESSION_LAST_NIGHT, REGRESSION_AGAINST_COUNT };
enum regression_scope {
    REGRESSION_ENTRY,  /* the same solver, then and now */
    REGRESSION_WINNER, /* the problem's fastest solver, then and now, where they differ */
};
enum regression_kind { REGRESSION_SLOWER, REGRESSION_FASTER, REGRESSION_FAILED };

/* A finding's state. Moves: suspect -> each other one. */
enum regression_state {
    REGRESSION_SUSPECT,     /* found once */
    REGRESSION_CONFIRMED,   /* found again (a failure: it failed again) */
    REGRESSION_GONE,        /* the second measurement does not show it: noise */
    REGRESSION_OF_NODE,     /* only one node shows it: the node's trouble, no regression */
    REGRESSION_UNCONFIRMED, /* not measured again: no worker, no time, or beyond `most` */
    REGRESSION_STATE_COUNT
};
const char *regression_against_name(enum regression_against against);
const char *regression_kind_name(enum regression_kind kind);
const char *regression_state_name(enum regression_state state);

struct regression_network_effect {
    char *network;
    double runs;
    double ms;      /* by how much one pass of the network gets slower; below 0: faster */
    double percent; /* the same, of the network's time before */
    bool lost;      /* no solver is left for the problem; ms is then its time before */
};

struct regression_finding {
    int64_t problem_id;
    char *key, *solver;
    enum regression_against against;
    enum regression_scope scope;
    enum regression_kind kind;
    enum regression_state state;
    /* The time now / the time then, in percent: +5 is slower. Both use all measurements. */
    double percent;
    double low, high; /* interval of `percent`, 95 % */
    double p;         /* p-value of the test */
    double q;         /* adjusted for all tests of the night (Benjamini and Hochberg) */
    struct regression_point now, then;
    double then_ms; /* the reference: the median over the unchanged nights that end with `then` */
    int then_nights;
    /* Standard deviations of one night's measurement, of the logarithm: of those behind then_ms, and of tonight's. */
    double then_error, now_error;
    GArray *again; /* struct regression_point: second measurements, of either config */
    GArray *
        networks; /* struct regression_network_effect, the largest first; empty if no network's time changes */
    double weight;  /* sum of runs * ms over the networks: findings are ordered by it */
    GArray *causes; /* struct regression_cause_found */
};

/* A node whose results of the night are slower, or faster, than noise explains. */
struct regression_node {
    char *node;
    double percent; /* median change of its unchanged results */
    int results;
    bool is_slow;
};

/* The noise of the farm, as nights in which nothing changed show it. */
struct regression_noise {
    double night_error; /* spread between two nights of the same entry, of the logarithm */
    int pairs;          /* pairs of nights behind it */
    int farm_nights;    /* nights of an entry's own that weigh as much as the farm's spread */
    double scale,
        freedom; /* the tests' null distribution: scale times Student's t with so many degrees */
};

struct regressions {
    char *target;
    int golden; /* the version compared with, 0 for none */
    struct regression_limits limits;
    struct regression_noise noise;
    int tests;           /* tests of the night */
    int entries;         /* entries measured tonight */
    GPtrArray *findings; /* struct regression_finding *, the heaviest first, by kind */
    GPtrArray *nodes;    /* struct regression_node * */
    bool judged_again;
};
typedef struct regressions Regressions;

/* Tests what was measured tonight. problems: struct regression_problem *. golden: 0 if there is no such version.
 * Returns the findings, all of them suspects; free with regressions_free(). */
Regressions *regressions_judge(const char *target, int golden, const GPtrArray *problems,
                               const struct regression_limits *limits);
/* An empty result, and a new finding in it that the caller fills. */
Regressions *regressions_new(const char *target);
struct regression_finding *regressions_add_finding(Regressions *regressions);
void regressions_free(Regressions *regressions);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Regressions, regressions_free)

/* ---- measuring again ---- */

/* An entry to measure again: each config in one round, so that they are measured beside each other; once on `node`,
 * and once on another node if `elsewhere` and there is one. */
struct regression_wish {
    int64_t problem_id;
    const char *solver;
    /* The campaign that has the config, of the night's measurement. */
    int64_t campaign;
    GPtrArray *
        configs; /* const char *: tonight's, and the reference's if it is another one of the same solver */
    const char *node;
    bool elsewhere;
};
/* Returns one struct regression_wish * for each problem and solver among the suspects, the heaviest first, at most
 * limits.most. Texts belong to the findings. */
GPtrArray *regressions_wishes(const Regressions *regressions);

/* Hands in a second measurement (also a failed one) of a config of the wish, with its node. It is copied. Returns the
 * number of findings that it belongs to. The same measurement (node, night, config, campaign and time) counts once. */
int regressions_add_again(Regressions *regressions, int64_t problem_id, const char *solver,
                          const struct regression_point *point);

/* Judges every suspect with its second measurements. Those without any become REGRESSION_UNCONFIRMED. */
void regressions_judge_again(Regressions *regressions);

/* ---- results ---- */

/* The state as JSON, a new reference; regressions_from_json() reads it. The report has the same members
 * (REGRESSIONS.md). */
json_t *regressions_to_json(const Regressions *regressions);
Regressions *regressions_from_json(const json_t *json, GError **error);

/* Whether the finding waits for a second measurement: it is neither confirmed nor refuted. */
bool regression_is_open(const struct regression_finding *finding);
/* Findings of a kind and state. */
int regressions_count(const Regressions *regressions, enum regression_kind kind,
                      enum regression_state state);
/* Whether the night's exit status is 1: a confirmed slow-down or failure. */
bool regressions_are_bad(const Regressions *regressions);

#endif
