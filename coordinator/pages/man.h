/* Man pages from the descriptions of walk.h: skipjack.1, and one for each command and verb. */
#ifndef COORDINATOR_PAGES_MAN_H
#define COORDINATOR_PAGES_MAN_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* Writes the pages into the folder, which is made if it is missing. False with a G_FILE_ERROR. */
bool man_write(const json_t *program, const char *folder, GError **error);

#endif
