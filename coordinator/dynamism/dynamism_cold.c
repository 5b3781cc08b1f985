/* The cold start, measured by the worker: the coordinator opens no device. */
#include "coordinator/cli/cli.h"
#include "coordinator/dynamism/dynamism_report.h"
#include "coordinator/plan/plan.h"
#include "coordinator/process/machine.h"
#include "coordinator/process/process.h"
#include "solvers/problem/problem_key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The description that `worker --cold` reads: the policy's configs in the network's order. */
static json_t *request_json(const struct dynamism_network *network, int policy)
{
    json_t *layers = json_array();
    for (guint i = 0; i < network->measured->len; i++) {
        const struct plan_problem *problem =
            &g_array_index(network->measured, struct plan_problem, i);
        const struct result *result = g_ptr_array_index(network->policies[policy].choices, i);
        char key[PROBLEM_KEY_MAX];
        json_array_append_new(layers, json_pack("{s:s, s:s, s:s, s:i, s:I}", "problem",
                                                problem_key(&problem->problem, key), "solver",
                                                result->solver, "config", result->kept.config_text,
                                                "runs", problem->multiplicity, "workspace_bytes",
                                                (json_int_t)result->kept.workspace_bytes));
    }
    return json_pack("{s:o}", "layers", layers);
}

/* The request as a file in memory, which is gone with whoever holds it; the command inherits it
 * under the same number. -1 and a set error when it cannot be made. */
static int write_request(json_t *request, GError **error)
{
    int fd = memfd_create("skipjack-cold", 0);
    if (fd >= 0 && json_dumpfd(request, fd, JSON_COMPACT) == 0)
        return fd;
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
                "cannot write what 'skipjack worker --cold' reads: %s", g_strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool read_answer(const char *text, struct dynamism_cold *cold, GError **error)
{
    json_t *answer = json_loads(text, 0, NULL);
    json_int_t bytes = 0;
    cold->measured =
        answer && json_unpack(answer, "{s:i, s:I, s:F, s:F, s:F, s:F}", "kernels", &cold->kernels,
                              "bytes", &bytes, "compile_seconds", &cold->compile_seconds,
                              "load_seconds", &cold->load_seconds, "first_seconds",
                              &cold->first_seconds, "second_seconds", &cold->second_seconds) == 0;
    cold->bytes = bytes;
    json_decref(answer);
    if (!cold->measured)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
                    "cannot measure a cold start: 'skipjack worker --cold' printed no times");
    return cold->measured;
}

static bool measure(const struct dynamism_network *network, int policy, struct dynamism_cold *cold,
                    int *caught, GError **error)
{
    g_autofree char *output = NULL;
    json_t *request = request_json(network, policy);
    int fd = write_request(request, error);
    json_decref(request);
    if (fd < 0)
        return false;
    fprintf(stderr, "cold start of %s, %s: %d kernels, about %.1f s to compile\n", network->name,
            dynamism_policy_name(policy), network->policies[policy].kernels,
            network->policies[policy].compile_seconds);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    const char *const args[] = {"worker", "--cold", path, NULL};
    bool ran = process_run_stoppable(args, &output, caught, error);
    close(fd);
    return ran && read_answer(output, cold, error);
}

static void measure_or_note(struct dynamism_report *report, guint index, int policy)
{
    g_autoptr(GError) error = NULL;
    const struct dynamism_network *network = g_ptr_array_index(report->networks, index);
    int caught = 0;
    bool measured = measure(network, policy, &report->cold[index][policy], &caught, &error);
    report->stopped = caught != 0;
    if (report->stopped)
        g_ptr_array_add(report->notes,
                        g_strdup("The cold starts were stopped: those that are shown are whole"));
    else if (!measured)
        g_ptr_array_add(report->notes,
                        g_strdup_printf("%s, %s: no cold start: %s", network->name,
                                        dynamism_policy_name(policy), error->message));
    report->cold_failures += !measured && !report->stopped;
}

static bool check_machine(const struct dynamism_report *report, GError **error)
{
    struct machine machine = {0};
    if (!machine_probe(&machine, error))
        return false;
    bool same = strcmp(machine.target.id, report->target) == 0;
    if (!same)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "this machine is %s: --cold measures on the target itself, %s",
                    machine.target.id, report->target);
    machine_clear(&machine);
    return same;
}

bool dynamism_report_cold(struct dynamism_report *report, GError **error)
{
    if (!check_machine(report, error))
        return false;
    process_block_signals();
    for (guint i = 0; i < report->networks->len; i++) {
        const struct dynamism_network *network = g_ptr_array_index(report->networks, i);
        for (int p = 0; network->measured->len > 0 && p < DYNAMISM_POLICIES; p++)
            if (!report->stopped)
                measure_or_note(report, i, p);
    }
    if (!report->stopped)
        process_unblock_signals();
    return true;
}
