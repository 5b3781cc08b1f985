#include "worker/verify/guarded.h"

#include "tests/support/doubles/fake_device.h"

/* The guard zone of a smaller workspace begins where an earlier, larger workspace had its content:
 * it must be written anew. */
static void test_sizes(void)
{
    static const int64_t sizes[] = {5000, 100, 300, 5000, 60000, 200};
    static const bool fits[] = {false, true, true, true, false, true};
    struct fake_device fake;
    struct guarded guarded;
    fake_device_init(&fake);
    g_assert_true(guarded_alloc(&guarded, &fake.device, 40, 1, 0xff, NULL));
    g_assert_false(guarded_fits(&(struct guarded){0}, 1));
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree void *contents = g_malloc0((gsize)sizes[i]);
        int64_t offset = 0;
        bool damaged = true;
        g_assert_true(guarded_fits(&guarded, sizes[i]) == fits[i]);
        if (!fits[i]) {
            guarded_free(&guarded);
            g_assert_true(guarded_alloc(&guarded, &fake.device, sizes[i], 1, 0xff, NULL));
        }
        g_assert_true(guarded_resize(&guarded, sizes[i], NULL));
        fake_device_row.write(guarded.parts[0], 0, contents, sizes[i], NULL);
        g_assert_true(guarded_check(&guarded, 0, &damaged, &offset, NULL));
        g_assert_false(damaged);
        fake_device_row.write(guarded.parts[0], sizes[i] + 7, contents, 1, NULL);
        g_assert_true(guarded_check(&guarded, 0, &damaged, &offset, NULL));
        g_assert_true(damaged);
        g_assert_cmpint(offset, ==, sizes[i] + 7);
    }
    guarded_free(&guarded);
}

static void test_each_copy_is_repaired(void)
{
    const uint8_t stray = 1;
    struct fake_device fake;
    struct guarded guarded;
    fake_device_init(&fake);
    g_assert_true(guarded_alloc(&guarded, &fake.device, 40, 3, 0xff, NULL));
    for (int copy = 0; copy < 3; copy++) {
        int64_t offset = 0, place = GUARD_BYTES + copy * guarded.step + 47;
        bool damaged = false;
        fake_device_row.write(guarded.whole, place, &stray, 1, NULL);
        g_assert_true(guarded_check(&guarded, copy, &damaged, &offset, NULL));
        g_assert_true(damaged);
        g_assert_cmpint(offset, ==, 47);
        g_assert_true(guarded_check(&guarded, copy, &damaged, &offset, NULL));
        g_assert_false(damaged);
    }
    guarded_free(&guarded);
}

/* A stray byte is counted from the copy that it is nearer to. */
static void test_the_next_copy_may_be_nearer(void)
{
    const uint8_t stray = 1;
    struct fake_device fake;
    struct guarded guarded;
    fake_device_init(&fake);
    g_assert_true(guarded_alloc(&guarded, &fake.device, 40, 3, 0xff, NULL));
    for (int copy = 0; copy < 3; copy++) {
        bool damaged[3] = {true, true, true}, found = false;
        int64_t offset = 0, place = guarded_offset(&guarded, copy) + guarded.step - 5;
        fake_device_row.write(guarded.whole, place, &stray, 1, NULL);
        g_assert_true(guarded_find_damaged(&guarded, 0, 3, damaged, NULL));
        for (int i = 0; i < 3; i++)
            g_assert_true(damaged[i] == (i == copy));
        g_assert_true(guarded_check(&guarded, copy, &found, &offset, NULL));
        g_assert_true(found);
        g_assert_cmpint(offset, ==, copy < 2 ? -5 : guarded.step - 5);
        g_assert_true(guarded_find_damaged(&guarded, 0, 3, damaged, NULL));
        g_assert_false(damaged[copy]);
    }
    guarded_free(&guarded);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/guarded/zones_follow_a_workspaces_size", test_sizes);
    g_test_add_func("/guarded/each_copy_is_repaired", test_each_copy_is_repaired);
    g_test_add_func("/guarded/the_next_copy_may_be_nearer", test_the_next_copy_may_be_nearer);
    return g_test_run();
}
