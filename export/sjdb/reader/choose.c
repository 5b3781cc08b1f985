/* skipjackdb_choose(): chooses the best solver for a problem, whether or not a database holds
 * the problem. */
#include "export/sjdb/reader/choose.h"

/* most solvers named in a file for which the caller is asked for an estimate */
#define NAMES_MAX 1024

struct question {
    skipjackdb *const *dbs;
    size_t count;
    const struct skipjackdb_problem *problem;
    struct skipjackdb_rules rules;
    uint32_t flags; /* enum skipjackdb_flags bits that the answer must have */
    /* bits that a solver must have to compute the problem at all, if SKIPJACKDB_FORMS_KNOWN is set */
    uint32_t needed;
};

/* Where candidates come from: a database, or none for estimates. */
struct source {
    int32_t how;
    /* index of the database; without a database, the number of databases */
    size_t index;
    const struct skipjackdb *db; /* NULL for none */
};

/* Returns true for a candidate of another database whose solver the target's own file does not
 * name: such a solver hardly runs on the target, so it is skipped. A target's file without any
 * solver rules none out. */
static bool is_foreign(const struct question *question, const struct source *source,
                       const char *solver)
{
    struct sjdb_look look = {question->count > 0 ? question->dbs[0] : NULL, false};
    uint64_t number = 0;
    return source->db != NULL && look.db != NULL && source->db != look.db &&
           look.db->single[SJDB_SOLVER_NAMES].count > 0 &&
           !sjdb_solver_find(&look, solver, &number);
}

/* Returns true if the source was measured on the target itself, for the problem or for its packed
 * twin. */
static bool is_own(const struct source *source)
{
    return source->how == SKIPJACKDB_EXACT ||
           (source->how == SKIPJACKDB_OTHER_STRIDES && source->index == 0);
}

/* Reads the launches for a candidate. They are only valid for the problem and target that they were
 * stored for, and for other strides if they take any. */
static int read_solution(const struct question *question, const struct source *source,
                         struct skipjackdb_choice *choice)
{
    struct skipjackdb_problem twin = {.size = sizeof twin};
    struct skipjackdb_solution solution;
    if (!is_own(source)) {
        return SKIPJACKDB_NOT_FOUND;
    }
    if (source->how == SKIPJACKDB_OTHER_STRIDES) {
        skipjackdb_packed_twin(question->problem, &twin);
    } else {
        twin = *question->problem;
    }
    int code = skipjackdb_solution(source->db, &twin, choice->solver, &solution, sizeof solution);
    if (code == SKIPJACKDB_OK) {
        choice->marks |= SKIPJACKDB_READY;
        choice->params = solution.params[0] != '\0' ? solution.params : NULL;
    }
    return code;
}

/* Reads the candidate's params: those stored for the wanted problem, or else those of the problem
 * that the candidate was found with. */
static int read_params(const struct question *question, const struct source *source,
                       const struct sjdb_candidate *candidate, struct skipjackdb_choice *choice)
{
    struct skipjackdb_problem near = {.size = sizeof near};
    const struct skipjackdb *db = source->db;
    if (db == NULL) {
        return SKIPJACKDB_OK;
    }
    if (source->how == SKIPJACKDB_UNMEASURED) {
        choice->params = candidate->params[0] != '\0' ? candidate->params : NULL;
        choice->marks |= SKIPJACKDB_READY;
        return SKIPJACKDB_OK;
    }
    int code = read_solution(question, source, choice);
    if (code != SKIPJACKDB_NOT_FOUND) {
        return code;
    }
    code = skipjackdb_params(db, question->problem, choice->solver, &choice->params);
    if (code == SKIPJACKDB_OK && source->index != 0) {
        choice->marks |= SKIPJACKDB_PARAMS_FOREIGN;
    }
    bool of_another = source->how == SKIPJACKDB_NEAREST || source->how == SKIPJACKDB_OTHER_STRIDES;
    if (code != SKIPJACKDB_NOT_FOUND || !of_another || candidate->number == SKIPJACKDB_UNKNOWN) {
        return code == SKIPJACKDB_NOT_FOUND ? SKIPJACKDB_OK : code;
    }
    code = skipjackdb_problem_at(db, candidate->number, &near);
    if (code == SKIPJACKDB_OK) {
        code = skipjackdb_params(db, &near, choice->solver, &choice->params);
    }
    if (code == SKIPJACKDB_OK) {
        choice->marks |= SKIPJACKDB_PARAMS_FOREIGN;
    }
    return code == SKIPJACKDB_NOT_FOUND ? SKIPJACKDB_OK : code;
}

static void make_choice(const struct source *source, const struct sjdb_candidate *candidate,
                        struct skipjackdb_choice *choice)
{
    const struct skipjackdb_entry *entry = &candidate->entry;
    bool near = source->how == SKIPJACKDB_NEAREST;
    *choice = (struct skipjackdb_choice){
        .how = source->how,
        .marks = (near ? SKIPJACKDB_TIME_SCALED | SKIPJACKDB_WORKSPACE_SCALED : 0) |
                 (source->db != NULL && source->index != 0 ? SKIPJACKDB_TIME_FOREIGN : 0),
        .solver = entry->solver,
        .algorithm = entry->algorithm,
        .library = entry->library,
        .time_ms = entry->time_ms,
        .workspace_bytes = entry->workspace_bytes,
        .revision = entry->revision,
        .flags = entry->flags,
        .db = source->index,
        .problem = candidate->number,
        .distance = (double)candidate->distance / SJDB_DISTANCE_UNIT,
        .low_ms = near ? 0 : entry->low_ms,
        .high_ms = near ? 0 : entry->high_ms,
    };
}

/* Asks the caller whether the candidate can be used, and copies the fields that the caller
 * corrected into the choice. */
static int ask_caller(const struct question *question, struct skipjackdb_choice *choice)
{
    const struct skipjackdb_rules *rules = &question->rules;
    bool scaled = (choice->marks & SKIPJACKDB_WORKSPACE_SCALED) != 0;
    struct skipjackdb_candidate candidate = {
        sizeof candidate,
        choice->solver,
        choice->algorithm,
        choice->params,
        scaled ? SKIPJACKDB_UNKNOWN : choice->workspace_bytes,
        choice->revision,
        choice->flags,
    };
    if (rules->applicable == NULL) {
        return SKIPJACKDB_UNSURE;
    }
    int answer = rules->applicable(rules->user, question->problem, &candidate);
    /* the caller set other params, so the file's launches do not match them */
    if (candidate.params != choice->params) {
        choice->marks &= ~(uint32_t)SKIPJACKDB_READY;
    }
    choice->algorithm = candidate.algorithm;
    choice->params = candidate.params;
    choice->revision = candidate.revision;
    choice->flags = candidate.flags;
    if (!scaled || candidate.workspace_bytes != SKIPJACKDB_UNKNOWN) {
        choice->workspace_bytes = candidate.workspace_bytes;
        choice->marks &= ~(uint32_t)SKIPJACKDB_WORKSPACE_SCALED;
    }
    if (choice->params == NULL) {
        choice->marks &= ~(uint32_t)SKIPJACKDB_PARAMS_FOREIGN;
    }
    return answer;
}

/* Tries a candidate. Returns SKIPJACKDB_NOT_FOUND if it cannot be the answer, so that the next one
 * is tried. */
static int try_candidate(const struct question *question, const struct source *source,
                         const struct sjdb_candidate *candidate, struct skipjackdb_choice *choice)
{
    bool exact = source->how == SKIPJACKDB_EXACT || source->how == SKIPJACKDB_OTHER_TARGET ||
                 source->how == SKIPJACKDB_UNMEASURED;
    make_choice(source, candidate, choice);
    bool known = (choice->flags & SKIPJACKDB_FORMS_KNOWN) != 0;
    uint32_t lacking = question->needed & ~choice->flags;
    if ((choice->flags & SKIPJACKDB_OWN_STRIDES) != 0 && source->how != SKIPJACKDB_OTHER_STRIDES) {
        lacking &= ~(uint32_t)SKIPJACKDB_ANY_STRIDES;
    }
    if (!exact && known && lacking != 0) {
        return SKIPJACKDB_NOT_FOUND;
    }
    int code = read_params(question, source, candidate, choice);
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    int answer = ask_caller(question, choice);
    if (answer == SKIPJACKDB_UNSURE && source->how == SKIPJACKDB_OTHER_STRIDES && !known) {
        return SKIPJACKDB_NOT_FOUND; /* most solvers take packed tensors alone */
    }
    if (answer == SKIPJACKDB_UNSURE && !is_own(source)) {
        choice->marks |= SKIPJACKDB_UNCHECKED;
        answer = is_foreign(question, source, choice->solver) ? SKIPJACKDB_NO : answer;
    }
    if (choice->workspace_bytes == SKIPJACKDB_UNKNOWN) {
        choice->marks &= ~(uint32_t)SKIPJACKDB_WORKSPACE_SCALED;
    }
    bool fits = question->rules.workspace_bytes == UINT64_MAX ||
                (choice->workspace_bytes != SKIPJACKDB_UNKNOWN &&
                 choice->workspace_bytes <= question->rules.workspace_bytes);
    return answer != SKIPJACKDB_NO && fits && (choice->flags & question->flags) == question->flags
               ? SKIPJACKDB_OK
               : SKIPJACKDB_NOT_FOUND;
}

/* Takes the first candidate of the list that can be the answer. */
static int pick(const struct question *question, const struct source *source,
                const struct sjdb_candidates *list, struct skipjackdb_choice *choice)
{
    bool asked[SJDB_CANDIDATES] = {false};
    for (uint32_t round = 0; round < list->count; round++) {
        uint32_t next = list->count;
        for (uint32_t i = 0; i < list->count; i++) {
            if (!asked[i] &&
                (next == list->count || list->list[i].order < list->list[next].order)) {
                next = i;
            }
        }
        asked[next] = true;
        int code = try_candidate(question, source, &list->list[next], choice);
        if (code != SKIPJACKDB_NOT_FOUND) {
            return code;
        }
    }
    return SKIPJACKDB_NOT_FOUND;
}

static int ask_solved(const struct question *question, const struct source *source,
                      struct skipjackdb_choice *choice)
{
    struct skipjackdb_problem twin = {.size = sizeof twin};
    struct sjdb_candidates list;
    const struct skipjackdb_problem *asked = question->problem;
    if (source->how == SKIPJACKDB_OTHER_STRIDES &&
        skipjackdb_packed_twin(asked, &twin) == SKIPJACKDB_OK) {
        asked = &twin;
    }
    int code = sjdb_candidates_solved(source->db, asked, &list);
    return code == SKIPJACKDB_OK ? pick(question, source, &list, choice) : code;
}

/* The questions that a file is asked. */
enum step { THE_PROBLEM, ITS_TWIN, NEAR_PROBLEMS, NEVER_MEASURED };

static int32_t how_of(enum step step, size_t index)
{
    if (step == THE_PROBLEM) {
        return index == 0 ? SKIPJACKDB_EXACT : SKIPJACKDB_OTHER_TARGET;
    }
    if (step == NEVER_MEASURED) {
        return SKIPJACKDB_UNMEASURED;
    }
    return step == ITS_TWIN ? SKIPJACKDB_OTHER_STRIDES : SKIPJACKDB_NEAREST;
}

/* Asks the databases from `first` to `end` in order until one gives an answer: for the very problem,
 * for the same one with packed tensors, or for the nearest ones. */
static int ask_dbs(const struct question *question, enum step step, size_t first, size_t end,
                   struct skipjackdb_choice *choice)
{
    static int (*const candidates[])(const struct skipjackdb *db,
                                     const struct skipjackdb_problem *problem,
                                     struct sjdb_candidates *found) = {
        [THE_PROBLEM] = sjdb_candidates_exact,
        [ITS_TWIN] = sjdb_candidates_packed,
        [NEAR_PROBLEMS] = sjdb_candidates_near,
        [NEVER_MEASURED] = sjdb_candidates_unmeasured,
    };
    struct sjdb_candidates list;
    int code = SKIPJACKDB_NOT_FOUND;
    for (size_t i = first; i < end && code == SKIPJACKDB_NOT_FOUND; i++) {
        struct source source = {how_of(step, i), i, question->dbs[i]};
        if (source.db == NULL || (step == ITS_TWIN && !sjdb_is_strided(question->problem))) {
            continue;
        }
        code = candidates[step](source.db, question->problem, &list);
        if (code == SKIPJACKDB_OK) {
            code = pick(question, &source, &list, choice);
        }
        if (code == SKIPJACKDB_NOT_FOUND && (step == THE_PROBLEM || step == ITS_TWIN)) {
            code = ask_solved(question, &source, choice);
        }
        if (code == SKIPJACKDB_DAMAGED) {
            choice->db = i;
        }
    }
    return code;
}

/* Inserts a solver's estimate into the list, which keeps the highest ones. */
static void add_estimate(struct sjdb_candidates *list, const struct skipjackdb_entry *entry,
                         double estimate)
{
    uint32_t at = list->count;
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->list[i].entry.solver, entry->solver) == 0) {
            return;
        }
    }
    if (at == SJDB_CANDIDATES) {
        for (uint32_t i = at = 0; i < list->count; i++) {
            at = list->list[i].order > list->list[at].order ? i : at;
        }
        if (list->list[at].order <= -estimate) {
            return;
        }
    } else {
        list->count++;
    }
    list->list[at] = (struct sjdb_candidate){.entry = *entry, .order = -estimate};
}

static void ask_estimate(const struct question *question, const struct skipjackdb_entry *entry,
                         struct sjdb_candidates *list)
{
    const struct skipjackdb_rules *rules = &question->rules;
    double estimate = rules->estimate(rules->user, question->problem, entry->solver);
    if (estimate > 0) {
        add_estimate(list, entry, estimate);
    }
}

static const struct skipjackdb_entry nothing_known = {
    .algorithm = "", .library = "", .workspace_bytes = SKIPJACKDB_UNKNOWN};

static int estimate_of_file(const struct question *question, size_t index,
                            struct sjdb_candidates *list)
{
    struct sjdb_look look = {question->dbs[index], false};
    const struct sjdb_array *single = look.db->single;
    uint64_t count = single[SJDB_SOLVER_NAMES].count;
    for (uint64_t i = 0; i < count && i < NAMES_MAX && !look.damaged; i++) {
        struct skipjackdb_entry entry = nothing_known;
        entry.solver = sjdb_text(&look, sjdb_get(&look, &single[SJDB_SOLVER_NAMES], i));
        entry.revision = (uint32_t)sjdb_get(&look, &single[SJDB_SOLVER_REVISIONS], i);
        entry.flags = (uint32_t)sjdb_get(&look, &single[SJDB_SOLVER_FLAGS], i);
        if (!look.damaged) {
            ask_estimate(question, &entry, list);
        }
    }
    return look.damaged ? SKIPJACKDB_DAMAGED : SKIPJACKDB_OK;
}

static int choose_by_estimates(const struct question *question, struct skipjackdb_choice *choice)
{
    const struct skipjackdb_rules *rules = &question->rules;
    const struct source source = {SKIPJACKDB_ESTIMATE, question->count, NULL};
    struct sjdb_candidates list = {.count = 0};
    if (rules->estimate == NULL) {
        return SKIPJACKDB_NOT_FOUND;
    }
    for (size_t i = 0; rules->solvers != NULL && i < rules->solver_count; i++) {
        struct skipjackdb_entry entry = nothing_known;
        entry.solver = rules->solvers[i];
        ask_estimate(question, &entry, &list);
    }
    for (size_t i = 0; rules->solvers == NULL && i < question->count; i++) {
        int code = question->dbs[i] == NULL ? SKIPJACKDB_OK : estimate_of_file(question, i, &list);
        if (code != SKIPJACKDB_OK) {
            choice->db = i;
            return code;
        }
    }
    return pick(question, &source, &list, choice);
}

/* Asks for the problem, and if it is in TF32 then for the same one in full FP32, whose solution is right
 * for both. The other way round is never asked. */
static int ask_step(const struct question *question, enum step step, size_t first, size_t end,
                    struct skipjackdb_choice *choice)
{
    int code = ask_dbs(question, step, first, end, choice);
    if (code == SKIPJACKDB_NOT_FOUND && sjdb_is_tf32(question->problem)) {
        struct skipjackdb_problem full = *question->problem;
        struct question again = *question;
        memset(full.mode, 0, sizeof full.mode);
        again.problem = &full;
        code = ask_dbs(&again, step, first, end, choice);
        choice->marks |= SKIPJACKDB_FULL_PRECISION;
    }
    return code;
}

static int answer(const struct question *question, uint32_t flags, struct skipjackdb_choice *choice)
{
    struct question asked = *question;
    size_t near = question->rules.near > 1 ? question->rules.near : 1;
    near = near < question->count ? near : question->count;
    asked.flags = flags;
    const struct {
        enum step step;
        size_t first, end;
    } steps[] = {
        {THE_PROBLEM, 0, near},
        {ITS_TWIN, 0, near},
        {NEAR_PROBLEMS, 0, near},
        {THE_PROBLEM, near, question->count},
        {ITS_TWIN, near, question->count},
        {NEAR_PROBLEMS, near, question->count},
        {NEVER_MEASURED, 0, question->rules.unmeasured != 0 && question->count > 0},
    };
    int code = SKIPJACKDB_NOT_FOUND;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && code == SKIPJACKDB_NOT_FOUND; i++) {
        code = ask_step(&asked, steps[i].step, steps[i].first, steps[i].end, choice);
    }
    return code == SKIPJACKDB_NOT_FOUND ? choose_by_estimates(&asked, choice) : code;
}

/* Hybrid mode: if the fastest answer must be compiled first, it becomes *later, and *choice becomes
 * a dynamic solver, which can run until the compiling is done. */
static int choose_both(const struct question *question, struct skipjackdb_choice *choice,
                       struct skipjackdb_choice *later)
{
    struct skipjackdb_choice dynamic;
    int code = answer(question, 0, choice);
    if (code != SKIPJACKDB_OK || (choice->flags & SKIPJACKDB_DYNAMIC) != 0 ||
        (choice->marks & SKIPJACKDB_READY) != 0) {
        return code;
    }
    code = answer(question, SKIPJACKDB_DYNAMIC, &dynamic);
    if (code == SKIPJACKDB_OK) {
        *later = *choice;
    }
    if (code != SKIPJACKDB_NOT_FOUND) {
        *choice = dynamic;
    }
    return code == SKIPJACKDB_NOT_FOUND ? SKIPJACKDB_OK : code;
}

static void give(int code, const struct skipjackdb_choice *made, struct skipjackdb_choice *room)
{
    struct skipjackdb_choice nothing = {.db = code == SKIPJACKDB_DAMAGED ? made->db : 0};
    size_t size = room->size;
    sjdb_hand_out(code == SKIPJACKDB_OK ? made : &nothing, sizeof *made, room, size);
    room->size = size;
}

/* Checks the size of a caller's choice, which may be that of 1.3. The rules may be those of 1.4. */
static bool is_sized(const struct skipjackdb_choice *choice)
{
    return choice != NULL && choice->size >= SJDB_CHOICE_1_3;
}

static bool is_usable(const struct question *question, const struct skipjackdb_rules *rules,
                      const struct skipjackdb_choice *choice, const struct skipjackdb_choice *later)
{
    const struct skipjackdb_problem *problem = question->problem;
    return (question->dbs != NULL || question->count == 0) && sjdb_problem_sized(problem) &&
           (rules == NULL || (rules->size >= SJDB_RULES_1_4 && rules->mode >= SKIPJACKDB_NORMAL &&
                              rules->mode <= SKIPJACKDB_HYBRID)) &&
           is_sized(choice) && (later == NULL || is_sized(later));
}

int skipjackdb_choose(skipjackdb *const *dbs, size_t count,
                      const struct skipjackdb_problem *problem,
                      const struct skipjackdb_rules *rules, struct skipjackdb_choice *choice,
                      struct skipjackdb_choice *later)
{
    struct question question = {dbs, count, problem, {.workspace_bytes = UINT64_MAX}, 0, 0};
    struct skipjackdb_choice made = {0}, other = {0};
    struct skipjackdb_problem own;
    if (!is_usable(&question, rules, choice, later) || !sjdb_problem_take(problem, &own)) {
        return SKIPJACKDB_USAGE;
    }
    question.problem = &own;
    question.needed = sjdb_needed_flags(&own);
    if (rules != NULL) {
        size_t given = rules->size < sizeof *rules ? rules->size : sizeof *rules;
        memcpy(&question.rules, rules, given);
    }
    int32_t mode = question.rules.mode;
    int code = mode == SKIPJACKDB_HYBRID
                   ? choose_both(&question, &made, &other)
                   : answer(&question, mode == SKIPJACKDB_FAST ? SKIPJACKDB_DYNAMIC : 0, &made);
    give(code, &made, choice);
    if (later != NULL) {
        give(code, &other, later);
    }
    return code;
}
