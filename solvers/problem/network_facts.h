/*
 * Facts of a network beside its layers: the framework it comes from, its model and version there, the batch
 * size that its layers are for, where its layers are published, and how often it is run.
 */
#ifndef SOLVERS_PROBLEM_NETWORK_FACTS_H
#define SOLVERS_PROBLEM_NETWORK_FACTS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* The facts that people state. */
enum network_fact {
    FACT_FRAMEWORK,
    FACT_MODEL,
    FACT_VERSION, /* of the model or its framework */
    FACT_SOURCE,  /* where the layers are published */
    FACT_RUNS,    /* how often the network is run, on any scale that all networks share */
    FACT_COUNT,
};

#define NETWORK_FACT_BYTES_MAX 1000 /* longest text of a fact, in bytes */

/* Texts are owned and NULL where unknown. */
struct network_facts {
    char *texts[FACT_COUNT]; /* FACT_RUNS: a positive number in the C locale's form */
    int64_t batch;           /* follows from the layers; 0: unknown, or several sizes */
};

/* "framework", "model", "version", "source", "runs" */
const char *network_fact_name(enum network_fact fact);
/* Returns false if no fact is called so. */
bool network_fact_from_name(const char *name, enum network_fact *fact);
/* The names of all facts, joined by ", ". Free with g_free(). */
char *network_fact_names(void);

/* Returns false and the reason in *error (G_CONVERT_ERROR) if the text cannot be this fact: an empty or too long
 * text, one that is not UTF-8 or has control characters, or runs that are no positive number. */
bool network_fact_check(enum network_fact fact, const char *text, GError **error);

/* Takes over the facts of `more` that `facts` has not. */
void network_facts_add(struct network_facts *facts, const struct network_facts *more);
/* How often the network is run; 0 where this is unknown. */
double network_facts_runs(const struct network_facts *facts);
/* True if nothing is known. */
bool network_facts_empty(const struct network_facts *facts);
/* Frees the texts. */
void network_facts_clear(struct network_facts *facts);

#endif
