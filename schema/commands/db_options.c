#include "schema/commands/db_options.h"

#include <string.h>

bool db_options_parse(GOptionContext *context, const char *name, int argc, char **argv,
                      GError **error)
{
    g_autofree char *first = g_strdup(name);
    g_autofree char **words = g_new0(char *, (gsize)argc + 2);
    int count = argc + 1;
    words[0] = first;
    memcpy(words + 1, argv, sizeof *words * (gsize)argc);
    if (!g_option_context_parse(context, &count, &words, error))
        return false;
    if (count > 1)
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION,
                    "unknown argument '%s', see: %s --help", words[1], name);
    return count == 1;
}
