/* A lane (the queue of calls over one database connection) on a real database: the order of its
 * calls, and which calls run together. */
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"
#include "worker/agent/lane.h"

/* Appends to a text: the call's letter when it runs, with the number of calls that run together,
 * and the capital letter when it is done. */
struct letter_call {
    struct lane_call call;
    GString *text;
    char letter;
    int count; /* number of calls in this run, including this one */
};

static bool run(struct lane_call *base, Store *store, GError **error)
{
    struct letter_call *call = (struct letter_call *)base;
    g_string_append_printf(call->text, "%c%d", call->letter, call->count);
    (void)store;
    (void)error;
    return true;
}

static void done(struct lane_call *base, const GError *error)
{
    struct letter_call *call = (struct letter_call *)base;
    g_assert_no_error(error);
    g_string_append_c(call->text, g_ascii_toupper(call->letter));
    g_free(call);
}

static bool join(struct lane_call *base, struct lane_call *next)
{
    struct letter_call *call = (struct letter_call *)base, *other = (struct letter_call *)next;
    if (other->letter != call->letter)
        return false;
    call->count += other->count;
    g_free(other);
    return true;
}

static const struct order {
    /* a letter for each call; adjacent calls of the same letter may run together */
    const char *pushed;
    const char *expected;
} orders[] = {
    {"a", "a1A"},
    {"abc", "a1Ab1Bc1C"},
    /* The first call runs at once; the three behind it wait meanwhile and run together. */
    {"xaaab", "x1Xa3Ab1B"},
    /* Calls are not reordered: the last "a" runs after the "b" pushed before it. */
    {"xaaba", "x1Xa2Ab1Ba1A"},
};

static void push(Lane *lane, GString *text, char letter)
{
    struct letter_call *call = g_new0(struct letter_call, 1);
    *call = (struct letter_call){{run, done, join}, text, letter, 1};
    lane_push(lane, &call->call);
}

static void test_calls_that_wait_run_together(void)
{
    const struct lane_spec spec = {.url = scratch_db_url(), .patience_seconds = PATIENCE_SECONDS};
    for (size_t i = 0; i < G_N_ELEMENTS(orders); i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        uv_loop_t loop;
        uv_loop_init(&loop);
        Lane *lane = lane_new(&loop, &spec);
        for (const char *letter = orders[i].pushed; *letter; letter++)
            push(lane, text, *letter);
        uv_run(&loop, UV_RUN_DEFAULT);
        g_assert_true(lane_idle(lane));
        g_assert_cmpstr(text->str, ==, orders[i].expected);
        lane_free(lane);
        uv_run(&loop, UV_RUN_DEFAULT);
        g_assert_cmpint(uv_loop_close(&loop), ==, 0);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/lane/calls_that_wait_run_together", test_calls_that_wait_run_together);
    return g_test_run();
}
