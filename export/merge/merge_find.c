#include "export/merge/merge_find.h"
#include "export/merge/merge_sjdb.h"

#include "solvers/problem/problem_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FEW 32 /* with up to this many entries, comparing each with each is faster than sorting */

struct find_source {
    FindTable *table;
    guint input, at;
};

struct source_row {
    const struct find_row *row;
    guint input;
};

struct merge_finds {
    GArray *sources; /* struct find_source, in the order of inputs */
    GArray *rows;    /* struct source_row: the rows of the current key in all inputs */
    GArray *choices; /* struct find_choice: the entries of `rows` */
    GPtrArray *order, *chosen;
    bool whole; /* true if every entry of `rows` is valid, so that a line can be copied unchanged */
    /* The problem of the current key, and the least milliseconds that it can take on the target; 0
     * if unknown. */
    struct problem problem;
    double least_ms;
};

static void source_clear(void *source)
{
    find_table_free(((struct find_source *)source)->table);
}

static void finds_init(struct merge *merge)
{
    struct merge_finds *finds = g_new0(struct merge_finds, 1);
    finds->sources = g_array_new(FALSE, FALSE, sizeof(struct find_source));
    g_array_set_clear_func(finds->sources, source_clear);
    finds->rows = g_array_new(FALSE, FALSE, sizeof(struct source_row));
    finds->choices = g_array_new(FALSE, FALSE, sizeof(struct find_choice));
    finds->order = g_ptr_array_new();
    finds->chosen = g_ptr_array_new();
    merge->finds = finds;
}

static void finds_clear(struct merge *merge)
{
    struct merge_finds *finds = merge->finds;
    g_array_unref(finds->sources);
    g_array_unref(finds->rows);
    g_array_unref(finds->choices);
    g_ptr_array_unref(finds->order);
    g_ptr_array_unref(finds->chosen);
    g_free(finds);
}

struct reading {
    struct merge *merge;
    guint input;
};

static void bad_line(void *data, int64_t number, const char *reason)
{
    struct reading *reading = data;
    merge_left_out(reading->merge, reading->input, "line", number, "%s", reason);
}

static bool finds_read(struct merge *merge, guint input, GError **error)
{
    struct reading reading = {merge, input};
    struct find_source source = {.input = input};
    source.table = find_table_read(merge_input(merge, input)->path, bad_line, &reading, error);
    if (source.table == NULL) {
        return false;
    }
    g_array_append_val(merge->finds->sources, source);
    return true;
}

void merge_finds_add(struct merge *merge, guint input, GString *text)
{
    struct reading reading = {merge, input};
    struct find_source source = {.input = input};
    source.table = find_table_cut(text, bad_line, &reading);
    g_array_append_val(merge->finds->sources, source);
}

static int64_t finds_count(const struct merge *merge)
{
    int64_t count = 0;
    for (guint i = 0; i < merge->finds->sources->len; i++) {
        count += g_array_index(merge->finds->sources, struct find_source, i).table->rows->len;
    }
    return count;
}

const struct merge_part merge_find_part = {LOSS_FIND, finds_init, finds_clear, finds_count};

/* ---- collecting the rows of one key from all inputs ---- */

static const struct find_row *source_row(const struct find_source *source)
{
    return source->at < source->table->rows->len
               ? &g_array_index(source->table->rows, struct find_row, source->at)
               : NULL;
}

static bool first_key(const struct merge_finds *finds, struct span *key)
{
    bool found = false;
    for (guint i = 0; i < finds->sources->len; i++) {
        const struct find_row *row =
            source_row(&g_array_index(finds->sources, struct find_source, i));
        if (row != NULL && (!found || span_compare(find_row_key(row), *key) < 0)) {
            *key = find_row_key(row);
            found = true;
        }
    }
    return found;
}

/* Takes all rows of the next key, in the order of inputs and lines. */
static bool take_rows(struct merge_finds *finds, struct span *key)
{
    g_array_set_size(finds->rows, 0);
    if (!first_key(finds, key)) {
        return false;
    }
    for (guint i = 0; i < finds->sources->len; i++) {
        struct find_source *source = &g_array_index(finds->sources, struct find_source, i);
        const struct find_row *row = source_row(source);
        while (row != NULL && span_equal(find_row_key(row), *key)) {
            struct source_row taken = {row, source->input};
            g_array_append_val(finds->rows, taken);
            source->at++;
            row = source_row(source);
        }
    }
    return true;
}

/* Checks that the key is valid. Every problem has exactly one text, so rows with the same text are
 * the same problem: one check per key is enough. */
static bool check_key(struct merge *merge, struct span key)
{
    char text[PROBLEM_KEY_MAX] = "";
    struct merge_finds *finds = merge->finds;
    g_autoptr(GError) error = NULL;
    if (key.length < sizeof text) {
        memcpy(text, key.at, key.length);
        text[key.length] = '\0';
        if (problem_key_parse(text, &finds->problem, &error)) {
            finds->least_ms = target_least_problem_ms(&merge->bounds, &finds->problem);
            return true;
        }
    }
    for (guint i = 0; i < merge->finds->rows->len; i++) {
        struct source_row *at = &g_array_index(merge->finds->rows, struct source_row, i);
        merge_left_out(merge, at->input, "line", at->row->number, "%s",
                       error != NULL ? error->message : "the key is longer than any problem's");
    }
    return false;
}

/* ---- reading the entries of these rows ---- */

static const char *judge_time(const struct merge *merge, const struct find_part *part)
{
    if (part->time_ms < 0) {
        return "the time is negative";
    }
    return part->time_ms == 0 && !merge->options->keep_zero ? "the time is 0" : NULL;
}

/* Returns the reason why the entry is impossible on the target (g_free()): its time is too short,
 * or its solver cannot run there. NULL if it is possible. */
static char *judge_target(struct merge *merge, const struct find_part *part)
{
    const struct merge_finds *finds = merge->finds;
    if (part->time_ms > 0 && part->time_ms < finds->least_ms &&
        algorithm_does_all(part->algorithm.at, part->algorithm.length)) {
        return g_strdup_printf("%.*s took %g ms, and %s needs %.3g at the least",
                               (int)part->solver.length, part->solver.at, part->time_ms,
                               merge->bounds.target->id, finds->least_ms);
    }
    return target_other_solver(&merge->bounds, &finds->problem, part->solver.at,
                               part->solver.length);
}

/* Adds the entries of a row. An entry that is impossible on the target, or whose time is negative
 * or (without keep_zero) 0, is left out; a syntax error or an unknown algorithm in one entry leaves
 * out the whole line. */
static void take_entries(struct merge *merge, const struct source_row *from, guint rank)
{
    GArray *choices = merge->finds->choices;
    struct find_choice choice = {.input = from->input, .number = from->row->number, .rank = rank};
    struct span rest = find_row_entries(from->row);
    bool conv =
        !g_ascii_isalpha(from->row->text.at[0]); /* keys of other operators begin with a name */
    guint before = choices->len, count = 0;
    while (rest.at != NULL) {
        const char *wrong = find_part_scan(&rest, &choice.part);
        count++;
        if (wrong == NULL && !(conv ? find_algorithm_known(choice.part.algorithm)
                                    : find_family_known(choice.part.algorithm))) {
            wrong = conv ? "MIOpen has no algorithm of that name"
                         : "no family of algorithms has that name";
        }
        if (wrong != NULL) {
            merge_left_out(merge, from->input, "line", from->row->number, "entry %u: %s", count,
                           wrong);
            g_array_set_size(choices, before);
            return;
        }
        wrong = judge_time(merge, &choice.part);
        g_autofree char *doubt = wrong == NULL ? judge_target(merge, &choice.part) : NULL;
        if (doubt != NULL) {
            merge_doubt(merge, from->input, "line", from->row->number, doubt);
            merge->finds->whole = false;
        } else if (wrong != NULL) {
            merge_left_out(merge, from->input, "line", from->row->number, "entry %u (%.*s): %s",
                           count, (int)choice.part.solver.length, choice.part.solver.at, wrong);
            merge->finds->whole = false;
        } else {
            merge_interval_of(merge, from->input, find_row_key(from->row), &choice);
            g_array_append_val(choices, choice);
        }
    }
    struct merge_input *input = merge_input(merge, from->input);
    input->keys += choices->len > before;
    input->entries += choices->len - before;
}

/* The order of entries in a file: by time, with times of 0 last; of equal times, by the solver's
 * name. */
static int compare_times(const struct find_choice *a, const struct find_choice *b)
{
    bool a_zero = a->part.time_ms == 0, b_zero = b->part.time_ms == 0;
    if (a_zero != b_zero) {
        return a_zero ? 1 : -1;
    }
    if (a->part.time_ms != b->part.time_ms) {
        return a->part.time_ms < b->part.time_ms ? -1 : 1;
    }
    return span_compare(a->part.solver, b->part.solver);
}

/* Sorts entries so that those of one solver are neighbours. Any order of solvers serves, so the
 * lengths of names are compared first, which is faster. */
static int compare_solvers(const struct find_choice *a, const struct find_choice *b)
{
    if (a->part.solver.length != b->part.solver.length) {
        return a->part.solver.length < b->part.solver.length ? -1 : 1;
    }
    int order = memcmp(a->part.solver.at, b->part.solver.at, a->part.solver.length);
    return order != 0 ? order : (a > b) - (a < b);
}

typedef int compare_choices(const struct find_choice *a, const struct find_choice *b);

static gint compare_pointers(gconstpointer a, gconstpointer b, gpointer compare)
{
    return (*(compare_choices **)compare)(*(const struct find_choice *const *)a,
                                          *(const struct find_choice *const *)b);
}

/* Sorts by insertion if the entries are few, as they are for nearly all keys: calling a general
 * sort for each key would take most of a merge's time. */
static void sort_choices(GPtrArray *choices, compare_choices *compare)
{
    if (choices->len > FEW) {
        g_ptr_array_sort_with_data(choices, compare_pointers, &compare);
        return;
    }
    for (guint i = 1; i < choices->len; i++) {
        void *moved = choices->pdata[i];
        guint to = i;
        for (; to > 0 && compare(moved, choices->pdata[to - 1]) < 0; to--) {
            choices->pdata[to] = choices->pdata[to - 1];
        }
        choices->pdata[to] = moved;
    }
}

/* ---- choosing between entries ---- */

/* Returns true if `a` is kept rather than `b`. Both are elements of one array that has the order of
 * inputs, so the smaller address is the earlier input's. */
static bool preferred(const struct merge *merge, const struct find_choice *a,
                      const struct find_choice *b)
{
    bool a_zero = a->part.time_ms == 0, b_zero = b->part.time_ms == 0;
    if (a_zero != b_zero) {
        return b_zero;
    }
    if (merge->options->prefer == MERGE_FASTEST && a->part.time_ms != b->part.time_ms) {
        return a->part.time_ms < b->part.time_ms;
    }
    return merge->options->prefer == MERGE_NEWEST ? a > b : a < b;
}

/* Returns the preferred one of the entries. If `only` is not NULL, only entries of the same line as
 * `only` count; NULL if that line has none. */
static const struct find_choice *best_of(const struct merge *merge, struct find_choice **choices,
                                         guint count, const struct find_choice *only)
{
    const struct find_choice *best = NULL;
    for (guint i = 0; i < count; i++) {
        if ((only == NULL || choices[i]->rank == only->rank) &&
            (best == NULL || preferred(merge, choices[i], best))) {
            best = choices[i];
        }
    }
    return best;
}

static struct merge_side side_of(const struct find_choice *choice, bool whole)
{
    const struct find_part *part = &choice->part;
    const char *end = part->workspace.at + part->workspace.length;
    struct span value = {part->time.at, (size_t)(end - part->time.at)};
    return (struct merge_side){choice->input, "line", choice->number, whole ? part->entry : value};
}

static void note_conflicts(struct merge *merge, struct span key, const struct find_choice *kept,
                           struct find_choice **choices, guint count)
{
    for (guint i = 0; i < count; i++) {
        const struct find_part *a = &kept->part, *b = &choices[i]->part;
        bool algorithm = !span_equal(a->algorithm, b->algorithm);
        if (choices[i] != kept &&
            (algorithm || a->time_ms != b->time_ms || a->workspace_bytes != b->workspace_bytes)) {
            struct merge_side stays = side_of(kept, algorithm);
            struct merge_side goes = side_of(choices[i], algorithm);
            merge_conflict(merge, key, a->solver, &stays, &goes);
        }
    }
}

/* Chooses one entry for each solver of the key, into finds->chosen. */
static void choose(struct merge *merge, struct span key)
{
    struct merge_finds *finds = merge->finds;
    struct find_choice **order = (struct find_choice **)finds->order->pdata;
    guint count = finds->order->len;
    const struct find_choice *only =
        merge->options->replace_others ? best_of(merge, order, count, NULL) : NULL;
    sort_choices(finds->order, compare_solvers);
    for (guint first = 0, end = 0; first < count; first = end) {
        for (end = first + 1;
             end < count && span_equal(order[first]->part.solver, order[end]->part.solver);) {
            end++;
        }
        const struct find_choice *kept = best_of(merge, order + first, end - first, only);
        if (kept != NULL) {
            g_ptr_array_add(finds->chosen, (void *)kept);
            note_conflicts(merge, key, kept, order + first, end - first);
        }
    }
    sort_choices(finds->chosen, compare_times);
}

/* Returns true if the key has one line only, sorted and with each solver once: nothing is to be
 * chosen, and the line is copied unchanged. */
static bool stands_alone(const struct merge_finds *finds)
{
    const struct find_choice *choices = (const struct find_choice *)(void *)finds->choices->data;
    guint count = finds->choices->len;
    if (finds->rows->len != 1 || count > FEW) {
        return false;
    }
    for (guint i = 1; i < count; i++) {
        if (compare_times(&choices[i - 1], &choices[i]) >= 0) {
            return false;
        }
        for (guint before = 0; before < i; before++) {
            if (span_equal(choices[before].part.solver, choices[i].part.solver)) {
                return false;
            }
        }
    }
    return true;
}

/* Sets *merged to the chosen entries in the file's order. */
static void merge_key(struct merge *merge, struct merged_find *merged)
{
    struct merge_finds *finds = merge->finds;
    g_ptr_array_set_size(finds->order, 0);
    g_ptr_array_set_size(finds->chosen, 0);
    for (guint i = 0; i < finds->choices->len; i++) {
        g_ptr_array_add(finds->order, &g_array_index(finds->choices, struct find_choice, i));
    }
    merged->line = (struct span){NULL, 0};
    if (stands_alone(finds)) {
        const struct find_row *row = g_array_index(finds->rows, struct source_row, 0).row;
        g_ptr_array_extend(finds->chosen, finds->order, NULL, NULL);
        if (finds->whole) {
            merged->line = row->text;
        }
    } else {
        choose(merge, merged->key);
    }
    merged->choices = (struct find_choice *const *)finds->chosen->pdata;
    merged->count = finds->chosen->len;
}

bool merge_finds_next(struct merge *merge, struct span *key, const GArray **choices)
{
    struct merge_finds *finds = merge->finds;
    g_array_set_size(finds->choices, 0);
    while (finds->choices->len == 0) {
        finds->whole = true;
        if (!take_rows(finds, key)) {
            return false;
        }
        if (!check_key(merge, *key)) {
            continue;
        }
        for (guint i = 0; i < finds->rows->len; i++) {
            take_entries(merge, &g_array_index(finds->rows, struct source_row, i), i);
        }
    }
    *choices = finds->choices;
    return true;
}

bool merge_finds_run(struct merge *merge, merge_find_emit *emit, void *data, GError **error)
{
    const GArray *choices = NULL;
    struct merged_find merged = {0};
    while (merge_finds_next(merge, &merged.key, &choices)) {
        g_assert(merged.key.at != NULL);
        merge_key(merge, &merged);
        if (!emit(data, &merged, error)) {
            return false;
        }
    }
    return true;
}

/* ---- writing the output ---- */

#define BLOCK_BYTES (1 << 18) /* fits into a core's own cache; larger blocks are not faster */

struct find_writer {
    struct merge *merge;
    int fd;
    char *block;
    size_t used;
    uint64_t bytes, sum;
};

/* Adds a block to a checksum by which read_back() notices bytes that the disk changed: a change of
 * any single word changes the sum. */
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

/* Returns true if all chosen entries are already in the form, older or newer, that the output
 * has. */
static bool right_form(const struct merged_find *merged, bool older)
{
    for (guint i = 0; i < merged->count; i++) {
        if (merged->choices[i]->part.older != older) {
            return false;
        }
    }
    return true;
}

/* Why a find-db cannot hold the key; LOSS_COUNT if it can. The key may be one that is not parsed, of an
 * older MIOpen. */
static enum merge_loss loss_of(const struct span *key)
{
    if (key->length > 0 && g_ascii_isalpha(key->at[0])) {
        return LOSS_OPERATOR;
    }
    return g_strstr_len(key->at, (gssize)key->length, "_s") != NULL ? LOSS_STRIDES
           : memchr(key->at, '+', key->length) != NULL              ? LOSS_EPILOGUE
                                                                    : LOSS_COUNT;
}

static bool write_key(void *data, const struct merged_find *merged, GError **error)
{
    struct find_writer *writer = data;
    struct merge_report *report = writer->merge->report;
    enum merge_loss loss = loss_of(&merged->key);
    if (loss != LOSS_COUNT) {
        report->losses[loss]++; /* MIOpen's keys cannot name the problem */
        return true;
    }
    if (merged->line.length == 0 || !right_form(merged, writer->merge->options->older_form)) {
        return put_entries(writer, merged, error);
    }
    report->keys++;
    report->entries += merged->count;
    return put(writer, merged->line.at, merged->line.length, error) && put(writer, "\n", 1, error);
}

/* ---- reading the output back ---- */

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

/* Reads until the block is full or the file ends. Returns the number of bytes, or -1 if the file
 * cannot be read. */
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

/* Reads the written file again and compares the sum of its bytes, and its number of lines. This
 * suffices, since each line was made of entries that had been parsed. */
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

static bool finds_write(struct merge *merge, const char *path, GError **error)
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

const struct merge_format merge_find_format = {FILE_FIND_DB, 1 << LOSS_FIND, finds_read,
                                               finds_write};
