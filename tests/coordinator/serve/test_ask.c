/* Questions on threads: equal ones are asked once, answers are shared while they are fresh, and too many are refused. */
#include "coordinator/serve/ask.h"

#include "tests/support/patience.h"

#include <locale.h>
#include <string.h>

static uv_loop_t loop;
static Ask *asking;
static gint worked, freed;
static gint may_go; /* works wait until it is set */
static int answered, refused;
static char last[32];

static void work(Store *store, void *data, struct reply *reply)
{
    gint64 deadline = patience_end();
    (void)store;
    g_atomic_int_inc(&worked);
    while (!g_atomic_int_get(&may_go) && g_get_monotonic_time() < deadline)
        g_usleep(1000);
    reply_json(reply, json_pack("{ss}", "answer", (const char *)data));
}

static void fail(Store *store, void *data, struct reply *reply)
{
    (void)store;
    (void)data;
    g_atomic_int_inc(&worked);
    reply_error(reply, g_error_new_literal(STORE_ERROR, STORE_ERROR_CONNECTION, "gone"));
}

static void was_freed(gpointer data)
{
    g_free(data);
    g_atomic_int_inc(&freed);
}

static void done(void *waiter, struct reply *reply)
{
    (void)waiter;
    answered++;
    refused += reply->status == 503;
    if (reply->body)
        g_strlcpy(last, g_bytes_get_data(reply->body, NULL),
                  MIN(sizeof last, g_bytes_get_size(reply->body) + 1));
}

static void put(const char *key, double fresh_seconds, ask_work *how)
{
    const struct question question = {.key = key,
                                      .fresh_seconds = fresh_seconds,
                                      .work = how,
                                      .data = g_strdup(key ? key : "own"),
                                      .free_data = was_freed};
    ask(asking, &question, done, NULL);
}

static void begin(bool go)
{
    worked = freed = 0;
    answered = refused = 0;
    may_go = go;
    uv_loop_init(&loop);
    asking = ask_new(&loop);
}

static void end(int asked)
{
    ask_end(asking);
    uv_run(&loop, UV_RUN_DEFAULT);
    g_assert_cmpint(uv_loop_close(&loop), ==, 0);
    ask_free(asking);
    g_assert_cmpint(freed, ==, asked);
    g_assert_cmpint(answered, ==, asked);
}

static void test_equal_questions_are_asked_once(void)
{
    begin(false);
    for (int i = 0; i < 10; i++)
        put("a", 0, work);
    g_assert_cmpint(answered, ==, 0);
    g_atomic_int_set(&may_go, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    g_assert_cmpint(worked, ==, 1);
    g_assert_cmpint(answered, ==, 10);
    g_assert_cmpstr(last, ==, "{\"answer\":\"a\"}");
    end(10);
}

static void test_fresh_answer_is_shared(void)
{
    begin(true);
    put("a", 3600, work);
    uv_run(&loop, UV_RUN_DEFAULT);
    put("a", 3600, work);
    g_assert_cmpint(answered, ==, 2); /* at once */
    put("b", 3600, work);
    uv_run(&loop, UV_RUN_DEFAULT);
    g_assert_cmpint(worked, ==, 2);
    end(3);
}

static void test_question_without_a_key_is_nobody_elses(void)
{
    begin(true);
    put(NULL, 3600, work);
    put(NULL, 3600, work);
    uv_run(&loop, UV_RUN_DEFAULT);
    g_assert_cmpint(worked, ==, 2);
    end(2);
}

static void test_failure_is_not_kept(void)
{
    begin(true);
    put("a", 3600, fail);
    uv_run(&loop, UV_RUN_DEFAULT);
    put("a", 3600, fail);
    uv_run(&loop, UV_RUN_DEFAULT);
    g_assert_cmpint(worked, ==, 2);
    g_assert_cmpint(refused, ==, 2);
    end(2);
}

static void test_too_many_questions_are_refused(void)
{
    begin(false);
    for (int i = 0; i < ASK_THREADS + ASK_WAITING + 5; i++)
        put(NULL, 0, work);
    g_assert_cmpint(refused, ==, 5);
    g_atomic_int_set(&may_go, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    g_assert_cmpint(worked, ==, ASK_THREADS + ASK_WAITING);
    end(ASK_THREADS + ASK_WAITING + 5);
}

static void put_slow(void)
{
    const struct question question = {
        .is_slow = true, .work = work, .data = g_strdup("slow"), .free_data = was_freed};
    ask(asking, &question, done, NULL);
}

static void test_slow_questions_leave_threads_to_others(void)
{
    begin(false);
    for (int i = 0; i < 2 + ASK_SLOW_WAITING; i++)
        put_slow();
    g_assert_cmpint(refused, ==, 1);
    put("quick", 0, work);
    gint64 deadline = patience_end();
    while (g_atomic_int_get(&worked) < 2 && g_get_monotonic_time() < deadline)
        g_usleep(1000);
    struct ask_counts counts;
    ask_counts(asking, &counts);
    g_assert_cmpint(counts.running, ==, 2);
    g_assert_cmpint(counts.waiting, ==, ASK_SLOW_WAITING);
    may_go = true;
    uv_run(&loop, UV_RUN_DEFAULT);
    g_assert_cmpint(answered, ==, 3 + ASK_SLOW_WAITING);
    end(3 + ASK_SLOW_WAITING);
}

static void test_end_refuses_what_waits(void)
{
    begin(false);
    for (int i = 0; i < ASK_THREADS + 4; i++)
        put(NULL, 0, work);
    ask_end(asking);
    g_assert_cmpint(refused, ==, 4);
    g_atomic_int_set(&may_go, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    put("late", 0, work);
    g_assert_cmpint(refused, ==, 5);
    end(ASK_THREADS + 5);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/ask/equal_questions_are_asked_once", test_equal_questions_are_asked_once);
    g_test_add_func("/ask/fresh_answer_is_shared", test_fresh_answer_is_shared);
    g_test_add_func("/ask/question_without_a_key_is_nobody_elses",
                    test_question_without_a_key_is_nobody_elses);
    g_test_add_func("/ask/failure_is_not_kept", test_failure_is_not_kept);
    g_test_add_func("/ask/too_many_questions_are_refused", test_too_many_questions_are_refused);
    g_test_add_func("/ask/slow_questions_leave_threads_to_others",
                    test_slow_questions_leave_threads_to_others);
    g_test_add_func("/ask/end_refuses_what_waits", test_end_refuses_what_waits);
    return g_test_run();
}
