/* Finds the problems of a file that are nearest to a given one. */
#include "export/sjdb/reader/choose.h"

/* How a field of two problems is compared. The distance between sizes is the difference of their
 * logarithms, so a factor of 2 counts 1. shape_rules and variant_rules state the distance for other
 * fields that differ. */
enum comparison {
    FREE,  /* adds no distance, since the field follows from others */
    SIZE,  /* adds the difference of the logarithms */
    OTHER, /* adds `weight` if the two values differ */
    EQUAL, /* no neighbour if the two values differ */
};
struct rule {
    enum comparison comparison;
    uint32_t weight;
};

#define OTHER_KERNEL                                                                               \
    8 /* weight of another filter, stride or dilation on an axis, or of another kind of groups */
#define OTHER_EPILOGUE 2
#define OTHER_EDGE     1 /* weight of other padding, bias or strides of tensors */
#define THREE(...)     __VA_ARGS__, __VA_ARGS__, __VA_ARGS__

/* In the order of sjdb_shape_fields(). */
static const struct rule shape_rules[SJDB_SHAPE_FIELDS] = {
    {EQUAL, 0},
    THREE({SIZE, 0}), /* c, k, groups */
    THREE({SIZE, 0}), /* in */
    THREE({OTHER, OTHER_KERNEL}),
    THREE({FREE, 0}),
    THREE({OTHER, OTHER_EDGE}),
    THREE({OTHER, OTHER_KERNEL}),
    THREE({OTHER, OTHER_KERNEL}),
};
#define FIELD_C      1
#define FIELD_GROUPS 3

/* In the order of sjdb_variant_fields(). */
static const struct rule variant_rules[SJDB_VARIANT_FIELDS] = {
    {SIZE, 0},         {EQUAL, 0}, {OTHER, OTHER_EDGE},     THREE({EQUAL, 0}),
    THREE({EQUAL, 0}), {EQUAL, 0}, {OTHER, OTHER_EPILOGUE},
};

/* Distance of a problem that cannot be a neighbour: more than all other differences together, and
 * small enough that sums do not overflow. */
#define NEVER (UINT32_C(1) << 30)

/* Most distances that are computed once for a whole scan, of values in the dictionaries of shape
 * columns and of variants. Distances beyond these are computed each time. */
#define READY_MAX 8192

struct scan {
    struct sjdb_look look;
    const struct sjdb_set *set;
    /* fields of the wanted problem */
    uint64_t shape[SJDB_SHAPE_FIELDS], variant[SJDB_VARIANT_FIELDS];
    uint64_t base;               /* number of the set's first problem */
    bool forms;                  /* variants have forms, not epilogues alone */
    struct sjdb_form_parts form; /* parts of the wanted problem's form */
    /* a problem is only of use if it is nearer than this: the largest distance in the list of
     * neighbours once the list is full, before that NEVER */
    uint64_t limit;
    /* how many more problems may be read. It starts with the number of problems in the file, so
     * that a damaged file cannot make a scan longer. */
    uint64_t budget;
    struct sjdb_neighbours *found;
    /* distances of each varying column's dictionary values; NULL if not computed in advance */
    const uint32_t *values[SJDB_SHAPE_FIELDS];
    const uint32_t *variants; /* distance of each variant; NULL if not computed in advance */
    uint32_t ready_count, ready[READY_MAX];
};

static uint32_t difference(const struct rule *rule, uint64_t one, uint64_t other)
{
    if (one == other || rule->comparison == FREE) {
        return 0;
    }
    if (rule->comparison == SIZE) {
        uint64_t a = sjdb_logarithm(one), b = sjdb_logarithm(other);
        return (uint32_t)(a > b ? a - b : b - a);
    }
    return rule->comparison == EQUAL ? NEVER : rule->weight * SJDB_DISTANCE_UNIT;
}

/* Returns the distance that the columns with the same value in all rows contribute, all but the
 * skipped one (-1 for none). */
static uint64_t constants_distance(const struct sjdb_table *table, const struct rule *rules,
                                   const uint64_t *wanted, int skipped)
{
    uint64_t distance = 0;
    for (int i = 0; i < table->constant_count; i++) {
        uint8_t field = table->constant[i];
        if (field == skipped) {
            continue;
        }
        distance += difference(&rules[field], wanted[field], table->constant_value[i]);
    }
    return distance;
}

static bool same_part(const char *one, size_t length, const char *other, size_t other_length)
{
    return length == other_length && memcmp(one, other, length) == 0;
}

/* Returns the distance between the wanted problem's form and that of a variant. */
static uint64_t form_distance(struct scan *scan, uint64_t variant)
{
    const struct sjdb_form_parts *a = &scan->form;
    struct sjdb_form_parts b;
    uint64_t text = sjdb_cell(&scan->look, &scan->set->variants, variant, SJDB_VARIANT_EPILOGUE);
    sjdb_form_split(text == 0 ? "" : sjdb_text(&scan->look, text - 1), &b);
    if (!same_part(a->kind, a->kind_length, b.kind, b.kind_length)) {
        return NEVER;
    }
    bool strides = same_part(a->strides, a->strides_length, b.strides, b.strides_length);
    bool epilogue = strcmp(a->epilogue, b.epilogue) == 0;
    return (uint64_t)((strides ? 0 : OTHER_EDGE) + (epilogue ? 0 : OTHER_EPILOGUE)) *
           SJDB_DISTANCE_UNIT;
}

/* Returns the distance of a variant; at least NEVER if its problems cannot be neighbours. */
static uint64_t variant_distance(struct scan *scan, uint64_t variant)
{
    const struct sjdb_table *variants = &scan->set->variants;
    uint64_t distance = scan->forms ? form_distance(scan, variant) : 0;
    distance += constants_distance(variants, variant_rules, scan->variant,
                                   scan->forms ? SJDB_VARIANT_EPILOGUE : -1);
    for (int i = 0; i < variants->varying_count && distance < NEVER; i++) {
        uint32_t field = variants->varying[i].field;
        if (scan->forms && field == SJDB_VARIANT_EPILOGUE) {
            continue;
        }
        distance += difference(&variant_rules[field], scan->variant[field],
                               sjdb_cell(&scan->look, variants, variant, (int)field));
    }
    return distance;
}

/* Takes memory for `count` distances from the READY_MAX that a scan has; NULL if too few are
 * left. */
static uint32_t *take_ready(struct scan *scan, uint64_t count)
{
    uint32_t *taken = scan->ready + scan->ready_count;
    if (count > READY_MAX - scan->ready_count) {
        return NULL;
    }
    scan->ready_count += (uint32_t)count;
    return taken;
}

static void make_ready(struct scan *scan)
{
    const struct sjdb_table *shapes = &scan->set->shapes;
    uint64_t variant_count = scan->set->variants.rows.count;
    uint32_t *made = take_ready(scan, variant_count);
    scan->variants = made;
    for (uint64_t i = 0; made != NULL && i < variant_count; i++) {
        uint64_t distance = variant_distance(scan, i);
        made[i] = distance < NEVER ? (uint32_t)distance : NEVER;
    }
    for (int i = 0; i < shapes->varying_count; i++) {
        uint32_t field = shapes->varying[i].field;
        const struct sjdb_column *column = &shapes->column[field];
        bool suits = column->count > 0 && column->width <= SJDB_NARROW;
        scan->values[i] = made = suits ? take_ready(scan, column->count) : NULL;
        for (uint64_t v = 0; made != NULL && v < column->count; v++) {
            made[v] = difference(&shape_rules[field], scan->shape[field],
                                 sjdb_get(&scan->look, &shapes->values, column->first + v));
        }
    }
}

/* Adds the distance of a shape's varying columns to `distance`, which all shapes have in common.
 * Stops as soon as the sum reaches the limit. */
static uint64_t shape_distance(struct scan *scan, uint64_t shape, uint64_t distance)
{
    const struct sjdb_table *shapes = &scan->set->shapes;
    uint64_t begin = shape * shapes->rows.width;
    for (int i = 0; i < shapes->varying_count && distance < scan->limit; i++) {
        const struct sjdb_comparison *column = &shapes->varying[i];
        if (scan->values[i] == NULL) {
            distance += difference(&shape_rules[column->field], scan->shape[column->field],
                                   sjdb_cell(&scan->look, shapes, shape, (int)column->field));
            continue;
        }
        uint64_t cell = sjdb_few_bits(shapes->rows.bytes, begin + column->offset, column->mask);
        if (cell >= column->count) {
            scan->look.damaged = true;
            return NEVER;
        }
        distance += scan->values[i][cell];
    }
    return distance;
}

/* Returns whether the channels are ungrouped, depthwise, or grouped in between: each of the three
 * has its own kernels. */
static int kind_of_groups(uint64_t groups, uint64_t channels)
{
    return groups <= 1 ? 0 : groups == channels ? 1 : 2;
}

static uint64_t groups_distance(struct scan *scan, uint64_t shape)
{
    const struct sjdb_table *shapes = &scan->set->shapes;
    int kind = kind_of_groups(sjdb_cell(&scan->look, shapes, shape, FIELD_GROUPS),
                              sjdb_cell(&scan->look, shapes, shape, FIELD_C));
    bool same = kind == kind_of_groups(scan->shape[FIELD_GROUPS], scan->shape[FIELD_C]);
    return same ? 0 : (uint64_t)OTHER_KERNEL * SJDB_DISTANCE_UNIT;
}

static void keep(struct scan *scan, uint64_t number, uint64_t distance)
{
    struct sjdb_neighbours *found = scan->found;
    uint32_t at = found->count < SJDB_NEIGHBOURS ? found->count++ : SJDB_NEIGHBOURS - 1;
    if (number >= scan->set->part[SJDB_PROBLEM_LISTS].count) {
        scan->look.damaged = true;
    }
    for (; at > 0 && found->list[at - 1].distance > distance; at--) {
        found->list[at] = found->list[at - 1];
    }
    found->list[at] = (struct sjdb_neighbour){scan->base + number, distance};
    if (found->count == SJDB_NEIGHBOURS) {
        scan->limit = found->list[SJDB_NEIGHBOURS - 1].distance;
    }
}

static void look_at_problems(struct scan *scan, uint64_t shape, uint64_t distance)
{
    const struct sjdb_set *set = scan->set;
    const struct sjdb_array *items = &set->part[SJDB_SET_ITEMS];
    uint64_t which = sjdb_cell(&scan->look, &set->shapes, shape, SJDB_SHAPE_SET);
    uint64_t base = sjdb_cell(&scan->look, &set->shapes, shape, SJDB_SHAPE_BASE);
    uint64_t first = sjdb_get(&scan->look, &set->part[SJDB_SET_STARTS], which);
    uint64_t end = sjdb_get(&scan->look, &set->part[SJDB_SET_STARTS], which + 1);
    if (first >= end || end > items->count || end - first > scan->budget) {
        scan->look.damaged = true;
        return;
    }
    scan->budget -= end - first;
    for (uint64_t i = first; i < end && !scan->look.damaged; i++) {
        uint64_t variant = sjdb_get(&scan->look, items, i);
        if (variant >= set->variants.rows.count) {
            scan->look.damaged = true;
            return;
        }
        uint64_t far = distance + (scan->variants != NULL ? scan->variants[variant]
                                                          : variant_distance(scan, variant));
        if (far < scan->limit) {
            keep(scan, base + i - first, far);
        }
    }
}

int sjdb_nearest(const struct skipjackdb *db, const struct skipjackdb_problem *problem, bool others,
                 struct sjdb_neighbours *found)
{
    const struct sjdb_set *set = others ? &db->other_find : &db->find;
    struct scan scan = {.look = {db, false}, .set = set, .limit = NEVER, .found = found};
    char form[SJDB_FORM_MAX];
    uint64_t epilogue = 0;
    found->count = 0;
    scan.base = others ? sjdb_set_count(&db->find) : 0;
    scan.forms = others;
    if (!sjdb_form_write(problem, form)) {
        return SKIPJACKDB_OK;
    }
    sjdb_form_split(form, &scan.form);
    scan.budget = set->part[SJDB_PROBLEM_LISTS].count;
    /* an epilogue that the file does not have differs from all of its problems */
    if (!others && problem->epilogue[0] != '\0') {
        int64_t text = sjdb_text_number(&scan.look, problem->epilogue);
        epilogue = text < 0 ? UINT64_MAX : (uint64_t)text + 1;
    }
    sjdb_shape_fields(problem, scan.shape);
    sjdb_variant_fields(problem, epilogue, scan.variant);
    make_ready(&scan);
    uint64_t apart = constants_distance(&set->shapes, shape_rules, scan.shape, -1);
    for (uint64_t i = 0; i < set->shapes.rows.count && apart < NEVER && !scan.look.damaged; i++) {
        uint64_t far = shape_distance(&scan, i, apart);
        if (far < scan.limit) {
            far += groups_distance(&scan, i);
        }
        if (far < scan.limit) {
            look_at_problems(&scan, i, far);
        }
    }
    return scan.look.damaged ? SKIPJACKDB_DAMAGED : SKIPJACKDB_OK;
}
