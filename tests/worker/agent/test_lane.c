/* Lanes: calls run on the pool's threads, in order, and end on the loop. Also run under ThreadSanitizer. */
#include "worker/agent/lane.h"

#include "schema/store/store_campaigns.h"
#include "tests/support/scratch_db.h"

#define LANES 3
#define CALLS 20

struct farm {
    uv_loop_t loop;
    Lane *lanes[LANES];
    int ended[LANES]; /* calls of the lane, which is the number of the next to end */
    int failed;
    GThread *loop_thread;
};

struct numbered {
    struct lane_call call; /* first */
    struct farm *farm;
    int lane, number;
    int64_t answer;
    GThread *ran_on;
};

static bool run_numbered(struct lane_call *call, Store *store, GError **error)
{
    struct numbered *numbered = (struct numbered *)(void *)call;
    numbered->ran_on = g_thread_self();
    if (numbered->number % 5 == 4) {
        g_set_error_literal(error, STORE_ERROR, STORE_ERROR_QUERY, "the fifth fails");
        return false;
    }
    g_autoptr(GPtrArray) campaigns = store_list_campaigns(store, error);
    numbered->answer = campaigns ? (int64_t)campaigns->len : -1;
    return campaigns != NULL;
}

static void end_numbered(struct lane_call *call, const GError *error)
{
    struct numbered *numbered = (struct numbered *)(void *)call;
    struct farm *farm = numbered->farm;
    g_assert_true(g_thread_self() == farm->loop_thread);
    g_assert_true(numbered->ran_on != farm->loop_thread);
    g_assert_cmpint(numbered->number, ==, farm->ended[numbered->lane]++);
    if (numbered->number % 5 == 4)
        g_assert_error(error, STORE_ERROR, STORE_ERROR_QUERY);
    else
        g_assert_no_error((GError *)error);
    farm->failed += error != NULL;
    g_assert_cmpint(numbered->answer, ==, 0);
    g_free(numbered);
}

static void push(struct farm *farm, int lane, int number)
{
    struct numbered *numbered = g_new0(struct numbered, 1);
    *numbered = (struct numbered){{run_numbered, end_numbered}, farm, lane, number, 0, NULL};
    lane_push(farm->lanes[lane], &numbered->call);
}

static void calls_end_in_order_on_the_loop(void)
{
    const struct lane_spec spec = {.url = scratch_db_url(), .patience_seconds = 60};
    struct farm farm = {.loop_thread = g_thread_self()};
    Store *store = scratch_store(); /* its tables are empty now */
    store_close(store);
    g_assert_cmpint(uv_loop_init(&farm.loop), ==, 0);
    for (int lane = 0; lane < LANES; lane++)
        farm.lanes[lane] = lane_new(&farm.loop, &spec);
    for (int number = 0; number < CALLS; number++)
        for (int lane = 0; lane < LANES; lane++)
            push(&farm, lane, number);
    g_assert_cmpuint(lane_waiting(farm.lanes[0]), ==, CALLS);
    uv_run(&farm.loop, UV_RUN_DEFAULT);
    g_assert_cmpint(farm.failed, ==, LANES * CALLS / 5);
    for (int lane = 0; lane < LANES; lane++) {
        g_assert_cmpint(farm.ended[lane], ==, CALLS);
        g_assert_true(lane_idle(farm.lanes[lane]));
        g_assert_false(lane_lost(farm.lanes[lane]));
        g_assert_cmpuint(lane_stats(farm.lanes[lane])->losses, ==, 0);
        lane_free(farm.lanes[lane]);
    }
    uv_run(&farm.loop, UV_RUN_DEFAULT);
    g_assert_cmpint(uv_loop_close(&farm.loop), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/lane/calls_end_in_order_on_the_loop", calls_end_in_order_on_the_loop);
    return g_test_run();
}
