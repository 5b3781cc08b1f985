#include "kernels/objects/code_object.h"

G_DEFINE_QUARK(skipjack - kernels - error - quark, kernels_error)

void code_object_clear(struct code_object *object)
{
    g_clear_pointer(&object->code, g_bytes_unref);
    g_clear_pointer(&object->log, g_free);
    g_clear_pointer(&object->instructions, g_free);
}
