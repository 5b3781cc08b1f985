/* Finds the problems of a file that are nearest to a given one. */
#include "export/sjdb/reader/choose.h"

/* How two values of a field are compared. A factor of 2 in any size counts 1; the table gives the
 * weight of other differences. */
enum comparison {
    FREE,  /* no difference: it follows from other fields */
    SIZE,  /* difference of the logarithms */
    OTHER, /* `weight` if they differ */
    EQUAL, /* problems that differ here are never near */
};
struct rule {
    enum comparison comparison;
    uint32_t weight;
};

#define OTHER_KERNEL                                                                               \
    8 /* for another filter, stride or dilation on an axis, or another kind of groups */
#define OTHER_EPILOGUE 2
#define OTHER_EDGE     1 /* for other padding or bias */
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

/* More than all differences of two problems together, and far from overflow in a sum. */
#define NEVER (UINT32_C(1) << 30)

/* Distances computed once for a scan: of the values in the shapes' dictionaries, and of the
 * variants. Those that do not fit here are computed each time. */
#define READY_MAX 8192

struct scan {
    struct sjdb_look look;
    const struct sjdb_set *set;
    uint64_t shape[SJDB_SHAPE_FIELDS], variant[SJDB_VARIANT_FIELDS]; /* of the problem asked for */
    uint64_t limit; /* only problems nearer than this are of use */
    uint64_t
        budget; /* bound on the problems still to be read: the file's own number, so that damage cannot prolong a scan */
    struct sjdb_neighbours *found;
    const uint32_t
        *values[SJDB_SHAPE_FIELDS]; /* by varying column; NULL if not computed in advance */
    const uint32_t *variants;       /* by variant; NULL if not computed in advance */
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

/* Adds the distance of the columns that are equal in all rows. */
static uint64_t constants_distance(const struct sjdb_table *table, const struct rule *rules,
                                   const uint64_t *wanted)
{
    uint64_t distance = 0;
    for (int i = 0; i < table->constant_count; i++) {
        uint8_t field = table->constant[i];
        distance += difference(&rules[field], wanted[field], table->constant_value[i]);
    }
    return distance;
}

/* The distance of a variant; NEVER or more if it cannot be near. */
static uint64_t variant_distance(struct scan *scan, uint64_t variant)
{
    const struct sjdb_table *variants = &scan->set->variants;
    uint64_t distance = constants_distance(variants, variant_rules, scan->variant);
    for (int i = 0; i < variants->varying_count && distance < NEVER; i++) {
        uint32_t field = variants->varying[i].field;
        distance += difference(&variant_rules[field], scan->variant[field],
                               sjdb_cell(&scan->look, variants, variant, (int)field));
    }
    return distance;
}

/* Takes room for `count` distances from the ready ones; NULL without room. */
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

/* The distance of a shape on top of what all rows share. Stops adding when it is too far. */
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

/* Ungrouped, depthwise, or in between: these have different kernels. */
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
    found->list[at] = (struct sjdb_neighbour){number, distance};
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

int sjdb_nearest(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                 struct sjdb_neighbours *found)
{
    const struct sjdb_set *set = &db->find;
    struct scan scan = {.look = {db, false}, .set = set, .limit = NEVER, .found = found};
    uint64_t epilogue = 0;
    found->count = 0;
    scan.budget = set->part[SJDB_PROBLEM_LISTS].count;
    if (problem->epilogue[0] != '\0') { /* an epilogue that the file lacks differs from all */
        int64_t text = sjdb_text_number(&scan.look, problem->epilogue);
        epilogue = text < 0 ? UINT64_MAX : (uint64_t)text + 1;
    }
    sjdb_shape_fields(problem, scan.shape);
    sjdb_variant_fields(problem, epilogue, scan.variant);
    make_ready(&scan);
    uint64_t apart = constants_distance(&set->shapes, shape_rules, scan.shape);
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
