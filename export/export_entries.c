#include "export/export_entries.h"

typedef bool (*is_wanted)(const struct candidate *candidate);

static bool is_without_workspace(const struct candidate *candidate)
{
    return candidate->result->kept.workspace_bytes == 0;
}

static bool is_dynamic(const struct candidate *candidate)
{
    return candidate->solver->dynamic;
}

static bool is_both(const struct candidate *candidate)
{
    return is_without_workspace(candidate) && is_dynamic(candidate);
}

static bool is_any(const struct candidate *candidate)
{
    (void)candidate;
    return true;
}

struct choice {
    struct candidate *const *candidates;
    bool *take;
    int count, room;
};

static bool has_taken(const struct choice *choice, is_wanted wanted)
{
    for (int i = 0; i < choice->count; i++) {
        if (choice->take[i] && wanted(choice->candidates[i])) {
            return true;
        }
    }
    return false;
}

/* The fastest that is wanted and not taken; false when there is no room or none. */
static bool take_fastest(struct choice *choice, is_wanted wanted)
{
    for (int i = 0; i < choice->count && choice->room > 0; i++) {
        if (!choice->take[i] && wanted(choice->candidates[i])) {
            choice->take[i] = true;
            choice->room--;
            return true;
        }
    }
    return false;
}

int export_entries_choose(struct candidate *const *candidates, int count, int top, bool *take)
{
    struct choice choice = {candidates, take, count, top};
    for (int i = 0; i < count; i++) {
        take[i] = false;
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
