#include "coordinator/import/shipped.h"

#include <string.h>

const struct shipped_table *shipped_find(const char *name)
{
    for (size_t i = 0; i < shipped_tables_count; i++) {
        if (strcmp(shipped_tables[i].name, name) == 0) {
            return &shipped_tables[i];
        }
    }
    return NULL;
}
