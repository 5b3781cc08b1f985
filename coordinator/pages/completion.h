/*
 * Words for the completion of command lines in bash: four functions, which completion.bash calls. They are made from
 * the descriptions of walk.h, and from the tables of strategies, solvers, types, layouts and shipped networks.
 */
#ifndef COORDINATOR_PAGES_COMPLETION_H
#define COORDINATOR_PAGES_COMPLETION_H

#include <jansson.h>

/* Text for bash. Free with g_free(). */
char *completion_text(const json_t *program);

#endif
