#include "coordinator/pages/man.h"

#include "coordinator/pages/walk.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

/* ---- roff ---- */

/* Appends text with the characters escaped that roff reads as its own: '\', '-' (else a hyphen), a '.' or "'" that
 * begins a line, and all beyond ASCII. */
static void add_text(GString *out, const char *text)
{
    for (const char *c = text; *c; c = g_utf8_next_char(c)) {
        bool begins = c == text ? (out->len == 0 || out->str[out->len - 1] == '\n') : c[-1] == '\n';
        gunichar letter = g_utf8_get_char(c);
        if (begins && (*c == '.' || *c == '\''))
            g_string_append(out, "\\&");
        if (*c == '\\')
            g_string_append(out, "\\e");
        else if (*c == '-')
            g_string_append(out, "\\-");
        else if (letter >= 0x80)
            g_string_append_printf(out, "\\[u%04X]", letter);
        else
            g_string_append_c(out, *c);
    }
}

static void end_line(GString *out)
{
    if (out->len > 0 && out->str[out->len - 1] != '\n')
        g_string_append_c(out, '\n');
}

/* A request or macro on a line of its own. */
static void add_macro(GString *out, const char *macro)
{
    end_line(out);
    g_string_append_printf(out, "%s\n", macro);
}

static void add_heading(GString *out, const char *macro, const char *title)
{
    end_line(out);
    g_string_append_printf(out, "%s ", macro);
    add_text(out, title);
    g_string_append_c(out, '\n');
}

/* Text whose lines stay as they are. */
static void add_lines(GString *out, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    guint count = g_strv_length(lines);
    while (count > 0 && g_strstrip(g_strdup(lines[count - 1]))[0] == '\0' && --count > 0)
        continue;
    add_macro(out, ".nf");
    for (guint i = 0; i < count; i++) {
        add_text(out, g_strchomp(lines[i]));
        g_string_append_c(out, '\n');
    }
    add_macro(out, ".fi");
}

static void add_paragraph(GString *out, const char *text)
{
    if (strchr(text, '\n')) {
        add_lines(out, text);
    } else {
        end_line(out);
        add_text(out, text);
        g_string_append_c(out, '\n');
    }
}

/* ---- parts of pages ---- */

/* "skipjack-campaign-create" of "campaign create". Free with g_free(). */
static char *page_name(const char *command)
{
    char *name = g_strconcat("skipjack", *command ? "-" : "", command, NULL);
    return g_strdelimit(name, " ", '-');
}

static void add_title(GString *out, const json_t *program, const char *command, const char *line)
{
    g_autofree char *name = page_name(command), *upper = g_ascii_strup(name, -1);
    const char *date = pages_text(program, "date");
    g_string_append(out, ".TH ");
    add_text(out, upper);
    g_string_append_printf(out, " 1 \"%s\" \"skipjack %s\" Skipjack\n", date ? date : "",
                           pages_text(program, "version"));
    add_heading(out, ".SH", "NAME");
    add_text(out, name);
    g_string_append(out, " \\- ");
    add_text(out, line);
    add_heading(out, ".SH", "SYNOPSIS");
}

static void add_reference(GString *out, const char *command)
{
    g_autofree char *name = page_name(command);
    end_line(out);
    g_string_append(out, ".BR ");
    add_text(out, name);
    g_string_append(out, " (1)\n");
}

static void add_option(GString *out, const json_t *option)
{
    const char *letter = pages_text(option, "short"), *argument = pages_text(option, "argument");
    const char *help = pages_text(option, "help");
    add_macro(out, ".TP");
    if (letter) {
        g_string_append(out, "\\fB\\-");
        add_text(out, letter);
        g_string_append(out, "\\fR, ");
    }
    g_string_append(out, "\\fB\\-\\-");
    add_text(out, pages_text(option, "long"));
    g_string_append(out, "\\fR");
    if (argument) {
        g_string_append(out, "=\\fI");
        add_text(out, argument);
        g_string_append(out, "\\fR");
    }
    add_paragraph(out, help ? help : "");
}

static void add_example(GString *out, const json_t *object)
{
    const char *example = pages_text(object, "example");
    g_auto(GStrv) lines = g_strsplit(example ? example : "", "\n", -1);
    if (!example)
        return;
    for (char **line = lines; *line; line++)
        g_strchug(*line);
    g_autofree char *text = g_strjoinv("\n", lines);
    add_heading(out, ".SH", "EXAMPLES");
    add_lines(out, text);
}

static void add_status(GString *out)
{
    static const char *const rows[][2] = {{"0", "done"},
                                          {"1", "failed, or findings"},
                                          {"2", "wrong usage"},
                                          {"3", "a night that is not done (run)"},
                                          {"130", "stopped by Ctrl-C"}};
    add_heading(out, ".SH", "EXIT STATUS");
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        add_macro(out, ".TP");
        add_paragraph(out, rows[i][0]);
        add_paragraph(out, rows[i][1]);
    }
}

/* ---- pages ---- */

static bool save(const char *folder, const char *command, GString *page, GError **error)
{
    g_autofree char *name = page_name(command);
    g_autofree char *file = g_strconcat(name, ".1", NULL);
    g_autofree char *path = g_build_filename(folder, file, NULL);
    end_line(page);
    return g_file_set_contents(path, page->str, (gssize)page->len, error);
}

static bool write_command(const json_t *program, const json_t *row, const char *parent,
                          const char *folder, GError **error)
{
    g_autoptr(GString) page = g_string_new(NULL);
    const char *command = pages_text(row, "command"), *arguments = pages_text(row, "arguments");
    const char *notes = pages_text(row, "notes"), *below = pages_text(row, "description");
    const json_t *options = json_object_get(row, "options");
    size_t index;
    const json_t *option;
    add_title(page, program, command, pages_text(row, "line"));
    g_string_append(page, ".B skipjack ");
    add_text(page, command);
    g_string_append(page, "\n[\\fIOPTION\\fR...]");
    if (arguments) {
        g_string_append_c(page, ' ');
        add_text(page, arguments);
    }
    add_heading(page, ".SH", "DESCRIPTION");
    add_paragraph(page, pages_text(row, "summary"));
    if (json_array_size(options) > 0)
        add_heading(page, ".SH", "OPTIONS");
    json_array_foreach (options, index, option) {
        add_option(page, option);
    }
    if (notes || below) {
        add_heading(page, ".SH", "NOTES");
        add_lines(page, below ? below : notes);
    }
    add_example(page, row);
    add_status(page);
    add_heading(page, ".SH", "SEE ALSO");
    add_reference(page, parent);
    return save(folder, command, page, error);
}

static bool write_page(const json_t *program, const json_t *row, const char *parent,
                       const char *folder, GError **error);

/* The page of a command with verbs, and theirs. */
static bool write_verbs(const json_t *program, const json_t *row, const char *parent,
                        const char *folder, GError **error)
{
    g_autoptr(GString) page = g_string_new(NULL);
    const char *command = pages_text(row, "command"), *about = pages_text(row, "about");
    size_t index;
    const json_t *verb;
    add_title(page, program, command, pages_text(row, "line"));
    g_string_append(page, ".B skipjack ");
    add_text(page, command);
    g_string_append(page, "\n\\fIVERB\\fR [\\fIOPTION\\fR...]");
    add_heading(page, ".SH", "DESCRIPTION");
    add_paragraph(page, about ? about : pages_text(row, "line"));
    add_heading(page, ".SH", "VERBS");
    json_array_foreach (json_object_get(row, "verbs"), index, verb) {
        add_macro(page, ".TP");
        add_reference(page, pages_text(verb, "command"));
        add_paragraph(page, pages_text(verb, "line"));
        if (!write_page(program, verb, command, folder, error))
            return false;
    }
    add_example(page, row);
    add_status(page);
    add_heading(page, ".SH", "SEE ALSO");
    add_reference(page, parent);
    return save(folder, command, page, error);
}

static bool write_page(const json_t *program, const json_t *row, const char *parent,
                       const char *folder, GError **error)
{
    return json_object_get(row, "verbs") ? write_verbs(program, row, parent, folder, error)
                                         : write_command(program, row, parent, folder, error);
}

/* Rows "NAME  meaning" of the program's page. */
static void add_rows(GString *page, const json_t *rows, const char *name, const char *meaning)
{
    size_t index;
    const json_t *row;
    json_array_foreach (rows, index, row) {
        add_macro(page, ".TP");
        g_string_append(page, "\\fB");
        add_text(page, pages_text(row, name));
        g_string_append(page, "\\fR\n");
        add_paragraph(page, pages_text(row, meaning));
    }
}

static void add_commands(GString *page, const json_t *program)
{
    size_t heading, index;
    const json_t *group, *row;
    add_heading(page, ".SH", "COMMANDS");
    json_array_foreach (json_object_get(program, "groups"), heading, group) {
        add_heading(page, ".SS", json_string_value(group));
        json_array_foreach (json_object_get(program, "commands"), index, row) {
            if (g_strcmp0(pages_text(row, "group"), json_string_value(group)) == 0) {
                add_macro(page, ".TP");
                add_reference(page, pages_text(row, "command"));
                add_paragraph(page, pages_text(row, "line"));
            }
        }
    }
}

static bool write_program(const json_t *program, const char *folder, GError **error)
{
    g_autoptr(GString) page = g_string_new(NULL);
    add_title(page, program, "", pages_text(program, "summary"));
    g_string_append(page, ".B skipjack\n\\fICOMMAND\\fR [\\fIOPTION\\fR...]");
    add_commands(page, program);
    add_heading(page, ".SH", "OPTIONS");
    add_rows(page, json_object_get(program, "options"), "name", "meaning");
    add_heading(page, ".SH", "ENVIRONMENT");
    add_rows(page, json_object_get(program, "variables"), "name", "meaning");
    add_example(page, program);
    add_status(page);
    add_heading(page, ".SH", "SEE ALSO");
    g_string_append(page, ".BR skipjackdb (3)\n");
    return save(folder, "", page, error);
}

bool man_write(const json_t *program, const char *folder, GError **error)
{
    size_t index;
    const json_t *row;
    if (g_mkdir_with_parents(folder, 0755) != 0) {
        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
                    "cannot make the folder '%s': %s", folder, g_strerror(errno));
        return false;
    }
    json_array_foreach (json_object_get(program, "commands"), index, row) {
        if (!write_page(program, row, "", folder, error))
            return false;
    }
    return write_program(program, folder, error);
}
