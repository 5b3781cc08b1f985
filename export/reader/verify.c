/* Reads every record once and compares what lookups take on trust between checks of bounds. */
#include "export/reader/view.h"

/* What a caller would get for the problem: its fields, found again under its number. */
static bool problem_holds(const struct skipjackdb *db, const struct sjdb_set *set, uint64_t number)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    uint64_t found = 0;
    return sjdb_set_problem(db, set, number, &problem) == SKIPJACKDB_OK &&
           sjdb_set_find(db, set, &problem, &found) == SKIPJACKDB_OK && found == number;
}

/* The payload begins where the last one ended; returns where this one ends. */
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

static int verify_set(const struct skipjackdb *db, const struct sjdb_set *set)
{
    struct sjdb_look look = {db, false};
    uint64_t bit = 0, count = set->part[SJDB_PROBLEM_LISTS].count;
    for (uint64_t i = 0; i < count; i++) {
        bit = payload_end(&look, set, i, bit);
        if (look.damaged || !problem_holds(db, set, i) ||
            (set == &db->find && !entries_hold(db, i))) {
            return SKIPJACKDB_DAMAGED;
        }
    }
    return bit == set->part[SJDB_PAYLOAD].count ? SKIPJACKDB_OK : SKIPJACKDB_DAMAGED;
}

int sjdb_verify_records(const struct skipjackdb *db)
{
    int code = verify_set(db, &db->find);
    return code == SKIPJACKDB_OK ? verify_set(db, &db->perf) : code;
}
