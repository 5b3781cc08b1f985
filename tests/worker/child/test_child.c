/* Supervision with real processes: this program starts itself as children that misbehave. */
#include "worker/child/child.h"
#include "worker/child/child_enter.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/patience.h"
#include "tests/support/test_effort.h"
#include "worker/protocol/protocol.h"

/* ---- the children ---- */

static void say(const char *text)
{
    json_t *head = json_pack("{s:s}", "say", text);
    if (!frame_write(STDOUT_FILENO, head, NULL, NULL))
        _exit(9);
    json_decref(head);
}

static void serve_echo(void)
{
    struct frame frame = {0};
    while (frame_read(STDIN_FILENO, &frame, NULL)) {
        if (!frame_write(STDOUT_FILENO, frame.head, frame.blob, NULL))
            _exit(9);
        frame_clear(&frame);
    }
}

static void serve_exit(void)
{
    fputs("going home\n", stderr);
    exit(7);
}

static void serve_crash(void)
{
    fputs("about to crash\n", stderr);
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static void serve_hang(void)
{
    fputs("hanging\n", stderr);
    for (;;)
        pause();
}

static void serve_flood(void)
{
    for (int i = 0; i < 200000; i++)
        fprintf(stderr, "line %d of a flood\n", i);
    say("flooded");
    exit(1);
}

static void serve_garbage(void)
{
    if (write(STDOUT_FILENO, "\xff\xff\xff\xff\xff\xff\xff\xff garbage", 16) < 0)
        _exit(9);
    serve_hang();
}

/* Writes frames and exits at once; the parent must still get all frames. */
static void serve_last_words(void)
{
    for (int i = 0; i < 100; i++)
        say("last");
    kill(getpid(), SIGKILL);
}

/* Starts a grandchild in another process group, which outlives its parent and holds its pipes open. */
static void serve_orphan(void)
{
    if (fork() == 0) {
        setsid();
        sleep(20);
        _exit(0);
    }
    kill(getpid(), SIGKILL);
}

/* Starts a grandchild that hangs, as a compiler's own processes may, and sends its process id. */
static void serve_family(void)
{
    pid_t grandchild = fork();
    if (grandchild == 0) {
        for (;;)
            pause();
    }
    g_autofree char *text = g_strdup_printf("%ld", (long)grandchild);
    say(text);
    serve_hang();
}

static void serve_memory(void)
{
    void *all = malloc(512u << 20);
    say(all ? "got it" : "refused");
    free(all);
}

static const struct {
    const char *role;
    void (*serve)(void);
} roles[] = {
    {"echo", serve_echo},       {"exit", serve_exit},     {"crash", serve_crash},
    {"hang", serve_hang},       {"flood", serve_flood},   {"garbage", serve_garbage},
    {"last", serve_last_words}, {"orphan", serve_orphan}, {"memory", serve_memory},
    {"family", serve_family},
};

static int child_main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    if (argc < 3 || !child_enter(argc - 3, argv + 3, &error))
        return 8;
    for (size_t i = 0; i < G_N_ELEMENTS(roles); i++)
        if (strcmp(roles[i].role, argv[2]) == 0)
            roles[i].serve();
    return 0;
}

/* ---- the parent ---- */

struct record {
    uv_loop_t loop;
    Child *child;
    int ups, frames, deaths, restarts;
    double deadline_seconds;
    /* -1: the child is killed once it is up */
    long kill_pid;
    enum child_end end;
    int code;
    char *text, *words, *last;
    gint64 started_us, gaps_us[8];
};

static void on_up(Child *child, void *data)
{
    struct record *record = data;
    record->ups++;
    child_set_deadline(child, record->deadline_seconds);
    if (record->kill_pid == -1)
        kill((pid_t)child_pid(child), SIGKILL);
}

static void on_frame(Child *child, const struct frame *frame, void *data)
{
    struct record *record = data;
    (void)child;
    record->frames++;
    g_free(record->last);
    record->last = json_dumps(frame->head, JSON_COMPACT);
}

static void on_died(Child *child, const struct child_death *death, void *data)
{
    struct record *record = data;
    gint64 now = g_get_monotonic_time();
    record->gaps_us[record->deaths % 8] = now - record->started_us;
    record->started_us = now;
    record->deaths++;
    record->end = death->end;
    record->code = death->code;
    g_free(record->text);
    g_free(record->words);
    record->text = g_strdup(death->text);
    record->words = g_strdup(death->words);
    if (record->restarts-- > 0) {
        child_start(child);
        return;
    }
    child_free(child);
    record->child = NULL;
}

static void start(struct record *record, const char *role, uint64_t memory_bytes)
{
    static const struct child_callbacks callbacks = {on_up, on_frame, on_died};
    struct child_spec spec = {.role = role, .memory_bytes = memory_bytes};
    uv_loop_init(&record->loop);
    record->child = child_new(&record->loop, &spec, &callbacks, record);
    record->started_us = g_get_monotonic_time();
    child_start(record->child);
}

/* Runs the loop until *count reaches the value, or until patience_end(). */
static void run_until(struct record *record, const int *count, int value)
{
    gint64 limit = patience_end();
    while (*count < value && g_get_monotonic_time() < limit) {
        uv_run(&record->loop, UV_RUN_NOWAIT);
        g_usleep(1000);
    }
    g_assert_cmpint(*count, >=, value);
}

static void finish(struct record *record)
{
    uv_run(&record->loop, UV_RUN_DEFAULT);
    g_assert_cmpint(uv_loop_close(&record->loop), ==, 0);
    g_free(record->text);
    g_free(record->words);
    g_free(record->last);
}

static void run(struct record *record, const char *role)
{
    start(record, role, 0);
    uv_run(&record->loop, UV_RUN_DEFAULT);
}

static void test_each_death_is_told_apart(void)
{
    static const struct {
        const char *role;
        double deadline_seconds;
        long kill_pid;
        enum child_end end;
        int code;
        const char *text, *words;
    } cases[] = {
        {"exit", 0, 0, CHILD_EXITED, 7, "the exit child exited with status 7", "going home"},
        {"crash", 0, 0, CHILD_CRASHED, SIGSEGV, "the crash child was ended by SIGSEGV",
         "about to crash"},
        {"hang", 0.3, 0, CHILD_TIMEOUT, SIGKILL,
         "the hang child did not answer in time and was killed", "hanging"},
        {"hang", 0, -1, CHILD_CRASHED, SIGKILL, "the hang child was ended by SIGKILL", NULL},
        {"garbage", 5, 0, CHILD_PROTOCOL, SIGKILL,
         "the garbage child wrote bytes that are not a frame and was killed", NULL},
        {"orphan", 5, 0, CHILD_CRASHED, SIGKILL, "the orphan child was ended by SIGKILL", ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct record record = {.deadline_seconds = cases[i].deadline_seconds,
                                .kill_pid = cases[i].kill_pid};
        run(&record, cases[i].role);
        g_assert_cmpint(record.deaths, ==, 1);
        g_assert_cmpint(record.end, ==, cases[i].end);
        g_assert_cmpint(record.code, ==, cases[i].code);
        g_assert_cmpstr(record.text, ==, cases[i].text);
        if (cases[i].words)
            g_assert_cmpstr(record.words, ==, cases[i].words);
        finish(&record);
    }
}

static void test_a_flood_keeps_its_last_words(void)
{
    struct record record = {0};
    run(&record, "flood");
    g_assert_cmpint(record.frames, ==, 1);
    g_assert_cmpint(record.end, ==, CHILD_EXITED);
    g_assert_true(g_str_has_suffix(record.words, "line 199999 of a flood"));
    g_assert_cmpuint(strlen(record.words), <=, 4096);
    finish(&record);
}

static void test_frames_before_death_all_arrive(void)
{
    struct record record = {0};
    run(&record, "last");
    g_assert_cmpint(record.frames, ==, 100);
    g_assert_cmpint(record.code, ==, SIGKILL);
    finish(&record);
}

static void test_silent_deaths_earn_growing_pauses(void)
{
    struct record record = {.restarts = 3};
    run(&record, "exit");
    g_assert_cmpint(record.deaths, ==, 4);
    g_assert_cmpint(record.ups, ==, 4);
    /* Pauses of 100, 200 and 400 ms, and the time of the process itself. */
    g_assert_cmpint(record.gaps_us[1], >=, 95000);
    g_assert_cmpint(record.gaps_us[2], >=, 195000);
    g_assert_cmpint(record.gaps_us[3], >=, 395000);
    finish(&record);
}

static void test_requests_come_back_and_the_end_is_orderly(void)
{
    struct record record = {0};
    g_autofree char *bytes = g_malloc0(3u << 20);
    g_autoptr(GBytes) blob = g_bytes_new(bytes, 3u << 20);
    start(&record, "echo", 0);
    run_until(&record, &record.ups, 1);
    for (int i = 0; i < 3; i++) {
        json_t *head = json_pack("{s:i}", "number", i);
        child_send(record.child, head, blob);
        json_decref(head);
    }
    run_until(&record, &record.frames, 3);
    g_assert_cmpstr(record.last, ==, "{\"number\":2}");
    child_end(record.child, 10);
    uv_run(&record.loop, UV_RUN_DEFAULT);
    g_assert_cmpint(record.end, ==, CHILD_EXITED);
    g_assert_cmpint(record.code, ==, 0);
    finish(&record);
}

static void send_number(struct record *record, int number)
{
    json_t *head = json_pack("{s:i}", "number", number);
    child_send(record->child, head, NULL);
    json_decref(head);
    run_until(record, &record->frames, number + 1);
}

static void test_signals_to_all_are_the_agents(void)
{
    static const int signals[] = {SIGTERM, SIGINT};
    struct record record = {0};
    start(&record, "echo", 0);
    run_until(&record, &record.ups, 1);
    send_number(&record, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        kill((pid_t)child_pid(record.child), signals[i]);
        send_number(&record, (int)i + 1);
    }
    child_end(record.child, 10);
    uv_run(&record.loop, UV_RUN_DEFAULT);
    g_assert_cmpint(record.end, ==, CHILD_EXITED);
    finish(&record);
}

static void test_memory_is_limited(void)
{
    static const struct {
        uint64_t limit;
        const char *said;
    } cases[] = {{0, "{\"say\":\"got it\"}"}, {256u << 20, "{\"say\":\"refused\"}"}};
    if (test_is_sanitized()) {
        g_test_skip("AddressSanitizer needs more address space than the limit leaves");
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct record record = {0};
        start(&record, "memory", cases[i].limit);
        uv_run(&record.loop, UV_RUN_DEFAULT);
        g_assert_cmpstr(record.last, ==, cases[i].said);
        finish(&record);
    }
}

static void test_freeing_kills_without_a_word(void)
{
    struct record record = {0};
    start(&record, "hang", 0);
    run_until(&record, &record.ups, 1);
    pid_t pid = (pid_t)child_pid(record.child);
    child_free(record.child);
    uv_run(&record.loop, UV_RUN_DEFAULT);
    g_assert_cmpint(record.deaths, ==, 0);
    g_assert_cmpint(kill(pid, 0), ==, -1);
    finish(&record);
}

struct family {
    long child, grandchild;
};

/* Starts a parent in its own process, which reports its family's process ids once all of them run. */
static pid_t start_family(struct family *family)
{
    int to_us[2];
    g_assert_cmpint(pipe(to_us), ==, 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct record record = {0};
        start(&record, "family", 0);
        run_until(&record, &record.frames, 1);
        family->child = child_pid(record.child);
        if (sscanf(record.last, "{\"say\":\"%ld\"}", &family->grandchild) != 1 ||
            write(to_us[1], family, sizeof(*family)) != sizeof(*family))
            _exit(1);
        uv_run(&record.loop, UV_RUN_DEFAULT);
        for (;;)
            pause();
    }
    g_assert_cmpint(read(to_us[0], family, sizeof(*family)), ==, sizeof(*family));
    close(to_us[0]);
    close(to_us[1]);
    return parent;
}

static void check_gone(long pid)
{
    gint64 limit = patience_end();
    g_autofree char *path = g_strdup_printf("/proc/%ld/stat", pid);
    bool gone = false;
    while (!gone && g_get_monotonic_time() < limit) {
        g_autofree char *stat = NULL;
        /* A zombie counts as dead, too. */
        gone = !g_file_get_contents(path, &stat, NULL, NULL) || strstr(stat, ") Z ");
        g_usleep(10000);
    }
    g_assert_true(gone);
}

static void test_children_die_with_their_parent(void)
{
    struct family family = {0};
    pid_t parent = start_family(&family);
    kill(parent, SIGKILL);
    check_gone(family.child);
    check_gone(family.grandchild);
    waitpid(parent, NULL, 0);
}

static void test_what_a_child_started_dies_with_it(void)
{
    struct family family = {0};
    pid_t parent = start_family(&family);
    kill((pid_t)family.child, SIGKILL);
    check_gone(family.child);
    check_gone(family.grandchild);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], CHILD_COMMAND) == 0)
        return child_main(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/child/each_cause_of_death_is_reported", test_each_death_is_told_apart);
    g_test_add_func("/child/end_of_a_long_output_is_kept", test_a_flood_keeps_its_last_words);
    g_test_add_func("/child/frames_before_death_all_arrive", test_frames_before_death_all_arrive);
    g_test_add_func("/child/deaths_without_an_answer_lengthen_the_pause",
                    test_silent_deaths_earn_growing_pauses);
    g_test_add_func("/child/requests_are_answered_and_the_end_is_orderly",
                    test_requests_come_back_and_the_end_is_orderly);
    g_test_add_func("/child/children_ignore_signals_to_the_group",
                    test_signals_to_all_are_the_agents);
    g_test_add_func("/child/memory_is_limited", test_memory_is_limited);
    g_test_add_func("/child/freeing_kills_without_a_callback", test_freeing_kills_without_a_word);
    g_test_add_func("/child/children_die_with_their_parent", test_children_die_with_their_parent);
    g_test_add_func("/child/grandchildren_die_with_the_child",
                    test_what_a_child_started_dies_with_it);
    return g_test_run();
}
