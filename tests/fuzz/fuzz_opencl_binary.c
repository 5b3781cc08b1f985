/* A program's binary as a driver returns it, which a full disk may have cut off anywhere. Half of
 * the inputs get PoCL's magic number, so that the files in them are parsed. A refusal sets an
 * error. */
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
    /* copies of exactly this size, so that AddressSanitizer finds a read behind their end */
    g_autoptr(GBytes) plain = g_bytes_new(data, size);
    guint8 *packed = g_malloc(sizeof magic + size);
    memcpy(packed, magic, sizeof magic);
    memcpy(packed + sizeof magic, data, size);
    g_autoptr(GBytes) pocl = g_bytes_new_take(packed, sizeof magic + size);
    check(plain);
    check(pocl);
    return 0;
}
