/* The moves of a night: the program's table and the database's function have the same ones. */
#include "coordinator/nights/night.h"

#include "schema/store/store_private.h"
#include "tests/support/farm/scratch_db.h"

static void program_and_database_have_the_same_moves(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = scratch_store();
    int moves = 0;
    for (int from = 0; from < NIGHT_STATE_COUNT; from++) {
        for (int to = 0; to < NIGHT_STATE_COUNT; to++) {
            bool may = night_may_move((enum night_state)from, (enum night_state)to);
            g_autoptr(StoreRows) rows = store_read(
                store, &error, "SELECT night_may_move($1::night_state, $2::night_state)", "ss",
                night_state_name((enum night_state)from), night_state_name((enum night_state)to));
            g_assert_no_error(error);
            if ((PQgetvalue(rows, 0, 0)[0] == 't') != may)
                g_error("%s to %s: only one of them has this move",
                        night_state_name((enum night_state)from),
                        night_state_name((enum night_state)to));
            moves += may;
        }
    }
    g_assert_cmpint(moves, ==, 28);
}

static void every_state_has_its_row_and_leads_to_the_end(void)
{
    for (int at = 0; at < NIGHT_DONE; at++) {
        const struct night_move *move = &night_moves[at];
        g_assert_cmpint(move->at, ==, at);
        g_assert_nonnull(move->work);
        /* A night only goes forward: so it ends. */
        g_assert_cmpint(move->done, >, at);
        g_assert_cmpint(move->empty, >, at);
        g_assert_cmpint(move->failed, >, at);
        g_assert_true(move->failed >= NIGHT_REPORTING || at >= NIGHT_REPORTING);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/night/program_and_database_have_the_same_moves",
                    program_and_database_have_the_same_moves);
    g_test_add_func("/night/every_state_has_its_row_and_leads_to_the_end",
                    every_state_has_its_row_and_leads_to_the_end);
    return g_test_run();
}
