#include "coordinator/network/op.h"

bool op_reads(const struct op_call *call, int input, const struct shape *stored)
{
    const struct op *op = call->op;
    if (op->reads)
        return op->reads(call, input, stored);
    if (stored->type != call->inputs[input]->type && !(op->absorbs & OP_READS_CAST))
        return false;
    if (shape_is_packed(stored))
        return true;
    if (shape_is_dense(stored))
        return op->absorbs & OP_READS_ORDER;
    if (shape_is_broadcast(stored))
        return op->absorbs & OP_READS_BROADCAST;
    return op->absorbs & OP_READS_GAPS;
}
