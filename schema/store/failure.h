/*
 * Why a config, a job or an export row failed. The numbers are stored and never
 * reused. Only FAILURE_NONE can become a result.
 */
#ifndef SCHEMA_STORE_FAILURE_H
#define SCHEMA_STORE_FAILURE_H

#include "schema/sql/numbers.h"

#include <stdbool.h>

/*
 * FAILURE_NONE to FAILURE_OVER_LIMITS; schema/sql/numbers.h has the list.
 * FAILURE_PENDING: not evaluated yet, in open rounds only.
 * FAILURE_SLOW: dropped early as clearly slower than the best; verified, not a fault.
 * FAILURE_OVER_LIMITS: the compiler reports more registers or memory than the device allows.
 */
enum failure {
#define X(name, number, text) name = number,
    FAILURE_NUMBERS(X)
#undef X
};
#define FAILURE_COUNT 18

/* "compile error", "wrote out of bounds", ...; "ok" for FAILURE_NONE. Static. */
const char *failure_name(enum failure failure);
bool failure_parse(const char *name, enum failure *failure);

#endif
