/* Options and descriptions that create a campaign, and the requests that they are parsed to. */
#include "coordinator/campaigns/request.h"

#include <string.h>

#include "coordinator/cli/cli.h"
#include "tests/support/temp_folder.h"

static struct request request_with(const char *solvers, const char *workspace)
{
    struct request request;
    request_init(&request, 0);
    request.solvers = g_strdup(solvers);
    request.workspace_limit = g_strdup(workspace);
    return request;
}

static void solvers_are_named_by_families_too(void)
{
    static const struct {
        /* asked: the option; found, not_found: a solver that the option names, and one that it does
         * not. NULL found: the option is refused. */
        const char *asked, *found, *not_found;
    } cases[] = {
        {"ConvWinograd", "ConvWinograd", "ConvFft"},
        {"winograd", "ConvWinograd", "ConvFft"},
        {"Winograd,fft", "ConvFft", "ConvGemm1x1"},
        {"GEMM", "ConvGemm1x1", "ConvImplicitGemm"},
        {"implicitgemm", "ConvImplicitGemm", "ConvGemm1x1"},
        {"miopenConvolutionAlgoDirect", "ConvDirectNaive", "ConvWinograd"},
        {"fft,ConvCpuGemm", "ConvCpuGemm", "ConvCpuBlocked"},
        {"convwinograd", NULL, NULL},
        {"winograd,none", NULL, NULL},
        {"winograd,", NULL, NULL},
        {"Wino", NULL, NULL},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct request request = request_with(cases[i].asked, NULL);
        g_autoptr(GPtrArray) found = request_solvers(&request, &error);
        g_assert_true((found != NULL) == (cases[i].found != NULL));
        if (found) {
            g_assert_true(g_ptr_array_find(found, solver_find(cases[i].found), NULL));
            g_assert_false(g_ptr_array_find(found, solver_find(cases[i].not_found), NULL));
            g_assert_true(request_takes_unpromising(&request));
        } else {
            g_assert_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE);
        }
        request_clear(&request);
    }
}

static void every_family_finds_its_solvers(void)
{
    for (int i = 0; i < solver_table_count; i++) {
        struct request request = request_with(solver_table[i]->algorithm, NULL);
        g_autoptr(GPtrArray) found = request_solvers(&request, NULL);
        g_assert_true(g_ptr_array_find(found, solver_table[i], NULL));
        for (guint s = 0; s < found->len; s++)
            g_assert_cmpstr(((const struct solver *)found->pdata[s])->algorithm, ==,
                            solver_table[i]->algorithm);
        request_clear(&request);
    }
}

static void a_workspace_is_a_number_of_bytes(void)
{
    struct request request = request_with(NULL, "64MiB");
    struct context_limits limits;
    g_autoptr(GError) error = NULL;
    request.deterministic = true;
    g_assert_true(request_check(&request, &error));
    g_assert_true(request_limits(&request, &limits, &error));
    g_assert_true(limits.limits_workspace && limits.deterministic && !limits.dynamic_only);
    g_assert_cmpuint(limits.workspace_bytes, ==, 64 << 20);
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    request_add_limits(&request, words);
    g_ptr_array_add(words, NULL);
    g_autofree char *line = g_strjoinv(" ", (char **)words->pdata);
    g_assert_cmpstr(line, ==, "--workspace-limit 64MiB --deterministic");
    request_clear(&request);
    request = request_with(NULL, "-1");
    g_assert_false(request_check(&request, &error));
    g_assert_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE);
    g_assert_nonnull(strstr(error->message, "--workspace-limit: cannot read '-1'"));
    request_clear(&request);
}

static void descriptions_have_limits(void)
{
    static const struct {
        const char *text;
        struct context_limits limits; /* the limits that the description sets */
        bool is_read;
    } cases[] = {
        {"{}", {0}, true},
        {"{\"workspace_limit\": 0}", {.limits_workspace = true}, true},
        {"{\"workspace_limit\": \"1KiB\", \"dynamic_only\": true}",
         {.limits_workspace = true, .workspace_bytes = 1024, .dynamic_only = true},
         true},
        {"{\"deterministic\": true, \"tunable_only\": true, \"solvers\": [\"fft\", \"GEMM\"]}",
         {.deterministic = true, .tunable_only = true},
         true},
        {"{\"workspace_limit\": -1}", {0}, false},
        {"{\"workspace_limit\": 1.5}", {0}, false},
        {"{\"dynamic_only\": 1}", {0}, false},
        {"{\"dynamic\": true}", {0}, false},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct request request;
        struct context_limits limits;
        const char *path = temp_folder_write(folder, "campaign.json", cases[i].text, -1);
        request_init(&request, 0);
        g_test_message("%s", cases[i].text);
        g_assert_true(request_from_file(path, &request, &error) == cases[i].is_read);
        if (cases[i].is_read) {
            g_assert_true(request_check(&request, &error));
            g_assert_true(request_limits(&request, &limits, &error));
            g_assert_no_error(error);
            g_assert_true(context_limits_equal(&limits, &cases[i].limits));
        }
        request_clear(&request);
    }
}

/* A number of configs that differs from the default holds for close jobs, too, unless they have a number of their own. */
static void close_jobs_try_more_by_default(void)
{
    static const struct {
        const char *text;
        int close_configs; /* -1: refused */
    } cases[] = {
        {"{}", 96},
        {"{\"configs\": 32}", 96},
        {"{\"configs\": 40}", 0},
        {"{\"configs\": 4}", 0},
        {"{\"configs\": 0}", 0},
        {"{\"configs\": 4, \"close_configs\": 6}", 6},
        {"{\"close_configs\": 32}", 0},
        {"{\"build_only\": true}", 0},
        {"{\"close_configs\": 31}", -1},
        {"{\"configs\": 0, \"close_configs\": 6}", -1},
    };
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct request request;
        const char *path = temp_folder_write(folder, "campaign.json", cases[i].text, -1);
        request_init(&request, 0);
        g_test_message("%s", cases[i].text);
        g_assert_true(request_from_file(path, &request, &error));
        g_assert_true(request_check(&request, &error) == (cases[i].close_configs >= 0));
        if (error)
            g_assert_nonnull(strstr(error->message, request.configs > 0
                                                        ? "is fewer than any job may try"
                                                        : "needs a limit of configs"));
        else
            g_assert_cmpint(request_close_configs(&request), ==, cases[i].close_configs);
        request_clear(&request);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/request/solvers_are_named_by_families_too",
                    solvers_are_named_by_families_too);
    g_test_add_func("/request/every_family_finds_its_solvers", every_family_finds_its_solvers);
    g_test_add_func("/request/a_workspace_is_a_number_of_bytes", a_workspace_is_a_number_of_bytes);
    g_test_add_func("/request/close_jobs_try_more_by_default", close_jobs_try_more_by_default);
    g_test_add_func("/request/descriptions_have_limits", descriptions_have_limits);
    return g_test_run();
}
