#include "export/golden/golden_verdict.h"

#include "schema/results/conditions.h"
#include "schema/store/drift.h"

#include <math.h>
#include <string.h>

char *golden_entry_key(int64_t problem_id, const char *solver)
{
    return g_strdup_printf("%" G_GINT64_FORMAT " %s", (gint64)problem_id, solver);
}

enum golden_finding golden_compare(const struct golden_wish *wish, const struct golden_time *old,
                                   const struct golden_time *fresh)
{
    double gap = old->median_ms - fresh->median_ms;
    double range = (old->spread * old->median_ms + fresh->spread * fresh->median_ms) / 2;
    if (!(fabs(gap) > wish->noise * range) || fabs(gap) < wish->gain * old->median_ms) {
        return GOLDEN_WITHIN_NOISE;
    }
    return gap > 0 ? GOLDEN_BETTER : GOLDEN_WORSE;
}

static void free_verdict(gpointer data)
{
    struct golden_verdict *verdict = data;
    g_free(verdict->config);
    g_free(verdict);
}

static const struct golden_confirmed_config *
find_base(const struct golden_confirmation *confirmation)
{
    for (guint i = 0; i < confirmation->configs->len; i++) {
        const struct golden_confirmed_config *config =
            &g_array_index(confirmation->configs, struct golden_confirmed_config, i);
        if (g_strcmp0(config->config, confirmation->base_config) == 0 &&
            config->failure == FAILURE_NONE) {
            return config;
        }
    }
    return NULL;
}

/* Returns the fastest verified config other than the base's, NULL if no other config is
 * verified. */
static const struct golden_confirmed_config *
find_fastest(const struct golden_confirmation *confirmation)
{
    const struct golden_confirmed_config *fastest = NULL;
    for (guint i = 0; i < confirmation->configs->len; i++) {
        const struct golden_confirmed_config *config =
            &g_array_index(confirmation->configs, struct golden_confirmed_config, i);
        if (config->failure == FAILURE_NONE &&
            g_strcmp0(config->config, confirmation->base_config) != 0 &&
            (fastest == NULL || config->median_ms < fastest->median_ms)) {
            fastest = config;
        }
    }
    return fastest;
}

static bool is_faster(const struct golden_wish *wish, const struct golden_confirmed_config *base,
                      const struct golden_confirmed_config *fastest)
{
    const struct golden_time old = {base->median_ms, base->spread};
    const struct golden_time fresh = {fastest->median_ms, fastest->spread};
    return golden_compare(wish, &old, &fresh) == GOLDEN_BETTER;
}

/* Returns the verdict, or NULL if the measurements decide nothing: the device drifted or was
 * throttled, or no config was verified. */
static struct golden_verdict *decide(const struct golden_wish *wish,
                                     const struct golden_confirmation *confirmation)
{
    const struct golden_confirmed_config *base = find_base(confirmation);
    const struct golden_confirmed_config *fastest = find_fastest(confirmation);
    bool changes = fastest != NULL && (base == NULL || is_faster(wish, base, fastest));
    bool is_doubtful =
        drift_is_large(confirmation->drift) || (confirmation->throttle & THROTTLE_MARKED) != 0;
    if ((!wish->allow_drift && is_doubtful) || (base == NULL && fastest == NULL)) {
        return NULL;
    }
    struct golden_verdict *verdict = g_new0(struct golden_verdict, 1);
    verdict->config = g_strdup(changes ? fastest->config : base->config);
    verdict->finding = confirmation->base_config == NULL ? GOLDEN_NEW_SOLVER
                       : base == NULL                    ? GOLDEN_BASE_FAILED
                       : changes                         ? GOLDEN_BETTER
                                                         : GOLDEN_CONFIRMED;
    return verdict;
}

GHashTable *golden_read_verdicts(Store *store, const struct golden_wish *wish, const char *target,
                                 GError **error)
{
    g_autoptr(GPtrArray) confirmations =
        store_list_golden_confirmations(store, target, wish->campaign, error);
    if (confirmations == NULL) {
        return NULL;
    }
    GHashTable *verdicts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_verdict);
    for (guint i = 0; i < confirmations->len; i++) {
        const struct golden_confirmation *confirmation = confirmations->pdata[i];
        struct golden_verdict *verdict = decide(wish, confirmation);
        if (verdict != NULL) {
            g_hash_table_insert(verdicts,
                                golden_entry_key(confirmation->problem_id, confirmation->solver),
                                verdict);
        }
    }
    return verdicts;
}
