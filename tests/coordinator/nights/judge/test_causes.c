/* Causes of a difference between two measurements. */
#include "coordinator/nights/judge/causes.h"
#include "schema/results/conditions.h"

#include <string.h>

/* Two equal measurements, of which a row changes what it names. Texts are literals here. */
static struct regression_point usual(void)
{
    return (struct regression_point){
        .night = (char *)"2026-11-01",
        .solver = (char *)"ConvA",
        .config = (char *)"1,2",
        .revision = 3,
        .hash = (char *)"0123456789abcdef",
        .stack = (char *)"clang 15.0.6 Debian; opencl PoCL 3.1 LLVM 15.0.6; driver 535.104",
        .node = (char *)"n1",
        .n = 25,
        .median_ms = 1,
        .sm_mhz = 1980,
    };
}

static void check(const struct regression_point *now, const struct regression_node_evidence *node,
                  const char *expected)
{
    const struct regression_point before = usual();
    g_autoptr(GArray) causes = causes_find(&before, now, node);
    g_autofree char *text = causes_text(causes);
    g_assert_cmpstr(text, ==, expected);
}

static void test_nothing_changed(void)
{
    const struct regression_point now = usual();
    check(&now, NULL, "unknown: solver, software, node and clocks are as before");
}

static void test_solver(void)
{
    struct regression_point now = usual();
    now.hash = (char *)"fedcba9876543210";
    check(&now, NULL, "kernel source: source 01234567 -> fedcba98, revision 3");
    now.revision = 4;
    check(&now, NULL, "solver revision: revision 3 -> 4");
    now = usual();
    now.config = (char *)"2,2";
    check(&now, NULL, "config: 1,2 -> 2,2");
    now.solver = (char *)"ConvB";
    now.revision = 9; /* of another solver: no change of a revision */
    check(&now, NULL, "config: ConvA -> ConvB");
}

static void test_software(void)
{
    static const struct {
        const char *stack, *causes;
    } rows[] = {
        {"clang 16.0.1 Debian; opencl PoCL 3.1 LLVM 15.0.6; driver 535.104",
         "toolchain: clang 15.0.6 Debian -> 16.0.1 Debian"},
        {"clang 15.0.6 Debian; opencl PoCL 4.0 LLVM 15.0.6; driver 535.104",
         "runtime: opencl PoCL 3.1 LLVM 15.0.6 -> PoCL 4.0 LLVM 15.0.6"},
        {"driver 550.54;opencl PoCL 3.1 LLVM 15.0.6;  clang 15.0.6 Debian",
         "driver: driver 535.104 -> 550.54"},
        {"clang 16.0.1; opencl PoCL 3.1 LLVM 15.0.6; driver 550.54",
         "toolchain: clang 15.0.6 Debian -> 16.0.1; driver: driver 535.104 -> 550.54"},
        {"clang 15.0.6 Debian; opencl PoCL 3.1 LLVM 15.0.6", "driver: driver 535.104 is gone"},
        {"", "unknown: solver, software, node and clocks are as before"},
        {"driver 535.104; clang 15.0.6 Debian; opencl PoCL 3.1 LLVM 15.0.6; clang 15.0.6 Debian",
         "unknown: solver, software, node and clocks are as before"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct regression_point now = usual();
        now.stack = (char *)rows[i].stack;
        check(&now, NULL, rows[i].causes);
    }
}

static void test_node(void)
{
    struct regression_point now = usual();
    check(&now, &(struct regression_node_evidence){.other_fine = true, .other_node = "n2"},
          "node: n1 is slow, n2 is not");
    check(&now, &(struct regression_node_evidence){.percent = 7.25, .results = 40, .is_slow = true},
          "node: 40 unchanged results of n1 are 7.2 % slower");
    now.node = (char *)"n7";
    check(&now, NULL, "node: measured on n7 instead of n1");
    /* The node's other results are as before: moving there explains nothing. */
    check(&now, &(struct regression_node_evidence){.percent = 0.1, .results = 40},
          "unknown: solver, software, node and clocks are as before");
}

static void test_clocks(void)
{
    struct regression_point now = usual();
    now.sm_mhz = 1965; /* one step of a clock */
    check(&now, NULL, "unknown: solver, software, node and clocks are as before");
    now.sm_mhz = 1410;
    now.temperature_c = 88;
    now.throttle = THROTTLE_HEAT | THROTTLE_POWER_CAP;
    check(&now, NULL, "clocks: SM clock 1980 -> 1410 MHz, throttled: heat, 88 °C");
    now = usual();
    now.throttle = THROTTLE_POWER_CAP; /* usual under load */
    check(&now, NULL, "unknown: solver, software, node and clocks are as before");
}

static void test_names_are_read_as_written(void)
{
    for (int i = 0; i < CAUSE_COUNT; i++) {
        enum regression_cause cause = CAUSE_COUNT;
        g_assert_true(
            regression_cause_parse(regression_cause_name((enum regression_cause)i), &cause));
        g_assert_cmpint(cause, ==, i);
    }
    enum regression_cause cause;
    g_assert_false(regression_cause_parse("weather", &cause));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/causes/nothing_changed_is_unknown", test_nothing_changed);
    g_test_add_func("/causes/solver_and_config_are_named", test_solver);
    g_test_add_func("/causes/all_changed_software_is_named", test_software);
    g_test_add_func("/causes/node_is_named_by_evidence", test_node);
    g_test_add_func("/causes/lower_clocks_are_named", test_clocks);
    g_test_add_func("/causes/names_are_read_as_written", test_names_are_read_as_written);
    return g_test_run();
}
