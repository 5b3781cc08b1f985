/* A sum whose order varies gives varying results. A kernel whose work-items add to one address
 * needs atomic instructions: the test searches all kernels for these, and requires that the solver
 * is marked nondeterministic. */
#include <string.h>

#include "kernels/kernel_source.h"
#include "solvers/framework/solver.h"

/* Matches instructions that add to memory in any order: functions of HIP, CUDA and OpenCL C,
 * compilers' builtins, PTX (the copy engine's, too) and AMD's assembly. __ATOMIC_RELEASE and the
 * like, which are the order of a fence, do not match. */
#define ATOMIC                                                                                     \
    "(?i)\\batom(ic)?(_|[A-Z]|\\.)|\\batomic(add|sub|cas|exch|min|max|inc)|"                       \
    "__(hip_|sync_|c11_|opencl_)?atomic_(?!(release|acquire|acq_rel|seq_cst|relaxed)\\b)|"         \
    "__sync_fetch|\\bred(ux)?\\.(async|global|shared|gpu|cluster|relaxed|release)|cp\\.reduce|"    \
    "(global|flat|buffer|ds)_(atomic|add_(f|u|rtn))|\\bds_add"

static bool adds_in_any_order(const char *text)
{
    return g_regex_match_simple(ATOMIC, text, 0, 0);
}

static void atomics_are_recognized(void)
{
    static const struct {
        const char *text;
        bool adds;
    } cases[] = {
        {"atomicAdd(&sum[i], value);", true},
        {"atomic_add(sum, 1);", true},
        {"atomic_fetch_add_explicit(s, v, m);", true},
        {"atom_cmpxchg(p, a, b);", true},
        {"__hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)", true},
        {"__atomic_fetch_add(p, 1, __ATOMIC_RELAXED)", true},
        {"__sync_fetch_and_add(p, 1)", true},
        {"__builtin_amdgcn_global_atomic_fadd_f32(p, v)", true},
        {"asm(\"red.global.add.f32 [%0], %1;\" ::\"l\"(p), \"f\"(v));", true},
        {"asm(\"atom.global.add.f32 %0, [%1], %2;\")", true},
        {"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add", true},
        {"global_atomic_add_f32 v[0:1], v2, off", true},
        {"buffer_atomic_pk_add_f16 v0, off, s[0:3]", true},
        {"ds_add_f32 v0, v1", true},
        {"__builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\");", false},
        {"sums[item] += sums[item + apart * width];", false},
        {"is shared.global", false},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        if (adds_in_any_order(cases[i].text) != cases[i].adds)
            g_test_fail_printf("'%s' %s", cases[i].text,
                               cases[i].adds ? "is not recognized" : "is no atomic");
}

static const char *text_of(const char *file)
{
    for (size_t i = 0; i < kernel_sources_count; i++)
        if (strcmp(kernel_sources[i].file, file) == 0)
            return kernel_sources[i].text;
    return NULL;
}

static void solvers_say_that_their_sums_vary(void)
{
    int looked_at = 0;
    for (int i = 0; i < solver_table_count; i++) {
        const struct solver *solver = solver_table[i];
        for (const char *const *file = solver->sources; *file; file++) {
            const char *text = text_of(*file);
            looked_at += text != NULL;
            if (text && adds_in_any_order(text) && !solver->nondeterministic)
                g_test_fail_printf("%s: %s adds in an order that varies, and its row has no "
                                   ".nondeterministic",
                                   solver->name, *file);
        }
    }
    g_assert_cmpint(looked_at, >=, solver_table_count);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/kernel_order/atomics_are_recognized", atomics_are_recognized);
    g_test_add_func("/kernel_order/solvers_say_that_their_sums_vary",
                    solvers_say_that_their_sums_vary);
    return g_test_run();
}
