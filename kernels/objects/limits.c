#include "kernels/objects/limits.h"

char *limits_excess(const struct target *target, int64_t scratch_bytes, int64_t local_bytes)
{
    static const int64_t scratch_limits[] = {
        [VENDOR_AMD] = 0,
        [VENDOR_NVIDIA] = LIMITS_CUDA_SCRATCH_BYTES,
    };
    int64_t scratch_limit, local_limit = target_dynamic_local_bytes(target);

    if (target->vendor == VENDOR_CPU)
        return NULL;
    scratch_limit = scratch_limits[target->vendor];
    if (scratch_bytes > scratch_limit)
        return g_strdup_printf("a work-item needs %" G_GINT64_FORMAT
                               " bytes of scratch memory, more than %" G_GINT64_FORMAT
                               ": it has too few registers",
                               scratch_bytes, scratch_limit);
    if (local_limit > 0 && local_bytes > local_limit)
        return g_strdup_printf("a workgroup needs %" G_GINT64_FORMAT
                               " bytes of local memory, and %s has %" G_GINT64_FORMAT,
                               local_bytes, target->id, local_limit);
    return NULL;
}
