/* Admission: which workers may work on which campaign, in which order, and the reasons of refusals. */
#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <string.h>

static const char stack[] = "clang 15.0.6; opencl PoCL 3.1 LLVM 14.0.6; driver 535.104.05";
static const char kernel_driver[] = "hip 5.2; driver 5.15.0-91-generic";

/* Returns why the software stack `present` does not meet the constraints `wanted`; "" if it
 * does. */
static char *lacks_of(Store *store, const char *wanted, const char *present)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(
        store, &error, "SELECT coalesce(stack_lacks($1, $2), '')", "ss", wanted, present);
    g_assert_no_error(error);
    return g_strdup(PQgetvalue(rows, 0, 0));
}

static char *lacks(Store *store, const char *wanted)
{
    return lacks_of(store, wanted, stack);
}

static void test_constraints_are_ranges_or_exact(void)
{
    static const struct {
        const char *wanted, *lacks; /* part of the reason, "" if the constraint is met */
    } cases[] = {
        {"", ""},
        {"clang 15", ""},
        {"clang 15.0.6", ""},
        {"clang 1", "its clang is 15.0.6, asked for is \"clang 1\""},
        {"opencl PoCL 3", ""},
        {"opencl PoCL 4", "lacks \"opencl PoCL 4\""},
        {"clang >= 15", ""},
        {"clang >= 15 < 20; driver >= 535", ""},
        {"clang > 15", "its clang is 15.0.6, asked for is \"clang > 15\""},
        {"clang <= 15", ""},
        {"clang = 15", ""},
        {"clang = 15.0.7", "its clang is 15.0.6"},
        {"clang >= 16", "its clang is 15.0.6"},
        {"clang >= 9", ""},
        {"driver >= 535.104.6", "its driver is 535.104.05"},
        {"PoCL >= 3.1 < 4; LLVM >= 14", ""},
        {"llvm < 14", "its llvm is 14.0.6"},
        {"hip >= 5", "its stack has no hip"},
        {"runtime >= 3", ""},
        {"runtime >= 4", "its runtime is 3.1"},
        {"runtime PoCL 3.1", ""},
        {"runtime 3", ""},
        {"runtime 3.2", "its runtime is 3.1"},
        {"runtime PoCL 4", "lacks \"runtime PoCL 4\""},
        {" clang >= 15 ;; driver>=535 ", ""},
        {"OpenCL pocl 3.1", ""},
        {"opencl PoCL >= 3 < 4", ""},
        {"PoCL", ""},
        {"llvm", ""},
        {"CLANG", ""},
        {"clan", "lacks \"clan\""},
        {"PoCL 3.1 LLVM 14", ""},
        {"pocl 3.1 llvm 1", "lacks"},
    };
    g_autoptr(Store) store = scratch_store();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *reason = lacks(store, cases[i].wanted);
        if (cases[i].lacks[0] == '\0')
            g_assert_cmpstr(reason, ==, "");
        else if (!strstr(reason, cases[i].lacks))
            g_error("'%s' gives '%s'", cases[i].wanted, reason);
    }
}

static int64_t make_campaign(Store *store, struct campaign *campaign, GError **error)
{
    static int seed;
    char name[] = "test", target[] = "gfx90a68", strategy[] = "random";
    struct job_plan plan = {.solver = "ConvTest",
                            .revision = 1,
                            .hash = "h1",
                            .provider = "test",
                            .algorithm = "Direct",
                            .priority = 1,
                            .multiplicity = 1};
    struct job_plan plans[8];
    campaign->name = campaign->identity = name;
    campaign->target = campaign->target ? campaign->target : target;
    campaign->strategy = strategy;
    campaign->seed = ++seed;
    campaign->round_configs = 4;
    for (int i = 0; i < 8; i++) {
        plans[i] = plan;
        farm_problem(&plans[i].problem, 8 * (i + 1));
    }
    return store_create_campaign(store, campaign, plans, 8, NULL, NULL, error) ? campaign->id : 0;
}

static int64_t add(struct farm *farm, struct campaign campaign)
{
    g_autoptr(GError) error = NULL;
    int64_t id = make_campaign(farm->store, &campaign, &error);
    g_assert_no_error(error);
    return id;
}

/* A constraint that no worker reports could never be met: only toolchains and devices of this program are
 * allowed. */
static void test_names_that_nobody_reports_are_refused(void)
{
    static const char *const wrong[] = {"drivr >= 535", "gcc 12", "clang >= 15; rocm >= 6"};
    g_autoptr(Store) store = scratch_store();
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        struct campaign campaign = {.stack = (char *)wrong[i]};
        g_assert_cmpint(make_campaign(store, &campaign, &error), ==, 0);
        g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
        g_assert_nonnull(strstr(error->message, "no worker reports"));
        g_assert_nonnull(strstr(error->message, "clang, hiprtc, nvrtc, opencl"));
    }
}

static void test_unreadable_constraints_are_refused(void)
{
    static const char *const wrong[] = {"clang >= x",
                                        "clang >=",
                                        ">= 15",
                                        "clang >= 15 20",
                                        "clang => 15",
                                        "clang != 14",
                                        "clang ~> 15",
                                        "clang ~= 15",
                                        "clang 15 < 20",
                                        "hip 6.4 >= 3",
                                        "driver >= 5.15.0-91-generic",
                                        "opencl LLVM >= 3"};
    g_autoptr(Store) store = scratch_store();
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        struct campaign campaign = {.stack = (char *)wrong[i]};
        g_assert_cmpint(make_campaign(store, &campaign, &error), ==, 0);
        g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
        g_assert_nonnull(strstr(error->message, "cannot read the constraint"));
    }
}

static void test_a_version_with_letters_is_asked_for_whole(void)
{
    g_autoptr(Store) store = scratch_store();
    g_autofree char *whole = lacks_of(store, "driver 5.15.0-91-generic", kernel_driver);
    g_autofree char *range = lacks_of(store, "driver >= 5.15 < 5.16", kernel_driver);
    g_autofree char *other = lacks_of(store, "driver 5.15.0-92-generic", kernel_driver);
    g_assert_cmpstr(whole, ==, "");
    g_assert_cmpstr(range, ==, "");
    g_assert_true(g_str_has_prefix(other, "its stack lacks \"driver 5.15.0-92-generic\""));
}

/* Version numbers longer than any number type of PostgreSQL can still be compared. */
static void test_versions_of_any_length_compare(void)
{
    g_autofree char *digits = g_strnfill(200000, '9');
    g_autofree char *least = g_strconcat("clang >= ", digits, NULL);
    g_autofree char *most = g_strconcat("clang >= 00015.0 < ", digits, NULL);
    g_autoptr(Store) store = scratch_store();
    g_autofree char *lacking = lacks(store, least);
    g_autofree char *nothing = lacks(store, most);
    g_assert_true(g_str_has_prefix(lacking, "its clang is 15.0.6"));
    g_assert_cmpstr(nothing, ==, "");
}

static void test_long_constraints_are_refused(void)
{
    g_autofree char *digits = g_strnfill(200000, '9');
    g_autofree char *long_number = g_strconcat("clang >= ", digits, NULL);
    char short_number[] = "clang >= 9999999999";
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = scratch_store();
    struct campaign campaign = {.stack = long_number};
    g_assert_cmpint(make_campaign(store, &campaign, &error), ==, 0);
    g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
    g_assert_nonnull(strstr(error->message, "at most 1000 characters, this one 200009"));
    g_clear_error(&error);
    campaign = (struct campaign){.stack = short_number};
    g_assert_cmpint(make_campaign(store, &campaign, &error), ==, 0);
    g_assert_error(error, STORE_ERROR, STORE_ERROR_STATE);
    /* The table's own check also refuses a constraint that was stored without the store's
     * function. */
    char good[] = "clang >= 9";
    g_clear_error(&error);
    campaign = (struct campaign){.stack = good};
    g_assert_cmpint(make_campaign(store, &campaign, &error), >, 0);
    store_do(store, &error, "UPDATE campaigns SET stack = $1", "s", long_number);
    g_assert_error(error, STORE_ERROR, STORE_ERROR_REFUSED);
}

/* The campaign of the first worker's next job, 0 for none. */
static int64_t next_campaign(struct farm *farm)
{
    struct job *job = farm_claim_one(farm, 0, POOL_BUILD);
    int64_t campaign = job ? job->campaign : 0;
    if (job)
        job_free(job);
    return campaign;
}

static void relabel(struct farm *farm, const struct worker_info *info)
{
    g_autoptr(GError) error = NULL;
    store_register_worker(farm->store, info, &farm->workers[0], &error);
    g_assert_no_error(error);
}

static char *reason_of(struct farm *farm, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows =
        store_list_refusals(farm->store, farm->workers[0], campaign, &error);
    g_assert_no_error(error);
    return rows->len == 0 ? g_strdup("")
                          : g_strdup(((const struct refusal_row *)rows->pdata[0])->reason);
}

static void test_a_pool_is_worked_on_by_its_label_alone(void)
{
    static const char *const labels[] = {"day", "night", NULL};
    static char night[] = "night";
    struct farm farm;
    farm_init(&farm, NULL);
    int64_t campaign = add(&farm, (struct campaign){.pool = night});
    g_autofree char *reason = reason_of(&farm, campaign);
    g_assert_nonnull(strstr(reason, "worker --label night"));
    g_assert_cmpint(next_campaign(&farm), ==, 0);
    relabel(
        &farm,
        &(struct worker_info){
            .node = "one", .process = "p", .target = "gfx90a68", .stack = stack, .labels = labels});
    g_autofree char *none = reason_of(&farm, campaign);
    g_assert_cmpstr(none, ==, "");
    g_assert_cmpint(next_campaign(&farm), ==, campaign);
    farm_clear(&farm);
}

/* Cases: a constraint, and the workers that it binds. "" means no refusal. */
static void test_constraints_bind_whom_they_concern(void)
{
    static const struct worker_device h200[] = {
        {"0", "NVIDIA H200", "sm_90_132_140g", "GPU-1", "", "", "cuda 13.0; driver 580.159.03"}};
    static const struct worker_device mixed[] = {
        {"0", "NVIDIA H200", "sm_90_132_140g", "GPU-1", "", "", "cuda 13.0; driver 580.159.03"},
        {"1", "NVIDIA H200", "sm_90_132_140g", "GPU-2", "", "", "cuda 12.2; driver 535.104.05"},
        {"2", "a CPU", "cpu-znver4_64", "", "", "", "opencl PoCL 3.1 LLVM 14.0.6"}};
    static const struct worker_info builder = {.node = "b",
                                               .process = "p",
                                               .stack = "clang 15.0.6; nvrtc 13.0; opencl PoCL 3.1 "
                                                        "LLVM 14.0.6"},
                                    gpu = {.node = "g",
                                           .process = "p",
                                           .target = "sm_90_132_140g",
                                           .stack = "cuda 13.0; driver 580.159.03",
                                           .eval_only = true,
                                           .devices = h200,
                                           .device_count = 1},
                                    /* The worker's program reports no software of its devices. */
        older = {.node = "o",
                 .process = "p",
                 .target = "sm_90_132_140g",
                 .stack = "cuda 13.0",
                 .eval_only = true},
                                    several = {.node = "s",
                                               .process = "p",
                                               .target = "sm_90_132_140g",
                                               .stack = "cuda 13.0; driver 580.159.03; nvrtc 13.0",
                                               .devices = mixed,
                                               .device_count = 3};
    static const struct {
        const struct worker_info *worker;
        const char *stack, *target, *reason;
    } cases[] = {
        {&builder, "driver >= 535; cuda >= 13; runtime >= 13", "sm_90_132_140g", ""},
        {&builder, "nvrtc >= 13; driver >= 535", "sm_90_132_140g", ""},
        {&builder, "nvrtc >= 14; driver >= 535", "sm_90_132_140g",
         "its nvrtc is 13.0, asked for is \"nvrtc >= 14\""},
        {&builder, "hiprtc >= 5", "sm_90_132_140g", "its stack has no hiprtc"},
        {&builder, "opencl PoCL 4", "cpu-znver4_64", "its stack lacks \"opencl PoCL 4\""},
        {&gpu, "nvrtc >= 99; driver >= 535", "sm_90_132_140g", ""},
        {&gpu, "driver >= 581", "sm_90_132_140g",
         "its driver is 580.159.03, asked for is \"driver >= 581\""},
        {&gpu, "runtime >= 13.0 < 14", "sm_90_132_140g", ""},
        {&gpu, "runtime >= 13.1", "sm_90_132_140g", "its runtime is 13.0"},
        {&gpu, "driver 580.159.03", "sm_90_132_140g", ""},
        {&gpu, "hip >= 6", "sm_90_132_140g",
         "its stack has no hip, asked for is \"hip >= 6\": it is \"cuda 13.0; driver 580.159.03\""},
        {&older, "driver >= 535", "sm_90_132_140g",
         "its stack has no driver, asked for is \"driver >= 535\": it is \"cuda 13.0\""},
        /* A job may go to any device of the worker with that target. */
        {&several, "driver >= 580", "sm_90_132_140g",
         "to measure, its driver is 535.104.05, asked for is \"driver >= 580\""},
        {&several, "driver >= 535; nvrtc >= 13", "sm_90_132_140g", ""},
        {&several, "driver >= 535; nvrtc >= 14", "sm_90_132_140g",
         "to build, its nvrtc is 13.0, asked for is \"nvrtc >= 14\""},
        {&several, "driver >= 600; nvrtc >= 14", "sm_90_132_140g",
         "to build, its nvrtc is 13.0, asked for is \"nvrtc >= 14\"; to measure, its driver is "
         "535.104.05"},
        /* A CPU has no driver, whatever driver the worker's GPUs have. */
        {&several, "driver >= 535", "cpu-znver4_64",
         "to measure, its stack has no driver, asked for is \"driver >= 535\": it is \"opencl PoCL "
         "3.1 LLVM 14.0.6\""},
    };
    struct farm farm;
    farm_init(&farm, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct target target;
        g_assert_true(target_parse(cases[i].target, &target, &error));
        g_assert_true(store_put_target(farm.store, &target, &error));
        relabel(&farm, cases[i].worker);
        int64_t campaign = add(&farm, (struct campaign){.stack = (char *)cases[i].stack,
                                                        .target = (char *)cases[i].target});
        g_autofree char *reason = reason_of(&farm, campaign);
        g_test_message("%s for '%s': %s", cases[i].worker->node, cases[i].stack, reason);
        if (cases[i].reason[0] == '\0')
            g_assert_cmpstr(reason, ==, "");
        else
            g_assert_true(g_str_has_prefix(reason, cases[i].reason));
        g_assert_true(store_change_campaign(farm.store, campaign, "drop", &error));
        g_assert_no_error(error);
    }
    farm_clear(&farm);
}

/* The function that lists reasons for refusing a worker agrees with the one that gives out jobs. */
static void test_who_is_admitted_gets_jobs(void)
{
    static const struct worker_device device = {
        "0", "NVIDIA H200", "gfx90a68", "GPU-1", "", "", "hip 6.4; driver 6.10.5"};
    struct worker_info builder = {.node = "b", .process = "p", .stack = "clang 15.0.6"},
                       gpu = {.node = "g",
                              .process = "p",
                              .target = "gfx90a68",
                              .stack = "hip 6.4; driver 6.10.5",
                              .eval_only = true,
                              .devices = &device,
                              .device_count = 1};
    static char wanted[] = "clang >= 15; driver >= 6; runtime >= 6", newer[] = "driver >= 7";
    struct farm farm;
    farm_init(&farm, NULL);
    farm.campaign = add(&farm, (struct campaign){.stack = wanted});
    relabel(&farm, &builder);
    struct job *job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    farm_built(&farm, job, 0);
    job_free(job);
    relabel(&farm, &gpu);
    job = farm_claim_one(&farm, 0, POOL_EVAL);
    g_assert_nonnull(job);
    job_free(job);
    farm_change(&farm, "cancel");
    farm.campaign = add(&farm, (struct campaign){.stack = newer});
    relabel(&farm, &builder);
    job = farm_claim_one(&farm, 0, POOL_BUILD);
    g_assert_nonnull(job);
    farm_built(&farm, job, 0);
    job_free(job);
    relabel(&farm, &gpu);
    g_assert_null(farm_claim_one(&farm, 0, POOL_EVAL));
    farm_clear(&farm);
}

/* Damages rows of a campaign so that the server reports an error for each claim of them. */
static void break_claims_of(struct farm *farm, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *trigger =
        g_strdup_printf("CREATE TRIGGER breaks BEFORE UPDATE ON bundles FOR EACH ROW"
                        " WHEN (NEW.campaign_id = %" G_GINT64_FORMAT ") EXECUTE FUNCTION breaks()",
                        (gint64)campaign);
    store_do(farm->store, &error,
             "CREATE FUNCTION breaks() RETURNS trigger LANGUAGE plpgsql AS"
             " $$ BEGIN PERFORM 1 / 0; END $$",
             "");
    g_assert_no_error(error);
    store_do(farm->store, &error, trigger, "");
    g_assert_no_error(error);
}

static void test_an_error_of_one_campaign_leaves_the_others(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    farm_init(&farm, NULL);
    int64_t broken = add(&farm, (struct campaign){.priority = 1});
    int64_t good = add(&farm, (struct campaign){.priority = 0});
    break_claims_of(&farm, broken);
    for (int i = 0; i < 3; i++)
        g_assert_cmpint(next_campaign(&farm), ==, good);
    g_autofree char *reason = reason_of(&farm, broken);
    g_assert_cmpstr(reason, ==, "claiming from the campaign fails: division by zero");
    g_autofree char *none = reason_of(&farm, good);
    g_assert_cmpstr(none, ==, "");
    g_autoptr(GPtrArray) events =
        store_list_events_of(farm.store, broken, "campaign left out", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(events->len, ==, 1);
    store_do(farm.store, &error, "DROP FUNCTION breaks CASCADE", "");
    store_do(farm.store, &error, "UPDATE campaign_faults SET at = at - interval '1 minute'", "");
    g_assert_no_error(error);
    g_assert_cmpint(next_campaign(&farm), ==, broken);
    farm_clear(&farm);
}

static void test_refusals_say_why(void)
{
    static char target[] = "gfx1030_36", newer[] = "clang >= 17";
    static const char *const carried[] = {"ConvTest:2:h2", NULL};
    struct farm farm;
    farm_init(&farm, NULL);
    struct worker_info info = {
        .node = "one", .process = "p", .target = "gfx90a68", .stack = stack, .eval_only = true};
    relabel(&farm, &info);
    g_autofree char *other = reason_of(&farm, add(&farm, (struct campaign){.target = target}));
    g_assert_cmpstr(other, ==, "its target is gfx90a68, the campaign is for gfx1030_36");
    /* A constraint on the compiler does not exclude a worker that builds nothing. */
    int64_t compiled_newer = add(&farm, (struct campaign){.stack = newer});
    g_autofree char *measured = reason_of(&farm, compiled_newer);
    g_assert_cmpstr(measured, ==, "");
    info.eval_only = false;
    relabel(&farm, &info);
    g_autofree char *old = reason_of(&farm, compiled_newer);
    g_assert_cmpstr(old, ==, "to build, its clang is 15.0.6, asked for is \"clang >= 17\"");
    info.eval_only = true;
    info.solvers = carried;
    relabel(&farm, &info);
    g_autofree char *solver = reason_of(&farm, add(&farm, (struct campaign){.seed = 0}));
    g_assert_nonnull(strstr(solver, "such as ConvTest at revision 1"));
    /* A worker that builds is admitted to campaigns for any target. */
    info.solvers = NULL;
    info.eval_only = false;
    relabel(&farm, &info);
    g_autofree char *builds = reason_of(&farm, 1);
    g_assert_cmpstr(builds, ==, "");
    farm_clear(&farm);
}

static void spend(struct farm *farm, int64_t campaign, double seconds)
{
    g_autoptr(GError) error = NULL;
    store_add_spent(farm->store, campaign, seconds, &error);
    g_assert_no_error(error);
}

static void test_priority_comes_first_then_the_share(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    int urgent = 5;
    double half = 0.5;
    farm_init(&farm, NULL);
    int64_t one = add(&farm, (struct campaign){.share = 1});
    int64_t two = add(&farm, (struct campaign){.share = 2});
    int64_t high = add(&farm, (struct campaign){.priority = 1});
    for (int i = 0; i < 8; i++)
        g_assert_cmpint(next_campaign(&farm), ==, high);
    spend(&farm, one, 11);
    spend(&farm, two, 20);
    g_assert_cmpint(next_campaign(&farm), ==, two);
    spend(&farm, two, 4);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    g_assert_true(store_set_campaign(farm.store, two,
                                     &(struct campaign_changes){.priority = &urgent}, &error));
    g_assert_cmpint(next_campaign(&farm), ==, two);
    g_assert_true(store_set_campaign(
        farm.store, one, &(struct campaign_changes){.priority = &urgent, .share = &half}, &error));
    spend(&farm, one, 11);
    spend(&farm, two, 43);
    g_assert_cmpint(next_campaign(&farm), ==, two);
    spend(&farm, two, 2);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    g_assert_false(store_set_campaign(farm.store, 99,
                                      &(struct campaign_changes){.priority = &urgent}, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    farm_clear(&farm);
}

/* A later campaign does not get all workers until it has caught up: from its begin on, campaigns
 * share them. */
static void test_who_comes_later_shares_from_then_on(void)
{
    struct farm farm;
    farm_init(&farm, NULL);
    int64_t one = add(&farm, (struct campaign){.share = 1});
    spend(&farm, one, 1000);
    farm.campaign = add(&farm, (struct campaign){.share = 1});
    spend(&farm, farm.campaign, 2);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    spend(&farm, one, 3);
    g_assert_cmpint(next_campaign(&farm), ==, farm.campaign);

    farm_change(&farm, "pause");
    spend(&farm, one, 1000);
    farm_change(&farm, "resume");
    spend(&farm, farm.campaign, 2);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    spend(&farm, one, 3);
    g_assert_cmpint(next_campaign(&farm), ==, farm.campaign);
    farm_clear(&farm);
}

/* A campaign that no node can work on keeps its initial working time; the working time of later
 * campaigns does not begin from that. */
static void test_who_waits_for_nodes_holds_nobody_back(void)
{
    struct farm farm;
    char pool[] = "none";
    farm_init(&farm, NULL);
    int64_t one = add(&farm, (struct campaign){.share = 1});
    add(&farm, (struct campaign){.share = 1, .pool = pool});
    spend(&farm, one, 1000);
    struct job *held = farm_claim_one(&farm, 1, POOL_BUILD);
    g_assert_cmpint(held->campaign, ==, one);
    int64_t later = add(&farm, (struct campaign){.share = 1});
    spend(&farm, later, 2);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    spend(&farm, one, 3);
    g_assert_cmpint(next_campaign(&farm), ==, later);
    job_free(held);
    farm_clear(&farm);
}

static void test_another_share_counts_from_then_on(void)
{
    struct farm farm;
    g_autoptr(GError) error = NULL;
    double more = 100;
    farm_init(&farm, NULL);
    int64_t one = add(&farm, (struct campaign){.share = 1});
    int64_t two = add(&farm, (struct campaign){.share = 1});
    spend(&farm, one, 12);
    spend(&farm, two, 10);
    g_assert_true(
        store_set_campaign(farm.store, one, &(struct campaign_changes){.share = &more}, &error));
    g_assert_cmpint(next_campaign(&farm), ==, two);
    spend(&farm, two, 3);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    spend(&farm, one, 90);
    g_assert_cmpint(next_campaign(&farm), ==, one);
    farm_clear(&farm);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/admission/constraints_are_ranges_or_exact",
                    test_constraints_are_ranges_or_exact);
    g_test_add_func("/admission/unreadable_constraints_are_refused",
                    test_unreadable_constraints_are_refused);
    g_test_add_func("/admission/a_version_with_letters_is_asked_for_whole",
                    test_a_version_with_letters_is_asked_for_whole);
    g_test_add_func("/admission/versions_of_any_length_compare",
                    test_versions_of_any_length_compare);
    g_test_add_func("/admission/long_constraints_are_refused", test_long_constraints_are_refused);
    g_test_add_func("/admission/an_error_of_one_campaign_leaves_the_others",
                    test_an_error_of_one_campaign_leaves_the_others);
    g_test_add_func("/admission/unknown_constraint_names_are_refused",
                    test_names_that_nobody_reports_are_refused);
    g_test_add_func("/admission/constraints_bind_whom_they_concern",
                    test_constraints_bind_whom_they_concern);
    g_test_add_func("/admission/admitted_worker_gets_jobs", test_who_is_admitted_gets_jobs);
    g_test_add_func("/admission/a_pool_is_worked_on_by_its_label_alone",
                    test_a_pool_is_worked_on_by_its_label_alone);
    g_test_add_func("/admission/refusals_say_why", test_refusals_say_why);
    g_test_add_func("/admission/priority_comes_first_then_the_share",
                    test_priority_comes_first_then_the_share);
    g_test_add_func("/admission/later_campaign_shares_from_its_start",
                    test_who_comes_later_shares_from_then_on);
    g_test_add_func("/admission/campaign_without_nodes_delays_no_other",
                    test_who_waits_for_nodes_holds_nobody_back);
    g_test_add_func("/admission/another_share_counts_from_then_on",
                    test_another_share_counts_from_then_on);
    return g_test_run();
}
