/* Any bytes as an NVIDIA code object: refused with a reason, or read with its architecture and
 * kernel. */
#include "kernels/objects/cuda_object.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GBytes) code = g_bytes_new(data, size);
    g_autoptr(GError) error = NULL;
    struct cuda_object object;
    bool read = cuda_object_read(code, "conv", &object, &error);
    g_assert(read == (error == NULL));
    if (read) {
        g_assert(memchr(object.compiler, '\0', sizeof(object.compiler)));
        g_assert(object.registers >= -1 && object.stack_bytes >= -1 && object.arch >= 0);
    }
    return 0;
}
