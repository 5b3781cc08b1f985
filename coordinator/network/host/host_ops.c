#include "coordinator/network/host/host_ops.h"

#include "coordinator/network/host/host_rows.h"

#include <string.h>

static const struct host_row *const tables[] = {
    host_kernel_rows,    host_window_rows,    host_norm_rows,
    host_matrix_rows,    host_pointwise_rows, host_movement_rows,
    host_reduction_rows, host_shape_rows,     host_quantised_rows,
};

const struct host_row *host_find(const char *op_name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        for (const struct host_row *row = tables[i]; row->name != NULL; row++) {
            if (strcmp(row->name, op_name) == 0) {
                return row;
            }
        }
    }
    return NULL;
}
