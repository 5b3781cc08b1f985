/* The tables of the agent's state machines: each row, each pair that is no row, and the page that draws them. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/agent/agent_state.h"
#include "worker/agent/build/agent_build_child.h"
#include "worker/agent/build/build_job.h"
#include "worker/agent/eval/eval_job.h"
#include "worker/agent/eval/evaluator.h"

static const struct state_machine *const machines[] = {&agent_machine, &evaluator_machine,
                                                       &eval_job_machine, &build_job_machine,
                                                       &build_child_machine};

#define PAGE "worker/agent/STATES.md"

static void test_each_row_is_found(void)
{
    for (size_t m = 0; m < G_N_ELEMENTS(machines); m++) {
        const struct state_machine *machine = machines[m];
        for (int i = 0; i < machine->row_count; i++) {
            const struct state_machine_row *row = &machine->rows[i];
            g_assert_cmpint(row->state, <, machine->state_count);
            g_assert_cmpint(row->event, <, machine->event_count);
            g_assert_cmpint(row->next, <, machine->state_count);
            g_assert_true(state_machine_find(machine, row->state, row->event) == row);
            g_assert_true(state_machine_move(machine, NULL, NULL, row->state, row->event) == row);
        }
    }
}

static int rows_with(const struct state_machine *machine, int event)
{
    int count = 0;
    for (int i = 0; i < machine->row_count; i++)
        count += machine->rows[i].event == event;
    return count;
}

/* From the first state on; a state that nothing leads to, or an event of no row, is a leftover. */
static void test_each_state_is_reached(void)
{
    for (size_t m = 0; m < G_N_ELEMENTS(machines); m++) {
        const struct state_machine *machine = machines[m];
        g_autofree bool *reached = g_new0(bool, machine->state_count);
        reached[0] = true;
        for (int round = 0; round < machine->state_count; round++)
            for (int i = 0; i < machine->row_count; i++)
                reached[machine->rows[i].next] |= reached[machine->rows[i].state];
        for (int state = 0; state < machine->state_count; state++)
            g_assert_true(reached[state]);
        for (int event = 0; event < machine->event_count; event++)
            g_assert_cmpint(rows_with(machine, event), >, 0);
    }
}

static void move_aborts(const struct state_machine *machine, int state, int event)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        static const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        /* Its last words would end the test's own protocol. */
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        state_machine_move(machine, "x", NULL, state, event);
        _exit(0);
    }
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFSIGNALED(status));
}

static void test_each_other_pair_aborts(void)
{
    for (size_t m = 0; m < G_N_ELEMENTS(machines); m++)
        for (int state = 0; state < machines[m]->state_count; state++)
            for (int event = 0; event < machines[m]->event_count; event++)
                if (!state_machine_find(machines[m], state, event))
                    move_aborts(machines[m], state, event);
}

/* ---- the page ---- */

static const char head[] =
    "# States of the agent\n"
    "\n"
    "Each state machine of the agent, drawn from its table: a line of a drawing is a row of the table, "
    "with the event and, behind a slash, the function that runs after the move. A machine begins in its "
    "first state, and an event that its table does not allow aborts the agent. With `--log-level debug` the "
    "agent logs each move (event `state`). `tests/worker/agent/test_moves` makes each move with its action; "
    "`test_state_machine` compares this page with the tables, and writes it with `SKIPJACK_WRITE_STATES=1`.\n";

static void add_names(GString *page, const char *title, const struct state_machine_name *names,
                      int count)
{
    g_string_append_printf(page, "\n| %s | |\n|---|---|\n", title);
    for (int i = 0; i < count; i++)
        g_string_append_printf(page, "| %s | %s |\n", names[i].name, names[i].meaning);
}

/* A state's name as Mermaid takes it: one word. */
static char *word(const char *name)
{
    return g_strdelimit(g_strdup(name), " ", '_');
}

static void add_drawing(GString *page, const struct state_machine *machine)
{
    g_autofree char *first = word(machine->states[0].name);
    g_string_append_printf(page, "\n```mermaid\nstateDiagram-v2\n    [*] --> %s\n", first);
    for (int i = 0; i < machine->row_count; i++) {
        const struct state_machine_row *row = &machine->rows[i];
        g_autofree char *from = word(machine->states[row->state].name);
        g_autofree char *to = word(machine->states[row->next].name);
        g_string_append_printf(page, "    %s --> %s: %s%s%s\n", from, to,
                               machine->events[row->event].name, row->action ? " / " : "",
                               row->action ? row->action_name : "");
    }
    g_string_append(page, "```\n");
}

static void test_the_page_draws_the_tables(void)
{
    g_autoptr(GString) page = g_string_new(head);
    g_autofree char *written = NULL;
    for (size_t m = 0; m < G_N_ELEMENTS(machines); m++) {
        const struct state_machine *machine = machines[m];
        g_autofree char *title = g_strdup(machine->name);
        title[0] = g_ascii_toupper(title[0]);
        g_string_append_printf(page, "\n## %s\n", title);
        add_drawing(page, machine);
        add_names(page, "state", machine->states, machine->state_count);
        add_names(page, "event", machine->events, machine->event_count);
    }
    if (g_getenv("SKIPJACK_WRITE_STATES"))
        g_assert_true(g_file_set_contents(PAGE, page->str, -1, NULL));
    g_assert_true(g_file_get_contents(PAGE, &written, NULL, NULL));
    g_assert_cmpstr(written, ==, page->str);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/state_machine/each_row_is_found", test_each_row_is_found);
    g_test_add_func("/state_machine/each_state_is_reached", test_each_state_is_reached);
    g_test_add_func("/state_machine/each_other_pair_aborts", test_each_other_pair_aborts);
    g_test_add_func("/state_machine/the_page_draws_the_tables", test_the_page_draws_the_tables);
    return g_test_run();
}
