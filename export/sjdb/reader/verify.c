/* Reads every record once and checks the properties that lookups rely on: the order of texts and
 * names, and that every problem is found by its own fields. */
#include "export/sjdb/reader/view.h"

/* Returns true if looking up the fields of the problem with this number finds the same number. */
static bool problem_holds(const struct skipjackdb *db, const struct sjdb_set *set, uint64_t number)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    char form[SJDB_FORM_MAX];
    uint64_t found = 0;
    return sjdb_set_problem(db, set, number, &problem) == SKIPJACKDB_OK &&
           sjdb_form_write(&problem, form) &&
           sjdb_set_find(db, set, &problem, form, &found) == SKIPJACKDB_OK && found == number;
}

/* Checks that a problem's payload begins where the payload of the problem before it ends; returns
 * its own end. */
static uint64_t payload_end(struct sjdb_look *look, const struct sjdb_set *set, uint64_t number,
                            uint64_t begin)
{
    struct sjdb_items items;
    struct sjdb_item item;
    sjdb_items_init(look, set, number, &items);
    look->damaged = look->damaged || items.bit != begin;
    while (sjdb_items_next(look, &items, &item)) {
        const struct sjdb_array *part = set->part;
        uint64_t solver = sjdb_get(look, &part[SJDB_CHOICE_SOLVERS], item.choice);
        sjdb_text(look, sjdb_get(look, &look->db->single[SJDB_SOLVER_NAMES], solver));
        if (set == &look->db->perf) {
            sjdb_text(look, item.value);
        } else if (set == &look->db->solved || set == &look->db->other_solved ||
                   set == &look->db->unmeasured) {
            struct skipjackdb_solution solution;
            sjdb_recipe_read(look, sjdb_recipe_of(look->db, &item), &solution);
        }
    }
    return items.bit;
}

static bool entries_hold(const struct skipjackdb *db, uint64_t number)
{
    size_t count = 0, room = 0;
    struct skipjackdb_entry entry;
    int code = skipjackdb_entries(db, number, &entry, sizeof entry, room, &count);
    return code == SKIPJACKDB_OK &&
           skipjackdb_best(db, number, NULL, &entry, sizeof entry) != SKIPJACKDB_DAMAGED;
}

bool sjdb_starts_hold(struct sjdb_look *look, const struct sjdb_array *starts,
                      const struct sjdb_array *items)
{
    uint64_t last = sjdb_get(look, starts, 0);
    bool ascending = last == 0;
    for (uint64_t i = 1; i < starts->count; i++) {
        uint64_t start = sjdb_get(look, starts, i);
        ascending = ascending && start >= last;
        last = start;
    }
    return ascending && !look->damaged && last == items->count;
}

/* Checks that the texts are sorted, and the solvers by their names. */
static bool names_hold(const struct skipjackdb *db)
{
    struct sjdb_look look = {db, false};
    const struct sjdb_array *solvers = &db->single[SJDB_SOLVER_NAMES];
    uint64_t texts = db->single[SJDB_STRING_STARTS].count;
    bool ascending = true;
    for (uint64_t i = 1; i < texts; i++) {
        ascending = ascending && strcmp(sjdb_text(&look, i - 1), sjdb_text(&look, i)) < 0;
    }
    for (uint64_t i = 0; i < solvers->count; i++) {
        uint64_t text = sjdb_get(&look, solvers, i);
        ascending = ascending && text < texts && (i == 0 || sjdb_get(&look, solvers, i - 1) < text);
    }
    return ascending && !look.damaged;
}

static int verify_set(const struct skipjackdb *db, const struct sjdb_set *set)
{
    struct sjdb_look look = {db, false};
    const struct sjdb_array *part = set->part;
    uint64_t bit = 0, count = part[SJDB_PROBLEM_LISTS].count;
    if (count == 0) {
        return SKIPJACKDB_OK;
    }
    if (!sjdb_starts_hold(&look, &part[SJDB_SET_STARTS], &part[SJDB_SET_ITEMS]) ||
        !sjdb_starts_hold(&look, &part[SJDB_LIST_STARTS], &part[SJDB_LIST_ITEMS]) ||
        !sjdb_starts_hold(&look, &part[SJDB_CHOICE_STARTS], &part[SJDB_CHOICE_VALUES])) {
        return SKIPJACKDB_DAMAGED;
    }
    for (uint64_t i = 0; i < count; i++) {
        bit = payload_end(&look, set, i, bit);
        uint64_t number = set == &db->other_find ? sjdb_set_count(&db->find) + i : i;
        bool timed = set == &db->find || set == &db->other_find;
        if (look.damaged || !problem_holds(db, set, i) || (timed && !entries_hold(db, number))) {
            return SKIPJACKDB_DAMAGED;
        }
    }
    return bit == part[SJDB_PAYLOAD].count ? SKIPJACKDB_OK : SKIPJACKDB_DAMAGED;
}

/* Returns the time of an entry that has an interval, by its number. An entry that the file lacks marks
 * damage. */
static double entry_time(struct sjdb_look *look, uint64_t entry)
{
    struct sjdb_items items;
    struct sjdb_item item = {.entry = UINT64_MAX};
    uint64_t number = entry / SJDB_LIST_MAX;
    const struct sjdb_set *set = sjdb_set_of(&look->db->find, &look->db->other_find, &number);
    if (number >= sjdb_set_count(set)) {
        look->damaged = true;
        return 0;
    }
    sjdb_items_init(look, set, number, &items);
    while (item.entry != entry && sjdb_items_next(look, &items, &item)) {
    }
    look->damaged = look->damaged || item.entry != entry;
    return sjdb_time_of(look, item.time_code);
}

/* Checks that the intervals are in the order of their entries, and each one around its entry's time. */
static bool intervals_hold(const struct skipjackdb *db)
{
    struct sjdb_look look = {db, false};
    const struct sjdb_array *entries = &db->single[SJDB_INTERVAL_ENTRIES];
    for (uint64_t i = 0; i < entries->count; i++) {
        uint64_t entry = sjdb_get(&look, entries, i);
        double low_ms = 0, high_ms = 0, time_ms = entry_time(&look, entry);
        sjdb_interval_of(&look, entry, &low_ms, &high_ms);
        if (look.damaged || (i > 0 && sjdb_get(&look, entries, i - 1) >= entry) ||
            !(low_ms > 0 && low_ms <= time_ms && time_ms <= high_ms)) {
            return false;
        }
    }
    return true;
}

int sjdb_verify_records(const struct skipjackdb *db)
{
    const struct sjdb_set *const sets[] = {&db->find,       &db->perf,         &db->solved,
                                           &db->other_find, &db->other_solved, &db->unmeasured};
    int code = names_hold(db) ? SKIPJACKDB_OK : SKIPJACKDB_DAMAGED;
    for (size_t i = 0; code == SKIPJACKDB_OK && i < sizeof sets / sizeof sets[0]; i++) {
        code = verify_set(db, sets[i]);
    }
    if (code == SKIPJACKDB_OK && !intervals_hold(db)) {
        code = SKIPJACKDB_DAMAGED;
    }
    if (code == SKIPJACKDB_OK) {
        code = sjdb_verify_solutions(db);
    }
    return code == SKIPJACKDB_OK ? sjdb_verify_kernels(db) : code;
}
