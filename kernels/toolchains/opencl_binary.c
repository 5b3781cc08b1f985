#include "kernels/toolchains/opencl_binary.h"

#include <elf.h>
#include <string.h>

#include "kernels/toolchains/toolchain.h"

static const char pocl_magic[] = "poclbin"; /* with its 0 */

static bool refuse(GError **error, const char *what)
{
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_OBJECT, "the program's binary %s", what);
    return false;
}

/* Whether a code file is complete: linkers write the section headers last, so a file that has them was not cut off.
 * */
static bool is_whole_elf(const guint8 *bytes, gsize size)
{
    Elf64_Ehdr header;
    if (size < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    guint64 sections = (guint64)header.e_shnum * header.e_shentsize;
    return header.e_shoff <= size && sections <= size - header.e_shoff;
}

/* Whether the file at offset `at` of the binary is complete. Its length is in the 4 bytes before it, little-endian.
 * */
static bool is_whole_file(const guint8 *bytes, gsize size, gsize at)
{
    guint32 length;
    if (at < sizeof length)
        return false;
    memcpy(&length, bytes + at - sizeof length, sizeof length);
    length = GUINT32_FROM_LE(length);
    return length <= size - at && is_whole_elf(bytes + at, length);
}

static bool check_pocl(const guint8 *bytes, gsize size, GError **error)
{
    const guint8 *end = bytes + size, *found = bytes;
    int files = 0;
    while ((found = memmem(found, (gsize)(end - found), ELFMAG, SELFMAG)) != NULL) {
        if (!is_whole_file(bytes, size, (gsize)(found - bytes)))
            return refuse(error, "holds code that is cut off");
        files++;
        found += SELFMAG;
    }
    return files > 0 || refuse(error, "holds no finished code");
}

bool opencl_binary_check(GBytes *binary, GError **error)
{
    gsize size;
    const guint8 *bytes = g_bytes_get_data(binary, &size);
    if (size == 0)
        return refuse(error, "is empty");
    if (size < sizeof pocl_magic || memcmp(bytes, pocl_magic, sizeof pocl_magic) != 0)
        return true;
    return check_pocl(bytes, size, error);
}
