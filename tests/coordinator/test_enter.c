/* Campaigns that a request finds again, and what is noted of those it makes. */
#include "coordinator/enter.h"
#include "coordinator/plan.h"
#include "tests/support/scratch_db.h"

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
        .target = f->target, .stack = g_strdup("other"), .device = g_strdup("")};
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
        g_assert_true(enter_campaign(f->store, &request, &machine, f->problems, &entered, NULL));
        first = i == 0 ? entered.campaign->id : first;
        g_assert_cmpint(entered.campaign->id, ==, first);
        g_assert_cmpint(entered.existed, ==, steps[i].existed);
        g_assert_cmpint(entered.extended, ==, steps[i].extended);
        g_assert_cmpfloat(entered.campaign->budget_seconds, ==, steps[i].expected);
        entered_clear(&entered);
    }
    machine_clear(&machine);
    request_clear(&request);
}

/* 4 output channels: too few for some solver to be promising beside the others. */
static void jobs_left_out_are_noted(struct fixture *f, gconstpointer data)
{
    struct machine machine = {.target = f->target, .stack = g_strdup(""), .device = g_strdup("")};
    struct request request;
    struct problem narrow = g_array_index(f->problems, struct plan_problem, 0).problem;
    (void)data;
    narrow.k = 4;
    g_array_set_size(f->problems, 0);
    plan_add_problem(f->problems, &narrow, 1);
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

#define ADD(path, function) g_test_add(path, struct fixture, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    ADD("/enter/the_same_request_finds_its_campaign_and_extends_it",
        the_same_request_finds_its_campaign_and_extends_it);
    ADD("/enter/jobs_left_out_are_noted", jobs_left_out_are_noted);
    return g_test_run();
}
