/* Reads the entries of a problem. Each problem has a list of choices (solver, algorithm, library);
 * its payload has the time and the value (workspace, params or recipe) for each choice. */
#include "export/sjdb/reader/view.h"

void sjdb_items_init(struct sjdb_look *look, const struct sjdb_set *set, uint64_t number,
                     struct sjdb_items *items)
{
    const struct sjdb_array *lists = &set->part[SJDB_PROBLEM_LISTS];
    uint64_t sampled = number / SJDB_PAYLOAD_STEP;
    uint64_t list = sjdb_get(look, lists, number);
    uint64_t before = set == &look->db->other_find ? sjdb_set_count(&look->db->find) : 0;
    items->set = set;
    items->entry = (before + number) * SJDB_LIST_MAX;
    items->bit = sjdb_get(look, &set->part[SJDB_PAYLOAD_STARTS], sampled);
    for (uint64_t i = sampled * SJDB_PAYLOAD_STEP; i < number; i++) {
        items->bit += sjdb_get(look, &set->part[SJDB_LIST_BITS], sjdb_get(look, lists, i));
    }
    items->next = sjdb_get(look, &set->part[SJDB_LIST_STARTS], list);
    items->end = sjdb_get(look, &set->part[SJDB_LIST_STARTS], list + 1);
    if (items->end > set->part[SJDB_LIST_ITEMS].count || items->next > items->end ||
        items->end - items->next > SJDB_LIST_MAX) {
        look->damaged = true;
    }
}

static uint64_t take_payload(struct sjdb_look *look, struct sjdb_items *items, uint64_t width)
{
    const struct sjdb_array *payload = &items->set->part[SJDB_PAYLOAD];
    if (width > 64 || items->bit > payload->count || width > payload->count - items->bit) {
        look->damaged = true;
        return 0;
    }
    uint64_t value =
        sjdb_bits(payload->bytes, items->bit, (uint32_t)width, sjdb_mask((uint32_t)width));
    items->bit += width;
    return value;
}

static uint64_t take_value(struct sjdb_look *look, struct sjdb_items *items, uint64_t number)
{
    struct sjdb_choice spare;
    const struct sjdb_choice *choice = sjdb_choice_of(look, items->set, number, &spare);
    uint64_t value = take_payload(look, items, choice->width);
    if (choice->count == 0) {
        return value;
    }
    if (value >= choice->count) {
        look->damaged = true;
        return 0;
    }
    return sjdb_get(look, &items->set->part[SJDB_CHOICE_VALUES], choice->first + value);
}

bool sjdb_items_next(struct sjdb_look *look, struct sjdb_items *items, struct sjdb_item *item)
{
    if (look->damaged || items->next >= items->end) {
        return false;
    }
    item->set = items->set;
    item->choice = sjdb_get(look, &items->set->part[SJDB_LIST_ITEMS], items->next++);
    item->time_code = take_payload(look, items, items->set->time_width);
    item->value = take_value(look, items, item->choice);
    item->entry = items->entry++;
    return !look->damaged;
}

/* Returns a choice's text. The file stores the text's number + 1, or 0 for "". */
static const char *text_or_none(struct sjdb_look *look, const struct sjdb_array *numbers,
                                uint64_t choice)
{
    uint64_t number = sjdb_get(look, numbers, choice);
    return number == 0 ? "" : sjdb_text(look, number - 1);
}

void sjdb_choice_read(struct sjdb_look *look, const struct sjdb_set *set, uint64_t number,
                      struct sjdb_choice *choice)
{
    const struct sjdb_array *single = look->db->single, *part = set->part;
    uint64_t solver = sjdb_get(look, &part[SJDB_CHOICE_SOLVERS], number);
    uint64_t end = sjdb_get(look, &part[SJDB_CHOICE_STARTS], number + 1);
    uint64_t width = sjdb_get(look, &part[SJDB_CHOICE_WIDTHS], number);
    choice->solver = sjdb_text(look, sjdb_get(look, &single[SJDB_SOLVER_NAMES], solver));
    choice->algorithm = text_or_none(look, &part[SJDB_CHOICE_ALGORITHMS], number);
    choice->library = text_or_none(look, &part[SJDB_CHOICE_LIBRARIES], number);
    choice->revision = (uint32_t)sjdb_get(look, &single[SJDB_SOLVER_REVISIONS], solver);
    choice->flags = (uint32_t)sjdb_get(look, &single[SJDB_SOLVER_FLAGS], solver);
    choice->first = sjdb_get(look, &part[SJDB_CHOICE_STARTS], number);
    choice->count = end - choice->first;
    choice->width = (uint32_t)width;
    if (end < choice->first || width > 64) {
        look->damaged = true;
        choice->count = choice->width = 0;
    }
}

double sjdb_time_of(struct sjdb_look *look, uint64_t code)
{
    const struct skipjackdb *db = look->db;
    double time = 0;
    if (code >= db->first_rare) {
        uint64_t bits = sjdb_get(look, &db->single[SJDB_RARE_TIMES], code - db->first_rare);
        memcpy(&time, &bits, sizeof time);
        return time;
    }
    uint32_t i = db->time_range_count;
    while (i > 1 && code < db->times[i - 1].first_code) {
        i--;
    }
    if (i == 0) {
        look->damaged = true;
        return 0;
    }
    const struct sjdb_time_range *range = &db->times[i - 1];
    return (double)(range->first_mantissa + (code - range->first_code)) / range->scale;
}

void sjdb_interval_of(struct sjdb_look *look, uint64_t entry, double *low_ms, double *high_ms)
{
    const struct sjdb_array *single = look->db->single;
    const struct sjdb_array *entries = &single[SJDB_INTERVAL_ENTRIES];
    uint64_t low = 0, high = entries->count;
    *low_ms = *high_ms = 0;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t held = sjdb_get(look, entries, middle);
        if (held == entry) {
            *low_ms = sjdb_time_of(look, sjdb_get(look, &single[SJDB_INTERVAL_LOWS], middle));
            *high_ms = sjdb_time_of(look, sjdb_get(look, &single[SJDB_INTERVAL_HIGHS], middle));
            return;
        }
        if (held < entry) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
}

int sjdb_set_entries(const struct skipjackdb *db, const struct sjdb_set *set, uint64_t number,
                     const struct sjdb_entries *into, size_t *count)
{
    struct sjdb_look look = {db, false};
    struct sjdb_items items;
    struct sjdb_item item;
    size_t found = 0;
    if (count == NULL || into->entry_size < into->made_size ||
        (into->entries == NULL && into->room > 0)) {
        return SKIPJACKDB_USAGE;
    }
    *count = 0;
    if (number >= set->part[SJDB_PROBLEM_LISTS].count) {
        return SKIPJACKDB_NOT_FOUND;
    }
    sjdb_items_init(&look, set, number, &items);
    for (; found < into->room && sjdb_items_next(&look, &items, &item); found++) {
        void *entry = (char *)into->entries + found * into->entry_size;
        into->fill(&look, &item, entry);
        memset((char *)entry + into->made_size, 0, into->entry_size - into->made_size);
    }
    if (look.damaged) {
        return SKIPJACKDB_DAMAGED;
    }
    *count = found + (size_t)(items.end - items.next);
    return SKIPJACKDB_OK;
}

static void fill_entry(struct sjdb_look *look, const struct sjdb_item *item, void *room)
{
    struct skipjackdb_entry *entry = room;
    struct sjdb_choice spare;
    const struct sjdb_choice *choice = sjdb_choice_of(look, item->set, item->choice, &spare);
    entry->solver = choice->solver;
    entry->algorithm = choice->algorithm;
    entry->library = choice->library;
    entry->revision = choice->revision;
    entry->flags = choice->flags;
    entry->time_ms = sjdb_time_of(look, item->time_code);
    entry->workspace_bytes = item->value;
    sjdb_interval_of(look, item->entry, &entry->low_ms, &entry->high_ms);
}

/* The same for a caller whose struct is from before 1.4. */
static void fill_entry_1_3(struct sjdb_look *look, const struct sjdb_item *item, void *room)
{
    struct skipjackdb_entry entry;
    fill_entry(look, item, &entry);
    memcpy(room, &entry, SJDB_ENTRY_1_3);
}

int skipjackdb_entries(const skipjackdb *db, uint64_t number, struct skipjackdb_entry *entries,
                       size_t entry_size, size_t room, size_t *count)
{
    bool old = entry_size < sizeof *entries;
    const struct sjdb_entries into = {entries, old ? SJDB_ENTRY_1_3 : sizeof *entries, entry_size,
                                      room, old ? fill_entry_1_3 : fill_entry};
    if (db == NULL) {
        return SKIPJACKDB_USAGE;
    }
    const struct sjdb_set *set = sjdb_set_of(&db->find, &db->other_find, &number);
    return sjdb_set_entries(db, set, number, &into, count);
}

static bool within(struct sjdb_look *look, const struct sjdb_item *item,
                   const struct skipjackdb_limits *limits)
{
    struct sjdb_choice spare;
    if (limits == NULL) {
        return true;
    }
    const struct sjdb_choice *choice = sjdb_choice_of(look, item->set, item->choice, &spare);
    return item->value <= limits->workspace_bytes &&
           (choice->flags & limits->flags) == limits->flags;
}

int skipjackdb_best(const skipjackdb *db, uint64_t number, const struct skipjackdb_limits *limits,
                    struct skipjackdb_entry *entry, size_t entry_size)
{
    struct sjdb_look look = {db, false};
    struct sjdb_items items;
    struct sjdb_item item, best = {0};
    struct skipjackdb_entry filled;
    double least = 0;
    if (db == NULL || entry == NULL || entry_size < SJDB_ENTRY_1_3 ||
        (limits != NULL && !SJDB_SIZED(limits))) {
        return SKIPJACKDB_USAGE;
    }
    if (number >= skipjackdb_problem_count(db)) {
        return SKIPJACKDB_NOT_FOUND;
    }
    const struct sjdb_set *set = sjdb_set_of(&db->find, &db->other_find, &number);
    sjdb_items_init(&look, set, number, &items);
    while (sjdb_items_next(&look, &items, &item)) {
        double time = sjdb_time_of(&look, item.time_code);
        if (time > 0 && (least <= 0 || time < least) && within(&look, &item, limits)) {
            least = time;
            best = item;
        }
    }
    if (look.damaged || best.set == NULL) {
        return look.damaged ? SKIPJACKDB_DAMAGED : SKIPJACKDB_NOT_FOUND;
    }
    fill_entry(&look, &best, &filled);
    if (look.damaged) {
        return SKIPJACKDB_DAMAGED;
    }
    sjdb_hand_out(&filled, sizeof filled, entry, entry_size);
    return SKIPJACKDB_OK;
}
