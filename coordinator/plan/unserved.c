#include "coordinator/plan/unserved.h"

#include "coordinator/plan/plan.h"
#include "solvers/problem/problem_key.h"

#include <stdio.h>

struct reason {
    const char *text; /* the solver's text for the reason, which is static */
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

/* Returns true if a solver serves the problem on the target. Otherwise *reason is the naive
 * solver's: it serves nearly every problem, so its reason tells best what is missing. */
static bool served_on(const struct problem *p, const struct target *target, const char **reason)
{
    const char *unused;
    struct context context;
    context_init(&context, target);
    if (solver_applicable(solver_find(PLAN_NAIVE_SOLVER), p, &context, reason))
        return true;
    for (int i = 0; i < solver_table_count; i++)
        if (solver_applicable(solver_table[i], p, &context, &unused))
            return true;
    return false;
}

/* Returns true if a solver serves the problem on at least one kind of target. */
static bool served_anywhere(const struct problem *p, const char **reason)
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
    const char *reason = NULL;
    if (target ? served_on(p, target, &reason) : served_anywhere(p, &reason))
        return;
    struct reason *known = NULL;
    for (guint i = 0; i < unserved->reasons->len && !known; i++) {
        struct reason *other = &g_array_index(unserved->reasons, struct reason, i);
        known = g_strcmp0(other->text, reason) == 0 ? other : NULL;
    }
    if (!known) {
        struct reason first = {.text = reason};
        problem_key(p, first.example);
        g_array_append_val(unserved->reasons, first);
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
        fprintf(stderr, "  %d such as %s: %s %s\n", reason->problems, reason->example,
                PLAN_NAIVE_SOLVER, reason->text);
    }
}

json_t *unserved_json(const Unserved *unserved)
{
    json_t *array = json_array();
    for (guint i = 0; i < unserved->reasons->len; i++) {
        const struct reason *reason = &g_array_index(unserved->reasons, struct reason, i);
        json_array_append_new(array,
                              json_pack("{s:s, s:i, s:s}", "reason", reason->text, "problems",
                                        reason->problems, "example", reason->example));
    }
    return array;
}
