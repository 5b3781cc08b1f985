/*
 * How a campaign's search chooses the configs that it measures: the one list of strategies. The command
 * line parses `--strategy` by it and prints its help from it; solvers/search has a function for each row.
 * Campaigns and jobs keep a strategy as its name.
 */
#ifndef SOLVERS_FRAMEWORK_STRATEGY_H
#define SOLVERS_FRAMEWORK_STRATEGY_H

#define STRATEGY_PRIOR      "prior"
#define STRATEGY_EXHAUSTIVE "exhaustive"

/* The list of strategies, the default first: ROW(enum constant, name, summary). */
#define STRATEGIES(ROW)                                                                            \
    ROW(SEARCH_PRIOR, STRATEGY_PRIOR, "what won for the nearest problems and targets, then model") \
    ROW(SEARCH_MODEL, "model", "where a model of the times expects to gain most")                  \
    ROW(SEARCH_LOCAL, "local", "climbs from several starts")                                       \
    ROW(SEARCH_ANNEALING, "annealing",                                                             \
        "simulated annealing: moves, less and less, to slower configs")                            \
    ROW(SEARCH_GENETIC, "genetic", "mixes the values of the fastest configs")                      \
    ROW(SEARCH_RANDOM, "random", "draws evenly from the space")                                    \
    ROW(SEARCH_EXHAUSTIVE, STRATEGY_EXHAUSTIVE, "takes the whole space in order")

enum strategy_id {
#define STRATEGY_ID(id, name, summary) id,
    STRATEGIES(STRATEGY_ID)
#undef STRATEGY_ID
        STRATEGY_COUNT,
};

struct strategy {
    const char *name;
    /* what the strategy does: a phrase without a full stop, for the command's help */
    const char *summary;
};
/* the strategies, indexed by enum strategy_id */
extern const struct strategy strategy_table[STRATEGY_COUNT];

/* The strategy's enum strategy_id, or -1 for an unknown name. */
int strategy_find(const char *name);

#endif
