/* Lists the solvers that may be the answer to a problem, from the entries that a file holds. */
#include "export/sjdb/reader/choose.h"

#include <float.h>
#include <string.h>

/* Weight of a vote. Each neighbour votes for its solvers: for the fastest with 1 / (NEAR +
 * distance), for others with less, in proportion to how much slower they are. */
#define NEAR 0.5

static bool is_time(double time_ms)
{
    return time_ms > 0 && time_ms <= DBL_MAX;
}

static struct sjdb_candidate *add(struct sjdb_candidates *found,
                                  const struct skipjackdb_entry *entry, uint64_t number)
{
    if (found->count == SJDB_CANDIDATES) {
        return NULL;
    }
    struct sjdb_candidate *candidate = &found->list[found->count++];
    *candidate = (struct sjdb_candidate){.entry = *entry, .number = number};
    return candidate;
}

/* Reads the problem's entries, at most SJDB_CANDIDATES of them. */
static int read_entries(const struct skipjackdb *db, uint64_t number,
                        struct skipjackdb_entry *entries, size_t *count)
{
    int code = skipjackdb_entries(db, number, entries, sizeof *entries, SJDB_CANDIDATES, count);
    *count = *count < SJDB_CANDIDATES ? *count : SJDB_CANDIDATES;
    return code;
}

/* Adds a solution as a candidate without a time. */
static struct sjdb_candidate *add_solution(struct sjdb_candidates *found,
                                           const struct skipjackdb_solution *solution)
{
    const struct skipjackdb_entry entry = {.solver = solution->solver,
                                           .algorithm = "",
                                           .library = "",
                                           .workspace_bytes = solution->workspace_bytes,
                                           .revision = solution->revision,
                                           .flags = solution->flags};
    return add(found, &entry, SKIPJACKDB_UNKNOWN);
}

/* Adds the solvers that have solutions under a problem's number. */
static int add_solved(const struct skipjackdb *db, uint64_t number, struct sjdb_candidates *found)
{
    struct skipjackdb_solution solutions[SJDB_CANDIDATES];
    size_t count = 0;
    int code =
        skipjackdb_solutions(db, number, solutions, sizeof solutions[0], SJDB_CANDIDATES, &count);
    count = count < SJDB_CANDIDATES ? count : SJDB_CANDIDATES;
    for (size_t i = 0; code == SKIPJACKDB_OK && i < count; i++) {
        add_solution(found, &solutions[i]);
    }
    return code;
}

int sjdb_candidates_solved(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                           struct sjdb_candidates *found)
{
    uint64_t number = 0;
    found->count = 0;
    int code = skipjackdb_solved_find(db, problem, &number);
    if (code == SKIPJACKDB_OK) {
        code = add_solved(db, number, found);
    }
    if (code == SKIPJACKDB_OK && skipjackdb_solved_other(db, problem, &number) == SKIPJACKDB_OK) {
        code = add_solved(db, number, found);
    }
    return code;
}

struct unmeasured {
    struct sjdb_candidates *found;
    uint64_t place;  /* of the next solution in the file */
    bool takes_rest; /* the second walk, which takes what the first one left */
};

/* Whether an earlier candidate of the solver fits wherever the solution does: by workspace, and dynamic or not. */
static bool is_covered(const struct sjdb_candidates *found, uint64_t place,
                       const struct skipjackdb_solution *solution)
{
    for (uint32_t i = 0; i < found->count; i++) {
        const struct sjdb_candidate *held = &found->list[i];
        bool is_dynamic_enough = (held->entry.flags & SKIPJACKDB_DYNAMIC) != 0 ||
                                 (solution->flags & SKIPJACKDB_DYNAMIC) == 0;
        if (held->order < (double)place && strcmp(held->entry.solver, solution->solver) == 0 &&
            held->entry.workspace_bytes <= solution->workspace_bytes && is_dynamic_enough) {
            return true;
        }
    }
    return false;
}

static bool is_held(const struct sjdb_candidates *found, uint64_t place)
{
    for (uint32_t i = 0; i < found->count; i++) {
        if (found->list[i].order == (double)place) {
            return true;
        }
    }
    return false;
}

static void take_unmeasured(void *context, const struct skipjackdb_solution *solution)
{
    struct unmeasured *walk = context;
    uint64_t place = walk->place++;
    if (walk->takes_rest ? is_held(walk->found, place) : is_covered(walk->found, place, solution)) {
        return;
    }
    struct sjdb_candidate *added = add_solution(walk->found, solution);
    if (added != NULL) {
        added->params = solution->params;
        added->order = (double)place;
    }
}

int sjdb_candidates_unmeasured(const struct skipjackdb *db,
                               const struct skipjackdb_problem *problem,
                               struct sjdb_candidates *found)
{
    uint64_t number = 0;
    found->count = 0;
    int code = skipjackdb_unmeasured_find(db, problem, &number);
    for (int i = 0; i < 2 && code == SKIPJACKDB_OK; i++) {
        struct unmeasured walk = {found, 0, i == 1};
        code = sjdb_unmeasured_each(db, number, take_unmeasured, &walk);
    }
    return code;
}

int sjdb_candidates_exact(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                          struct sjdb_candidates *found)
{
    struct skipjackdb_entry entries[SJDB_CANDIDATES];
    uint64_t number = 0;
    size_t count = 0;
    found->count = 0;
    int code = skipjackdb_find(db, problem, &number);
    if (code == SKIPJACKDB_OK) {
        code = read_entries(db, number, entries, &count);
    }
    for (size_t i = 0; code == SKIPJACKDB_OK && i < count; i++) {
        if (is_time(entries[i].time_ms)) {
            add(found, &entries[i], number)->order = entries[i].time_ms;
        }
    }
    return code;
}

int sjdb_candidates_packed(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                           struct sjdb_candidates *found)
{
    struct skipjackdb_problem twin = {.size = sizeof twin};
    found->count = 0;
    if (!sjdb_is_strided(problem)) {
        return SKIPJACKDB_NOT_FOUND;
    }
    int code = skipjackdb_packed_twin(problem, &twin);
    return code == SKIPJACKDB_OK ? sjdb_candidates_exact(db, &twin, found) : code;
}

static double product(const int64_t *sizes)
{
    return (double)sizes[0] * (double)sizes[1] * (double)sizes[2];
}

/* Sets items[0..2] to the number of elements of x, w and y. */
static void count_items(const struct skipjackdb_problem *p, double *items)
{
    items[0] = (double)p->n * (double)p->c * product(p->in);
    double terms = p->kind == SKIPJACKDB_CONV
                       ? (double)p->c / (double)(p->groups > 0 ? p->groups : 1)
                       : 1; /* other operators keep channels apart */
    items[1] = (double)p->k * terms * product(p->fil);
    items[2] = (double)p->n * (double)p->k * product(p->out);
}

/* Returns the number of multiply-adds. In every direction there is one for each element of y and
 * each filter position that it sums over. */
static double operations(const struct skipjackdb_problem *p)
{
    double items[3];
    count_items(p, items);
    return items[1] * (double)p->n * product(p->out);
}

/* Scales a neighbour's workspace to the wanted problem. A workspace holds tensors, or parts of
 * tensors, in another form, so it grows at most as much as the tensor that grows most. */
static uint64_t scale_workspace(uint64_t bytes, const struct skipjackdb_problem *from,
                                const struct skipjackdb_problem *to)
{
    double have[3], want[3], most = 1;
    count_items(from, have);
    count_items(to, want);
    for (int i = 0; i < 3; i++) {
        if (!(have[i] > 0) || !(want[i] > 0)) {
            return bytes == 0 ? 0 : SKIPJACKDB_UNKNOWN;
        }
        most = want[i] / have[i] > most ? want[i] / have[i] : most;
    }
    double scaled = (double)bytes * most;
    return scaled < (double)INT64_MAX ? (uint64_t)(scaled + 0.5) : SKIPJACKDB_UNKNOWN;
}

static double scale_time(double time_ms, const struct skipjackdb_problem *from,
                         const struct skipjackdb_problem *to)
{
    double scaled = time_ms / operations(from) * operations(to);
    return is_time(scaled) ? scaled : 0;
}

/* A neighbouring problem with its entries, which votes for its solvers. */
struct voter {
    const struct skipjackdb_problem *asked;
    struct skipjackdb_problem problem;
    const struct sjdb_neighbour *neighbour;
    struct skipjackdb_entry entries[SJDB_CANDIDATES];
    size_t count;
    double best_ms;
};

static int read_voter(const struct skipjackdb *db, struct voter *voter)
{
    uint64_t number = voter->neighbour->number;
    voter->problem.size = sizeof voter->problem;
    int code = skipjackdb_problem_at(db, number, &voter->problem);
    if (code == SKIPJACKDB_OK) {
        code = read_entries(db, number, voter->entries, &voter->count);
    }
    voter->best_ms = DBL_MAX;
    for (size_t i = 0; code == SKIPJACKDB_OK && i < voter->count; i++) {
        double time_ms = voter->entries[i].time_ms;
        voter->best_ms = is_time(time_ms) && time_ms < voter->best_ms ? time_ms : voter->best_ms;
    }
    return code;
}

/* Returns the candidate for the entry's solver, adding it if it is new. Its time and workspace come
 * from the nearest problem that has the solver. */
static struct sjdb_candidate *candidate_of(struct sjdb_candidates *found, const struct voter *voter,
                                           const struct skipjackdb_entry *entry)
{
    for (uint32_t i = 0; i < found->count; i++) {
        if (found->list[i].entry.solver ==
            entry->solver) { /* a file holds each text once, so equal texts have equal addresses */
            return &found->list[i];
        }
    }
    struct sjdb_candidate *made = add(found, entry, voter->neighbour->number);
    if (made != NULL) {
        made->distance = voter->neighbour->distance;
        made->entry.time_ms = scale_time(entry->time_ms, &voter->problem, voter->asked);
        made->entry.workspace_bytes =
            scale_workspace(entry->workspace_bytes, &voter->problem, voter->asked);
    }
    return made;
}

static void vote(struct sjdb_candidates *found, const struct voter *voter)
{
    double distance = (double)voter->neighbour->distance / SJDB_DISTANCE_UNIT;
    for (size_t i = 0; i < voter->count; i++) {
        const struct skipjackdb_entry *entry = &voter->entries[i];
        struct sjdb_candidate *candidate =
            is_time(entry->time_ms) ? candidate_of(found, voter, entry) : NULL;
        if (candidate != NULL) {
            candidate->order -= voter->best_ms / entry->time_ms / (NEAR + distance);
        }
    }
}

/* Lets the nearest problems vote, of one of the two forms that sjdb_nearest() knows. */
static int ask_nearest(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                       bool others, struct sjdb_candidates *found)
{
    struct sjdb_neighbours neighbours;
    struct voter voter = {.asked = problem};
    int code = sjdb_nearest(db, problem, others, &neighbours);
    for (uint32_t i = 0; code == SKIPJACKDB_OK && i < neighbours.count; i++) {
        voter.neighbour = &neighbours.list[i];
        code = read_voter(db, &voter);
        if (code == SKIPJACKDB_OK) {
            vote(found, &voter);
        }
    }
    return code;
}

int sjdb_candidates_near(const struct skipjackdb *db, const struct skipjackdb_problem *problem,
                         struct sjdb_candidates *found)
{
    bool plain = problem->epilogue[0] == '\0' && !sjdb_is_strided(problem);
    /* the first set has plain convolutions; neighbours of one in TF32 are in TF32 */
    bool conv = problem->kind == SKIPJACKDB_CONV && !sjdb_is_tf32(problem);
    int code = SKIPJACKDB_OK;
    found->count = 0;
    if (!conv || !plain) {
        code = ask_nearest(db, problem, true, found);
    }
    if (code == SKIPJACKDB_OK && conv) {
        code = ask_nearest(db, problem, false, found);
    }
    if (code == SKIPJACKDB_OK && plain && conv && found->count == 0) {
        code = ask_nearest(db, problem, true, found);
    }
    return code == SKIPJACKDB_OK && found->count == 0 ? SKIPJACKDB_NOT_FOUND : code;
}

bool sjdb_solver_find(struct sjdb_look *look, const char *solver, uint64_t *number)
{
    const struct sjdb_array *names = &look->db->single[SJDB_SOLVER_NAMES];
    uint64_t low = 0, high = names->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int order = strcmp(sjdb_text(look, sjdb_get(look, names, middle)), solver);
        if (order == 0) {
            *number = middle;
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}
