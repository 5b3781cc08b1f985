/*
 * Coverage: which solvers serve each problem of a list on one target, from
 * which algorithm families, and how much there is to choose in each solver's
 * space. "Beside the naive one" leaves PLAN_NAIVE_SOLVER out, the last resort
 * that serves nearly everything; "other families" leave its whole family out,
 * of which a fast relative is no alternative. The functions read nothing but
 * their arguments, and write nothing but what they return or print.
 *
 * As JSON it is an object:
 *   target            the target's id
 *   problems          how many distinct ones
 *   unserved          of them, those that no solver serves, not even the naive one
 *   histogram         {"3": N, ...}: N problems have 3 applicable solvers beside the naive one;
 *                     counts that no problem has are left out
 *   families          {"GEMM": N, ...}: problems that a solver of the family serves, beside the
 *                     naive one
 *   family_histogram  as histogram: of the families of those solvers
 *   other_family_histogram    likewise, without the naive solver's family
 *   poorest           an array, of each problem that has as few solvers as the poorest, and of 20
 *                     where those are fewer: key, problem (for people), count (solvers beside the
 *                     naive one), naive (whether it serves too), solvers and families (names), and
 *                     other_families (how many)
 *   solvers           an array, of each solver: solver, family, problems (that it serves), counted
 *                     (of them, those whose spaces were counted), configs_min, configs_median,
 *                     configs_max, share_one_config and share_no_config (parts of its problems);
 *                     null for solvers that cannot be tuned
 */
#ifndef COORDINATOR_REPORTS_COVERAGE_H
#define COORDINATOR_REPORTS_COVERAGE_H

#include "coordinator/import/problem_list.h"
#include "solvers/framework/solver.h"

#include <jansson.h>

#define COVERAGE_SOLVERS_MAX 64

/* The configs of a solver's spaces are counted for at most this many of its problems, spread
 * evenly over all of them. A space is counted up to PLAN_COUNTED_MAX configs. */
#define COVERAGE_SAMPLE 2000

struct coverage_request {
    const struct target *target;
    const ProblemList *problems;
    struct context_limits limits;
    const struct solver *const *solvers;
    int solver_count; /* at most COVERAGE_SOLVERS_MAX */
    /* Called after each space that was counted; may be NULL. */
    void (*progress)(int done, int total, void *data);
    void *data;
};

struct coverage_problem {
    int index; /* index in the list of problems */
    /* set of the solvers that serve it: bit i is the request's i-th solver, which may be the
     * naive one */
    uint64_t applicable;
    int solvers;        /* number of solvers that serve it, the naive one excepted */
    int families;       /* number of algorithm families that these solvers are from */
    int other_families; /* number of these families other than the naive solver's */
    bool naive;         /* true if the naive solver serves it */
};

struct coverage_family {
    const char *name;
    /* number of problems that a solver of the family serves, the naive one excepted */
    int problems;
};

struct coverage_solver {
    const struct solver *solver;
    int problems; /* number of problems that it serves */
    /* number of its problems whose spaces were counted; 0 for a solver without configs */
    int counted;
    /* valid configs of these spaces: least, median (the lower one of two in the middle), most */
    int64_t least, median, most;
    /* number of its problems, counted or not, whose space has one config; has none, so that the
     * default config runs */
    int with_one, with_no_config;
};

struct coverage {
    const ProblemList *list;
    /* the naive solver's algorithm family; NULL if the request lacks the naive solver */
    const char *naive_family;
    char target[64];
    int unserved; /* number of problems that no solver serves, not even the naive one */
    /* struct coverage_problem, the poorest first: fewest solvers; of equal ones those that not even the naive
     * solver serves; then fewest families of algorithms; then by their order in the list */
    GArray *problems;
    /* int: element i is the number of problems with i solvers, the naive one excepted */
    GArray *solver_histogram;
    /* int: element i is the number of problems with solvers from i families, the naive solver
     * excepted */
    GArray *family_histogram;
    /* int: element i is the number of problems with solvers from i families other than the naive
     * solver's */
    GArray *other_family_histogram;
    GArray *families; /* struct coverage_family, in the order of the solvers */
    GArray *solvers;  /* struct coverage_solver, in the order given */
};

/* Asks every solver about every problem. The list and the solvers must outlive the result. Free
 * with coverage_free(). */
struct coverage *coverage_new(const struct coverage_request *request);
void coverage_free(struct coverage *coverage);

/* Returns the number of poorest problems to show: all that have as few solvers as the first one,
 * and at least `count` if there are as many. */
guint coverage_poorest(const struct coverage *coverage, guint count);

/* Prints the coverage to standard output, with at most 20 of the poorest problems. */
void coverage_print(const struct coverage *coverage);
/* Returns the coverage as a JSON object, a new reference. */
json_t *coverage_json(const struct coverage *coverage);

#endif
