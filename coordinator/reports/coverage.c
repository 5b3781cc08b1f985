#include "coordinator/reports/coverage.h"

#include "coordinator/plan/plan.h"

#include <string.h>

static GArray *zeros(guint count)
{
    GArray *array = g_array_sized_new(FALSE, TRUE, sizeof(int), count);
    return g_array_set_size(array, count);
}

/* ---- families of algorithms ---- */

static void find_families(const struct coverage_request *request, struct coverage *coverage)
{
    GArray *families = coverage->families;
    for (int i = 0; i < request->solver_count; i++) {
        struct coverage_family family = {.name = request->solvers[i]->algorithm};
        bool known = plan_is_naive(request->solvers[i]);
        if (known)
            coverage->naive_family = family.name;
        for (guint f = 0; f < families->len && !known; f++)
            known =
                strcmp(g_array_index(families, struct coverage_family, f).name, family.name) == 0;
        if (!known)
            g_array_append_val(families, family);
    }
}

/* Returns the family's solvers as a set of bits, the naive solver excepted. */
static uint64_t members(const struct coverage_request *request, const char *family)
{
    uint64_t bits = 0;
    for (int i = 0; i < request->solver_count; i++) {
        const struct solver *solver = request->solvers[i];
        if (!plan_is_naive(solver) && strcmp(solver->algorithm, family) == 0)
            bits |= UINT64_C(1) << i;
    }
    return bits;
}

/* ---- problems ---- */

static struct coverage_problem ask(const struct coverage_request *request, int index)
{
    const struct problem *p = &problem_list_get(request->problems, index)->problem;
    struct coverage_problem asked = {.index = index};
    struct context context;
    context_init(&context, request->target);
    context_set_limits(&context, &request->limits);
    for (int i = 0; i < request->solver_count; i++) {
        if (!solver_applicable(request->solvers[i], p, &context, NULL))
            continue;
        asked.applicable |= UINT64_C(1) << i;
        if (plan_is_naive(request->solvers[i]))
            asked.naive = true;
        else
            asked.solvers++;
    }
    return asked;
}

static void ask_all(const struct coverage_request *request, struct coverage *coverage)
{
    int count = problem_list_count(request->problems);
    for (int i = 0; i < count; i++) {
        struct coverage_problem asked = ask(request, i);
        g_array_append_val(coverage->problems, asked);
    }
    for (guint f = 0; f < coverage->families->len; f++) {
        struct coverage_family *family =
            &g_array_index(coverage->families, struct coverage_family, f);
        uint64_t bits = members(request, family->name);
        bool other = g_strcmp0(family->name, coverage->naive_family) != 0;
        for (int i = 0; i < count; i++) {
            struct coverage_problem *asked =
                &g_array_index(coverage->problems, struct coverage_problem, i);
            bool serves = (asked->applicable & bits) != 0;
            family->problems += serves;
            asked->families += serves;
            asked->other_families += serves && other;
        }
    }
}

static void count_problems(struct coverage *coverage)
{
    for (guint i = 0; i < coverage->problems->len; i++) {
        const struct coverage_problem *asked =
            &g_array_index(coverage->problems, struct coverage_problem, i);
        g_array_index(coverage->solver_histogram, int, asked->solvers)++;
        g_array_index(coverage->family_histogram, int, asked->families)++;
        g_array_index(coverage->other_family_histogram, int, asked->other_families)++;
        coverage->unserved += asked->applicable == 0;
    }
}

static gint poorer_first(gconstpointer a, gconstpointer b)
{
    const struct coverage_problem *one = a, *other = b;
    if (one->solvers != other->solvers)
        return one->solvers - other->solvers;
    if (one->naive != other->naive)
        return one->naive - other->naive;
    if (one->families != other->families)
        return one->families - other->families;
    return one->index - other->index;
}

guint coverage_poorest(const struct coverage *coverage, guint count)
{
    const struct coverage_problem *problems =
        (const struct coverage_problem *)(const void *)coverage->problems->data;
    guint last = 0;
    while (last < coverage->problems->len && problems[last].solvers == problems[0].solvers)
        last++;
    return MIN(MAX(last, count), coverage->problems->len);
}

/* ---- the sizes of solvers' spaces ---- */

static gint compare_counts(gconstpointer a, gconstpointer b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

static void summarise(struct coverage_solver *summary, GArray *counts)
{
    if (counts->len == 0)
        return;
    g_array_sort(counts, compare_counts);
    const int64_t *sorted = (const int64_t *)(const void *)counts->data;
    summary->counted = (int)counts->len;
    summary->least = sorted[0];
    summary->median = sorted[(counts->len - 1) / 2];
    summary->most = sorted[counts->len - 1];
    /* The sample may have missed the smallest spaces, but spaces with one config or none were
     * counted over all problems. */
    if (summary->with_one > 0)
        summary->least = MIN(summary->least, 1);
    if (summary->with_no_config > 0)
        summary->least = 0;
}

/* Returns the step from one problem of the sample to the next one in the list of problems. */
static int sample_step(int problems)
{
    return MAX((problems + COVERAGE_SAMPLE - 1) / COVERAGE_SAMPLE, 1);
}

struct count_progress {
    const struct coverage_request *request;
    int done, total;
};

static void tell_progress(struct count_progress *progress)
{
    progress->done++;
    if (progress->request->progress)
        progress->request->progress(progress->done, progress->total, progress->request->data);
}

static void count_spaces(const struct coverage *coverage, struct coverage_solver *summary,
                         uint64_t bit, struct count_progress *progress)
{
    const struct coverage_request *request = progress->request;
    g_autoptr(GArray) counts = g_array_new(FALSE, FALSE, sizeof(int64_t));
    int step = sample_step(summary->problems), seen = 0;
    struct context context;
    context_init(&context, request->target);
    context_set_limits(&context, &request->limits);
    for (guint i = 0; i < coverage->problems->len; i++) {
        const struct coverage_problem *asked =
            &g_array_index(coverage->problems, struct coverage_problem, i);
        if (!(asked->applicable & bit))
            continue;
        const struct problem *p = &problem_list_get(request->problems, asked->index)->problem;
        bool sampled = seen++ % step == 0;
        int64_t count = space_count_up_to(solver_space(summary->solver, p, &context), p, &context,
                                          sampled ? PLAN_COUNTED_MAX : 2);
        summary->with_one += count == 1;
        summary->with_no_config += count == 0;
        if (!sampled)
            continue;
        g_array_append_val(counts, count);
        tell_progress(progress);
    }
    summarise(summary, counts);
}

/* Walks the problems in the list's order, so that a solver's sample does not depend on the other
 * solvers. */
static void look_at_solvers(const struct coverage_request *request, struct coverage *coverage)
{
    struct count_progress progress = {.request = request};
    for (int s = 0; s < request->solver_count; s++) {
        struct coverage_solver summary = {.solver = request->solvers[s]};
        for (guint i = 0; i < coverage->problems->len; i++)
            summary.problems +=
                g_array_index(coverage->problems, struct coverage_problem, i).applicable >> s & 1;
        int step = sample_step(summary.problems);
        if (summary.solver->space)
            progress.total += (summary.problems + step - 1) / step;
        g_array_append_val(coverage->solvers, summary);
    }
    for (int s = 0; s < request->solver_count; s++) {
        struct coverage_solver *summary =
            &g_array_index(coverage->solvers, struct coverage_solver, s);
        if (summary->solver->space)
            count_spaces(coverage, summary, UINT64_C(1) << s, &progress);
    }
}

/* ---- the whole coverage ---- */

struct coverage *coverage_new(const struct coverage_request *request)
{
    g_assert(request->solver_count <= COVERAGE_SOLVERS_MAX);
    struct coverage *coverage = g_new0(struct coverage, 1);
    coverage->list = request->problems;
    g_strlcpy(coverage->target, request->target->id, sizeof coverage->target);
    coverage->problems = g_array_new(FALSE, FALSE, sizeof(struct coverage_problem));
    coverage->families = g_array_new(FALSE, FALSE, sizeof(struct coverage_family));
    coverage->solvers = g_array_new(FALSE, FALSE, sizeof(struct coverage_solver));
    coverage->solver_histogram = zeros((guint)request->solver_count + 1);
    find_families(request, coverage);
    coverage->family_histogram = zeros(coverage->families->len + 1);
    coverage->other_family_histogram = zeros(coverage->families->len + 1);
    ask_all(request, coverage);
    count_problems(coverage);
    look_at_solvers(request, coverage);
    g_array_sort(coverage->problems, poorer_first);
    return coverage;
}

void coverage_free(struct coverage *coverage)
{
    if (!coverage)
        return;
    g_array_unref(coverage->problems);
    g_array_unref(coverage->solver_histogram);
    g_array_unref(coverage->family_histogram);
    g_array_unref(coverage->other_family_histogram);
    g_array_unref(coverage->families);
    g_array_unref(coverage->solvers);
    g_free(coverage);
}
