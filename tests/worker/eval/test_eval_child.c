/* The eval child as a real process over pipes, with kernels that PoCL built. */
#include "worker/eval/eval_child.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/kernel_source.h"
#include "kernels/toolchains/opencl.h"
#include "schema/store/failure.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/target_json.h"

static char *scratch;

struct peer {
    pid_t pid;
    int in, out;
    struct target target;
};

static bool pocl_is_here(void)
{
    cl_device_id device;
    struct target target;
    return opencl_host_device(&device, &target, NULL);
}

/* ---- the child ---- */

static void peer_start(struct peer *peer)
{
    int to[2], from[2];
    g_assert_true(pipe(to) == 0 && pipe(from) == 0);
    peer->pid = fork();
    if (peer->pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        execl("/proc/self/exe", "test_eval_child", "child", "eval", NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    peer->in = to[1];
    peer->out = from[0];
}

static int peer_end(struct peer *peer)
{
    int status = 0;
    close(peer->in);
    waitpid(peer->pid, &status, 0);
    close(peer->out);
    return status;
}

static const char *text_of(const struct frame *frame, const char *name)
{
    const char *text = json_string_value(json_object_get(frame->head, name));
    return text ? text : "";
}

static double number_of(const struct frame *frame, const char *name)
{
    return json_number_value(json_object_get(frame->head, name));
}

static void peer_send(struct peer *peer, json_t *head, GBytes *blob)
{
    g_autoptr(GError) error = NULL;
    frame_write(peer->in, head, blob, &error);
    g_assert_no_error(error);
    json_decref(head);
}

static void peer_receive(struct peer *peer, struct frame *frame)
{
    g_autoptr(GError) error = NULL;
    if (!frame_read(peer->out, frame, &error))
        g_error("the eval child is gone: %s", error->message);
}

static void peer_greet(struct peer *peer)
{
    g_autoptr(GError) error = NULL;
    struct frame frame;
    peer_receive(peer, &frame);
    g_assert_cmpstr(text_of(&frame, "op"), ==, "hello");
    g_assert_true(g_str_has_prefix(text_of(&frame, "stack"), "opencl "));
    target_from_json(json_object_get(frame.head, "target"), &peer->target, &error);
    g_assert_no_error(error);
    frame_clear(&frame);
}

/* ---- requests ---- */

static const struct solver *usual_solver(void)
{
    return solver_find("ConvDirectNaive");
}

static void small_problem(struct problem *p)
{
    problem_init(p);
    p->c = 4;
    p->k = 6;
    p->in[AXIS_H] = p->in[AXIS_W] = 12;
    p->fil[AXIS_H] = p->fil[AXIS_W] = 3;
    p->pad[AXIS_H] = p->pad[AXIS_W] = 1;
    problem_set_output(p);
}

/* The naive kernel's code, with `from` in its source replaced by `to`; from NULL: unchanged. */
static GBytes *build_source(const struct target *target, const char *file, const char *options,
                            const char *entry, const char *from, const char *to)
{
    g_autoptr(GError) error = NULL;
    struct code_object object;
    const struct kernel_source *source = kernel_source_find(file, &error);
    g_assert_no_error(error);
    GString *text = g_string_new(source->text);
    if (from)
        g_assert_cmpint(g_string_replace(text, from, to, 0), >, 0);
    toolchain_find("opencl")->compile(text->str, options, entry, target, &object, &error);
    g_assert_no_error(error);
    GBytes *code = g_bytes_ref(object.code);
    code_object_clear(&object);
    g_string_free(text, TRUE);
    return code;
}

static GBytes *build_kernel(const struct target *target, const char *from, const char *to)
{
    g_autoptr(GError) error = NULL;
    struct problem p;
    struct context context;
    struct perf_config config = {0};
    struct solution solution;
    small_problem(&p);
    context_init(&context, target);
    solution_init(&solution);
    solver_solve(usual_solver(), &p, &context, &config, &solution, &error);
    g_assert_no_error(error);
    const struct launch *launch = &solution.launches[0];
    return build_source(target, launch->file, launch->options, launch->entry, from, to);
}

static void send_kernel(struct peer *peer, const char *key, GBytes *code)
{
    peer_send(peer, json_pack("{s:s,s:s}", "op", "kernel", "key", key), code);
}

/* Sends a request with one config for each key of the NULL-terminated list; the first config is the
 * default. judge: the key of the kernel that verifies on the device, NULL: none. */
static json_t *evaluate_request(struct peer *peer, int id, const char *const *keys,
                                const char *judge)
{
    char key[PROBLEM_KEY_MAX];
    struct problem p;
    json_t *configs = json_array();
    small_problem(&p);
    for (int i = 0; keys[i]; i++)
        json_array_append_new(
            configs, json_pack("{s:i,s:[],s:[s]}", "index", 10 + i, "values", "kernels", keys[i]));
    return json_pack("{s:s,s:i,s:s,s:s,s:o,s:i,s:o,s:i,s:f,s:f,s:s*}", "op", "evaluate", "id", id,
                     "problem", problem_key(&p, key), "solver", usual_solver()->name, "target",
                     target_to_json(&peer->target), "seed", 5, "configs", configs, "default", 10,
                     "best_ms", 0.0, "sample_seconds", 0.05, "judge", judge);
}

static void send_judged(struct peer *peer, int id, const char *const *keys, const char *judge)
{
    peer_send(peer, evaluate_request(peer, id, keys, judge), NULL);
}

static void send_evaluate(struct peer *peer, int id, const char *const *keys)
{
    send_judged(peer, id, keys, NULL);
}

struct answers {
    int begun, outcomes;
    enum failure failure[4];
    double median_ms[4];
    char *detail[4];
    double drift;
    bool stopped, by_device, doubted;
    char *failed, *refusal;
};

static void answers_clear(struct answers *answers)
{
    for (int i = 0; i < 4; i++)
        g_free(answers->detail[i]);
    g_free(answers->failed);
    g_free(answers->refusal);
    *answers = (struct answers){0};
}

static void note_outcome(const struct frame *frame, struct answers *answers)
{
    int place = (int)number_of(frame, "index") - 10;
    g_assert_cmpint(place, >=, 0);
    g_assert_cmpint(place, <, 4);
    answers->outcomes++;
    g_assert_true(failure_parse(text_of(frame, "failure"), &answers->failure[place]));
    answers->median_ms[place] = number_of(frame, "median_ms");
    g_free(answers->detail[place]);
    answers->detail[place] = g_strdup(text_of(frame, "detail"));
    if (answers->failure[place] == FAILURE_NONE) {
        g_assert_cmpfloat(number_of(frame, "min_ms"), >, 0);
        g_assert_cmpfloat(number_of(frame, "min_ms"), <=, answers->median_ms[place]);
        g_assert_cmpfloat(number_of(frame, "error"), <=, 1);
        g_assert_cmpfloat(number_of(frame, "n"), >=, 3);
    }
}

/* All answers to one request. */
static void take_answers(struct peer *peer, int id, struct answers *answers)
{
    bool over = false;
    *answers = (struct answers){0};
    while (!over) {
        struct frame frame;
        peer_receive(peer, &frame);
        const char *op = text_of(&frame, "op");
        g_assert_cmpint((int)number_of(&frame, "id"), ==, id);
        answers->begun += g_str_equal(op, "begin");
        if (g_str_equal(op, "outcome"))
            note_outcome(&frame, answers);
        if (g_str_equal(op, "failed"))
            answers->failed = g_strdup(text_of(&frame, "detail"));
        over = g_str_equal(op, "evaluated") || g_str_equal(op, "failed");
        if (g_str_equal(op, "evaluated")) {
            answers->drift = number_of(&frame, "drift");
            answers->stopped = json_is_true(json_object_get(frame.head, "stopped"));
            answers->by_device = json_is_true(json_object_get(frame.head, "by_device"));
            answers->doubted = json_is_true(json_object_get(frame.head, "doubted"));
            answers->refusal = g_strdup(text_of(&frame, "refusal"));
        }
        frame_clear(&frame);
    }
}

/* Whether a config was verified and measured. The outcome of its time depends on the machine's load. */
static bool is_timed(enum failure failure)
{
    return failure == FAILURE_NONE || failure == FAILURE_SLOW || failure == FAILURE_UNSTABLE;
}

/* ---- tests ---- */

static bool start_or_skip(struct peer *peer)
{
    if (!pocl_is_here()) {
        g_test_skip("no PoCL on this machine");
        return false;
    }
    peer_start(peer);
    peer_greet(peer);
    return true;
}

static void test_good_kernel(void)
{
    struct peer peer;
    struct answers answers;
    if (!start_or_skip(&peer))
        return;
    g_autoptr(GBytes) good = build_kernel(&peer.target, NULL, NULL);
    send_kernel(&peer, "good", good);
    send_evaluate(&peer, 1, (const char *const[]){"good", "good", NULL});
    take_answers(&peer, 1, &answers);
    g_assert_null(answers.failed);
    g_assert_true(is_timed(answers.failure[0]));
    g_assert_true(is_timed(answers.failure[1]));
    g_assert_cmpint(answers.begun, >=, 3); /* the default twice */
    /* Configs that may win are reported once, at the end. */
    g_assert_cmpint(answers.begun, >=, answers.outcomes);
    g_assert_true(answers.failure[0] != FAILURE_NONE || strstr(answers.detail[0], "compared") ||
                  strstr(answers.detail[1], "compared"));
    g_assert_true(answers.drift > 0 || answers.failure[0] == FAILURE_UNSTABLE);
    g_assert_false(answers.stopped);
    answers_clear(&answers);
    g_assert_cmpint(peer_end(&peer), ==, 0);
}

/* The child solves under the campaign's limits, too. This solver's naive kernel is never static, and has nothing to
 * tune. */
static void test_limits_are_the_campaigns(void)
{
    static const struct {
        struct context_limits limits;
        const char *words; /* part of the refusal's text; NULL: the config is measured */
    } cases[] = {
        {{.limits_workspace = true, .dynamic_only = true, .deterministic = true}, NULL},
        {{.tunable_only = true}, "only tunable solvers are asked for"},
    };
    struct peer peer;
    if (!start_or_skip(&peer))
        return;
    g_autoptr(GBytes) good = build_kernel(&peer.target, NULL, NULL);
    send_kernel(&peer, "good", good);
    for (int i = 0; i < (int)G_N_ELEMENTS(cases); i++) {
        struct answers answers;
        json_t *request = evaluate_request(&peer, i, (const char *const[]){"good", NULL}, NULL);
        json_object_set_new(request, "limits", limits_to_json(&cases[i].limits));
        peer_send(&peer, request, NULL);
        take_answers(&peer, i, &answers);
        if (cases[i].words)
            g_assert_nonnull(strstr(answers.detail[0], cases[i].words));
        else
            g_assert_true(is_timed(answers.failure[0]));
        answers_clear(&answers);
    }
    g_assert_cmpint(peer_end(&peer), ==, 0);
}

static void test_bad_kernels(void)
{
    struct peer peer;
    struct answers answers;
    if (!start_or_skip(&peer))
        return;
    g_autoptr(GBytes) good = build_kernel(&peer.target, NULL, NULL);
    g_autoptr(GBytes) wrong = build_kernel(&peer.target, "ACC sum = 0;", "ACC sum = 1;");
    g_autoptr(GBytes) junk = g_bytes_new_static("not a program", 13);
    send_kernel(&peer, "good", good);
    send_kernel(&peer, "wrong", wrong);
    send_kernel(&peer, "junk", junk);
    send_evaluate(&peer, 2, (const char *const[]){"wrong", "junk", "absent", "good", NULL});
    take_answers(&peer, 2, &answers);
    g_assert_cmpint(answers.failure[0], ==, FAILURE_WRONG_RESULT);
    g_assert_nonnull(strstr(answers.detail[0], "expected"));
    g_assert_cmpint(answers.failure[1], ==, FAILURE_LOAD_ERROR);
    g_assert_cmpint(answers.failure[2], ==, FAILURE_LOAD_ERROR);
    g_assert_nonnull(strstr(answers.detail[2], "was not received"));
    g_assert_true(is_timed(answers.failure[3]));
    answers_clear(&answers);
    g_assert_cmpint(peer_end(&peer), ==, 0);
}

/* Shifts every work-item by one place: the first element is not written, and one is written behind the tensor. */
/* The outcome's detail is the same whether host or device verifies, also for a device whose judge is wrong. */
static void test_judged_on_device(void)
{
    static const struct {
        const char *key, *from, *to;
        bool by_device, doubted;
        const char *refusal;
    } cases[] = {
        {"judge", NULL, NULL, true, false, ""},
        {"sick", "+ i * step] = sum[i];", "+ i * step] = (first + i * step) % 5 == 3 ? 0 : sum[i];",
         false, true, "the device's reference is wrong: "},
        {"good", NULL, NULL, false, false, "cannot find the kernel 'judge_random'"},
        {"absent", NULL, NULL, false, false, "the kernel absent was not received"},
    };
    struct peer peer;
    g_autofree char *words = NULL;
    if (!start_or_skip(&peer))
        return;
    g_autoptr(GBytes) good = build_kernel(&peer.target, NULL, NULL);
    g_autoptr(GBytes) wrong = build_kernel(&peer.target, "ACC sum = 0;", "ACC sum = 1;");
    send_kernel(&peer, "good", good);
    send_kernel(&peer, "wrong", wrong);
    for (int i = -1; i < (int)G_N_ELEMENTS(cases); i++) {
        const char *judge = i < 0 ? NULL : cases[i].key;
        struct answers answers;
        if (i >= 0 && i < 2) {
            g_autoptr(GBytes) code = build_source(&peer.target, "judge.cl", "", "judge_reference",
                                                  cases[i].from, cases[i].to);
            send_kernel(&peer, judge, code);
        }
        send_judged(&peer, 20 + i, (const char *const[]){"wrong", "good", NULL}, judge);
        take_answers(&peer, 20 + i, &answers);
        g_assert_cmpint(answers.failure[0], ==, FAILURE_WRONG_RESULT);
        g_assert_true(is_timed(answers.failure[1]));
        if (i < 0)
            words = g_strdup(answers.detail[0]);
        g_assert_cmpstr(answers.detail[0], ==, words);
        g_assert_true(answers.by_device == (i >= 0 && cases[i].by_device));
        g_assert_true(answers.doubted == (i >= 0 && cases[i].doubted));
        if (i >= 0)
            g_assert_true(g_str_has_prefix(answers.refusal, cases[i].refusal));
        answers_clear(&answers);
    }
    g_assert_cmpint(peer_end(&peer), ==, 0);
}

static void test_out_of_bounds(void)
{
    struct peer peer;
    struct answers answers;
    if (!start_or_skip(&peer))
        return;
    g_autoptr(GBytes) astray = build_kernel(&peer.target, "rest * y_n +", "1 + rest * y_n +");
    send_kernel(&peer, "astray", astray);
    send_evaluate(&peer, 3, (const char *const[]){"astray", NULL});
    take_answers(&peer, 3, &answers);
    g_assert_cmpint(answers.failure[0], ==, FAILURE_OUT_OF_BOUNDS);
    g_assert_nonnull(strstr(answers.detail[0], "outside of y"));
    answers_clear(&answers);
    g_assert_cmpint(peer_end(&peer), ==, 0);
}

/* A kernel kills the process: the last frame that the agent gets is the config's "begin". */
static void test_crash(void)
{
    struct peer peer;
    struct frame frame = {0};
    g_autoptr(GError) error = NULL;
    if (!start_or_skip(&peer))
        return;
    g_autoptr(GBytes) lost =
        build_kernel(&peer.target, "rest * y_n +", "0x100000000000L + rest * y_n +");
    send_kernel(&peer, "lost", lost);
    send_evaluate(&peer, 9, (const char *const[]){"lost", NULL});
    peer_receive(&peer, &frame);
    g_assert_cmpstr(text_of(&frame, "op"), ==, "begin");
    g_assert_cmpint((int)number_of(&frame, "index"), ==, 10);
    frame_clear(&frame);
    g_assert_false(frame_read(peer.out, &frame, &error));
    g_assert_error(error, WORKER_ERROR, WORKER_ERROR_CLOSED);
    g_assert_true(WIFSIGNALED(peer_end(&peer)));
}

static void test_refused_requests(void)
{
    struct peer peer;
    struct answers answers;
    if (!start_or_skip(&peer))
        return;
    g_assert_true(target_parse("gfx90a68", &peer.target, NULL));
    send_evaluate(&peer, 4, (const char *const[]){"any", NULL});
    take_answers(&peer, 4, &answers);
    g_assert_nonnull(answers.failed);
    g_assert_nonnull(strstr(answers.failed, "gfx90a68"));
    g_assert_cmpint(answers.begun, ==, 0);
    answers_clear(&answers);
    g_assert_cmpint(peer_end(&peer), ==, 0);
}

static void test_stop(void)
{
    struct peer peer;
    struct answers answers;
    if (!start_or_skip(&peer))
        return;
    /* Both are sent together, so the stop arrives before the second config begins. */
    send_evaluate(&peer, 5, (const char *const[]){"absent", "absent", "absent", NULL});
    send_evaluate(&peer, 6, (const char *const[]){"absent", NULL});
    peer_send(&peer, json_pack("{s:s}", "op", "stop"), NULL);
    take_answers(&peer, 5, &answers);
    g_assert_true(answers.stopped || answers.outcomes == 3);
    answers_clear(&answers);
    take_answers(&peer, 6, &answers);
    answers_clear(&answers);
    g_assert_cmpint(peer_end(&peer), ==, 0);
}

static void test_broken_protocol(void)
{
    struct peer peer;
    if (!start_or_skip(&peer))
        return;
    peer_send(&peer, json_pack("{s:s}", "op", "dance"), NULL);
    int status = peer_end(&peer);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
}

/* Sends a request for cold start times of two layers with one kernel; the second layer runs four
 * times as often. kernel: the kernel's key in the second layer. */
static void send_cold(struct peer *peer, const char *kernel)
{
    char text[PROBLEM_KEY_MAX];
    struct problem p;
    small_problem(&p);
    const char *key = problem_key(&p, text), *solver = usual_solver()->name;
    peer_send(peer,
              json_pack("{s:s,s:o,s:[{s:i,s:s,s:s,s:[],s:[s],s:i},{s:i,s:s,s:s,s:[],s:[s],s:i}]}",
                        "op", "cold", "target", target_to_json(&peer->target), "layers", "index", 0,
                        "problem", key, "solver", solver, "values", "kernels", "good", "runs", 1,
                        "index", 0, "problem", key, "solver", solver, "values", "kernels", kernel,
                        "runs", 4),
              NULL);
}

static void test_cold_start(void)
{
    struct peer peer;
    struct frame frame;
    if (!start_or_skip(&peer))
        return;
    g_autoptr(GBytes) good = build_kernel(&peer.target, NULL, NULL);
    send_kernel(&peer, "good", good);
    send_cold(&peer, "good");
    peer_receive(&peer, &frame);
    g_assert_cmpstr(text_of(&frame, "op"), ==, "cold");
    g_assert_cmpfloat(number_of(&frame, "load_seconds"), >, 0);
    g_assert_cmpfloat(number_of(&frame, "first_seconds"), >, 0);
    g_assert_cmpfloat(number_of(&frame, "second_seconds"), >, 0);
    frame_clear(&frame);
    send_cold(&peer, "never sent");
    g_assert_cmpint(WEXITSTATUS(peer_end(&peer)), ==, 1);
}

int main(int argc, char **argv)
{
    if (argc > 2 && g_str_equal(argv[1], "child"))
        return eval_child_main(NULL);
    g_autofree char *pattern = g_build_filename(g_get_tmp_dir(), "skipjack-test-XXXXXX", NULL);
    scratch = g_mkdtemp(pattern);
    g_setenv("SKIPJACK_SCRATCH", scratch, TRUE);
    opencl_environment(scratch, NULL);
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/eval_child/good_kernel_is_measured", test_good_kernel);
    g_test_add_func("/eval_child/campaign_limits_apply", test_limits_are_the_campaigns);
    g_test_add_func("/eval_child/each_bad_kernel_has_its_failure", test_bad_kernels);
    g_test_add_func("/eval_child/device_verifies_itself_and_may_be_doubted", test_judged_on_device);
    g_test_add_func("/eval_child/write_outside_is_found", test_out_of_bounds);
    g_test_add_func("/eval_child/last_begin_names_the_config_that_crashed", test_crash);
    g_test_add_func("/eval_child/foreign_target_is_refused", test_refused_requests);
    g_test_add_func("/eval_child/stop_is_honoured_between_configs", test_stop);
    g_test_add_func("/eval_child/cold_start_is_timed_or_ends_the_child", test_cold_start);
    g_test_add_func("/eval_child/unknown_request_ends_the_child", test_broken_protocol);
    int status = g_test_run();
    g_autofree char *remove = g_strdup_printf("rm -rf '%s'", scratch);
    if (!scratch || !g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL))
        g_printerr("cannot remove '%s'\n", scratch);
    return status;
}
