#include "worker/device/gpu_api.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *hip, *cuda;
    size_t offset;
} functions[] = {
#define GPU_ROW(name, cuda) {"hip" #name, cuda, offsetof(struct gpu_api, name)},
    GPU_FUNCTIONS(GPU_ROW)
#undef GPU_ROW
};

/* ---- status codes ---- */

/* Whether the context is lost after this status. HIP has no names for these numbers: 220 is an
 * uncorrectable NVLink error; 714 to 718 are a kernel's errors of stack, instruction, alignment,
 * address space and program counter (cuda.h, enum cudaError_enum). */
static bool is_fault(int status)
{
    static const int faults[] = {
        hipErrorDeinitialized,
        hipErrorECCNotCorrectable,
        220,
        hipErrorIllegalAddress,
        hipErrorLaunchTimeOut,
        hipErrorContextIsDestroyed,
        hipErrorAssert,
        714,
        715,
        716,
        717,
        718,
        hipErrorLaunchFailure,
        hipErrorUnknown,
    };

    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++)
        if (status == faults[i])
            return true;
    return false;
}

bool gpu_check(const struct gpu_library *library, int status, enum device_error code,
               const char *doing, GError **error)
{
    if (status == hipSuccess)
        return true;
    if (status == hipErrorOutOfMemory)
        code = DEVICE_ERROR_MEMORY;
    else if (is_fault(status))
        code = DEVICE_ERROR_FAULT;
    g_set_error(error, DEVICE_ERROR, code, "cannot %s: %s", doing,
                library->vendor->error_name(library, status));
    return false;
}

/* ---- a library ---- */

static bool functions_find(struct gpu_library *library, const char *file, GError **error)
{
    bool is_cuda = library->vendor == &gpu_vendor_cuda;

    for (gsize i = 0; i < G_N_ELEMENTS(functions); i++) {
        const char *name = is_cuda ? functions[i].cuda : functions[i].hip;
        void *symbol = dlsym(library->handle, name);
        if (!symbol) {
            g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                        "'%s' lacks %s: it is too old, or no %s runtime", file, name,
                        library->vendor->name);
            return false;
        }
        memcpy((char *)&library->api + functions[i].offset, &symbol, sizeof(symbol));
    }
    return true;
}

static bool library_load(struct gpu_library *library, GError **error)
{
    const struct gpu_vendor *vendor = library->vendor;
    const char *wish = g_getenv(vendor->setting);
    g_auto(GStrv) names = g_strsplit(wish && *wish ? wish : vendor->libraries, ",", -1);
    int status;

    for (char **name = names; *name; name++) {
        library->handle = dlopen(g_strstrip(*name), RTLD_NOW | RTLD_LOCAL);
        if (!library->handle)
            continue;
        if (!functions_find(library, *name, error))
            return false;
        status = library->api.Init(0);
        return gpu_check(library, status, DEVICE_ERROR_UNAVAILABLE, "start the GPU's driver",
                         error);
    }
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                "%s (%s brings it; %s names one elsewhere)", dlerror(), vendor->origin,
                vendor->setting);
    return false;
}

const struct gpu_library *gpu_library_open(const struct gpu_vendor *vendor, GError **error)
{
    static GMutex lock;
    static struct gpu_library libraries[2];
    static bool loaded[2];
    int which = vendor == &gpu_vendor_cuda ? 0 : 1;

    g_mutex_lock(&lock);
    libraries[which].vendor = vendor;
    if (!loaded[which])
        loaded[which] = library_load(&libraries[which], error);
    g_mutex_unlock(&lock);
    return loaded[which] ? &libraries[which] : NULL;
}

bool gpu_symbol(const struct gpu_library *library, const char *name, void *function, GError **error)
{
    void *symbol = dlsym(library->handle, name);

    memcpy(function, &symbol, sizeof(symbol));
    if (!symbol)
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "the GPU's library lacks %s",
                    name);
    return symbol != NULL;
}

/* ---- CUDA ---- */

/* Attributes with the two numbers of the compute capability, such as 9 and 0. */
#define CUDA_MAJOR 75
#define CUDA_MINOR 76

/* Enters the device's primary context, the one that CUDA's own runtime uses, too. */
static bool cuda_enter(const struct gpu_library *library, hipDevice_t id, GError **error)
{
    int (*retain)(void **context, hipDevice_t device);
    int (*set_current)(void *context);
    void *context = NULL;

    return gpu_symbol(library, "cuDevicePrimaryCtxRetain", &retain, error) &&
           gpu_symbol(library, "cuCtxSetCurrent", &set_current, error) &&
           gpu_check(library, retain(&context, id), DEVICE_ERROR_UNAVAILABLE,
                     "make a context on the GPU", error) &&
           gpu_check(library, set_current(context), DEVICE_ERROR_UNAVAILABLE,
                     "enter the GPU's context", error);
}

static bool cuda_name_target(const struct gpu_library *library, hipDevice_t id,
                             struct target *target, GError **error)
{
    int major = 0, minor = 0;
    size_t bytes = 0;

    if (!gpu_check(library,
                   library->api.DeviceGetAttribute(&major, (hipDeviceAttribute_t)CUDA_MAJOR, id),
                   DEVICE_ERROR_UNAVAILABLE, "ask for the GPU's architecture", error) ||
        !gpu_check(library,
                   library->api.DeviceGetAttribute(&minor, (hipDeviceAttribute_t)CUDA_MINOR, id),
                   DEVICE_ERROR_UNAVAILABLE, "ask for the GPU's architecture", error) ||
        !gpu_check(library, library->api.DeviceTotalMem(&bytes, id), DEVICE_ERROR_UNAVAILABLE,
                   "ask for the GPU's memory", error))
        return false;
    target->vendor = VENDOR_NVIDIA;
    g_snprintf(target->arch, sizeof(target->arch), "sm_%d%d", major, minor);
    /* The driver keeps less than 1 GiB for itself, so the product's size is the next whole GiB. */
    target->memory_gib = (int)((bytes + (1ull << 30) - 1) >> 30);
    return true;
}

#define CUDA_DYNAMIC_LOCAL 8 /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */

/* Several kernels of a process may be one function of the library, so the permission is only raised. */
static bool cuda_allow_local(const struct gpu_library *library, hipFunction_t kernel, int64_t bytes,
                             GError **error)
{
    int (*get_attribute)(int *value, int attribute, hipFunction_t kernel);
    int (*set_attribute)(hipFunction_t kernel, int attribute, int value);
    const char *doing = "allow a launch's local memory";
    int allowed = 0;

    if (!gpu_symbol(library, "cuFuncGetAttribute", &get_attribute, error) ||
        !gpu_symbol(library, "cuFuncSetAttribute", &set_attribute, error) ||
        !gpu_check(library, get_attribute(&allowed, CUDA_DYNAMIC_LOCAL, kernel),
                   DEVICE_ERROR_LAUNCH, doing, error))
        return false;
    return bytes <= allowed ||
           gpu_check(library, set_attribute(kernel, CUDA_DYNAMIC_LOCAL, (int)bytes),
                     DEVICE_ERROR_LAUNCH, doing, error);
}

static const char *cuda_error_name(const struct gpu_library *library, int status)
{
    int (*get_name)(int status, const char **name);
    const char *name = NULL;

    if (gpu_symbol(library, "cuGetErrorName", &get_name, NULL))
        get_name(status, &name);
    return name ? name : "an unnamed CUDA error";
}

static bool cuda_uuid_text(const char bytes[16], struct device_identity *identity)
{
    static const char zero[16];
    GString *text = g_string_new("GPU-");

    for (int i = 0; i < 16; i++)
        g_string_append_printf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               (unsigned)(unsigned char)bytes[i]);
    g_strlcpy(identity->uuid, text->str, sizeof(identity->uuid));
    g_string_free(text, TRUE);
    return memcmp(bytes, zero, sizeof(zero)) != 0;
}

const struct gpu_vendor gpu_vendor_cuda = {
    .name = "cuda",
    .setting = "SKIPJACK_CUDA",
    .libraries = "libcuda.so.1",
    .origin = "NVIDIA's driver",
    .makes = VENDOR_NVIDIA,
    .attributes = {[GPU_UNITS] = 16,
                   [GPU_ITEMS_MAX] = 1,
                   [GPU_WAVE] = 10,
                   [GPU_LOCAL_BYTES] = 8,
                   [GPU_CACHE_BYTES] = 38},
    .major_unit = 1000,
    .minor_unit = 10,
    .enter = cuda_enter,
    .name_target = cuda_name_target,
    .allow_local = cuda_allow_local,
    .uuid_function = "cuDeviceGetUuid_v2",
    .address_function = "cuDeviceGetPCIBusId",
    .uuid_text = cuda_uuid_text,
    .error_name = cuda_error_name,
};

/* ---- HIP ---- */

/* Bytes for HIP's struct of properties: larger than any HIP version's; our header's has 792. */
#define PROPERTIES_MAX 8192

static bool hip_enter(const struct gpu_library *library, hipDevice_t id, GError **error)
{
    __typeof__(&hipSetDevice) set_device;

    return gpu_symbol(library, "hipSetDevice", &set_device, error) &&
           gpu_check(library, set_device(id), DEVICE_ERROR_UNAVAILABLE, "enter the GPU's context",
                     error);
}

/* Whether an architecture has a variant without error correction of its memory (LLVM's "sramecc"). Some versions of
 * HIP report "sramecc-" for gfx900, too, which no compiler accepts. */
static bool may_lack_sramecc(const char *arch)
{
    static const char *const begins[] = {"gfx906", "gfx908", "gfx90a", "gfx94", "gfx950"};

    for (gsize i = 0; i < G_N_ELEMENTS(begins); i++)
        if (g_str_has_prefix(arch, begins[i]))
            return true;
    return false;
}

/* Splits a name such as "gfx90a:sramecc+:xnack-" into architecture and features. Only features
 * that differ from the architecture's usual devices are kept. */
static void take_gcn_name(const char *name, struct target *target)
{
    g_strlcpy(target->arch, name, MIN(sizeof(target->arch), strcspn(name, ":") + 1));
    g_snprintf(target->features, sizeof(target->features), "%s%s",
               strstr(name, ":sramecc-") && may_lack_sramecc(target->arch) ? "_nosramecc" : "",
               strstr(name, ":xnack+") ? "_xnack" : "");
}

/* Finds the architecture's name in HIP's struct of properties. The struct differs between HIP's
 * versions, and the installed library may have another version than our header. So the name is
 * looked for at our header's offset, then in the whole struct. */
static const char *find_gcn_name(const char *properties)
{
    const char *name = properties + offsetof(hipDeviceProp_t, gcnArchName);

    if (!g_str_has_prefix(name, "gfx"))
        name = memmem(properties, PROPERTIES_MAX - 1, "gfx", strlen("gfx"));
    return name;
}

static bool hip_name_target(const struct gpu_library *library, hipDevice_t id,
                            struct target *target, GError **error)
{
    __typeof__(&hipGetDeviceProperties) get_properties;
    g_autofree char *properties = g_malloc0(PROPERTIES_MAX);
    const char *name;

    if (!gpu_symbol(library, "hipGetDeviceProperties", &get_properties, error) ||
        !gpu_check(library, get_properties((hipDeviceProp_t *)(void *)properties, id),
                   DEVICE_ERROR_UNAVAILABLE, "ask for the GPU's architecture", error))
        return false;
    name = find_gcn_name(properties);
    if (!name) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                    "the GPU does not report its architecture: this program does not know its "
                    "version of HIP");
        return false;
    }
    target->vendor = VENDOR_AMD;
    take_gcn_name(name, target);
    return true;
}

static const char *hip_error_name(const struct gpu_library *library, int status)
{
    __typeof__(&hipGetErrorName) get_name;
    const char *name = NULL;

    if (gpu_symbol(library, "hipGetErrorName", &get_name, NULL))
        name = get_name((hipError_t)status);
    return name ? name : "an unnamed HIP error";
}

/* Makes the text of HIP's UUID: "GPU-" and the 16 digits that ROCR_VISIBLE_DEVICES takes after
 * it. Returns false for a GPU without a UUID, which reports "XX". */
static bool hip_uuid_text(const char bytes[16], struct device_identity *identity)
{
    for (int i = 0; i < 16; i++)
        if (!isxdigit((unsigned char)bytes[i]))
            return false;
    g_snprintf(identity->uuid, sizeof(identity->uuid), "GPU-%.16s", bytes);
    return true;
}

const struct gpu_vendor gpu_vendor_hip = {
    .name = "hip",
    .setting = "SKIPJACK_HIP",
    .libraries = "libamdhip64.so.7,libamdhip64.so.6,libamdhip64.so.5,libamdhip64.so",
    .origin = "ROCm, or Debian's libamdhip64-5,",
    .makes = VENDOR_AMD,
    .attributes = {[GPU_UNITS] = hipDeviceAttributeMultiprocessorCount,
                   [GPU_ITEMS_MAX] = hipDeviceAttributeMaxThreadsPerBlock,
                   [GPU_WAVE] = hipDeviceAttributeWarpSize,
                   [GPU_LOCAL_BYTES] = hipDeviceAttributeMaxSharedMemoryPerBlock,
                   [GPU_CACHE_BYTES] = hipDeviceAttributeL2CacheSize},
    .major_unit = 10000000, /* HIP's version number divided into parts as in hip_version.h */
    .minor_unit = 100000,
    .enter = hip_enter,
    .name_target = hip_name_target,
    .uuid_function = "hipDeviceGetUuid",
    .address_function = "hipDeviceGetPCIBusId",
    .uuid_text = hip_uuid_text,
    .error_name = hip_error_name,
};

/* ---- the identity of a GPU: address and partition ---- */

#define PCI_FOLDER "/sys/bus/pci/devices"

char *gpu_pci_file(const char *address, const char *name)
{
    const char *wish = g_getenv("SKIPJACK_PCI");
    g_autofree char *path =
        g_build_filename(wish && *wish ? wish : PCI_FOLDER, address, name, NULL);
    char *text = NULL;

    if (*address == '\0' || !g_file_get_contents(path, &text, NULL, NULL))
        return NULL;
    return g_strchomp(text);
}

static void find_uuid(const struct gpu_library *library, hipDevice_t id,
                      struct device_identity *identity)
{
    __typeof__(&hipDeviceGetUuid) get_uuid;
    hipUUID uuid = {{0}};

    if (!gpu_symbol(library, library->vendor->uuid_function, &get_uuid, NULL) ||
        get_uuid(&uuid, id) != hipSuccess || !library->vendor->uuid_text(uuid.bytes, identity))
        identity->uuid[0] = '\0';
}

/* Fills in the GPU's PCI address as sysfs writes it: lower-case, at least four digits of the
 * domain. */
static void find_address(const struct gpu_library *library, hipDevice_t id,
                         struct device_identity *identity)
{
    __typeof__(&hipDeviceGetPCIBusId) get_address;
    unsigned domain, bus, slot, function;
    char text[64] = "";

    if (gpu_symbol(library, library->vendor->address_function, &get_address, NULL) &&
        get_address(text, (int)sizeof(text) - 1, id) == hipSuccess &&
        sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4)
        g_snprintf(identity->address, sizeof(identity->address), "%04x:%02x:%02x.%x", domain, bus,
                   slot, function);
}

/* The path of a file of the card in sysfs. AMD's runtime gives the parts of a divided card
 * different PCI functions; sysfs knows only function 0. */
static char *card_file(const char *address, const char *name)
{
    char first[sizeof(((struct device_identity *)0)->address)];
    size_t length = g_strlcpy(first, address, sizeof(first));
    char *text = gpu_pci_file(address, name);

    if (text || length == 0)
        return text;
    first[length - 1] = '0';
    return gpu_pci_file(first, name);
}

/* Fills in the partition. A MIG instance of NVIDIA is a device with its own UUID, and its name
 * ends in its profile ("MIG 1g.10gb"). AMD's kernel driver reports in sysfs how a card and its
 * memory are divided. */
static void find_partition(const struct gpu_library *library, hipDevice_t id,
                           struct device_identity *identity)
{
    char name[128] = "";
    const char *instance;
    g_autofree char *mode = card_file(identity->address, "current_compute_partition");
    g_autofree char *memory = card_file(identity->address, "current_memory_partition");

    library->api.DeviceGetName(name, sizeof(name) - 1, id);
    instance = library->vendor == &gpu_vendor_cuda ? strstr(name, "MIG ") : NULL;
    if (instance && *identity->uuid)
        memcpy(identity->uuid, "MIG", 3);
    if (instance)
        g_strlcpy(identity->partition, instance, sizeof(identity->partition));
    else if (mode)
        g_snprintf(identity->partition, sizeof(identity->partition), "%s%s%s", mode,
                   memory ? " " : "", memory ? memory : "");
}

void gpu_identify(const struct gpu_library *library, hipDevice_t id,
                  struct device_identity *identity)
{
    *identity = (struct device_identity){0};
    find_uuid(library, id, identity);
    find_address(library, id, identity);
    find_partition(library, id, identity);
}
