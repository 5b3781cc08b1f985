#include "coordinator/plan/unserved.h"

#include "coordinator/plan/plan.h"
#include "solvers/problem/problem_key.h"

#include <stdio.h>

struct reason {
    const char *text;   /* the solver's text for the reason, which is static */
    const char *solver; /* its name; NULL if no solver computes the operator */
    int problems;
    char example[PROBLEM_KEY_MAX];
};

struct unserved {
    GArray *reasons; /* struct reason, in the order in which they were found */
    int count;
};

Unserved *unserved_new(void)
{
    Unserved *unserved = g_new0(Unserved, 1);
    unserved->reasons = g_array_new(FALSE, TRUE, sizeof(struct reason));
    return unserved;
}

void unserved_free(Unserved *unserved)
{
    if (unserved) {
        g_array_unref(unserved->reasons);
        g_free(unserved);
    }
}

/* The steps of epilogues that a solver does, and whether it takes any strides, as one number: the solver with most
 * lacks least. */
static int abilities(const struct solver *solver)
{
    return __builtin_popcount(solver->epilogues) + solver->any_strides;
}

/* The solver whose reason tells best what is missing: the naive one for convolutions, since it serves nearly all of
 * them; for another operator the solver of it that can do most. NULL if none computes the operator. */
static const struct solver *most_able(const struct problem *p)
{
    const struct solver *best = NULL;
    if (p->kind == OP_CONV)
        return solver_find(PLAN_NAIVE_SOLVER);
    for (int i = 0; i < solver_table_count; i++)
        if (solver_table[i]->kind == p->kind &&
            (!best || abilities(solver_table[i]) > abilities(best)))
            best = solver_table[i];
    return best;
}

/* Returns true if a solver serves the problem on the target. Otherwise `reason` gets the words of the solver that
 * is nearest to serving it. */
static bool served_on(const struct problem *p, const struct target *target, struct reason *reason)
{
    const struct solver *able = most_able(p);
    const char *unused;
    struct context context;
    context_init(&context, target);
    reason->text = "no solver computes this operator";
    reason->solver = able ? able->name : NULL;
    if (able && solver_applicable(able, p, &context, &reason->text))
        return true;
    for (int i = 0; i < solver_table_count; i++)
        if (solver_applicable(solver_table[i], p, &context, &unused))
            return true;
    return false;
}

/* Returns true if a solver serves the problem on at least one kind of target. */
static bool served_anywhere(const struct problem *p, struct reason *reason)
{
    static const char *const kinds[] = {"gfx942130", "gfx1030_36", "sm_90_132_80g",
                                        "cpu-znver4_16"};
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        struct target target;
        bool known = target_parse(kinds[i], &target, NULL);
        g_assert(known);
        if (served_on(p, &target, reason))
            return true;
    }
    return false;
}

void unserved_ask(Unserved *unserved, const struct problem *p, const struct target *target)
{
    struct reason reason = {0};
    if (target ? served_on(p, target, &reason) : served_anywhere(p, &reason))
        return;
    struct reason *known = NULL;
    for (guint i = 0; i < unserved->reasons->len && !known; i++) {
        struct reason *other = &g_array_index(unserved->reasons, struct reason, i);
        bool same = g_strcmp0(other->text, reason.text) == 0 &&
                    g_strcmp0(other->solver, reason.solver) == 0;
        known = same ? other : NULL;
    }
    if (!known) {
        problem_key(p, reason.example);
        g_array_append_val(unserved->reasons, reason);
        known = &g_array_index(unserved->reasons, struct reason, unserved->reasons->len - 1);
    }
    known->problems++;
    unserved->count++;
}

int unserved_count(const Unserved *unserved)
{
    return unserved->count;
}

void unserved_say(const Unserved *unserved)
{
    if (unserved->count == 0)
        return;
    fprintf(stderr, "no solver serves %d of the problems, so they will not be tuned:\n",
            unserved->count);
    for (guint i = 0; i < unserved->reasons->len; i++) {
        const struct reason *reason = &g_array_index(unserved->reasons, struct reason, i);
        fprintf(stderr, "  %d such as %s: %s%s%s\n", reason->problems, reason->example,
                reason->solver ? reason->solver : "", reason->solver ? " " : "", reason->text);
    }
}

json_t *unserved_json(const Unserved *unserved)
{
    json_t *array = json_array();
    for (guint i = 0; i < unserved->reasons->len; i++) {
        const struct reason *reason = &g_array_index(unserved->reasons, struct reason, i);
        json_array_append_new(array, json_pack("{s:s?, s:s, s:i, s:s}", "solver", reason->solver,
                                               "reason", reason->text, "problems", reason->problems,
                                               "example", reason->example));
    }
    return array;
}
