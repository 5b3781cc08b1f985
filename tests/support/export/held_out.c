#include "tests/support/export/held_out.h"

#include "export/formats/find_db.h"
#include "export/sjdb/sjdb_write.h"

#include <math.h>
#include <string.h>

#define PART        10 /* one key of this many is held out */
#define ENTRIES_MAX 16

/* Whether the problem is held out, chosen by a hash of its key or, with by_shape, of its shape. */
static bool is_held_out(const char *key, const struct skipjackdb_problem *problem, bool by_shape)
{
    struct skipjackdb_problem shape = {.size = sizeof shape};
    char text[SKIPJACKDB_KEY_MAX];
    if (!by_shape) {
        return g_str_hash(key) % PART == 0;
    }
    skipjackdb_problem_init(&shape);
    shape.c = problem->c;
    shape.k = problem->k;
    shape.groups = problem->groups;
    shape.spatial_dim = problem->spatial_dim;
    memcpy(shape.in, problem->in, sizeof shape.in);
    memcpy(shape.fil, problem->fil, sizeof shape.fil);
    memcpy(shape.pad, problem->pad, sizeof shape.pad);
    memcpy(shape.stride, problem->stride, sizeof shape.stride);
    memcpy(shape.dilation, problem->dilation, sizeof shape.dilation);
    skipjackdb_problem_key(&shape, text, sizeof text);
    return g_str_hash(text) % PART == 0;
}

static void take_line(struct held_out *held, SjdbWriter *whole, SjdbWriter *rest, bool by_shape,
                      const struct find_line *line)
{
    struct sjdb_find_entry entries[ENTRIES_MAX];
    struct skipjackdb_problem asked = {.size = sizeof asked};
    struct problem problem;
    guint count = line->entries->len;
    if (count > ENTRIES_MAX || !problem_key_parse(line->key, &problem, NULL) ||
        skipjackdb_problem_parse(line->key, &asked) != SKIPJACKDB_OK) {
        return;
    }
    for (guint i = 0; i < count; i++) {
        const struct find_entry *entry = &g_array_index(line->entries, struct find_entry, i);
        entries[i] = (struct sjdb_find_entry){entry->solver,
                                              entry->algorithm,
                                              entry->library,
                                              entry->time_ms,
                                              entry->workspace_bytes,
                                              0,
                                              0};
    }
    g_assert_true(sjdb_writer_add_find(whole, &problem, entries, count, NULL));
    if (is_held_out(line->key, &asked, by_shape)) {
        g_array_append_val(held->problems, asked);
    } else {
        g_assert_true(sjdb_writer_add_find(rest, &problem, entries, count, NULL));
    }
}

static skipjackdb *finish(SjdbWriter *writer, const char *path)
{
    skipjackdb *db = NULL;
    g_assert_true(sjdb_writer_finish(writer, NULL));
    g_assert_cmpint(skipjackdb_open(path, &db), ==, SKIPJACKDB_OK);
    return db;
}

void held_out_init(struct held_out *held, TempFolder *folder, const char *path, bool by_shape)
{
    g_autoptr(FindDb) find_db = find_db_open(path, NULL);
    g_autoptr(SjdbWriter) whole = sjdb_writer_new(temp_folder_path(folder, "whole.sjdb"));
    g_autoptr(SjdbWriter) rest = sjdb_writer_new(temp_folder_path(folder, "rest.sjdb"));
    enum read_step step = READ_ROW;
    struct find_line line;
    struct line at;
    g_assert_nonnull(find_db);
    find_line_init(&line);
    held->problems = g_array_new(FALSE, FALSE, sizeof(struct skipjackdb_problem));
    while ((step = find_db_next(find_db, &line, &at, NULL)) == READ_ROW || step == READ_BAD) {
        if (step == READ_ROW) {
            take_line(held, whole, rest, by_shape, &line);
        }
    }
    find_line_clear(&line);
    held->whole = finish(whole, temp_folder_path(folder, "whole.sjdb"));
    held->rest = finish(rest, temp_folder_path(folder, "rest.sjdb"));
}

void held_out_clear(struct held_out *held)
{
    skipjackdb_close(held->whole);
    skipjackdb_close(held->rest);
    g_array_unref(held->problems);
}

void held_tally_init(struct held_tally *tally)
{
    *tally = (struct held_tally){.errors = g_array_new(FALSE, FALSE, sizeof(double))};
}

void held_tally_clear(struct held_tally *tally)
{
    g_array_unref(tally->errors);
}

void held_tally_add(struct held_tally *tally, const struct held_out *held, guint index,
                    const char *solver, double time_ms)
{
    const struct skipjackdb_problem *problem =
        &g_array_index(held->problems, struct skipjackdb_problem, index);
    struct skipjackdb_entry entries[ENTRIES_MAX], best;
    uint64_t number = 0;
    size_t count = 0;
    double measured = 0;
    if (skipjackdb_find(held->whole, problem, &number) != SKIPJACKDB_OK ||
        skipjackdb_best(held->whole, number, NULL, &best, sizeof best) != SKIPJACKDB_OK) {
        return; /* its times are 0 */
    }
    tally->asked++;
    skipjackdb_entries(held->whole, number, entries, sizeof best, ENTRIES_MAX, &count);
    for (size_t i = 0; solver != NULL && i < count; i++) {
        bool faster = measured <= 0 || entries[i].time_ms < measured;
        if (strcmp(entries[i].solver, solver) == 0 && entries[i].time_ms > 0 && faster) {
            measured = entries[i].time_ms;
        }
    }
    tally->answered += solver != NULL;
    tally->wins += g_strcmp0(solver, best.solver) == 0;
    if (measured > 0) {
        tally->listed++;
        tally->excess += log(measured / best.time_ms);
    }
    if (measured > 0 && time_ms > 0) {
        double error = fabs(log(time_ms / measured));
        g_array_append_val(tally->errors, error);
    }
}

double held_tally_cost(const struct held_tally *tally)
{
    return tally->listed > 0 ? exp(tally->excess / tally->listed) : 0;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double held_tally_error(struct held_tally *tally)
{
    g_array_sort(tally->errors, compare_doubles);
    return tally->errors->len > 0
               ? exp(g_array_index(tally->errors, double, tally->errors->len / 2))
               : 0;
}
