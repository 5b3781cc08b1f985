/* A program's binary as a driver gives it, which a full disk may have cut anywhere: PoCL's magic is put before
 * half of them, so that its files are looked into. A refusal sets an error. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/toolchains/opencl_binary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(GBytes *binary)
{
    g_autoptr(GError) error = NULL;
    if (opencl_binary_check(binary, &error) == (error != NULL))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char magic[] = "poclbin";
    /* Copies of just their size, so that a byte read beyond is seen. */
    g_autoptr(GBytes) plain = g_bytes_new(data, size);
    guint8 *packed = g_malloc(sizeof magic + size);
    memcpy(packed, magic, sizeof magic);
    memcpy(packed + sizeof magic, data, size);
    g_autoptr(GBytes) pocl = g_bytes_new_take(packed, sizeof magic + size);
    check(plain);
    check(pocl);
    return 0;
}
