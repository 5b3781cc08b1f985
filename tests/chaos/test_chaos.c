/*
 * A farm on several hosts in the middle of everything that can go wrong, at random from a seed: at the
 * end every job is done or failed with its true reason, nothing is lost, nothing is there twice, and the
 * simulated jobs' winners are those of an undisturbed farm.
 *
 * usage: test_chaos [--long] [--seed N] [--seconds S] [--jobs N] [--keep FOLDER]
 *
 * Prints TAP, and a table: fault, times, jobs touched, lost, duplicated, falsely successful. --keep
 * leaves the database under FOLDER: SKIPJACK_HOME=FOLDER skipjack db psql. The short form takes less
 * than a minute, --long several.
 */
#include "tests/support/chaos/chaos_check.h"
#include "tests/support/chaos/chaos_faults.h"
#include "tests/support/chaos/chaos_room.h"
#include "tests/support/chaos/chaos_server.h"
#include "tests/support/patience.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

struct options {
    gboolean is_long;
    gint seed, seconds, jobs;
    gchar *keep;
};

struct tests {
    int count, failed;
};

static void tell(struct tests *tests, bool passed, const char *name)
{
    printf("%sok %d - /chaos/%s\n", passed ? "" : "not ", ++tests->count, name);
    tests->failed += !passed;
    fflush(stdout);
}

static void tell_time(gint64 start_us, const char *what)
{
    double seconds = (double)(g_get_monotonic_time() - start_us) / G_USEC_PER_SEC;
    printf("# after %.0f s: %s\n", seconds, what);
    fflush(stdout);
}

static void tell_skipped(struct tests *tests, const char *name, const char *reason)
{
    printf("ok %d - /chaos/%s # SKIP %s\n", ++tests->count, name, reason);
}

/* ---- making faults ---- */

/* Chooses a fault that can be made here and was not made yet, in an order that the seed fixes; when
 * all were made, a random one. */
static int next_fault(struct chaos *chaos, const struct fault_tally *tallies, int first, int turn)
{
    int count = fault_count(), index;
    for (int i = 0; i < count; i++) {
        /* 7 and the number of faults have no common divisor, so this visits all */
        index = (first + (turn + i) * 7) % count;
        if (tallies[index].times == 0 && fault_at(index)->why_not(chaos) == NULL)
            return index;
    }
    do
        index = g_rand_int_range(chaos->random, 0, count);
    while (fault_at(index)->why_not(chaos) != NULL);
    return index;
}

static void wreak(struct chaos *chaos, struct fault_tally *tallies)
{
    gint64 end = g_get_monotonic_time() + chaos->size.seconds * G_USEC_PER_SEC;
    int first = g_rand_int_range(chaos->random, 0, fault_count());
    for (int turn = 0; g_get_monotonic_time() < end; turn++) {
        int index = next_fault(chaos, tallies, first, turn);
        chaos_heal(chaos, false);
        chaos_fill(chaos);
        fault_do(chaos, index, &tallies[index]);
        g_usleep((gulong)g_rand_int_range(chaos->random, 100, 900) * 1000);
    }
}

static int both(GHashTable *some, GHashTable *others)
{
    GHashTableIter iter;
    gpointer id;
    int count = 0;
    g_hash_table_iter_init(&iter, some);
    while (g_hash_table_iter_next(&iter, &id, NULL))
        count += g_hash_table_contains(others, id);
    return count;
}

static void print_table(const struct chaos_check *check, const struct fault_tally *tallies)
{
    printf("# %-40s %6s %8s %5s %11s %17s\n", "fault", "times", "jobs", "lost", "duplicated",
           "falsely success.");
    for (int i = 0; i < fault_count(); i++)
        printf("# %-40s %6d %8u %5d %11d %17d\n", fault_at(i)->name, tallies[i].times,
               g_hash_table_size(tallies[i].touched), both(tallies[i].touched, check->jobs[LOST]),
               both(tallies[i].touched, check->jobs[DUPLICATED]),
               both(tallies[i].touched, check->jobs[FALSELY_SUCCESSFUL]));
    printf(
        "# simulated jobs: %d done, %d failed; real jobs: %d done, %d failed; of these %d truly as "
        "worker lost\n",
        check->sim_done, check->sim_failed, check->real_done, check->real_failed,
        check->worker_lost);
    printf("# rounds of simulated workers: %d acknowledged, %d refused\n", check->acknowledged,
           check->refused);
}

static void tell_findings(struct tests *tests, struct chaos *chaos, const struct chaos_check *check,
                          const struct fault_tally *tallies)
{
    static const char *const names[FINDINGS] = {"nothing_is_lost", "nothing_is_there_twice",
                                                "nothing_succeeds_falsely",
                                                "nothing_fails_falsely"};
    for (int i = 0; i < FINDINGS; i++)
        tell(tests, g_hash_table_size(check->jobs[i]) == 0, names[i]);
    tell(tests, check->errors == 0, "workers_see_no_other_errors");
    tell(tests, check->sim_done + check->sim_failed == chaos->size.sim_jobs && check->real_done > 0,
         "every_job_was_looked_at");
    tell(tests, check->acknowledged >= chaos->size.sim_jobs,
         "what_workers_were_told_was_looked_at");
    for (guint i = 0; i < MIN(check->words->len, 20); i++)
        printf("# %s\n", (const char *)check->words->pdata[i]);
    for (int i = 0; i < fault_count(); i++) {
        const struct fault_row *row = fault_at(i);
        const char *reason = row->why_not(chaos);
        if (reason == NULL && tallies[i].times == 0)
            reason = "time was up before it found somebody to strike";
        if (reason != NULL)
            tell_skipped(tests, row->name, reason);
        else
            tell(tests, true, row->name);
    }
}

static void print_agents(const struct chaos *chaos)
{
    for (int i = CHAOS_HOSTS * CHAOS_SIMS; i < CHAOS_ACTORS; i++) {
        g_autofree char *text = NULL;
        g_file_get_contents(chaos->actors[i].log, &text, NULL, NULL);
        g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
        guint count = g_strv_length(lines);
        printf("# %s's last words:\n", chaos->actors[i].node);
        for (guint line = count > 12 ? count - 12 : 0; line < count; line++)
            printf("#   %s\n", lines[line]);
    }
}

static int run(const struct options *options, const char *argv0)
{
    struct chaos_size size = {.seconds = options->seconds,
                              .sim_jobs = options->jobs,
                              .real_problems = options->is_long ? 60 : 3,
                              .tiny_problems = options->is_long ? 1000 : 12};
    struct tests tests = {0};
    struct chaos chaos;
    struct chaos_check check;
    gint64 start_us = g_get_monotonic_time();
    struct fault_tally *tallies = g_new0(struct fault_tally, (gsize)fault_count());
    for (int i = 0; i < fault_count(); i++)
        tallies[i].touched = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    chaos_init(&chaos, argv0, (guint32)options->seed, &size);
    printf("# seed %d, %s\n", options->seed,
           chaos.namespaces ? "hosts in network namespaces" : chaos.only_loopback);
    chaos_fill(&chaos);
    tell_time(start_us, "chaos begins");
    wreak(&chaos, tallies);
    tell_time(start_us, "chaos is over, the rest of the work is done");
    bool done = chaos_finish(&chaos, options->is_long ? 1200 : PATIENCE_SECONDS);
    tell(&tests, done, "all_campaigns_are_done");
    tell(&tests, chaos_dismiss(&chaos), "agents_end_in_good_order");
    tell_time(start_us, "what came of it is looked at");
    chaos_check_init(&check, &chaos);
    tell_findings(&tests, &chaos, &check, tallies);
    print_table(&check, tallies);
    if (tests.failed > 0)
        print_agents(&chaos);
    if (options->keep != NULL)
        tell(&tests, server_keep("chaos", options->keep, chaos.skipjack), "the_database_is_kept");
    printf("1..%d\n", tests.count);
    fflush(stdout);
    server_stop(SERVER_FAST);
    return tests.failed > 0;
}

static bool parse(struct options *options, int *argc, char ***argv)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GOptionContext) context = g_option_context_new("- a farm in chaos");
    gboolean speaks_tap; /* prove passes this option to every test; this test always prints TAP */
    const GOptionEntry entries[] = {
        {"tap", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, &speaks_tap, NULL, NULL},
        {"long", 0, 0, G_OPTION_ARG_NONE, &options->is_long, "Minutes, thousands of jobs", NULL},
        {"seed", 0, 0, G_OPTION_ARG_INT, &options->seed, "What is done, and when (1)", "N"},
        {"seconds", 0, 0, G_OPTION_ARG_INT, &options->seconds, "Of chaos (20; long 240)", "S"},
        {"jobs", 0, 0, G_OPTION_ARG_INT, &options->jobs, "Simulated (600; long 10000)", "N"},
        {"keep", 0, 0, G_OPTION_ARG_FILENAME, &options->keep,
         "Leave the database there, for skipjack with that SKIPJACK_HOME", "FOLDER"},
        {0}};
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, &error) || *argc > 1) {
        fprintf(stderr, "test_chaos: %s\n", error ? error->message : "what is that argument?");
        return false;
    }
    if (options->seconds == 0)
        options->seconds = options->is_long ? 240 : 20;
    if (options->jobs == 0)
        options->jobs = options->is_long ? 10000 : 600;
    if (options->seconds > 0 && options->jobs >= 100 && options->jobs <= 1000000)
        return true;
    fputs("test_chaos: --seconds takes 1 or more, --jobs 100 to 1000000\n", stderr);
    return false;
}

int main(int argc, char **argv)
{
    struct options options = {.seed = 1};
    setlocale(LC_ALL, "C");
    if (!parse(&options, &argc, &argv))
        return 2;
    return run(&options, argv[0]);
}
