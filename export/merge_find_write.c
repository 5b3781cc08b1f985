/*
 * The find-db that merging writes: lines go out through one buffer, in blocks
 * of one size, so that what is read back can be compared block by block with
 * what was meant.
 */
#include "export/merge_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES (1 << 18) /* stays in a core's own cache; more is no faster */

struct find_writer {
    struct merge *merge;
    int fd;
    char *block;
    size_t used;
    uint64_t bytes, sum;
};

/* Tells one text from another that a disk made of it: whichever word is different, the sum is. */
static uint64_t add_block(uint64_t sum, const char *block, size_t length)
{
    for (size_t i = 0; i < length; i += sizeof sum) {
        uint64_t word = 0;
        memcpy(&word, block + i, MIN(sizeof word, length - i));
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return sum;
}

static bool flush(struct find_writer *writer, GError **error)
{
    size_t done = 0;
    while (done < writer->used) {
        ssize_t wrote = write(writer->fd, writer->block + done, writer->used - done);
        if (wrote < 0 && errno != EINTR) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot write '%s': %s",
                        writer->merge->report->out, g_strerror(errno));
            return false;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    writer->sum = add_block(writer->sum, writer->block, writer->used);
    writer->bytes += writer->used;
    writer->used = 0;
    return true;
}

static bool put(struct find_writer *writer, const char *at, size_t length, GError **error)
{
    while (length > BLOCK_BYTES - writer->used) {
        size_t fits = BLOCK_BYTES - writer->used;
        memcpy(writer->block + writer->used, at, fits);
        writer->used = BLOCK_BYTES;
        at += fits;
        length -= fits;
        if (!flush(writer, error)) {
            return false;
        }
    }
    memcpy(writer->block + writer->used, at, length);
    writer->used += length;
    return true;
}

static bool put_newer(struct find_writer *writer, const struct find_part *part, GError **error)
{
    if (!part->older) {
        return put(writer, part->entry.at, part->entry.length, error);
    }
    writer->merge->report->losses[LOSS_CACHE_KEY]++;
    const char *end = part->workspace.at + part->workspace.length;
    return put(writer, part->solver.at, part->solver.length, error) && put(writer, ":", 1, error) &&
           put(writer, part->time.at, (size_t)(end - part->time.at), error) &&
           put(writer, ",", 1, error) &&
           put(writer, part->algorithm.at, part->algorithm.length, error);
}

static bool put_entries(struct find_writer *writer, const struct merged_find *merged,
                        GError **error)
{
    bool older = writer->merge->options->older_form;
    int64_t written = 0;
    for (guint i = 0; i < merged->count; i++) {
        const struct find_part *part = &merged->choices[i]->part;
        if (older && !part->older) {
            writer->merge->report->losses[LOSS_NEWER_FORM]++;
            continue;
        }
        if ((written == 0 && !put(writer, merged->key.at, merged->key.length, error)) ||
            !put(writer, written == 0 ? "=" : ";", 1, error) ||
            !(older ? put(writer, part->entry.at, part->entry.length, error)
                    : put_newer(writer, part, error))) {
            return false;
        }
        written++;
    }
    writer->merge->report->keys += written > 0;
    writer->merge->report->entries += written;
    return written == 0 || put(writer, "\n", 1, error);
}

/* One form throughout, the one that is asked for. */
static bool right_form(const struct merged_find *merged, bool older)
{
    for (guint i = 0; i < merged->count; i++) {
        if (merged->choices[i]->part.older != older) {
            return false;
        }
    }
    return true;
}

static bool write_key(void *data, const struct merged_find *merged, GError **error)
{
    struct find_writer *writer = data;
    struct merge_report *report = writer->merge->report;
    if (merged->line.length == 0 || !right_form(merged, writer->merge->options->older_form)) {
        return put_entries(writer, merged, error);
    }
    report->keys++;
    report->entries += merged->count;
    return put(writer, merged->line.at, merged->line.length, error) && put(writer, "\n", 1, error);
}

/* ---- reading back ---- */

static bool differs(const char *what, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "what was written does not read back: %s; is the disk sound?", what);
    return false;
}

static void count_bad(void *data, int64_t number, const char *reason)
{
    (void)number;
    (void)reason;
    (*(int64_t *)data)++;
}

/* The line's entries, 0 where one of them cannot be read. */
static int64_t count_entries(const struct find_row *row)
{
    struct find_part part;
    int64_t entries = 0;
    struct span rest = find_row_entries(row);
    while (rest.at != NULL) {
        if (find_part_scan(&rest, &part) != NULL) {
            return 0;
        }
        entries++;
    }
    return entries;
}

static bool read_back(const struct find_writer *writer, const char *path, GError **error)
{
    int64_t bad = 0, entries = 0;
    uint64_t sum = 0;
    g_autoptr(FindTable) table = find_table_read(path, count_bad, &bad, error);
    if (table == NULL) {
        return false;
    }
    for (size_t at = 0; at < table->size; at += BLOCK_BYTES) {
        sum = add_block(sum, table->bytes + at, MIN(BLOCK_BYTES, table->size - at));
    }
    if (table->size != writer->bytes || sum != writer->sum) {
        return differs("its bytes are others", error);
    }
    for (guint i = 0; i < table->rows->len; i++) {
        const struct find_row *row = &g_array_index(table->rows, struct find_row, i);
        entries += count_entries(row);
        if (row->number != (int64_t)i + 1 ||
            (i > 0 && span_equal(find_row_key(row), find_row_key(row - 1)))) {
            return differs("its keys are not in order", error);
        }
    }
    if (bad > 0 || table->rows->len != writer->merge->report->keys ||
        entries != writer->merge->report->entries) {
        return differs("it has others lines or entries", error);
    }
    return true;
}

bool merge_finds_write(struct merge *merge, const char *path, GError **error)
{
    struct find_writer writer = {.merge = merge};
    writer.fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
    if (writer.fd < 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot write '%s': %s", path,
                    g_strerror(errno));
        return false;
    }
    writer.block = g_malloc(BLOCK_BYTES);
    bool done = merge_finds_run(merge, write_key, &writer, error) && flush(&writer, error);
    g_free(writer.block);
    merge_finds_drop(merge);
    if (close(writer.fd) != 0 && done) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot write '%s': %s", path,
                    g_strerror(errno));
        done = false;
    }
    return done && read_back(&writer, path, error);
}
