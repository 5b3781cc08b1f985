/*
 * The functions of the strategies. A strategy is one function, which adds configs to a proposal. It reads the search's
 * setup and the tries so far and keeps nothing, so it cannot depend on what a process remembers. A strategy that moves
 * from try to try, as annealing does, goes through the tries again. A new one is a function here, a row in searcher.c
 * and a row in solvers/framework/strategy.h.
 *
 * A function may stop early only if the proposal is full, or holds every config of the space that was not tried.
 */
#ifndef SOLVERS_SEARCH_STRATEGY_ROWS_H
#define SOLVERS_SEARCH_STRATEGY_ROWS_H

#include "solvers/search/searcher.h"

/* A proposal while it is made. Strategies read all fields, and change them by proposal_take() alone. */
struct proposal {
    const struct search_space *space; /* never NULL for a strategy */
    uint64_t seed;
    const GArray *tries; /* struct tried_config: each config once, in the order of the first try */
    const GArray *prior; /* struct perf_config */
    const GArray *hints; /* struct tried_config: searcher_hint(), each config once */
    int counted;         /* tries that count for the budget of tries */
    int tries_limit;     /* the budget of tries, 0 for none */
    int wanted;          /* how many more configs are wanted */
    GArray *configs;     /* struct perf_config: those taken so far */
    GHashTable *places;  /* of each try in `tries`: struct perf_config * -> index */
    GHashTable *taken;   /* set of struct perf_config *: the configs taken so far */
};

/* Takes the config, which the space must contain, if it is new and one more is wanted. */
bool proposal_take(struct proposal *proposal, const struct perf_config *config);
/* Whether the config was tried or taken. */
bool proposal_knows(const struct proposal *proposal, const struct perf_config *config);
/* The try of this config, NULL for one that was not tried. */
const struct tried_config *proposal_try(const struct proposal *proposal,
                                        const struct perf_config *config);
/* Those of the tries (struct tried_config) that succeeded, struct tried_config *, fastest first; equal times in the order
 * of the tries. */
GArray *order_of(const GArray *tries);
/* The same of the proposal's tries. */
GArray *proposal_order(const struct proposal *proposal);
/* How many tries and taken configs there are that count for the budget of tries. */
int proposal_count(const struct proposal *proposal);

/* The next number of a sequence, from 0 to below 1. */
double search_uniform(uint64_t *state);
/* The config's place in a random order that the seed decides: configs by ascending rank are a uniform draw. */
uint64_t config_rank(uint64_t seed, const struct perf_config *config);
/* Takes up to `most` of the configs (struct perf_config), in the order of their ranks. */
void proposal_take_ranked(struct proposal *proposal, const GArray *configs, int most);

void propose_in_order(struct proposal *proposal);
void propose_at_random(struct proposal *proposal);
/* Takes up to `most` configs drawn evenly from those of the space that are new. */
void propose_drawn(struct proposal *proposal, int most);
/* Appends up to `most` configs drawn evenly from those of the space that are new, in the order of their ranks by this
 * seed. They are not taken. */
void draw_configs(const struct proposal *proposal, uint64_t seed, int most, GArray *configs);
void propose_locally(struct proposal *proposal);
void propose_by_model(struct proposal *proposal);
/* The same without the draws that it begins with, for a search that knows something already. */
void propose_modelled(struct proposal *proposal);
void propose_from_prior(struct proposal *proposal);
void propose_annealing(struct proposal *proposal);
void propose_genetic(struct proposal *proposal);

#endif
