/*
 * Turns text files into C source at build time:
 *
 *   embed kernel_sources FILE...   the table declared in kernels/kernel_source.h
 *   embed kernel_hashes FILE...    the function declared in solvers/framework/kernel_hash.h
 *   embed migrations FILE...       the migrations declared in schema/sql/migrations.h
 *   embed definitions FILE...      the definitions declared in schema/sql/migrations.h
 *   embed page_files FILE...       the dashboard's files declared in coordinator/serve/page_files.h
 *   embed network_tables FILE...   the layer tables declared in coordinator/import/shipped.h
 *
 * The C source goes to standard output. Device headers (*.h) are given together
 * with the kernels (*.cl). Each `#include "NAME.h"` of a kernel is replaced by
 * the header's text where the header is included first, and left out later.
 * Comments and blank lines are removed, so that a reworded comment changes no
 * kernel's hash and nothing has to be compiled or measured again for it. There
 * are no #line directives: the hash does not depend on the folder of the build.
 *
 * In SQL @NAME is replaced by a number of schema/sql/numbers.h. Definitions are CREATE OR REPLACE
 * statements. Comments between them are left out.
 */
#include "schema/sql/numbers.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct text {
    char *name; /* the file's name without its folder */
    char *body;
    char *sha256;
};

static void text_free(gpointer data)
{
    struct text *text = data;
    g_free(text->name);
    g_free(text->body);
    g_free(text->sha256);
    g_free(text);
}

static int text_compare(gconstpointer a, gconstpointer b)
{
    const struct text *const *left = a;
    const struct text *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

static _Noreturn void fail(const char *path, const char *reason)
{
    fprintf(stderr, "embed: %s: %s\n", path, reason);
    exit(1);
}

static char *read_text(const char *path)
{
    g_autoptr(GError) error = NULL;
    char *body = NULL;
    gsize length = 0;
    if (!g_file_get_contents(path, &body, &length, &error))
        fail(path, error->message);
    if (strlen(body) != length)
        fail(path, "holds a NUL byte, only text can be embedded");
    return body;
}

/* The name of the header that the line includes, NULL when the line is no #include. Free with g_free(). */
static char *included_header(const char *path, const char *line)
{
    const char *word = line + strspn(line, " \t");
    if (!g_str_has_prefix(word, "#include"))
        return NULL;
    g_auto(GStrv) parts = g_strsplit(word, "\"", 3);
    if (g_strv_length(parts) < 3 || strcmp(parts[0], "#include ") != 0)
        fail(path, "a kernel may include headers of kernels/device alone: #include \"NAME.h\"");
    return g_strdup(parts[1]);
}

/* Appends `body` with the headers it includes. `included` holds the names of headers already appended. */
static void append_expanded(GString *out, const char *path, const char *body, GHashTable *headers,
                            GHashTable *included)
{
    g_auto(GStrv) lines = g_strsplit(body, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_autofree char *header = included_header(path, *line);
        if (!header) {
            g_string_append(out, *line);
        } else if (!g_hash_table_contains(headers, header)) {
            fail(path, "includes a header that kernels/device lacks");
        } else if (!g_hash_table_contains(included, header)) {
            const char *text = g_hash_table_lookup(headers, header);
            g_hash_table_add(included, g_strdup(header));
            append_expanded(out, header, text, headers, included);
        }
        if (line[1])
            g_string_append_c(out, '\n');
    }
}

/* The end of the string literal or comment that begins at `c`; where neither begins there, the next character. An
 * unfinished one ends with the text. */
static const char *token_end(const char *c, bool *is_comment)
{
    const char *end = NULL;
    *is_comment = g_str_has_prefix(c, "//") || g_str_has_prefix(c, "/*");
    if (c[0] == '"' || c[0] == '\'') {
        for (end = c + 1; *end && *end != c[0]; end++)
            end += end[0] == '\\' && end[1];
        return *end ? end + 1 : end;
    }
    if (!*is_comment)
        return c + 1;
    end = strstr(c + 2, c[1] == '*' ? "*/" : "\n");
    if (!end)
        return c + strlen(c);
    return c[1] == '*' ? end + 2 : end;
}

/* Removes trailing blanks of the last line, and the line itself where nothing else is on it. */
static void end_line(GString *out)
{
    while (out->len > 0 && (out->str[out->len - 1] == ' ' || out->str[out->len - 1] == '\t'))
        g_string_truncate(out, out->len - 1);
    if (out->len > 0 && out->str[out->len - 1] != '\n')
        g_string_append_c(out, '\n');
}

/* The text of C or OpenCL C without its comments and blank lines. A comment becomes one space, as in C's own
 * translation. */
static char *strip_comments(const char *text)
{
    GString *out = g_string_new(NULL);
    while (*text) {
        bool is_comment = false;
        const char *end = token_end(text, &is_comment);
        if (is_comment)
            g_string_append_c(out, ' ');
        else if (*text == '\n')
            end_line(out);
        else
            g_string_append_len(out, text, end - text);
        text = end;
    }
    end_line(out);
    return g_string_free(out, FALSE);
}

/* A kernel's text with the headers it includes and without comments. */
static char *expand(const char *path, const char *body, GHashTable *headers)
{
    g_autoptr(GHashTable) included = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GString) out = g_string_new(NULL);
    append_expanded(out, path, body, headers, included);
    return strip_comments(out->str);
}

static bool is_header(const char *path)
{
    return g_str_has_suffix(path, ".h");
}

/* Reads the headers among the files into a table: text by file name. */
static GHashTable *read_headers(char **paths)
{
    GHashTable *headers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (char **path = paths; *path; path++) {
        if (is_header(*path))
            g_hash_table_insert(headers, g_path_get_basename(*path), read_text(*path));
    }
    return headers;
}

static const struct {
    const char *name, *number;
} numbers[] = {
#define X(name, number, text) {#name, #number},
    SQL_NUMBERS(X)
#undef X
};

/* The text of a migration with the numbers of schema/sql/numbers.h in place of @NAME. */
static char *with_numbers(const char *path, const char *sql)
{
    static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    GString *out = g_string_new(NULL);
    for (const char *c = sql; *c; c++) {
        bool begins = *c == '@' && (c == sql || !g_ascii_isalnum(c[-1]));
        size_t length = begins ? strspn(c + 1, word) : 0;
        size_t i = 0;
        while (length > 0 && i < G_N_ELEMENTS(numbers) &&
               (strlen(numbers[i].name) != length || strncmp(c + 1, numbers[i].name, length) != 0))
            i++;
        if (i == G_N_ELEMENTS(numbers))
            fail(path, "names a number with @ that schema/sql/numbers.h lacks");
        if (length > 0)
            g_string_append(out, numbers[i].number);
        else
            g_string_append_c(out, *c);
        c += length;
    }
    return g_string_free(out, FALSE);
}

/* Reads the files, sorted by name, so that the output does not depend on the order given. */
static GPtrArray *read_texts(char **paths)
{
    g_autoptr(GHashTable) headers = read_headers(paths);
    GPtrArray *texts = g_ptr_array_new_with_free_func(text_free);
    for (char **path = paths; *path; path++) {
        if (is_header(*path))
            continue;
        struct text *text = g_new0(struct text, 1);
        text->name = g_path_get_basename(*path);
        g_autofree char *raw = read_text(*path);
        if (g_str_has_suffix(*path, ".cl"))
            text->body = expand(*path, raw, headers);
        else if (g_str_has_suffix(*path, ".sql"))
            text->body = with_numbers(*path, raw);
        else
            text->body = g_steal_pointer(&raw);
        text->sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text->body, -1);
        g_ptr_array_add(texts, text);
    }
    g_ptr_array_sort(texts, text_compare);
    for (guint i = 1; i < texts->len; i++) {
        const struct text *previous = texts->pdata[i - 1];
        const struct text *text = texts->pdata[i];
        if (strcmp(previous->name, text->name) == 0)
            fail(text->name, "two files have this name");
    }
    return texts;
}

/* Prints a text as C string literals, one for each line. Question marks are escaped, because C17 still has trigraphs.
 * */
static void print_literal(const char *body)
{
    fputs("     \"", stdout);
    for (const char *c = body; *c; c++) {
        if (*c == '\n')
            fputs(c[1] ? "\\n\"\n     \"" : "\\n", stdout);
        else if (*c == '"' || *c == '\\' || *c == '?')
            printf("\\%c", *c);
        else if (g_ascii_isprint(*c))
            putchar(*c);
        else
            printf("\\%03o", (unsigned char)*c);
    }
    fputs("\"", stdout);
}

/* Prints the table of kernel sources. C allows no empty array, so each table ends in an empty row that its count
 * leaves out. */
static void print_kernel_sources(const GPtrArray *texts)
{
    puts("#include \"kernels/kernel_source.h\"\n\nconst struct kernel_source kernel_sources[] = {");
    for (guint i = 0; i < texts->len; i++) {
        const struct text *text = texts->pdata[i];
        printf("    {\"%s\",\n", text->name);
        print_literal(text->body);
        printf(",\n     \"%s\"},\n", text->sha256);
    }
    printf("    {0}};\n\nconst size_t kernel_sources_count = %u;\n", texts->len);
}

static void print_kernel_hashes(const GPtrArray *texts)
{
    puts(
        "#include \"solvers/framework/kernel_hash.h\"\n\n#include <stddef.h>\n#include <string.h>\n\n"
        "static const char *const hashes[][2] = {");
    for (guint i = 0; i < texts->len; i++) {
        const struct text *text = texts->pdata[i];
        printf("    {\"%s\", \"%s\"},\n", text->name, text->sha256);
    }
    puts("    {NULL, NULL}};\n\n"
         "const char *kernel_source_hash(const char *file)\n{\n"
         "    for (size_t i = 0; hashes[i][0]; i++) {\n"
         "        if (strcmp(hashes[i][0], file) == 0)\n"
         "            return hashes[i][1];\n"
         "    }\n    return NULL;\n}");
}

/* The number of a migration by its file name, NNNN_name.sql. Fails on other names, so that a name needs no escapes as
 * a C literal. */
static int migration_number(const char *name)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t digits = strspn(name, "0123456789");
    if (digits != 4 || name[4] != '_' || strcmp(name + strspn(name, word), ".sql") != 0)
        fail(name, "a migration is named NNNN_name.sql, in lower case");
    return (int)strtol(name, NULL, 10);
}

static void print_migrations(const GPtrArray *texts)
{
    int last = -1;
    puts("#include \"schema/sql/migrations.h\"\n\nconst struct migration migrations[] = {");
    for (guint i = 0; i < texts->len; i++) {
        const struct text *text = texts->pdata[i];
        int number = migration_number(text->name);
        if (number == last)
            fail(text->name, "another migration has this number");
        last = number;
        printf("    {%d, \"%.*s\",\n", number, (int)strcspn(text->name, "."), text->name);
        print_literal(text->body);
        printf(",\n     \"%s\"},\n", text->sha256);
    }
    printf("    {0}};\n\nconst size_t migrations_count = %u;\n", texts->len);
}

/* ---- functions, views and triggers ---- */

struct definition {
    int kind; /* index of definition_kinds: function, view or trigger */
    char *name;
    char *sql;
};

static const struct definition_kind {
    const char *begins; /* the first words of its statement */
    const char *ends;   /* the characters of which one follows a definition's name */
    const char *kind;   /* enum definition_kind's word in the table: the kind of object defined */
} definition_kinds[] = {
    {"CREATE OR REPLACE FUNCTION ", "(", "DEFINITION_FUNCTION"},
    {"CREATE OR REPLACE VIEW ", " \n", "DEFINITION_VIEW"},
    {"CREATE OR REPLACE TRIGGER ", " \n", "DEFINITION_TRIGGER"},
};
enum { VIEW = 1, TRIGGER = 2 };

static void definition_free(gpointer data)
{
    struct definition *definition = data;
    g_free(definition->name);
    g_free(definition->sql);
    g_free(definition);
}

static const char *skip_comments(const char *at)
{
    for (;;) {
        at += strspn(at, " \n");
        if (!g_str_has_prefix(at, "--"))
            return at;
        at += strcspn(at, "\n");
    }
}

/* The end of the comment, string or body in $$ that begins at `at`; where none begins there, the next character. */
static const char *skip_token(const char *path, const char *at)
{
    static const char *const quotes[][2] = {{"--", "\n"}, {"'", "'"}, {"$$", "$$"}};
    for (size_t i = 0; i < G_N_ELEMENTS(quotes); i++) {
        if (!g_str_has_prefix(at, quotes[i][0]))
            continue;
        const char *end = strstr(at + strlen(quotes[i][0]), quotes[i][1]);
        if (end == NULL)
            fail(path, "a comment, a string or a body does not end");
        return end + strlen(quotes[i][1]);
    }
    return at + 1;
}

static const char *statement_end(const char *path, const char *at)
{
    while (*at && *at != ';')
        at = skip_token(path, at);
    if (!*at)
        fail(path, "the last statement has no semicolon");
    return at;
}

static struct definition *read_definition(const char *path, const char *at, const char *end)
{
    for (size_t i = 0; i < G_N_ELEMENTS(definition_kinds); i++) {
        const struct definition_kind *kind = &definition_kinds[i];
        if (!g_str_has_prefix(at, kind->begins))
            continue;
        const char *name = at + strlen(kind->begins);
        struct definition *definition = g_new0(struct definition, 1);
        definition->kind = (int)i;
        definition->name = g_strndup(name, strcspn(name, kind->ends));
        definition->sql = g_strndup(at, (gsize)(end - at));
        return definition;
    }
    fail(path, "only CREATE OR REPLACE FUNCTION, VIEW or TRIGGER may be here");
}

/* Adds a definition to the list; ends the program where the list has it already. Functions of one name are
 * different where their parameters are, triggers where their tables are. */
static void add_definition(GPtrArray *list, struct definition *definition)
{
    const char *more = definition->kind == TRIGGER ? " ON " : "(";
    const char *ends = definition->kind == TRIGGER ? "\n" : ")";
    const char *at = strstr(definition->sql, more);
    size_t length =
        at ? (size_t)(at - definition->sql) + strcspn(at, ends)
           : strlen(definition_kinds[definition->kind].begins) + strlen(definition->name);
    for (guint i = 0; i < list->len; i++) {
        const struct definition *other = list->pdata[i];
        if (strncmp(other->sql, definition->sql, length + 1) == 0)
            fail(definition->name, "is defined twice");
    }
    g_ptr_array_add(list, definition);
}

static void read_definitions(const struct text *text, GPtrArray *list)
{
    for (const char *at = skip_comments(text->body); *at; at = skip_comments(at)) {
        const char *end = statement_end(text->name, at);
        add_definition(list, read_definition(text->name, at, end));
        at = end + 1;
    }
}

/* The number after `word` in a comment line of one of the files. */
static int stated_number(const GPtrArray *texts, const char *word)
{
    g_autofree char *line = g_strconcat("\n-- ", word, ": ", NULL);
    for (guint i = 0; i < texts->len; i++) {
        const struct text *text = texts->pdata[i];
        const char *at = strstr(text->body, line);
        if (at && g_ascii_isdigit(at[strlen(line)]))
            return (int)strtol(at + strlen(line), NULL, 10);
    }
    fail(word, "no file says it");
}

static char *hash_of(const GPtrArray *list, int only_kind)
{
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    for (guint i = 0; i < list->len; i++) {
        const struct definition *definition = list->pdata[i];
        if (only_kind < 0 || definition->kind == only_kind)
            g_checksum_update(sum, (const guchar *)definition->sql,
                              (gssize)strlen(definition->sql) + 1);
    }
    char *hash = g_strdup(g_checksum_get_string(sum));
    g_checksum_free(sum);
    return hash;
}

static void print_definitions(const GPtrArray *texts)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(definition_free);
    for (guint i = 0; i < texts->len; i++)
        read_definitions(texts->pdata[i], list);
    puts("#include \"schema/sql/migrations.h\"\n\nstatic const struct definition list[] = {");
    for (guint i = 0; i < list->len; i++) {
        const struct definition *definition = list->pdata[i];
        printf("    {%s, \"%s\",\n", definition_kinds[definition->kind].kind, definition->name);
        print_literal(definition->sql);
        puts("},");
    }
    g_autofree char *all = hash_of(list, -1), *triggers = hash_of(list, TRIGGER),
                    *views = hash_of(list, VIEW);
    printf("    {0}};\n\nconst struct definitions own_definitions = {\n    %d, %d,\n    \"%s\",\n"
           "    \"%s\",\n    \"%s\",\n    list, %u};\n",
           stated_number(texts, "revision"), stated_number(texts, "oldest program"), all, triggers,
           views, list->len);
}

/* ---- the dashboard's files ---- */

static const struct {
    const char *suffix, *type;
} page_types[] = {
    {".html", "text/html; charset=utf-8"},     {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"}, {".svg", "image/svg+xml"},
    {".txt", "text/plain; charset=utf-8"},     {".json", "application/json"},
};

static const char *page_type(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(page_types); i++) {
        if (g_str_has_suffix(name, page_types[i].suffix))
            return page_types[i].type;
    }
    fail(name, "is none of .html, .css, .js, .svg, .txt and .json, so its media type is unknown");
}

/* Compresses the text as a gzip file without a date, so that equal texts give equal bytes. */
static GByteArray *compress_text(const struct text *text)
{
    enum { GZIP_WINDOW = 15 + 16, MOST_MEMORY = 9 };
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MOST_MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        fail(text->name, "zlib does not begin");
    size_t length = strlen(text->body);
    GByteArray *bytes = g_byte_array_new();
    g_byte_array_set_size(bytes, (guint)deflateBound(&stream, length));
    stream.next_in = (Bytef *)text->body;
    stream.avail_in = (uInt)length;
    stream.next_out = bytes->data;
    stream.avail_out = bytes->len;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
        fail(text->name, "zlib does not compress it");
    g_byte_array_set_size(bytes, (guint)stream.total_out);
    deflateEnd(&stream);
    return bytes;
}

/* Prints bytes as string literals of 64 bytes. Each escape has three digits, so no byte joins the one before. */
static void print_bytes(const GByteArray *bytes)
{
    enum { BYTES_A_LINE = 64 };
    fputs("     \"", stdout);
    for (guint i = 0; i < bytes->len; i++) {
        if (i > 0 && i % BYTES_A_LINE == 0)
            fputs("\"\n     \"", stdout);
        printf("\\%03o", bytes->data[i]);
    }
    fputs("\"", stdout);
}

static void print_page_files(const GPtrArray *texts)
{
    enum { ETAG_DIGITS = 32 };
    puts("#include \"coordinator/serve/page_files.h\"\n\nconst struct page_file page_files[] = {");
    for (guint i = 0; i < texts->len; i++) {
        const struct text *text = texts->pdata[i];
        g_autoptr(GByteArray) packed = compress_text(text);
        printf("    {\"%s\", \"%s\", \"\\\"%.*s\\\"\",\n", text->name, page_type(text->name),
               ETAG_DIGITS, text->sha256);
        print_literal(text->body);
        printf(",\n     %zu,\n", strlen(text->body));
        print_bytes(packed);
        printf(",\n     %u},\n", packed->len);
    }
    printf("    {0}};\n\nconst size_t page_files_count = %u;\n", texts->len);
}

/* ---- layer tables ---- */

static void print_network_tables(const GPtrArray *texts)
{
    puts("#include \"coordinator/import/shipped.h\"\n\n"
         "const struct shipped_table shipped_tables[] = {");
    for (guint i = 0; i < texts->len; i++) {
        const struct text *text = texts->pdata[i];
        if (!g_str_has_suffix(text->name, ".csv"))
            fail(text->name, "a layer table is named NETWORK.csv");
        printf("    {\"%.*s\",\n", (int)(strlen(text->name) - strlen(".csv")), text->name);
        print_literal(text->body);
        puts("},");
    }
    printf("    {0}};\n\nconst size_t shipped_tables_count = %u;\n", texts->len);
}

static const struct mode {
    const char *name;
    void (*print)(const GPtrArray *texts);
} modes[] = {
    {"kernel_sources", print_kernel_sources}, {"kernel_hashes", print_kernel_hashes},
    {"migrations", print_migrations},         {"definitions", print_definitions},
    {"page_files", print_page_files},         {"network_tables", print_network_tables},
};

static const struct mode *find_mode(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < G_N_ELEMENTS(modes); i++) {
        if (strcmp(argv[1], modes[i].name) == 0)
            return &modes[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct mode *mode = find_mode(argc, argv);
    if (!mode) {
        fprintf(stderr,
                "usage: embed kernel_sources|kernel_hashes|migrations|definitions|page_files|"
                "network_tables FILE...\n");
        return 2;
    }
    g_autoptr(GPtrArray) texts = read_texts(argv + 2);
    mode->print(texts);
    if (fflush(stdout) != 0 || ferror(stdout))
        fail("standard output", "cannot be written");
    return 0;
}
