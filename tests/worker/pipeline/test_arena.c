#include "worker/pipeline/arena.h"

#include <glib.h>
#include <stdbool.h>

static void no_two_live_blocks_share_a_byte(const struct arena_block *blocks, int count,
                                            const struct arena *arena)
{
    for (int i = 0; i < count; i++) {
        g_assert_cmpint(blocks[i].offset % 64, ==, 0);
        g_assert_cmpint(blocks[i].offset + blocks[i].bytes, <=, arena->bytes);
        for (int j = 0; j < i; j++) {
            bool together = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
            bool apart = blocks[i].offset + blocks[i].bytes <= blocks[j].offset ||
                         blocks[j].offset + blocks[j].bytes <= blocks[i].offset;
            g_assert_true(!together || apart || blocks[i].bytes == 0 || blocks[j].bytes == 0);
        }
    }
}

static void test_random_blocks_keep_apart(void)
{
    for (int trial = 0; trial < 300; trial++) {
        int count = g_test_rand_int_range(0, 60);
        struct arena_block blocks[60];
        struct arena arena;
        for (int i = 0; i < count; i++) {
            int first = g_test_rand_int_range(0, 40);
            blocks[i] = (struct arena_block){.bytes = g_test_rand_int_range(0, 5000),
                                             .first = first,
                                             .last = first + g_test_rand_int_range(0, 12)};
        }
        arena_plan(blocks, count, 64, &arena);
        no_two_live_blocks_share_a_byte(blocks, count, &arena);
        g_assert_cmpint(arena.bound_bytes, <=, arena.bytes);
        g_assert_cmpint(arena.bytes, <=, arena.sum_bytes);
    }
}

/* A chain needs two blocks at a time, whatever its length. */
static void test_a_chain_takes_two_blocks(void)
{
    struct arena_block blocks[50];
    struct arena arena;
    for (int i = 0; i < 50; i++)
        blocks[i] = (struct arena_block){.bytes = 1000, .first = i, .last = i + 1};
    arena_plan(blocks, 50, 256, &arena);
    g_assert_cmpint(arena.bytes, ==, 2048);
    g_assert_cmpint(arena.bound_bytes, ==, 2048);
    g_assert_cmpint(arena.sum_bytes, ==, 50 * 1024);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/arena/blocks_that_live_together_keep_apart", test_random_blocks_keep_apart);
    g_test_add_func("/arena/a_chain_takes_two_blocks", test_a_chain_takes_two_blocks);
    return g_test_run();
}
