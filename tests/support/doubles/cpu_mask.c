/* An OpenCL library that is PoCL on an older CPU: OCL_ICD_VENDORS names this library to the OpenCL
 * loader, SKIPJACK_TEST_CPU names the CPU. PoCL calls LLVM's getHostCPUFeatures() to learn which
 * instructions it may compile to and how many lanes it reports. This library loads PoCL and gives
 * it a function of the same name, which hides the features that the older CPU lacks. Code for an
 * older CPU runs on a newer one. Features that this machine lacks cannot be added:
 * tests/kernels/toolchains/test_opencl.c compares what PoCL's device reports with the CPU that was
 * asked for. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* llvm::StringMap<bool> in memory, as in all LLVM releases since 3: a table of pointers to entries,
 * NULL where a slot is empty; in an entry the key follows the value. */
struct entry {
    size_t key_length;
    bool value;
};

struct feature_map {
    struct entry **table;
    unsigned buckets, items, tombstones, item_bytes;
};

/* PoCL's names of CPUs, from the oldest on, and the features that each has beyond the one before it. A name that ends
 * with * matches every name with this beginning. */
static const struct cpu {
    const char *name;
    const char *adds[8];
} cpus[] = {
    {"athlon64", {NULL}},
    {"core2", {"sse3", "ssse3"}},
    {"penryn", {"sse4*"}},
    {"sandybridge", {"avx", "pclmul", "popcnt"}},
    {"ivybridge", {"f16c", "rdrnd"}},
    {"haswell", {"avx2", "bmi*", "fma", "fma4", "lzcnt", "movbe", "xop"}},
    {"skylake-avx512", {"avx512*", "avxvnni*", "amx*", "gfni", "vaes", "vpclmulqdq"}},
};

#define CPU_COUNT (sizeof(cpus) / sizeof(cpus[0]))
#define ADDS_MAX  (sizeof(cpus[0].adds) / sizeof(cpus[0].adds[0]))

static bool matches(const char *pattern, const char *name, size_t length)
{
    size_t stem = strcspn(pattern, "*");

    return pattern[stem] == '*' ? length >= stem && memcmp(pattern, name, stem) == 0
                                : length == stem && memcmp(pattern, name, stem) == 0;
}

/* Whether a CPU of the table from index `first` on adds that feature, so that an older CPU lacks
 * it. */
static bool is_hidden(size_t first, const char *name, size_t length)
{
    for (size_t i = first; i < CPU_COUNT; i++) {
        for (size_t j = 0; j < ADDS_MAX && cpus[i].adds[j]; j++) {
            if (matches(cpus[i].adds[j], name, length))
                return true;
        }
    }
    return false;
}

static size_t cpu_asked_for(void)
{
    const char *asked = getenv("SKIPJACK_TEST_CPU");

    for (size_t i = 0; i < CPU_COUNT; i++) {
        if (asked && strcmp(asked, cpus[i].name) == 0)
            return i;
    }
    fprintf(stderr, "cpu_mask: SKIPJACK_TEST_CPU is '%s' and must be one of:", asked ? asked : "");
    for (size_t i = 0; i < CPU_COUNT; i++)
        fprintf(stderr, " %s", cpus[i].name);
    fputc('\n', stderr);
    abort();
}

/* The mangled C++ name of llvm::sys::getHostCPUFeatures(llvm::StringMap<bool> &). */
#define MASKED        _ZN4llvm3sys18getHostCPUFeaturesERNS_9StringMapIbNS_15MallocAllocatorEEE
#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)

bool MASKED(struct feature_map *features);

/* Calls the function of the LLVM that PoCL is linked to: the process may have loaded other LLVM
 * releases, too. */
static bool ask_llvm(const void *caller, struct feature_map *features)
{
    bool (*real)(struct feature_map *);
    Dl_info info;
    void *library, *symbol;

    if (!dladdr(caller, &info) || !(library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) ||
        !(symbol = dlsym(library, NAME_OF(MASKED)))) {
        fprintf(stderr, "cpu_mask: cannot find LLVM's getHostCPUFeatures: %s\n", dlerror());
        abort();
    }
    memcpy(&real, &symbol, sizeof real);
    bool known = real(features);
    dlclose(library);
    return known;
}

bool MASKED(struct feature_map *features)
{
    size_t first_hidden = cpu_asked_for() + 1;
    bool known = ask_llvm(__builtin_return_address(0), features);

    for (unsigned i = 0; i < features->buckets; i++) {
        struct entry *entry = features->table[i];
        if (entry &&
            is_hidden(first_hidden, (const char *)entry + features->item_bytes, entry->key_length))
            entry->value = false;
    }
    return known;
}

/* ---- what the OpenCL loader asks for: PoCL's answers ---- */

/* Loaded with global names: only then PoCL finds this library's function before LLVM's. */
static void *open_pocl(void)
{
    Dl_info self;
    void *pocl = NULL;

    if (dladdr(cpus, &self) && dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL))
        pocl = dlopen("libpocl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!pocl)
        fprintf(stderr, "cpu_mask: cannot open PoCL: %s\n", dlerror());
    return pocl;
}

/* Looks up a function in PoCL's library; NULL if it has none of that name. */
static void *pocl_symbol(const char *name)
{
    static void *pocl;

    if (!pocl)
        pocl = open_pocl();
    return pocl ? dlsym(pocl, name) : NULL;
}

cl_int clIcdGetPlatformIDsKHR(cl_uint count, cl_platform_id *platforms, cl_uint *found)
{
    clIcdGetPlatformIDsKHR_fn ask;
    void *symbol = pocl_symbol("clIcdGetPlatformIDsKHR");

    if (!symbol)
        return CL_PLATFORM_NOT_FOUND_KHR;
    memcpy(&ask, &symbol, sizeof ask);
    return ask(count, platforms, found);
}

void *clGetExtensionFunctionAddress(const char *name)
{
    void *(*ask)(const char *);
    void *symbol = pocl_symbol("clGetExtensionFunctionAddress");

    if (!symbol)
        return NULL;
    memcpy(&ask, &symbol, sizeof ask);
    return ask(name);
}
