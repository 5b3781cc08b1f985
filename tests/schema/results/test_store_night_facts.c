/* Facts that a night's plan reads: the software of today's workers, and the target whose history is nearest. */
#include "schema/results/store_night_facts.h"

#include "schema/store/store_private.h"
#include "schema/store/store_problems.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>

#define TARGET "gfx90a68"

/* Registers a worker that was last seen so many hours ago, and has ended unless that is 0. device NULL: it only
 * builds. */
static void add_worker(Store *store, const char *node, const char *process, const char *builder,
                       const char *device, const char *label, int hours)
{
    g_autoptr(GError) error = NULL;
    int64_t id;
    const struct worker_device has = {.device = "hip:0",
                                      .name = "GPU",
                                      .target = TARGET,
                                      .uuid = "",
                                      .address = "",
                                      .partition = "",
                                      .stack = device};
    const char *labels[] = {label, NULL};
    const struct worker_info info = {.node = node,
                                     .process = process,
                                     .target = device ? TARGET : "",
                                     .stack = builder,
                                     .labels = label ? labels : NULL,
                                     .devices = &has,
                                     .device_count = device ? 1 : 0};
    store_register_worker(store, &info, &id, &error);
    g_assert_no_error(error);
    store_do(store, &error,
             "UPDATE workers SET beat_at = now() - make_interval(hours => $2),"
             " ended_at = CASE WHEN $2 > 0 THEN now() END WHERE id = $1",
             "li", id, hours);
    g_assert_no_error(error);
}

/* "builders: A | B; devices: C (1)" */
static char *stacks_of(Store *store, const char *wanted, const char *pool)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) stacks = store_night_stacks(store, TARGET, wanted, pool, &error);
    g_assert_no_error(error);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < stacks->len; i++) {
        const struct night_stack *stack = stacks->pdata[i];
        g_string_append_printf(text, "%s%s %s on %s", i > 0 ? " | " : "",
                               stack->builds ? "builds" : "device", stack->stack, stack->nodes);
        if (!stack->builds)
            g_string_append_printf(text, " (%d)", stack->devices);
    }
    return g_strdup(text->str);
}

static void expect(Store *store, const char *wanted, const char *pool, const char *expected)
{
    g_autofree char *found = stacks_of(store, wanted, pool);
    g_assert_cmpstr(found, ==, expected);
}

static void a_node_counts_by_its_running_or_its_last_worker(void)
{
    Store *store = scratch_store();
    expect(store, NULL, NULL, "");
    add_worker(store, "one", "old", "clang 15", "hip 5; driver 1", NULL, 30);
    expect(store, NULL, NULL, "device hip 5; driver 1 on one (0) | builds clang 15 on one");
    add_worker(store, "one", "new", "clang 16", "hip 6; driver 1", NULL, 20);
    expect(store, NULL, NULL, "device hip 6; driver 1 on one (0) | builds clang 16 on one");
    add_worker(store, "one", "runs", "clang 17", "hip 6; driver 2", NULL, 0);
    expect(store, NULL, NULL, "device hip 6; driver 2 on one (1) | builds clang 17 on one");
    add_worker(store, "two", "runs", "clang 17", "hip 6; driver 2", NULL, 0);
    add_worker(store, "three", "away", "clang 18", "hip 7; driver 3", NULL, 100);
    add_worker(store, "four", "builds", "clang 19", NULL, NULL, 0);
    expect(
        store, NULL, NULL,
        "device hip 6; driver 2 on one, two (2) | builds clang 17 on one, two | builds clang 19 on four");
    store_close(store);
}

static void a_node_that_is_long_gone_counts_if_there_is_no_other(void)
{
    Store *store = scratch_store();
    add_worker(store, "one", "p", "clang 15", "hip 5; driver 1", NULL, 24 * 20);
    expect(store, NULL, NULL, "device hip 5; driver 1 on one (0) | builds clang 15 on one");
    store_close(store);
}

static void constraints_and_pools_leave_workers_out(void)
{
    Store *store = scratch_store();
    add_worker(store, "one", "p", "clang 15.0.6", "hip 6.2; driver 1.0", "night", 0);
    add_worker(store, "two", "p", "clang 19.1.7", "hip 6.2; driver 2.0", NULL, 0);
    expect(store, "clang >= 16; driver >= 2", NULL,
           "device hip 6.2; driver 2.0 on two (1) | builds clang 19.1.7 on two");
    expect(store, "", "night",
           "device hip 6.2; driver 1.0 on one (1) | builds clang 15.0.6 on one");
    expect(store, "driver >= 9", "day", "");
    store_close(store);
}

static void the_nearest_target_with_a_history_is_found(void)
{
    static const struct {
        const char *target, *nearest;
    } rows[] = {{"gfx90a68", "gfx90a68"},
                {"gfx90a6e", "gfx90a68"},
                {"gfx942_38", "gfx90a68"},
                {"sm_90_132_80g", "sm_80_108_80g"}};
    Store *store = scratch_store();
    struct problem problem;
    struct target target;
    int64_t id;
    farm_problem(&problem, 8);
    g_assert_true(store_put_problems(store, &problem, 1, NULL, &id, NULL));
    g_assert_true(target_parse("gfx90a68", &target, NULL));
    g_autofree char *none = NULL;
    g_assert_true(store_nearest_history(store, &target, &none, NULL));
    g_assert_null(none);
    for (const char *const *each = (const char *const[]){"gfx90a68", "sm_80_108_80g", NULL}; *each;
         each++) {
        g_assert_true(target_parse(*each, &target, NULL));
        g_assert_true(store_put_target(store, &target, NULL));
        g_assert_true(store_do(store, NULL,
                               "INSERT INTO history_series (target, problem_id, solver)"
                               " VALUES ($1, $2, 'ConvX')",
                               "sl", *each, id));
    }
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *nearest = NULL;
        g_assert_true(target_parse(rows[i].target, &target, NULL));
        g_assert_true(store_nearest_history(store, &target, &nearest, NULL));
        g_assert_cmpstr(nearest, ==, rows[i].nearest);
    }
    store_close(store);
}

static void rates_add_up_by_solver(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    const struct order order = {.jobs = 2, .configs_limit = 2};
    farm_init(&farm, &order);
    farm_work(&farm, 0, false, 10);
    farm_work(&farm, 0, false, 10);
    g_autoptr(GPtrArray) rates = store_night_rates(farm.store, TARGET, 5, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rates->len, ==, 1);
    const struct night_rate *rate = rates->pdata[0];
    g_assert_cmpstr(rate->solver, ==, "ConvTest");
    g_assert_cmpint(rate->built, ==, 4);
    g_assert_cmpint(rate->evaluated, ==, 4);
    g_assert_cmpfloat(rate->eval_seconds, ==, 3); /* of each round one config takes 1.5 s */
    farm_clear(&farm);
}

static void problems_are_found_without_being_stored(void)
{
    Store *store = scratch_store();
    struct problem problems[3];
    int64_t ids[3], stored;
    for (int i = 0; i < 3; i++)
        farm_problem(&problems[i], 8 * (i + 1));
    g_assert_true(store_put_problems(store, &problems[1], 1, NULL, &stored, NULL));
    g_assert_true(store_find_problems(store, problems, 3, ids, NULL));
    g_assert_cmpint(ids[0], ==, 0);
    g_assert_cmpint(ids[1], ==, stored);
    g_assert_cmpint(ids[2], ==, 0);
    g_assert_true(store_find_problems(store, problems, 0, ids, NULL));
    store_close(store);
}

static void a_reading_transaction_refuses_changes(void)
{
    Store *store = scratch_store();
    struct problem problem;
    int64_t id;
    farm_problem(&problem, 8);
    g_assert_true(store_begin_reading(store, NULL));
    g_assert_false(store_put_problems(store, &problem, 1, NULL, &id, NULL));
    g_assert_true(store_end(store, false, NULL));
    g_assert_true(store_put_problems(store, &problem, 1, NULL, &id, NULL));
    store_close(store);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/night_facts/a_node_counts_by_its_running_or_its_last_worker",
                    a_node_counts_by_its_running_or_its_last_worker);
    g_test_add_func("/night_facts/a_node_that_is_long_gone_counts_if_there_is_no_other",
                    a_node_that_is_long_gone_counts_if_there_is_no_other);
    g_test_add_func("/night_facts/constraints_and_pools_leave_workers_out",
                    constraints_and_pools_leave_workers_out);
    g_test_add_func("/night_facts/the_nearest_target_with_a_history_is_found",
                    the_nearest_target_with_a_history_is_found);
    g_test_add_func("/night_facts/rates_add_up_by_solver", rates_add_up_by_solver);
    g_test_add_func("/night_facts/problems_are_found_without_being_stored",
                    problems_are_found_without_being_stored);
    g_test_add_func("/night_facts/a_reading_transaction_refuses_changes",
                    a_reading_transaction_refuses_changes);
    return g_test_run();
}
