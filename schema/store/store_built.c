/* What build-only campaigns built: configs without times. */
#include "schema/store/store_private.h"

#include <string.h>

static void free_result(gpointer data)
{
    result_free(data);
}

bool store_next_built(Store *store, int64_t campaign, int jobs, struct result_part *part,
                      GError **error)
{
    g_autoptr(StoreRows) rows = store_read(store, error,
                                           "SELECT id FROM jobs WHERE campaign_id = $1 AND id > $2"
                                           " ORDER BY id LIMIT 1 OFFSET $3",
                                           "lli", campaign, part->last, jobs - 1);
    if (rows != NULL)
        store_part_move(part, rows);
    return rows != NULL;
}

/* A result of a row, of no config yet; its problem is empty where that is damaged. */
static struct result *read_job(const json_t *object)
{
    struct result *result = g_new0(struct result, 1);
    g_autoptr(GError) error = NULL;
    problem_init(&result->problem);
    result->job = json_member_int(object, "job");
    result->problem_id = json_member_int(json_object_get(object, "problem"), "id");
    result->solver = json_member_text(object, "solver");
    result->algorithm = json_member_text(object, "algorithm");
    result->revision = (int)json_member_int(object, "revision");
    result->dynamic = json_member_bool(object, "dynamic");
    result->tunable = json_member_bool(object, "tunable");
    result->multiplicity = (int)json_member_int(object, "multiplicity");
    if (!problem_from_json(json_object_get(object, "problem"), &result->problem, &error))
        result->damage = g_strdup(error->message);
    return result;
}

/* Building sets aside what it refuses: that has no kernels. */
static bool is_built(const struct round *round, int i)
{
    return round->outcomes[i].failure == FAILURE_PENDING && round->kernel_keys[i][0] != '\0';
}

static void add_round(GPtrArray *list, const json_t *object, const struct round *round)
{
    for (int i = 0; i < round->config_count; i++) {
        char text[CONFIG_TEXT_MAX];
        if (!is_built(round, i))
            continue;
        struct result *result = read_job(object);
        result->rank = i;
        result->stack = g_strdup(round->stack);
        result->kept.config = round->configs[i];
        result->kept.config_text = g_strdup(perf_config_format(&round->configs[i], text));
        result->kept.kernel_keys = g_strdup(round->kernel_keys[i]);
        result->kept.outcome = round->outcomes[i];
        result->kept.is_default = round->number == 0 && i == 0;
        g_ptr_array_add(list, result);
    }
}

static void add_row(GPtrArray *list, const json_t *object)
{
    g_autoptr(GError) error = NULL;
    struct round *round = round_from_json(json_object_get(object, "round"), &error);
    if (round != NULL) {
        add_round(list, object, round);
        round_free(round);
        return;
    }
    struct result *damaged = read_job(object);
    if (damaged->damage == NULL)
        damaged->damage = g_strdup(error->message);
    damaged->kept.config_text = g_strdup("");
    damaged->kept.kernel_keys = g_strdup("");
    g_ptr_array_add(list, damaged);
}

GPtrArray *store_list_built(Store *store, int64_t campaign, const char *network, const char *tag,
                            const struct result_part *part, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT jsonb_build_object('problem', to_jsonb(p), 'round', to_jsonb(r), 'job', j.id,"
        " 'solver', s.name, 'algorithm', s.algorithm, 'revision', s.revision,"
        " 'dynamic', s.dynamic, 'tunable', s.tunable, 'multiplicity', j.multiplicity)"
        " FROM jobs j JOIN round_rows r ON r.campaign_id = $1 AND r.job_id = j.id"
        " JOIN problems p ON p.id = j.problem_id JOIN solvers s ON s.id = j.solver_id"
        " WHERE j.campaign_id = $1 AND j.id > $4 AND j.id <= $5"
        " AND ($2::text IS NULL OR j.problem_id IN (SELECT problems_of_network($1, $2)))"
        " AND ($3::text IS NULL OR j.problem_id IN (SELECT t.problem_id FROM problem_tags t"
        "                                           WHERE t.tag = $3))"
        " ORDER BY j.id, r.number",
        "lssll", campaign, network, tag, part->after, part->last);
    if (rows == NULL)
        return NULL;
    GPtrArray *list = g_ptr_array_new_with_free_func(free_result);
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        add_row(list, object);
    }
    return list;
}
