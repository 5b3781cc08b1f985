#include "export/usage/usage_questions.h"

#include "export/formats/export_error.h"
#include "export/usage/cover.h"
#include "export/usage/usage_cases.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

/* The rule by which a solver counts as naive: ours is ConvDirectNaive, MIOpen's ConvDirectNaiveConvFwd and so on. */
#define NAIVE_NAME "Naive"
/* The rule by which a solver counts as assembly: MIOpen's ConvAsm1x1U, ConvBinWinogradRxS... are named so. */
#define ASSEMBLY_NAMES                                                                             \
    {                                                                                              \
        "Asm", "ConvBinWinograd", "ConvWinograd3x3MultipassWrW"                                    \
    }

struct asking {
    Usage *usage;
    const struct usage_ask *ask;
    const GArray *cases;
    GPtrArray *solvers;           /* const char *, interned: those with an entry, by name */
    GHashTable *numbers;          /* solver -> its index in `solvers`, + 1 */
    struct table_column *columns; /* of the answer that is being made */
};

void usage_ask_init(struct usage_ask *ask)
{
    *ask = (struct usage_ask){.smallest = -1,
                              .within = 0.05,
                              .least = 3,
                              .rare = 0.02,
                              .gain = 1.5,
                              .effort = 100 * 1000 * 1000};
}

static const struct usage_case *case_at(const struct asking *asking, guint index)
{
    return &g_array_index(asking->cases, struct usage_case, index);
}

static int number_of(const struct asking *asking, const char *solver)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(asking->numbers, solver)) - 1;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void asking_init(struct asking *asking, Usage *usage, const struct usage_ask *ask)
{
    *asking = (struct asking){
        usage, ask, usage_cases(usage), g_ptr_array_new(), g_hash_table_new(NULL, NULL), NULL};
    for (guint i = 0; i < asking->cases->len; i++) {
        const struct usage_case *that = case_at(asking, i);
        for (int t = 0; t < that->count + that->untimed; t++) {
            if (g_hash_table_add(asking->numbers, (gpointer)that->times[t].solver)) {
                g_ptr_array_add(asking->solvers, (gpointer)that->times[t].solver);
            }
        }
    }
    g_ptr_array_sort(asking->solvers, by_name);
    for (guint i = 0; i < asking->solvers->len; i++) {
        g_hash_table_insert(asking->numbers, asking->solvers->pdata[i], GUINT_TO_POINTER(i + 1));
    }
}

static void asking_clear(struct asking *asking)
{
    g_ptr_array_unref(asking->solvers);
    g_hash_table_unref(asking->numbers);
    g_free(asking->columns);
}

/* ---- tables ---- */

/* A case's place, in every table of networks or problems: for people only where there are several. */
#define PLACE_COLUMNS                                                                              \
    {"target", "target", TABLE_TEXT, 0},                                                           \
    {                                                                                              \
        "source", "source", TABLE_TEXT, 0                                                          \
    }

/* Makes the table of an answer. The columns are copied: those of the place lose their titles if there is one only. */
static Table *answer_table(struct asking *asking, const struct table_column *columns, int count)
{
    g_free(asking->columns);
    asking->columns = g_memdup2(columns, (gsize)count * sizeof *columns);
    for (int i = 0; i < count; i++) {
        const char *key = columns[i].key;
        if ((strcmp(key, "target") == 0 && !usage_targets_differ(asking->usage)) ||
            (strcmp(key, "source") == 0 && !usage_sources_differ(asking->usage))) {
            asking->columns[i].title = NULL;
        }
    }
    return table_new(asking->columns, count);
}

/* The values of a table whose values are pointers. Free with g_ptr_array_unref(). */
static GPtrArray *values_of(GHashTable *table)
{
    GPtrArray *values = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, table);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        g_ptr_array_add(values, value);
    }
    return values;
}

static void add_place(const struct asking *asking, Table *table, int place)
{
    const struct usage_place *at = usage_place_at(asking->usage, place);
    table_text(table, at->target);
    table_text(table, at->source);
}

static void add_network(const struct asking *asking, Table *table, const struct usage_case *that)
{
    table_text(table, usage_network_name(asking->usage, that->network));
    add_place(asking, table, that->place);
}

void usage_show_answer(struct usage_answer *answer, json_t *json, FILE *out)
{
    if (json != NULL) {
        json_t *object = answer->more != NULL ? answer->more : json_object();
        json_object_set_new(object, "rows", table_json(answer->table));
        json_object_set_new(object, "explained", json_string(answer->explained));
        json_object_set_new(json, answer->key, object);
    } else {
        fprintf(out, "\n%s:\n", answer->title);
        if (answer->head != NULL) {
            fprintf(out, "%s\n", answer->head);
        }
        if (table_rows(answer->table) > 0) {
            table_print(answer->table, out);
        } else if (answer->head == NULL) {
            fputs("none\n", out);
        }
        fprintf(out, "%s\n", answer->explained);
        if (answer->more != NULL) {
            json_decref(answer->more);
        }
    }
    table_free(answer->table);
    g_free(answer->head);
}

/* ---- by dimensions ---- */

static char *name_types(const struct problem *p)
{
    bool same = p->type[0] == p->type[1] && p->type[1] == p->type[2];
    return problem_is_tf32(p) ? g_strdup(p->mode)
           : same             ? g_strdup(data_type_name(p->type[0]))
                  : g_strjoin("-", data_type_name(p->type[0]), data_type_name(p->type[1]),
                              data_type_name(p->type[2]), NULL);
}

static char *name_layouts(const struct problem *p)
{
    bool same = p->layout[0] == p->layout[1] && p->layout[1] == p->layout[2];
    return same ? g_strdup(layout_name(p->layout[0]))
                : g_strjoin("-", layout_name(p->layout[0]), layout_name(p->layout[1]),
                            layout_name(p->layout[2]), NULL);
}

static char *name_sizes(const struct problem *p, const int64_t sizes[AXIS_COUNT])
{
    return p->spatial_dim == 3 ? g_strdup_printf("%dx%dx%d", (int)sizes[AXIS_D], (int)sizes[AXIS_H],
                                                 (int)sizes[AXIS_W])
                               : g_strdup_printf("%dx%d", (int)sizes[AXIS_H], (int)sizes[AXIS_W]);
}

static char *by_direction(const Usage *usage, const struct usage_case *that)
{
    (void)usage;
    return g_strdup_printf("%c", direction_letter(that->problem->direction));
}

static char *by_type(const Usage *usage, const struct usage_case *that)
{
    (void)usage;
    return name_types(that->problem);
}

static char *by_layout(const Usage *usage, const struct usage_case *that)
{
    (void)usage;
    return name_layouts(that->problem);
}

static char *by_filter(const Usage *usage, const struct usage_case *that)
{
    (void)usage;
    return name_sizes(that->problem, that->problem->fil);
}

static char *by_stride(const Usage *usage, const struct usage_case *that)
{
    (void)usage;
    return name_sizes(that->problem, that->problem->stride);
}

static char *by_target(const Usage *usage, const struct usage_case *that)
{
    return g_strdup(usage_place_at(usage, that->place)->target);
}

static char *by_source(const Usage *usage, const struct usage_case *that)
{
    return g_strdup(usage_place_at(usage, that->place)->source);
}

static char *by_network(const Usage *usage, const struct usage_case *that)
{
    return g_strdup(usage_network_name(usage, that->network));
}

static char *by_revision(const Usage *usage, const struct usage_case *that)
{
    (void)usage;
    int revision = that->times[0].revision;
    return revision > 0 ? g_strdup_printf("%d", revision) : g_strdup("?");
}

struct dimension {
    const char *name;
    char *(*value)(const Usage *usage, const struct usage_case *that);
};

/* The first CLASS_DIMENSIONS describe a problem alone, in the order in which narrow splits classes. */
static const struct dimension dimensions[] = {
    {"direction", by_direction}, {"type", by_type},       {"layout", by_layout},
    {"filter", by_filter},       {"stride", by_stride},   {"target", by_target},
    {"revision", by_revision},   {"network", by_network}, {"source", by_source},
};
#define CLASS_DIMENSIONS 5

const char *usage_dimensions(void)
{
    return "direction, type, layout, filter, stride, target, revision, network, source";
}

static const struct dimension *find_dimension(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(dimensions); i++) {
        if (strcmp(dimensions[i].name, name) == 0) {
            return &dimensions[i];
        }
    }
    return NULL;
}

struct by_row {
    char **values;
    const char *solver;
    int64_t wins, layers;
    double time_ms;
    GHashTable *networks;
};

static void by_row_free(gpointer data)
{
    struct by_row *row = data;
    g_strfreev(row->values);
    g_hash_table_unref(row->networks);
    g_free(row);
}

static gint by_values_and_time(gconstpointer a, gconstpointer b)
{
    const struct by_row *one = *(struct by_row *const *)a, *other = *(struct by_row *const *)b;
    for (int i = 0; one->values[i] != NULL; i++) {
        int order = strcmp(one->values[i], other->values[i]);
        if (order != 0) {
            return order;
        }
    }
    return one->time_ms != other->time_ms ? (one->time_ms > other->time_ms ? -1 : 1)
                                          : strcmp(one->solver, other->solver);
}

static void count_by(const struct asking *asking, const struct usage_case *that, GHashTable *rows)
{
    GPtrArray *values = g_ptr_array_new();
    for (char **name = asking->ask->by; *name != NULL; name++) {
        g_ptr_array_add(values, find_dimension(*name)->value(asking->usage, that));
    }
    g_ptr_array_add(values, NULL);
    char **texts = (char **)g_ptr_array_free(values, FALSE);
    g_autofree char *joined = g_strjoinv("\n", texts);
    g_autofree char *key = g_strconcat(joined, "\n", that->times[0].solver, NULL);
    struct by_row *row = g_hash_table_lookup(rows, key);
    if (row == NULL) {
        row = g_new0(struct by_row, 1);
        row->values = g_steal_pointer(&texts);
        row->solver = that->times[0].solver;
        row->networks = g_hash_table_new(NULL, NULL);
        g_hash_table_insert(rows, g_steal_pointer(&key), row);
    }
    g_strfreev(texts);
    g_hash_table_add(row->networks, GINT_TO_POINTER(that->network + 1));
    row->wins++;
    row->layers += that->multiplicity;
    row->time_ms += that->times[0].time_ms * that->weight;
}

static Table *by_table(struct asking *asking)
{
    static const struct table_column of_solver[] = {
        {"solver", "solver", TABLE_TEXT, 0},         {"wins", "wins", TABLE_INT, 0},
        {"layers", "layers", TABLE_INT, 0},          {"ms", "time_ms", TABLE_NUMBER, -4},
        {"time %", "time_percent", TABLE_NUMBER, 1}, {"networks", "networks", TABLE_INT, 0},
    };
    g_autoptr(GArray) columns = g_array_new(FALSE, TRUE, sizeof(struct table_column));
    for (char **name = asking->ask->by; *name != NULL; name++) {
        const char *title = find_dimension(*name)->name;
        const struct table_column column = {title, title, TABLE_TEXT, 0};
        g_array_append_val(columns, column);
    }
    g_array_append_vals(columns, of_solver, G_N_ELEMENTS(of_solver));
    int count = (int)columns->len;
    /* Not answer_table(): a place that was asked for keeps its title. */
    g_free(asking->columns);
    asking->columns = g_memdup2(columns->data, columns->len * sizeof(struct table_column));
    return table_new(asking->columns, count);
}

static bool answer_by(struct asking *asking, struct usage_answer *answer, GError **error)
{
    double total = 0;
    for (char **name = asking->ask->by; *name != NULL; name++) {
        if (find_dimension(*name) == NULL) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE,
                        "there is no dimension '%s': --by takes %s", *name, usage_dimensions());
            return false;
        }
    }
    g_autoptr(GHashTable) rows =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, by_row_free);
    for (guint i = 0; i < asking->cases->len; i++) {
        const struct usage_case *that = case_at(asking, i);
        if (that->count > 0) {
            count_by(asking, that, rows);
            total += that->times[0].time_ms * that->weight;
        }
    }
    answer->table = by_table(asking);
    g_autoptr(GPtrArray) sorted = values_of(rows);
    g_ptr_array_sort(sorted, by_values_and_time);
    for (guint i = 0; i < sorted->len; i++) {
        const struct by_row *row = sorted->pdata[i];
        for (char **value = row->values; *value != NULL; value++) {
            table_text(answer->table, *value);
        }
        table_text(answer->table, row->solver);
        table_int(answer->table, row->wins);
        table_int(answer->table, row->layers);
        table_number(answer->table, row->time_ms);
        table_number(answer->table, row->time_ms / total * 100);
        table_int(answer->table, (int)g_hash_table_size(row->networks));
    }
    return true;
}

/* ---- without solvers ---- */

struct loss {
    double before_ms, after_ms; /* of the problems that keep a solver */
    double left_ms;             /* the time of the problems that keep none */
    int64_t moved, left;        /* problems that change their solver, and that keep none */
    GHashTable *networks;       /* those that lose anything */
};

/* Adds what the case loses: `next` is its fastest time without the solvers, NULL for none. */
static void add_loss(struct loss *loss, const struct usage_case *that,
                     const struct usage_time *next)
{
    double before_ms = that->times[0].time_ms * that->weight;
    bool moved = next != &that->times[0];
    if (next == NULL) {
        loss->left++;
        loss->left_ms += before_ms;
    } else {
        loss->moved += moved;
        loss->before_ms += before_ms;
        loss->after_ms += next->time_ms * that->weight;
    }
    if (moved && loss->networks != NULL) {
        g_hash_table_add(loss->networks, GINT_TO_POINTER(that->network + 1));
    }
}

static void add_loss_cells(Table *table, const struct loss *loss)
{
    table_number(table, loss->before_ms);
    table_number(table, loss->after_ms);
    table_number(table, loss->after_ms - loss->before_ms);
    table_number(table, (loss->after_ms / loss->before_ms - 1) * 100);
    table_int(table, loss->moved);
    table_int(table, loss->left);
    table_number(table, loss->left_ms);
}

#define LOSS_COLUMNS                                                                               \
    {"ms", "time_ms", TABLE_NUMBER, -4}, {"without", "without_ms", TABLE_NUMBER, -4},              \
        {"loss ms", "loss_ms", TABLE_NUMBER, -4}, {"loss %", "loss_percent", TABLE_NUMBER, 2},     \
        {"moved", "moved", TABLE_INT, 0}, {"left", "left", TABLE_INT, 0},                          \
    {                                                                                              \
        "left ms", "left_ms", TABLE_NUMBER, -4                                                     \
    }

/* Marks the solvers that the words name. Returns false for a word that fits no solver. */
static bool mark_removed(const struct asking *asking, bool *removed, GError **error)
{
    for (char **word = asking->ask->without; *word != NULL; word++) {
        bool known = false;
        for (guint i = 0; i < asking->solvers->len; i++) {
            bool fits = g_pattern_match_simple(*word, asking->solvers->pdata[i]);
            removed[i] = removed[i] || fits;
            known = known || fits;
        }
        for (int i = 0; i < solver_table_count && !known; i++) {
            known = g_pattern_match_simple(*word, solver_table[i]->name);
        }
        if (!known) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE,
                        "--without: no entry is of a solver '%s', and skipjack solvers does not "
                        "list it; names may hold * and ?",
                        *word);
            return false;
        }
    }
    return true;
}

static const struct usage_time *next_without(const struct asking *asking,
                                             const struct usage_case *that, const bool *removed)
{
    for (int t = 0; t < that->count; t++) {
        if (!removed[number_of(asking, that->times[t].solver)]) {
            return &that->times[t];
        }
    }
    return NULL;
}

static bool answer_without(struct asking *asking, struct usage_answer *answer, GError **error)
{
    static const struct table_column columns[] = {
        {"network", "network", TABLE_TEXT, 0}, PLACE_COLUMNS, LOSS_COLUMNS};
    g_autofree bool *removed = g_new0(bool, (gsize)asking->solvers->len + 1);
    if (!mark_removed(asking, removed, error)) {
        return false;
    }
    answer->table = answer_table(asking, columns, G_N_ELEMENTS(columns));
    struct loss loss = {0}, all = {0};
    for (guint i = 0; i < asking->cases->len; i++) {
        const struct usage_case *that = case_at(asking, i);
        const struct usage_case *after = i + 1 < asking->cases->len ? case_at(asking, i + 1) : NULL;
        if (that->count > 0) {
            const struct usage_time *next = next_without(asking, that, removed);
            add_loss(&loss, that, next);
            add_loss(&all, that, next);
        }
        if (after == NULL || after->network != that->network || after->place != that->place) {
            add_network(asking, answer->table, that);
            add_loss_cells(answer->table, &loss);
            loss = (struct loss){0};
        }
    }
    g_autofree char *names = g_strjoinv(", ", asking->ask->without);
    answer->head =
        g_strdup_printf("Without %s all networks take %.3f ms more (%.2f %%), and "
                        "%" G_GINT64_FORMAT " problems have no solver.",
                        names, all.after_ms - all.before_ms,
                        all.before_ms > 0 ? (all.after_ms / all.before_ms - 1) * 100 : 0, all.left);
    answer->more = json_pack("{s:f, s:f, s:I, s:I, s:f}", "time_ms", all.before_ms, "without_ms",
                             all.after_ms, "moved", (json_int_t)all.moved, "left",
                             (json_int_t)all.left, "left_ms", all.left_ms);
    return true;
}

/* The loss without each solver alone, the largest first. */
struct single {
    const char *solver;
    struct loss loss;
};

static gint by_loss(gconstpointer a, gconstpointer b)
{
    const struct single *one = a, *other = b;
    double loss = one->loss.after_ms - one->loss.before_ms + one->loss.left_ms;
    double other_loss = other->loss.after_ms - other->loss.before_ms + other->loss.left_ms;
    return loss != other_loss ? (loss > other_loss ? -1 : 1) : strcmp(one->solver, other->solver);
}

static bool answer_without_each(struct asking *asking, struct usage_answer *answer, GError **error)
{
    static const struct table_column columns[] = {
        {"solver", "solver", TABLE_TEXT, 0}, LOSS_COLUMNS, {"networks", "networks", TABLE_INT, 0}};
    (void)error;
    guint count = asking->solvers->len;
    g_autofree struct single *singles = g_new0(struct single, (gsize)count + 1);
    for (guint s = 0; s < count; s++) {
        singles[s].solver = asking->solvers->pdata[s];
        singles[s].loss.networks = g_hash_table_new(NULL, NULL);
    }
    for (guint i = 0; i < asking->cases->len; i++) {
        const struct usage_case *that = case_at(asking, i);
        if (that->count > 0) {
            int winner = number_of(asking, that->times[0].solver);
            add_loss(&singles[winner].loss, that, that->count > 1 ? &that->times[1] : NULL);
        }
    }
    qsort(singles, count, sizeof *singles, by_loss);
    answer->table = answer_table(asking, columns, G_N_ELEMENTS(columns));
    for (guint s = 0; s < count; s++) {
        if (singles[s].loss.moved + singles[s].loss.left > 0) {
            table_text(answer->table, singles[s].solver);
            add_loss_cells(answer->table, &singles[s].loss);
            table_int(answer->table, (int)g_hash_table_size(singles[s].loss.networks));
        }
        g_hash_table_unref(singles[s].loss.networks);
    }
    return true;
}

/* ---- the smallest set ---- */

/* The cases that have a winner, as cover.h takes them. Groups are networks at places, numbered from 0 in the order of
 * the cases. */
struct matrix {
    GArray *cases; /* struct cover_case */
    int *solvers;
    double *times;
    int groups;
    GArray *firsts; /* guint: of each group, the index of its first case */
};

static void matrix_init(const struct asking *asking, struct matrix *matrix)
{
    gsize entries = 0, at = 0;
    for (guint i = 0; i < asking->cases->len; i++) {
        entries += (gsize)case_at(asking, i)->count;
    }
    *matrix = (struct matrix){g_array_new(FALSE, TRUE, sizeof(struct cover_case)),
                              g_new0(int, entries + 1), g_new0(double, entries + 1), 0,
                              g_array_new(FALSE, TRUE, sizeof(guint))};
    const struct usage_case *before = NULL;
    for (guint i = 0; i < asking->cases->len; i++) {
        const struct usage_case *that = case_at(asking, i);
        if (that->count == 0) {
            continue;
        }
        if (before == NULL || before->network != that->network || before->place != that->place) {
            matrix->groups++;
            g_array_append_val(matrix->firsts, i);
        }
        const struct cover_case one = {matrix->groups - 1, that->weight, that->count,
                                       &matrix->solvers[at], &matrix->times[at]};
        for (int t = 0; t < that->count; t++, at++) {
            matrix->solvers[at] = number_of(asking, that->times[t].solver);
            matrix->times[at] = that->times[t].time_ms;
        }
        g_array_append_val(matrix->cases, one);
        before = that;
    }
}

static void matrix_clear(struct matrix *matrix)
{
    g_array_unref(matrix->cases);
    g_array_unref(matrix->firsts);
    g_free(matrix->solvers);
    g_free(matrix->times);
}

static json_t *set_json(const struct asking *asking, const struct cover_found *found)
{
    json_t *names = json_array();
    for (guint i = 0; i < found->set->len; i++) {
        int solver = g_array_index(found->set, int, i);
        json_array_append_new(names, usage_json_text(asking->solvers->pdata[solver]));
    }
    return json_pack("{s:o, s:i, s:i, s:b, s:i, s:f}", "solvers", names, "of",
                     (int)asking->solvers->len, "lower_bound", found->lower_bound, "optimal",
                     found->optimal, "greedy", found->greedy, "greedy_most", found->greedy_most);
}

static char *set_text(const struct asking *asking, const struct cover_found *found)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(
        text,
        "%u of %u solvers keep every network within %g %% of its best time. %s\nThe greedy set has "
        "%d solvers, at most %.2f times as many as the smallest one; no set has fewer than %d.\n",
        found->set->len, asking->solvers->len, asking->ask->smallest * 100,
        found->optimal ? "No smaller set does." : "Whether a smaller set does was not decided.",
        found->greedy, found->greedy_most, found->lower_bound);
    for (guint i = 0; i < found->set->len; i++) {
        g_string_append_printf(
            text, "  %s\n",
            (const char *)asking->solvers->pdata[g_array_index(found->set, int, i)]);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static bool answer_smallest(struct asking *asking, struct usage_answer *answer, GError **error)
{
    static const struct table_column columns[] = {{"network", "network", TABLE_TEXT, 0},
                                                  PLACE_COLUMNS,
                                                  {"ms", "time_ms", TABLE_NUMBER, -4},
                                                  {"with set", "with_set_ms", TABLE_NUMBER, -4},
                                                  {"loss %", "loss_percent", TABLE_NUMBER, 2}};
    (void)error;
    struct matrix matrix;
    struct cover_found found;
    matrix_init(asking, &matrix);
    const struct cover cover = {.solvers = (int)asking->solvers->len,
                                .groups = matrix.groups,
                                .cases = (int)matrix.cases->len,
                                .list = (const struct cover_case *)matrix.cases->data,
                                .within = asking->ask->smallest,
                                .effort = asking->ask->effort};
    cover_solve(&cover, &found);
    g_autofree bool *in = g_new0(bool, (gsize)cover.solvers + 1);
    g_autofree bool *every = g_new0(bool, (gsize)cover.solvers + 1);
    g_autofree double *with_ms = g_new0(double, (gsize)cover.groups + 1);
    g_autofree double *best_ms = g_new0(double, (gsize)cover.groups + 1);
    memset(every, true, (gsize)cover.solvers * sizeof *every);
    for (guint i = 0; i < found.set->len; i++) {
        in[g_array_index(found.set, int, i)] = true;
    }
    cover_holds(&cover, in, with_ms);
    cover_holds(&cover, every, best_ms);
    answer->table = answer_table(asking, columns, G_N_ELEMENTS(columns));
    for (int g = 0; g < matrix.groups; g++) {
        add_network(asking, answer->table,
                    case_at(asking, g_array_index(matrix.firsts, guint, (guint)g)));
        table_number(answer->table, best_ms[g]);
        table_number(answer->table, with_ms[g]);
        table_number(answer->table, (with_ms[g] / best_ms[g] - 1) * 100);
    }
    answer->head = set_text(asking, &found);
    answer->more = set_json(asking, &found);
    g_array_unref(found.set);
    matrix_clear(&matrix);
    return true;
}

/* ---- never used ---- */

/* A solver's entries over all problems, each problem once. */
struct standing {
    int64_t entries, wins, alone;
    double closest;  /* least time over the best one's; INFINITY without a time */
    double log_gain; /* sum of log(next time / time) over the wins with another solver */
    double saved_ms; /* weighted, of all networks */
    int dynamic;
};

static struct standing *count_standings(const struct asking *asking)
{
    struct standing *standings = g_new0(struct standing, (gsize)asking->solvers->len + 1);
    for (guint s = 0; s < asking->solvers->len; s++) {
        standings[s].closest = INFINITY;
        standings[s].dynamic = -1;
    }
    for (guint i = 0; i < asking->cases->len; i++) {
        const struct usage_case *that = case_at(asking, i);
        for (int t = 0; t < that->count + that->untimed; t++) {
            struct standing *standing = &standings[number_of(asking, that->times[t].solver)];
            standing->entries += that->is_first;
            standing->dynamic = MAX(standing->dynamic, that->times[t].dynamic);
            if (t < that->count) {
                standing->closest =
                    MIN(standing->closest, that->times[t].time_ms / that->times[0].time_ms);
            }
        }
        if (that->count > 0) {
            struct standing *winner = &standings[number_of(asking, that->times[0].solver)];
            winner->wins += that->is_first;
            winner->alone += that->is_first && that->count == 1;
            if (that->count > 1) {
                winner->log_gain +=
                    that->is_first ? log(that->times[1].time_ms / that->times[0].time_ms) : 0;
                winner->saved_ms +=
                    (that->times[1].time_ms - that->times[0].time_ms) * that->weight;
            }
        }
    }
    return standings;
}

static void add_unused(Table *table, const char *solver, const struct standing *standing)
{
    table_text(table, solver);
    table_yes(table, solver_find(solver) != NULL);
    table_int(table, standing != NULL ? standing->entries : 0);
    table_number(table, standing != NULL ? (standing->closest - 1) * 100 : NAN);
}

static bool answer_unused(struct asking *asking, struct usage_answer *answer, GError **error)
{
    static const struct table_column columns[] = {
        {"solver", "solver", TABLE_TEXT, 0},
        {"registered", "registered", TABLE_YES, 0},
        {"problems", "problems", TABLE_INT, 0},
        {"nearest %", "nearest_percent", TABLE_NUMBER, 2},
    };
    (void)error;
    g_autofree struct standing *standings = count_standings(asking);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    answer->table = answer_table(asking, columns, G_N_ELEMENTS(columns));
    for (guint s = 0; s < asking->solvers->len; s++) {
        g_hash_table_add(seen, asking->solvers->pdata[s]);
        if (standings[s].wins == 0) {
            add_unused(answer->table, asking->solvers->pdata[s], &standings[s]);
        }
    }
    for (int i = 0; i < solver_table_count; i++) {
        if (!g_hash_table_contains(seen, solver_table[i]->name)) {
            add_unused(answer->table, solver_table[i]->name, NULL);
        }
    }
    return true;
}

/* ---- naive ---- */

static bool answer_naive(struct asking *asking, struct usage_answer *answer, GError **error)
{
    static const struct table_column columns[] = {
        {"network", "network", TABLE_TEXT, 0},  PLACE_COLUMNS,
        {"x", "multiplicity", TABLE_INT, 0},    {"naive ms", "time_ms", TABLE_NUMBER, -4},
        {"next", "next_solver", TABLE_TEXT, 0}, {"next ms", "next_ms", TABLE_NUMBER, -4},
        {"problem", "problem", TABLE_TEXT, 0},
    };
    (void)error;
    answer->table = answer_table(asking, columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < asking->cases->len; i++) {
        const struct usage_case *that = case_at(asking, i);
        if (that->count == 0 || strstr(that->times[0].solver, NAIVE_NAME) == NULL) {
            continue;
        }
        const struct usage_time *next = NULL;
        for (int t = 1; t < that->count && next == NULL; t++) {
            next = strstr(that->times[t].solver, NAIVE_NAME) == NULL ? &that->times[t] : NULL;
        }
        char key[PROBLEM_KEY_MAX];
        add_network(asking, answer->table, that);
        table_int(answer->table, that->multiplicity);
        table_number(answer->table, that->times[0].time_ms);
        table_text(answer->table, next != NULL ? next->solver : NULL);
        table_number(answer->table, next != NULL ? next->time_ms : NAN);
        table_text(answer->table, problem_key(that->problem, key));
    }
    return true;
}

/* ---- where applicability could be narrowed ---- */

/* A solver's problems in a class. */
struct region {
    int64_t problems, near;
    double closest;
};

/* The problems that agree in the first `depth` dimensions. */
struct class
{
    struct class *parent;
    char *values[CLASS_DIMENSIONS]; /* NULL from `depth` on */
    int depth;
    struct region *regions; /* of each solver */
};

static void class_free(gpointer data)
{
    struct class *class = data;
    for (int d = 0; d < CLASS_DIMENSIONS; d++) {
        g_free(class->values[d]);
    }
    g_free(class->regions);
    g_free(class);
}

static struct class *find_class(const struct asking *asking, GHashTable *classes,
                                struct class *parent, char *const *values, int depth)
{
    g_autoptr(GString) key = g_string_new(NULL);
    for (int d = 0; d < depth; d++) {
        g_string_append_printf(key, "%s\n", values[d]);
    }
    struct class *class = g_hash_table_lookup(classes, key->str);
    if (class == NULL) {
        class = g_new0(struct class, 1);
        class->parent = parent;
        class->depth = depth;
        class->regions = g_new0(struct region, (gsize)asking->solvers->len + 1);
        for (int d = 0; d < depth; d++) {
            class->values[d] = g_strdup(values[d]);
        }
        g_hash_table_insert(classes, g_strdup(key->str), class);
    }
    return class;
}

/* Counts a problem's solvers in its classes of every depth. */
static void count_regions(const struct asking *asking, GHashTable *classes,
                          const struct usage_case *that)
{
    char *values[CLASS_DIMENSIONS];
    struct class *class = NULL;
    for (int d = 0; d < CLASS_DIMENSIONS; d++) {
        values[d] = dimensions[d].value(asking->usage, that);
    }
    for (int depth = 0; depth <= CLASS_DIMENSIONS; depth++) {
        class = find_class(asking, classes, class, values, depth);
        for (int t = 0; t < that->count; t++) {
            struct region *region = &class->regions[number_of(asking, that->times[t].solver)];
            double over = that->times[t].time_ms / that->times[0].time_ms;
            region->closest = region->problems > 0 ? MIN(region->closest, over) : over;
            region->problems++;
            region->near += over <= 1 + asking->ask->within;
        }
    }
    for (int d = 0; d < CLASS_DIMENSIONS; d++) {
        g_free(values[d]);
    }
}

static gint by_class(gconstpointer a, gconstpointer b)
{
    const struct class *one = *(struct class *const *)a, *other = *(struct class *const *)b;
    int order = 0;
    for (int d = 0; d < CLASS_DIMENSIONS && order == 0; d++) {
        order = g_strcmp0(one->values[d], other->values[d]);
    }
    return order;
}

/* A solver may leave out a class in which it is never near the best. Only the largest such classes are named. */
static bool may_leave_out(const struct asking *asking, const struct class *class, guint solver)
{
    const struct region *region = &class->regions[solver];
    return region->problems >= asking->ask->least && region->near == 0 &&
           (class->parent == NULL || class->parent->regions[solver].near > 0);
}

static void add_class(Table *table, const char *solver, const struct class *class,
                      const struct region *region)
{
    table_text(table, solver);
    for (int d = 0; d < CLASS_DIMENSIONS; d++) {
        table_text(table, d < class->depth ? class->values[d] : "*");
    }
    table_int(table, region->problems);
    table_number(table, (region->closest - 1) * 100);
}

static bool answer_narrow(struct asking *asking, struct usage_answer *answer, GError **error)
{
    static const struct table_column columns[] = {
        {"solver", "solver", TABLE_TEXT, 0},    {"direction", "direction", TABLE_TEXT, 0},
        {"type", "type", TABLE_TEXT, 0},        {"layout", "layout", TABLE_TEXT, 0},
        {"filter", "filter", TABLE_TEXT, 0},    {"stride", "stride", TABLE_TEXT, 0},
        {"problems", "problems", TABLE_INT, 0}, {"nearest %", "nearest_percent", TABLE_NUMBER, 2},
    };
    (void)error;
    g_autoptr(GHashTable) classes =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, class_free);
    for (guint i = 0; i < asking->cases->len; i++) {
        const struct usage_case *that = case_at(asking, i);
        if (that->is_first && that->count > 0) {
            count_regions(asking, classes, that);
        }
    }
    answer->table = answer_table(asking, columns, G_N_ELEMENTS(columns));
    g_autoptr(GPtrArray) sorted = values_of(classes);
    g_ptr_array_sort(sorted, by_class);
    for (guint s = 0; s < asking->solvers->len; s++) {
        for (guint i = 0; i < sorted->len; i++) {
            const struct class *class = sorted->pdata[i];
            if (may_leave_out(asking, class, s)) {
                add_class(answer->table, asking->solvers->pdata[s], class, &class->regions[s]);
            }
        }
    }
    answer->more =
        json_pack("{s:f, s:i}", "within", asking->ask->within, "least", asking->ask->least);
    return true;
}

/* ---- seldom best, but then by far ---- */

static bool is_assembly(const char *solver)
{
    static const char *const words[] = ASSEMBLY_NAMES;
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
        if (strstr(solver, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static const char *advice(const char *name, const struct standing *standing)
{
    const struct solver *solver = solver_find(name);
    if (is_assembly(name)) {
        return "keep: assembly";
    }
    return (solver != NULL ? solver->dynamic : standing->dynamic > 0) ? "keep: dynamic"
                                                                      : "convert to assembly";
}

static bool answer_convert(struct asking *asking, struct usage_answer *answer, GError **error)
{
    static const struct table_column columns[] = {
        {"solver", "solver", TABLE_TEXT, 0},         {"wins", "wins", TABLE_INT, 0},
        {"wins %", "wins_percent", TABLE_NUMBER, 2}, {"alone", "alone", TABLE_INT, 0},
        {"gain", "gain", TABLE_NUMBER, 2},           {"saves ms", "saved_ms", TABLE_NUMBER, -4},
        {"advice", "advice", TABLE_TEXT, 0},
    };
    (void)error;
    g_autofree struct standing *standings = count_standings(asking);
    int64_t won = 0;
    for (guint s = 0; s < asking->solvers->len; s++) {
        won += standings[s].wins;
    }
    answer->table = answer_table(asking, columns, G_N_ELEMENTS(columns));
    for (guint s = 0; s < asking->solvers->len; s++) {
        const struct standing *standing = &standings[s];
        double share = (double)standing->wins / (double)won;
        int64_t beaten = standing->wins - standing->alone;
        double gain = beaten > 0 ? exp(standing->log_gain / (double)beaten) : INFINITY;
        if (standing->wins == 0 || share > asking->ask->rare || gain < asking->ask->gain) {
            continue;
        }
        table_text(answer->table, asking->solvers->pdata[s]);
        table_int(answer->table, standing->wins);
        table_number(answer->table, share * 100);
        table_int(answer->table, standing->alone);
        table_number(answer->table, gain);
        table_number(answer->table, standing->saved_ms);
        table_text(answer->table, advice(asking->solvers->pdata[s], standing));
    }
    answer->more =
        json_pack("{s:f, s:f}", "rare", asking->ask->rare, "least_gain", asking->ask->gain);
    return true;
}

/* ---- the table of questions ---- */

static bool asks_by(const struct usage_ask *ask)
{
    return ask->by != NULL;
}

static bool asks_each(const struct usage_ask *ask)
{
    return ask->without != NULL && g_strcmp0(ask->without[0], "each") == 0 &&
           ask->without[1] == NULL;
}

static bool asks_without(const struct usage_ask *ask)
{
    return ask->without != NULL && !asks_each(ask);
}

static bool asks_smallest(const struct usage_ask *ask)
{
    return ask->smallest >= 0;
}

static bool asks_unused(const struct usage_ask *ask)
{
    return ask->unused;
}

static bool asks_naive(const struct usage_ask *ask)
{
    return ask->naive;
}

static bool asks_narrow(const struct usage_ask *ask)
{
    return ask->narrow;
}

static bool asks_convert(const struct usage_ask *ask)
{
    return ask->convert;
}

#define LOSS_EXPLAINED                                                                               \
    "ms, without, loss: of problems that keep a solver, weighted by multiplicity and runs; moved:\n" \
    "problems that take their next solver; left: problems without any, left ms: their time now."

static const struct question {
    const char *key, *title, *explained;
    bool (*asked)(const struct usage_ask *ask);
    bool (*answer)(struct asking *asking, struct usage_answer *answer, GError **error);
} questions[] = {
    {"by", "Winners by what was asked",
     "wins: problems for which the solver is fastest; time %: its part of the time of all rows.",
     asks_by, answer_by},
    {"without", "Without these solvers", LOSS_EXPLAINED, asks_without, answer_without},
    {"without_each", "Without one solver", LOSS_EXPLAINED, asks_each, answer_without_each},
    {"smallest", "The smallest set of solvers",
     "with set: the network's time if only these solvers existed; every problem keeps a solver.",
     asks_smallest, answer_smallest},
    {"unused", "Solvers that are never the fastest",
     "registered: this program has the solver; problems: those for which it has an entry; nearest "
     "%: how\nmuch longer than the winner it takes where it comes nearest. A solver without times "
     "shows none.",
     asks_unused, answer_unused},
    {"naive", "Problems for which a naive solver is the fastest",
     "A solver whose name holds 'Naive' is naive; next: the fastest other solver, none where no "
     "other\nhas a time.",
     asks_naive, answer_naive},
    {"narrow", "Classes that solvers could leave out without loss",
     "Rule: a class is named if the solver has times for at least --least problems of it and is "
     "within\n--within per cent of the best for none. Classes are split by direction, type, layout, "
     "filter and\nstride in this order, and only the largest are named (* stands for any); nearest "
     "%: how much longer\nthan the winner it takes where it comes nearest.",
     asks_narrow, answer_narrow},
    {"convert", "Solvers that are seldom the fastest, but then by far",
     "Rule: at most --rare per cent of all wins, and there the next solver takes --gain times as "
     "long or\nmore (geometric mean; - where it has no rival: alone). Advice by the solver's form: "
     "a static kernel\nis compiled for each of these few problems, so convert it to assembly; "
     "dynamic kernels and those\nthat are assembly by name stay.",
     asks_convert, answer_convert},
};

bool usage_answer(Usage *usage, const struct usage_ask *ask, json_t *json, FILE *out,
                  GError **error)
{
    struct asking asking;
    bool answered = true;
    asking_init(&asking, usage, ask);
    for (gsize i = 0; i < G_N_ELEMENTS(questions) && answered; i++) {
        const struct question *question = &questions[i];
        struct usage_answer answer = {
            .key = question->key, .title = question->title, .explained = question->explained};
        if (question->asked(ask)) {
            answered = question->answer(&asking, &answer, error);
            if (answered) {
                usage_show_answer(&answer, json, out);
            }
        }
    }
    asking_clear(&asking);
    return answered;
}
