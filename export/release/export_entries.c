#include "export/release/export_entries.h"

typedef bool (*is_wanted)(const struct planned_entry *entry);

static bool is_without_workspace(const struct planned_entry *entry)
{
    return entry->workspace_bytes == 0;
}

static bool is_dynamic(const struct planned_entry *entry)
{
    return entry->solver->dynamic;
}

static bool is_both(const struct planned_entry *entry)
{
    return is_without_workspace(entry) && is_dynamic(entry);
}

static bool is_any(const struct planned_entry *entry)
{
    (void)entry;
    return true;
}

struct choice {
    struct planned_entry *entries;
    int count, room;
};

static bool has_taken(const struct choice *choice, is_wanted wanted)
{
    for (int i = 0; i < choice->count; i++) {
        if (choice->entries[i].is_taken && wanted(&choice->entries[i])) {
            return true;
        }
    }
    return false;
}

/* Takes the fastest entry that `wanted` accepts and that was not taken before. Returns false if no
 * entry can be taken: `top` was reached, or no entry is left. */
static bool take_fastest(struct choice *choice, is_wanted wanted)
{
    for (int i = 0; i < choice->count && choice->room > 0; i++) {
        if (!choice->entries[i].is_taken && wanted(&choice->entries[i])) {
            choice->entries[i].is_taken = true;
            choice->room--;
            return true;
        }
    }
    return false;
}

int export_entries_choose(struct planned_entry *entries, int count, int top)
{
    struct choice choice = {entries, count, top};
    for (int i = 0; i < count; i++) {
        entries[i].is_taken = false;
    }
    take_fastest(&choice, is_any);
    bool lacks_both = !has_taken(&choice, is_without_workspace) && !has_taken(&choice, is_dynamic);
    if (lacks_both && choice.room == 1) {
        take_fastest(&choice, is_both);
    }
    if (!has_taken(&choice, is_without_workspace)) {
        take_fastest(&choice, is_without_workspace);
    }
    if (!has_taken(&choice, is_dynamic)) {
        take_fastest(&choice, is_dynamic);
    }
    while (take_fastest(&choice, is_any)) {
    }
    return top - choice.room;
}
