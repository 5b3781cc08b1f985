#include "export/lookup/lookup_choose.h"

#include "export/formats/export_error.h"
#include "export/lookup/choose_solvers.h"
#include "export/lookup/lookup_solution.h"
#include "solvers/problem/problem_key.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* A database that was named on the command line, with its kinship and distance to the wanted
 * target: nearer ones are asked first. */
struct shelf_file {
    skipjackdb *db;
    char *name;
    int kinship;
    uint64_t distance;
};

struct shelf {
    GArray *files;             /* struct shelf_file: databases named one by one */
    skipjackdb_folder *folder; /* the databases of a folder, if a folder was named instead */
    /* the databases that are asked, nearest first, and their names; dbs[0] is NULL if none is
     * the target's own */
    GPtrArray *dbs, *names;
    uint32_t near;
};

static void shelf_init(struct shelf *shelf)
{
    *shelf = (struct shelf){.files = g_array_new(FALSE, TRUE, sizeof(struct shelf_file)),
                            .dbs = g_ptr_array_new(),
                            .names = g_ptr_array_new_with_free_func(g_free)};
}

static void shelf_clear(struct shelf *shelf)
{
    for (guint i = 0; i < shelf->files->len; i++) {
        struct shelf_file *file = &g_array_index(shelf->files, struct shelf_file, i);
        skipjackdb_close(file->db);
        g_free(file->name);
    }
    skipjackdb_folder_close(shelf->folder);
    g_array_unref(shelf->files);
    g_ptr_array_unref(shelf->dbs);
    g_ptr_array_unref(shelf->names);
}

static bool cannot_read(const char *path, int code, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot read '%s': %s", path,
                code == SKIPJACKDB_IO ? g_strerror(errno) : skipjackdb_error_text(code));
    return false;
}

static void shelf_add(struct shelf *shelf, skipjackdb *db, const char *name)
{
    g_ptr_array_add(shelf->dbs, db);
    g_ptr_array_add(shelf->names, g_strdup(name));
}

/* Opens all files of the folder. A file that fails is named on stderr and sets *whole to false. */
static bool open_folder(struct shelf *shelf, const char *path, const char *target, bool *whole,
                        GError **error)
{
    struct skipjackdb_file file = {.size = sizeof file};
    size_t count = 0;
    if (target == NULL) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "'%s' is a folder: --target says which of its databases come first", path);
        return false;
    }
    int code = skipjackdb_folder_open(path, target, &shelf->folder);
    if (code != SKIPJACKDB_OK) {
        return cannot_read(path, code, error);
    }
    skipjackdb *const *dbs = skipjackdb_folder_dbs(shelf->folder, &count, &shelf->near);
    for (size_t i = 0; i < count; i++) {
        bool named = skipjackdb_folder_file(shelf->folder, i, &file) == SKIPJACKDB_OK;
        shelf_add(shelf, dbs[i], named ? file.name : target);
    }
    for (size_t i = count; skipjackdb_folder_file(shelf->folder, i, &file) == SKIPJACKDB_OK; i++) {
        g_printerr("skipjack lookup: cannot read '%s/%s': %s\n", path, file.name,
                   skipjackdb_error_text(file.code));
        *whole = false;
    }
    return true;
}

static bool add_file(struct shelf *shelf, const char *path, GError **error)
{
    struct shelf_file file = {.name = g_path_get_basename(path)};
    int code = skipjackdb_open(path, &file.db);
    g_array_append_val(shelf->files, file);
    return code == SKIPJACKDB_OK || cannot_read(path, code, error);
}

static int compare_files(const void *left, const void *right)
{
    const struct shelf_file *a = left, *b = right;
    int kinship = (a->kinship > b->kinship) - (a->kinship < b->kinship);
    int distance = (a->distance > b->distance) - (a->distance < b->distance);
    return kinship != 0 ? kinship : distance != 0 ? distance : strcmp(a->name, b->name);
}

static bool sort_files(struct shelf *shelf, const char *target, GError **error)
{
    for (guint i = 0; i < shelf->files->len; i++) {
        struct shelf_file *file = &g_array_index(shelf->files, struct shelf_file, i);
        int code = skipjackdb_target_compare(target, file->name, &file->kinship, &file->distance);
        if (code != SKIPJACKDB_OK || file->kinship == SKIPJACKDB_STRANGERS) {
            g_set_error(
                error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                "'%s' is named after no target that is like %s: leave --target out and name "
                "the databases in the order in which they are to be asked",
                file->name, target);
            return false;
        }
    }
    g_array_sort(shelf->files, compare_files);
    return true;
}

/* Returns how many of the sorted files, from the first one on, are of the target's own
 * architecture. */
static uint32_t count_near(const struct shelf *shelf, const char *target)
{
    uint32_t near = 0;
    while (near < shelf->files->len) {
        int kinship = SKIPJACKDB_STRANGERS;
        uint64_t distance = 0;
        const char *name = g_array_index(shelf->files, struct shelf_file, near).name;
        if (skipjackdb_target_compare(target, name, &kinship, &distance) != SKIPJACKDB_OK ||
            kinship > SKIPJACKDB_SAME_ARCHITECTURE) {
            break;
        }
        near++;
    }
    return near;
}

/* With --target, sorts the files, nearest to it first. Without it, they keep the order of the
 * command line, and the first one counts as the target's own. */
static bool order_files(struct shelf *shelf, const char *target, GError **error)
{
    if (target != NULL && !sort_files(shelf, target, error)) {
        return false;
    }
    const struct shelf_file *first = &g_array_index(shelf->files, struct shelf_file, 0);
    bool own = target == NULL || first->kinship == SKIPJACKDB_SAME_TARGET;
    shelf->near = count_near(shelf, target != NULL ? target : first->name);
    if (!own) {
        shelf_add(shelf, NULL, target);
        shelf->near++;
    }
    for (guint i = 0; i < shelf->files->len; i++) {
        const struct shelf_file *file = &g_array_index(shelf->files, struct shelf_file, i);
        shelf_add(shelf, file->db, file->name);
    }
    return true;
}

static bool open_shelf(struct shelf *shelf, const struct lookup_question *question, bool *whole,
                       GError **error)
{
    if (question->path_count == 1 && g_file_test(question->paths[0], G_FILE_TEST_IS_DIR)) {
        return open_folder(shelf, question->paths[0], question->target, whole, error);
    }
    for (guint i = 0; i < question->path_count; i++) {
        if (!add_file(shelf, question->paths[i], error)) {
            return false;
        }
    }
    return order_files(shelf, question->target, error);
}

/* ---- the answer ---- */

static const char *const how_words[] = {
    [SKIPJACKDB_NOWHERE] = "nowhere",           [SKIPJACKDB_EXACT] = "exact",
    [SKIPJACKDB_OTHER_TARGET] = "other target", [SKIPJACKDB_NEAREST] = "nearest problem",
    [SKIPJACKDB_ESTIMATE] = "estimate",         [SKIPJACKDB_OTHER_STRIDES] = "packed tensors",
    [SKIPJACKDB_UNMEASURED] = "never measured",
};

static const char *time_word(const struct skipjackdb_choice *choice)
{
    bool scaled = (choice->marks & SKIPJACKDB_TIME_SCALED) != 0;
    bool foreign = (choice->marks & SKIPJACKDB_TIME_FOREIGN) != 0;
    return choice->time_ms <= 0 ? "unknown"
           : scaled             ? (foreign ? "scaled, of another target" : "scaled")
           : foreign            ? "of another target"
                                : "measured";
}

static json_t *number_or_null(uint64_t value)
{
    return value == SKIPJACKDB_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

/* Adds where an answer comes from: the name of the database, the key of the measured problem, and
 * its distance. Name and key are null if the answer is a solver's estimate; the key also if the
 * solver has launches but no entry. */
static void add_source(const struct shelf *shelf, const struct skipjackdb_choice *choice,
                       json_t *object)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    char key[SKIPJACKDB_KEY_MAX];
    const char *name = NULL, *text = NULL;
    if (choice->how != SKIPJACKDB_ESTIMATE) {
        name = shelf->names->pdata[choice->db];
        if (skipjackdb_problem_at(shelf->dbs->pdata[choice->db], choice->problem, &problem) ==
                SKIPJACKDB_OK &&
            skipjackdb_problem_key(&problem, key, sizeof key) == SKIPJACKDB_OK) {
            text = key;
        }
    }
    json_object_set_new(object, "database", name != NULL ? json_string(name) : json_null());
    json_object_set_new(object, "problem", text != NULL ? json_string(text) : json_null());
    json_object_set_new(object, "distance", json_real(choice->distance));
}

/* Returns the launches of an answer that was never measured; JSON's null if the caller's params are not the file's. */
static json_t *unmeasured_launches(const skipjackdb *db, const struct skipjackdb_problem *problem,
                                   const struct skipjackdb_problem *held,
                                   const struct skipjackdb_choice *choice, int *code)
{
    struct skipjackdb_solution solution;
    const char *params = choice->params != NULL ? choice->params : "";
    *code = skipjackdb_unmeasured_solution(db, held, choice->solver, params, &solution,
                                           sizeof solution);
    if (*code == SKIPJACKDB_NOT_FOUND) {
        *code = SKIPJACKDB_OK;
        return json_null();
    }
    return *code == SKIPJACKDB_OK ? lookup_solution_launches(db, problem, &solution, code) : NULL;
}

/* Returns an answer as JSON, with launches only if they were stored for this target and this very
 * problem, or for its packed twin and take any strides. NULL if the file is damaged. */
static json_t *answer_object(const struct shelf *shelf, const struct skipjackdb_problem *problem,
                             const struct skipjackdb_choice *choice, const char *role)
{
    bool known = (choice->flags & SKIPJACKDB_FLAGS_KNOWN) != 0;
    int code = SKIPJACKDB_OK;
    struct skipjackdb_problem held = *problem;
    bool twin = choice->how == SKIPJACKDB_OTHER_STRIDES &&
                skipjackdb_packed_twin(problem, &held) == SKIPJACKDB_OK;
    bool full = (choice->marks & SKIPJACKDB_FULL_PRECISION) != 0;
    if (full) {
        memset(held.mode, 0, sizeof held.mode);
    }
    bool never = choice->how == SKIPJACKDB_UNMEASURED;
    json_t *launches =
        never ? unmeasured_launches(shelf->dbs->pdata[choice->db], problem, &held, choice, &code)
        : choice->how == SKIPJACKDB_EXACT || (twin && choice->db == 0)
            ? lookup_launches(shelf->dbs->pdata[choice->db], problem, &held, choice->solver, &code)
            : json_null();
    if (launches == NULL) {
        return NULL;
    }
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:f, s:s, s:o, s:b, s:s?, s:b, s:b, s:b, s:b, s:i, s:o, s:o}", "role",
        role, "how", how_words[choice->how], "solver", choice->solver, "algorithm",
        choice->algorithm, "time_ms", choice->time_ms, "time", time_word(choice), "workspace_bytes",
        number_or_null(choice->workspace_bytes), "workspace_scaled",
        (choice->marks & SKIPJACKDB_WORKSPACE_SCALED) != 0, "params", choice->params,
        "params_foreign", (choice->marks & SKIPJACKDB_PARAMS_FOREIGN) != 0, "checked",
        (choice->marks & SKIPJACKDB_UNCHECKED) == 0, "ready",
        (choice->marks & SKIPJACKDB_READY) != 0, "full_precision", full, "revision",
        (int)choice->revision, "dynamic",
        known ? json_boolean(choice->flags & SKIPJACKDB_DYNAMIC) : json_null(), "launches",
        launches);
    json_object_set_new(object, "measured",
                        json_boolean(!never && choice->how != SKIPJACKDB_ESTIMATE));
    lookup_interval_add(object, choice->low_ms, choice->high_ms);
    add_source(shelf, choice, object);
    return object;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static void print_source(const json_t *answer, const char *key)
{
    const char *problem = text_of(answer, "problem");
    printf("  found       %s", text_of(answer, "how"));
    if (strcmp(problem, key) != 0 && problem[0] != '\0') {
        printf(" %s, distance %.2f", problem, json_real_value(json_object_get(answer, "distance")));
    }
    if (text_of(answer, "database")[0] != '\0') {
        printf(", in %s", text_of(answer, "database"));
    }
    printf("\n");
}

static void print_answer(const json_t *answer, const char *key)
{
    const json_t *workspace = json_object_get(answer, "workspace_bytes");
    const json_t *params = json_object_get(answer, "params");
    double time_ms = json_real_value(json_object_get(answer, "time_ms"));
    printf("%-14s%s\n", text_of(answer, "role"), text_of(answer, "solver"));
    print_source(answer, key);
    if (time_ms > 0) {
        printf("  time        %g ms, %s\n", time_ms, text_of(answer, "time"));
        lookup_interval_print(answer, "  interval    ");
    }
    if (json_is_integer(workspace)) {
        printf("  workspace   %lld bytes%s\n", json_integer_value(workspace),
               json_is_true(json_object_get(answer, "workspace_scaled")) ? ", scaled" : "");
    } else {
        printf("  workspace   unknown\n");
    }
    if (json_is_string(params)) {
        bool foreign = json_is_true(json_object_get(answer, "params_foreign"));
        printf("  params      %s%s\n", json_string_value(params),
               foreign ? ", of what was found" : "");
    }
    if (json_is_true(json_object_get(answer, "full_precision"))) {
        printf("  precision   FP32: that of the plain problem, which serves TF32, too\n");
    }
    if (json_is_false(json_object_get(answer, "checked"))) {
        printf("  unchecked   this program does not know whether the solver can compute it\n");
    }
    lookup_launches_print(json_object_get(answer, "launches"));
}

static void print_answers(const struct lookup_question *question, json_t *answers)
{
    size_t i;
    const json_t *answer;
    if (question->json) {
        json_t *object = json_pack("{s:s, s:O}", "key", question->key, "answers", answers);
        g_autofree char *text = json_dumps(object, JSON_COMPACT);
        puts(text);
        json_decref(object);
        return;
    }
    json_array_foreach (answers, i, answer) {
        print_answer(answer, question->key);
    }
}

/* Finds the target whose limits our solvers are asked under: the one of --target, or the one that
 * the first file's name states. */
static bool find_target(const struct lookup_question *question, struct target *target)
{
    g_autofree char *name = question->target != NULL ? g_strdup(question->target)
                                                     : g_path_get_basename(question->paths[0]);
    if (g_str_has_suffix(name, ".sjdb")) {
        name[strlen(name) - strlen(".sjdb")] = '\0';
    }
    return target_parse(name, target, NULL);
}

/* Returns an array of one or two choices: the solver to run now, and in hybrid mode, if another one
 * is faster, the solver to compile for later calls. NULL if a file is damaged. */
static json_t *choices_json(const struct shelf *shelf, const struct skipjackdb_problem *problem,
                            const struct skipjackdb_choice *choice,
                            const struct skipjackdb_choice *later)
{
    json_t *answers = json_array();
    json_t *now = answer_object(shelf, problem, choice, "run");
    json_t *then = now != NULL && later->how != SKIPJACKDB_NOWHERE
                       ? answer_object(shelf, problem, later, "compile")
                       : json_null();
    bool whole = now != NULL && then != NULL;
    json_array_append_new(answers, now);
    if (!json_is_null(then)) {
        json_array_append_new(answers, then);
    }
    if (!whole) {
        json_decref(answers);
        return NULL;
    }
    return answers;
}

/* Returns the answers for a problem as a new reference; an empty array if there is no answer. NULL
 * with an error if the key is invalid or a file is damaged. */
static json_t *ask(const struct lookup_question *question, const struct shelf *shelf,
                   const char *key, GError **error)
{
    struct target target;
    struct problem problem;
    struct skipjackdb_problem asked = {.size = sizeof asked};
    struct skipjackdb_choice choice = {.size = sizeof choice}, later = {.size = sizeof later};
    struct skipjackdb_rules rules = {.size = sizeof rules,
                                     .workspace_bytes = question->workspace_bytes,
                                     .mode = question->mode,
                                     .near = shelf->near,
                                     .unmeasured = question->unmeasured};
    g_autoptr(ChooseSolvers) solvers = NULL;
    if (!problem_key_parse(key, &problem, error)) {
        return NULL;
    }
    if (find_target(question, &target)) {
        solvers = choose_solvers_new(&target, &problem, question->workspace_bytes);
        choose_solvers_answer(solvers, &rules);
    }
    skipjackdb_problem_parse(key, &asked);
    int code = skipjackdb_choose((skipjackdb *const *)shelf->dbs->pdata, shelf->dbs->len, &asked,
                                 &rules, &choice, &later);
    json_t *answers = code == SKIPJACKDB_OK        ? choices_json(shelf, &asked, &choice, &later)
                      : code == SKIPJACKDB_DAMAGED ? NULL
                                                   : json_array();
    if (answers == NULL) {
        cannot_read(shelf->names->pdata[choice.db], SKIPJACKDB_DAMAGED, error);
    }
    return answers;
}

static bool ask_one(const struct lookup_question *question, const struct shelf *shelf, bool *found,
                    GError **error)
{
    json_t *answers = ask(question, shelf, question->key, error);
    *found = json_array_size(answers) > 0;
    if (*found) {
        print_answers(question, answers);
    }
    json_decref(answers);
    return answers != NULL;
}

/* ---- lists ---- */

/* Adds one to the count of the way in which the problem was answered ("exact", "nearest", ...);
 * "none" if there was no answer. */
static void count_way(json_t *ways, const json_t *answers)
{
    const char *how = text_of(json_array_get(answers, 0), "how");
    const char *way = how[0] != '\0' ? how : "none";
    json_t *count = json_object_get(ways, way);
    json_object_set_new(ways, way, json_integer(json_integer_value(count) + 1));
}

static void print_line(int64_t multiplicity, const char *key, const json_t *answers)
{
    const json_t *answer = json_array_get(answers, 0);
    const json_t *params = json_object_get(answer, "params");
    double time_ms = json_real_value(json_object_get(answer, "time_ms"));
    g_autofree char *time = time_ms > 0 ? g_strdup_printf("%g", time_ms) : g_strdup("-");
    printf("%5" G_GINT64_FORMAT "  %-64s  %-24s  %-20s  %12s  %s\n", multiplicity, key,
           answer != NULL ? text_of(answer, "solver") : "no answer", text_of(answer, "how"), time,
           json_is_string(params) ? json_string_value(params) : "");
}

static void print_ways(const json_t *ways)
{
    const char *way;
    json_t *count;
    json_object_foreach ((json_t *)ways, way, count) {
        printf("%lld %s\n", json_integer_value(count),
               strcmp(way, "none") == 0 ? "without an answer" : way);
    }
}

static bool ask_list(const struct lookup_question *question, const struct shelf *shelf, bool *found,
                     GError **error)
{
    json_t *list = json_array(), *ways = json_object();
    bool asked = true;
    for (int i = 0; asked && i < problem_list_count(question->problems); i++) {
        const struct problem_entry *entry = problem_list_get(question->problems, i);
        char key[PROBLEM_KEY_MAX];
        json_t *answers = ask(question, shelf, problem_key(&entry->problem, key), error);
        asked = answers != NULL;
        if (!asked) {
            break;
        }
        count_way(ways, answers);
        if (question->json) {
            json_array_append_new(list,
                                  json_pack("{s:s, s:I, s:O}", "key", key, "multiplicity",
                                            (json_int_t)entry->multiplicity, "answers", answers));
        } else {
            print_line(entry->multiplicity, key, answers);
        }
        json_decref(answers);
    }
    *found = json_object_get(ways, "none") == NULL;
    if (asked && question->json) {
        json_t *object = json_pack("{s:O, s:O}", "problems", list, "found", ways);
        g_autofree char *text = json_dumps(object, JSON_COMPACT);
        puts(text);
        json_decref(object);
    } else if (asked) {
        print_ways(ways);
    }
    json_decref(list);
    json_decref(ways);
    return asked;
}

bool lookup_choose(const struct lookup_question *question, bool *found, bool *whole, GError **error)
{
    struct shelf shelf;
    *found = false;
    *whole = true;
    shelf_init(&shelf);
    bool done = open_shelf(&shelf, question, whole, error) &&
                (question->key != NULL ? ask_one(question, &shelf, found, error)
                                       : ask_list(question, &shelf, found, error));
    shelf_clear(&shelf);
    return done;
}
