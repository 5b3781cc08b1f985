#include "solvers/driver/driver_line.h"
#include "solvers/problem/problem_key.h"
#include "tests/support/random_problem.h"

#include <string.h>

#define RANDOM_PROBLEMS 10000
#define KEY             "256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-NCHW-FP32-F"
#define FLAGS           "-n 8 -c 256 -H 14 -W 14 -k 512 -y 3 -x 3 -p 1 -q 1 "

/* A line that is read, and the keys of its problems, joined by a space. */
struct usable {
    const char *line, *keys;
};

static void check_usable(const struct usable *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct driver_line parsed;
        char key[PROBLEM_KEY_MAX];
        g_autoptr(GString) keys = g_string_new(NULL);
        driver_line_parse(rows[i].line, &parsed);
        for (int k = 0; k < parsed.problem_count; k++) {
            g_string_append_printf(keys, "%s%s", k > 0 ? " " : "",
                                   problem_key(&parsed.problems[k], key));
        }
        g_assert_cmpstr(keys->str, ==, rows[i].keys);
        g_assert_cmpstr(parsed.reason, ==, "");
        g_assert_cmpint(parsed.kind, ==, DRIVER_LINE_CONV);
    }
}

static void test_openings(void)
{
    static const struct usable rows[] = {
        {"./bin/MIOpenDriver conv " FLAGS "-F 1", KEY},
        {"MIOpenDriver conv " FLAGS "-F 1\r\n", KEY},
        {"  /opt/rocm/bin/MIOpenDriver conv " FLAGS "-F 1", KEY},
        {"./bin/MIOpenDriver\tconv\t-n\t8 -c 256 -H 14 -W 14 -k 512 -p 1 -q 1 -F 1", KEY},
        {"miopenConvolutionForward: ./bin/MIOpenDriver conv " FLAGS, KEY},
        {"miopenConvolutionForward: conv " FLAGS, KEY},
        {"MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv " FLAGS "-F 1 -t 1",
         KEY},
        {"miopenConvolutionBackwardWeights: ./bin/MIOpenDriver conv " FLAGS "-F 1", KEY},
        {"- 2024-01-05 -- MIOPEN_FIND_MODE=1 ./bin/MIOpenDriver conv " FLAGS "-F 1", KEY},
        {"conv " FLAGS "-F 1", KEY},
        {FLAGS "-F 1", KEY},
        {"MIOpenDriver " FLAGS "-F 1", KEY},
        {"OpenDriver conv " FLAGS "-F 1", KEY},
        {"conv " FLAGS "-F 1 # a comment -n 3", KEY},
        {"    \"./bin/MIOpenDriver conv " FLAGS "-F 1\",", KEY},
        {"'C:\\rocm\\MIOpenDriver.exe' conv " FLAGS "'-F' 1", KEY},
        {"srun -n 1 numactl -N 0 ./bin/MIOpenDriver conv " FLAGS "-F 1", KEY},
        {"MIOPEN_TF32_OVERRIDE=1 ./bin/MIOpenDriver conv " FLAGS "-F 1", KEY "_cxTF32"},
        {"export MIOPEN_TF32_OVERRIDE=on; ./bin/MIOpenDriver conv " FLAGS "-F 1", KEY "_cxTF32"},
        {"MIOPEN_TF32_OVERRIDE=0 ./bin/MIOpenDriver conv " FLAGS "-F 1", KEY},
        {"MIOPEN_TF32_OVERRIDE=1 ./bin/MIOpenDriver convfp16 " FLAGS "-F 1",
         "256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-NCHW-FP16-F"},
        {"MIOPEN_TF32_OVERRIDE=1 ./bin/MIOpenDriver conv " FLAGS "--in_cast_type fp8 -F 1",
         KEY "_ciFP8"},
        {"bash -c \"MIOpenDriver conv " FLAGS "-F 1\"", KEY},
        {"MIOpenDriver conv " FLAGS "-F 1 > log.txt 2>&1", KEY},
        {"MIOpenDriver conv " FLAGS "-F 1 2>/dev/null | tee -a log.txt", KEY},
        {"MIOpenDriver conv " FLAGS "-F 1 && echo done", KEY},
        {"miopenConvolutionBackwardData: ./bin/MIOpenDriver convbfp16 " FLAGS,
         "512-14-14-3x3-256-14-14-8-1x1-1x1-1x1-0-NCHW-BF16-B"},
        {"MIOpen(HIP): miopenConvolutionBackwardWeights ./bin/MIOpenDriver convfp16 " FLAGS,
         "512-14-14-3x3-256-14-14-8-1x1-1x1-1x1-0-NCHW-FP16-W"},
    };
    check_usable(rows, G_N_ELEMENTS(rows));
}

static void test_directions(void)
{
    static const struct usable rows[] = {
        {"conv -n 1 -F 5", "3-32-32-3x3-32-30-30-1-0x0-1x1-1x1-0-NCHW-FP32-F "
                           "32-30-30-3x3-3-32-32-1-0x0-1x1-1x1-0-NCHW-FP32-W"},
        {"conv -n 1 -F 1.", "3-32-32-3x3-32-30-30-1-0x0-1x1-1x1-0-NCHW-FP32-F"},
        {"conv -n 1 --forw 2", "32-30-30-3x3-3-32-32-1-0x0-1x1-1x1-0-NCHW-FP32-B"},
        {"conv -n 1 -F 0", "3-32-32-3x3-32-30-30-1-0x0-1x1-1x1-0-NCHW-FP32-F "
                           "32-30-30-3x3-3-32-32-1-0x0-1x1-1x1-0-NCHW-FP32-B "
                           "32-30-30-3x3-3-32-32-1-0x0-1x1-1x1-0-NCHW-FP32-W"},
        {"convint8 -n 1", "3-32-32-3x3-32-30-30-1-0x0-1x1-1x1-0-NCHW-INT8INT8INT32-F"},
        {"convint8 -n 1 -F 3", "3-32-32-3x3-32-30-30-1-0x0-1x1-1x1-0-NCHW-INT8INT8INT32-F"},
    };
    check_usable(rows, G_N_ELEMENTS(rows));
}

static void test_flags(void)
{
    static const struct usable rows[] = {
        {"conv -n 5 -n 1 --batchsize 8 -c 256 -H 14 -W 14 -k 512 -p 1 -q 1 -F 1", KEY},
        {FLAGS "-F 1 --in_d 1 --fil_d 1 --conv_stride_d 0 --dilation_d 0 --pad_d 0", KEY},
        {FLAGS "-F 1 -i 10 -V 0 -t 1 -s 1 -w 0 -P 0 -o 0 -S 12 -perf_priority 3", KEY},
        {FLAGS "-F 1 -V", KEY},
        {FLAGS "-F 1 -t -g 1", KEY},
        {FLAGS "-F 1 -g 0", KEY},
        {FLAGS "-F 1 -t f32", KEY},
        {"conv -n=8 --in_channels=256 -H=14 --in_w=14 -k 512 -pad_h=1 -q 1 --forw=1 -V --iter=3",
         KEY},
        {"conv " FLAGS "-F 1 -g 4 -b 1", "256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-1-NCHW-FP32-F_g4"},
        {"conv " FLAGS "-F 1 -U fp8 -R bfp8 -T fp32",
         "256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-NCHW-FP32-F_ciFP8_cwBF8_coFP32"},
        {"conv -_ 3 -n 2 -c 4 -! 5 -H 6 -W 7 -k 8 -@ 1 -y 2 -x 3 -$ 1 -p 0 -q 1 -# 2 -u 1 -v 1 -^ 1 "
         "-l 2 -j 1 -F 1",
         "4-5-6-7-1x2x3-8-4-4-7-2-1x0x1-2x1x1-1x2x1-0-NCDHW-FP32-F"},
        {"conv -n 1 -z same -H 14 -W 15 -u 2 -v 2 -F 1",
         "3-14-15-3x3-32-6-8-1-0x1-2x2-1x1-0-NCHW-FP32-F"},
        {"conv -n 1 -z same -l 2 -p 3 -F 1", "3-32-32-3x3-32-34-30-1-3x0-1x1-2x1-0-NCHW-FP32-F"},
        {"conv -n 1 -z valid -p 3 -F 1", "3-32-32-3x3-32-30-30-1-0x0-1x1-1x1-0-NCHW-FP32-F"},
    };
    check_usable(rows, G_N_ELEMENTS(rows));
}

#define ROCMLIR                                                                                    \
    "--arch gfx90a:sramecc+:xnack- --num_cu 104 --batchsize 8 --in_channels 256 -in_h 14 "         \
    "-in_w 14 -out_channels=512 --fil_h 3 --fil_w 3 --dilation_h 1 --dilation_w 1 "                \
    "--conv_stride_h 1 --conv_stride_w 1 --padding_h 1 --padding_w 1 --groupsize=1 "

static void test_rocmlir(void)
{
    static const struct usable rows[] = {
        {"-operation conv -t f32 " ROCMLIR, KEY},
        {"rocmlir-gen --operation=conv_bwd_data -t f16 " ROCMLIR,
         "512-14-14-3x3-256-14-14-8-1x1-1x1-1x1-0-NCHW-FP16-B"},
        {"conv_bwd_weight -t bf16 " ROCMLIR
         "--in_layout=n01gc --fil_layout gk01c -out_layout n01gk",
         "512-14-14-3x3-256-14-14-8-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-W"},
        {"-operation conv -t i8 " ROCMLIR "--fil_layout gkcyx --in_layout ngchw --out_layout ngkhw",
         "256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F"},
        /* the flag -F decides the direction, not the operation's name */
        {"-operation conv_bwd_data -t f32 -F 1 " ROCMLIR, KEY},
    };
    check_usable(rows, G_N_ELEMENTS(rows));
}

#define LAID_OUT(layouts) "256-14-14-3x3-512-14-14-8-1x1-1x1-1x1-0-" layouts "-FP32-F"

static void test_layouts(void)
{
    static const struct usable rows[] = {
        {FLAGS "-F 1 --out_layout NHWC", LAID_OUT("NHWC-NHWC-NHWC")},
        {FLAGS "-F 1 -I NHWC", LAID_OUT("NHWC-NHWC-NHWC")},
        {FLAGS "-F 1 -I NHWC -f NCHW", LAID_OUT("NHWC-NCHW-NHWC")},
        {FLAGS "-F 1 -I NCHW -O NHWC", LAID_OUT("NCHW-NCHW-NHWC")},
        {FLAGS "-F 1 -Z 1 -L 4", LAID_OUT("NCHWc4-NCHWc4-NCHWc4")},
        {FLAGS "-F 1 -I nchwc4 -Z 1 -L 4", LAID_OUT("NCHWc4-NCHWc4-NCHWc4")},
        {FLAGS "-F 1 -I nhwc", LAID_OUT("NHWC-NHWC-NHWC")},
        {FLAGS "-F 1 -I 'NHWC'", LAID_OUT("NHWC-NHWC-NHWC")},
        {FLAGS "-F 1 -Z 1 -L 8 -f CHWN", LAID_OUT("CHWNc8-CHWNc8-CHWNc8")},
        {FLAGS "-F 1 -I NGC01 -f GKC01 -O NGK01", KEY},
        {FLAGS "-F 1 -I N01GC -f GK01C -O N01GK", LAID_OUT("NHWC-NHWC-NHWC")},
        {FLAGS "-F 1 -f GNC01 -I NGC01 -O NGC01", KEY},
        {FLAGS "-F 1 -f KYXC -I NHWC -O NHWC", LAID_OUT("NHWC-NHWC-NHWC")},
        /* with one group, the position of G in a layout does not matter */
        {FLAGS "-F 1 -I GNC01 -O GNC01 -f GNC01", KEY},
        {"-n 2 -c 8 -k 8 -H 4 -W 4 -g 2 -F 1 -I N01GC -O N01GC -f GK01C",
         "8-4-4-3x3-8-2-2-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F_g2"},
    };
    check_usable(rows, G_N_ELEMENTS(rows));
}

static void test_transposed(void)
{
    static const struct usable rows[] = {
        {"conv -m trans -n 4 -c 8 -H 5 -W 5 -k 6 -u 2 -v 2 -p 1 -q 1 -F 1",
         "8-5-5-3x3-6-9-9-4-1x1-2x2-1x1-0-NCHW-FP32-B"},
        {"conv -m trans -n 4 -c 8 -H 5 -W 5 -k 6 -u 2 -v 2 -p 1 -q 1 -Y 1 -X 1 -F 1",
         "8-5-5-3x3-6-10-10-4-1x1-2x2-1x1-0-NCHW-FP32-B"},
        {"conv -m trans -n 4 -c 8 -H 5 -W 5 -k 6 -u 2 -v 2 -p 1 -q 1 -F 6",
         "6-9-9-3x3-8-5-5-4-1x1-2x2-1x1-0-NCHW-FP32-F "
         "8-5-5-3x3-6-9-9-4-1x1-2x2-1x1-0-NCHW-FP32-W"},
        {"convint8 -m trans -n 4 -c 8 -H 5 -W 5 -k 6",
         "8-5-5-3x3-6-7-7-4-0x0-1x1-1x1-0-NCHW-INT8INT8INT32-B"},
    };
    check_usable(rows, G_N_ELEMENTS(rows));
}

static const struct {
    const char *line;
    enum driver_line_kind kind;
    const char *reason;
} other_lines[] = {
    {"", DRIVER_LINE_BLANK, ""},
    {" \t\r\n", DRIVER_LINE_BLANK, ""},
    {"# FIXME: -n 256", DRIVER_LINE_BLANK, ""},
    {"./bin/MIOpenDriver pool -n 512 -c 192", DRIVER_LINE_OTHER, "'pool'*"},
    {"./bin/MIOpenDriver bnormfp16 -n 512", DRIVER_LINE_OTHER, "'bnormfp16'*"},
    {"./bin/MIOpenDriver CBAInfer -F 2 -n 64 -c 64 -H 56 -W 56 -m 1", DRIVER_LINE_OTHER,
     "*batch norm without a convolution"},
    {"./bin/MIOpenDriver CBAInfer -n 5", DRIVER_LINE_BROKEN, "bnMode is 0 (the driver's default)*"},
    {"CBAInfer -F 7", DRIVER_LINE_BROKEN, "fusion_mode is 7, it must be 0 to 6"},
    {"CBAInfer -F 4 -m 11", DRIVER_LINE_BROKEN, "activMode is 11, it must be 0 to 10"},
    {"CBAInfer -F 4 -m 6 -G 2", DRIVER_LINE_BROKEN, "activMode 6 is a power with gamma 2*"},
    {"CBAInfer -F 4 -m 7 -A x", DRIVER_LINE_BROKEN, "flag -A needs a number, not 'x'"},
    {"CBAInfer -F 4 -m 10 -A 6 -B 0", DRIVER_LINE_BROKEN, "*clip*"},
    {"CBAInfer -F 4 -g 5", DRIVER_LINE_BROKEN, "group_count is 5*"},
    {"gemm -n 512", DRIVER_LINE_OTHER, "'gemm'*"},
    {"./bin/MIOpenDriver convfp1 -n 1", DRIVER_LINE_BROKEN, "*unknown driver command 'convfp1'*"},
    {"./bin/MIOpenDriver", DRIVER_LINE_BROKEN, "*nothing follows*"},
    {"v -n 128 -c 3", DRIVER_LINE_BROKEN, "*begins with 'v'*cut off*"},
    {"onv -n 128", DRIVER_LINE_BROKEN, "*begins with 'onv'*"},
    {"128 -c 3", DRIVER_LINE_BROKEN, "*begins with '128'*"},
    {"r -n 128", DRIVER_LINE_BROKEN, "*begins with 'r'*"},
    {"conv -n 128 -k", DRIVER_LINE_BROKEN, "flag -k needs a value"},
    {"conv -n -k 5", DRIVER_LINE_BROKEN, "flag -n needs a value"},
    {"conv -n 128 --out_chan", DRIVER_LINE_BROKEN, "unknown flag '--out_chan'"},
    {"conv -n 128 5", DRIVER_LINE_BROKEN, "'5' stands where a flag belongs"},
    {"conv -n 1; MIOpenDriver conv -n 2", DRIVER_LINE_BROKEN, "'MIOpenDriver' stands where*"},
    {"MIOpenDriver conv -n 1 && MIOpenDriver conv -n 2", DRIVER_LINE_BROKEN,
     "a second command follows*"},
    {"OpenDriver conv -n 1 && MIOpenDriver conv -n 2", DRIVER_LINE_BROKEN,
     "a second command follows*"},
    {"conv -n > log.txt", DRIVER_LINE_BROKEN, "flag -n needs a number, not '>'"},
    {"conv -n x", DRIVER_LINE_BROKEN, "flag -n needs a number, not 'x'"},
    {"conv -n 99999999999999999999", DRIVER_LINE_BROKEN, "batchsize is*at most*"},
    {"conv -n 0", DRIVER_LINE_BROKEN, "batchsize is 0*"},
    {"conv -n=", DRIVER_LINE_BROKEN, "flag -n= needs a value"},
    {"conv -z same -y -9223372036854775808", DRIVER_LINE_BROKEN, "fil_h is -2147483648*"},
    {"conv -m trans -Y 9223372036854775807 -u 2", DRIVER_LINE_BROKEN, "trans_output_pad_h is*"},
    {"-operation gemm -n 4", DRIVER_LINE_BROKEN, "operation is 'gemm'*"},
    {"conv -I nhcw", DRIVER_LINE_BROKEN, "layout 'nhcw'*"},
    {"conv -p -1", DRIVER_LINE_BROKEN, "pad_h is -1*"},
    {"conv -u 0", DRIVER_LINE_BROKEN, "conv_stride_h is 0*"},
    {"conv -g 5", DRIVER_LINE_BROKEN, "group_count is 5*"},
    {"conv -F 8", DRIVER_LINE_BROKEN, "forw is 8*"},
    {"convint8 -F 2", DRIVER_LINE_BROKEN, "*INT8*"},
    {"conv -m group", DRIVER_LINE_BROKEN, "mode is 'group'*"},
    {"conv -z half", DRIVER_LINE_BROKEN, "pad_mode is 'half'*"},
    {"conv -_ 4", DRIVER_LINE_BROKEN, "spatial_dim is 4*"},
    {"conv -I NHCW", DRIVER_LINE_BROKEN, "layout 'NHCW'*"},
    {"conv -I NCDHW", DRIVER_LINE_BROKEN, "*layout is NCDHW*2D*"},
    {"conv -Z 1 -L 3", DRIVER_LINE_BROKEN, "tensor_vect is 1 and vector_length 3*"},
    {"conv -U fp3", DRIVER_LINE_BROKEN, "'fp3' is no cast type*"},
    {"conv -c 4 -g 2 -I GNC01", DRIVER_LINE_BROKEN, "layout 'GNC01'*group*"},
    {"conv -m trans -u 2 -Y 2", DRIVER_LINE_BROKEN, "trans_output_pad_h is 2*"},
    {"\xff\xfe\x01", DRIVER_LINE_BROKEN, "*begins with*"},
};

static void test_other_lines(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(other_lines); i++) {
        struct driver_line parsed;
        driver_line_parse(other_lines[i].line, &parsed);
        g_assert_cmpint(parsed.kind, ==, other_lines[i].kind);
        if (!g_pattern_match_simple(other_lines[i].reason, parsed.reason)) {
            g_assert_cmpstr(parsed.reason, ==, other_lines[i].reason);
        }
        g_assert_cmpint(parsed.problem_count, ==, 0);
        g_assert_true(g_utf8_validate(parsed.reason, -1, NULL));
    }
}

static const struct {
    const char *line, *epilogue;
    enum data_type type;
} fused_lines[] = {
    {"MIOpen(HIP): Command [LogCmdFusion] ./bin/MIOpenDriver CBAInfer -F 4 -n 128 -c 3 -H 32 -W 32 -k 64 "
     "-y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1",
     "+bias+relu", TYPE_FP32},
    {"./bin/MIOpenDriver CBAInferfp16 -F 6 -m 3", "+bias", TYPE_FP16},
    {"CBAInferbfp16 -F 5 -V 0 -t 1 -i 10", "+relu", TYPE_BF16},
    {"CBAInfer -F 0 -M 1", "+scale(channel)+bias+relu", TYPE_FP32},
    {"CBAInfer -F 1 -M 1 -m 1", "+scale(channel)+bias+sigmoid", TYPE_FP32},
    {"CBAInfer -F 3 -M 1 -m 9", "+scale(channel)+bias", TYPE_FP32},
    {"CBAInfer --fusion_mode 4 --activMode 0", "+bias", TYPE_FP32},
    {"CBAInfer -F 4 -m 2 -B 1", "+bias+tanh", TYPE_FP32},
    {"CBAInfer -F 4 -m 2 -A 0.5 -B 2", "+bias+affine(0.5,0)+tanh+affine(2,0)", TYPE_FP32},
    {"CBAInfer -F 4 -m 4", "+bias+softplus", TYPE_FP32},
    {"CBAInfer -F 4 -m 5", "+bias+abs", TYPE_FP32},
    {"CBAInfer -F 4 -m 6 -A 3 -B 2", "+bias+affine(2,3)", TYPE_FP32},
    {"CBAInfer -F 4 -m 7 --alpha 6.0", "+bias+clip(0,6)", TYPE_FP32},
    {"CBAInfer -F 4 -m 8 -A=0.1", "+bias+leaky(0.1)", TYPE_FP32},
    {"CBAInfer -F 4 -m 9", "+bias+elu(1)", TYPE_FP32},
    {"CBAInfer -F 4 -m 10 -A -1 -B 1", "+bias+clip(-1,1)", TYPE_FP32},
};

static void test_fusions(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(fused_lines); i++) {
        struct driver_line parsed;
        driver_line_parse(fused_lines[i].line, &parsed);
        g_assert_cmpstr(parsed.reason, ==, "");
        g_assert_cmpint(parsed.problem_count, ==, 1);
        g_assert_cmpstr(parsed.problems[0].epilogue, ==, fused_lines[i].epilogue);
        g_assert_cmpint(parsed.problems[0].direction, ==, DIRECTION_F);
        g_assert_cmpint(parsed.problems[0].type[TENSOR_X], ==, fused_lines[i].type);
        g_assert_cmpint(parsed.problems[0].n, ==, i == 0 ? 128 : 32);
    }
}

static void test_round_trip(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(4);
    struct random_limits limits;
    int written = 0;
    random_limits_wide(&limits);
    random_limits_nameable(&limits);
    limits.tf32 = true;
    limits.mixed_types = false;
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct problem p;
        struct driver_line back;
        random_problem(random, &limits, &p);
        g_autofree char *line = driver_line_format(&p);
        if (line == NULL) {
            continue;
        }
        written++;
        driver_line_parse(line, &back);
        g_assert_cmpstr(back.reason, ==, "");
        g_assert_cmpint(back.problem_count, ==, 1);
        g_assert_true(problem_equal(&back.problems[0], &p));
    }
    g_assert_cmpint(written, >, RANDOM_PROBLEMS / 3);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/driver_line/openings_of_real_logs_are_read", test_openings);
    g_test_add_func("/driver_line/directions_follow_forw", test_directions);
    g_test_add_func("/driver_line/flags_mean_what_the_driver_means", test_flags);
    g_test_add_func("/driver_line/words_of_rocmlir_are_read", test_rocmlir);
    g_test_add_func("/driver_line/layouts_of_both_dialects_are_read", test_layouts);
    g_test_add_func("/driver_line/transposed_lines_are_mirrored", test_transposed);
    g_test_add_func("/driver_line/fusions_become_epilogues", test_fusions);
    g_test_add_func("/driver_line/lines_that_cannot_be_used_say_why", test_other_lines);
    g_test_add_func("/driver_line/round_trip_of_random_problems", test_round_trip);
    return g_test_run();
}
