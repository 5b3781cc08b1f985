#include "export/check/check_release.h"

#include "export/formats/find_db.h"
#include "export/formats/kernel_db.h"
#include "export/formats/manifest.h"
#include "export/formats/perf_db.h"
#include "export/sjdb/reader/layout.h"
#include "export/sjdb/reader/skipjackdb.h"

#include <string.h>

/* A perf-db in memory: the params by "KEY SOLVER", where KEY is the config row's. */
struct perf_index {
    char *name; /* the perf-db's file name */
    GHashTable *params;
    GStringChunk *texts;
};

struct compact {
    char *name;
    skipjackdb *db;
    bool has_solutions;
};

struct release {
    struct check_report *report;
    struct target target;
    /* the target as solvers see it; unset if the target is not fully known */
    struct context context;
    bool knows_target;
    /* True if the device's limits (local memory, workgroup size) are known: from the id of a known
     * GPU or from a manifest. The ids of CPUs and of unknown GPUs do not imply them. */
    bool knows_limits;
    GPtrArray *finds;    /* char *: paths */
    GPtrArray *perfs;    /* struct perf_index * */
    GPtrArray *compacts; /* struct compact * */
    GHashTable *kernel_names;
    /* set of "name\nargs" of the kernels in all kernel-dbs; NULL if the release has no kernel-db */
    GHashTable *kernels;
    /* set of the solvers that occur in any perf-db, which therefore have configs */
    GHashTable *tunable;
    /* perf-db row -> number of find-db keys that share the row; only filled if the release has
     * kernel-dbs */
    GHashTable *sharing;
    /* struct missing_code: entries without kernels, reported when all keys are read */
    GArray *without_code;
};

struct missing_code {
    char *row, *place;
    enum finding finding;
};

/* ---- reading the release's files ---- */

static void perf_index_free(void *data)
{
    struct perf_index *index = data;
    g_free(index->name);
    g_hash_table_unref(index->params);
    g_string_chunk_free(index->texts);
    g_free(index);
}

static void compact_free(void *data)
{
    struct compact *compact = data;
    g_free(compact->name);
    skipjackdb_close(compact->db);
    g_free(compact);
}

static void missing_code_clear(void *data)
{
    struct missing_code *missing = data;
    g_free(missing->row);
    g_free(missing->place);
}

static struct perf_index *add_perf_index(struct release *release, const char *path)
{
    struct perf_index *index = g_new0(struct perf_index, 1);
    index->name = g_path_get_basename(path);
    index->params = g_hash_table_new(g_str_hash, g_str_equal);
    index->texts = g_string_chunk_new(1 << 16);
    g_ptr_array_add(release->perfs, index);
    return index;
}

static void index_row(struct release *release, struct perf_index *index, const struct perf_row *row,
                      const char *solver, const char *params)
{
    char key[PROBLEM_KEY_MAX];
    g_autofree char *pair = g_strconcat(perf_row_key(row, key), " ", solver, NULL);
    g_hash_table_insert(index->params, g_string_chunk_insert(index->texts, pair),
                        g_string_chunk_insert_const(index->texts, params));
    if (!g_hash_table_contains(release->tunable, solver)) {
        g_hash_table_add(release->tunable, g_strdup(solver));
    }
}

/* Reads a perf-db into memory. Unreadable rows are skipped here, since the report on the perf-db
 * itself names them. */
static void read_perf_db(struct release *release, const char *path)
{
    struct perf_entry entry = {0};
    enum read_step step = READ_ROW;
    g_autoptr(PerfDb) db = perf_db_open(path, NULL);
    struct perf_index *index = db != NULL ? add_perf_index(release, path) : NULL;
    while (index != NULL && step != READ_END && step != READ_FAILED) {
        struct perf_row row;
        step = perf_db_next_entry(db, &entry, NULL);
        if (step == READ_ROW && perf_db_config_at(db, entry.config, &row, NULL) == READ_ROW) {
            index_row(release, index, &row, entry.solver, entry.params);
        }
    }
}

static void read_perf_text(struct release *release, const char *path)
{
    struct perf_text_line line;
    struct line at = {0};
    enum read_step step = READ_ROW;
    g_autoptr(LineReader) lines = line_reader_open(path, NULL);
    struct perf_index *index = lines != NULL ? add_perf_index(release, path) : NULL;
    perf_text_line_init(&line);
    while (index != NULL && step != READ_END && step != READ_FAILED) {
        step = line_reader_next(lines, &at, NULL);
        if (step != READ_ROW || !perf_text_line_parse(at.text, &line, NULL)) {
            continue;
        }
        for (guint i = 0; i < line.solvers->len; i++) {
            index_row(release, index, &line.row, line.solvers->pdata[i], line.params->pdata[i]);
        }
    }
    perf_text_line_clear(&line);
}

static void read_kernel_db(struct release *release, const char *path)
{
    struct kernel_entry entry = {0};
    enum read_step step = READ_ROW;
    g_autoptr(KernelDb) db = kernel_db_open(path, NULL);
    if (db != NULL && release->kernels == NULL) {
        release->kernels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        release->kernel_names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    }
    while (db != NULL && step != READ_END && step != READ_FAILED) {
        step = kernel_db_next(db, &entry, NULL);
        if (step == READ_ROW) {
            g_hash_table_add(release->kernels, g_strconcat(entry.name, "\n", entry.args, NULL));
            g_hash_table_add(release->kernel_names, g_strdup(entry.name));
        }
    }
}

static void read_sjdb(struct release *release, const char *path)
{
    skipjackdb *db = NULL;
    if (skipjackdb_open(path, &db) != SKIPJACKDB_OK || skipjackdb_verify(db) != SKIPJACKDB_OK) {
        skipjackdb_close(db);
        return;
    }
    struct compact *compact = g_new0(struct compact, 1);
    *compact = (struct compact){g_path_get_basename(path), db, skipjackdb_solved_count(db) > 0};
    g_ptr_array_add(release->compacts, compact);
}

static void read_find_db(struct release *release, const char *path)
{
    g_ptr_array_add(release->finds, g_strdup(path));
}

static void (*const readers[FILE_KIND_COUNT])(struct release *release, const char *path) = {
    [FILE_FIND_DB] = read_find_db,     [FILE_PERF_DB] = read_perf_db,
    [FILE_PERF_TEXT] = read_perf_text, [FILE_KERNEL_DB] = read_kernel_db,
    [FILE_SJDB] = read_sjdb,
};

/* ---- looking for what an entry needs ---- */

/* A find-db entry, and what to look for in the release's other files: params, kernels, the same
 * entry in the .sjdb. */
struct wanted {
    const struct problem *problem;
    const char *key, *row; /* row: key of the problem's row in a perf-db */
    const char *solver;
    const struct solver *ours; /* NULL if this program lacks the solver */
    bool wins;
    char *place;
};

static bool is_tunable(const struct release *release, const struct wanted *wanted)
{
    return (wanted->ours != NULL && wanted->ours->space != NULL) ||
           g_hash_table_contains(release->tunable, wanted->solver);
}

/* Returns the entry's params from the first perf-db that has them, NULL if none has. Each perf-db
 * without them is a finding. */
static const char *look_for_params(struct release *release, const struct wanted *wanted)
{
    const char *found = NULL;
    g_autofree char *pair = g_strconcat(wanted->row, " ", wanted->solver, NULL);
    for (guint i = 0; i < release->perfs->len; i++) {
        const struct perf_index *index = release->perfs->pdata[i];
        const char *params = g_hash_table_lookup(index->params, pair);
        found = found != NULL ? found : params;
        if (params == NULL) {
            check_found(release->report,
                        wanted->wins ? FINDING_WINNER_UNTUNED : FINDING_ENTRY_UNTUNED,
                        "%s: not in %s", wanted->place, index->name);
        }
    }
    return found;
}

static void miss_code(struct release *release, const struct wanted *wanted, const char *what,
                      bool sure)
{
    enum finding finding = wanted->wins ? FINDING_WINNER_NO_CODE : FINDING_ENTRY_NO_CODE;
    const struct missing_code missing = {g_strdup(wanted->row),
                                         g_strdup_printf("%s: %s", wanted->place, what),
                                         sure ? finding : FINDING_CODE_UNSURE};
    g_array_append_val(release->without_code, missing);
}

/* Checks that the kernel-dbs hold every kernel that the solver launches with these params. */
static void look_for_kernels(struct release *release, const struct wanted *wanted,
                             const char *params)
{
    struct perf_config config;
    g_autoptr(GError) error = NULL;
    g_autofree struct solution *solution = g_new(struct solution, 1);
    solution_init(solution);
    if (!solver_config_parse(wanted->ours, wanted->problem, &release->context, params, &config,
                             &error) ||
        !solver_solve(wanted->ours, wanted->problem, &release->context, &config, solution,
                      &error)) {
        check_found(release->report,
                    release->knows_limits ? FINDING_PARAMS_INVALID : FINDING_CODE_UNSURE, "%s: %s",
                    wanted->place, error->message);
        return;
    }
    for (int i = 0; i < solution->launch_count; i++) {
        const struct launch *launch = &solution->launches[i];
        g_autofree char *name = kernel_db_name(launch->file);
        g_autofree char *args = kernel_db_args(launch->options, release->context.target->arch);
        g_autofree char *pair = g_strconcat(name, "\n", args, NULL);
        if (!g_hash_table_contains(release->kernels, pair)) {
            g_autofree char *what = g_strdup_printf("no kernel-db has %s with %s", name, args);
            miss_code(release, wanted, what,
                      release->knows_limits || !g_hash_table_contains(release->kernel_names, name));
            return;
        }
    }
}

static bool holds_entry(const struct compact *compact, const struct skipjackdb_problem *problem,
                        const char *solver)
{
    struct skipjackdb_entry entries[SJDB_LIST_MAX];
    uint64_t number = 0;
    size_t count = 0;
    if (skipjackdb_find(compact->db, problem, &number) != SKIPJACKDB_OK ||
        skipjackdb_entries(compact->db, number, entries, sizeof *entries, SJDB_LIST_MAX, &count) !=
            SKIPJACKDB_OK) {
        return false;
    }
    for (size_t i = 0; i < MIN(count, SJDB_LIST_MAX); i++) {
        if (strcmp(entries[i].solver, solver) == 0) {
            return true;
        }
    }
    return false;
}

/* Checks that the .sjdb has the launches of an entry of our solvers. A .sjdb without any launches
 * is complete, too; one with some must have them all, so that a library never has to compile. */
static void look_for_solution(struct release *release, const struct compact *compact,
                              const struct skipjackdb_problem *problem, const struct wanted *wanted)
{
    struct skipjackdb_solution solution;
    if (wanted->ours != NULL && compact->has_solutions &&
        skipjackdb_solution(compact->db, problem, wanted->solver, &solution, sizeof solution) !=
            SKIPJACKDB_OK) {
        check_found(release->report, wanted->wins ? FINDING_WINNER_NO_CODE : FINDING_ENTRY_NO_CODE,
                    "%s: no launches in %s", wanted->place, compact->name);
    }
}

static void look_in_sjdb(struct release *release, const struct wanted *wanted)
{
    struct skipjackdb_problem problem = {.size = sizeof problem};
    for (guint i = 0; wanted->wins && i < release->compacts->len; i++) {
        const struct compact *compact = release->compacts->pdata[i];
        if (skipjackdb_problem_parse(wanted->key, &problem) != SKIPJACKDB_OK ||
            !holds_entry(compact, &problem, wanted->solver)) {
            check_found(release->report, FINDING_WINNER_NOT_IN_SJDB, "%s: not in %s", wanted->place,
                        compact->name);
        }
    }
}

static bool has_launches(const struct release *release)
{
    bool has = false;
    for (guint i = 0; i < release->compacts->len; i++) {
        has = has || ((const struct compact *)release->compacts->pdata[i])->has_solutions;
    }
    return has;
}

/* Reports a release without any perf-db or kernels. It may be meant so, or have lost files: the two
 * look alike, so the finding does not make the release unfit. */
static void look_for_files(struct release *release, const struct wanted *wanted)
{
    if (release->perfs->len == 0 && wanted->ours->space != NULL) {
        check_found(release->report, FINDING_NO_PERF_DB, "%s", wanted->place);
    }
    if (release->kernels == NULL && !has_launches(release)) {
        check_found(release->report, FINDING_NO_KERNELS, "%s", wanted->place);
    }
}

static void look_for(struct release *release, const struct wanted *wanted)
{
    bool tunable = is_tunable(release, wanted);
    if (wanted->wins && wanted->ours != NULL) {
        look_for_files(release, wanted);
    }
    const char *params = tunable ? look_for_params(release, wanted) : "";
    release->report->entries++;
    /* Without params the config is unknown, and so is the kernel. */
    if (release->kernels != NULL && release->knows_target && wanted->ours != NULL &&
        params != NULL) {
        look_for_kernels(release, wanted, params);
    }
    look_in_sjdb(release, wanted);
}

/* ---- find-dbs ---- */

/* Returns the index of the entry that a library would choose: the first one with the smallest
 * time. */
static guint winner_of(const struct find_line *line)
{
    const struct find_entry *entries = (const struct find_entry *)(void *)line->entries->data;
    guint winner = 0;
    for (guint i = 1; i < line->entries->len; i++) {
        winner = entries[i].time_ms < entries[winner].time_ms ? i : winner;
    }
    return winner;
}

static void count_sharing(struct release *release, const char *row)
{
    if (release->kernels != NULL) {
        gpointer count = g_hash_table_lookup(release->sharing, row);
        g_hash_table_insert(release->sharing, g_strdup(row),
                            GINT_TO_POINTER(GPOINTER_TO_INT(count) + 1));
    }
}

static void check_line(struct release *release, const char *file, const struct find_line *line,
                       int64_t number)
{
    char key[PROBLEM_KEY_MAX];
    struct problem problem;
    struct perf_row row;
    if (line->entries->len == 0 || !problem_key_parse(line->key, &problem, NULL)) {
        return;
    }
    release->report->keys++;
    perf_row_from_problem(&problem, &row);
    perf_row_key(&row, key);
    count_sharing(release, key);
    guint winner = winner_of(line);
    for (guint i = 0; i < line->entries->len; i++) {
        const struct find_entry *entry = &g_array_index(line->entries, struct find_entry, i);
        g_autofree char *place = g_strdup_printf("%s line %" G_GINT64_FORMAT ", %s of %s", file,
                                                 number, entry->solver, line->key);
        const struct wanted wanted = {
            &problem,    line->key, key, entry->solver, solver_find(entry->solver),
            i == winner, place};
        look_for(release, &wanted);
    }
}

static void check_find_lines(struct release *release, const char *path)
{
    struct find_line line;
    struct line at = {0};
    enum read_step step = READ_ROW;
    g_autofree char *file = g_path_get_basename(path);
    g_autoptr(FindDb) db = find_db_open(path, NULL);
    find_line_init(&line);
    while (db != NULL && step != READ_END && step != READ_FAILED) {
        step = find_db_next(db, &line, &at, NULL);
        if (step == READ_ROW) {
            check_line(release, file, &line, at.number);
        }
    }
    find_line_clear(&line);
}

/* Reports the entries without kernels. If several problems share a perf-db row, it holds the params
 * that one of them was measured with; the others may never have been built with these, so their
 * missing kernels do not make the release unfit. */
static void judge_missing_code(struct release *release)
{
    for (guint i = 0; i < release->without_code->len; i++) {
        const struct missing_code *missing =
            &g_array_index(release->without_code, struct missing_code, i);
        bool shared = GPOINTER_TO_INT(g_hash_table_lookup(release->sharing, missing->row)) > 1;
        check_found(release->report, shared ? FINDING_SHARED_NO_CODE : missing->finding, "%s",
                    missing->place);
    }
}

/* ---- a .sjdb compared with itself ---- */

/* Expects entries sorted by time, so that the first one is the winner. */
static void check_compact_entries(struct release *release, const struct compact *compact,
                                  const struct skipjackdb_problem *problem,
                                  const struct skipjackdb_entry *entries, size_t count)
{
    char key[SKIPJACKDB_KEY_MAX] = "";
    skipjackdb_problem_key(problem, key, sizeof key);
    for (size_t i = 0; i < count; i++) {
        g_autofree char *place =
            g_strdup_printf("%s, %s of %s", compact->name, entries[i].solver, key);
        const struct wanted wanted = {
            .solver = entries[i].solver,
            .ours = solver_find(entries[i].solver),
            .wins = i == 0,
            .place = place,
        };
        look_for_solution(release, compact, problem, &wanted);
    }
}

static void check_compact(struct release *release, const struct compact *compact)
{
    g_autofree struct skipjackdb_entry *entries = g_new(struct skipjackdb_entry, SJDB_LIST_MAX);
    uint64_t problems = skipjackdb_problem_count(compact->db);
    for (uint64_t number = 0; number < problems; number++) {
        struct skipjackdb_problem problem = {.size = sizeof problem};
        size_t count = 0;
        if (skipjackdb_problem_at(compact->db, number, &problem) == SKIPJACKDB_OK &&
            skipjackdb_entries(compact->db, number, entries, sizeof *entries, SJDB_LIST_MAX,
                               &count) == SKIPJACKDB_OK) {
            release->report->keys++;
            check_compact_entries(release, compact, &problem, entries, MIN(count, SJDB_LIST_MAX));
        }
    }
}

/* ---- a release ---- */

static void release_clear(struct release *release)
{
    g_ptr_array_unref(release->finds);
    g_ptr_array_unref(release->perfs);
    g_ptr_array_unref(release->compacts);
    g_clear_pointer(&release->kernels, g_hash_table_unref);
    g_clear_pointer(&release->kernel_names, g_hash_table_unref);
    g_hash_table_unref(release->tunable);
    g_hash_table_unref(release->sharing);
    g_array_unref(release->without_code);
}

/* Takes the device's limits from a manifest of the target, if the folder has one. Returns true on
 * success. */
static bool take_limits(const char *folder, struct target *target)
{
    bool taken = false;
    for (int golden = 0; golden < 2 && !taken; golden++) {
        g_autofree char *name = manifest_name(target->id, golden == 1);
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_autoptr(Manifest) manifest = manifest_read(path, NULL);
        taken = manifest != NULL && manifest_take_limits(manifest, target);
    }
    return taken;
}

static void release_init(struct release *release, const char *folder,
                         const struct file_target *target)
{
    *release = (struct release){
        .report = check_report_new(folder),
        .finds = g_ptr_array_new_with_free_func(g_free),
        .perfs = g_ptr_array_new_with_free_func(perf_index_free),
        .compacts = g_ptr_array_new_with_free_func(compact_free),
        .tunable = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .sharing = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .without_code = g_array_new(FALSE, FALSE, sizeof(struct missing_code)),
    };
    g_array_set_clear_func(release->without_code, missing_code_clear);
    release->report->format = "release";
    release->report->named = *target;
    release->knows_target = target->known == TARGET_WHOLE;
    if (release->knows_target) {
        release->target = target->target;
        release->knows_limits =
            take_limits(folder, &release->target) ||
            (target->target.vendor != VENDOR_CPU && target_arch_known(target->target.arch));
        context_init(&release->context, &release->target);
    }
}

/* Checks the files of one target together. files: their paths (char *). */
static struct check_report *check_release(const char *folder, const struct file_target *target,
                                          const GPtrArray *files, GHashTable *ours)
{
    struct release release;
    release_init(&release, folder, target);
    for (guint i = 0; i < files->len; i++) {
        enum file_kind kind;
        g_autofree char *name = g_path_get_basename(files->pdata[i]);
        release.report->ours = release.report->ours || g_hash_table_contains(ours, name);
        if (check_file_kind(files->pdata[i], &kind, NULL)) {
            readers[kind](&release, files->pdata[i]);
        }
    }
    for (guint i = 0; i < release.finds->len; i++) {
        check_find_lines(&release, release.finds->pdata[i]);
    }
    judge_missing_code(&release);
    for (guint i = 0; i < release.compacts->len; i++) {
        check_compact(&release, release.compacts->pdata[i]);
    }
    release_clear(&release);
    return release.report;
}

/* ---- dividing a folder's files by target ---- */

/* The files of one target in the folder. */
struct group {
    struct file_target target;
    GPtrArray *files; /* char *: the files' paths, borrowed */
    bool has_kernels;
};

static void group_free(void *data)
{
    struct group *group = data;
    g_ptr_array_unref(group->files);
    g_free(group);
}

/* Returns the name by which a folder's files are grouped: the target in MIOpen's spelling, or the
 * text up to the first '.' if the name states no whole target. */
static char *group_name(const char *file, const struct file_target *target)
{
    char buffer[TARGET_FILE_NAME_MAX];
    if (target->known == TARGET_WHOLE) {
        return g_strdup(target_file_name(&target->target, buffer));
    }
    g_autofree char *name = g_path_get_basename(file);
    return g_strndup(name, strcspn(name, "."));
}

static bool is_users_own(const char *file)
{
    g_autofree char *name = g_path_get_basename(file);
    return strstr(name, ".ufdb") != NULL || strstr(name, ".udb") != NULL ||
           strstr(name, ".ukdb") != NULL;
}

static struct group *group_of(GHashTable *groups, GPtrArray *order, const char *file)
{
    const struct file_target target = file_name_target(file);
    g_autofree char *name = group_name(file, &target);
    struct group *group = g_hash_table_lookup(groups, name);
    if (group == NULL) {
        group = g_new0(struct group, 1);
        group->target = target;
        group->files = g_ptr_array_new();
        g_hash_table_insert(groups, g_steal_pointer(&name), group);
        g_ptr_array_add(order, group);
    }
    /* Files are grouped by MIOpen's spelling, which has no partition. The name of a .sjdb also
     * states the partition, so the group takes its target. */
    if (target.known == TARGET_WHOLE && !target.by_miopen) {
        group->target = target;
    }
    return group;
}

/* Adds kernel-dbs that serve all devices of an architecture ("gfx90a.kdb") to each target of the
 * architecture that has no kernel-db of its own. */
static void share_kernel_dbs(const GPtrArray *order)
{
    for (guint i = 0; i < order->len; i++) {
        const struct group *from = order->pdata[i];
        for (guint j = 0; from->target.known == TARGET_ARCH && j < order->len; j++) {
            struct group *to = order->pdata[j];
            if (to->target.known == TARGET_WHOLE && !to->has_kernels &&
                file_targets_fit(&from->target, &to->target)) {
                g_ptr_array_extend(to->files, from->files, NULL, NULL);
            }
        }
    }
}

GPtrArray *check_releases(const char *folder, const GPtrArray *files, GHashTable *ours)
{
    GPtrArray *reports = g_ptr_array_new_with_free_func((GDestroyNotify)check_report_free);
    g_autoptr(GHashTable) groups =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, group_free);
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    for (guint i = 0; i < files->len; i++) {
        enum file_kind kind;
        g_autofree char *name = g_path_get_basename(files->pdata[i]);
        if (file_name_kind(name, &kind) && !is_users_own(name)) {
            struct group *group = group_of(groups, order, files->pdata[i]);
            g_ptr_array_add(group->files, files->pdata[i]);
            group->has_kernels = group->has_kernels || kind == FILE_KERNEL_DB;
        }
    }
    share_kernel_dbs(order);
    for (guint i = 0; i < order->len; i++) {
        const struct group *group = order->pdata[i];
        if (group->files->len > 1) {
            g_ptr_array_add(reports, check_release(folder, &group->target, group->files, ours));
        }
    }
    return reports;
}

/* ---- manifests ---- */

GHashTable *check_names_of_manifests(const GPtrArray *files)
{
    GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < files->len; i++) {
        g_autofree char *name = g_path_get_basename(files->pdata[i]);
        g_autoptr(Manifest) manifest =
            manifest_is_name(name) ? manifest_read(files->pdata[i], NULL) : NULL;
        for (guint m = 0; manifest != NULL && m < manifest->files->len; m++) {
            const struct manifest_file *file = manifest->files->pdata[m];
            g_hash_table_add(names, g_strdup(file->name));
            g_hash_table_add(names, g_strconcat(file->name, ".bz2", NULL));
        }
    }
    return names;
}

void check_list_release(const char *path, GPtrArray *files)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autoptr(Manifest) manifest = manifest_read(path, NULL);
    g_ptr_array_add(files, g_strdup(path));
    for (guint i = 0; manifest != NULL && i < manifest->files->len; i++) {
        const struct manifest_file *file = manifest->files->pdata[i];
        g_autofree char *listed = manifest_find_file(folder, file->name);
        if (listed != NULL) {
            g_ptr_array_add(files, g_steal_pointer(&listed));
        }
    }
}
