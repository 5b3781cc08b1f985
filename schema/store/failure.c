#include "schema/store/failure.h"

#include <glib.h>
#include <string.h>

static const char *const names[FAILURE_COUNT] = {
#define X(name, number, text) [number] = text,
    FAILURE_NUMBERS(X)
#undef X
};

const char *failure_name(enum failure failure)
{
    g_assert((unsigned)failure < FAILURE_COUNT);
    return names[failure];
}

bool failure_parse(const char *name, enum failure *failure)
{
    for (int i = 0; i < FAILURE_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *failure = (enum failure)i;
            return true;
        }
    }
    return false;
}
