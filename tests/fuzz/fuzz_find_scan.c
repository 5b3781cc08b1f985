/* Any line: the scanner takes what the parser takes, and says the same of it. */
#include "export/formats/find_db.h"
#include "export/formats/find_scan.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool says(struct span span, const char *text)
{
    return span_equal(span, (struct span){text, strlen(text)});
}

static void compare(const struct find_part *part, const struct find_entry *entry)
{
    g_assert(part->older == entry->older);
    g_assert(says(part->solver, entry->solver) && says(part->algorithm, entry->algorithm));
    g_assert(says(part->time, entry->time_text));
    g_assert(part->time_ms == entry->time_ms);
    g_assert(part->workspace_bytes == entry->workspace_bytes);
    g_assert(!part->older ||
             (says(part->library, entry->library) && says(part->cache_key, entry->cache_key)));
}

static void scan_all(struct span rest, const struct find_line *line, const GError *refused)
{
    const char *wrong = NULL;
    for (guint i = 0; rest.at != NULL && wrong == NULL; i++) {
        struct find_part part;
        wrong = find_part_scan(&rest, &part);
        if (wrong != NULL) {
            g_autofree char *said = g_strdup_printf("entry %u: %s", i + 1, wrong);
            g_assert(refused != NULL);
            g_assert_cmpstr(said, ==, refused->message);
        } else if (refused == NULL) {
            compare(&part, &g_array_index(line->entries, struct find_entry, i));
        }
    }
    g_assert((wrong == NULL) == (refused == NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct find_line line;
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autofree char *copy = g_strdup(text);
    g_autoptr(GError) refused = NULL;
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || !span_printable((struct span){text, strlen(text)})) {
        return 0;
    }
    find_line_init(&line);
    find_line_parse(copy, &line, &refused);
    scan_all((struct span){equals + 1, strlen(equals + 1)}, &line, refused);
    find_line_clear(&line);
    return 0;
}
