#include "coordinator/pages/completion.h"

#include "coordinator/import/shipped.h"
#include "coordinator/pages/walk.h"
#include "solvers/framework/solver.h"
#include "solvers/framework/strategy.h"
#include "solvers/problem/problem.h"

#include <string.h>

/* ---- values of options ---- */

static void add_strategies(GString *out)
{
    for (int i = 0; i < STRATEGY_COUNT; i++)
        g_string_append_printf(out, " %s", strategy_table[i].name);
}

static void add_solvers(GString *out)
{
    for (int i = 0; i < solver_table_count; i++)
        g_string_append_printf(out, " %s", solver_table[i]->name);
}

static void add_types(GString *out)
{
    for (int i = TYPE_NONE + 1; i < DATA_TYPE_COUNT; i++)
        g_string_append_printf(out, " %s", data_type_name((enum data_type)i));
    g_string_append(out, " " OP_MODE_TF32);
}

static void add_layouts(GString *out)
{
    for (int i = 0; i < LAYOUT_COUNT; i++)
        g_string_append_printf(out, " %s", layout_name((enum layout)i));
}

static void add_shipped(GString *out)
{
    for (size_t i = 0; i < shipped_tables_count; i++)
        g_string_append_printf(out, " %s", shipped_tables[i].name);
}

/*
 * Options whose values are known. completion.bash knows these kinds: "words" are offered, "list" are words joined
 * by commas, "networks", "targets" and "campaigns" are names that the database has, and "files" are files and words.
 */
static const struct {
    const char *option, *kind;
    void (*add)(GString *out); /* the words; NULL for none */
} values[] = {
    {"strategy", "words", add_strategies}, {"solvers", "list", add_solvers},
    {"without", "list", add_solvers},      {"dtype", "list", add_types},
    {"layout", "words", add_layouts},      {"network", "networks", add_shipped},
    {"target", "targets", NULL},           {"campaign", "campaigns", NULL},
    {"problems", "files", add_shipped},
};

/* Appends the kind and words of an option's value; nothing if they are unknown. */
static void add_value(GString *out, const json_t *option)
{
    const char *argument = pages_text(option, "argument");
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
        if (strcmp(pages_text(option, "long"), values[i].option) == 0) {
            g_string_append(out, values[i].kind);
            if (values[i].add)
                values[i].add(out);
            return;
        }
    }
    if (json_is_true(json_object_get(option, "file"))) {
        g_string_append(out, "files");
    } else if (strchr(argument, '|')) {
        g_autofree char *words = g_strdelimit(g_strdup(argument), "|[]", ' ');
        g_string_append_printf(out, "words %s", words);
    } else {
        g_string_append(out, "none");
    }
}

static bool has_option(const json_t *row, const char *name)
{
    size_t index;
    const json_t *option;
    json_array_foreach (json_object_get(row, "options"), index, option) {
        if (strcmp(pages_text(option, "long"), name) == 0)
            return true;
    }
    return false;
}

/* Kinds of arguments, by a word of their text in a command's help; the first row that fits counts. */
static const struct {
    const char *word, *kind;
} arguments_kinds[] = {
    {"NAME[@VERSION]", "networks remove"},
    {"networks|targets", "words networks targets campaigns"},
    {"FILE", "files"},
    {"PATH", "files"},
    {"LIST", "files"},
    {"DB...", "files"},
    {"IN...", "files"},
    {"A B", "files"},
    {"TARGET", "targets"},
    {"ID", "campaigns"},
};

/* Appends the kind and words of a command's arguments. A command with --dtype reads lists of problems, which shipped
 * networks are, too. */
static void add_arguments(GString *out, const json_t *row)
{
    const char *arguments = pages_text(row, "arguments");
    gsize i = 0;
    while (i < G_N_ELEMENTS(arguments_kinds) &&
           !(arguments && strstr(arguments, arguments_kinds[i].word)))
        i++;
    g_string_append(out, i < G_N_ELEMENTS(arguments_kinds) ? arguments_kinds[i].kind : "none");
    if (g_str_has_prefix(out->str, "files") && has_option(row, "dtype"))
        add_shipped(out);
}

/* ---- functions of bash ---- */

enum function { VERBS, OPTIONS, VALUES, ARGUMENTS };

static void add_case(GString *out, const char *pattern, const char *words)
{
    g_autofree char *quoted = g_shell_quote(words);
    g_string_append_printf(out, "        '%s') REPLY=%s ;;\n", pattern, quoted);
}

static void add_verbs(GString *out, const json_t *rows, const char *command)
{
    g_autoptr(GString) words = g_string_new(NULL);
    size_t index;
    const json_t *row;
    json_array_foreach (rows, index, row) {
        g_string_append_printf(words, "%s%s", index > 0 ? " " : "", pages_text(row, "name"));
    }
    add_case(out, command, words->str);
}

static void add_values(GString *out, const json_t *row)
{
    const char *command = pages_text(row, "command");
    size_t index;
    const json_t *option;
    json_array_foreach (json_object_get(row, "options"), index, option) {
        const char *letter = pages_text(option, "short");
        g_autoptr(GString) words = g_string_new(NULL);
        if (!pages_text(option, "argument"))
            continue;
        add_value(words, option);
        g_autofree char *pattern = g_strdup_printf("%s --%s", command, pages_text(option, "long"));
        g_autofree char *brief = g_strdup_printf("%s -%s", command, letter ? letter : "");
        add_case(out, pattern, words->str);
        if (letter)
            add_case(out, brief, words->str);
    }
}

static void add_options(GString *out, const json_t *row)
{
    g_autoptr(GString) words = g_string_new("--help");
    size_t index;
    const json_t *option;
    json_array_foreach (json_object_get(row, "options"), index, option) {
        g_string_append_printf(words, " --%s", pages_text(option, "long"));
    }
    add_case(out, pages_text(row, "command"), words->str);
}

static void add_command(GString *out, const json_t *row, enum function function)
{
    const json_t *verbs = json_object_get(row, "verbs");
    g_autoptr(GString) words = g_string_new(NULL);
    size_t index;
    const json_t *verb;
    if (verbs && function == VERBS)
        add_verbs(out, verbs, pages_text(row, "command"));
    json_array_foreach (verbs, index, verb) {
        add_command(out, verb, function);
    }
    if (verbs || function == VERBS)
        return;
    if (function == OPTIONS)
        add_options(out, row);
    if (function == VALUES)
        add_values(out, row);
    if (function == ARGUMENTS) {
        add_arguments(words, row);
        add_case(out, pages_text(row, "command"), words->str);
    }
}

char *completion_text(const json_t *program)
{
    static const struct {
        const char *name, *about;
    } functions[] = {
        [VERBS] = {"verbs", "The commands, or the verbs of a command $1."},
        [OPTIONS] = {"options", "The options of command $1."},
        [VALUES] = {"value",
                    "The kind of value of option \"$1\", \"COMMAND OPTION\", and known words."},
        [ARGUMENTS] = {"arguments", "The same of the arguments of command $1."},
    };
    const json_t *commands = json_object_get(program, "commands");
    GString *out = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(functions); i++) {
        size_t index;
        const json_t *row;
        g_string_append_printf(out, "\n# %s\n_skipjack_%s() {\n    REPLY=\n    case $1 in\n",
                               functions[i].about, functions[i].name);
        if (i == VERBS)
            add_verbs(out, commands, "");
        json_array_foreach (commands, index, row) {
            add_command(out, row, (enum function)i);
        }
        g_string_append(out, "    esac\n}\n");
    }
    return g_string_free(out, FALSE);
}
