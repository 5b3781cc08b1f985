/*
 * The find-db that merging writes: lines go out through one buffer, in blocks
 * of one size, so that what is read back can be compared block by block with
 * what was meant.
 */
#include "export/merge/merge_parts.h"

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
    if (memchr(merged->key.at, '+', merged->key.length) != NULL) {
        report->losses[LOSS_EPILOGUE]++; /* MIOpen has no key for it */
        return true;
    }
    if (merged->line.length == 0 || !right_form(merged, writer->merge->options->older_form)) {
        return put_entries(writer, merged, error);
    }
    report->keys++;
    report->entries += merged->count;
    return put(writer, merged->line.at, merged->line.length, error) && put(writer, "\n", 1, error);
}

/* ---- reading back ---- */

static bool differs(GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "what was written does not read back, its bytes are others: is the disk sound?");
    return false;
}

static bool cannot_read(const char *path, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot read '%s' back: %s", path,
                g_strerror(errno));
    return false;
}

/* A whole block, or what is left; a negative number where it cannot be read. */
static ssize_t read_block(int fd, char *block)
{
    size_t held = 0;
    ssize_t got = 1;
    while (got > 0 && held < BLOCK_BYTES) {
        got = read(fd, block + held, BLOCK_BYTES - held);
        if (got < 0 && errno == EINTR) {
            got = 1;
            continue;
        }
        held += got > 0 ? (size_t)got : 0;
    }
    return got < 0 ? got : (ssize_t)held;
}

static int64_t count_lines(const char *block, size_t length)
{
    int64_t lines = 0;
    const char *end = block + length;
    for (const char *at = block; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++) {
        lines++;
    }
    return lines;
}

/* Every line was put together of parts that were read, so what is compared is the bytes, and that
 * they are as many lines as keys. */
static bool read_back(const struct find_writer *writer, const char *path, GError **error)
{
    uint64_t bytes = 0, sum = 0;
    int64_t lines = 0;
    ssize_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return cannot_read(path, error);
    }
    while ((length = read_block(fd, writer->block)) > 0) {
        sum = add_block(sum, writer->block, (size_t)length);
        lines += count_lines(writer->block, (size_t)length);
        bytes += (uint64_t)length;
    }
    int failure = errno;
    close(fd);
    errno = failure;
    if (length < 0) {
        return cannot_read(path, error);
    }
    return (bytes == writer->bytes && sum == writer->sum && lines == writer->merge->report->keys) ||
           differs(error);
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
    if (close(writer.fd) != 0 && done) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot write '%s': %s", path,
                    g_strerror(errno));
        done = false;
    }
    done = done && read_back(&writer, path, error);
    g_free(writer.block);
    return done;
}
