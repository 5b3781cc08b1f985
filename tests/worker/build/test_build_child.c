/* The build child as a process over pipes, with a clang that is a script and a ready object. */
#include "worker/build/build_child.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/program.h"
#include "tests/support/temp_folder.h"
#include "worker/protocol/frames.h"
#include "worker/protocol/target_json.h"

#define VERSION "9.9 Odd (build 7)"

static TempFolder *folder;

/* The child's answer to a request, NULL for none, and the end of its standard error. */
struct answer {
    struct frame frame;
    int status;
    char *words;
};

static void answer_clear(struct answer *answer)
{
    frame_clear(&answer->frame);
    g_free(answer->words);
}

static void ask(json_t *head, struct answer *answer)
{
    const char *words = temp_folder_path(folder, "words");
    int to[2], from[2];
    *answer = (struct answer){0};
    g_assert_true(pipe(to) == 0 && pipe(from) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        int log = open(words, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(log, STDERR_FILENO);
        _exit(build_child_main());
    }
    close(to[0]);
    close(from[1]);
    g_assert_true(frame_write(to[1], head, NULL, NULL));
    json_decref(head);
    close(to[1]);
    frame_read(from[0], &answer->frame, NULL);
    close(from[0]);
    waitpid(pid, &answer->status, 0);
    g_assert_true(g_file_get_contents(words, &answer->words, NULL, NULL));
}

static json_t *compile_request(const char *version, const char *file, const char *hash)
{
    struct target target;
    g_assert_true(target_parse("gfx90a68", &target, NULL));
    return json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "op", "compile", "id", 1,
                     "toolchain", "clang", "version", version, "file", file, "hash", hash, "entry",
                     "copy", "options", "", "target", target_to_json(&target));
}

/* A key names its compiler's version and its source file, so code of another version or file is not returned. */
static void only_what_was_asked_for_is_answered(void)
{
    static const char other[] = "0000000000000000000000000000000000000000000000000000000000000000";
    char hash[PROGRAM_HASH_LENGTH + 1];
    struct target target;
    g_assert_true(target_parse("gfx90a68", &target, NULL));
    g_assert_true(program_hash("gone.co", &target, hash, NULL));
    const struct {
        const char *version, *file, *hash, *failure, *words;
    } cases[] = {
        /* The script writes no object file, and the prepared bytes are not a valid one. */
        {VERSION, "conv_direct_naive.cl", other, "compile error", ""},
        {VERSION, "gone.co", hash, "load error", ""},
        {"9.8", "conv_direct_naive.cl", other, NULL, "not as '9.8'"},
        {VERSION, "gone.co", other, NULL, "not the object that was asked for"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct answer answer;
        ask(compile_request(cases[i].version, cases[i].file, cases[i].hash), &answer);
        const char *failure = json_string_value(json_object_get(answer.frame.head, "failure"));
        g_assert_cmpstr(failure, ==, cases[i].failure);
        g_assert_cmpint(WEXITSTATUS(answer.status), ==, cases[i].failure ? 0 : 1);
        g_assert_nonnull(strstr(answer.words, cases[i].words));
        answer_clear(&answer);
    }
}

/* A compiler's output is stored with its kernel in the database. */
static void what_a_compiler_prints_is_bounded(void)
{
    static const char none[] = "0000000000000000000000000000000000000000000000000000000000000000";
    static const char script[] =
        "#!/bin/sh\n[ $1 = --version ] && echo 'Odd clang version 9.9 (build 7)' && exit 0\n"
        "grep -q 'void nothing' kernel.cl && exit 0\n"
        "echo first words >&2; head -c 5000000 /dev/zero | tr '\\0' x >&2; exit 1\n";
    g_autofree char *before = g_strdup(g_getenv("SKIPJACK_CLANG"));
    const char *loud = temp_folder_write(folder, "loud", script, -1);
    struct answer answer;
    g_chmod(loud, 0700);
    g_setenv("SKIPJACK_CLANG", loud, TRUE);
    ask(compile_request(VERSION, "conv_direct_naive.cl", none), &answer);
    g_setenv("SKIPJACK_CLANG", before, TRUE);
    const char *log = json_string_value(json_object_get(answer.frame.head, "log"));
    const char *failure = json_string_value(json_object_get(answer.frame.head, "failure"));
    g_assert_cmpstr(failure, ==, "compile error");
    g_assert_true(log && strstr(log, "first words") && strstr(log, "bytes more]"));
    g_assert_cmpuint(strlen(log), <, 100000);
    answer_clear(&answer);
}

/* HIP 5.2's HIPRTC ends its process when it is asked for gfx942. */
static void question_for_a_target_is_survived(void)
{
    const struct toolchain *hiprtc = toolchain_find("hiprtc");
    g_autoptr(GError) error = NULL;
    struct answer answer;
    struct target target;
    if (!hiprtc->version(NULL, &error)) {
        g_test_skip(error->message);
        return;
    }
    g_assert_true(target_parse("gfx942130", &target, NULL));
    ask(json_pack("{s:s, s:[s], s:o}", "op", "version", "toolchains", "hiprtc", "target",
                  target_to_json(&target)),
        &answer);
    const char *version = json_string_value(json_object_get(answer.frame.head, "version"));
    const char *refusal = json_string_value(json_object_get(answer.frame.head, "error"));
    g_assert_cmpint(answer.status, ==, 0);
    g_assert_true(*version || strstr(refusal, "does not compile for gfx942"));
    g_assert_cmpstr(answer.words, ==, "");
    answer_clear(&answer);
}

int main(int argc, char **argv)
{
    g_autoptr(TempFolder) made = temp_folder_new();
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    folder = made;
    const char *clang =
        temp_folder_write(folder, "clang",
                          "#!/bin/sh\n[ $1 = --version ] && echo 'Odd clang version 9.9 (build 7)'"
                          "\nexit 0\n",
                          -1);
    g_chmod(clang, 0700);
    g_chmod(temp_folder_write(folder, "ld.lld", "", 0), 0700);
    g_mkdir(temp_folder_path(folder, "gfx90a"), 0700);
    temp_folder_write(folder, "gfx90a/gone.co", "none", -1);
    g_setenv("SKIPJACK_CLANG", clang, TRUE);
    g_setenv("SKIPJACK_OBJECTS", temp_folder_path(folder, ""), TRUE);
    g_setenv("TMPDIR", temp_folder_path(folder, ""), TRUE);
    g_test_add_func("/build_child/another_version_or_file_is_not_answered",
                    only_what_was_asked_for_is_answered);
    g_test_add_func("/build_child/compiler_output_is_bounded", what_a_compiler_prints_is_bounded);
    g_test_add_func("/build_child/compiler_that_ends_the_process_is_survived",
                    question_for_a_target_is_survived);
    return g_test_run();
}
