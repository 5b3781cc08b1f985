#include "coordinator/cli/describe.h"

#include <stdio.h>
#include <string.h>

bool describe_asked(int argc, char *const *argv)
{
    return argc == 2 && strcmp(argv[1], DESCRIBE_OPTION) == 0;
}

/* Adds the entries to `array`. The one that takes the arguments themselves (G_OPTION_REMAINING) gives *arguments its
 * name instead. */
static void add_options(json_t *array, const GOptionEntry *entries, const char **arguments)
{
    for (; entries && entries->long_name; entries++) {
        char letter[] = {entries->short_name, '\0'};
        bool file =
            entries->arg == G_OPTION_ARG_FILENAME || entries->arg == G_OPTION_ARG_FILENAME_ARRAY;
        if (strcmp(entries->long_name, G_OPTION_REMAINING) == 0)
            *arguments = entries->arg_description;
        if (entries->flags & G_OPTION_FLAG_HIDDEN || entries->long_name[0] == '\0')
            continue;
        json_array_append_new(
            array, json_pack("{s:s, s:s?, s:s?, s:s?, s:b}", "long", entries->long_name, "short",
                             entries->short_name ? letter : NULL, "argument",
                             entries->arg_description, "help", entries->description, "file", file));
    }
}

json_t *describe_command(const struct cli *cli)
{
    json_t *options = json_array();
    const char *arguments = cli->arguments && cli->arguments[0] ? cli->arguments : NULL;
    add_options(options, cli->options, &arguments);
    add_options(options, cli->shared, &arguments);
    add_options(options, cli->lists, &arguments);
    return json_pack("{s:s, s:s?, s:s, s:s?, s:s?, s:s?, s:o}", "command", cli->command,
                     "arguments", arguments, "summary", cli->summary, "notes", cli->notes,
                     "example", cli->example, "description", cli->description, "options", options);
}

json_t *describe_verbs(const struct cli_verbs *list)
{
    json_t *verbs = json_array();
    for (int i = 0; i < list->count; i++)
        json_array_append_new(verbs, json_pack("{s:s, s:s}", "name", list->verbs[i].name, "summary",
                                               list->verbs[i].summary));
    return json_pack("{s:s, s:s?, s:s, s:o}", "command", list->command, "about", list->about,
                     "example", list->example, "verbs", verbs);
}

void describe_print(json_t *description)
{
    json_dumpf(description, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(description);
}
