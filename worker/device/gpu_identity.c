/* Which one of its kind a GPU is. What a driver does not know stays "": an older one is no worse. */
#include "worker/device/gpu_api.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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

bool gpu_uuid_of_bytes(const char bytes[16], struct device_identity *identity)
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

/* The 16 digits that ROCR_VISIBLE_DEVICES takes behind "GPU-"; a GPU without a number of its own says
 * "XX". */
bool gpu_uuid_of_text(const char bytes[16], struct device_identity *identity)
{
    for (int i = 0; i < 16; i++)
        if (!isxdigit((unsigned char)bytes[i]))
            return false;
    g_snprintf(identity->uuid, sizeof(identity->uuid), "GPU-%.16s", bytes);
    return true;
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

/* sysfs has small letters, and four digits of the domain at the least. */
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

/* AMD's runtime numbers the parts of a divided card as functions of its PCI device, of which the kernel has
 * the first alone. */
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

/* An instance of NVIDIA's is a device with a UUID of its own, and its name ends in what it is. AMD's kernel
 * driver tells how the card and its memory are divided. */
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
