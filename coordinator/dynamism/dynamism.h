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

/* The policies below this number use one form alone; their numbers are those of the forms. */
#define DYNAMISM_MIXED    DYNAMISM_FORMS
#define DYNAMISM_POLICIES (DYNAMISM_MIXED + 1)

/* "static", "dynamic", "partial", "mixed". */
const char *dynamism_policy_name(int policy);

/* Returns the form of a solver. NULL, a solver that this program does not carry, is dynamic or static as the
 * database's `stored_dynamic` says. */
enum dynamism_form dynamism_form(const struct solver *solver, bool stored_dynamic);

struct dynamism_limits {
    /* a form is close to the fastest if its time is longer by at most this part (0.1 means 10 %) */
    double within;
    /* a form is cheap if it compiles in at most this part of the fastest form's compile time
     * (0.3333) */
    double compile_share;
};

/* The measurements of one target. */
struct dynamism_data {
    /* struct result *: results of any number of campaigns on the target */
    const GPtrArray *results;
    /* struct config_outcome *: outcomes of all configs in these campaigns */
    const GPtrArray *outcomes;
    GHashTable *kernels;                            /* key -> struct kernel_cost * */
    const struct solver *(*find)(const char *name); /* solver_find() */
};

/* ---- policies ---- */

/* A problem's fastest config of one form. */
struct dynamism_candidate {
    const struct result *result; /* the result; NULL if no config of the form was verified */
    double time_ms;
    /* compile time of the result's kernels; NAN if the database does not know one of them */
    double compile_seconds;
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
    /* number of problems that have a verified config of the policy's form */
    int covered;
    int forms[DYNAMISM_FORMS]; /* number of problems that each form serves under the policy */
    int kernels;               /* distinct ones */
    /* number of kernels that the database does not know, or whose code it has no more: their bytes are not counted */
    int unknown;
    int64_t bytes;
    double compile_seconds; /* seconds to compile the distinct kernels one after the other */
    /* the network's time in ms: sum of the chosen configs' times, weighted by multiplicity */
    double run_ms;
    /* const struct result *: the chosen result of each measured problem, in the order of
     * `measured` */
    GPtrArray *choices;
};

struct dynamism_network {
    char *name;
    int problems, layers; /* number of distinct problems; of layers, which count multiplicity */
    /* char *: keys of problems without a verified config, which no policy includes */
    GPtrArray *unmeasured;
    GArray *measured; /* struct plan_problem: problems with a verified config */
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

/* ---- the worth of compile-time parameters ---- */

/* A part of the shape (filter, stride, ...) that a kernel may be specialised on at compile time. */
struct dynamism_parameter {
    /* name of the part, "filter"; or of a solver's FIX_ parameter, without FIX_ */
    char *name;
    /* true for a FIX_ parameter of a measured solver; only then are gain, problems and pairs
     * known */
    bool choice;
    /* how many distinct values the problems have; -1 if the name is of no known part */
    int values;
    /* how many kernels specialising on it needs: distinct values for each direction, type and
     * layout; -1 if the name is of no known part */
    int compilations;
    /* time without specialising over time with it, a geometric mean; NAN if unknown */
    double gain;
    int problems; /* number of problems that `gain` is the mean of */
    int pairs;    /* number of pairs of timed configs that differ in this parameter alone */
};

/*
 * Lists filter, stride, padding and other parts of a shape, and every FIX_ parameter of the partly
 * specialised solvers that were measured. A pair is two timed configs that differ in one FIX_
 * parameter alone. The gain of a problem is its best time without specialising over its best time
 * with it, both from pairs; each time is first divided by the default config's in the same round.
 * problems: GArray of struct plan_problem, each once. Free with g_array_unref().
 */
GArray *dynamism_parameters(const struct dynamism_data *data, const GArray *problems);

/* Returns how many kernels the problems need if no part of the shape is compiled in: one for each
 * direction, type and layout. */
int dynamism_kinds(const GArray *problems);

#endif
