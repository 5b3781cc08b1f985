#include "schema/results/store_night_facts.h"

#include "schema/store/store_private.h"
#include "schema/store/store_problems.h"

#include <stdlib.h>

void night_stack_free(struct night_stack *stack)
{
    if (stack == NULL)
        return;
    g_free(stack->stack);
    g_free(stack->nodes);
    g_free(stack);
}

static void free_stack(gpointer stack)
{
    night_stack_free(stack);
}

GPtrArray *store_night_stacks(Store *store, const char *target, const char *wanted,
                              const char *pool, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT builds, stack, array_to_string(nodes, ', '), devices"
                   " FROM night_stacks($1, coalesce($2, ''), coalesce($3, ''))",
                   "sss", target, wanted, pool);
    if (rows == NULL)
        return NULL;
    GPtrArray *stacks = g_ptr_array_new_with_free_func(free_stack);
    for (int i = 0; i < PQntuples(rows); i++) {
        struct night_stack *stack = g_new0(struct night_stack, 1);
        stack->builds = PQgetvalue(rows, i, 0)[0] == 't';
        stack->stack = g_strdup(PQgetvalue(rows, i, 1));
        stack->nodes = g_strdup(PQgetvalue(rows, i, 2));
        stack->devices = atoi(PQgetvalue(rows, i, 3));
        g_ptr_array_add(stacks, stack);
    }
    return stacks;
}

void night_rate_free(struct night_rate *rate)
{
    if (rate == NULL)
        return;
    g_free(rate->solver);
    g_free(rate);
}

static void free_rate(gpointer rate)
{
    night_rate_free(rate);
}

GPtrArray *store_night_rates(Store *store, const char *target, int campaigns, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT solver, built, build_seconds, evaluated, eval_seconds FROM night_rates($1, $2)",
        "si", target, campaigns);
    if (rows == NULL)
        return NULL;
    GPtrArray *rates = g_ptr_array_new_with_free_func(free_rate);
    for (int i = 0; i < PQntuples(rows); i++) {
        struct night_rate *rate = g_new0(struct night_rate, 1);
        rate->solver = g_strdup(PQgetvalue(rows, i, 0));
        rate->built = strtoll(PQgetvalue(rows, i, 1), NULL, 10);
        rate->build_seconds = g_ascii_strtod(PQgetvalue(rows, i, 2), NULL);
        rate->evaluated = strtoll(PQgetvalue(rows, i, 3), NULL, 10);
        rate->eval_seconds = g_ascii_strtod(PQgetvalue(rows, i, 4), NULL);
        g_ptr_array_add(rates, rate);
    }
    return rates;
}

bool store_nearest_history(Store *store, const struct target *target, char **nearest,
                           GError **error)
{
    g_autoptr(StoreJson) row = target_to_row(target);
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT target FROM night_targets_near($1) LIMIT 1", "j", row);
    if (rows == NULL)
        return false;
    *nearest = PQntuples(rows) > 0 ? g_strdup(PQgetvalue(rows, 0, 0)) : NULL;
    return true;
}
