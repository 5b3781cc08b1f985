#include "coordinator/nights/plan/night_plan.h"

#include "coordinator/cli/cli.h"
#include "coordinator/nights/judge/regression_points.h"
#include "schema/results/store_nights.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

/* Most points of a pair that are read, whatever `retries` says. */
#define POINTS_MOST  64
/* Points that are read at the least: a job that took its time over several times has its measurement further back. */
#define POINTS_LEAST 4

/* ---- the date ---- */

char *night_date(void)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autoptr(GDateTime) noon_ago = g_date_time_add_hours(now, -12);
    return g_date_time_format(noon_ago, "%Y-%m-%d");
}

bool night_date_is_valid(const char *date)
{
    return g_regex_match_simple("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", date, G_REGEX_DOLLAR_ENDONLY, 0) &&
           night_days_between(date, "9999-01-01") > 0;
}

/* The date so many days later. Free with g_free(). */
static char *shift_date(const char *date, int days)
{
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autofree char *midnight = g_strconcat(date, "T00:00:00Z", NULL);
    g_autoptr(GDateTime) day = g_date_time_new_from_iso8601(midnight, utc);
    g_autoptr(GDateTime) other = day ? g_date_time_add_days(day, days) : NULL;
    return other ? g_date_time_format(other, "%Y-%m-%d") : g_strdup(date);
}

/* ---- what is known about a target ---- */

/* A pair's points: a slice of the list of all. */
struct slice {
    guint first, count;
};

/* A job that the last night left. */
struct left {
    enum night_reason reason;
    char night[NIGHT_DATE_SIZE];
};

/* Everything that the judging of a target's pairs reads. Pairs are looked up by "PROBLEM SOLVER". */
struct known {
    int64_t *ids; /* of the night's problems; 0 for one that was never stored */
    GPtrArray *points;
    GHashTable *slices, *problems, *left, *suspects;
    GPtrArray *stacks;
    struct stacks_today today;
    char *nearest;
};

static char *pair_name(int64_t problem, const char *solver)
{
    return g_strdup_printf("%" G_GINT64_FORMAT " %s", (gint64)problem, solver);
}

static void known_init(struct known *known)
{
    *known = (struct known){
        .slices = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .problems = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
        .left = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .suspects = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .today = {g_ptr_array_new(), g_ptr_array_new()},
    };
}

static void known_clear(struct known *known)
{
    g_free(known->ids);
    g_clear_pointer(&known->points, g_ptr_array_unref);
    g_clear_pointer(&known->stacks, g_ptr_array_unref);
    g_hash_table_unref(known->slices);
    g_hash_table_unref(known->problems);
    g_hash_table_unref(known->left);
    g_hash_table_unref(known->suspects);
    g_ptr_array_unref(known->today.builders);
    g_ptr_array_unref(known->today.devices);
    g_free(known->nearest);
}

static void index_points(struct known *known)
{
    for (guint i = 0; i < known->points->len;) {
        const struct history_point *first = g_ptr_array_index(known->points, i);
        struct slice *slice = g_new(struct slice, 1);
        *slice = (struct slice){i, 0};
        for (; i < known->points->len; i++, slice->count++) {
            const struct history_point *point = g_ptr_array_index(known->points, i);
            if (point->problem != first->problem || strcmp(point->solver, first->solver) != 0)
                break;
        }
        g_hash_table_insert(known->slices, pair_name(first->problem, first->solver), slice);
        g_hash_table_add(known->problems, g_memdup2(&first->problem, sizeof first->problem));
    }
}

static bool read_history(Store *store, const struct night_file *file, const char *target,
                         const GArray *problems, const char *night, struct known *known,
                         GError **error)
{
    g_autoptr(GArray) stored = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_autofree struct problem *copies = g_new(struct problem, MAX(problems->len, 1));
    known->ids = g_new0(int64_t, MAX(problems->len, 1));
    for (guint i = 0; i < problems->len; i++)
        copies[i] = g_array_index(problems, struct plan_problem, i).problem;
    if (!store_find_problems(store, copies, (int)problems->len, known->ids, error))
        return false;
    for (guint i = 0; i < problems->len; i++)
        if (known->ids[i] != 0)
            g_array_append_val(stored, known->ids[i]);
    /* Points of the night's own date count: campaigns of the day before it measured them. */
    g_autofree char *before = shift_date(night, 1);
    int count = (int)CLAMP(file->again.retries + 1, POINTS_LEAST, POINTS_MOST);
    known->points = store_newest_history(store, target, stored, before, count, error);
    if (!known->points)
        return false;
    index_points(known);
    return true;
}

static bool read_stacks(Store *store, const struct night_file_target *wanted, const char *target,
                        struct known *known, GError **error)
{
    known->stacks = store_night_stacks(store, target, wanted->stack, wanted->pool, error);
    for (guint i = 0; known->stacks && i < known->stacks->len; i++) {
        struct night_stack *stack = g_ptr_array_index(known->stacks, i);
        g_ptr_array_add(stack->builds ? known->today.builders : known->today.devices, stack->stack);
    }
    return known->stacks != NULL;
}

static bool read_left(Store *store, const struct night_file *file, const char *target,
                      const char *night, struct known *known, GError **error)
{
    g_autoptr(GPtrArray) jobs = store_list_unfinished_jobs(store, file->name, night, target, error);
    for (guint i = 0; jobs && i < jobs->len; i++) {
        const struct night_job *job = g_ptr_array_index(jobs, i);
        if (job->reason < 1 || job->reason > NIGHT_REASON_COUNT) /* of a newer program */
            continue;
        struct left *left = g_new0(struct left, 1);
        left->reason = (enum night_reason)job->reason;
        g_strlcpy(left->night, job->date, sizeof left->night);
        g_hash_table_insert(known->left, pair_name(job->problem_id, job->solver), left);
    }
    return jobs != NULL;
}

/* Findings that nobody confirmed or refuted: the pair is measured again. */
static void take_suspects(const Regressions *found, struct known *known)
{
    for (guint i = 0; i < found->findings->len; i++) {
        const struct regression_finding *finding = g_ptr_array_index(found->findings, i);
        if (regression_is_open(finding))
            g_hash_table_insert(known->suspects, pair_name(finding->problem_id, finding->solver),
                                g_strdup_printf("%+.1f %% in the night %s, not confirmed",
                                                finding->percent, finding->now.night));
    }
}

/* Reads what the last judged night of that name found and could not confirm. */
static bool read_suspects(Store *store, const struct night_file *file, const char *target,
                          const char *night, struct known *known, GError **error)
{
    g_autoptr(Regressions) found = NULL;
    if (!regressions_read_last(store, file->name, night, target, &found, error))
        return false;
    if (found)
        take_suspects(found, known);
    return true;
}

static bool known_read(Store *store, const struct night_file *file,
                       const struct night_file_target *wanted, const struct target *target,
                       const GArray *problems, const char *night, struct known *known,
                       GError **error)
{
    return read_history(store, file, target->id, problems, night, known, error) &&
           read_stacks(store, wanted, target->id, known, error) &&
           read_left(store, file, target->id, night, known, error) &&
           read_suspects(store, file, target->id, night, known, error) &&
           store_nearest_history(store, target, &known->nearest, error);
}

/* ---- judging a target's pairs ---- */

static void job_clear(gpointer data)
{
    struct planned_job *job = data;
    g_free(job->detail);
    g_free(job->last_night);
    g_free(job->last_stack);
}

static GArray *job_array(void)
{
    GArray *jobs = g_array_new(FALSE, TRUE, sizeof(struct planned_job));
    g_array_set_clear_func(jobs, job_clear);
    return jobs;
}

static void target_plan_free(gpointer data)
{
    struct night_target_plan *plan = data;
    machine_clear(&plan->machine);
    g_array_unref(plan->jobs);
    g_array_unref(plan->idle);
    g_clear_pointer(&plan->uncovered, g_array_unref);
    g_clear_pointer(&plan->stacks, g_ptr_array_unref);
    g_free(plan->nearest);
    g_free(plan);
}

static struct night_target_plan *target_plan_new(const struct night_file_target *wanted)
{
    struct night_target_plan *plan = g_new0(struct night_target_plan, 1);
    plan->wanted = wanted;
    plan->jobs = job_array();
    plan->idle = job_array();
    return plan;
}

static void judge_job(const struct night_file *file, const struct night_target_plan *plan,
                      const struct known *known, const char *night, int64_t problem,
                      struct planned_job *job)
{
    char key[PROBLEM_KEY_MAX];
    g_autofree char *pair = pair_name(problem, job->job.solver);
    const struct slice *slice = g_hash_table_lookup(known->slices, pair);
    const struct left *left = g_hash_table_lookup(known->left, pair);
    struct history_point *const *points =
        slice ? (struct history_point *const *)(void *)known->points->pdata + slice->first : NULL;
    const struct night_facts facts = {
        .night = night,
        .solver = job->job.solver,
        .revision = job->job.revision,
        .hash = job->job.hash,
        .vendor = plan->machine.target.vendor,
        .points = points,
        .point_count = slice ? slice->count : 0,
        .problem_known = g_hash_table_contains(known->problems, &problem),
        .nearest = known->nearest,
        .is_new_target = g_strcmp0(known->nearest, plan->machine.target.id) != 0,
        .today = &known->today,
        .left_reason = left ? left->reason : 0,
        .left_night = left ? left->night : NULL,
        .suspect = g_hash_table_lookup(known->suspects, pair),
        .again = &file->again,
        .lot = night_lot(night, plan->machine.target.id, problem_key(&job->job.problem, key),
                         job->job.solver),
    };
    struct night_verdict verdict;
    night_judge(&facts, &verdict);
    const struct night_reason_row *row = night_reason_row(verdict.reason);
    job->problem = problem;
    job->reason = verdict.reason;
    job->detail = verdict.detail;
    job->action = row->action;
    job->backfill = row->backfill;
    if (!slice)
        return;
    job->campaign = points[0]->campaign;
    job->last_night = g_strdup(points[0]->night);
    job->last_stack = g_strdup(points[0]->stack);
}

static gint compare_jobs(gconstpointer a, gconstpointer b)
{
    const struct planned_job *left = a, *right = b;
    int by_solver = strcmp(left->job.solver, right->job.solver);
    if (left->job.priority != right->job.priority)
        return left->job.priority < right->job.priority ? 1 : -1;
    return by_solver != 0 ? by_solver : problem_compare(&left->job.problem, &right->job.problem);
}

/* Orders the jobs by reason and weight: the priority becomes that of the reason, and behind the point the share of the
 * heaviest job's weight. */
static void order_jobs(GArray *jobs)
{
    double most = 0;
    for (guint i = 0; i < jobs->len; i++)
        most = MAX(most, g_array_index(jobs, struct planned_job, i).job.priority);
    for (guint i = 0; i < jobs->len; i++) {
        struct planned_job *job = &g_array_index(jobs, struct planned_job, i);
        double weight = most > 0 ? job->job.priority / most : 0;
        job->job.priority = night_reason_row(job->reason)->priority + MIN(weight, 0.999999);
    }
    g_array_sort(jobs, compare_jobs);
}

static void estimate_jobs(struct night_target_plan *plan, const struct request *request,
                          const struct context_limits *limits, const Estimator *estimator)
{
    struct context context;
    context_init(&context, &plan->machine.target);
    context_set_limits(&context, limits);
    g_autoptr(GHashTable) counted = problem_table_new(NULL);
    for (guint i = 0; i < plan->jobs->len; i++) {
        struct planned_job *job = &g_array_index(plan->jobs, struct planned_job, i);
        const struct solver *solver = solver_find(job->job.solver);
        job->configs = plan_expected_configs(
            solver, &job->job.problem, &context, request->configs,
            job->action == NIGHT_ACTION_AGAIN ? 0 : request_close_configs(request), counted);
        job->estimate = estimator_ask(estimator, job->job.solver, job->action, job->configs,
                                      request->search_seconds, REQUEST_ROUND_CONFIGS);
        night_estimate_add(&plan->estimate, &job->estimate);
        night_estimate_add(&plan->estimates[job->reason], &job->estimate);
    }
}

/* Judges each job of the plan; those with work go to `jobs`, all others to `idle`. problems: as planned, with their
 * weights; a problem's jobs are neighbours. */
static void judge_plan(const struct night_file *file, const struct plan *made,
                       const struct night_sources *sources, const struct known *known,
                       const char *night, struct night_target_plan *plan)
{
    guint place = 0;
    for (int i = 0; i < made->count; i++) {
        struct planned_job job = {.job = made->jobs[i]};
        while (
            problem_compare(&g_array_index(sources->problems, struct night_problem, place).problem,
                            &job.job.problem) != 0)
            place++;
        const struct night_problem *problem =
            &g_array_index(sources->problems, struct night_problem, place);
        job.job.priority *= problem->weight / problem->multiplicity;
        judge_job(file, plan, known, night, known->ids[place], &job);
        plan->counts[job.reason]++;
        g_array_append_val(job.action == NIGHT_ACTION_NONE ? plan->idle : plan->jobs, job);
    }
    plan->left_out = made->left_out;
    plan->uncovered = g_array_ref(made->uncovered);
    plan->counts[NIGHT_REASON_LEFT_OUT] = made->left_out;
}

static GArray *plan_problems(const struct night_sources *sources)
{
    GArray *problems = g_array_new(FALSE, FALSE, sizeof(struct plan_problem));
    for (guint i = 0; i < sources->problems->len; i++) {
        const struct night_problem *each =
            &g_array_index(sources->problems, struct night_problem, i);
        plan_add_problem(problems, &each->problem, each->multiplicity);
    }
    return problems;
}

static struct plan *make_plan(const struct request *request, const struct machine *machine,
                              const GArray *problems, const struct context_limits *limits,
                              GError **error)
{
    g_autoptr(GPtrArray) solvers = request_solvers(request, error);
    if (!solvers)
        return NULL;
    const struct plan_request wanted = {
        .target = &machine->target,
        .stack = request->stack ? request->stack : "",
        .strategy = request->strategy,
        .seed = request->seed,
        .configs_limit = request->configs,
        .close_configs = request_close_configs(request),
        .search_seconds = request->search_seconds,
        .min_gain = request->min_gain,
        .round_configs = request_round_configs(request),
        .limits = *limits,
        .problems = problems,
        .solvers = (const struct solver *const *)solvers->pdata,
        .solver_count = (int)solvers->len,
        .unpromising_too = request_takes_unpromising(request),
    };
    return plan_new(&wanted);
}

static bool plan_target(Store *store, const struct night_file *file,
                        const struct night_sources *sources, const GArray *problems,
                        const char *night, struct night_target_plan *plan, GError **error)
{
    struct request request;
    struct context_limits limits;
    struct known known;
    request_init(&request, 0);
    known_init(&known);
    night_file_request(file, plan->wanted, &request);
    g_autoptr(Estimator) estimator = NULL;
    bool ok = machine_find(store, plan->wanted->target, &plan->machine, error) &&
              request_limits(&request, &limits, error) &&
              known_read(store, file, plan->wanted, &plan->machine.target, problems, night, &known,
                         error) &&
              (estimator = estimator_new(store, plan->machine.target.id, error)) != NULL;
    struct plan *made = ok ? make_plan(&request, &plan->machine, problems, &limits, error) : NULL;
    if (made) {
        judge_plan(file, made, sources, &known, night, plan);
        estimate_jobs(plan, &request, &limits, estimator);
        order_jobs(plan->jobs);
        if (plan->counts[NIGHT_REASON_NEW_TARGET] > 0)
            plan->nearest = g_strdup(known.nearest);
        plan->stacks = g_steal_pointer(&known.stacks);
        for (guint i = 0; i < plan->stacks->len; i++)
            plan->devices += ((const struct night_stack *)plan->stacks->pdata[i])->devices;
    }
    plan_free(made);
    known_clear(&known);
    request_clear(&request);
    return made != NULL;
}

/* ---- the whole night ---- */

/* Counts the jobs that fit: each target's jobs in their order until its devices' time to the deadline is used up, and
 * all of them until the cap on node hours is. Targets share that cap in the description's order. */
static void find_caps(const struct night_file *file, struct night_plan *plan)
{
    struct night_caps *caps = &plan->caps;
    int64_t deadline = 0;
    caps->node_seconds = file->budget.node_hours * 3600;
    if (file->deadline && request_read_deadline(file->deadline, &deadline, NULL))
        caps->deadline_seconds = (double)deadline - (double)g_get_real_time() / G_USEC_PER_SEC;
    double used = 0;
    for (guint t = 0; t < plan->targets->len; t++) {
        const struct night_target_plan *target = g_ptr_array_index(plan->targets, t);
        double left = caps->deadline_seconds * MAX(target->devices, 1), spent = 0;
        for (guint i = 0; i < target->jobs->len; i++) {
            const struct planned_job *job = &g_array_index(target->jobs, struct planned_job, i);
            spent += job->estimate.node_seconds;
            used += job->estimate.node_seconds;
            caps->jobs++;
            caps->fitting += (caps->node_seconds <= 0 || used <= caps->node_seconds) &&
                             (caps->deadline_seconds <= 0 || spent <= left) &&
                             (file->budget.seconds <= 0 || spent <= file->budget.seconds);
        }
    }
}

struct night_plan *night_plan_new(Store *store, const struct night_file *file,
                                  const struct night_sources *sources, const char *night,
                                  GError **error)
{
    struct night_plan *plan = g_new0(struct night_plan, 1);
    g_autoptr(GArray) problems = plan_problems(sources);
    plan->night = g_strdup(night);
    plan->targets = g_ptr_array_new_with_free_func(target_plan_free);
    for (int i = 0; i < file->target_count; i++) {
        struct night_target_plan *target = target_plan_new(&file->targets[i]);
        g_ptr_array_add(plan->targets, target);
        if (!plan_target(store, file, sources, problems, night, target, error)) {
            g_prefix_error(error, "cannot plan targets[%d] of the night '%s': ", i, file->path);
            night_plan_free(plan);
            return NULL;
        }
    }
    find_caps(file, plan);
    return plan;
}

void night_plan_free(struct night_plan *plan)
{
    if (!plan)
        return;
    g_ptr_array_unref(plan->targets);
    g_free(plan->night);
    g_free(plan);
}

/* ---- why ---- */

static void why_free(gpointer data)
{
    struct night_why *why = data;
    g_free(why->detail);
    g_free(why);
}

static struct planned_job *find_job(const struct night_target_plan *target, const char *solver)
{
    GArray *const lists[] = {target->jobs, target->idle};
    for (gsize l = 0; l < G_N_ELEMENTS(lists); l++)
        for (guint i = 0; i < lists[l]->len; i++) {
            struct planned_job *job = &g_array_index(lists[l], struct planned_job, i);
            if (strcmp(job->job.solver, solver) == 0)
                return job;
        }
    return NULL;
}

static char *idle_detail(const struct planned_job *job)
{
    const char *stack = job->last_stack && *job->last_stack ? job->last_stack : "unknown software";
    return g_strdup_printf("%s%smeasured in the night %s with %s", job->detail ? job->detail : "",
                           job->detail ? "; " : "", job->last_night ? job->last_night : "?", stack);
}

/* Sets reason and detail for a solver that has no job. best: the highest estimate of all that apply. */
static void explain_absence(const struct solver *solver, const struct problem *problem,
                            const struct context *context, GPtrArray *asked, double best,
                            struct night_why *why)
{
    const char *reason = NULL;
    why->reason = NIGHT_REASON_NOT_APPLICABLE;
    if (!solver_applicable(solver, problem, context, &reason)) {
        why->detail = g_strdup(reason);
        return;
    }
    why->reason = NIGHT_REASON_LEFT_OUT;
    why->detail =
        g_ptr_array_find(asked, (gpointer)solver, NULL)
            ? g_strdup_printf("its estimate is %.3g of the best one's, below %g; all_solvers "
                              "plans it",
                              best > 0 ? solver->estimate(problem, context) / best : 0,
                              PLAN_PROMISING_SHARE)
            : g_strdup("the description's solvers leave it out");
}

GPtrArray *night_why(const struct night_file *file, const struct night_target_plan *target,
                     const struct problem *problem, GError **error)
{
    struct request request;
    struct context_limits limits;
    struct context context;
    request_init(&request, 0);
    night_file_request(file, target->wanted, &request);
    g_autoptr(GPtrArray) asked = request_solvers(&request, error);
    bool ok = asked && request_limits(&request, &limits, error);
    request_clear(&request);
    if (!ok)
        return NULL;
    context_init(&context, &target->machine.target);
    context_set_limits(&context, &limits);
    double best = 0;
    for (guint i = 0; i < asked->len; i++)
        if (solver_applicable(asked->pdata[i], problem, &context, NULL))
            best = MAX(best, ((const struct solver *)asked->pdata[i])->estimate(problem, &context));
    GPtrArray *all = g_ptr_array_new_with_free_func(why_free);
    for (int i = 0; i < solver_table_count; i++) {
        struct night_why *why = g_new0(struct night_why, 1);
        why->solver = solver_table[i];
        why->job = find_job(target, solver_table[i]->name);
        g_ptr_array_add(all, why);
        if (!why->job) {
            explain_absence(solver_table[i], problem, &context, asked, best, why);
            continue;
        }
        why->reason = why->job->reason;
        why->detail = why->job->action == NIGHT_ACTION_NONE ? idle_detail(why->job)
                                                            : g_strdup(why->job->detail);
    }
    return all;
}
