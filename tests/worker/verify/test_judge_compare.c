/* The judge's comparisons of outputs, gaps and bytes on PoCL or (SKIPJACK_TEST_DEVICE=gpu) the first GPU. */
#include "worker/verify/judge.h"

#include <string.h>

#include "tests/support/kernels/judge_device.h"
#include "tests/support/kernels/judge_sides.h"
#include "tests/support/kernels/pocl_leaks.h"
#include "worker/protocol/frames.h"
#include "worker/verify/fingerprint.h"

/* The fingerprints that the device computes of all inputs are the host's. */
static void compare_fingerprints(const struct judge_sides *s, const char *key)
{
    g_autoptr(GError) error = NULL;
    for (int t = 0; t < OPERAND_COUNT; t++) {
        uint64_t print = 0;
        if (t == (int)s->out || !tensor_exists(&s->tensors[t]))
            continue;
        const struct guarded *memory = &s->memory[t];
        const struct judge_pieces pieces = {memory->whole, guarded_offset(memory, 0), memory->step,
                                            memory->bytes, 1};
        g_autofree void *data = judge_sides_read(s, (enum tensor_role)t);
        judge_fingerprints(s->judge, &pieces, &print, &error);
        g_assert_no_error(error);
        if (print != fingerprint(data, memory->bytes))
            g_error("%s: the fingerprint of input %d is not the host's", key, t);
        /* The zone behind a tensor may begin at any byte. */
        const struct judge_pieces zone = {memory->whole, guarded_tail_offset(memory, 0),
                                          memory->step, guarded_tail_bytes(memory), 1};
        g_autofree uint8_t *poison = g_malloc((gsize)zone.bytes);
        memset(poison, memory->poison, (size_t)zone.bytes);
        judge_fingerprints(s->judge, &zone, &print, &error);
        g_assert_no_error(error);
        if (print != fingerprint(poison, zone.bytes))
            g_error("%s: the fingerprint of the zone behind input %d is not poison's", key, t);
        /* Where there are many pieces, a workgroup takes a piece of more words than it has work-items. */
        uint64_t prints[600];
        const struct judge_pieces many = {memory->whole, zone.offset, 8, zone.bytes - 8 * 599, 600};
        judge_fingerprints(s->judge, &many, prints, &error);
        g_assert_no_error(error);
        for (int i = 0; i < many.count; i++) {
            if (prints[i] != fingerprint(poison, many.bytes))
                g_error("%s: the fingerprint of piece %d of the zone is not poison's", key, i);
        }
    }
}

static void test_fingerprints(void)
{
    static const char *const keys[] = {
        JUDGE_TEST_KEY,
        "3-40-40-7x7-8-20-20-4-3x3-2x2-1x1-0-NCHW-FP16-F",
        "24-8-8-3x3-32-8-8-1-1x1-1x1-1x1-0-NCHW-INT8-F+bias+requant(INT8,channel)+add(INT8,NCHW)+relu",
        "softmax-1000-1-1-1x1-1000-1-1-3-0x0-1x1-1x1-0-NCHW-FP16-F",
        "4-5-6-7-3x3x3-6-3-3-4-2-1x1x1-2x2x2-1x1x1-0-NDHWC-NDHWC-NDHWC-BF16-F",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
        g_autoptr(GError) error = NULL;
        struct problem p;
        struct judge_sides s;
        judge_sides_problem(keys[i], &p);
        judge_sides_init(&s, &p);
        g_assert_true(judge_sides_judge(&s, &error));
        compare_fingerprints(&s, keys[i]);
        judge_sides_clear(&s);
    }
}

/* ---- gaps ---- */

static bool gaps_are_whole(struct judge_sides *s)
{
    g_autoptr(GError) error = NULL;
    bool whole;
    judge_finds_gaps_whole(s->judge, s->parts[s->out], s->memory[s->out].poison, &whole, &error);
    g_assert_no_error(error);
    return whole;
}

static void write_byte(struct judge_sides *s, int64_t at, uint8_t byte)
{
    g_autoptr(GError) error = NULL;
    judge_test_device->row->write(s->parts[s->out], at, &byte, 1, &error);
    g_assert_no_error(error);
}

/* Writes into gaps are found, whatever the elements hold; each gap is behind every second element. */
static void compare_gaps(struct judge_sides *s)
{
    int64_t bytes = data_type_bytes(s->tensors[s->out].type), end = s->memory[s->out].bytes;
    g_assert_true(gaps_are_whole(s));
    write_byte(s, 2 * bytes, 1);
    write_byte(s, end - bytes, 1);
    g_assert_true(gaps_are_whole(s));
    write_byte(s, 2 * bytes - 1, 1);
    g_assert_false(gaps_are_whole(s));
    write_byte(s, 2 * bytes - 1, s->memory[s->out].poison);
    g_assert_true(gaps_are_whole(s));
    write_byte(s, end - bytes - 1, 1);
    g_assert_false(gaps_are_whole(s));
}

/* There is a gap behind each element of the output. The gaps are not compared, but writes into them are found. */
static void strided_output(const char *key)
{
    g_autoptr(GError) error = NULL;
    struct problem p;
    struct judge_sides s;
    judge_sides_problem(key, &p);
    judge_sides_init(&s, &p);
    guarded_free(&s.memory[s.out]);
    int64_t stride[TENSOR_AXES];
    for (int i = 0; i < TENSOR_AXES; i++)
        stride[i] = 2 * s.tensors[s.out].stride[i];
    tensor_set_strides(&s.tensors[s.out], stride);
    guarded_alloc(&s.memory[s.out], judge_test_device, tensor_bytes(&s.tensors[s.out]), 1,
                  guarded_poison_of(s.tensors[s.out].type), &error);
    s.parts[s.out] = s.memory[s.out].parts[0];
    g_assert_true(judge_sides_judge(&s, &error));
    g_assert_no_error(error);
    compare_gaps(&s);
    judge_sides_compare_verdicts(&s, 1, "strided");
    judge_sides_clear(&s);
}

static void test_strided(void)
{
    strided_output(JUDGE_TEST_KEY);
    strided_output("3-40-40-7x7-8-20-20-4-3x3-2x2-1x1-0-NCHW-FP16-F");
    strided_output("pool(max)-8-9-11-3x3-8-5-6-2-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-INT8-F");
    strided_output("pool(average)-24-9-11-3x3-24-5-6-2-1x1-2x2-1x1-0-NCHW-FP64-F");
}

/* ---- a device that turns wrong ---- */

static bool read_nothing_seen(struct device_memory *from, int64_t offset, void *to, int64_t bytes,
                              GError **error)
{
    (void)from;
    (void)offset;
    (void)error;
    memset(to, 0, (gsize)bytes);
    return true;
}

/* A device that was healthy when the reference was computed then compares nothing: the host notices
 * that. */
static void test_falls_sick(void)
{
    g_autoptr(GError) error = NULL;
    const struct device_row *healthy = judge_test_device->row;
    struct device_row row = *healthy;
    struct tolerance tolerance;
    struct judged judged;
    struct problem p;
    struct judge_sides s;
    judge_sides_problem(JUDGE_TEST_KEY, &p);
    judge_sides_init(&s, &p);
    g_assert_true(judge_sides_judge(&s, &error));
    tolerance_init(&tolerance, &p, NULL, s.host->length);
    row.read = read_nothing_seen;
    judge_test_device->row = &row;
    g_assert_false(judge_compare(s.judge, s.parts[s.out], &tolerance, &judged, &error));
    judge_test_device->row = healthy;
    g_assert_error(error, WORKER_ERROR, WORKER_ERROR_DOUBT);
    judge_sides_clear(&s);
}

static void add_tests(struct device *opened, struct device_program *loaded)
{
    judge_test_device = opened;
    judge_test_program = loaded;
    g_test_add_func("/judge_compare/fingerprints_are_the_hosts", test_fingerprints);
    g_test_add_func("/judge_compare/output_with_gaps_is_compared", test_strided);
    g_test_add_func("/judge_compare/device_that_turns_wrong_is_doubted", test_falls_sick);
}

int main(int argc, char **argv)
{
    return judge_device_main(argc, argv, "/judge_compare/needs_a_device", add_tests);
}
