/* Any line as a find-db's: a scan does not change the text, the parts of an entry are in order and
 * inside it, and a parsed line is written back. */
#include "export/formats/find_db.h"
#include "export/formats/find_scan.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool holds(struct span outer, struct span piece)
{
    return piece.at >= outer.at && piece.at + piece.length <= outer.at + outer.length;
}

/* Returns the number of entries, or -1 if one is refused. */
static int scan_all(const char *text)
{
    int count = 0;
    struct span key, rest = {text, strlen(text)};
    if (find_key_scan(&rest, &key) != NULL) {
        return -1;
    }
    g_assert(key.at == text && key.length > 0);
    while (rest.at != NULL) {
        struct find_part part;
        if (find_part_scan(&rest, &part) != NULL) {
            return -1;
        }
        g_assert(holds(part.entry, part.solver) && holds(part.entry, part.algorithm));
        g_assert(holds(part.entry, part.time) && holds(part.entry, part.workspace));
        g_assert(!part.older ||
                 (holds(part.entry, part.library) && holds(part.entry, part.cache_key)));
        count++;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct find_line line;
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autofree char *kept = g_strdup(text);
    g_autoptr(GError) refused = NULL;
    int count = scan_all(text);
    g_assert_cmpstr(text, ==, kept);
    find_line_init(&line);
    bool parsed = find_line_parse(text, &line, &refused);
    g_assert(parsed == (count >= 0) && parsed == (refused == NULL));
    if (parsed) {
        g_autoptr(GString) again = g_string_new(NULL);
        find_line_format(&line, again);
        g_assert_cmpuint(line.entries->len, ==, (guint)count);
        /* leading zeros of a workspace are not written back */
        g_assert(again->len <= strlen(kept));
    }
    find_line_clear(&line);
    return 0;
}
