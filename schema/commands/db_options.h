/* How the commands under `skipjack db` that take options read them. Internal to the room. */
#ifndef SCHEMA_COMMANDS_DB_OPTIONS_H
#define SCHEMA_COMMANDS_DB_OPTIONS_H

#include <glib.h>
#include <stdbool.h>

/* Parses argv, which begins behind the command's own name, by the context's entries; name is what help
 * calls the command ("skipjack db roles"). False with a G_OPTION_ERROR for what is no option of its. */
bool db_options_parse(GOptionContext *context, const char *name, int argc, char **argv,
                      GError **error);

#endif
