/*
 * The cost of kernels that serve all shapes, and the builds that they save. A solver has one of
 * three forms: static (the whole shape is compiled in), dynamic (one binary for all shapes; the
 * naive solver is one of them), or partly specialised (its FIX_ parameters choose what is
 * compiled in). A network can be served by one form alone, or by a mixture, and each such policy
 * is added up here: distinct kernels, their bytes, what compiling them takes, and the network's
 * time.
 *
 * Pure: everything is computed from results, outcomes and kernels that were read before.
 */
#ifndef COORDINATOR_DYNAMISM_DYNAMISM_H
#define COORDINATOR_DYNAMISM_DYNAMISM_H

#include "schema/results/store_results.h"
#include "solvers/framework/solver.h"

enum dynamism_form { DYNAMISM_STATIC, DYNAMISM_DYNAMIC, DYNAMISM_PARTIAL };
#define DYNAMISM_FORMS (DYNAMISM_PARTIAL + 1)

/* The first policies are those of one form, under its number. */
#define DYNAMISM_MIXED    DYNAMISM_FORMS
#define DYNAMISM_POLICIES (DYNAMISM_MIXED + 1)

/* "static", "dynamic", "partial", "mixed". */
const char *dynamism_policy_name(int policy);

/* The form of a solver. For a solver that this program does not carry (NULL), `dynamic` is the
 * database's value. */
enum dynamism_form dynamism_form(const struct solver *solver, bool stored_dynamic);

struct dynamism_limits {
    double within;        /* 0.1: times are close that differ by at most this part */
    double compile_share; /* 0.3333: a form is cheap that compiles in this part of the time */
};

/* The measurements of one target. */
struct dynamism_data {
    const GPtrArray *results;  /* struct result *, of any number of campaigns */
    const GPtrArray *outcomes; /* struct config_outcome *, likewise */
    GHashTable *kernels;       /* key -> struct kernel_cost * */
    const struct solver *(*find)(const char *name); /* solver_find() */
};

/* ---- policies ---- */

/* A problem's fastest config of one form. */
struct dynamism_candidate {
    const struct result *result; /* NULL where no config of the form was verified */
    double time_ms;
    double compile_seconds; /* of its kernels; NAN where the database does not know one */
};

/*
 * Returns the form that the mixture takes for a problem, or -1 when no form was measured. The
 * dynamic form is taken when its time is close to the fastest form's. Otherwise the fastest form
 * is taken, unless forms with times close to it compile in at most compile_share of its compile
 * time: then the one that compiles fastest.
 */
int dynamism_mix(const struct dynamism_candidate candidates[DYNAMISM_FORMS],
                 const struct dynamism_limits *limits);

struct dynamism_policy {
    int covered;               /* problems that have a config of the policy's form */
    int forms[DYNAMISM_FORMS]; /* problems by the form that serves them */
    int kernels;               /* distinct ones */
    int unknown;               /* of them, those whose bytes or seconds the database lacks */
    int64_t bytes;
    double compile_seconds; /* of the distinct kernels, one after the other */
    double run_ms;          /* of the network: best times, weighted by multiplicity */
    GPtrArray *choices;     /* const struct result *: of each measured problem, in their order */
};

struct dynamism_network {
    char *name;
    int problems, layers;  /* distinct, and with multiplicity */
    GPtrArray *unmeasured; /* char *: keys of problems without a verified config; in no policy */
    GArray *measured;      /* struct plan_problem: the others */
    struct dynamism_policy policies[DYNAMISM_POLICIES];
};

/* Adds up a network under every policy. A problem that the policy's form does not cover runs the
 * fastest config of any form, so that all policies stand for the same work. problems: GArray of
 * struct plan_problem. The results must outlive what is returned. */
struct dynamism_network *dynamism_network_new(const struct dynamism_data *data, const char *name,
                                              const GArray *problems,
                                              const struct dynamism_limits *limits);
void dynamism_network_free(struct dynamism_network *network);

/* Counts the results of each form. */
void dynamism_count_forms(const struct dynamism_data *data, int counts[DYNAMISM_FORMS]);

/* ---- compile-time parameters ---- */

/* A part of the shape that a kernel may be specialised on. */
struct dynamism_parameter {
    char *name;       /* "filter"; a FIX_ parameter of a solver has its own, without FIX_ */
    bool choice;      /* a FIX_ parameter: what follows may be known */
    int values;       /* distinct ones that the problems have; -1 where no part has that name */
    int compilations; /* distinct ones for each direction, type and layout; -1 likewise */
    double gain;      /* of specialising on it: time without over time with, NAN when unknown */
    int problems;     /* that the gain is a geometric mean over */
    int pairs;        /* of configs that differ in this parameter alone, both timed */
};

/*
 * Filter, stride, padding, ... and every FIX_ parameter of the partly specialised solvers that
 * were measured. The gain of a problem is its best time without over its best time with, from
 * the pairs alone, each time taken as a part of the default config's in the same round. problems:
 * GArray of struct plan_problem, each once. Free with g_array_unref().
 */
GArray *dynamism_parameters(const struct dynamism_data *data, const GArray *problems);

/* Kernels that the problems need where none of their shape is compiled in: one for each direction,
 * type and layout. */
int dynamism_kinds(const GArray *problems);

#endif
