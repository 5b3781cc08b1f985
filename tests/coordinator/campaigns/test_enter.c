/* A request creates a campaign or finds the one that an equal request created; problems left out of
 * a new campaign are noted. */
#include "coordinator/campaigns/enter.h"
#include "coordinator/plan/plan.h"
#include "schema/store/store_private.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>

/* Two problems and an empty database. */
struct fixture {
    Store *store;
    struct target target;
    GArray *problems;
};

static void add_problem(struct fixture *f, int64_t channels, int multiplicity)
{
    struct problem p;
    problem_init(&p);
    p.n = 1;
    p.c = p.k = channels;
    p.in[AXIS_H] = p.in[AXIS_W] = 16;
    problem_set_output(&p);
    plan_add_problem(f->problems, &p, multiplicity);
}

static void set_up(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->store = scratch_store();
    f->problems = g_array_new(FALSE, FALSE, sizeof(struct plan_problem));
    add_problem(f, 16, 3);
    add_problem(f, 32, 1);
    g_assert_true(target_parse("cpu-znver4_2", &f->target, NULL));
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    (void)data;
    g_array_unref(f->problems);
    store_close(f->store);
}

static void the_same_request_finds_its_campaign_and_extends_it(struct fixture *f,
                                                               gconstpointer data)
{
    (void)data;
    struct request request;
    struct machine machine = {
        .target = f->target, .stack = g_strdup("clang 99"), .device = g_strdup("")};
    static const struct {
        double budget, expected;
        bool existed, extended;
    } steps[] = {
        {60, 60, false, false}, {60, 60, true, false}, {30, 60, true, false},
        {90, 90, true, true},   {0, 0, true, true},    {90, 0, true, false},
    };
    int64_t first = 0;
    request_init(&request, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
        struct entered entered;
        request.budget_seconds = steps[i].budget;
        request.final_seconds = (double)(i % 2);
        g_assert_true(enter_campaign(f->store, &request, &machine, f->problems, &entered, NULL));
        first = i == 0 ? entered.campaign->id : first;
        g_assert_cmpint(entered.campaign->id, ==, first);
        g_assert_cmpint(entered.existed, ==, steps[i].existed);
        g_assert_cmpint(entered.extended, ==, steps[i].extended);
        g_assert_cmpfloat(entered.campaign->budget_seconds, ==, steps[i].expected);
        g_assert_cmpfloat(entered.campaign->final_seconds, ==, request.final_seconds);
        entered_clear(&entered);
    }
    machine_clear(&machine);
    request_clear(&request);
}

static void settings_that_a_request_leaves_out_stay(struct fixture *f, gconstpointer data)
{
    static char night[] = "night";
    static const struct {
        int priority;
        double share;
        char *pool;
        int expected_priority;
        double expected_share;
        const char *expected_pool;
    } steps[] = {{3, 2, NULL, 3, 2, ""}, {0, 1, night, 3, 2, "night"}, {5, 1, NULL, 5, 2, "night"}};
    struct machine machine = {.target = f->target, .stack = g_strdup(""), .device = g_strdup("")};
    (void)data;
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
        struct request request;
        struct entered entered;
        request_init(&request, 0);
        request.priority = steps[i].priority;
        request.share = steps[i].share;
        request.pool = g_strdup(steps[i].pool);
        g_assert_true(enter_campaign(f->store, &request, &machine, f->problems, &entered, NULL));
        struct campaign *now = store_get_campaign(f->store, entered.campaign->id, NULL);
        g_assert_cmpint(now->priority, ==, steps[i].expected_priority);
        g_assert_cmpfloat(now->share, ==, steps[i].expected_share);
        g_assert_cmpstr(now->pool, ==, steps[i].expected_pool);
        campaign_free(now);
        entered_clear(&entered);
        request_clear(&request);
    }
    machine_clear(&machine);
}

#define ASKING 4

struct asking {
    struct fixture *fixture;
    gint *waiting; /* count of threads that are not ready to ask yet */
    struct entered entered;
};

static gpointer ask(gpointer data)
{
    struct asking *asking = data;
    struct fixture *f = asking->fixture;
    struct request request;
    struct machine machine = {.target = f->target, .stack = g_strdup(""), .device = g_strdup("")};
    g_autoptr(GError) error = NULL;
    Store *store = store_open(scratch_db_url(), &error);
    request_init(&request, 0);
    g_atomic_int_dec_and_test(asking->waiting);
    while (g_atomic_int_get(asking->waiting) > 0)
        g_thread_yield();
    enter_campaign(store, &request, &machine, f->problems, &asking->entered, &error);
    g_assert_no_error(error);
    request_clear(&request);
    machine_clear(&machine);
    store_close(store);
    return NULL;
}

static void equal_requests_at_once_get_one_campaign(struct fixture *f, gconstpointer data)
{
    struct asking asking[ASKING];
    GThread *threads[ASKING];
    gint waiting = ASKING;
    int made = 0;
    (void)data;
    for (int i = 0; i < ASKING; i++) {
        asking[i] = (struct asking){.fixture = f, .waiting = &waiting};
        threads[i] = g_thread_new("ask", ask, &asking[i]);
    }
    for (int i = 0; i < ASKING; i++) {
        g_thread_join(threads[i]);
        made += !asking[i].entered.existed;
        g_assert_cmpint(asking[i].entered.campaign->id, ==, asking[0].entered.campaign->id);
    }
    g_assert_cmpint(made, ==, 1);
    for (int i = 0; i < ASKING; i++)
        entered_clear(&asking[i].entered);
}

/* The connection is lost during planning, which may take long: the campaign is created over a new
 * connection. */
static void a_connection_lost_while_planning_is_replaced(struct fixture *f, gconstpointer data)
{
    struct machine machine = {.target = f->target, .stack = g_strdup(""), .device = g_strdup("")};
    struct request request;
    struct entered entered;
    g_autoptr(GError) error = NULL;
    Store *other = store_open(scratch_db_url(), &error);
    (void)data;
    g_assert_true(store_do(other, &error,
                           "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                           " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                           " AND backend_type = 'client backend'",
                           ""));
    store_close(other);
    request_init(&request, 0);
    g_assert_true(enter_campaign(f->store, &request, &machine, f->problems, &entered, &error));
    g_assert_no_error(error);
    entered_clear(&entered);
    machine_clear(&machine);
    request_clear(&request);
}

/* Replaces the problems by one of 4 output channels: for so few, some solvers are estimated too
 * slow and left out. */
static void ask_for_narrow(struct fixture *f)
{
    struct problem narrow = g_array_index(f->problems, struct plan_problem, 0).problem;
    narrow.k = 4;
    g_array_set_size(f->problems, 0);
    plan_add_problem(f->problems, &narrow, 1);
}

static void jobs_left_out_are_noted(struct fixture *f, gconstpointer data)
{
    struct machine machine = {.target = f->target, .stack = g_strdup(""), .device = g_strdup("")};
    struct request request;
    (void)data;
    ask_for_narrow(f);
    request_init(&request, 0);
    for (int all = 0; all < 2; all++) {
        struct entered entered;
        struct enter_notes notes;
        request.all_solvers = all;
        g_assert_true(enter_campaign(f->store, &request, &machine, f->problems, &entered, NULL));
        g_assert_false(entered.existed);
        g_assert_cmpint(entered.left_out > 0, ==, !all);
        g_assert_true(enter_read_notes(f->store, entered.campaign->id, &notes, NULL));
        g_assert_cmpint(notes.left_out, ==, entered.left_out);
        g_assert_cmpuint(notes.uncovered->len, ==, 0);
        enter_notes_clear(&notes);
        entered_clear(&entered);
    }
    machine_clear(&machine);
    request_clear(&request);
}

/* A process that dies while it creates a campaign leaves either no campaign or one with the notes
 * on what was left out. */
static void campaign_and_notes_come_together(struct fixture *f, gconstpointer data)
{
    static const char *const steps[] = {
        ("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
         " $$ BEGIN RAISE EXCEPTION 'the diary is full'; END $$"),
        "CREATE TRIGGER refuse BEFORE INSERT ON events EXECUTE FUNCTION refuse()",
        "DROP FUNCTION refuse() CASCADE",
    };
    struct machine machine = {.target = f->target, .stack = g_strdup(""), .device = g_strdup("")};
    struct request request;
    struct entered entered;
    struct enter_notes notes;
    (void)data;
    ask_for_narrow(f);
    request_init(&request, 0);
    g_assert_true(store_do(f->store, NULL, steps[0], "") && store_do(f->store, NULL, steps[1], ""));
    g_assert_false(enter_campaign(f->store, &request, &machine, f->problems, &entered, NULL));
    entered_clear(&entered);
    g_assert_true(store_do(f->store, NULL, steps[2], ""));
    g_assert_true(enter_campaign(f->store, &request, &machine, f->problems, &entered, NULL));
    g_assert_true(enter_read_notes(f->store, entered.campaign->id, &notes, NULL));
    g_assert_cmpint(notes.left_out, >, 0);
    enter_notes_clear(&notes);
    entered_clear(&entered);
    machine_clear(&machine);
    request_clear(&request);
}

#define ADD(path, function) g_test_add(path, struct fixture, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    ADD("/enter/the_same_request_finds_its_campaign_and_extends_it",
        the_same_request_finds_its_campaign_and_extends_it);
    ADD("/enter/settings_that_a_request_leaves_out_stay", settings_that_a_request_leaves_out_stay);
    ADD("/enter/equal_requests_at_once_get_one_campaign", equal_requests_at_once_get_one_campaign);
    ADD("/enter/a_connection_lost_while_planning_is_replaced",
        a_connection_lost_while_planning_is_replaced);
    ADD("/enter/jobs_left_out_are_noted", jobs_left_out_are_noted);
    ADD("/enter/campaign_and_notes_come_together", campaign_and_notes_come_together);
    return g_test_run();
}
