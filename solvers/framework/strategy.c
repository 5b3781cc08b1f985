#include "solvers/framework/strategy.h"

#include <string.h>

const struct strategy strategy_table[STRATEGY_COUNT] = {
#define STRATEGY_ROW(id, name, summary) [id] = {name, summary},
    STRATEGIES(STRATEGY_ROW)
#undef STRATEGY_ROW
};

int strategy_find(const char *name)
{
    for (int i = 0; i < STRATEGY_COUNT; i++)
        if (strcmp(strategy_table[i].name, name) == 0)
            return i;
    return -1;
}
