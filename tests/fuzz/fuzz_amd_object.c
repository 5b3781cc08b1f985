/* Any bytes as an AMD code object: refused with a reason, or read with its target and kernel. */
#include "kernels/objects/amd_object.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GBytes) code = g_bytes_new(data, size);
    g_autoptr(GError) error = NULL;
    struct amd_object object;
    bool read = amd_object_read(code, "conv", &object, &error);
    g_assert(read == (error == NULL));
    if (read) {
        g_assert(memchr(object.target, '\0', sizeof(object.target)));
        g_assert(object.kernel.vector_registers >= -1 && object.kernel.local_bytes >= -1);
    }
    return 0;
}
